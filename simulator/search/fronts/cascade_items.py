"""What a front of a workload knows of the options of its Einsums, and tables of what these cost."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

import numpy as np
import numpy.typing as npt

from tilewright.simulator.search.candidate_search import CandidateSearch
from tilewright.simulator.search.cascade_search import Cascade
from tilewright.simulator.search.fronts.option_front import OptionFront
from tilewright.simulator.search.grid_certificate import Costs, GridObjective
from tilewright.simulator.search.paths.option import Option
from tilewright.simulator.search.paths.path_graph import Contents

_Floats = npt.NDArray[np.float64]
_Integers = npt.NDArray[np.int64]


class CascadeItems:
    """The mappings of all options of a cascade, by latency and energy."""

    def __init__(self, cascade: Cascade) -> None:
        self._cascade = cascade
        self._places = np.zeros((0, 0), dtype=np.int64)
        self._of_search: dict[int, tuple[OptionFront, int]] = {}
        self._of_option = {
            id(option): {
                aside: OptionFront(
                    option.candidates, [(f, option.space.tile_words(f)) for f in families]
                )
                for aside, families in option.by_persistent.items()
            }
            for option in chain.from_iterable(cascade.options)
        }

    @property
    def fronts(self) -> list[OptionFront]:
        """Those of all options."""
        return [front for each in self._of_option.values() for front in each.values()]

    def of_option(self, option: Option) -> list[OptionFront]:
        """Return those of an option, one for each number of words that are set aside."""
        return list(self._of_option[id(option)].values())

    def of_search(self, search: CandidateSearch) -> tuple[OptionFront, int]:
        """Return the mappings that a search of an option stands for, and the words that they need.

        These are 16-bit words of an element, at most.
        """
        if id(search) not in self._of_search:
            for option in chain.from_iterable(self._cascade.options):
                fronts = self._of_option[id(option)]
                for (aside, most), known in option.searches.items():
                    self._of_search[id(known)] = fronts[aside], most
        return self._of_search[id(search)]

    def places(
        self, states: _Integers, places_of: Callable[[list[Contents]], _Integers]
    ) -> _Integers:
        """Return the places of all tensors in states of the graph, a row each."""
        new = [held for _, held in self._cascade.graph.states[len(self._places) :]]
        if new:
            places = places_of(new)
            self._places = np.concatenate([self._places.reshape(-1, places.shape[1]), places])
        return self._places[states]

    def least(self, option: Option, objective: GridObjective) -> float:
        """Return a value of an objective that no mapping of an option goes below."""
        return min(front.least(objective) for front in self.of_option(option))


class StepCosts:
    """Tables of what steps of a graph of options cost: latency, energy, and an objective of both.

    `objective`: of the third column. The tables grow with the graph, and hold for one round.
    """

    def __init__(self, cascade: Cascade, items: CascadeItems, objective: GridObjective) -> None:
        self._graph, self._items, self._objective = cascade.graph, items, objective
        self._moves = np.zeros((1, 3))  # the last row is that of NO_ITEM
        self.of_items = np.zeros((0, 3))
        self.numbers = np.zeros(0, dtype=np.int64)
        self._ends = np.zeros(1, dtype=np.int64)
        self._least = np.zeros((0, 3))

    def moved(self, numbers: _Integers) -> _Floats:
        """Return lower bounds of the sums of moves, one row for each row of numbers."""
        missing = self._graph.moves.items[len(self._moves) - 1 :]
        if missing:
            new = self.priced(np.array([move.bounds for move in missing]))
            self._moves = np.concatenate([self._moves[:-1], new, self._moves[-1:]])
        sums: _Floats = self._moves[numbers].sum(axis=1)
        return sums

    def priced(self, costs: _Floats) -> _Floats:
        """Return latencies and energies with the objective of both as a third column."""
        values = Costs(costs[:, 0], costs[:, 1]).value(self._objective)  # type: ignore[arg-type]
        return np.column_stack([costs, values])

    def least_of(self, searches: _Integers) -> _Floats:
        """Return the least bounds of the mappings of some searches, each for itself."""
        self._grow()
        return self._least[searches]

    def of_rows(self, searches: _Integers) -> tuple[_Integers, _Integers]:
        """Return (row, place in `of_items`) for each unbeaten mapping of the searches of rows."""
        self._grow()
        begins = self._ends[searches]
        counts = self._ends[searches + 1] - begins
        rows = np.repeat(np.arange(searches.size), counts)
        within = np.arange(rows.size) - np.repeat(np.cumsum(counts) - counts, counts)
        return rows, begins[rows] + within

    def _grow(self) -> None:
        """Add the searches that are new in the graph."""
        for search in self._graph.searches.items[len(self._least) :]:
            front, words = self._items.of_search(search)
            numbers = front.unbeaten(words)
            costs = self.priced(front.costs(numbers))
            self.of_items = np.concatenate([self.of_items, costs])
            self.numbers = np.concatenate([self.numbers, numbers])
            self._ends = np.append(self._ends, self.numbers.size)
            least = costs.min(axis=0, initial=np.inf)
            self._least = np.concatenate([self._least, least[None]])
