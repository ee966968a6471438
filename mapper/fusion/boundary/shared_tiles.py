"""Count tiles of one tensor that several Einsums hold at one place above loops that they share.

By default these tiles are one tile. It is as large as the largest of them, and its values have the
width that the last Einsum to use it sees. Under the accelforge conventions each Einsum has its own
tile, and all tiles have that width (docs/conventions.md §11, model/occupancy/capacity.py).

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
    """Pair a list of loops, outermost first, with the tile of each loop's variable below it.

    `tiles`: values, shape (tilings, loops); a tiling is one choice of tile shapes for the loops.
    """

    loops: Sequence[LoopName]
    tiles: Ints


class Saving(NamedTuple):
    """Say by how many bits the tiles of two Einsums take less than the sum of what both reserve.

    The bits have shape (tilings,), one entry per choice of tile shapes; they may be negative.
    `loops_above`: number of loops above the tile: the saving counts in the bits above every loop
    further down, and in the bits of all. `finished`: bits to subtract while Einsums run that come
    before the one being joined. `running`: bits to subtract while that Einsum and later ones run.
    """

    loops_above: int
    finished: Floats
    running: Floats


class HeldTile(ABC):
    """Describe what the Einsums joined so far hold of one contested tensor in one memory.

    A contested tensor is used by several Einsums that share loops, and not exchanged between them:
    each may hold a tile of it. Joining Einsums adds up the bits that each reserves; this record
    finds what has to be subtracted, because tiles are one tile or take another width.
    """

    __slots__ = ()

    @abstractmethod
    def position(self, shared_loops: int) -> tuple[int, int]:
        """Return where the contested tensor is held, about which joined Einsums must agree.

        Two numbers: how many loops stand above its holder and above its tile. (-1, -1) if nothing
        is held above the innermost of `shared_loops` loops, the number that the Einsums share.
        Einsums with different positions cannot be joined.
        """

    @abstractmethod
    def above(self, shared_loops: int) -> Self:
        """Return the part that stands above the innermost of `shared_loops` shared loops.

        Only that part is still there when an Einsum runs that shares so many loops with those
        before.
        """

    @abstractmethod
    def merged(self, following: Self, shared_loops: int) -> Self:
        """Return what is held of the contested tensor after one more Einsum.

        `following`: what that Einsum itself holds of it in the same memory. `shared_loops`: how
        many loops it shares with the Einsums before.
        """

    @abstractmethod
    def savings(
        self, following: Self, shared_loops: int, loops_above_tile: LoopTiles
    ) -> Iterator[Saving]:
        """Yield by how many bits this tile and that of the next Einsum take less than their sum.

        They may be one tile, or take the width of one Einsum. `following`: what the next Einsum
        holds of the same tensor in the same memory. `shared_loops`: how many loops it shares with
        the Einsums before. `loops_above_tile`: its fused loops with their tile shapes, shape
        (tilings, loops).
        """


@dataclass(frozen=True, slots=True)
class SharedTile(HeldTile):
    """Describe one tile of a contested tensor that several Einsums use together (the default rule).

    It is as large as the largest tile that any of them needs, in the bits per value that the last
    of them sees. `holder_depth`: number of loops above the Storage node (-1: nothing is held).
    `tile_depth`: number of loops above the tile, more than `holder_depth` if it shrinks with loops
    below the node. `extent`: size of the tile as a function of the tile shape, in the width of the
    last Einsum. `max_width`: most bits per value that any Einsum sees.
    """

    holder_depth: int = -1
    tile_depth: int = -1
    extent: Extent = NO_EXTENT
    max_width: float = 0.0

    def position(self, shared_loops: int) -> tuple[int, int]:
        """Return the numbers of loops above the tile's holder and above the tile itself.

        Einsums that share `shared_loops` loops must agree about these two. (-1, -1) if the holder
        stands below these loops: there each Einsum has a tile of its own, wherever that is. The
        second number is at most `shared_loops` for the same reason.
        """
        if not 0 <= self.holder_depth < shared_loops:
            return -1, -1
        return self.holder_depth, min(self.tile_depth, shared_loops)

    def above(self, shared_loops: int) -> SharedTile:
        """Return the tile if its holder stands above the innermost of the shared loops.

        `shared_loops`: their number. Else return an empty tile, whose `holder_depth` is -1.
        """
        return self if self.holder_depth < shared_loops else SharedTile()

    def merged(self, following: SharedTile, shared_loops: int) -> SharedTile:
        """Return one tile that is large enough for the Einsums so far and for the next one.

        It takes the place and the bits per value of `following`, the tile of the next Einsum; that
        tile alone is returned where this one stands below the `shared_loops` shared loops, or
        nothing is held.
        """
        if self.holder_depth < 0 or self.tile_depth >= shared_loops:
            return following
        same_width = self.extent.with_width(following.extent.width)
        return replace(following, extent=same_width.merged(following.extent))

    def savings(
        self, following: SharedTile, shared_loops: int, loops_above_tile: LoopTiles
    ) -> Iterator[Saving]:
        """Yield by how many bits two tiles exceed the one tile that they are.

        `following`: the tile of the next Einsum, which shares `shared_loops` loops;
        `loops_above_tile`: its loops with tile shapes. Example: both Einsums hold 8 values of 4
        bits: the sum is 64 bits, the tile 32, so 32 bits are saved. An Einsum that has finished saw
        this tile before it grew to the windows of both; the growth, in the largest width, is
        subtracted from its saving, which makes that a lower bound. Yields nothing where the tile
        stands below the shared loops.
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
    """Describe a tile of one Einsum: how many loops stand above it, and its size in values.

    `values`: the size as a function of the tile shapes, with a width of one bit per value.
    """

    loops_above: int
    values: Extent


@dataclass(frozen=True, slots=True)
class SeparateTiles(HeldTile):
    """Describe tiles of one contested tensor in one memory, a separate one for each Einsum.

    That is the rule of the accelforge conventions: tiles are not one, but all of them take the bits
    per value that the last Einsum sees. The bits that Einsums reserve, each in its own width, are
    added up; this record finds what to subtract from that sum. `holder_depth`: number of loops
    above the Storage node (-1: nothing is held). `tiles`: one entry per Einsum; left empty where
    all Einsums see the same width, because then nothing has to be subtracted. `last_width`: bits
    per value for the last Einsum that held a tile. `max_width`: the most for any of them.
    """

    holder_depth: int = -1
    tiles: tuple[SizedTile, ...] = ()
    last_width: float = 0.0
    max_width: float = 0.0

    def position(self, shared_loops: int) -> tuple[int, int]:
        """Return the number of loops above the tiles' holder, twice.

        Einsums that share `shared_loops` loops must agree about it; (-1, -1) if the holder stands
        below these loops. The places of the tiles do not matter: each Einsum has its own.
        """
        is_shared = 0 <= self.holder_depth < shared_loops
        return (self.holder_depth, self.holder_depth) if is_shared else (-1, -1)

    def above(self, shared_loops: int) -> SeparateTiles:
        """Return the tiles that stand above the innermost of `shared_loops` shared loops.

        No tiles and no holder if the holder stands below these loops.
        """
        if self.holder_depth >= shared_loops:
            return SeparateTiles()
        tiles = tuple(tile for tile in self.tiles if tile.loops_above < shared_loops)
        return replace(self, tiles=tiles)

    def merged(self, following: SeparateTiles, shared_loops: int) -> SeparateTiles:
        """Return the tiles of the Einsums so far together with those of the next one.

        `following`: the tiles of the next Einsum, which shares `shared_loops` loops with those
        before. Tiles below these loops are gone when it runs; if the holder stands there, only
        `following` is returned.
        """
        if not 0 <= self.holder_depth < shared_loops:
            return following
        tiles = (*self.above(shared_loops).tiles, *following.tiles)
        return replace(following, tiles=tiles, max_width=max(self.max_width, following.max_width))

    def savings(
        self, following: SeparateTiles, shared_loops: int, loops_above_tile: LoopTiles
    ) -> Iterator[Saving]:
        """Yield by how many bits the tiles shrink because all take the width of the next Einsum.

        `following`: the tiles of the next Einsum, which shares `shared_loops` loops;
        `loops_above_tile`: its loops with tile shapes. Earlier tiles change from `last_width` to
        its width while it and later Einsums run; the saving is negative where that is wider. While
        Einsums run that have finished, the next tile counts in a width of theirs, which `max_width`
        bounds. Example: 8 values held before, widths 4 then 3: 8 bits are saved from then on.
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
