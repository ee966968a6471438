"""Lower bounds of what is left of a path, from what the elements hold: the heuristic of its search.

Each Einsum that is left costs at least the least of its options, with the moves that bring what
these read of the tensors that the elements hold already. Every path chooses one of these options
for it, and a step only adds tensors or takes away those that nobody reads any more; so the sum is a
lower bound, and no step makes it less by more than the step costs (theory/grid.md §8).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from tilewright.simulator.exchanges.exchange_move import Move
from tilewright.simulator.search.paths.path_graph import Contents, Held, PathQuestion

_Floats = npt.NDArray[np.float64]
Names = frozenset[str]


class RestOption(Protocol):
    """What is asked of an option of an Einsum."""

    @property
    def reads(self) -> Held:
        """What it finds in the elements: tensors, with the numbers of their distributions."""
        ...

    @property
    def least_bound(self) -> float:
        """The least bound of its mappings."""
        ...

    @property
    def least_value(self) -> float:
        """The least value of those that were executed."""
        ...


_Option = TypeVar("_Option", bound=RestOption)


@dataclass(frozen=True, slots=True, eq=False)
class _Readers(Generic[_Option]):
    """Options of one Einsum that read the same tensors of those that are there, by what they read.

    `options`: one for each set of distributions; `least`: the least of all with this set. `moved`:
    by what is held of a tensor, the cost of bringing it to each of them.
    """

    options: Sequence[_Option]
    least: _Floats
    moved: dict[tuple[str, int], _Floats] = field(default_factory=dict)


class PathRests(Generic[_Option]):
    """The bounds of one search of paths.

    `options`, `inputs`: by Einsum, its options and the tensors that it reads; `written`: by Einsum
    the intermediates that are computed when it has run. `move`: of a tensor, from a distribution to
    another one, which an option reads.
    """

    def __init__(
        self,
        options: Sequence[Sequence[_Option]],
        inputs: Sequence[Names],
        written: Sequence[Names],
        move: Callable[[str, int, int, _Option], Move],
        question: PathQuestion,
    ) -> None:
        self._options, self._inputs, self._written = options, inputs, written
        self._move, self._question = move, question
        self._readers: dict[tuple[int, Names, Names], _Readers[_Option]] = {}
        self._least: dict[tuple[int, Held, Names], float] = {}

    def of(self, number: int, contents: Contents) -> float:
        """Return what is left of any path at least, in front of an Einsum; inf if there is none."""
        there = self._written[number - 1] if number else Names()
        total = 0.0
        for later in range(number, len(self._options)):
            inputs = self._inputs[later]
            held = tuple(item for item in contents.tensors if item[0] in inputs)
            key = later, held, there & inputs
            if key not in self._least:
                self._least[key] = self._least_of(*key)
            total += self._least[key]
        return total

    def _least_of(self, number: int, held: Held, there: Names) -> float:
        readers = self._readers_of(number, Names(name for name, _ in held), there)
        if not readers.options:
            return inf
        costs = readers.least
        for item in held:
            if item not in readers.moved:
                readers.moved[item] = np.array([self._moved(*item, o) for o in readers.options])
            costs = costs + readers.moved[item]
        return float(costs.min())

    def _moved(self, name: str, place: int, option: _Option) -> float:
        """Return what it costs to bring a tensor from a distribution to an option."""
        move = self._move(name, place, dict(option.reads)[name], option)
        if move.is_there:
            return 0.0
        if move.is_reshard and not self._question.reshards:
            return inf
        return float(move.bound if self._question.which == "bound" else move.value)

    def _readers_of(self, number: int, names: Names, there: Names) -> _Readers[_Option]:
        """Return the options that read just these tensors of those that are computed already."""
        key = number, names, there
        if key not in self._readers:
            by_reads: dict[Held, tuple[_Option, float]] = {}
            for option in self._options[number]:
                if Names(name for name, _ in option.reads) & there == names:
                    before = by_reads.get(option.reads, (option, inf))
                    by_reads[option.reads] = before[0], min(before[1], self._cost(option))
            least = np.array([cost for _, cost in by_reads.values()])
            self._readers[key] = _Readers([option for option, _ in by_reads.values()], least)
        return self._readers[key]

    def _cost(self, option: _Option) -> float:
        is_bound = self._question.which == "bound"
        return option.least_bound if is_bound else option.least_value
