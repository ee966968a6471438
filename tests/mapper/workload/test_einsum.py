"""Einsums as values: extents of index forms, relevance of rank variables, sizes of tiles."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.mapper.workload.einsum import Affine, Einsum, TensorAccess

P_R = Affine((("p", 1), ("r", 1)))
STRIDED = Affine((("p", 2),))
WINDOW = TensorAccess("I", (("H", P_R), ("W", STRIDED), ("C", Affine((("c", 1),)))))


@given(
    st.lists(st.integers(-4, 4).filter(bool), min_size=1, max_size=3),
    st.integers(-5, 5),
    st.lists(st.integers(1, 5), min_size=3, max_size=3),
)
def test_extent_is_the_span_of_all_values(
    factors: list[int], constant: int, sizes: list[int]
) -> None:
    """Against all points of the tile: the distance from the least value to the largest, plus 1."""
    names = "abc"[: len(factors)]
    form = Affine(tuple(zip(names, factors, strict=True)), constant)
    tile = dict(zip(names, sizes, strict=False))
    values = [
        form.value(dict(zip(names, point, strict=True)))
        for point in product(*(range(tile[name]) for name in names))
    ]
    assert form.extent(tile) == max(values) - min(values) + 1


def test_the_written_constant_knows_where_variables_begin() -> None:
    """`3*a` over 2 <= a < 10 is kept as 3*a + 6 over 0 <= a < 8."""
    assert Affine((("a", 3),), 6).written({"a": 2}) == 0
    assert Affine((("a", 3),), 6).written({}) == 6


def test_relevance_follows_the_first_form_with_the_variable() -> None:
    assert [WINDOW.relevance(name) for name in "prcx"] == [
        "partial", "partial", "relevant", "irrelevant",
    ]  # fmt: skip
    assert WINDOW.rank_variables == {"p", "r", "c"}


def test_plain_variables_have_one_value_each() -> None:
    assert [WINDOW.is_plain(name) for name in "prcx"] == [False, False, True, False]
    alone = TensorAccess("A", (("X", STRIDED),))
    assert (alone.relevance("p"), alone.is_plain("p")) == ("relevant", False)
    assert TensorAccess("A", (("X", Affine((("p", -1),))),)).is_plain("p")


def test_tiles_are_products_of_extents() -> None:
    """p = 4, r = 3, c = 2: (4 + 3 - 1) * (2 * 3 + 1) * 2."""
    assert WINDOW.tile_size({"p": 4, "r": 3, "c": 2}) == 6 * 7 * 2
    counted = TensorAccess("A", (("X", Affine((("m", 1),), constant=2, point_extent=3)),))
    assert (counted.tile_size({"m": 4}), counted.point_size) == (6, 3)
    assert counted.relevance("m") == "partial"  # its tiles overlap


def test_an_einsum_knows_its_sides() -> None:
    output = TensorAccess("Z", (("P", Affine((("p", 1),))),), output=True)
    einsum = Einsum("Z", (output, WINDOW), {"p": 4, "r": 3, "c": 2}, {})
    assert einsum.tensors == ("Z", "I")
    assert (einsum.inputs, einsum.outputs) == ((WINDOW,), (output,))
    assert einsum.access("I") is WINDOW
    assert einsum.operations == 24
    with pytest.raises(KeyError):
        einsum.access("W")
