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
    """Divide a tensor over a grid of cells: which cell holds which scalar, and what is padding.

    `collapse`: joins the dimensions of the tensor into groups, one per dimension of the grid.
    `grid`: number of cells along each group. Along group g, cell i holds the coordinates i * s to
    (i + 1) * s - 1 with s = ceil(extent / grid[g]); such a part is a shard. `tile`: sides of a
    tile, for the last groups; each cell allocates whole tiles (theory/layouts.md §2, §3). Example:
    extent 10 over 4 cells: shards of 3 scalars, the last of which has 1 scalar of data. Raises
    SpecError for another number of grid dimensions than groups, for a side below 1, and for a tile
    of more dimensions than the grid.
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
        """Scalars of a shard along each group, shape (groups,): ceil(extent / cells)."""
        return tuple(
            -(-extent // cells)
            for extent, cells in zip(self.collapse.extents, self.grid, strict=True)
        )

    @property
    def shard_tiles(self) -> tuple[int, ...]:
        """Tiles that each cell allocates along each group, shape (groups,).

        Along a group for which `tile` gives no side, a tile is one scalar.
        """
        sides = (1,) * (len(self.grid) - len(self.tile)) + self.tile
        return tuple(
            -(-extent // side) for extent, side in zip(self.shard_shape, sides, strict=True)
        )

    @property
    def allocated_shape(self) -> tuple[int, ...]:
        """Scalars that a cell allocates along each group, shape (groups,): whole tiles."""
        sides = (1,) * (len(self.grid) - len(self.tile)) + self.tile
        return tuple(count * side for count, side in zip(self.shard_tiles, sides, strict=True))

    def owner(self, index: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the cell that holds a scalar of the tensor, and its position in that cell's shard.

        `index`: of the scalar, shape (dimensions,), not checked. Both results have shape (groups,).
        """
        position = self.collapse.coordinates(index)
        pairs = [
            divmod(coordinate, shard_extent)
            for coordinate, shard_extent in zip(position, self.shard_shape, strict=True)
        ]
        return tuple(cell for cell, _ in pairs), tuple(offset for _, offset in pairs)

    def index(self, cell: Sequence[int], offset: Sequence[int]) -> tuple[int, ...] | None:
        """Return which scalar of the tensor stands at a position of a cell's shard.

        `cell`: coordinates in the grid; `offset`: position in the shard; both of shape (groups,).
        The result is a tensor index of shape (dimensions,), or None if the position is padding. The
        inverse of `owner`.
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
        """Return how many scalars of data a cell holds along each group, shape (groups,).

        `cell`: coordinates in the grid. A cell beyond the end of the tensor has 0 along that group.
        Example: extent 9 over 8 cells, shards of 2: cells 0 to 3 have 2, cell 4 has 1, cells 5 to 7
        have 0.
        """
        rows = zip(cell, self.collapse.extents, self.shard_shape, strict=True)
        return tuple(
            max(0, min(shard_extent, extent - coordinate * shard_extent))
            for coordinate, extent, shard_extent in rows
        )

    def padding(self, cell: Sequence[int]) -> int:
        """Return the number of scalars that a cell allocates without data of the tensor in them."""
        return prod(self.allocated_shape) - prod(self.valid(cell))

    def empty_cells(self) -> tuple[tuple[int, ...], ...]:
        """Return the coordinates of the cells that hold no data at all, in row-major order.

        Rounding shards up can leave whole cells at the end empty: 9 scalars on 8 cells need only 5.
        """
        cells = product(*(range(count) for count in self.grid))
        return tuple(cell for cell in cells if 0 in self.valid(cell))
