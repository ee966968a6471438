"""Exact search: the dynamic program with bounds, deepening and classes of lanes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from tilewright.mapper.mapspace.assemble import Tile
from tilewright.mapper.searches.budget import GROWTH, UNLIMITED, Budget, OutOfBudget
from tilewright.mapper.searches.exact.kernels import ENERGY, LATENCY
from tilewright.mapper.searches.exact.label_metrics import KINDS, Objective, objective_value
from tilewright.mapper.searches.exact.label_tables import LabelEngine, LabelTable
from tilewright.mapper.searches.program.compiled_mapspace import CompiledMapspace
from tilewright.mapper.searches.program.program import TemplateProgram
from tilewright.mapper.searches.program.program_tree import ProgramNode

DEEPENING = (1e-9, 0.002, 0.02, 0.1, 0.3, 1.0, inf)
TIE = 1e-12
MAX_LABELS = 4_000_000  # in one table: about 300 MB


@dataclass(frozen=True, slots=True)
class BestLabel:
    """The best label: its metrics, and the tile below each slot of its program's skeleton.

    Of two with the same `value`, the one with the smaller `second` metric is better.
    """

    energy: float
    latency: float
    value: float
    second: float
    program: TemplateProgram
    tiles: tuple[Tile, ...]


@dataclass(frozen=True, slots=True)
class DynamicResult:
    """`lower_bound` of the objective; `exhausted`: a budget stopped the search."""

    best: BestLabel | None
    lower_bound: float
    exhausted: bool
    labels: int
    passes: int


class DynamicSearch:
    """Searches one tree of programs for one objective. `found`: a mapping to start from."""

    def __init__(
        self, compiled: CompiledMapspace, budget: Budget = UNLIMITED, found: BestLabel | None = None
    ) -> None:
        self._compiled = compiled
        self._engine = compiled.engine
        self._root = compiled.root
        self._metrics = compiled.metrics
        self._budget = budget
        self._kind = ENERGY
        self._limit = inf
        self._floor = inf
        self._lower = -inf
        self._most_energy = inf
        self._found = found
        self.labels = 0
        self.passes = 0

    def solve(self, objective: Objective) -> DynamicResult:
        """Find the least value of `objective`, and among its ties the least second metric."""
        self._kind = KINDS[objective]
        self._lower = self.bound(objective)
        if self._lower == inf:
            return DynamicResult(None, inf, False, 0, 0)
        try:
            if self._budget.is_limited:
                self._beam()
            if self._kind == ENERGY or not self._seed():
                self._deepen()
                self._break_ties()
        except OutOfBudget:
            return self._outcome(exhausted=True)
        return self._outcome(exhausted=False)

    def first(self, objective: Objective) -> BestLabel | None:
        """Return some mapping, fast; None if there is none among few labels."""
        self._kind = KINDS[objective]
        if self.bound(objective) < inf:
            self._beam()
        return self._found

    def bound(self, objective: Objective) -> float:
        """Return a lower bound of `objective` before any search; inf if there is no mapping."""
        outlook = self._root.before
        if outlook is None:  # no program
            return inf
        start = self._engine.initial().label.copy()
        start[0, 0] += outlook.energy[0]
        start[0, self._engine.fields.lanes] *= max(outlook.lanes[0], 1.0)
        if not start[0, 0] < inf:
            return inf
        return float(self._metrics.lower_bounds(start, KINDS[objective])[0])

    def _outcome(self, exhausted: bool) -> DynamicResult:
        return DynamicResult(self._found, self._lower, exhausted, self.labels, self.passes)

    def _beam(self) -> None:
        """Find some mapping fast: keep the one label of least energy at each tile shape."""
        self._sweep(1, inf)

    def _seed(self) -> bool:
        """Start from the mapping of least energy; tell whether it is already proven best.

        It is when its objective meets the bound: then no other metric of it can improve either.
        """
        helper = DynamicSearch(self._compiled, self._budget)
        found = helper.solve("energy").best
        self.labels += helper.labels
        self.passes += helper.passes
        if found is None:
            return False
        value = self._value(found.energy, found.latency)
        if self._improves(value, found.energy):
            self._found = replace(found, value=value, second=found.energy)
        return value <= self._lower * (1 + TIE)

    def _deepen(self) -> None:
        """Raise the limit until a solution at or below it is proven best."""
        fields = self._engine.fields
        scalar = self._kind == ENERGY and self._metrics.steady_watts == 0 and not fields.gates
        least = self._lower
        for slack in DEEPENING:
            limit = least * (1 + slack) if least > 0 else inf
            limit = min(limit, self._best())
            self._sweep(fields.n_energy_fields if scalar else fields.n_class_fields, limit)
            self._lower = max(self._lower, min(limit, self._floor, self._best()))
            if self._best() <= self._lower * (1 + TIE):
                return
            if self._best() <= limit:  # only a slow memory is between the label and its class
                self._sweep(fields.width, self._best())
            if self._best() <= limit or limit == inf:
                self._lower = self._best()
                return

    def _best(self) -> float:
        return inf if self._found is None else self._found.value

    def _break_ties(self) -> None:
        """Among mappings of equal value take the least second metric."""
        if self._found is None:
            return
        fields = self._engine.fields
        if self._kind == ENERGY:
            self._sweep(fields.n_class_fields, self._found.value)
        elif self._kind == LATENCY:
            self._most_energy = self._found.energy
            self._sweep(fields.width, self._found.value)

    def _sweep(self, nd: int, limit: float) -> None:
        self.passes += 1
        self._limit = limit
        self._floor = inf
        self._visit(self._root, self._engine.initial(), nd, [])

    def _visit(self, node: ProgramNode, table: LabelTable, nd: int, path: list[LabelTable]) -> None:
        path.append(table)
        if node.programs and table.label.shape[0]:
            self._arrive(node, path)
        for child in node.children.values():
            following = self._step(child, table, nd)
            if following.label.shape[0]:
                self._visit(child, following, nd, path)
        path.pop()

    def _step(self, child: ProgramNode, table: LabelTable, nd: int) -> LabelTable:
        self._budget.check(more=GROWTH * table.label.nbytes)
        assert child.step is not None
        assert child.before is not None
        assert child.after is not None
        bound = self._metrics.pruning_limits(
            self._kind, self._limit * (1 + TIE), self._most_energy * (1 + TIE)
        )
        result = self._engine.apply(child.step, table, nd, (child.before, child.after, bound))
        self.labels += result.label.shape[0]
        if nd > 1 and result.label.shape[0] > MAX_LABELS:
            raise OutOfBudget
        return result

    def _arrive(self, node: ProgramNode, path: list[LabelTable]) -> None:
        table = path[-1]
        first = int(table.start[-2])
        labels = table.label[first:]
        floors = self._metrics.lower_bounds(labels, self._kind)
        for index in np.argsort(floors, kind="stable").tolist():
            if floors[index] > self._limit * (1 + TIE):
                break
            self._floor = min(self._floor, float(floors[index]))
            latency = self._metrics.latency(labels[index])
            energy = self._metrics.energy(labels[index], latency)
            value = self._value(energy, latency)
            second = latency if self._kind == ENERGY else energy
            if self._improves(value, second):
                program = node.programs[0]
                tiles = tiles_of_label(self._engine, program, path, first + index)
                self._found = BestLabel(energy, latency, value, second, program, tiles)
                self._limit = min(self._limit, value)

    def _value(self, energy: float, latency: float) -> float:
        if self._kind == ENERGY:
            return energy + self._metrics.price * latency
        return float(objective_value(self._kind, np.array(energy), np.array(latency)))

    def _improves(self, value: float, second: float) -> bool:
        if self._found is None:
            return value < inf
        if abs(value - self._found.value) <= TIE * abs(self._found.value):
            return second < self._found.second * (1 - TIE)
        return value < self._found.value


def tiles_of_label(
    engine: LabelEngine, program: TemplateProgram, path: list[LabelTable], label: int
) -> tuple[Tile, ...]:
    """Follow the origins of a label down the path; return the tile below each slot."""
    below: dict[int, Tile] = {}
    for number, before, after in _steps_down(program, path):
        label = int(after.origin[label, 0])
        state = int(np.searchsorted(before.start, label, side="right")) - 1
        if number is not None:
            below[number] = tuple(engine.lattice.tiles[state].tolist())
    tile = engine.lattice.bounds
    tiles: list[Tile] = []
    for index in range(len(program.slot_sequence)):
        tile = below.get(index, tile)
        tiles.append(tile)
    return tuple(tiles)


def _steps_down(
    program: TemplateProgram, path: list[LabelTable]
) -> Iterator[tuple[int | None, LabelTable, LabelTable]]:
    for number in range(len(program.slots) - 1, -1, -1):
        yield program.slots[number], path[number], path[number + 1]
