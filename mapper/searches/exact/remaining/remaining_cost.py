"""Lower bounds of what any mapping still adds to labels above a step, tile by tile.

They are the least energy, the most lanes and the least seconds (theory/lattice.md §6.1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tilewright.mapper.searches.budget import WorkLeft
from tilewright.mapper.searches.exact.kernels import Floats, PruningArrays
from tilewright.mapper.searches.exact.remaining.carried_energy import (
    NOTHING_CARRIED,
    CarriedEnergy,
    join_carried,
)
from tilewright.mapper.searches.exact.remaining.remaining_latency import (
    UNTIMED,
    RemainingLatency,
    least_latencies,
)


@dataclass(frozen=True, slots=True)
class RemainingCost:
    """Lower bounds of what any mapping still adds above a step, for each tile (state).

    `energy`, shape (states,): least joules; inf: the tile cannot grow to the whole iteration space.
    `lanes`, shape (states,): most lanes still to come. `latency`: least seconds per component, if
    they count. `carried`: what the joules that labels carry are still multiplied by. `further`:
    gives least joules, shape (prices, states), at further prices, if labels count these. A lane is
    one instance along a dimension of a fanout.
    """

    energy: Floats
    lanes: Floats
    latency: RemainingLatency = UNTIMED
    carried: CarriedEnergy = NOTHING_CARRIED
    further: Callable[[], Floats] | None = None

    def with_latency(self, latency: RemainingLatency) -> RemainingCost:
        """Return the same bounds with others of the latency."""
        return RemainingCost(self.energy, self.lanes, latency, self.carried)

    def pruning_arrays(self, limits: Floats) -> PruningArrays:
        """Return these bounds as the arrays by which the compiled steps drop labels.

        `limits`: kind of objective, its limit and the like (table in kernels.py). A label is the
        tuple of costs of a partial mapping.
        """
        bounds = self.energy, self.lanes, limits, self.latency.seconds, self.latency.terms
        further = () if self.further is None else (self.further(),)
        return PruningArrays(*bounds, self.carried.rows, *further)


class StepBounds(NamedTuple):
    """What a step needs to drop labels that cannot lead below a limit.

    `before`, `after`: lower bounds of the cost still to come, below and above the step; `limits`:
    kind of objective, its limit and the like, shape (8,) or longer (table in kernels.py). A label
    is the tuple of costs of a partial mapping. `work`: what is left of a limit of work; None for
    none.
    """

    before: RemainingCost
    after: RemainingCost
    limits: Floats
    work: WorkLeft | None = None


def least_remaining(alternatives: list[RemainingCost]) -> RemainingCost:
    """Return, tile by tile, the least cost still to come over several ways to go on.

    Least joules and seconds, most lanes (instances of fanouts). `alternatives`: at least one.
    """
    if len(alternatives) == 1:
        return alternatives[0]
    energy, lanes = least_of([each.energy for each in alternatives]), alternatives[0].lanes
    for each in alternatives[1:]:
        lanes = lanes if each.lanes is lanes else np.maximum(lanes, each.lanes)
    latency = least_latencies([each.latency for each in alternatives])
    return RemainingCost(energy, lanes, latency, join_carried([a.carried for a in alternatives]))


def least_of(alternatives: Sequence[Floats]) -> Floats:
    """Return the least of several arrays of one shape, item by item; at least one array."""
    least = alternatives[0]
    for each in alternatives[1:]:  # few: a stack of arrays takes longer
        least = np.minimum(least, each)
    return least
