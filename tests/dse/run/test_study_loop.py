"""The loop gives the same bytes for any number of workers and hash seed."""

from __future__ import annotations

import json
import os
from collections import Counter

import pytest
from design_files import log_of, run_here
from explore import at_night

from tilewright.arch.errors import SpecError
from tilewright.dse.models.evaluator import Outcome
from tilewright.dse.run.runner import RunSettings, resume_study
from tilewright.dse.run.study_loop import EnvironmentFailed


@pytest.mark.parametrize("sampler", ["nsga2", *at_night("tpe")])
def test_workers_and_hash_seed_do_not_matter(toy, toy_process, tmp_path, sampler):
    """Two workers of a process with a hash seed that this process does not have."""
    here, there = tmp_path / "here", tmp_path / "there"
    run_here(toy, here, {"search.sampler": sampler})
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    assert toy_process(there, "start", 2, sampler, env={"PYTHONHASHSEED": seed}) == 0
    assert log_of(there) == log_of(here)
    fronts = [(folder / "run" / "front.json").read_bytes() for folder in (here, there)]
    assert fronts[0] == fronts[1]


def test_each_design_is_evaluated_once(toy, tmp_path):
    seen = []

    class Counting(toy.ToyModel):
        def evaluate(self, point):
            seen.append(tuple(point.items()))
            return super().evaluate(point)

    result = run_here(toy, tmp_path, {"search.sampler": "tpe"}, Counting())
    assert len(seen) == len(set(seen)) == result.front["evaluated"]
    copies = [trial for trial in result.trials if trial.same_as is not None]
    assert copies, "this seed has duplicates; the test needs some"
    for trial in copies:
        assert result.trials[trial.same_as].point == trial.point
        assert result.trials[trial.same_as].metrics == trial.metrics


def test_a_design_that_cannot_be_built_uses_up_no_trial(toy, tmp_path):
    """A search ends at the end of its space, and at the latest with twice its trials."""
    fine = {"space.arch.variables.GridY": {"values": [1, 2, 3, 4]}, "search.sampler": "random"}
    result = run_here(toy, tmp_path / "some", fine | {"search.trials": 30})
    status = Counter(trial.status for trial in result.trials if trial.same_as is None)
    assert status["infeasible"] > 0
    assert sum(status.values()) - status["infeasible"] == result.front["trials"] == 30

    grid = run_here(toy, tmp_path / "all", fine | {"search.sampler": "grid", "search.trials": 216})
    assert grid.ending == "done"
    assert grid.front["evaluated"] == 216
    assert grid.front["trials"] == 216 - 54, "no value of GridX, reduction and tile with GridY 3"

    half = run_here(toy, tmp_path / "half", {"search.sampler": "random", "search.trials": 20})
    assert half.front["evaluated"] == 40
    assert half.front["trials"] < 20


def test_baseline_is_tried_first_and_limits_are_recorded(toy, tmp_path):
    result = run_here(toy, tmp_path)
    first = result.trials[0]
    assert (first.baseline, first.status) == ("single element row", "violates")
    assert first.violations == {"sram_bits <= 393216": first.metrics["sram_bits"] - 393216}
    reasons = {trial.reason for trial in result.trials if trial.status == "infeasible"}
    assert all("does not divide over" in reason for reason in reasons)


def test_no_clock_in_the_log(toy, tmp_path):
    run_here(toy, tmp_path)
    for line in log_of(tmp_path).decode().splitlines():
        assert not {"seconds", "time", "started", "ended"} & set(json.loads(line))
    times = (tmp_path / "run" / "times.jsonl").read_text().splitlines()
    assert len(times) >= 9
    assert json.loads(times[0])["seconds"] > 0


def test_a_defect_of_the_model_is_recorded_as_one(toy, tmp_path):
    class Broken(toy.ToyModel):
        def evaluate(self, point):
            if point["mapping.up.reduction"] == "tree":
                return 1 / 0
            return super().evaluate(point)

    result = run_here(toy, tmp_path, None, Broken())
    wrong = [trial for trial in result.trials if trial.status == "error"]
    assert wrong
    assert wrong[0].reason.startswith("internal error: ZeroDivisionError")
    assert result.ending == "done"


def test_nothing_feasible(toy, tmp_path):
    class Never(toy.ToyModel):
        def evaluate(self, point):
            raise SpecError("it never fits")

    result = run_here(toy, tmp_path, {"search.trials": 10}, Never())
    assert result.ending == "nothing feasible"
    assert result.front["status"] == {"infeasible": 20}, "twice as many, then it ends"
    assert "it never fits" in (tmp_path / "run" / "report.html").read_text()


def test_metrics_that_are_not_numbers_are_no_result(toy, tmp_path):
    class Infinite(toy.ToyModel):
        def evaluate(self, point):
            found = super().evaluate(point)
            return Outcome({**found.metrics, "energy": float("inf")})

    result = run_here(toy, tmp_path, {"search.trials": 8}, Infinite())
    assert {t.status for t in result.trials} == {"infeasible"}


def test_an_objective_that_the_model_does_not_give(toy, tmp_path):
    class Silent(toy.ToyModel):
        def evaluate(self, point):
            return Outcome({"cycles": 1.0})

    with pytest.raises(SpecError, match="gives no metric `energy`"):
        run_here(toy, tmp_path, None, Silent())


def test_an_expression_without_a_value_costs_its_design_only(toy, tmp_path):
    settings = {"search.trials": 16, "objectives.1.metric": "1 / (cycles // 40000)"}
    result = run_here(toy, tmp_path / "a", settings)
    assert {trial.status for trial in result.trials} >= {"feasible", "infeasible"}
    reasons = [t.reason for t in result.trials if t.reason and "no value" in t.reason]
    assert reasons[0].startswith("an objective or limit has no value: 1 / 0")
    settings["objectives.1.metric"] = "1 / (energy - base.energy)"
    with pytest.raises(SpecError, match="reference design leaves"):
        run_here(toy, tmp_path / "b", settings)


def test_a_reference_that_could_not_be_evaluated_is_tried_again_at_a_resume(toy, tmp_path):
    """Where limits are relative to it, nothing can be said of its batch."""

    class Lost(toy.ToyModel):
        def evaluate(self, point):
            calls.append(point)
            if len(calls) == 1:
                return Outcome(reason="its worker process died", status="failed")
            return super().evaluate(point)

    calls: list[object] = []
    settings = {"search.trials": 16, "objectives.1.metric": "energy / base.energy"}
    with pytest.raises(EnvironmentFailed, match="could not be evaluated, so") as no:
        run_here(toy, tmp_path, settings, Lost())
    assert no.value.exit_code == 4
    resumed = resume_study(tmp_path / "run", RunSettings(evaluator=toy.ToyModel()))
    whole = run_here(toy, tmp_path / "whole", settings)
    assert [t.metrics for t in resumed.trials] == [t.metrics for t in whole.trials]
