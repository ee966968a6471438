"""Joining dimensions: the join rule of layouts.md §1, against public layout cases."""

from itertools import product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout import AffineMap, Collapse, GridSplit


@pytest.mark.row("004.12", "004.13")
@pytest.mark.parametrize(
    ("shape", "intervals", "groups"),
    [
        ((2, 3, 64, 128), ((0, -1),), ((0, 1, 2), (3,))),
        ((2, 3, 64, 128), ((1, -1),), ((0,), (1, 2), (3,))),
        ((2, 3, 64, 128), ((0, 2),), ((0, 1), (2,), (3,))),
        # The document's own example that its builder cannot emit (layouts.md §5, coll-d).
        ((5, 3, 2, 2, 7, 32, 32), ((0, 3), (-3, -1)), ((0, 1, 2), (3,), (4, 5), (6,))),
        ((128,), ((0, -1),), ((0,),)),
    ],
)
def test_groups_of_the_documented_examples(
    shape: tuple[int, ...],
    intervals: tuple[tuple[int, int], ...],
    groups: tuple[tuple[int, ...], ...],
) -> None:
    assert Collapse.of(shape, intervals).groups == groups


def test_fewer_groups_than_grid_dimensions_are_padded_in_front() -> None:
    collapse = Collapse.of((128,), grid_rank=3)
    assert collapse.extents == (1, 1, 128)
    split = GridSplit.ceil(collapse.extents, (1, 2, 4))
    assert split.shard_shape == (1, 1, 32)
    # The second core of the middle dimension owns padding only (layouts.md §2).
    assert split.empty_cells() == tuple((0, 1, c) for c in range(4))


def test_more_groups_than_grid_dimensions_are_refused() -> None:
    with pytest.raises(SpecError, match="3 groups of dimensions do not fit a grid of 2"):
        Collapse.of((8, 96, 32), (), grid_rank=2)


def test_overlapping_intervals_are_refused() -> None:
    with pytest.raises(SpecError, match="overlap"):
        Collapse.of((2, 3, 4), ((0, 2), (1, 3)))


shapes = st.lists(st.integers(1, 5), min_size=1, max_size=5).map(tuple)


@given(shapes, st.data())
def test_coordinates_and_index_are_inverse(shape: tuple[int, ...], data: st.DataObject) -> None:
    begin = data.draw(st.integers(0, len(shape)))
    end = data.draw(st.integers(begin, len(shape)))
    collapse = Collapse.of(shape, ((begin, end),))
    index = tuple(data.draw(st.integers(0, extent - 1)) for extent in shape)
    assert collapse.index(collapse.coordinates(index)) == index


@pytest.mark.row("004.26")
def test_a_bumped_stride_leaves_holes() -> None:
    """2 × 8 × 32 with rows of 32 instead of 8: extent 40, not 64 (layouts.md §1)."""
    collapse = Collapse.linear((2, 8, 32), AffineMap.parse("(d0 * 32 + d1, d2)", 3))
    assert collapse.extents == (40, 32)
    assert collapse.holes == 24 * 32
    assert collapse.index((31, 0)) is None
    assert collapse.index((32, 5)) == (1, 0, 5)
    assert collapse.strides == (1024, 32, 1)


def test_alignment_accumulates_over_the_joined_product() -> None:
    """31 × 33 × 447 aligned to (256, 32, 256): 31 rows of 64, up to 2048; 512 columns."""
    collapse = Collapse.of((31, 33, 447), ((0, 2), (2, 3)), alignments=(256, 32, 256))
    assert collapse.extents == (2048, 512)
    assert collapse.coordinates((1, 0, 0)) == (64, 0)


@pytest.mark.parametrize(
    ("shape", "text", "first", "second"),
    [
        # a public compiler test whose rows of 384 lie 32 apart
        ((2, 384, 32), "(d0 * 32 + d1, d2)", (0, 32, 0), (1, 0, 0)),
        ((4, 3), "(d0, d0)", (0, 0), (0, 1)),
        ((2, 3000), "(d0 * 2500 + d1)", (0, 2500), (1, 0)),
    ],
)
def test_two_indices_at_one_place_are_named(
    shape: tuple[int, ...], text: str, first: tuple[int, ...], second: tuple[int, ...]
) -> None:
    with pytest.raises(SpecError) as caught:
        Collapse.linear(shape, AffineMap.parse(text, len(shape)))
    assert str(first) in caught.value.what
    assert str(second) in caught.value.what


def test_interleaved_coefficients_are_refused_even_without_a_collision() -> None:
    with pytest.raises(SpecError, match="interleave"):
        Collapse.linear((3, 2), AffineMap.parse("(d0 * 2 + d1 * 3)", 2))


@given(shapes, st.data())
def test_aligned_collapses_and_counts_against_a_walk(
    shape: tuple[int, ...], data: st.DataObject
) -> None:
    """Every index once, holes where none is; count_below against counting."""
    alignments = [data.draw(st.integers(1, 4)) for _ in shape]
    collapse = Collapse.of(shape, alignments=alignments)
    places = {collapse.coordinates(index): index for index in product(*map(range, shape))}
    assert len(places) == prod(shape)
    for coordinates in product(*map(range, collapse.extents)):
        assert collapse.index(coordinates) == places.get(coordinates)
    assert collapse.holes == prod(collapse.extents) - len(places)
    for group in range(len(collapse.extents)):
        seen = {coordinates[group] for coordinates in places}
        for end in range(collapse.extents[group] + 2):
            assert collapse.count_below(group, end) == sum(at < end for at in seen)


@pytest.mark.row("004.11", "004.14")
def test_coordinates_of_the_documented_walkthrough() -> None:
    collapse = Collapse.of((2, 3, 64, 128))
    assert collapse.coordinates((1, 1, 6, 100)) == (1 * 192 + 1 * 64 + 6, 100) == (262, 100)
    assert collapse.coordinates((1, 2, 63, 127)) == (383, 127)
    assert GridSplit.ceil(collapse.extents, (2, 4)).shard_shape == (192, 32)
