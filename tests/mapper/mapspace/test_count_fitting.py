"""The points that fit, counted by arrays and state by state."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from array_cases import array_space_of
from buffer_spaces import random_space, space
from explore import at_night
from search_cases import space_of
from tight_cases import tight_space_of

from tilewright.mapper.mapspace.counting.count_fitting import count_fitting
from tilewright.mapper.mapspace.counting.count_fitting_walked import walk_fitting
from tilewright.mapper.mapspace.space import Mapspace


@pytest.mark.random
@pytest.mark.parametrize("seed", [*range(4), *at_night(*range(4, 12))])
def test_what_fits_is_counted_exactly(seed: int) -> None:
    room = random_space(seed)
    if room.size.points < 3000:
        assert room.count_fitting() == sum(1 for _ in room)


def test_counting_gives_up_where_it_would_take_too_long() -> None:
    assert space(size=96).count_fitting(limit=10) is None


@pytest.mark.parametrize("maker", [space_of, tight_space_of, array_space_of])
def test_points_that_fit_are_counted_alike_state_by_state(
    maker: Callable[[int], Mapspace],
) -> None:
    tight = 0
    for seed in range(4):
        for points in maker(seed)._points[:20]:
            found, _ = count_fitting(points, 10**9)
            assert found == walk_fitting(points, 10**9)[0]
            tight += found != points.count
    assert tight
