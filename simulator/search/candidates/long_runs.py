"""Candidates of large grids whose runs would take too long, and what is known of them.

A search takes the upper bound of their cycles for their value where there is one (theory/grid.md
§12); of all of them it keeps the lower bounds.
"""

from __future__ import annotations

import heapq
from typing import Final

from tilewright.mapper.grid.grid_mapspace import GridChoice, GridFamily
from tilewright.mapper.searches.budget import Budget
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.quotient.line_shifts import IsOver
from tilewright.simulator.search.candidates import candidates
from tilewright.simulator.search.candidates.candidates import Candidates
from tilewright.simulator.search.candidates.family_heap import HeapEntry

VISITS_A_SECOND: Final = 25_000_000
"""Cycles times elements of a run in a second, about (docs/validation/engine-speed.md)."""
LEAST_VISITS: Final = 1 << 28
"""Those of some 10 seconds: a shorter run is begun whatever time is left."""
MOST_OF_PROOFS: Final = 1 << 30
"""Those of a small grid, some 40 seconds, by whose pattern the cycles of a large one may follow."""
PROOFS_IN_VAIN: Final = 2
"""So many candidates without a proof by the pattern are enough to look for no further one."""
MOST_BOUNDED: Final = 1024
"""Lower bounds that are raised once no candidate is left that has an upper one."""


class LongRuns:
    """The candidates of a search that do not run, for a run would take too long.

    `entries`: a heap of those that are not the best, by their lower bounds. `in_vain`: of how many
    the cycles were looked for by the pattern and not found.
    """

    def __init__(self, of: Candidates) -> None:
        """Begin with none; `of`: the candidates of the search."""
        self.candidates = of
        self.entries: list[HeapEntry] = []
        self.in_vain = 0
        self._to_bound = MOST_BOUNDED

    def has(self, family: GridFamily, budget: Budget) -> bool:
        """Return whether runs of a family take too long, or longer than the budget lasts.

        The budget counts for families alone that may have an upper bound.
        """
        if not self.candidates.is_large(family):
            return False
        visits, seconds = self.candidates.visits(family), budget.seconds_left
        if seconds is None or not self.candidates.may_be_enclosed(family):
            return visits > candidates.MOST_VISITS
        in_time = max(LEAST_VISITS, seconds * VISITS_A_SECOND)
        return visits > min(candidates.MOST_VISITS, in_time)

    def leaves_out(self, family: GridFamily, budget: Budget) -> bool:
        """Return whether nothing but lower bounds is looked for, for all members of a family."""
        is_proved = self.candidates.may_be_enclosed(family) or self.in_vain < PROOFS_IN_VAIN
        return not is_proved and self.has(family, budget)

    def timed_value(self, choice: GridChoice, is_over: IsOver) -> float | None:
        """Return the value of a choice by the pattern of a small grid; None if it does not follow.

        It is not looked for once proofs were in vain. Raises RunStoppedError where `is_over` says
        so.
        """
        if self.in_vain >= PROOFS_IN_VAIN:
            return None
        try:
            reached = self.candidates.timed_value(choice, is_over, MOST_OF_PROOFS)
        except ProgramError:  # too long for the tables of the simulator, if not for the machine
            reached = None
        self.in_vain += reached is None
        return reached

    def add(self, entry: HeapEntry) -> None:
        """Keep an entry that does not run."""
        heapq.heappush(self.entries, entry)

    def take_unsettled(self, value: float) -> HeapEntry | None:
        """Take out the entry with the least bound, if that is below a value and may be raised.

        None once as many were taken as pay.
        """
        if not self.can_raise(value):
            return None
        self._to_bound -= 1
        return heapq.heappop(self.entries)

    def can_raise(self, value: float) -> bool:
        """Return whether the least bound is below a value and may be raised."""
        if not self.entries or not self._to_bound:
            return False
        return self.entries[0].bounds[0] < value and not self.entries[0].is_settled
