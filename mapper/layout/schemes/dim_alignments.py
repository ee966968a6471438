"""The aligned layout of 2025: dimensions padded so that the grid divides them (layouts.md §7.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Final

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout.collapse import Collapse, Interval
from tilewright.mapper.layout.grid_split import GridSplit
from tilewright.mapper.layout.layout import Layout
from tilewright.mapper.layout.tiling import Tiling

TILE: Final = (32, 32)


def normalized_intervals(rank: int, intervals: Sequence[Interval]) -> tuple[Interval, ...]:
    """Return sorted intervals with bounds from 0, and each trailing dimension on its own.

    Dimensions before and between intervals stay alone, too. Raises SpecError for overlaps and
    bounds outside the rank.
    """
    groups = Collapse.of((1,) * rank, intervals).groups
    return tuple((group[0], group[-1] + 1) for group in groups)


def tile_alignments(rank: int, intervals: Sequence[Interval]) -> tuple[int, ...]:
    """Return one alignment per dimension: a side of a tile for two of them, 1 for the others.

    The two are the last dimensions of the last two groups that `intervals` make.
    """
    result = [1] * rank
    last = normalized_intervals(rank, intervals)[-2:]
    for (_, end), side in zip(reversed(last), reversed(TILE), strict=False):
        result[end - 1] = side
    return tuple(result)


def grid_aware_alignments(
    shape: Sequence[int], intervals: Sequence[Interval], device_grid: Sequence[int]
) -> tuple[int, ...]:
    """Return alignments that pad a large group to a multiple of tile times device grid.

    For each of the last two groups: if its size, with the last two dimensions of the tensor rounded
    up to tiles, is above grid * tile, its first dimension is aligned to grid * tile. Example: 31 ×
    33 × 447 on 8 × 8, joined (0, 2): (256, 32, 256).
    """
    rank = len(shape)
    result = list(tile_alignments(rank, intervals))
    last = normalized_intervals(rank, intervals)[-2:]
    sides = zip(reversed(last), reversed(TILE), reversed(device_grid), strict=False)
    for (begin, end), side, cells in sides:
        size = prod(
            -(-shape[number] // side) * side if number >= rank - 2 else shape[number]
            for number in range(begin, end)
        )
        if size > cells * side:
            result[begin] = cells * side
    return tuple(result)


def aligned_collapse(
    shape: Sequence[int], alignments: Sequence[int], intervals: Sequence[Interval]
) -> Collapse:
    """Collapse a tensor with cumulative alignments; vectors and scalars have a plane of a tile.

    The extents are the physical shape in scalars. A tensor of rank 1 has 32 rows, of which one
    holds data; one of rank 0 has a tile of 32 × 32.
    """
    groups = normalized_intervals(len(shape), intervals)
    collapse = Collapse.of(shape, intervals, max(2, len(groups)), alignments)
    if len(shape) > 1:
        return collapse
    return replace(collapse, extents=(TILE[0], *(collapse.extents[1:] if shape else TILE[1:])))


def aligned_layout(
    shape: Sequence[int],
    grid: Sequence[int],
    intervals: Sequence[Interval],
    alignments: Sequence[int],
    tiling: Tiling | None = None,
) -> Layout:
    """Lay a tensor out with one alignment per dimension; the grid must divide what results.

    `tiling`: whole tiles are divided; without one, scalars are. Raises SpecError where tiles or the
    grid do not divide the physical shape, with the remainder: the public compiler asserts that, but
    its attribute does not check it.
    """
    tiles = tiling or Tiling()
    collapse = aligned_collapse(shape, alignments, intervals)
    allocated = tiles.allocated(collapse.extents)
    if allocated != collapse.extents:
        raise SpecError(
            f"the physical shape {collapse.extents} is no multiple of the tile {tiles.sides}",
            value=tuple(alignments),
            instead=f"alignments that make it {allocated}",
        )
    GridSplit.exact(tiles.tiles(collapse.extents), grid)
    split = GridSplit.ceil(collapse.extents, grid, tiles.sides)
    return Layout.on_grid(collapse, split, tiles)
