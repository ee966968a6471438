"""Tiles of one tensor that several Einsums hold in one place, above loops that they share.

By default they are one tile, as large as the largest, in the width of whichever Einsum saw it last.
Under accelforge each Einsum has one of its own, all of them in that width (docs/conventions.md §11,
model/capacity.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from tilewright.mapper.fusion.boundary.rank_names import LoopName
from tilewright.mapper.fusion.boundary.tile_size import Extent
from tilewright.mapper.searches.exact.kernels import Floats, Ints

# loops above a tile; how many bits less than the rows say what has run, and what runs now or later,
# takes there; per row
Less = tuple[int, tuple[Floats, Floats]]
NO_EXTENT = Extent(())
Below = tuple[Sequence[LoopName], Ints]  # loops, and the tiles of these: one row each


class HeldTile(ABC):
    """What Einsums hold of one tensor so far."""

    __slots__ = ()

    @abstractmethod
    def position(self, reach: int) -> tuple[int, int]:
        """Return what Einsums that share `reach` loops must agree about; (-1, -1): nothing is held
        above these."""

    @abstractmethod
    def above(self, reach: int) -> Self:
        """Return what of it stands above `reach` shared loops."""

    @abstractmethod
    def merged(self, own: Self, reach: int) -> Self:
        """Return what is held when the next Einsum, which shares `reach` loops, has run."""

    @abstractmethod
    def savings(self, own: Self, reach: int, rows: Below) -> Iterator[Less]:
        """Yield what this and what the next Einsum holds take less than the sum of both."""


@dataclass(frozen=True, slots=True)
class SharedTile(HeldTile):
    """One tile of all: loops above the holder (-1: not held there), loops above the tile, its size
    in the width of the last Einsum; `widest`: the most bits per value that any sees."""

    holder_depth: int = -1
    tile_depth: int = -1
    extent: Extent = NO_EXTENT
    max_width: float = 0.0

    def position(self, reach: int) -> tuple[int, int]:
        """Return the places of the holder and of its tile: beyond the shared loops each Einsum has
        a tile of its own."""
        return (
            (self.holder_depth, min(self.tile_depth, reach))
            if 0 <= self.holder_depth < reach
            else (-1, -1)
        )

    def above(self, reach: int) -> SharedTile:
        """Return the tile, unless it is held below."""
        return self if self.holder_depth < reach else SharedTile()

    def merged(self, own: SharedTile, reach: int) -> SharedTile:
        """Return the tile that is large enough for both."""
        if self.holder_depth < 0 or self.tile_depth >= reach:
            return own
        return replace(own, extent=self.extent.with_width(own.extent.width).merged(own.extent))

    def savings(self, own: SharedTile, reach: int, rows: Below) -> Iterator[Less]:
        """Yield what two tiles take more than the one."""
        low, (loops, tiles) = self.tile_depth, rows
        if self.holder_depth < 0 or low >= reach:
            return
        size, mine = self.extent, own.extent
        there, here = (one.bits_below(loops[:low], tiles) for one in (size, mine))
        both = size.with_width(mine.width).merged(mine).bits_below(loops[:low], tiles)
        grown = np.zeros(len(tiles))
        if len(size.with_width(1.0).merged(mine.with_width(1.0)).views) > 1:
            alone = size.with_width(self.max_width)
            grown = alone.merged(mine.with_width(self.max_width)).bits_below(loops[:low], tiles)
            grown -= alone.bits_below(loops[:low], tiles)
        yield low, (here - grown, there + here - both)


@dataclass(frozen=True, slots=True)
class SeparateTiles(HeldTile):
    """A tile of each: loops above the holder (-1: not held there), and (loops above, size in
    values) of the `tiles`, none where all Einsums have one width.

    `last`: the bits per value of the Einsum that held one last; `most`: the most of any of them.
    """

    holder_depth: int = -1
    tiles: tuple[tuple[int, Extent], ...] = ()
    last_width: float = 0.0
    max_width: float = 0.0

    def position(self, reach: int) -> tuple[int, int]:
        """Return where the holder is."""
        return (
            (self.holder_depth, self.holder_depth) if 0 <= self.holder_depth < reach else (-1, -1)
        )

    def above(self, reach: int) -> SeparateTiles:
        """Return the tiles that stand above."""
        if self.holder_depth >= reach:
            return SeparateTiles()
        return replace(self, tiles=tuple(tile for tile in self.tiles if tile[0] < reach))

    def merged(self, own: SeparateTiles, reach: int) -> SeparateTiles:
        """Return the tiles of all."""
        if not 0 <= self.holder_depth < reach:
            return own
        tiles = (*self.above(reach).tiles, *own.tiles)
        return replace(own, tiles=tiles, max_width=max(self.max_width, own.max_width))

    def savings(self, own: SeparateTiles, reach: int, rows: Below) -> Iterator[Less]:
        """Yield what the tiles take less because all have the width of whichever Einsum ran last.

        What has run saw the next tile in an earlier width: the `most` of these bounds it.
        """
        loops, tiles = rows
        none = np.zeros(len(tiles))
        if not 0 <= self.holder_depth < reach:
            return
        for low, size in self.above(reach).tiles:
            yield (
                low,
                (none, size.bits_below(loops[:low], tiles) * (self.last_width - own.last_width)),
            )
        for low, size in own.tiles:
            yield (
                low,
                (size.bits_below(loops[:low], tiles) * (own.last_width - self.max_width), none),
            )
