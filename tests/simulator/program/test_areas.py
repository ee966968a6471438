"""Areas of a grid: every n-th line, the ranges that hold chosen numbers, areas of equal numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.simulator.program.areas import areas_along, areas_of, equal_areas, progressions
from tilewright.simulator.program.routes import Area


@pytest.mark.parametrize(
    ("area", "text", "elements"),
    [
        (Area(0, 1, 2, 3), "[0:2, 1:4]", {(r, c) for r in (0, 1) for c in (1, 2, 3)}),
        (Area(1, 0, 2, 2, 3, 2), "[1:5:3, 0:3:2]", {(1, 0), (1, 2), (4, 0), (4, 2)}),
        (Area.of(range(4, 5, 7), range(0, 6, 3)), "[4:5, 0:4:3]", {(4, 0), (4, 3)}),
    ],
)
def test_an_area_has_the_elements_of_its_rows_and_columns(
    area: Area, text: str, elements: set[tuple[int, int]]
) -> None:
    grid = np.zeros((6, 6), dtype=bool)
    grid[area.places] = True
    assert {tuple(place) for place in np.argwhere(grid).tolist()} == elements
    assert {p for p in np.ndindex(6, 6) if area.holds(*p)} == elements
    assert str(area) == text
    assert area.size == len(elements)
    assert area.ends == (max(r for r, _ in elements) + 1, max(c for _, c in elements) + 1)
    assert Area.of(area.transposed.columns, area.transposed.rows) == area


@given(st.sets(st.integers(0, 40)).map(sorted))
def test_progressions_hold_the_numbers_once_and_in_order(numbers: list[int]) -> None:
    assert [number for lines in progressions(numbers) for number in lines] == numbers


@pytest.mark.parametrize(
    ("numbers", "ranges"),
    [
        ([0, 2, 4, 6, 7, 8], [range(0, 7, 2), range(7, 9)]),
        ([0, 5, 6, 7], [range(1), range(5, 8)]),
        ([3, 9], [range(3, 10, 6)]),
        ([], []),
        (range(2, 9, 3), [range(2, 9, 3)]),
        (range(0), []),
    ],
)
def test_progressions_are_long(numbers: Sequence[int], ranges: list[range]) -> None:
    assert list(progressions(numbers)) == ranges


@given(st.integers(1, 7), st.integers(1, 7), st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_equal_areas_cover_a_grid_once(rows: int, columns: int, seed: int, kinds: int) -> None:
    numbers = np.random.default_rng(seed).integers(kinds, size=(rows, columns))
    covered = np.full_like(numbers, -1)
    for area, number in equal_areas(numbers):
        assert (covered[area.places] == -1).all()
        covered[area.places] = number
    assert (covered == numbers).all()


def test_columns_in_turns_are_one_area_each() -> None:
    numbers = np.tile([0, 1], (8, 8))
    assert [area for area, _ in equal_areas(numbers)] == [
        Area(0, 0, 8, 8, column_step=2),
        Area(0, 1, 8, 8, column_step=2),
    ]
    assert list(areas_of([0, 2], [1])) == [Area(0, 1, 2, 1, row_step=2)]
    assert list(areas_along("X", range(8), [1, 3])) == [Area(0, 1, 8, 2, column_step=2)]
    assert list(areas_along("Y", range(8), [1, 3])) == [Area(1, 0, 2, 8, row_step=2)]
