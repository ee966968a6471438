"""A front answers for smaller memories what a search of these memories answers."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest
from click.testing import CliRunner

from tilewright.arch.errors import TilewrightError
from tilewright.arch.spec.load import load_arch
from tilewright.dse.command.cli import cli
from tilewright.mapper.fronts.what_if import in_smaller_memories
from tilewright.mapper.searches.api import search
from tilewright.mapper.workload.errors import InfeasibleMapping, UnsupportedFeature
from tilewright.mapper.workload.workload_loading import load_workload

ARCH = """\
arch:
  nodes:
  - !Memory
    name: DRAM
    size: inf
    leak_power: 0.5
    tensors: {keep: ~Intermediates, may_keep: All}
    actions: [{name: read, energy: 40, throughput: 2}, {name: write, energy: 40, throughput: 2}]
  - !Memory
    name: BUF
    size: 1600
    area: size * 1e-12
    tensors: {keep: ~DRAM, may_keep: All}
    actions:
    - {name: read, energy: ENERGY, throughput: 8}
    - {name: write, energy: 1.25, throughput: 8}
  - !Container
    name: GRID
    spatial: [{name: x, fanout: 4, may_reuse: input, min_usage: USAGE}]
  - !Memory
    name: REG
    size: 96
    tensors: {keep: output}
    actions: [{name: read, energy: 0.125, throughput: inf}, {name: write, energy: 0.25}]
    total_latency: 0
  - !Compute
    name: MAC
    actions: [{name: compute, energy: 0.5, throughput: 1}]
"""
WORKLOAD = """\
workload:
  rank_sizes: {M: 4, K: 6, N: 4, P: 2}
  bits_per_value: {All: 8}
  einsums:
  - {einsum: "C[m, n] = A[m, k] * B[k, n]", renames: {input: A, weight: B, output: C}}
"""
SECOND = '  - {einsum: "D[m, p] = C[m, n] * E[n, p]", renames: {input: C, weight: E, output: D}}\n'


def arch_with(energy: str = "1", usage: str = "0") -> str:
    return ARCH.replace("ENERGY", energy).replace("USAGE", usage)


SMALL = (WORKLOAD + SECOND).replace("M: 4, K: 6, N: 4", "M: 2, K: 3, N: 2")


@pytest.mark.parametrize(
    ("workload", "objective"),
    [(WORKLOAD, "edp"), pytest.param(SMALL, "energy", marks=pytest.mark.nightly)],
)
def test_a_front_answers_as_a_search_of_the_smaller_memories(workload: str, objective: str) -> None:
    arch, work = load_arch(arch_with()), load_workload(workload)
    front = ("energy", "latency", "usage.BUF", "usage.REG")
    whole = search(arch, work, objective=objective, front=front)
    feasible = 0
    for buffer, registers in product((700, 128, 48), (96, 40, 4)):
        sizes = {"BUF": buffer, "REG": registers}
        smaller = arch.with_values({f"{name}.size": bits for name, bits in sizes.items()})
        try:
            alone = search(smaller, work, objective=objective)
        except InfeasibleMapping:
            with pytest.raises(InfeasibleMapping, match="no mapping of the front"):
                in_smaller_memories(whole, arch, work, sizes)
            continue
        feasible += 1
        answer = in_smaller_memories(whole, arch, work, sizes)
        assert answer.certificate.kind == alone.certificate.kind == "optimal"
        assert answer.certificate.value == pytest.approx(alone.certificate.value, rel=1e-9)
        assert answer.best.score.metric(objective) == pytest.approx(answer.certificate.value)
        assert answer.best.score.verified
        assert answer.best.score.area == alone.best.score.area
    assert feasible >= 4


def test_the_command_answers_for_smaller_memories(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(arch_with())
    (tmp_path / "w.yaml").write_text(WORKLOAD)
    files = ["--arch", str(tmp_path / "a.yaml"), "--workload", str(tmp_path / "w.yaml")]
    asked = ["map", *files, "--front", "energy,latency,usage",
             "--what-if", "BUF=64B", "--what-if", "REG=1"]  # fmt: skip
    text = CliRunner().invoke(cli, asked).output
    assert "with BUF of 64 B: energy" in text
    assert "no mapping of the front fits" in text
    answers = json.loads(CliRunner().invoke(cli, [*asked, "--json"]).output)["what_if"]
    assert answers[0]["sizes"] == {"BUF": 512}
    assert "REG of 1 bits" in answers[1]["infeasible"]


def test_what_a_front_does_not_answer_is_refused() -> None:
    work = load_workload(WORKLOAD)
    arch = load_arch(arch_with())
    result = search(arch, work, objective="energy", front=("energy", "usage.BUF"))
    with pytest.raises(TilewrightError, match="a larger BUF"):
        in_smaller_memories(result, arch, work, {"BUF": 3200})
    with pytest.raises(TilewrightError, match="does not have all"):
        in_smaller_memories(result, arch, work, {"REG": 40})
    with pytest.raises(TilewrightError, match="no component"):
        in_smaller_memories(result, arch, work, {"buffer": 40})
    priced = load_arch(arch_with(energy="size / 1600"))
    with pytest.raises(UnsupportedFeature, match="actions"):
        in_smaller_memories(result, priced, work, {"BUF": 800})
    used = load_arch(arch_with(usage="0.5"))
    with pytest.raises(UnsupportedFeature, match="min_usage"):
        in_smaller_memories(result, used, work, {"BUF": 800})
