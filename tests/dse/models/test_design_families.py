"""Designs that differ in sizes and prices are answered together as each by its own search."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tilewright.dse.models.analytical import AnalyticalEvaluator
from tilewright.dse.models.design_families import KNOWN_FRONTS, NO_FAMILY
from tilewright.dse.models.evaluator import asking_for_details, attempt, total_of
from tilewright.dse.models.evaluators import make_evaluator
from tilewright.dse.report.sharing import hit_rates
from tilewright.dse.run.runner import RunSettings, start_study
from tilewright.dse.study.study_loading import load_study
from tilewright.mapper.fronts.designs import shared_work

STUDY = """\
name: sizes
model: analytical
objectives: [{metric: energy}, {metric: latency}]
arch: {file: edge_npu}
workload: {file: product.yaml}
space:
  arch.DRAM.actions.read.energy: {values: [128e-12, 256e-12]}
  arch.GlobalBuffer.size: {values: [512, 4096, 32768, 1048576]}
  arch.Register.size: {values: [8, 512]}
search: {sampler: grid, trials: 16, LIMIT}
"""
PRODUCT = """\
workload:
  rank_sizes: {M: 16, K: 16, N: 8}
  bits_per_value: {All: 8}
  einsums:
  - {einsum: "C[m, n] = A[m, k] * B[k, n]", renames: {input: A, weight: B, output: C}}
"""


def model_of(folder: Path, **changes: str) -> tuple[AnalyticalEvaluator, list[dict[str, Any]]]:
    text = STUDY
    for before, after in {"LIMIT": "batch: 8", **changes}.items():
        text = text.replace(before, after)
    (folder / "product.yaml").write_text(PRODUCT)
    (folder / "study.yaml").write_text(text)
    spec = load_study(folder / "study.yaml")
    model = make_evaluator(spec)
    assert isinstance(model, AnalyticalEvaluator)
    return model, [spec.space.point(spec.space.nth(i)) for i in range(spec.space.size)]


def test_answers_together_are_those_of_each_alone(tmp_path: Path) -> None:
    together, points = model_of(tmp_path)
    assert [knob.path for knob in together.family.knobs] == [
        "arch.DRAM.actions.read.energy",
        "arch.GlobalBuffer.size",
        "arch.Register.size",
    ]
    alone = replace(together, family=NO_FAMILY)
    for point in points[::3]:
        first, second = together.evaluate(point), alone.evaluate(point)
        for name in ("energy", "latency", "edp", "area", "leak_power"):
            assert first.metrics[name] == pytest.approx(second.metrics[name], rel=1e-9)
        assert (first.proof, first.gap, first.verified) == ("optimal", 0.0, True)
        assert not first.details
        detailed = together.evaluate(asking_for_details(together, point))
        assert detailed.details.keys() == second.details.keys()
        assert (detailed.metrics, detailed.breakdown) == (first.metrics, first.breakdown)


def test_designs_that_another_one_s_search_answers_are_counted(tmp_path: Path) -> None:
    KNOWN_FRONTS.clear()
    model, points = model_of(tmp_path)
    counts = [attempt(model, point).sharing for point in points[:3]]
    assert [(each.searches, each.shared_searches) for each in counts] == [(1, 0), (1, 1), (1, 1)]
    assert (
        hit_rates(total_of(counts))[-1] == "67 % of 3 designs answered by the search of another one"
    )
    alone = replace(model, family=NO_FAMILY)
    assert attempt(alone, points[3]).sharing.searches == 0


def test_a_run_is_the_same_with_two_workers_and_shows_details(tmp_path: Path) -> None:
    model_of(tmp_path)
    spec = load_study(tmp_path / "study.yaml")
    runs = [start_study(spec, tmp_path / str(n), RunSettings(workers=n)).run for n in (1, 2)]
    first, second = (run.path / "trials.jsonl" for run in runs)
    assert first.read_bytes() == second.read_bytes()
    shown = [path.name for path in (runs[0].path / "details").iterdir()]
    assert shown
    for name in shown:
        texts = [(run.path / "details" / name).read_bytes() for run in runs]
        assert texts[0] == texts[1]
        assert b"loop" in texts[0] or b"sections" in texts[0]


def test_where_few_designs_are_answered_together_each_is_searched(tmp_path: Path) -> None:
    fewer = {"[512, 4096, 32768, 1048576]": "[512]", "trials: 16": "trials: 4"}
    assert model_of(tmp_path, **fewer)[0].family == NO_FAMILY
    limited = model_of(tmp_path, LIMIT="limit_s: 60")[0]
    assert limited.family == NO_FAMILY


def test_a_search_for_all_that_takes_more_than_each_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    together, points = model_of(tmp_path)
    assert together.family.designs == 16
    for name in ("LITTLE", "PER_EINSUM", "PER_LABEL"):
        monkeypatch.setattr(shared_work, name, 0)
    KNOWN_FRONTS.clear()
    alone = replace(together, family=NO_FAMILY)
    for point in points[::5]:
        first = together.evaluate(asking_for_details(together, point))
        assert first == alone.evaluate(point)
    KNOWN_FRONTS.clear()


def test_knobs_that_change_times_are_searched_for_each_value(tmp_path: Path) -> None:
    faster = {
        "DRAM.actions.read.energy: {values: [128e-12, 256e-12]}": "variables.PEX: {values: [8, 16]}"
    }
    assert len(model_of(tmp_path, **faster)[0].family.knobs) == 3
    slow = {"read.energy: {values: [128e-12, 256e-12]}": "read.throughput: {values: [1e9, 2e9]}"}
    family = model_of(tmp_path, **slow)[0].family.knobs
    assert [knob.path for knob in family] == ["arch.GlobalBuffer.size", "arch.Register.size"]
