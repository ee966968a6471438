"""Enumerate the distinct shardings of a tensor: one for each shard shape (layouts.md §10).

Two grids with the same shard shape hold the same scalars in the same cells; the larger one has more
cells without data. So the smallest grid of each shard shape is enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import prod
from typing import Final, Literal

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout.collapse import Collapse
from tilewright.mapper.layout.grid_map import GridMap, row_major
from tilewright.mapper.layout.grid_split import GridSplit
from tilewright.mapper.layout.layout import Layout
from tilewright.mapper.layout.schemes.tensor_shardings import ShardedTensor

Kind = Literal["height", "width", "block"]
KINDS: Final[tuple[Kind, ...]] = ("height", "width", "block")


@lru_cache(maxsize=4096)
def distinct_splits(extent: int, most_cells: int) -> tuple[int, ...]:
    """Return the numbers of cells that give an extent different shards, none of them empty.

    A number g is listed iff it is the least with its shard ceil(extent / g); rising, at most
    `most_cells`. Example: extent 9, up to 8 cells: 1, 2, 3, 5 (shards of 9, 5, 3, 2), not 4, 6, 7
    or 8. Raises SpecError for a number below 1.
    """
    if extent < 1 or most_cells < 1:
        raise SpecError("extents and cells are 1 or more", value=(extent, most_cells))
    result = []
    cells = 1
    while cells <= most_cells:
        result.append(cells)
        shard = -(-extent // cells)
        if shard == 1:
            break
        cells = -(-extent // (shard - 1))
    return tuple(result)


def distinct_grids(
    extents: Sequence[int], most_cells: int, granule: Sequence[int] = ()
) -> Iterator[tuple[int, ...]]:
    """Yield one grid for each shard shape with at most `most_cells` cells, in lexicographic order.

    `extents`: of the groups; `granule`: sides of a tile for the last groups: whole tiles are dealt.
    Every grid is the smallest with its shard shape, and has no empty cell.
    """
    sides = (1,) * (len(extents) - len(granule)) + tuple(granule)
    tiles = [-(-extent // side) for extent, side in zip(extents, sides, strict=True)]
    yield from _grids(tiles, most_cells)


def _grids(tiles: Sequence[int], most: int) -> Iterator[tuple[int, ...]]:
    if not tiles:
        yield ()
        return
    for cells in distinct_splits(tiles[0], most):
        for rest in _grids(tiles[1:], most // cells):
            yield (cells, *rest)


def shardings(tensor: ShardedTensor, kinds: Sequence[Kind] = KINDS) -> Iterator[Layout]:
    """Yield the distinct height, width and block shardings of a tensor, without empty cells.

    A grid of one row or column is yielded once, by the first kind that has it.
    """
    collapse, granule = tensor.collapse, tensor.tiling.sides
    units = prod(tensor.units)
    rows, columns = (1, *tensor.units)[-2:]
    limits = {"height": (units, 1), "width": (1, units), "block": (rows, columns)}
    seen: set[tuple[int, ...]] = set()
    for kind in kinds:
        tiles = tensor.tiling.tiles(collapse.extents)
        most_rows, most_columns = limits[kind]
        for high in distinct_splits(tiles[0], most_rows):
            for wide in distinct_splits(tiles[1], most_columns):
                if (high, wide) not in seen:
                    seen.add((high, wide))
                    yield _layout(tensor, collapse, (high, wide), granule)


def grid_shardings(tensor: ShardedTensor, collapse: Collapse | None = None) -> Iterator[Layout]:
    """Yield every distinct sharding of a collapsed tensor over virtual grids, units row-major.

    `collapse`: groups of any number (None: rows and columns).
    """
    joined = collapse or tensor.collapse
    granule = tensor.tiling.sides
    for grid in distinct_grids(joined.extents, prod(tensor.units), granule):
        yield _layout(tensor, joined, grid, granule)


def most_cells_sharding(tensor: ShardedTensor) -> Layout:
    """Return the sharding with the most cells that hold data: the baseline "max the grid".

    Of several, that with the least padding, then the first. It looks at no cost.
    """
    return min(
        grid_shardings(tensor), key=lambda layout: (-layout.split.cells, layout.padding_total)
    )


def _layout(
    tensor: ShardedTensor, collapse: Collapse, grid: tuple[int, ...], granule: Sequence[int]
) -> Layout:
    split = GridSplit.ceil(collapse.extents, grid, granule)
    grid_map: GridMap = row_major(grid, tensor.units)
    return Layout.on_grid(collapse, split, tensor.tiling, grid_map, tensor.memory)
