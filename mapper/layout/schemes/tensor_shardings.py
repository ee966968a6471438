"""Height, width, block, interleaved and ND shardings of rows and columns (layouts.md §7.3).

The two inner dimensions are padded to tiles before all but the last are collapsed into rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout.affine_map import AffineMap, constant, dim
from tilewright.mapper.layout.collapse import Collapse
from tilewright.mapper.layout.grid_map import GridMap, round_robin, row_major
from tilewright.mapper.layout.grid_split import GridSplit
from tilewright.mapper.layout.layout import Layout, MemorySpace
from tilewright.mapper.layout.tiling import Tiling


@dataclass(frozen=True, slots=True)
class ShardedTensor:
    """Hold what the shardings of one tensor have in common.

    `shape`: of the tensor; `units`: physical units of the memory, (devices, rows, columns) or
    (banks,); `tiling`: tiles, or single scalars; `memory`: memory space of the units.
    """

    shape: tuple[int, ...]
    units: tuple[int, ...]
    tiling: Tiling = field(default_factory=Tiling)
    memory: MemorySpace = "l1"

    @property
    def collapse(self) -> Collapse:
        """Rows and columns, the inner two dimensions padded to tiles before they are joined."""
        return padded_collapse(self.shape, self.tiling)

    def height_sharded(self, cores: int) -> Layout:
        """Give each of `cores` units, row-major, whole rows."""
        return self._sharded((cores, 1), row_major((cores, 1), self.units))

    def width_sharded(self, cores: int) -> Layout:
        """Give each of `cores` units, row-major, whole columns."""
        return self._sharded((1, cores), row_major((1, cores), self.units))

    def block_sharded(self, rows: int, columns: int) -> Layout:
        """Divide rows over rows of units and columns over columns of units.

        Raises SpecError if there are fewer rows or columns of units.
        """
        if len(self.units) < 2 or rows > self.units[-2] or columns > self.units[-1]:
            raise SpecError(
                f"a block sharding of {rows} x {columns} needs units of as many rows and columns",
                value=self.units,
                instead="a smaller grid, or height or width sharding",
            )
        lead = (constant(0),) * (len(self.units) - 2)
        affine = AffineMap(2, (*lead, dim(0), dim(1)))
        return self._sharded((rows, columns), GridMap((rows, columns), self.units, affine))

    def on_grid(self, rows: int, columns: int) -> Layout:
        """Divide rows and columns over a grid: by blocks if the units have it, else by one axis.

        Raises SpecError for a grid of several rows and columns that the units do not have, and for
        more cells than units.
        """
        has_block = rows <= (1, *self.units)[-2] and columns <= self.units[-1]
        if columns == 1 and not has_block:
            return self.height_sharded(rows)
        if rows == 1 and not has_block:
            return self.width_sharded(columns)
        return self.block_sharded(rows, columns)

    def interleaved(self) -> Layout:
        """Deal pages to all units in turn: a page is a tile, or a row without tiles."""
        collapse = self.collapse
        sides = self.tiling.sides or (1, collapse.extents[1])
        pages = tuple(-(-x // side) for x, side in zip(collapse.extents, sides, strict=True))
        split = GridSplit(collapse.extents, pages, sides)
        return Layout.on_grid(
            collapse, split, self.tiling, round_robin(pages, self.units), self.memory
        )

    def nd_sharded(self, shard_shape: Sequence[int]) -> Layout:
        """Cut the tensor into shards of a shape and deal them to the units in turn.

        `shard_shape`: one side per dimension, else SpecError; the last shard may be smaller. Tiles
        are rounded up in each shard. Example: 4 × 4 × 3 by 2 × 2 × 3 on 3 banks: 2, 1, 1 shards.
        """
        collapse = Collapse.of(self.shape, ())
        if len(shard_shape) != len(self.shape) or any(side < 1 for side in shard_shape):
            raise SpecError(
                f"a shard of a tensor of rank {len(self.shape)} needs as many sides",
                value=tuple(shard_shape),
            )
        grid = tuple(-(-x // side) for x, side in zip(self.shape, shard_shape, strict=True))
        split = GridSplit(collapse.extents, grid, tuple(shard_shape))
        return Layout.on_grid(
            collapse, split, self.tiling, round_robin(grid, self.units), self.memory
        )

    def by_shard_shape(self, shard_shape: tuple[int, int]) -> Layout:
        """Divide rows and columns into shards of a shape; the grid follows, units row-major.

        The shard is padded to tiles. Rows are those of all dimensions but the last, not those that
        `stride[0] // stride[-2]` gives, which leaves the first dimension out (layouts.md §7.3).
        """
        collapse = self.collapse
        sides = self.tiling.full_sides(2)
        shard = [-(-s // side) * side for s, side in zip(shard_shape, sides, strict=True)]
        grid = tuple(-(-x // side) for x, side in zip(collapse.extents, shard, strict=True))
        split = GridSplit(collapse.extents, grid, tuple(shard))
        grid_map = row_major(grid, self.units)
        return Layout.on_grid(collapse, split, self.tiling, grid_map, self.memory)

    def _sharded(self, grid: tuple[int, ...], grid_map: GridMap) -> Layout:
        collapse = self.collapse
        split = GridSplit.ceil(collapse.extents, grid, self.tiling.sides)
        return Layout.on_grid(collapse, split, self.tiling, grid_map, self.memory)


def padded_collapse(shape: Sequence[int], tiling: Tiling) -> Collapse:
    """Join all dimensions but the last into rows, the last two rounded up to tiles first."""
    rank, sides = len(shape), tiling.full_sides(2)
    alignments = ((1,) * (rank - 2) + sides)[-rank:] if rank else ()
    return Collapse.of(shape, ((0, rank - 1),) if rank else (), 2, alignments)
