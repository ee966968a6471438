"""Two designs and two runs: the parts of a difference add up to it."""

from __future__ import annotations

import re

import pytest

from tilewright.dse import open_run
from tilewright.dse.command.shipped import find_study
from tilewright.dse.query.comparison import Change, DesignDifference, compare_runs, diff_trials
from tilewright.dse.run.runner import RunSettings, start_study
from tilewright.dse.store.safe_files import RunError
from tilewright.dse.study.study_loading import load_study


def test_the_parts_add_up_to_the_difference(finished):
    run = open_run(finished)
    best = run.front("energy")[0]
    worst = run.where("status == 'feasible'").sorted_by("energy", descending=True)[0]
    found = diff_trials(run, worst.number, best.number)
    change = best.metrics["energy"] - worst.metrics["energy"]
    assert change < 0
    for parts in (found.parts, found.traffic):
        moved = [part.difference for part in parts if part.metric == "energy"]
        assert sum(moved) == pytest.approx(change)
    assert any(part.part.startswith("Main: read") for part in found.traffic)
    assert "energy by tensor and memory" in found.text()


def test_a_cost_of_which_one_part_changes_has_its_waterfall():
    change = Change("area", "Buffer", 2e-6, 1e-6)
    lines = DesignDifference((1, 2), {}, {}, (change,), ()).text().splitlines()
    assert lines[-2:] == ["area by component:", "  Buffer  −1 mm²  2 mm² → 1 mm²  " + "█" * 16]


def test_without_a_breakdown_the_other_metrics_say_why(tmp_path):
    spec = load_study(find_study("trainium_matmul"), {"search.trials": 12})
    start_study(spec, tmp_path / "run", RunSettings())
    run = open_run(tmp_path / "run")
    first, *_, second = run.where("status == 'feasible'").sorted_by("dram_traffic")
    found = diff_trials(run, first.number, second.number)
    assert first.metrics["dram_traffic"] < second.metrics["dram_traffic"]
    assert list(found.metrics)[:2] == [o.metric for o in spec.objectives]
    assert all(a != b for name, (a, b) in list(found.metrics.items())[2:])
    assert "DRAM traffic: " in found.text()


def test_a_run_equals_itself(finished):
    run = open_run(finished)
    found = compare_runs(run, run)
    assert found.beaten == (0, 0)
    assert found.shares[0] == found.shares[1] > 0
    assert "hypervolume, common reference" in found.text()
    assert not found.differences


def test_runs_of_other_questions_say_so(finished, tmp_path):
    study, work = ((finished.parent / name).read_text() for name in ("study.yaml", "work.yaml"))
    (tmp_path / "arch.yaml").write_text((finished.parent / "arch.yaml").read_text())
    (tmp_path / "work.yaml").write_text(f"# the same but for a remark\n{work}")
    (tmp_path / "study.yaml").write_text(study.replace("weight: 2", "weight: 3"))
    spec = load_study(tmp_path / "study.yaml", {"search.trials": 4})
    start_study(spec, tmp_path / "run", RunSettings())
    found = compare_runs(open_run(finished), open_run(tmp_path / "run"))
    assert found.differences == (
        "workloads.0.weight: 2.0 -> 3.0",
        "inputs/workload0/work.yaml: other contents",
        "inputs/workload1/work.yaml: other contents",
    )
    assert "the studies ask different things" in found.text()


def study_of(folder, finished, edits):
    """Run four designs of the study of a finished run; `edits`: texts in it, and new ones."""
    for name in ("arch.yaml", "work.yaml"):
        (folder / name).write_text((finished.parent / name).read_text())
    text = (finished.parent / "study.yaml").read_text()
    for old, new in edits.items():
        assert old in text
        text = text.replace(old, new)
    (folder / "study.yaml").write_text(text)
    spec = load_study(folder / "study.yaml", {"search.trials": 4})
    start_study(spec, folder / "run", RunSettings())
    return open_run(folder / "run")


@pytest.mark.parametrize(
    ("edits", "difference"),
    [
        (
            {"values: [128, 512, 1024]": "values: [512, 1024, 2048, 4096]"},
            "knob arch.Buffer.size: in A alone 16 B; in B alone 256 B, 512 B",
        ),
        (
            {"Lanes: {values: [1, 2, 4, 8]}": "Lanes: {values: [2, 4]}"},
            "knob arch.variables.Lanes: in A alone 1, 8",
        ),
        (
            {
                "search: {": "  arch.Main.size: {values: [8388608]}\nsearch: {",
                "values: {arch.Buffer": "values: {arch.Main.size: 8388608, arch.Buffer",
            },
            "knob arch.Main.size: in B alone (1 MiB)",
        ),
    ],
)
def test_knobs_and_values_that_one_study_has_are_listed(finished, tmp_path, edits, difference):
    other = study_of(tmp_path, finished, edits)
    comparison = compare_runs(open_run(finished), other)
    assert comparison.differences == (difference,)
    assert comparison.document()["differences"] == [difference]
    assert f"  {difference}" in comparison.text()


def test_other_objectives_are_named(finished, tmp_path):
    objectives = "objectives: [energy, area, {metric: energy * latency}]"
    other = study_of(tmp_path, finished, {objectives: "objectives: [energy, {metric: area}]"})
    named = "other objectives: A energy, area, energy * latency; B energy, area"
    with pytest.raises(RunError, match=re.escape(named)):
        compare_runs(open_run(finished), other)
