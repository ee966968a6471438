"""The site of a loop over one rank variable, and the states that it can leave."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tilewright.mapper.searches.exact.kernels import Floats, Ints
from tilewright.mapper.searches.uneven.completion_bound import SlotPosition
from tilewright.mapper.searches.uneven.costs.tile_chains import Lane, LaneRange

MOST_AT_ONCE = 500_000  # labels looked at together


@dataclass(frozen=True, slots=True)
class LoopSite:
    """A loop over one variable at a slot.

    Of a spatial loop `dim` is the dimension and `lane_range` the fewest and the most lanes.
    `remaining`: the least energy to come below, on the tile grid; `position`: the next slots there.
    """

    slot: int
    variable: int
    dim: Lane | None
    lane_range: LaneRange
    remaining: Floats
    position: SlotPosition


@dataclass(frozen=True, slots=True)
class TileOptions:
    """The states that a slot can leave, and the lanes that it takes.

    `sizes[i]` entries belong to the i-th state above, one state after the other.
    """

    states: Ints
    lanes: Ints
    sizes: Ints

    def chunks(self, states_above: Ints) -> Iterator[tuple[Ints, Ints]]:
        """Yield (labels, options): all options of the state above of each label, in chunks."""
        starts = np.cumsum(self.sizes) - self.sizes
        sizes = self.sizes[states_above]
        ends = np.cumsum(sizes)
        first = 0
        while first < len(states_above):
            entries_done = int(ends[first] - sizes[first])
            last = max(
                first + 1, int(np.searchsorted(ends, entries_done + MOST_AT_ONCE, side="right"))
            )
            chunk_sizes = sizes[first:last]
            rows = np.repeat(np.arange(first, last), chunk_sizes)
            within = np.arange(len(rows)) - np.repeat(
                ends[first:last] - chunk_sizes - entries_done, chunk_sizes
            )
            yield rows, starts[states_above[rows]] + within
            first = last
