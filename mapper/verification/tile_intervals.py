"""The tiles of one rank variable under the loops over it: intervals of positions.

Loops over one variable nest: the outer loop cuts the positions 0 … bound - 1 into tiles, the next
one cuts each tile, always from the tile's first position. The last tile of each is what is left.

Example: bound 7 in tiles of 3 gives [0, 3), [3, 6), [6, 7); tiles of 2 inside of them give [0, 2),
[2, 3), [3, 5), [5, 6), [6, 7).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.verification.einsum_schedule import ScheduledLoop

Positions = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Tiles:
    """Tiles of one variable in order: tile i has the positions starts[i] … ends[i] - 1.

    `outer[i]`: the number of the tile of the next outer loop that tile i is a part of.
    """

    starts: Positions
    ends: Positions
    outer: Positions

    @property
    def turns(self) -> Positions:
        """The number of each tile within the tile of the next outer loop."""
        first = np.searchsorted(self.outer, self.outer)
        return np.arange(len(self.outer)) - first

    def tile_at(self, positions: Positions) -> Positions:
        """Return the number of the tile that has each position (0 … bound - 1)."""
        return np.searchsorted(self.starts, positions, side="right") - 1


def whole_range(bound: int) -> Tiles:
    """Return the one tile with all positions."""
    zero = np.zeros(1, dtype=np.int64)
    return Tiles(zero, np.full(1, bound, dtype=np.int64), zero)


def cut(tiles: Tiles, loop: ScheduledLoop) -> Tiles:
    """Return the tiles that a loop makes of each tile."""
    lengths = tiles.ends - tiles.starts
    first = loop.first or loop.tile
    counts = 1 + np.maximum(0, -(-(lengths - first) // loop.tile))
    outer = np.repeat(np.arange(len(counts)), counts)
    within = np.arange(len(outer)) - np.repeat(np.cumsum(counts) - counts, counts)
    starts = tiles.starts[outer] + np.where(within > 0, first + (within - 1) * loop.tile, 0)
    last = within == counts[outer] - 1
    ends = np.where(last, tiles.ends[outer], np.append(starts[1:], 0))
    return Tiles(starts, ends, outer)


def cut_by(bound: int, loops: Sequence[ScheduledLoop]) -> list[Tiles]:
    """Return, for each loop over one variable, outermost first, the tiles that it leaves."""
    levels = [whole_range(bound)]
    for loop in loops:
        levels.append(cut(levels[-1], loop))
    return levels[1:]
