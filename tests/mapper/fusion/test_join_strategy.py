"""Which steps a search of a workload takes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fused_example import plan

from tilewright.mapper.fusion.fused_problem import FusedProblem, TieSearch
from tilewright.mapper.fusion.join import join_strategy
from tilewright.mapper.fusion.join.join_strategy import LEAST_START, JoinStrategy, first_share
from tilewright.mapper.searches.budget import Budget

UNLIMITED = Budget()


def strategy(problem: FusedProblem, budget: Budget = UNLIMITED) -> JoinStrategy:
    return JoinStrategy(problem, budget)


def ties(problem: FusedProblem) -> FusedProblem:
    """Return the search that breaks ties of a problem."""
    return replace(problem, ties=TieSearch(1.0, (1.0, 1.0), {}))


def test_a_small_search_goes_straight_on_unless_a_budget_may_end_it() -> None:
    problem = plan(8).problem
    assert not strategy(problem).starts_small
    assert strategy(problem, Budget(memory=1e12)).starts_small


def test_a_large_search_starts_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not where it is the small start or breaks ties itself."""
    monkeypatch.setattr(join_strategy, "LARGE", 0)
    problem = plan(8).problem
    assert strategy(problem).starts_small
    assert not strategy(problem.with_few_placements(4)).starts_small
    assert not strategy(ties(problem)).starts_small


@pytest.mark.parametrize(
    ("few", "templates"), [(180, 60), (60, 30), (9, 4), (0, 4)], ids=["most", "share", "least", "0"]
)
def test_templates_are_shared_among_different_einsums(
    few: int, templates: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The running example has two different Einsums."""
    monkeypatch.setattr(join_strategy, "FEW_TEMPLATES", few)
    assert strategy(plan(8).problem).few_templates == templates


def test_windows_need_a_metric_that_adds_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(join_strategy, "LARGE", 0)
    assert strategy(plan(8).problem).uses_windows
    assert strategy(plan(8, objective="latency").problem).uses_windows
    assert not strategy(plan(8, objective="edp").problem).uses_windows
    assert not strategy(ties(plan(8).problem)).uses_windows


def test_without_a_limit_of_capacity_no_shared_loops_are_looked_at() -> None:
    endless = replace(plan(8).problem, capacities=(float("inf"),) * 2)
    assert list(strategy(endless).passes(False)) == [False]
    assert list(strategy(plan(8).problem).passes(False)) == [False, True]
    assert list(strategy(plan(8).problem).passes(True)) == [True]


def test_ties_of_energy_among_many_einsums_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(join_strategy, "MANY_EINSUMS", 2)
    assert not strategy(plan(8).problem).ties_are_few
    assert not strategy(ties(plan(8).problem)).ties_are_few
    assert strategy(ties(plan(8, objective="latency").problem)).ties_are_few


def test_a_short_budget_goes_to_the_first_mapping() -> None:
    assert first_share(None, 0.6, 1.0) == 0.6
    assert first_share(0.0, 0.6, 1.0) == 0.6
    assert first_share(100 * LEAST_START, 0.6, 1.0) == 0.6
    assert first_share(1.25 * LEAST_START, 0.6, 1.0) == 0.8
    assert first_share(1.25 * LEAST_START, 0.4, 0.7) == 0.7
    assert first_share(0.5 * LEAST_START, 0.6, 1.0) == 1.0
