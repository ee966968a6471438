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
NOTHING = Extent(())
Below = tuple[Sequence[LoopName], Ints]  # loops, and the tiles of these: one row each


class Tile(ABC):
    """What Einsums hold of one tensor so far."""

    __slots__ = ()

    @abstractmethod
    def stands(self, reach: int) -> tuple[int, int]:
        """Return what Einsums that share `reach` loops must agree about; (-1, -1): nothing is held
        above these."""

    @abstractmethod
    def within(self, reach: int) -> Self:
        """Return what of it stands above `reach` shared loops."""

    @abstractmethod
    def joined(self, own: Self, reach: int) -> Self:
        """Return what is held when the next Einsum, which shares `reach` loops, has run."""

    @abstractmethod
    def less(self, own: Self, reach: int, rows: Below) -> Iterator[Less]:
        """Yield what this and what the next Einsum holds take less than the sum of both."""


@dataclass(frozen=True, slots=True)
class SharedTile(Tile):
    """One tile of all: loops above the holder (-1: not held there), loops above the tile, its size
    in the width of the last Einsum; `widest`: the most bits per value that any sees."""

    place: int = -1
    low: int = -1
    size: Extent = NOTHING
    widest: float = 0.0

    def stands(self, reach: int) -> tuple[int, int]:
        """Return the places of the holder and of its tile: beyond the shared loops each Einsum has
        a tile of its own."""
        return (self.place, min(self.low, reach)) if 0 <= self.place < reach else (-1, -1)

    def within(self, reach: int) -> SharedTile:
        """Return the tile, unless it is held below."""
        return self if self.place < reach else SharedTile()

    def joined(self, own: SharedTile, reach: int) -> SharedTile:
        """Return the tile that is large enough for both."""
        if self.place < 0 or self.low >= reach:
            return own
        return replace(own, size=self.size.of_width(own.size.width).joined(own.size))

    def less(self, own: SharedTile, reach: int, rows: Below) -> Iterator[Less]:
        """Yield what two tiles take more than the one."""
        low, (loops, tiles) = self.low, rows
        if self.place < 0 or low >= reach:
            return
        size, mine = self.size, own.size
        there, here = (one.below(loops[:low], tiles) for one in (size, mine))
        both = size.of_width(mine.width).joined(mine).below(loops[:low], tiles)
        grown = np.zeros(len(tiles))
        if len(size.of_width(1.0).joined(mine.of_width(1.0)).views) > 1:
            alone = size.of_width(self.widest)
            grown = alone.joined(mine.of_width(self.widest)).below(loops[:low], tiles)
            grown -= alone.below(loops[:low], tiles)
        yield low, (here - grown, there + here - both)


@dataclass(frozen=True, slots=True)
class OwnTiles(Tile):
    """A tile of each: loops above the holder (-1: not held there), and (loops above, size in
    values) of the `tiles`, none where all Einsums have one width.

    `last`: the bits per value of the Einsum that held one last; `most`: the most of any of them.
    """

    place: int = -1
    tiles: tuple[tuple[int, Extent], ...] = ()
    last: float = 0.0
    most: float = 0.0

    def stands(self, reach: int) -> tuple[int, int]:
        """Return where the holder is."""
        return (self.place, self.place) if 0 <= self.place < reach else (-1, -1)

    def within(self, reach: int) -> OwnTiles:
        """Return the tiles that stand above."""
        if self.place >= reach:
            return OwnTiles()
        return replace(self, tiles=tuple(tile for tile in self.tiles if tile[0] < reach))

    def joined(self, own: OwnTiles, reach: int) -> OwnTiles:
        """Return the tiles of all."""
        if not 0 <= self.place < reach:
            return own
        tiles = (*self.within(reach).tiles, *own.tiles)
        return replace(own, tiles=tiles, most=max(self.most, own.most))

    def less(self, own: OwnTiles, reach: int, rows: Below) -> Iterator[Less]:
        """Yield what the tiles take less because all have the width of whichever Einsum ran last.

        What has run saw the next tile in an earlier width: the `most` of these bounds it.
        """
        loops, tiles = rows
        none = np.zeros(len(tiles))
        if not 0 <= self.place < reach:
            return
        for low, size in self.within(reach).tiles:
            yield low, (none, size.below(loops[:low], tiles) * (self.last - own.last))
        for low, size in own.tiles:
            yield low, (size.below(loops[:low], tiles) * (own.last - self.most), none)
