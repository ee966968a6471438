"""A collapse is refused exactly where two indices of the tensor have the same coordinates."""

from __future__ import annotations

import random
import re
from ast import literal_eval
from collections.abc import Sequence
from itertools import product

import pytest

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout.collapse_collision import check_injective

Row = tuple[tuple[int, int], ...]


def coordinates(rows: Sequence[Row], index: Sequence[int]) -> tuple[int, ...]:
    return tuple(sum(index[d] * factor for d, factor in row) for row in rows)


def is_injective(shape: Sequence[int], rows: Sequence[Row]) -> bool:
    places = [coordinates(rows, index) for index in product(*map(range, shape))]
    return len(set(places)) == len(places)


def complaint_about(shape: Sequence[int], rows: Sequence[Row]) -> str:
    """Return what is wrong with a collapse, "" if nothing is."""
    try:
        check_injective(shape, rows)
    except SpecError as error:
        return error.what
    return ""


def drawn(rng: random.Random) -> tuple[tuple[int, ...], list[Row]]:
    """Return a small shape, and groups of its dimensions with coefficients."""
    shape = tuple(rng.randint(1, 4) for _ in range(rng.randint(1, 4)))
    rows: list[list[tuple[int, int]]] = [[] for _ in range(rng.randint(1, 2))]
    for dimension in range(len(shape)):
        if rng.random() < 0.95:
            rng.choice(rows).append((dimension, rng.choice((1, 2, 3, 4, 6, 8, 12))))
    return shape, [tuple(row) for row in rows]


def test_random_collapses_are_judged_as_by_listing_all_indices() -> None:
    rng, refused = random.Random(3), 0
    for _ in range(600):
        shape, rows = drawn(rng)
        complaint = complaint_about(shape, rows)
        refused += complaint != ""
        pair = re.match(r"indices (\(.*?\)) and (\(.*?\)) of a tensor", complaint)
        if pair is None:
            assert not complaint or "interleave" in complaint
            assert is_injective(shape, rows)
            continue
        first, second = literal_eval(pair[1]), literal_eval(pair[2])
        assert first != second
        assert {first, second} <= set(product(*map(range, shape)))
        assert coordinates(rows, first) == coordinates(rows, second)
    assert 100 < refused < 500


def test_interleaved_coefficients_are_refused_though_nothing_collides() -> None:
    """2 i + 3 j with i < 3, j < 2 has the values 0, 2, 4, 3, 5, 7: different, but not nested."""
    with pytest.raises(SpecError, match="coefficients of a collapse interleave"):
        check_injective((3, 2), [((0, 2), (1, 3))])


def test_a_dimension_of_extent_one_may_be_left_out() -> None:
    check_injective((4, 1), [((0, 1),)])
    with pytest.raises(SpecError, match=r"indices \(0, 1\) and \(0, 0\)"):
        check_injective((4, 2), [((0, 1),)])


def test_wide_tensors_are_judged_without_listing() -> None:
    check_injective((10**6, 10**6), [((0, 10**6), (1, 1))])
    with pytest.raises(SpecError, match="have the same coordinates"):
        check_injective((10**6, 10**6), [((0, 10**6 - 1), (1, 1))])
