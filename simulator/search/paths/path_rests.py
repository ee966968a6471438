"""Lower bounds of what is left of a path, from what the elements hold: the heuristic of its search.

What an Einsum costs depends on where its inputs are and where its output goes: a table of least
costs, over its options and the moves that bring what these read. The tensors that are not computed
yet are eliminated from the sum of the tables of all Einsums that are left, the last one first. What
remains is a lower bound, and no step makes it less by more than the step costs
(theory/grid.md §8).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, pairwise
from math import inf, prod
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from tilewright.simulator.search.paths.cost_tables import MOST_COSTS, PlaceCostTable, eliminated
from tilewright.simulator.search.paths.move_costs import MoveCosts
from tilewright.simulator.search.paths.path_graph import Contents, Held, PathQuestion

_Floats = npt.NDArray[np.float64]
_Integers = npt.NDArray[np.int64]
Names = frozenset[str]
OUTSIDE = 0
"""The place of a tensor that does not stay in the elements; those of its distributions follow."""


class RestOption(Protocol):
    """What is asked of an option of an Einsum."""

    @property
    def reads(self) -> Held:
        """What it finds in the elements: tensors, with the numbers of their distributions."""
        ...

    @property
    def writes(self) -> Held:
        """What it leaves in the elements: its output with the number of its distribution."""
        ...


_Option = TypeVar("_Option", bound=RestOption)


class PathTensors(NamedTuple):
    """By Einsum, the tensors that it reads, and the intermediates that are computed behind it."""

    read: Sequence[Names]
    written: Sequence[Names]


class PathRests(Generic[_Option]):
    """The bounds of one search of paths.

    `options`, `tensors`: of a workload. `costs`: of moves of its intermediates. `cost_of`: what an
    option costs at least, by the question.
    """

    def __init__(
        self,
        options: Sequence[Sequence[_Option]],
        tensors: PathTensors,
        costs: MoveCosts[_Option],
        question: PathQuestion,
        cost_of: Callable[[_Option], float],
    ) -> None:
        self._options, self._inputs = options, tensors.read
        self._moves, self._question, self._cost_of = costs, question, cost_of
        written = [Names(), *tensors.written]
        self._outputs = [sorted(now - before) for before, now in pairwise(written)]
        self._numbers = {name: n for n, name in enumerate(chain.from_iterable(self._outputs))}
        self._places = {
            name: {distribution: place for place, distribution in enumerate(costs.places[name], 1)}
            for name in self._numbers
        }
        self._left: list[list[PlaceCostTable]] = [[] for _ in (*options, None)]
        for number in reversed(range(len(options))):
            self._left[number] = self._tables(number)

    def of(self, number: int, contents: Contents) -> float:
        """Return what is left of any path at least, in front of an Einsum; inf if there is none."""
        places = self._places_of(contents)
        return sum(table.at(places) for table in self._left[number])

    def of_rows(self, number: int, places: _Integers) -> _Floats:
        """Return what is left of any path at least, in front of an Einsum, by rows of places."""
        rests = np.zeros(len(places))
        for table in self._left[number]:
            rests += table.at_rows(places)
        return rests

    def places_of(self, contents: Sequence[Contents]) -> _Integers:
        """Return the places of all tensors by what the elements hold, a row each."""
        rows = [self._places_of(held) for held in contents]
        return np.array(rows, dtype=np.int64).reshape(len(rows), len(self._numbers))

    def _places_of(self, contents: Contents) -> list[int]:
        places = [OUTSIDE] * len(self._numbers)
        for name, distribution in contents.tensors:
            places[self._numbers[name]] = self._places[name][distribution]
        return places

    def _tables(self, number: int) -> list[PlaceCostTable]:
        """Return tables whose sum is what is left at least in front of an Einsum.

        Their tensors are computed there.
        """
        tables = [*self._left[number + 1], self._table(number)]
        for name in reversed(self._outputs[number]):
            tensor = self._numbers[name]
            having = [table for table in tables if tensor in table.tensors]
            others = [table for table in tables if tensor not in table.tensors]
            tables = others + eliminated(having, tensor)
        return tables

    def _table(self, number: int) -> PlaceCostTable:
        """Return the least costs of an Einsum by the places of its inputs and its output.

        Tensors with the most places are left out of a table that would be too large.
        """
        names = [
            n for n in self._numbers if n in self._inputs[number] or n in self._outputs[number]
        ]
        while prod(1 + len(self._places[name]) for name in names) > MOST_COSTS:
            names.remove(max(names, key=lambda name: len(self._places[name])))
        costs = np.full([1 + len(self._places[name]) for name in names], inf)
        for option in self._options[number]:
            cost = self._cost_of(option)
            if cost < inf:
                where, total = self._costs_of(option, names, cost)
                costs[where] = np.minimum(costs[where], total)
        return PlaceCostTable(tuple(self._numbers[name] for name in names), costs)

    def _costs_of(
        self, option: _Option, names: Sequence[str], cost: float
    ) -> tuple[tuple[int | slice, ...], _Floats]:
        """Return which costs of a table an option decides, and these: with moves of what it reads.

        names: the tensors of the table.
        """
        reads, writes = dict(option.reads), dict(option.writes)
        where: list[int | slice] = []
        total: _Floats = np.array(cost)
        for name in names:
            if name in reads:
                where.append(slice(1, None))
                total = total[..., None] + self._moves.to(name, reads[name], option, self._question)
            else:
                place = writes.get(name)
                where.append(OUTSIDE if place is None else self._places[name][place])
        for name in reads.keys() - set(names):
            total = total + self._moves.to(name, reads[name], option, self._question).min(
                initial=inf
            )
        return tuple(where), total


def places_of(
    options: Sequence[Sequence[RestOption]], names: Iterable[str]
) -> dict[str, list[int]]:
    """Return by tensor the distributions in which an option leaves it in the elements."""
    places: dict[str, dict[int, None]] = {name: {} for name in names}
    for option in chain.from_iterable(options):
        for name, distribution in option.writes:
            places[name].setdefault(distribution)
    return {name: list(numbers) for name, numbers in places.items()}
