"""The paths of a workload's options that may be in a part of the front: by bounds, none beaten.

A label is the first part of a path, with its sums of latency and energy. From Einsum to Einsum all
labels are extended by all unbeaten mappings of the options; one goes if a bound of what is left
leads out of the part, or another label of its state beats it (theory/grid.md §7).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.mapper.grid.grid_mapspace import GridChoice
from tilewright.simulator.exchanges.exchange_move import Move
from tilewright.simulator.search.cascade_search import Cascade
from tilewright.simulator.search.fronts.cascade_items import CascadeItems, StepCosts
from tilewright.simulator.search.fronts.front_boxes import FrontBox
from tilewright.simulator.search.fronts.option_front import FrontItem, OptionFront
from tilewright.simulator.search.grid_certificate import Costs, GridObjective
from tilewright.simulator.search.paths.path_graph import PathQuestion, PathsLeft

_Floats = npt.NDArray[np.float64]
_Integers = npt.NDArray[np.int64]
MOST_LABELS: Final = 1 << 22
"""Labels in front of an Einsum, of some 50 bytes each."""


class PathPart(NamedTuple):
    """An Einsum of a path: the number of an item among those of an option."""

    front: OptionFront
    number: int

    @property
    def item(self) -> FrontItem:
        """The mapping or family, with its values or bounds."""
        return self.front.items[self.number]

    @property
    def choice(self) -> GridChoice:
        """The mapping; the item must be one."""
        choice = self.item.entry.choice
        assert choice is not None
        return choice

    @property
    def cycles(self) -> int:
        """Cycles of the mapping, which must have run."""
        return self.front.candidates.known_cycles[self.choice]


class FrontPath(NamedTuple):
    """An item for each Einsum, with the moves between them; `costs`: sums of values or bounds."""

    parts: tuple[PathPart, ...]
    moves: tuple[Move, ...]
    costs: Costs

    @property
    def is_exact(self) -> bool:
        """Whether the costs are those of runs."""
        are_run = all(part.item.is_exact for part in self.parts)
        return are_run and all(move.is_executed for move in self.moves)


class _Labels(NamedTuple):
    """Labels in front of an Einsum, one a row, in the order of their states.

    `sums`: latency, energy, objective of the box. `before`: row of the label that one goes on from;
    `step`: row in the table of that one's state; `item`: place in the tables of costs.
    """

    state: _Integers
    sums: _Floats
    before: _Integers
    step: _Integers
    item: _Integers


class BoxPaths:
    """The paths in a box by what is known now: for one round of a search.

    `is_over`: asked from time to time whether the search is to end.
    """

    def __init__(
        self, cascade: Cascade, items: CascadeItems, box: FrontBox, is_over: Callable[[], bool]
    ) -> None:
        self._graph, self._items, self._box, self._is_over = cascade.graph, items, box, is_over
        self._costs = StepCosts(cascade, items, box.objective)
        objectives: tuple[GridObjective, ...] = ("latency", "energy", box.objective)
        self._rests_by = [
            cascade.rests(
                PathQuestion("bound", objective=objective),
                partial(items.least, objective=objective),
            )
            for objective in objectives
        ]
        self._known_rests = np.zeros((0, 3))

    @property
    def least(self) -> float:
        """A value of the box's objective that no path goes below."""
        return float(self._rests(np.array(self._graph.starts))[:, 2].min())

    def below(self, limit: float) -> list[FrontPath]:
        """Return the paths in the box, and below a limit of its objective, that no other beats.

        Raises PathsLeft if the time is over before, or there are too many labels or steps.
        """
        starts = np.array(self._graph.starts)
        nothing = np.zeros(starts.size, dtype=np.int64)
        layers = [_Labels(starts, np.zeros((starts.size, 3)), nothing, nothing, nothing)]
        for _ in range(self._graph.depth):
            layers.append(_unbeaten(self._extended(layers[-1], limit)))
        layers[-1] = _unbeaten(layers[-1]._replace(state=np.zeros_like(layers[-1].state)))
        return [self._path(layers, row) for row in range(layers[-1].state.size)]

    def _extended(self, labels: _Labels, limit: float) -> _Labels:
        """Return all labels behind the next Einsum that are within the limits."""
        if not labels.state.size:
            return labels
        states, firsts = np.unique(labels.state, return_index=True)
        every = np.split(np.arange(labels.state.size), firsts[1:])
        found, count = list[_Labels](), 0
        for state, rows in zip(states, every, strict=True):
            if self._is_over() or count > MOST_LABELS or self._graph.is_full:
                raise PathsLeft(limit)
            found.append(self._from_state(int(state), labels.sums[rows], limit))
            found[-1].before[:] += firsts[len(found) - 1]
            count += found[-1].state.size
        return _Labels(*map(np.concatenate, zip(*found, strict=True)))

    def _from_state(self, state: int, sums: _Floats, limit: float) -> _Labels:
        """Return the labels that those of a state, with these sums, lead to within the limits."""
        limits = np.array([*self._box.below, limit])
        steps = self._graph.steps_from(state)
        added = self._costs.moved(steps.moves) + self._rests(steps.targets)
        least = sums.min(axis=0) + self._costs.least_of(steps.searches) + added
        rows = np.flatnonzero((least < limits).all(axis=1))
        row, item = self._costs.of_rows(steps.searches[rows])
        step = rows[row]
        costs = self._costs.of_items[item]
        is_inside = (sums[:, None] + (costs + added[step])[None] < limits).all(axis=2)
        before, way = np.nonzero(is_inside)
        moved = self._costs.moved(steps.moves[step[way]])
        return _Labels(
            steps.targets[step[way]],
            sums[before] + costs[way] + moved,
            before,
            step[way],
            item[way],
        )

    def _rests(self, states: _Integers) -> _Floats:
        """Return bounds of what is left of paths in front of some states of one Einsum."""
        missing = len(self._graph.states) - len(self._known_rests)
        if missing > 0:
            new = np.full((max(missing, len(self._known_rests)), 3), np.nan)
            self._known_rests = np.concatenate([self._known_rests, new])
        new_ones = np.unique(states[np.isnan(self._known_rests[states, 0])])
        if new_ones.size:
            (number,) = {self._graph.states[state][0] for state in new_ones}
            places = self._items.places(new_ones, self._rests_by[0].places_of)
            rests = [each.of_rows(number, places) for each in self._rests_by]
            self._known_rests[new_ones] = np.column_stack(rests)
        return self._known_rests[states]

    def _path(self, layers: list[_Labels], row: int) -> FrontPath:
        """Return the path of a label behind the last Einsum."""
        latency, energy, _ = layers[-1].sums[row].tolist()
        parts, moves = list[PathPart](), list[Move]()
        for before, labels in zip(layers[-2::-1], layers[:0:-1], strict=True):
            origin = int(labels.before[row])
            steps = self._graph.steps_from(int(before.state[origin])).steps
            step, item = steps[labels.step[row]], int(labels.item[row])
            front, _ = self._items.of_search(step.search)
            parts.append(PathPart(front, int(self._costs.numbers[item])))
            moves += step.moves
            row = origin
        return FrontPath(tuple(reversed(parts)), tuple(moves), Costs(latency, energy))


def _unbeaten(labels: _Labels) -> _Labels:
    """Return the labels that no other one of their state beats or equals, in order of states."""
    order = np.lexsort((labels.sums[:, 1], labels.sums[:, 0], labels.state))
    state = labels.state[order]
    _, ranks = np.unique(labels.sums[order, 1], return_inverse=True)
    # Smaller numbers from state to state, so that those of the state before are not the least.
    groups = np.cumsum(np.diff(state, prepend=state[:1]) != 0)
    falling = ranks - groups * (labels.state.size + 1)
    least = np.minimum.accumulate(falling)
    is_less = np.concatenate([[True], falling[1:] < least[:-1]])[: order.size]
    kept = order[is_less]
    return _Labels(*(column[kept] for column in labels))
