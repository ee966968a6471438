"""The site of a loop over one rank variable, and the states that it can leave."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tilewright.mapper.searches.exact.kernels import Floats, Ints
from tilewright.mapper.searches.uneven.costs.tile_chains import Lane, LaneRange
from tilewright.mapper.searches.uneven.uneven_remaining_cost import SlotPosition

MOST_AT_ONCE = 500_000  # labels looked at together


@dataclass(frozen=True, slots=True)
class LoopSite:
    """A loop over one rank variable at a slot, for which the search chooses the tile.

    `slot`, `variable`: their numbers. `dim`: (component, dimension) of a spatial loop, None for a
    temporal one; `lane_range`: the fewest and most lanes it may have. `remaining`: least joules
    still to come below, by tile on the grid; `position`: the next slots below it. A slot is a
    place of a template (a mapping without loops) for loops, a fill or a reserved tile; a lane is
    one instance along a dimension of a fanout.
    """

    slot: int
    variable: int
    dim: Lane | None
    lane_range: LaneRange
    remaining: Floats
    position: SlotPosition


@dataclass(frozen=True, slots=True)
class TileOptions:
    """The tiles that a slot can leave, for each tile state above it.

    `states`: states below; `lanes`: lanes that each takes (1 if temporal); `sizes[i]`: how many of
    these entries belong to state i above, in order. A slot is a place of a template (a mapping
    without loops) for loops, a fill or a reserved tile; a lane is one instance along a dimension
    of a fanout.
    """

    states: Ints
    lanes: Ints
    sizes: Ints

    def chunks(self, states_above: Ints) -> Iterator[tuple[Ints, Ints]]:
        """Yield pairs of arrays (label numbers, entry numbers): all choices of each label.

        `states_above`, shape (labels,): the state of each label. A chunk has at most 500,000
        pairs, or those of one label. A label is the tuple of costs of a partial mapping.
        """
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
