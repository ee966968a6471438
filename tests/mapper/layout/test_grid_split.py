"""Splitting over a grid: every position has one owner, padding is what is left."""

from itertools import product
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout import GridSplit


def test_ceil_shards_can_leave_cells_empty() -> None:
    """9 rows on 8 cells: shards of 2, cells 5 to 7 empty (layouts.md §2)."""
    split = GridSplit.ceil((9,), (8,))
    assert split.empty_cells() == ((5,), (6,), (7,))
    assert split.empty_count == 3
    assert split.uneven == (16 - 9,)


@pytest.mark.row("004.24")
def test_order_of_tiles_and_grid_decides_ownership_not_shapes() -> None:
    """53 rows on 3 cells, tiles of 32: 18, 18, 17 or 32, 21, 0 rows (layouts.md §3)."""
    scalars, tiles = GridSplit.ceil((53,), (3,)), GridSplit.ceil((53,), (3,), (32,))
    assert [scalars.valid((cell,))[0] for cell in range(3)] == [18, 18, 17]
    assert [tiles.valid((cell,))[0] for cell in range(3)] == [32, 21, 0]
    assert -(-scalars.shard_shape[0] // 32) == -(-tiles.shard_shape[0] // 32) == 1


def test_an_exact_split_names_what_is_left() -> None:
    assert GridSplit.exact((12, 6), (4, 3)).shard_shape == (3, 2)
    with pytest.raises(SpecError, match="group 1: 7 positions do not divide over 3 cells, 1 are"):
        GridSplit.exact((12, 7), (4, 3))


def test_blocks_are_dealt_in_turn() -> None:
    split = GridSplit((10,), (2,), (2,))
    assert [split.owner((at,))[0][0] for at in range(10)] == [0, 0, 1, 1, 0, 0, 1, 1, 0, 0]
    assert split.shard_shape == (6,)
    assert split.runs(0, 0) == ((0, 0, 2), (2, 4, 2), (4, 8, 2))


@pytest.mark.parametrize(
    ("extents", "grid", "block"),
    [((4,), (1, 2), (4,)), ((4,), (0,), (4,)), ((4,), (2,), (2, 1)), ((4,), (2,), (0,))],
)
def test_parts_that_do_not_fit_are_refused(
    extents: tuple[int, ...], grid: tuple[int, ...], block: tuple[int, ...]
) -> None:
    with pytest.raises(SpecError):
        GridSplit(extents, grid, block)


splits = st.integers(1, 3).flatmap(
    lambda rank: st.builds(
        GridSplit,
        *(st.tuples(*[st.integers(1, most)] * rank) for most in (9, 4, 4)),
    )
)


@given(splits)
def test_every_position_has_one_place(split: GridSplit) -> None:
    """Deal positions one by one, as a person would, and compare."""
    hands = []
    for extent, cells, block in zip(split.extents, split.grid, split.block, strict=True):
        dealt: list[list[int]] = [[] for _ in range(cells)]
        for position in range(extent):
            dealt[position // block % cells].append(position)
        hands.append(dealt)
    assert split.shard_shape == tuple(
        ceil(ceil(extent / block) / cells) * block
        for extent, cells, block in zip(split.extents, split.grid, split.block, strict=True)
    )
    places = set()
    for position in product(*map(range, split.extents)):
        cell, offset = split.owner(position)
        assert all(p in hand[c] for p, hand, c in zip(position, hands, cell, strict=True))
        assert split.coordinates(cell, offset) == position
        places.add((cell, offset))
    empty = []
    for cell in product(*map(range, split.grid)):
        assert split.valid(cell) == tuple(len(h[c]) for h, c in zip(hands, cell, strict=True))
        if 0 in split.valid(cell):
            empty.append(cell)
        for offset in product(*map(range, split.shard_shape)):
            assert (split.coordinates(cell, offset) is not None) == ((cell, offset) in places)
        for group, at in enumerate(cell):
            runs = split.runs(group, at)
            assert [s + i for _, s, n in runs for i in range(n)] == hands[group][at]
    assert list(split.empty_cells()) == empty
    assert split.empty_count == len(empty)
