"""Transfers between layouts: every scalar once, applied to arrays, against a walk."""

from collections import Counter
from dataclasses import replace
from itertools import product
from math import prod
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout import Collapse, GridSplit, Layout, Tiling
from tilewright.mapper.layout.grid_map import column_major, round_robin, row_major
from tilewright.mapper.layout.layout import Padding
from tilewright.mapper.layout.legality.layout_rules import reduction_is_safe
from tilewright.mapper.layout.queries.transfers import apply_transfers, gather, scatter, transfers
from tilewright.mapper.layout.schemes.buffering import multi_buffered
from tilewright.mapper.layout.schemes.linear_map import linear_map_layout
from tilewright.mapper.layout.schemes.tensor_shardings import ShardedTensor


def test_rows_to_columns_of_a_matrix() -> None:
    """4 × 4 from two row halves to two column halves: 4 scalars each way, two rows of two."""
    moves = transfers(linear_map_layout((4, 4), (2, 1)), linear_map_layout((4, 4), (1, 2)))
    found = {(move.source, move.destination): move.bytes for move in moves}
    assert found == {
        ((0, 0), (0, 0)): 16,
        ((0, 0), (0, 1)): 16,
        ((1, 0), (0, 0)): 16,
        ((1, 0), (0, 1)): 16,
    }
    (pattern,) = moves[1].patterns
    loops = [(s.count, s.source, s.destination) for s in pattern.strides]
    assert (pattern.source, pattern.destination, loops) == (2, 0, [(2, 4, 2), (2, 1, 1)])


def test_large_matrices_have_few_patterns() -> None:
    """4096 × 4096 from 8 × 8 blocks to 64 rows of cores: 64 units send to 8 each."""
    tensor = ShardedTensor((4096, 4096), (1, 8, 8), Tiling((32, 32)))
    moves = transfers(tensor.block_sharded(8, 8), tensor.height_sharded(64))
    assert len(moves) == 64 * 8
    assert {len(move.patterns) for move in moves} == {1}
    assert sum(move.scalars for move in moves) == 4096 * 4096
    sent = Counter()
    for move in moves:
        sent[move.source] += move.bytes
    assert set(sent.values()) == {4096 * 4096 * 4 // 64}


@st.composite
def layouts(draw: st.DrawFn, shape: tuple[int, ...]) -> Layout:
    cut = draw(st.integers(0, len(shape)))
    alignments = draw(st.one_of(st.just(()), st.tuples(*[st.integers(1, 3)] * len(shape))))
    collapse = Collapse.of(shape, ((0, cut),), alignments=alignments)
    rank = len(collapse.extents)
    grid, block = (draw(st.tuples(*[st.integers(1, 3)] * rank)) for _ in range(2))
    split = GridSplit(collapse.extents, grid, block)
    if draw(st.booleans()):
        split = GridSplit.ceil(collapse.extents, grid)
    tiling = Tiling(draw(st.sampled_from([(), (2,), (2, 3)][: rank + 1])))
    cells = prod(grid)
    maps = [row_major(grid, (cells,)), column_major(grid, (1, cells)), round_robin(grid, (2,))]
    return Layout.on_grid(collapse, split, tiling, draw(st.sampled_from(maps)))


pairs = st.lists(st.integers(1, 5), min_size=1, max_size=3).flatmap(
    lambda shape: st.tuples(layouts(tuple(shape)), layouts(tuple(shape)))
)


def walked(source: Layout, destination: Layout) -> Counter[tuple[object, ...]]:
    """Visit every scalar: unit and position at both ends."""
    result: Counter[tuple[object, ...]] = Counter()
    for index in product(*map(range, source.shape)):
        ends: list[object] = []
        for layout in (source, destination):
            cell, offset = layout.owner(index)
            tile, scalar = layout.tiling.position(offset, layout.shard_shape)
            slot = layout.grid_map.slot(cell) * prod(layout.allocated_shape)
            ends += [layout.grid_map.unit(cell), slot + tile * layout.tiling.scalars + scalar]
        result[tuple(ends)] += 1
    return result


@given(pairs)
def test_every_scalar_moves_once(pair: tuple[Layout, Layout]) -> None:
    source, destination = pair
    moved: Counter[tuple[object, ...]] = Counter()
    for move in transfers(source, destination):
        assert move.scalars == sum(pattern.scalars for pattern in move.patterns)
        assert move.bytes == move.scalars * 4
        for pattern in move.patterns:
            here, there = pattern.positions()
            for a, b in zip(here.tolist(), there.tolist(), strict=True):
                moved[move.source, a, move.destination, b] += 1
    assert moved == walked(source, destination)


@given(pairs)
def test_applied_to_arrays_they_turn_shards_into_shards(pair: tuple[Layout, Layout]) -> None:
    source, destination = pair
    values = np.arange(1, 1 + prod(source.shape), dtype=np.int64).reshape(source.shape)
    shards = scatter(source, values, fill=-1)
    assert np.array_equal(gather(source, shards), values)
    wanted = scatter(destination, values, fill=-2)
    target = scatter(destination, np.full_like(values, -2), fill=-2)
    apply_transfers(transfers(source, destination), shards, target)
    assert target.keys() == wanted.keys()
    assert all(np.array_equal(target[unit], wanted[unit]) for unit in wanted)


def test_layouts_that_have_no_transfers_are_refused() -> None:
    plain = linear_map_layout((8, 96, 32), (2, 1))
    with pytest.raises(SpecError, match="different tensors"):
        transfers(plain, linear_map_layout((8, 96), (2, 1)))
    twice = linear_map_layout((8, 96, 32), (2, 1, 2), rule="tt-mlir-2024")
    with pytest.raises(SpecError, match="a dimension in two groups"):
        transfers(twice, plain)
    line = linear_map_layout((8,), (1,), [])
    turns = line.with_place(multi_buffered(4, 8, 2))
    with pytest.raises(SpecError, match="4 blocks take turns in 2 places"):
        transfers(turns, line)
    with pytest.raises(SpecError, match="another shape"):
        scatter(line, np.zeros(9))


REDUCTIONS = {"sum": np.sum, "product": np.prod, "max": np.max, "min": np.min}


@pytest.mark.row("004.08")
@pytest.mark.parametrize("dtype", [np.float64, np.int64])
@pytest.mark.parametrize("padding", get_args(Padding))
@pytest.mark.parametrize("reduction", sorted(REDUCTIONS))
def test_a_reduction_over_shards_is_right_where_padding_is_neutral(
    reduction: str, padding: Padding, dtype: type
) -> None:
    """53 × 3 over 3 × 2 units in tiles of 4 × 4: every shard has padding."""
    layout = linear_map_layout((53, 3), (3, 2), tiling=Tiling((4, 4)))
    padded = replace(layout, padding_value=padding)
    apply, right = REDUCTIONS[reduction], []
    for value in (3, -3):
        values = np.full((53, 3), value, dtype=dtype)
        values[20, 1] = 2 * value
        with np.errstate(all="ignore"):
            parts = [apply(shard) for shard in scatter(padded, values).values()]
            right.append(bool(apply(parts) == apply(values)))
    if reduction_is_safe(padded, reduction):
        assert all(right)
    elif dtype is np.float64:
        assert not all(right)
