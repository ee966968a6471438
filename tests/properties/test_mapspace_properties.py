"""Mapspaces speak about mappings, each of them once."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest
from array_cases import array_space_of, loose_space_of
from explore import enough
from search_cases import space_of
from tight_cases import tight_space_of

from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.workload.errors import InfeasibleMapping

MAKERS: tuple[Callable[[int], Mapspace], ...] = (
    space_of,
    tight_space_of,
    loose_space_of,
    array_space_of,
)


def check(space: Mapspace, most: int) -> bool:
    """Check all that a mapspace promises; False if it is too large to be listed."""
    if len(space.templates) > 60 or not 0 < space.point_count_bound <= most:
        return False
    listed = [str(mapping) for mapping in space]
    assert len(set(listed)) == len(listed)
    assert space.count_fitting() == len(listed)
    assert space.size.exact
    assert len(listed) <= space.size.points <= space.point_count_bound
    rng = random.Random(1)
    for mapping in rng.sample(list(space), min(4, len(listed))):
        assert space.contains(mapping) is None
        near = [str(one) for one in space.neighbours(mapping)]
        assert len(set(near)) == len(near)
        assert str(mapping) not in near
        assert set(near) <= set(listed)
    for _ in range(5):
        try:
            assert str(space.sample(rng)) in listed
        except InfeasibleMapping:
            assert len(listed) < space.size.points
    return True


@pytest.mark.parametrize("make", MAKERS)
def test_small_mapspaces_list_count_and_draw_each_mapping_once(
    make: Callable[[int], Mapspace],
) -> None:
    assert sum(check(make(seed), 250) for seed in range(5)) >= 2


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(10))
@pytest.mark.parametrize("make", MAKERS)
def test_many_mapspaces_list_count_and_draw_each_mapping_once(
    make: Callable[[int], Mapspace], block: int
) -> None:
    seeds = range(1000 + 20 * block, 1020 + 20 * block)
    assert enough(sum(check(make(seed), 4000) for seed in seeds), 2)


def test_draws_are_uniform_over_mappings_that_several_tiles_print() -> None:
    """If each point counted, some would come two or three times as often."""
    space = next(
        one
        for one in map(tight_space_of, range(100))
        if 0 < one.point_count_bound <= 60 and 5 < len(list(one)) < one.point_count_bound
    )
    listed = [str(mapping) for mapping in space]
    rng = random.Random(3)
    drawn = Counter(str(space.sample(rng)) for _ in range(100 * len(listed)))
    assert set(drawn) == set(listed)
    assert max(drawn.values()) < 150
    assert min(drawn.values()) > 60
