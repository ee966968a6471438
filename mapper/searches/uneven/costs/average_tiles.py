"""The states of a rank variable where uneven tiles count on average (imperfect.md §6).

The outermost loop over a variable of B values in tiles of t takes B / t turns, and ceil(B / t) for
a tensor that does not depend on the variable; the loops below divide evenly. A state counts both:
the tiles visited, and their average number, so that B values in tiles of t are B values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tilewright.mapper.searches.exact.kernels import Floats, Ints
from tilewright.mapper.searches.uneven.costs.tile_chains import StateColumn, TileChains, TileCounts


@dataclass(frozen=True, slots=True)
class AverageStateColumn(StateColumn):
    """Tiles of one rank variable and how often each is visited, uneven ones on average.

    One entry per state, a number for a tile size with its counts: `full`, tiles visited in whole
    turns of loops; `average`, tiles visited in average turns (theory/imperfect.md §6). Arrays of
    shape (states,).
    """

    average: Floats

    @property
    def extent(self) -> Floats:
        """Sum of the sizes of the tiles visited in each state, in values, on average.

        Shape (states,). A state is a tile size of a rank variable with its counts of tiles
        visited.
        """
        return self.average * self.tile

    def shares(self, lanes: int) -> Floats:
        """Return the fewest steps in time that the tiles of each state need with some lanes.

        Shape (states,), fractions included: the values visited, divided by `lanes`.
        """
        return self.average * self.tile / lanes


class AverageTileChains(TileChains):
    """The states of one rank variable on the way down, where uneven tiles count on average.

    A loop over B values in tiles of t counts B / t turns, and ceil(B / t) for tensors without the
    variable (theory/imperfect.md §6).
    """

    _once: ClassVar[TileCounts] = (1, 1.0, 0)

    def _column(self, tile: Ints, counts: Floats) -> StateColumn:
        turns, average, zeros = counts
        return AverageStateColumn(tile, turns, zeros, zeros, average)

    def _cut_tiles(
        self, stat: TileCounts, tile: int, below: int, *, largest_only: bool
    ) -> TileCounts:
        turns, average, zero = stat
        if largest_only:
            return stat
        return (turns * -(-tile // below), average * (tile / below), zero)
