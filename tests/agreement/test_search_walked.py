"""The search against every mapping, each scored by the slow walk: more than 300 random cases.

Single Einsums (matmul-, convolution- and elementwise-like) on two to four levels under random
constraints, some with uneven tiles; workloads of two to four Einsums, fused and not, are walked in
test_fused_walked.py. A few run by default, all of them nightly.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from explore import at_night, enough
from memo import stored_figures
from padded_cases import padded_space_of, padded_uneven_space_of
from walked import of_the_walk
from walked_cases import even_space_of, uneven_space_of

from tilewright.arch.components.components import Toll
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.exact.label_metrics import Goal, Objective
from tilewright.mapper.searches.methods.default_search import DefaultSearch
from tilewright.mapper.searches.methods.relaxed_min_usage import search_with_lowered_min_usage

SECOND: dict[Objective, Objective] = {"energy": "latency", "latency": "energy", "edp": "energy"}


def check(seed: int, limit: int, make: Callable[[int], Mapspace] = even_space_of) -> bool:
    """Compare the search with the walk on one case; False if it is too large to walk."""
    space = make(seed)
    if space.uneven and any(isinstance(component, Toll) for component in space.flat.components):
        return False  # the walk's own list of uneven mappings has no Tolls
    listed = stored_figures(of_the_walk, make, seed, limit)
    if listed is None:
        return False
    for objective, second in SECOND.items():
        goal = Goal(objective)
        result = DefaultSearch().find(space, goal, None)
        if result.best is None:
            result = search_with_lowered_min_usage(DefaultSearch(), space, goal, None) or result
        if not listed:
            assert result.best is None, seed
            continue
        assert result.best is not None, seed
        least = min(one.value(objective) for one in listed)
        assert result.best.value(goal) == pytest.approx(least, rel=1e-9), seed
        assert result.proven, seed
        assert result.lower_bound == pytest.approx(least, rel=1e-9), seed
        ties = [o.value(second) for o in listed if o.value(objective) <= least * (1 + 1e-9)]
        assert result.best.value(second) <= min(ties) * (1 + 1e-9), seed
    return True


@pytest.mark.parametrize("seed", [2, 3, 5, 8, 9, 13, 17, 21])
def test_search_equals_the_walk(seed: int) -> None:
    assert check(seed, limit=1000)


def test_tiles_with_gaps() -> None:
    """`A[2*m, k]` behind an open hierarchy: two small tiles have fewer values than a whole one."""
    assert check(1598, limit=3000)


@pytest.mark.parametrize("seed", [8, *at_night(9, 11)])
def test_search_with_uneven_tiles_equals_the_walk(seed: int) -> None:
    assert check(seed, limit=1000, make=uneven_space_of)


@pytest.mark.parametrize(
    ("make", "seed"),
    [
        (padded_space_of, 15),
        (padded_space_of, 27),
        pytest.param(padded_uneven_space_of, 35, marks=pytest.mark.nightly),
    ],
)
def test_search_over_padded_tensors_equals_the_walk(
    make: Callable[[int], Mapspace], seed: int
) -> None:
    assert check(seed, 900, make)


@pytest.mark.nightly
@pytest.mark.parametrize("make", [padded_space_of, padded_uneven_space_of])
@pytest.mark.parametrize("block", range(10))
def test_search_over_padded_tensors_equals_the_walk_on_many(
    block: int, make: Callable[[int], Mapspace]
) -> None:
    seeds = range(1000 + 20 * block, 1020 + 20 * block)
    assert enough(sum(check(seed, 2000, make) for seed in seeds), 1)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(40))
def test_search_equals_the_walk_on_many(block: int) -> None:
    seeds = range(1000 + 20 * block, 1020 + 20 * block)
    assert enough(sum(check(seed, limit=3000) for seed in seeds), 8)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(15))
def test_search_with_uneven_tiles_equals_the_walk_on_many(block: int) -> None:
    seeds = range(1000 + 20 * block, 1020 + 20 * block)
    assert enough(sum(check(seed, limit=3000, make=uneven_space_of) for seed in seeds), 3)
