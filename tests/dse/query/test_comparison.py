"""Two designs and two runs: the parts of a difference add up to it."""

from __future__ import annotations

import pytest

from tilewright.dse import open_run
from tilewright.dse.command.shipped import find_study
from tilewright.dse.query.comparison import compare_runs, diff_trials
from tilewright.dse.run.runner import Execution, start_study
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


def test_without_a_breakdown_the_other_metrics_say_why(tmp_path):
    spec = load_study(find_study("trainium_matmul"), {"search.trials": 12})
    start_study(spec, tmp_path / "run", Execution())
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
    start_study(spec, tmp_path / "run", Execution())
    found = compare_runs(open_run(finished), open_run(tmp_path / "run"))
    assert found.differences == (
        "workloads.0.weight: 2.0 -> 3.0",
        "inputs/workload0/work.yaml: other contents",
        "inputs/workload1/work.yaml: other contents",
    )
    assert "the studies ask different things" in found.text()
