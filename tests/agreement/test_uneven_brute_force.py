"""The exact search over uneven tiles against enumeration and against brute force."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from itertools import product

import pytest
from best_of_listed import OBJECTIVES, SECOND, check_best
from explore import at_night, enough
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


def against(
    mappings: Callable[..., object],
    make: Callable[[int], Mapspace],
    seeds: range,
    limit: int,
    objectives: int,
) -> int:
    """Compare with the mappings that an oracle lists; return how many cases were small enough."""
    done = 0
    for seed in seeds:
        listed = stored_figures(mappings, make, seed, limit)
        if listed is None:
            continue
        done += 1
        space = make(seed)
        for objective in random.Random(seed).sample(OBJECTIVES, objectives):
            second = None if objective == "edp" else SECOND[objective]
            found = check_best(space, objective, listed, second=second)
            assert found is None or space.contains(found.mapping) is None
    return done


against_points = partial(against, of_points_of_few_loops, uneven_space)
"""Compares with the mapspace's own points."""
against_all_loops = partial(against, of_all_loops, small_uneven_space)
"""Compares with every loop in every gap."""


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
