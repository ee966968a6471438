"""The exact search over uneven tiles against enumeration and against brute force."""

from __future__ import annotations

import random
from itertools import product

import pytest
from explore import at_night, enough
from figures import Figures
from memo import stored_figures
from uneven_cases import (
    chain_count,
    chains,
    of_all_loops,
    of_points_of_few_loops,
    small_uneven_space,
    uneven_space,
)

from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.exact.exact import ExactSearch
from tilewright.mapper.searches.exact.label_metrics import Goal, Objective
from tilewright.mapper.searches.mapping_scorer import MappingScorer

SECOND: dict[Objective, Objective] = {"energy": "latency", "latency": "energy", "edp": "energy"}


def check(space: Mapspace, objective: Objective, candidates: list[Figures]) -> None:
    """Compare the search with all candidates: value, bound, second metric, membership."""
    result = ExactSearch().find(space, Goal(objective), None)
    assert result.proven
    if not candidates:
        assert result.best is None
        return
    assert result.best is not None
    confirmed = MappingScorer(space).verified(result.best)
    least = min(candidate.value(objective) for candidate in candidates)
    assert confirmed.value(objective) == pytest.approx(least, rel=1e-9)
    assert result.lower_bound == pytest.approx(least, rel=1e-9)
    if objective != "edp":
        second = SECOND[objective]
        ties = [c.value(second) for c in candidates if c.value(objective) <= least * (1 + 1e-9)]
        assert confirmed.value(second) <= min(ties) * (1 + 1e-9)
    assert space.contains(confirmed.mapping) is None


def against_points(seeds: range, limit: int, objectives: int) -> int:
    """Compare with the mapspace's own points; return how many cases were small enough."""
    done = 0
    for seed in seeds:
        candidates = stored_figures(of_points_of_few_loops, uneven_space, seed, limit)
        if candidates is None:
            continue
        done += 1
        space = uneven_space(seed)
        for objective in random.Random(seed).sample(list(SECOND), objectives):
            check(space, objective, candidates)
    return done


def against_all_loops(seeds: range, limit: int, objectives: int) -> int:
    """Compare with every loop in every gap; return how many cases were small enough."""
    done = 0
    for seed in seeds:
        candidates = stored_figures(of_all_loops, small_uneven_space, seed, limit)
        if candidates is None:
            continue
        done += 1
        space = small_uneven_space(seed)
        for objective in random.Random(seed).sample(list(SECOND), objectives):
            check(space, objective, candidates)
    return done


def test_chains_are_counted() -> None:
    for bound, places, uneven in product(range(1, 8), range(4), (False, True)):
        listed = list(chains(bound, places, uneven))
        assert chain_count(bound, places, uneven) == len(listed)


@pytest.mark.parametrize("block", [6, *at_night(0, 1, 2, 3, 4, 5)])
def test_search_equals_the_best_point(block: int) -> None:
    assert enough(against_points(range(block * 7, block * 7 + 7), 200, 1), 1)


@pytest.mark.parametrize("block", [7, *at_night(0, 1, 2, 3, 6)])
def test_search_equals_brute_force(block: int) -> None:
    assert enough(against_all_loops(range(500 + block * 7, 507 + block * 7), 1500, 1), 2)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(20))
def test_search_equals_the_best_point_on_many(block: int) -> None:
    assert enough(against_points(range(1000 + block * 25, 1025 + block * 25), 3000, 3), 8)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(10))
def test_search_equals_brute_force_on_many(block: int) -> None:
    assert enough(against_all_loops(range(5000 + block * 40, 5040 + block * 40), 10_000, 3), 8)
