"""Count tiles of one tensor that several Einsums hold at one place above loops that they share.

By default these tiles are one tile. It is as large as the largest of them, and its values have the
width that the last Einsum to use it sees. Under the accelforge conventions each Einsum has its own
tile, and all tiles have that width (docs/conventions.md §11, model/capacity.py).

Joining Einsums adds up what each of them reserves. `savings` is what to subtract from that sum.
Example: two Einsums hold a tile of 8 values of 4 bits at one place. The sum is 64 bits; one shared
tile takes 32 bits, so 32 bits are saved.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from tilewright.mapper.fusion.boundary.rank_names import LoopName
from tilewright.mapper.fusion.boundary.tile_size import Extent
from tilewright.mapper.searches.exact.kernels import Floats, Ints

NO_EXTENT = Extent(())


class LoopTiles(NamedTuple):
    """Loops, outermost first, and the tiles below each; shape (tilings, loops)."""

    loops: Sequence[LoopName]
    tiles: Ints


class Saving(NamedTuple):
    """Bits that a tile takes less than the sum of what Einsums reserve; shape (tilings,) each.

    `loops_above`: number of loops above the tile. `finished`: counts while Einsums ran that are
    finished. `running`: counts while the next Einsum and later ones run.
    """

    loops_above: int
    finished: Floats
    running: Floats


class HeldTile(ABC):
    """What the Einsums so far hold of one contested tensor in one memory."""

    __slots__ = ()

    @abstractmethod
    def position(self, shared_loops: int) -> tuple[int, int]:
        """Return what Einsums that share so many loops must agree about.

        (-1, -1): nothing is held above these loops.
        """

    @abstractmethod
    def above(self, shared_loops: int) -> Self:
        """Return the part that is held above the innermost of so many shared loops."""

    @abstractmethod
    def merged(self, following: Self, shared_loops: int) -> Self:
        """Return what is held after the next Einsum, which holds `following`."""

    @abstractmethod
    def savings(
        self, following: Self, shared_loops: int, loops_above_tile: LoopTiles
    ) -> Iterator[Saving]:
        """Yield what this tile and that of the next Einsum take less than the sum of both."""


@dataclass(frozen=True, slots=True)
class SharedTile(HeldTile):
    """One tile for all Einsums.

    `holder_depth`, `tile_depth`: numbers of loops above the holder (-1: none) and above its tile.
    `extent`: in the width of the last Einsum. `max_width`: most bits per value that any Einsum
    sees.
    """

    holder_depth: int = -1
    tile_depth: int = -1
    extent: Extent = NO_EXTENT
    max_width: float = 0.0

    def position(self, shared_loops: int) -> tuple[int, int]:
        """Return the depths of the holder and of its tile.

        Below the shared loops each Einsum has a tile of its own, wherever that is.
        """
        if not 0 <= self.holder_depth < shared_loops:
            return -1, -1
        return self.holder_depth, min(self.tile_depth, shared_loops)

    def above(self, shared_loops: int) -> SharedTile:
        """Return the tile, or none if its holder is below these loops."""
        return self if self.holder_depth < shared_loops else SharedTile()

    def merged(self, following: SharedTile, shared_loops: int) -> SharedTile:
        """Return the tile that is large enough for both."""
        if self.holder_depth < 0 or self.tile_depth >= shared_loops:
            return following
        same_width = self.extent.with_width(following.extent.width)
        return replace(following, extent=same_width.merged(following.extent))

    def savings(
        self, following: SharedTile, shared_loops: int, loops_above_tile: LoopTiles
    ) -> Iterator[Saving]:
        """Yield what two tiles take more than one.

        What has finished saw this tile before it grew to the windows of both: the growth, in the
        largest width, bounds by how much.
        """
        depth = self.tile_depth
        if self.holder_depth < 0 or depth >= shared_loops:
            return
        loops, tiles = loops_above_tile.loops[:depth], loops_above_tile.tiles
        ours, theirs = self.extent, following.extent
        our_bits, their_bits = (extent.bits_below(loops, tiles) for extent in (ours, theirs))
        merged_bits = ours.with_width(theirs.width).merged(theirs).bits_below(loops, tiles)
        growth = np.zeros(len(tiles))
        if len(ours.with_width(1.0).merged(theirs.with_width(1.0)).views) > 1:
            widest = ours.with_width(self.max_width)
            growth = widest.merged(theirs.with_width(self.max_width)).bits_below(loops, tiles)
            growth -= widest.bits_below(loops, tiles)
        yield Saving(depth, their_bits - growth, our_bits + their_bits - merged_bits)


class SizedTile(NamedTuple):
    """A tile of one Einsum: the number of loops above it, and its extent in values."""

    loops_above: int
    values: Extent


@dataclass(frozen=True, slots=True)
class SeparateTiles(HeldTile):
    """One tile for each Einsum.

    `holder_depth`: number of loops above the holder (-1: none). `tiles`: none where all Einsums
    see one width, which saves nothing. `last_width`: bits per value of the last Einsum that held a
    tile. `max_width`: the most of any of them.
    """

    holder_depth: int = -1
    tiles: tuple[SizedTile, ...] = ()
    last_width: float = 0.0
    max_width: float = 0.0

    def position(self, shared_loops: int) -> tuple[int, int]:
        """Return the depth of the holder, twice."""
        is_shared = 0 <= self.holder_depth < shared_loops
        return (self.holder_depth, self.holder_depth) if is_shared else (-1, -1)

    def above(self, shared_loops: int) -> SeparateTiles:
        """Return the tiles that are held above these loops."""
        if self.holder_depth >= shared_loops:
            return SeparateTiles()
        tiles = tuple(tile for tile in self.tiles if tile.loops_above < shared_loops)
        return replace(self, tiles=tiles)

    def merged(self, following: SeparateTiles, shared_loops: int) -> SeparateTiles:
        """Return the tiles of all Einsums."""
        if not 0 <= self.holder_depth < shared_loops:
            return following
        tiles = (*self.above(shared_loops).tiles, *following.tiles)
        return replace(following, tiles=tiles, max_width=max(self.max_width, following.max_width))

    def savings(
        self, following: SeparateTiles, shared_loops: int, loops_above_tile: LoopTiles
    ) -> Iterator[Saving]:
        """Yield what the tiles take less because all have the width of the last Einsum.

        What has finished saw the next tile in an earlier width: `max_width` bounds it.
        """
        if not 0 <= self.holder_depth < shared_loops:
            return
        loops, tiles = loops_above_tile
        nothing = np.zeros(len(tiles))
        for depth, values in self.above(shared_loops).tiles:
            narrowing = self.last_width - following.last_width
            yield Saving(depth, nothing, values.bits_below(loops[:depth], tiles) * narrowing)
        for depth, values in following.tiles:
            narrowing = following.last_width - self.max_width
            yield Saving(depth, values.bits_below(loops[:depth], tiles) * narrowing, nothing)
