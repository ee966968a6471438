from __future__ import annotations

import pytest
from design_files import ARCH, WORKLOAD

from tilewright.dse.run.runner import RunSettings, start_study
from tilewright.dse.study.study_loading import load_study

STUDY = """\
name: small
arch: {file: arch.yaml}
workloads: [{file: work.yaml, weight: 2, name: big}, {file: work.yaml, name: small}]
model: analytical
mapper: {objective: energy * latency, fusion: false}
objectives: [energy, area, {metric: energy * latency}]
constraints: ["latency <= 2 * base.latency", {metric: big.energy, max: 3 * base.big.energy}]
space:
  arch.Buffer.size: {values: [128, 512, 1024], name: buf}
  arch.variables.Lanes: {values: [1, 2, 4, 8]}
search: {sampler: grid, batch: 4}
baselines:
- {name: reference, values: {arch.Buffer.size: 512, arch.variables.Lanes: 4}}
"""


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """The directory of a run of 12 designs."""
    folder = tmp_path_factory.mktemp("query")
    (folder / "arch.yaml").write_text(ARCH)
    (folder / "work.yaml").write_text(WORKLOAD)
    (folder / "study.yaml").write_text(STUDY)
    start_study(load_study(folder / "study.yaml"), folder / "run", RunSettings())
    return folder / "run"
