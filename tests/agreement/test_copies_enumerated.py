"""Copies: the few mappings that are looked at hold the best of all."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from copied_cases import copied_space_of
from network_cases import copied_network_space_of

from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.copies.copy_einsums import CopyMappings, CopySearch
from tilewright.mapper.searches.exact.label_metrics import Goal, Objective
from tilewright.mapper.searches.methods.exhaustive import ExhaustiveSearch

SECOND: dict[Objective, Objective] = {"energy": "latency", "latency": "energy", "edp": "energy"}


def check(space: Mapspace) -> None:
    for objective, second in SECOND.items():
        goal = Goal(objective)
        found = CopySearch().find(space, goal, None)
        every = ExhaustiveSearch().find(space, goal, None)
        assert found.proven
        if found.best is None or every.best is None:
            assert found.best is every.best
            continue
        least = every.best.value(goal)
        assert found.best.value(goal) == pytest.approx(least, rel=1e-9)
        assert found.lower_bound == pytest.approx(least, rel=1e-9)
        assert found.best.value(second) <= every.best.value(second) * (1 + 1e-9)
        assert space.contains(found.best.mapping) is None


def run(seeds: range, case: Callable[[int], Mapspace] = copied_space_of) -> int:
    spaces = [space for space in map(case, seeds) if space.size.points <= 1000]
    for space in spaces:
        check(space)
    return len(spaces)


def test_copies_equal_enumeration() -> None:
    assert run(range(60, 72)) >= 8  # the bound of few mappings is too low in several of these


def test_copies_over_networks_equal_enumeration() -> None:
    assert run(range(16), copied_network_space_of) >= 8


def test_what_is_sent_at_least_bounds_the_energy() -> None:
    """Where not every way to deal lanes is looked at, the fewest lanes send the least."""
    attained = 0
    for space in map(copied_network_space_of, range(40)):
        copies = CopyMappings(space)
        if space.size.points > 1000 or not copies.representatives:
            continue
        copies.__dict__["every"] = None  # as if there were too many
        found = copies.best(Goal("energy"))
        best, bound = found.mapping, found.bound
        every = ExhaustiveSearch().find(space, Goal("energy"), None).best
        assert best is not None
        assert every is not None
        assert bound <= every.energy * (1 + 1e-9)
        attained += best.energy <= bound * (1 + 1e-9)
    assert attained >= 10


def test_too_many_lanes_leave_a_bound() -> None:
    """Where not every number of lanes is looked at, the compulsory time bounds the latency."""
    for space in map(copied_space_of, range(60, 72)):
        copies = CopyMappings(space)
        if not copies.representatives:
            continue
        copies.__dict__["every"] = None  # as if there were too many
        found = copies.best(Goal("latency"))
        best, bound = found.mapping, found.bound
        least = CopySearch().find(space, Goal("latency"), None).lower_bound
        assert 0 <= bound <= least * (1 + 1e-9)
        assert best is None or best.latency >= least * (1 - 1e-9)


@pytest.mark.nightly
def test_copies_over_networks_equal_enumeration_on_many() -> None:
    assert run(range(1000, 1200), copied_network_space_of) >= 100


@pytest.mark.nightly
def test_copies_equal_enumeration_on_many() -> None:
    assert run(range(1000, 1200)) >= 150
