"""The mappings of an option of an Einsum by latency and energy: values, and bounds of the others.

A search of a front looks at an entry again and again: a family is replaced by its mappings, a
mapping has the bounds of its plan and then its values, until it is beaten (theory/grid.md §7).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from math import inf
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.mapper.grid.grid_mapspace import GridChoice, GridFamily
from tilewright.mapper.workload.errors import InfeasibleMapping, Refusal
from tilewright.simulator.execution.action_counts import predicted_energy
from tilewright.simulator.isa.machine_errors import ProgramError, RunStoppedError
from tilewright.simulator.lowering.lower_bound.task_cycles import BodyCycles
from tilewright.simulator.search.candidate_search import ROUNDING
from tilewright.simulator.search.candidates.candidates import BoundedFamily, Candidates
from tilewright.simulator.search.candidates.family_heap import FamilyHeap, HeapEntry
from tilewright.simulator.search.grid_certificate import Costs, GridObjective, objective_value

_Floats = npt.NDArray[np.float64]
_Integers = npt.NDArray[np.int64]


class _CostBounds(NamedTuple):
    """Lower bounds of latency and energy."""

    candidates: Candidates

    def of_members(
        self, family: GridFamily, reduction: str | None, alone: BodyCycles | None
    ) -> Costs:
        quick = self.candidates.quick
        cycles = quick.cycles(family, reduction, alone)
        return self.candidates.costs_of(cycles, quick.energy(family, reduction))

    def of_choice(self, choice: GridChoice, *, followed: bool = False) -> Costs:
        energy = predicted_energy(self.candidates.plan(choice).read)
        cycles = self.candidates.least_cycles(choice, followed=followed)
        return self.candidates.costs_of(cycles, energy)


class FrontItem(NamedTuple):
    """A family or a mapping with lower bounds, or with its values if it `is_exact`.

    `words`: 16-bit words of an element that its tiles need.
    """

    entry: HeapEntry
    words: int
    is_exact: bool = False


class OptionFront:
    """The mappings of some families of an option that are not beaten, by latency and energy.

    `items`: all that there were, by number; `executed`: number of runs; `reasons`: why mappings are
    infeasible.
    """

    def __init__(self, candidates: Candidates, families: Iterable[tuple[BoundedFamily, int]]):
        """Begin with families, and the 16-bit words that the tiles of each need."""
        self.candidates = candidates
        self.items: list[FrontItem] = []
        self.executed = 0
        self.reasons: Counter[Refusal] = Counter()
        self._heap = FamilyHeap(candidates, _CostBounds(candidates), ())
        self._costs = np.zeros((0, 3))  # of each item: latency, energy, words; inf for one replaced
        self._unbeaten: dict[int, _Integers] = {}
        self._least: dict[GridObjective, float] = {}
        self.add(families)

    def add(self, families: Iterable[tuple[BoundedFamily, int]]) -> None:
        """Add families with the words that the tiles of each need."""
        first = len(self.items)
        self._add(
            FrontItem(HeapEntry(bounded.costs, (number, -1), bounded.family), words)
            for number, (bounded, words) in enumerate(families, first)
        )

    def _add(self, items: Iterable[FrontItem]) -> None:
        new = list(items)
        self.items += new
        rows = [(*item.entry.bounds, item.words) for item in new]
        self._costs = np.concatenate([self._costs, np.array(rows).reshape(-1, 3)])
        self._unbeaten.clear()
        self._least.clear()

    def _replace(self, number: int, *others: FrontItem) -> None:
        self._costs[number] = inf
        self._add(others)

    def unbeaten(self, most_words: int) -> _Integers:
        """Return the numbers of the items that no other beats or equals in both bounds.

        Of those that need at most so many 16-bit words. Of equal ones an exact one stays.
        """
        if most_words not in self._unbeaten:
            latency, energy, words = self._costs.T
            fitting = np.flatnonzero(words <= most_words)
            opens = np.array([not self.items[number].is_exact for number in fitting], dtype=bool)
            order = fitting[np.lexsort((opens, energy[fitting], latency[fitting]))]
            least = np.minimum.accumulate(energy[order])
            is_less = np.concatenate([[True], energy[order][1:] < least[:-1]])[: order.size]
            self._unbeaten[most_words] = order[is_less]
        return self._unbeaten[most_words]

    def costs(self, numbers: _Integers) -> _Floats:
        """Return latency and energy, values or bounds, of the items with these numbers."""
        return self._costs[numbers, :2]

    def least(self, objective: GridObjective) -> float:
        """Return a value of an objective that no mapping goes below; inf if there is none."""
        if objective not in self._least:
            self._least[objective] = self._least_value(objective)
        return self._least[objective]

    def _least_value(self, objective: GridObjective) -> float:
        latency, energy, _ = self._costs.T
        is_left = latency < inf
        values = objective_value(objective, latency[is_left], energy[is_left])  # type: ignore[arg-type]
        return float(np.min(values, initial=inf))

    @property
    def open_choices(self) -> int:
        """Number of mappings whose values are not known."""
        left = np.flatnonzero(self._costs[:, 0] < inf)
        items = (self.items[number] for number in left)
        return sum(self._heap.size(item.entry) for item in items if not item.is_exact)

    def refine(self, number: int) -> bool:
        """Replace an item by what has closer bounds; return False if only a run gives closer ones.

        It is left out if the machine cannot hold it.
        """
        entry, words, is_exact = self.items[number]
        if is_exact or entry.is_settled:
            return False
        try:
            closer = [FrontItem(e, words) for e in self._heap.refined(entry)]
        except (InfeasibleMapping, ProgramError) as error:
            self.reasons[Refusal.of(error)] += 1
            closer = []
        self._replace(number, *closer)
        return True

    def run(self, number: int, most_latency: float, is_over: Callable[[], bool]) -> None:
        """Run the mapping of an item with its closest bounds, so that its values are known.

        A run ends where its latency (s) is above `most_latency`, which becomes its bound, or when
        the time is over. It is left out if the machine cannot run it.
        """
        entry, words, _ = self.items[number]
        candidates, choice, reached = self.candidates, entry.choice, 0
        assert choice is not None

        def is_unwanted(cycles: int) -> bool:
            nonlocal reached
            reached = cycles
            return is_over() or candidates.latency_of(cycles) > most_latency

        try:
            cycles = candidates.exact_cycles(choice, is_unwanted, is_over)
        except (InfeasibleMapping, ProgramError) as error:
            self.reasons[Refusal.of(error)] += 1
            self._replace(number)
            return
        except RunStoppedError:
            energy = predicted_energy(candidates.plan(choice).read)
            bounds = Costs(*entry.bounds).at_least(candidates.costs_of(reached, energy))
            self._replace(number, FrontItem(replace(entry, bounds=bounds), words))
            return
        self.executed += 1
        costs = candidates.run_costs(choice, cycles)
        assert all(b <= v * ROUNDING for b, v in zip(entry.bounds, costs, strict=True)), choice
        self._replace(number, FrontItem(replace(entry, bounds=costs), words, is_exact=True))
