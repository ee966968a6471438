"""Split each group of a collapsed tensor over the cells of a grid dimension (layouts.md §2).

Example: extent 10 over 4 cells: shards of ceil(10 / 4) = 3 scalars, the last cell has 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from tilewright.arch.errors import SpecError

Run = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class GridSplit:
    """Deal the positions of each group in blocks over the cells of one grid dimension.

    `extents`: length of each group's axis; `grid`: cells along it; `block`: consecutive positions
    that go to one cell together. Block k goes to cell k mod grid. With one block per cell
    (`ceil`, `exact`) each cell has one consecutive part, its shard. All have shape (groups,).
    Raises SpecError for different ranks and for a number below 1.
    """

    extents: tuple[int, ...]
    grid: tuple[int, ...]
    block: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.grid) != len(self.extents):
            raise SpecError(
                "a grid needs one dimension per group of tensor dimensions",
                value=self.grid,
                instead=f"{len(self.extents)} grid dimensions",
            )
        if len(self.block) != len(self.extents):
            raise SpecError("a split needs one block length per group", value=self.block)
        if any(number < 1 for number in (*self.extents, *self.grid, *self.block)):
            raise SpecError(
                "extents, cells and blocks of a split must be at least 1",
                value=(self.extents, self.grid, self.block),
            )

    @classmethod
    def ceil(
        cls, extents: Sequence[int], grid: Sequence[int], granule: Sequence[int] = ()
    ) -> GridSplit:
        """Give each cell ceil(extent / cells) consecutive positions.

        `granule`: sides of a tile for the last groups: whole tiles are dealt (tile-then-scalar
        order); empty: single scalars are, and tiles are rounded up in each cell afterwards.
        Example: extent 53 over 3 cells: 18, 18, 17 scalars; with a granule of 32: 32, 21, 0.
        """
        if len(grid) != len(extents) or any(cells < 1 for cells in grid):
            return cls(tuple(extents), tuple(grid), (1,) * len(extents))
        sides = (1,) * (len(extents) - len(granule)) + tuple(granule)
        rows = zip(extents, grid, sides, strict=True)
        block = tuple(_ceil(_ceil(extent, side), cells) * side for extent, cells, side in rows)
        return cls(tuple(extents), tuple(grid), block)

    @classmethod
    def exact(cls, extents: Sequence[int], grid: Sequence[int]) -> GridSplit:
        """Give each cell extent / cells positions; raise SpecError if that leaves a remainder."""
        for group, (extent, cells) in enumerate(zip(extents, grid, strict=False)):
            if cells >= 1 and extent % cells:
                raise SpecError(
                    f"group {group}: {extent} positions do not divide over {cells} cells, "
                    f"{extent % cells} are left",
                    value=tuple(grid),
                    instead=f"an alignment that makes the extent {_ceil(extent, cells) * cells}",
                )
        return cls.ceil(extents, grid)

    @property
    def shard_shape(self) -> tuple[int, ...]:
        """Positions that each cell can hold along each group: whole blocks."""
        rows = zip(self.extents, self.grid, self.block, strict=True)
        return tuple(_ceil(_ceil(extent, block), cells) * block for extent, cells, block in rows)

    @property
    def cells(self) -> int:
        """Number of cells of the grid."""
        return prod(self.grid)

    def owner(self, coordinates: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the cell that holds a position of each group, and the position in its shard."""
        cell, offset = [], []
        for position, cells, block in zip(coordinates, self.grid, self.block, strict=True):
            number, inside = divmod(position, block)
            turn, at = divmod(number, cells)
            cell.append(at)
            offset.append(turn * block + inside)
        return tuple(cell), tuple(offset)

    def coordinates(self, cell: Sequence[int], offset: Sequence[int]) -> tuple[int, ...] | None:
        """Return the position in each group at an offset of a cell's shard; None beyond the end.

        The inverse of `owner`.
        """
        result = []
        rows = zip(cell, offset, self.extents, self.grid, self.block, strict=True)
        for at, place, extent, cells, block in rows:
            turn, inside = divmod(place, block)
            position = (turn * cells + at) * block + inside
            if not (0 <= at < cells and place >= 0 and position < extent):
                return None
            result.append(position)
        return tuple(result)

    def runs(self, group: int, at: int) -> tuple[Run, ...]:
        """Return the consecutive parts of a group that the cells at one grid position hold.

        Each is (first offset in the shard, first position in the group, length). Blocks that follow
        each other without a gap are one run.
        """
        extent, cells, block = self.extents[group], self.grid[group], self.block[group]
        if cells == 1:
            return ((0, 0, extent),)
        starts = range(at * block, extent, cells * block)
        return tuple(
            (turn * block, start, min(block, extent - start)) for turn, start in enumerate(starts)
        )

    def valid(self, cell: Sequence[int]) -> tuple[int, ...]:
        """Return how many positions within the extents a cell holds along each group.

        A cell beyond the end has 0 along that group. Example: extent 9 over 8 cells, shards of 2:
        cells 0 to 3 have 2, cell 4 has 1, cells 5 to 7 have 0.
        """
        return tuple(
            sum(length for _, _, length in self.runs(group, at)) for group, at in enumerate(cell)
        )

    def empty_cells(self) -> tuple[tuple[int, ...], ...]:
        """Return the cells that hold no position at all, in row-major order.

        Rounding shards up can leave whole cells at the end empty: 9 positions on 8 cells need 5.
        """
        used = [
            _ceil(extent, block) for extent, block in zip(self.extents, self.block, strict=True)
        ]
        if all(blocks >= cells for blocks, cells in zip(used, self.grid, strict=True)):
            return ()
        every = product(*(range(cells) for cells in self.grid))
        return tuple(
            cell for cell in every if any(at >= end for at, end in zip(cell, used, strict=True))
        )

    @property
    def empty_count(self) -> int:
        """Number of cells that hold no position at all."""
        rows = zip(self.extents, self.block, self.grid, strict=True)
        used = prod(min(cells, _ceil(extent, block)) for extent, block, cells in rows)
        return self.cells - used

    @property
    def uneven(self) -> tuple[int, ...]:
        """Positions of the shards that lie beyond the extent, along each group (0: even).

        Example: 9 positions in shards of 2 over 6 cells: 3.
        """
        return tuple(
            shard * cells - extent
            for shard, cells, extent in zip(self.shard_shape, self.grid, self.extents, strict=True)
        )


def _ceil(number: int, divisor: int) -> int:
    return -(-number // divisor)
