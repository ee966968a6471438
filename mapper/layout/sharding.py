"""Split a collapsed tensor over a grid of cells: who owns which element, and what is padding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout.collapse import Collapse


@dataclass(frozen=True, slots=True)
class Sharding:
    """A tensor dealt over a grid: group g of `collapse` is cut into `grid[g]` shards (ceil rule).

    `tile` (for the last dimensions of a shard) rounds the allocation of each cell up; scalars are
    divided first, then tiled (layouts.md §3).
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
        """Scalars per cell along each group: ceil(extent / cells)."""
        return tuple(
            -(-extent // cells)
            for extent, cells in zip(self.collapse.extents, self.grid, strict=True)
        )

    @property
    def shard_tiles(self) -> tuple[int, ...]:
        """Shape of a cell's memory in tiles (in scalars where no tile is given)."""
        sides = (1,) * (len(self.grid) - len(self.tile)) + self.tile
        return tuple(
            -(-extent // side) for extent, side in zip(self.shard_shape, sides, strict=True)
        )

    @property
    def allocated_shape(self) -> tuple[int, ...]:
        """Scalars of memory per cell, padding included."""
        sides = (1,) * (len(self.grid) - len(self.tile)) + self.tile
        return tuple(count * side for count, side in zip(self.shard_tiles, sides, strict=True))

    def owner(self, index: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the cell that holds a tensor index, and the position in its shard."""
        position = self.collapse.coordinates(index)
        pairs = [
            divmod(coordinate, shard_extent)
            for coordinate, shard_extent in zip(position, self.shard_shape, strict=True)
        ]
        return tuple(cell for cell, _ in pairs), tuple(offset for _, offset in pairs)

    def index(self, cell: Sequence[int], offset: Sequence[int]) -> tuple[int, ...] | None:
        """Return the tensor index at a position of a cell's shard; None if it is padding."""
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
        """Scalars of real data in a cell along each group (0 in cells beyond the data)."""
        rows = zip(cell, self.collapse.extents, self.shard_shape, strict=True)
        return tuple(
            max(0, min(shard_extent, extent - coordinate * shard_extent))
            for coordinate, extent, shard_extent in rows
        )

    def padding(self, cell: Sequence[int]) -> int:
        """Scalars of a cell's allocation that hold no tensor element."""
        return prod(self.allocated_shape) - prod(self.valid(cell))

    def empty_cells(self) -> tuple[tuple[int, ...], ...]:
        """Cells that own padding only (ceil shards may leave whole cells empty)."""
        cells = product(*(range(count) for count in self.grid))
        return tuple(cell for cell in cells if 0 in self.valid(cell))
