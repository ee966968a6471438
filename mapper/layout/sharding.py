"""Distribute a collapsed tensor over a grid of cells: the owner of each element, and padding.

Example: extent 10 over 4 cells: shards of ceil(10 / 4) = 3 scalars, the last cell has 1 and padding
of 2 (theory/layouts.md §2, §3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout.collapse import Collapse


@dataclass(frozen=True, slots=True)
class Sharding:
    """A tensor on a grid: group g of `collapse` is divided into `grid[g]` shards (ceil rule).

    `tile`: sides of a tile of the last dimensions of a shard; the allocation of a cell is rounded
    up to whole tiles (theory/layouts.md §3). SpecError for sides below 1, or for another number of
    grid dimensions than groups.
    """

    collapse: Collapse
    grid: tuple[int, ...]
    tile: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if len(self.grid) != len(self.collapse.groups):
            raise SpecError(
                "a grid needs one dimension per group of tensor dimensions",
                value=self.grid,
                instead=f"{len(self.collapse.groups)} grid dimensions",
            )
        if any(cells < 1 for cells in self.grid) or any(side < 1 for side in self.tile):
            raise SpecError("grid and tile sides must be at least 1", value=(self.grid, self.tile))
        if len(self.tile) > len(self.grid):
            raise SpecError("a tile has more dimensions than the shard", value=self.tile)

    @property
    def shard_shape(self) -> tuple[int, ...]:
        """Scalars per cell along each group, shape (groups,): ceil(extent / cells)."""
        return tuple(
            -(-extent // cells)
            for extent, cells in zip(self.collapse.extents, self.grid, strict=True)
        )

    @property
    def shard_tiles(self) -> tuple[int, ...]:
        """Tiles per cell along each group, shape (groups,); a side without tile counts scalars."""
        sides = (1,) * (len(self.grid) - len(self.tile)) + self.tile
        return tuple(
            -(-extent // side) for extent, side in zip(self.shard_shape, sides, strict=True)
        )

    @property
    def allocated_shape(self) -> tuple[int, ...]:
        """Allocated scalars per cell along each group, shape (groups,), padding included."""
        sides = (1,) * (len(self.grid) - len(self.tile)) + self.tile
        return tuple(count * side for count, side in zip(self.shard_tiles, sides, strict=True))

    def owner(self, index: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return (cell, position in its shard) of a tensor index, each of shape (groups,)."""
        position = self.collapse.coordinates(index)
        pairs = [
            divmod(coordinate, shard_extent)
            for coordinate, shard_extent in zip(position, self.shard_shape, strict=True)
        ]
        return tuple(cell for cell, _ in pairs), tuple(offset for _, offset in pairs)

    def index(self, cell: Sequence[int], offset: Sequence[int]) -> tuple[int, ...] | None:
        """Return the tensor index, shape (dimensions,), at a position of a cell's shard.

        None if the position is padding.
        """
        valid = self.valid(cell)
        if any(coordinate >= count for coordinate, count in zip(offset, valid, strict=True)):
            return None
        shard_extents = self.shard_shape
        position = [
            c * shard_extent + coordinate
            for c, shard_extent, coordinate in zip(cell, shard_extents, offset, strict=True)
        ]
        return self.collapse.index(position)

    def valid(self, cell: Sequence[int]) -> tuple[int, ...]:
        """Return the scalars of data in a cell along each group, shape (groups,).

        A cell beyond the data has 0.
        """
        rows = zip(cell, self.collapse.extents, self.shard_shape, strict=True)
        return tuple(
            max(0, min(shard_extent, extent - coordinate * shard_extent))
            for coordinate, extent, shard_extent in rows
        )

    def padding(self, cell: Sequence[int]) -> int:
        """Return the allocated scalars of a cell that hold no element of the tensor."""
        return prod(self.allocated_shape) - prod(self.valid(cell))

    def empty_cells(self) -> tuple[tuple[int, ...], ...]:
        """Return the cells that hold padding only; the ceil rule can leave whole cells empty."""
        cells = product(*(range(count) for count in self.grid))
        return tuple(cell for cell in cells if 0 in self.valid(cell))
