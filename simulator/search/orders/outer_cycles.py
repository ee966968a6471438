"""The fewest cycles of the loops around operations, in their best order, of many families."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.search.bounds.elementwise import Numbers
from tilewright.simulator.search.orders.around_entry import (
    BACK,
    BEGIN,
    FIRSTS,
    MAP,
    OPERATION,
    TILES,
    TURN,
    Floats,
    OuterLoops,
    least_around,
)


@dataclass(frozen=True, slots=True)
class OuterQuestion:
    """Loops around a vector operation, by rank variable, of families of equal structure.

    `turns`: of each loop; `walks`: whether a loop, innermost, may be a map, no for those left out;
    `summed`: the loops over variables that are summed over. `firsts`, `tiles`: numbers of tiles
    with new values of the output, and of all. `number`: of families.
    """

    turns: Mapping[str, Numbers]
    walks: Mapping[str, Numbers]
    summed: frozenset[str]
    firsts: Numbers
    tiles: Numbers
    number: int


@dataclass(frozen=True)
class OuterCycles:
    """Finds the cycles around the operations on a machine; `load`: of an operation's descriptors.

    `scalar_load`: cycles in which an operation takes a value into the register, 0 without one.
    """

    profile: Profile
    load: float
    scalar_load: float

    @cached_property
    def least_operation(self) -> float:
        """The least cycles around an operation: those before it moves values, or a map turn."""
        return float(min(self._prices[OPERATION], self._prices[TURN]))

    def least(self, question: OuterQuestion) -> Floats:
        """Return the cycles around all operations of each family, its loops in the best order."""
        names: Sequence[str] = list(question.turns)
        size = question.number, len(names)
        loops = OuterLoops(
            np.empty(size, dtype=np.int64),
            np.empty(size, dtype=np.bool_),
            np.array([name in question.summed for name in names], dtype=np.bool_),
            np.empty((question.number, 2), dtype=np.int64),
            self._prices,
        )
        for place, name in enumerate(names):
            loops.turns[:, place] = question.turns[name]
            loops.walks[:, place] = question.walks.get(name, False)
        loops.tiles[:, FIRSTS], loops.tiles[:, TILES] = question.firsts, question.tiles
        cycles = np.empty(question.number)
        least_around(loops, np.empty(1 << len(names)), cycles)
        return cycles

    @cached_property
    def _prices(self) -> Floats:
        profile, prices = self.profile, np.empty(5)
        prices[BACK] = profile.loop_back_edge_cycles
        begin = profile.counter_cycles + profile.branch_not_taken_cycles
        prices[BEGIN] = begin - profile.loop_back_edge_cycles  # behind the last turn is none
        prices[OPERATION] = self.load + self.scalar_load
        loads = 2 * min(profile.counter_cycles, profile.task_control_cycles)
        end = 2 * profile.scalar_operation_cycles
        prices[MAP] = loads + profile.descriptor_use_cycles + end
        prices[TURN] = profile.map_step_cycles + 1
        return prices
