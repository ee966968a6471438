"""Copies: the few mappings that are looked at hold the best of all."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from copied_cases import copied_space_of
from explore import at_night, enough
from figures import Figures
from memo import stored_figures
from network_cases import copied_network_space_of
from points import of_points

from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.copies.copy_einsums import CopyMappings, CopySearch
from tilewright.mapper.searches.exact.label_metrics import Goal, Objective
from tilewright.mapper.searches.exact.metric_terms import leaks_of

SECOND: dict[Objective, Objective] = {"energy": "latency", "latency": "energy", "edp": "energy"}


LIMIT = 1000  # mappings


def listed_of(case: Callable[[int], Mapspace], seed: int) -> list[Figures]:
    listed = stored_figures(of_points, case, seed, LIMIT)
    assert listed is not None
    return listed


def check(space: Mapspace, listed: list[Figures]) -> None:
    for objective, second in SECOND.items():
        goal = Goal(objective)
        found = CopySearch().find(space, goal, None)
        assert found.proven
        if found.best is None or not listed:
            assert found.best is None
            assert not listed
            continue
        least = min(one.value(objective) for one in listed)
        ties = [o.value(second) for o in listed if o.value(objective) <= least * (1 + 1e-12)]
        assert found.best.value(goal) == pytest.approx(least, rel=1e-9)
        assert found.lower_bound == pytest.approx(least, rel=1e-9)
        assert found.best.value(second) <= min(ties) * (1 + 1e-9)
        assert space.contains(found.best.mapping) is None


def run(seeds: range, case: Callable[[int], Mapspace] = copied_space_of) -> int:
    spaces = {seed: space for seed in seeds if (space := case(seed)).size.points <= LIMIT}
    for seed, space in spaces.items():
        check(space, listed_of(case, seed))
    return len(spaces)


def test_copies_equal_enumeration() -> None:
    assert run(range(60, 63)) >= 2  # the bound of few mappings is too low in several of these


def test_copies_over_networks_equal_enumeration() -> None:
    assert run(range(8), copied_network_space_of) >= 4


def test_what_is_sent_at_least_bounds_the_energy() -> None:
    """Where not every way to deal lanes is looked at, the fewest lanes send the least."""
    attained = 0
    for seed in range(20):
        space = copied_network_space_of(seed)
        copies = CopyMappings(space)
        if space.size.points > LIMIT or not copies.representatives:
            continue
        copies.__dict__["all_distinct"] = None  # as if there were too many
        found = copies.best(Goal("energy"))
        best, bound = found.mapping, found.bound
        least = min(one.energy for one in listed_of(copied_network_space_of, seed))
        assert best is not None
        assert bound <= least * (1 + 1e-9)
        attained += best.energy <= bound * (1 + 1e-9)
    assert attained >= 5


@pytest.mark.parametrize("block", [0, *at_night(1, 2, 3)])
def test_what_leaks_at_least_bounds_the_energy(block: int) -> None:
    """Where components leak and not every choice of lanes is looked at, the least time leaks."""
    leaking = attained = 0
    for seed in range(60 + block * 20, 80 + block * 20):
        space = copied_space_of(seed)
        copies = CopyMappings(space)
        if space.size.points > LIMIT or not leaks_of(space.flat, space.conventions):
            continue
        if not copies.representatives:
            continue
        copies.__dict__["all_distinct"] = None  # as if there were too many
        best = copies.best(Goal("energy"))
        least = min(one.energy for one in listed_of(copied_space_of, seed))
        assert best.mapping is not None
        assert best.bound <= least * (1 + 1e-9), seed
        leaking += 1
        attained += best.mapping.energy <= best.bound * (1 + 1e-9)
    assert enough(leaking, 5)
    assert enough(attained, 2)


def test_too_many_lanes_leave_a_bound() -> None:
    """Where not every number of lanes is looked at, the compulsory time bounds the latency."""
    for space in map(copied_space_of, range(60, 72)):
        copies = CopyMappings(space)
        if not copies.representatives:
            continue
        copies.__dict__["all_distinct"] = None  # as if there were too many
        found = copies.best(Goal("latency"))
        best, bound = found.mapping, found.bound
        least = CopySearch().find(space, Goal("latency"), None).lower_bound
        assert 0 <= bound <= least * (1 + 1e-9)
        assert best is None or best.latency >= least * (1 - 1e-9)


@pytest.mark.nightly
def test_copies_over_networks_equal_enumeration_on_many(shift: int) -> None:
    seeds = range(shift + 1000, shift + 1200)
    assert enough(run(seeds, copied_network_space_of), 100)


@pytest.mark.nightly
def test_copies_equal_enumeration_on_many(shift: int) -> None:
    assert enough(run(range(shift + 1000, shift + 1200)), 150)
