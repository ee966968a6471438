"""The target of a sweep for a Pareto set keeps what listing all rows keeps."""

from __future__ import annotations

import random
from typing import Any, cast

import numpy as np
import pytest

from tilewright.mapper.searches.exact.kernels import Floats
from tilewright.mapper.searches.objective.targets import MAX_CORNERS, FrontTarget, TracedMapping
from tilewright.mapper.searches.program.program_steps import TemplateProgram

NO_PROGRAM = cast(TemplateProgram, None)


def traced(row: Any) -> TracedMapping:
    return TracedMapping(tuple(float(value) for value in row), NO_PROGRAM, ())


def random_rows(rng: random.Random, count: int) -> Floats:
    return np.array([[rng.randint(1, 9) for _ in range(3)] for _ in range(count)], np.float64)


def front(rows: Floats, counted: tuple[int, ...]) -> set[tuple[float, ...]]:
    """Return the points that no other one is below or equal to in all columns, by listing."""
    points = {tuple(float(row[c]) for c in counted) for row in rows}
    return {
        p
        for p in points
        if not any(q != p and all(a <= b for a, b in zip(q, p, strict=True)) for q in points)
    }


@pytest.mark.parametrize("counted", [(0, 1, 2), (0, 1), (0, 2), (1,)])
def test_batches_give_the_front_of_all_rows(counted: tuple[int, ...]) -> None:
    rng = random.Random(4)
    for _ in range(20):
        target, rows = FrontTarget(counted), random_rows(rng, 40)
        for batch in np.split(rows, 5):
            target.offer([traced(batch[i]) for i in target.wanted(batch)])
        points = [tuple(m.row[c] for c in counted) for m in target.mappings]
        assert set(points) == front(rows, counted)
        assert len(set(points)) == len(points)


def test_of_equal_rows_the_one_with_less_of_the_other_columns_is_wanted() -> None:
    rows = np.array([[1.0, 5.0, 7.0], [1.0, 2.0, 9.0], [1.0, 2.0, 3.0]])
    assert FrontTarget((0,)).wanted(rows) == [2]


def test_hope_is_for_rows_that_no_point_covers() -> None:
    target = FrontTarget((0, 1))
    floors = np.array([[2.0, 2.0, 0.0], [1.0, 9.0, 0.0], [3.0, 1.0, 0.0]])
    assert target.hopeful(floors).all()
    target.offer([traced((2, 2, 5))])
    assert target.hopeful(floors).tolist() == [False, True, True]
    assert target.hopeful(np.array([[2.0 * (1 - 1e-14), 2.0, 0.0]])).tolist() == [False]


def test_no_mapping_at_a_corner_is_of_interest() -> None:
    target = FrontTarget((0, 2))
    target.offer([traced((i, 1, 500 - i)) for i in range(500)])
    corners = target.corners()
    assert len(corners) == MAX_CORNERS
    assert not corners[:, 1].any()
    assert not target.hopeful(corners).any()


def test_bits_that_the_same_sizes_hold_are_equal() -> None:
    """With memories of 8 or 16 bits, 9 bits need the larger one as 16 do; 17 need more."""
    target = FrontTarget((0, 2), sizes=((8.0, 16.0),))
    rows = np.array([[5.0, 1.0, 9.0], [4.0, 1.0, 16.0], [6.0, 1.0, 8.0], [3.0, 1.0, 17.0]])
    target.offer([traced(rows[i]) for i in target.wanted(rows)])
    assert sorted(m.row[2] for m in target.mappings) == [8.0, 16.0, 17.0]
