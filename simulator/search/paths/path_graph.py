"""The least path through the options of all Einsums: a best-first search from state to state.

A state is an Einsum and what the elements hold in front of it; its steps go on with an option of
that Einsum, and the moves that bring what it reads (theory/grid.md §8).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from math import inf
from typing import Generic, Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from tilewright.simulator.exchanges.exchange_move import Move
from tilewright.simulator.search.candidate_search import CandidateSearch
from tilewright.simulator.search.grid_certificate import GridObjective

Held = tuple[tuple[str, int], ...]
"""Tensors that stay, with the number of each one's distribution, in the order of their names."""
Which = Literal["bound", "value"]
PathKind = tuple[Which, bool, GridObjective | None]
"""What decides the costs in a question: `which`, `reshards`, and `objective`."""
_Integers = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]
_Item = TypeVar("_Item", CandidateSearch, Move)


class Contents(NamedTuple):
    """What the elements' memories hold before an Einsum.

    `tensors`: those that earlier Einsums left. `reserved`: 16-bit words that are set aside for the
    persistent tensors of all Einsums, `used`: those of earlier ones.
    """

    tensors: Held = ()
    reserved: int = 0
    used: int = 0


@dataclass(frozen=True, slots=True)
class OptionPath:
    """One option for each Einsum, with what moves between them.

    `searches`: of the chosen option of each Einsum, over the families that fit; `moves`: of tensors
    between elements; `value`: sum of the objective's bounds or values over both.
    """

    searches: tuple[CandidateSearch, ...]
    moves: tuple[Move, ...]
    value: float


@dataclass(frozen=True, slots=True)
class OptionStep:
    """One Einsum with one option, after a state of what the elements hold.

    `after`: what they hold then; `search`: over the option's families that fit; `moves`: that
    bring the tensors that it reads.
    """

    after: Contents
    search: CandidateSearch
    moves: tuple[Move, ...]


class PathsLeft(Exception):  # noqa: N818 - control flow of a search
    """A search of paths ended before it had shown a least one: no path goes below `bound`."""

    def __init__(self, bound: float) -> None:
        super().__init__(bound)
        self.bound = bound


@dataclass(frozen=True, slots=True)
class PathQuestion:
    """Which path is looked for.

    `which`: whether bounds or values are added up. `reshards`: whether paths may move tensors
    between elements that are not neighbours. `limit`: of the sum. `is_hasty`: any path will do, one
    that goes on with little. `is_over`: asked from time to time whether the search is to end.
    `objective`: None for that of the candidates.
    """

    which: Which
    reshards: bool = True
    limit: float = inf
    is_hasty: bool = False
    is_over: Callable[[], bool] = lambda: False
    objective: GridObjective | None = None

    @property
    def kind(self) -> PathKind:
        """What decides the costs of steps."""
        return self.which, self.reshards, self.objective


Rest = Callable[[int, Contents], float]
"""What is left of any path at least, given the number of an Einsum and the contents before it."""
MOST_STEPS = 2_000_000
"""Steps of a graph, of some 500 bytes each, after which only a hasty search goes on."""
SUMS_DIFFER = 1 - 1e-11
"""By how much sums of the same numbers in different orders differ at most."""
HASTE = 1e6
"""How much more a hasty search looks at what is left of a path than at what it has."""


class PathGraph:
    """The graph of states and steps in which paths are found; it grows as paths are searched.

    `depth`: number of Einsums. `steps_of`: function that returns the steps of an Einsum, given its
    number and what the elements hold before it. `starts`: what they may hold before the first one.
    `states`: by number, an Einsum with what they hold before it; `searches`, `moves`: of all steps.
    """

    def __init__(
        self,
        depth: int,
        steps_of: Callable[[int, Contents], Sequence[OptionStep]],
        starts: Sequence[Contents] = (Contents(),),
    ) -> None:
        self.depth, self._steps_of, self._starts = depth, steps_of, starts
        self.searches = Numbered[CandidateSearch]()
        self.moves = Numbered[Move]()
        self._numbers: dict[tuple[int, Contents], int] = {}
        self.states: list[tuple[int, Contents]] = []
        self._steps: dict[int, StepTable] = {}
        self._step_count = 0

    def best_path(self, question: PathQuestion, rest_of: Rest) -> OptionPath | None:
        """Return the path with the least sum of bounds or values, None if none is below the limit.

        `rest_of`: what is left of any path at least, in front of an Einsum with some contents; no
        step makes it less by more than the step costs. Of equal paths it is the first one. Raises
        PathsLeft if time is over before, or the graph has too many steps.
        """
        searches = _Values[CandidateSearch](self.searches, question.which)
        moves = _Values[Move](self.moves, question.which)
        front = _Frontier(question, lambda state: rest_of(*self.states[state]))
        starts = self.starts
        front.grow(len(self.states))
        for start in starts:
            front.add(start, 0.0, 0)
        while (entry := front.pop()) is not None:
            bound, depth, state = entry
            if not question.is_hasty and (question.is_over() or self._is_full(state, question)):
                raise PathsLeft(bound)
            if depth == self.depth:
                return self._path(state, front.before, float(front.least[state]))
            steps = self.steps_from(state)
            front.grow(len(self.states))
            rows = steps.rows(reshards=question.reshards)
            moved = moves.at(steps.moves[rows]).sum(axis=1)
            totals = front.least[state] + searches.at(steps.searches[rows]) + moved
            targets = steps.targets[rows]
            for place in front.nearer(targets, totals):
                came = state, int(rows[place])
                front.add(int(targets[place]), float(totals[place]), depth + 1, came)
        return None

    @property
    def starts(self) -> list[int]:
        """The numbers of the states before the first Einsum."""
        return [self._state(0, contents) for contents in self._starts]

    @property
    def is_full(self) -> bool:
        """Whether no further steps are to be looked for."""
        return self._step_count > MOST_STEPS

    def _is_full(self, state: int, question: PathQuestion) -> bool:
        """Return whether the steps of a state are not known, and no more are to be.

        Of candidates with values there are few, so that their paths are always looked at.
        """
        is_known = question.which == "value" or state in self._steps
        return not is_known and self.is_full

    def _path(self, state: int, before: dict[int, tuple[int, int]], value: float) -> OptionPath:
        steps = []
        while state in before:
            state, row = before[state]
            steps.append(self._steps[state].steps[row])
        steps.reverse()
        moves = tuple(move for step in steps for move in step.moves)
        return OptionPath(tuple(step.search for step in steps), moves, value)

    def _state(self, number: int, contents: Contents) -> int:
        key = number, contents
        if key not in self._numbers:
            self._numbers[key] = len(self.states)
            self.states.append(key)
        return self._numbers[key]

    def steps_from(self, state: int) -> StepTable:
        """Return the steps of a state; known from the second time on."""
        if state not in self._steps:
            number, contents = self.states[state]
            steps = self._steps_of(number, contents)
            self._step_count += len(steps)
            most = max((len(step.moves) for step in steps), default=0)
            moves = np.full((len(steps), most), NO_ITEM)
            for row, step in enumerate(steps):
                moves[row, : len(step.moves)] = [self.moves.number(move) for move in step.moves]
            self._steps[state] = StepTable(
                steps,
                np.array([self.searches.number(step.search) for step in steps], dtype=np.int64),
                moves,
                np.array([self._state(number + 1, step.after) for step in steps], dtype=np.int64),
            )
        return self._steps[state]


class _Frontier:
    """The states that a search of paths has reached, the one with the least sum and rest first.

    `least`: by state, the least sum of a path to it; `before`: the state and the row of the step by
    which that comes.
    """

    def __init__(self, question: PathQuestion, rest_of: Callable[[int], float]) -> None:
        self._question, self._rest_of = question, rest_of
        self._haste = HASTE if question.is_hasty else 1.0
        self.least, self._rests = np.zeros(0), np.zeros(0)
        self.before: dict[int, tuple[int, int]] = {}
        self._heap: list[tuple[float, int, int, int]] = []
        self._done: set[int] = set()
        self._order = 0

    def grow(self, states: int) -> None:
        """Make room for so many states; nothing is known of the new ones."""
        self.least = _longer(self.least, states, inf)
        self._rests = _longer(self._rests, states, np.nan)

    def pop(self) -> tuple[float, int, int] | None:
        """Take the first state: (bound of paths left, its depth, its number); None at the end."""
        heap, question = self._heap, self._question
        while heap and (question.is_hasty or heap[0][0] < question.limit):
            bound, depth, _, state = heappop(heap)
            if state not in self._done:
                self._done.add(state)
                return bound, -depth, state
        return None

    def nearer(self, targets: _Integers, totals: _Floats) -> list[int]:
        """Return the places of those sums that are less than any known one, and than the limit."""
        most = np.minimum(self.least[targets], self._question.limit)
        return [int(place) for place in np.flatnonzero(totals < most)]

    def add(
        self, state: int, total: float, depth: int, came: tuple[int, int] | None = None
    ) -> None:
        """Add a path to a state, if it may be the least one.

        `came`: the state and row of its last step.
        """
        if np.isnan(self._rests[state]):
            self._rests[state] = self._rest_of(state)
        rest = float(self._rests[state])
        is_late = total >= self.least[state] or state in self._done
        if is_late or total + rest >= self._question.limit:
            return
        self.least[state] = total
        if came is not None:
            self.before[state] = came
        self._order += 1
        first = _rounded(total + self._haste * rest)
        heappush(self._heap, (first, -depth, self._order, state))


def _rounded(total: float) -> float:
    """Return a sum rounded down a little, so that sums in another order are equal.

    Of equal sums the deepest state comes first, which is the nearest to the end.
    """
    return float(f"{total:.12g}") * SUMS_DIFFER


def _longer(values: _Floats, size: int, new: float) -> _Floats:
    """Return the values of at least so many states; those of new ones are `new`.

    It becomes twice as long at a time, so that many states are not copied for each few new ones.
    """
    if size <= values.size:
        return values
    return np.concatenate([values, np.full(max(size - values.size, values.size), new)])


NO_ITEM = -1
"""Number where a step has fewer moves than others: it costs nothing."""


@dataclass(frozen=True)
class StepTable:
    """The steps of a state, one a row: numbers of the search, of the moves, of the next state."""

    steps: Sequence[OptionStep]
    searches: _Integers
    moves: _Integers
    targets: _Integers

    def rows(self, *, reshards: bool) -> _Integers:
        """Return the numbers of the rows, of those with reshards only if these may be."""
        return self.all_rows if reshards else self.rows_without_reshards

    @cached_property
    def all_rows(self) -> _Integers:
        """The numbers of all rows, from 0 on."""
        return np.arange(len(self.steps))

    @cached_property
    def rows_without_reshards(self) -> _Integers:
        """Rows of steps whose moves are none, or halos of neighbours."""
        steps = enumerate(self.steps)
        rows = [row for row, step in steps if not any(move.is_reshard for move in step.moves)]
        return np.array(rows, dtype=np.int64)


class Numbered(Generic[_Item]):
    """Numbers of searches or moves, in the order in which they are first asked for."""

    def __init__(self) -> None:
        self.items: list[_Item] = []
        self._numbers: dict[int, int] = {}

    def number(self, item: _Item) -> int:
        number = self._numbers.setdefault(id(item), len(self.items))
        if number == len(self.items):
            self.items.append(item)
        return number


class _Values(Generic[_Item]):
    """The bound or the objective's value of each item, read once while a path is searched."""

    def __init__(self, numbered: Numbered[_Item], which: Which) -> None:
        self._numbered: Numbered[_Item] = numbered
        self._which = which
        self._known = np.zeros(1)  # the last one is that of NO_ITEM

    def at(self, numbers: _Integers) -> _Floats:
        """Return the bounds or values of the items with these numbers; 0 for NO_ITEM."""
        missing = len(self._numbered.items) + 1 - self._known.size
        if missing:
            self._known = np.concatenate([self._known[:-1], np.full(missing, np.nan), [0.0]])
        values = self._known[numbers]
        is_unknown = np.isnan(values)
        if not is_unknown.any():
            return values
        items, which = self._numbered.items, self._which
        unknown = np.unique(numbers[is_unknown])
        self._known[unknown] = [getattr(items[number], which) for number in unknown]
        return self._known[numbers]
