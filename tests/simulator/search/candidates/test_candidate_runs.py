"""Runs of candidates side by side: the same answer for any number of threads, ended in time."""

from math import inf

import pytest
from explore import at_night
from grid_mappings import einsum_workload, grid_arch

from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.searches.budget import UNLIMITED, budget_from
from tilewright.simulator.execution.einsum_execution import ExecutionSettings
from tilewright.simulator.isa.machine_errors import RunStoppedError
from tilewright.simulator.run.repetition import repeats
from tilewright.simulator.search.candidates import candidate_runs
from tilewright.simulator.search.candidates.candidate_runs import (
    CandidateRuns,
    budget_of_answer,
    budget_of_runs,
    run_until,
)
from tilewright.simulator.search.candidates.candidates import Candidates
from tilewright.simulator.search.grid_certificate import GridObjective
from tilewright.simulator.search.grid_search import GridSearch

FORM = "matrix times vector"


@pytest.mark.parametrize("objective", ["latency", *at_night("edp")])
def test_threads_change_no_answer(
    objective: GridObjective, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidate_runs, "SIDE_BY_SIDE", 0)
    monkeypatch.setattr(repeats, "MOST_CYCLES", 50)
    flat, einsum = grid_arch(FORM, 32, 4, 4), einsum_workload(FORM).einsums[0]
    alone, beside = (
        GridSearch(objective=objective, settings=ExecutionSettings(threads=n)).run(flat, einsum)
        for n in (1, 3)
    )
    assert beside.value == alone.value
    assert beside.certificate == alone.certificate
    assert beside.execution.plan.read == alone.execution.plan.read


def test_a_run_ends_when_it_cannot_be_the_best_or_time_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(repeats, "MOST_CYCLES", 50)
    flat, einsum = grid_arch(FORM, 32, 4, 4), einsum_workload(FORM).einsums[0]
    space = GridMapspace(grid_of(flat), einsum)
    candidates = Candidates.of("latency", ExecutionSettings(), flat, space)
    runs = CandidateRuns(candidates)
    choice = space.members(candidates.families[0].family)[0]
    whole = runs.execute(choice, ())
    for value, ends in ((inf, False), (whole * 1.01, False), (whole / 10, True)):
        runs.value = value
        candidates.known_cycles.clear()  # else nothing runs again
        if ends:
            with pytest.raises(RunStoppedError):
                runs.execute(choice, ())
        else:
            assert runs.execute(choice, ()) == whole
    runs.value, runs.budget = inf, budget_from(0.0)
    candidates.known_cycles.clear()
    with pytest.raises(RunStoppedError):
        runs.execute(choice, ())


def test_a_budget_leaves_time_for_the_run_on_numbers() -> None:
    assert budget_of_runs(None).seconds_left is None
    assert budget_of_runs(0.2).seconds_left == 0.0
    left = budget_of_runs(60.0).seconds_left
    assert left is not None
    assert 55 < left <= 59.5


def test_a_budget_limits_a_first_answer_but_that_of_zero_does_not() -> None:
    assert budget_of_answer(None).seconds_left is None
    assert budget_of_answer(0.0).seconds_left is None
    for seconds, part, most in ((60.0, 1.0, 60.0), (60.0, 1.1, 66.0), (0.01, 1.0, 1.1)):
        left = budget_of_answer(seconds, part).seconds_left
        assert left is not None
        assert most - 5 < left <= most


def test_a_run_that_is_not_over_in_time_is_interrupted() -> None:
    """Also one that asks nobody whether it is to end, as the walk of a long code."""

    def without_end() -> int:
        while True:
            sum(range(100))

    assert run_until(budget_from(0.05), without_end) is None
    assert run_until(budget_from(60.0), lambda: 3) == 3
    assert run_until(UNLIMITED, lambda: 3) == 3
