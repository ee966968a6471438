"""Search a tree of programs by dynamic programming: lower bounds, deepening and classes of lanes.

A pass keeps the Pareto labels of each tile shape that may still lead below a limit. The limit
starts near the lower bound of all mappings and is raised until a mapping lies at or below it
(lattice.md §6). A pass compares labels by few fields first: energy and used bits alone, or with
the lanes; only if a memory's calls decide, by all fields.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

import numpy as np

from tilewright.mapper.mapspace.assemble import Tile
from tilewright.mapper.searches.budget import GROWTH, UNLIMITED, Budget, EndReason, OutOfBudget
from tilewright.mapper.searches.exact.kernels import ENERGY, LATENCY, Floats, LabelTable
from tilewright.mapper.searches.exact.label_metrics import KINDS, Objective, objective_value
from tilewright.mapper.searches.exact.label_tables import LabelEngine
from tilewright.mapper.searches.exact.remaining.remaining_cost import StepBounds
from tilewright.mapper.searches.program.compiled_mapspace import CompiledMapspace
from tilewright.mapper.searches.program.program_steps import TemplateProgram
from tilewright.mapper.searches.program.program_tree import ProgramNode

DEEPENING = (1e-9, 0.002, 0.02, 0.1, 0.3, 1.0, inf)  # limits above the lower bound, relative
BEAM_SLACKS = (0.1, 1.0, inf)  # above the least latency, relative: of a first mapping
TIE = 1e-12  # relative difference of equal values: sums of the same terms in another order
MAX_LABELS = 4_000_000  # in one table: about 300 MB


@dataclass(frozen=True, slots=True)
class BestLabel:
    """The best mapping that a dynamic program has found, for one instance of the Einsum.

    `energy`: joules; `latency`: seconds. `value`: of the objective; `second`: the metric that
    decides between equal values (latency if the objective is energy, else energy). `program`: the
    template's steps; `tiles`: the tile below each slot of the template, outermost first. A
    template is a mapping without its loops.
    """

    energy: float
    latency: float
    value: float
    second: float
    program: TemplateProgram
    tiles: tuple[Tile, ...]


@dataclass(frozen=True, slots=True)
class DynamicResult:
    """What one run of a dynamic program has found, for one instance of the Einsum.

    `best`: None if there is no mapping below the limits. `lower_bound`: of the objective.
    `exhausted`: a budget ended the search. `labels`: partial mappings (cost tuples) made in all;
    `passes`: how often all templates were gone through. A template is a mapping without its loops.
    """

    best: BestLabel | None
    lower_bound: float
    exhausted: bool
    labels: int
    passes: int


class DynamicSearch:
    """Searches the tile sizes of some templates by dynamic programming, below a rising limit.

    Each pass keeps the labels that may lead below a limit on the objective; the limit rises from a
    lower bound until a mapping lies at or below it. `compiled`: the templates as a tree of steps,
    innermost first, with shared beginnings. A label is a partial mapping's tuple of costs below a
    slot; labels above the limit, and those dominated by others at the same tile, are dropped.
    `budget`: its limits. `best`: a mapping to start from (theory/lattice.md §6). A
    template is a mapping without its loops; a slot is a place of a template for loops, a fill or a
    reserved tile.
    """

    def __init__(
        self, compiled: CompiledMapspace, budget: Budget = UNLIMITED, best: BestLabel | None = None
    ) -> None:
        self._compiled = compiled
        self._engine = compiled.engine
        self._tree = compiled.tree
        self._metrics = compiled.metrics
        self._budget = budget
        self._kind = ENERGY
        self._limit = inf
        self._least_arrived = inf  # the least lower bound of a complete label in this pass
        self._lower_bound = -inf
        self._max_energy = inf
        self._best = best
        self._limits_made: tuple[float, float, float] | None = None
        self._limit_array = np.zeros(0)
        self.labels = 0
        self.passes = 0

    def solve(self, objective: Objective) -> DynamicResult:
        """Find the mapping with the least `objective`, and among equals the least second metric.

        The result is for one instance of the Einsum. A budget that ends is no error: the result is
        then `exhausted`, with the best mapping so far and a lower bound.
        """
        self._kind = KINDS[objective]
        self._lower_bound = self.bound(objective)
        if self._lower_bound == inf:
            return DynamicResult(None, inf, False, 0, 0)
        try:
            if self._budget.is_limited:
                self._beam()
            if self._kind == ENERGY or not self._start_from_least_energy():
                self._deepen()
                self._break_ties()
        except OutOfBudget:
            return self._result(exhausted=True)
        return self._result(exhausted=False)

    def first(self, objective: Objective) -> BestLabel | None:
        """Return some mapping, fast; None if none is found among few partial mappings.

        One pass keeps one label (tuple of costs) per tile. Raises OutOfBudget when the budget
        ends.
        """
        self._kind = KINDS[objective]
        if self.bound(objective) < inf:
            self._beam()
        return self._best

    def bound(self, objective: Objective) -> float:
        """Return a lower bound of the objective for one instance, before any search.

        Unit: J, s or J s. Infinity if there is no mapping.
        """
        remaining = self._tree.at_start
        if remaining is None:  # no program
            return inf
        start = self._engine.initial().label.copy()
        start[0, 0] += remaining.energy[0]
        start[0, self._engine.fields.lanes] *= max(remaining.lanes[0], 1.0)
        if not start[0, 0] < inf:
            return inf
        return float(self._metrics.lower_bounds(start, KINDS[objective])[0])

    def _result(self, *, exhausted: bool) -> DynamicResult:
        return DynamicResult(self._best, self._lower_bound, exhausted, self.labels, self.passes)

    def _beam(self) -> None:
        """Find some mapping fast: keep the one label of least energy at each tile shape.

        Such a mapping may use few lanes, so that its leakage or latency is a multiple of the least.
        Where these count, one of little latency is looked for, too.
        """
        if self._kind != LATENCY:
            self._pass(1, inf)
        if self._kind != ENERGY or self._metrics.steady_watts > 0:
            fast = DynamicSearch(self._compiled, self._budget)
            fast._beam_near_least_latency()
            self._take_best_of(fast)

    def _beam_near_least_latency(self) -> None:
        """Find a mapping of little latency by a beam of least energy, below a limit of latency."""
        self._kind, bound = LATENCY, self.bound("latency")
        for slack in BEAM_SLACKS:
            self._pass(1, bound * (1 + slack) if bound > 0 else inf)
            if self._best is not None or self._limit == inf:
                return

    def _take_best_of(self, search: DynamicSearch) -> float:
        """Keep the best mapping of another search if it is better; return its value, or inf."""
        self.labels += search.labels
        self.passes += search.passes
        mapping = search._best
        if mapping is None:
            return inf
        value = self._value(mapping.energy, mapping.latency)
        second = mapping.latency if self._kind == ENERGY else mapping.energy
        if self._improves(value, second):
            self._best = replace(mapping, value=value, second=second)
        return value

    def _start_from_least_energy(self) -> bool:
        """Start from the mapping of least energy; tell whether it is already proven best.

        It is if its value of the objective equals the lower bound.
        """
        search = DynamicSearch(self._compiled, self._budget)
        search.solve("energy")
        value = self._take_best_of(search)
        return value <= self._lower_bound * (1 + TIE)

    def _deepen(self) -> None:
        """Raise the limit until a solution at or below it is proven best."""
        fields = self._engine.fields
        lower_bound = self._lower_bound
        for slack in DEEPENING:
            limit = lower_bound * (1 + slack) if lower_bound > 0 else inf
            limit = min(limit, self._best_value())
            self._pass(self._compared_fields(), limit)
            reached = min(limit, self._least_arrived, self._best_value())
            self._lower_bound = max(self._lower_bound, reached)
            if self._best_value() <= self._lower_bound * (1 + TIE):
                return
            if self._best_value() <= limit:  # only a slow memory is between the label and its class
                self._pass(fields.width, self._best_value())
            if self._best_value() <= limit or limit == inf:
                self._lower_bound = self._best_value()
                return

    def _compared_fields(self) -> int:
        """Return in how many leading fields a pass compares labels."""
        fields = self._engine.fields
        is_scalar = self._kind == ENERGY and self._metrics.steady_watts == 0 and not fields.gates
        return fields.n_energy_fields if is_scalar else fields.n_class_fields

    def _best_value(self) -> float:
        return inf if self._best is None else self._best.value

    def _break_ties(self) -> None:
        """Find, among mappings of equal value, one with the least second metric."""
        if self._best is None:
            return
        fields = self._engine.fields
        if self._kind == ENERGY:
            self._pass(fields.n_class_fields, self._best.value)
        elif self._kind == LATENCY:
            self._max_energy = self._best.energy
            self._pass(fields.width, self._best.value)

    def _pass(self, nd: int, limit: float) -> None:
        """Go through the tree once with labels that may come out at or below `limit`.

        `nd`: labels are compared by so many leading fields.
        """
        self.passes += 1
        self._limit = limit
        self._least_arrived = inf
        self._visit(self._tree.tree.root, self._engine.initial(), nd, [])

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
        """Apply the step of `child` to a table of labels, compared in their first `nd` fields.

        Raises OutOfBudget, also for too many labels.
        """
        self._budget.check(more_bytes=GROWTH * table.label.nbytes)
        bounds = StepBounds(*self._tree.bounds_of(child), self._pruning_limits())
        result = self._engine.apply(self._tree.step(child), table, nd, bounds)
        self.labels += result.label.shape[0]
        if nd > 1 and result.label.shape[0] > MAX_LABELS:
            raise OutOfBudget(EndReason.LABELS)
        return result

    def _pruning_limits(self) -> Floats:
        """Return the present limits as the array that the compiled steps take."""
        limits = self._kind, self._limit, self._max_energy
        if limits != self._limits_made:
            self._limits_made = limits
            self._limit_array = self._metrics.pruning_limits(
                self._kind, self._limit * (1 + TIE), self._max_energy * (1 + TIE)
            )
        return self._limit_array

    def _arrive(self, node: ProgramNode, path: list[LabelTable]) -> None:
        """Take the best of the complete labels at a node where programs end.

        `path`: the tables after each step from the start; the last one has these labels. Only
        labels whose lower bound is at or below the limit are scored, the lowest bound first.
        """
        table = path[-1]
        first = int(table.start[-2])
        labels = table.label[first:]
        lower_bounds = self._metrics.lower_bounds(labels, self._kind)
        for index in np.argsort(lower_bounds, kind="stable").tolist():
            if lower_bounds[index] > self._limit * (1 + TIE):
                break
            self._least_arrived = min(self._least_arrived, float(lower_bounds[index]))
            latency = self._metrics.latency(labels[index])
            energy = self._metrics.energy(labels[index], latency)
            value = self._value(energy, latency)
            second = latency if self._kind == ENERGY else energy
            if self._improves(value, second):
                program = node.programs[0]
                tiles = tiles_of_label(self._engine, program, path, first + index)
                self._best = BestLabel(energy, latency, value, second, program, tiles)
                self._limit = min(self._limit, value)

    def _value(self, energy: float, latency: float) -> float:
        if self._kind == ENERGY:
            return energy + self._metrics.price * latency
        return float(objective_value(self._kind, np.array(energy), np.array(latency)))

    def _improves(self, value: float, second: float) -> bool:
        if self._best is None:
            return value < inf
        if abs(value - self._best.value) <= TIE * abs(self._best.value):
            return second < self._best.second * (1 - TIE)
        return value < self._best.value


def tiles_of_label(
    engine: LabelEngine, program: TemplateProgram, path: list[LabelTable], label: int
) -> tuple[Tile, ...]:
    """Return the tile below each slot of the template from which a label came.

    A label is a row of a table: the costs of a partial mapping. `path`: the tables after each
    step, innermost first; `label`: row in the last one. The origins of rows lead back from table
    to table. A template is a mapping without its loops.
    """
    tile_below: dict[int, Tile] = {}
    for number in range(len(program.slots) - 1, -1, -1):
        origin = path[number + 1].origin
        label = int(origin[label, 0]) if len(origin) else label
        slot = program.slots[number]
        if slot is not None:
            state = int(np.searchsorted(path[number].start, label, side="right")) - 1
            tile_below[slot] = tuple(engine.lattice.tiles[state].tolist())
    tile = engine.lattice.bounds
    tiles: list[Tile] = []
    for index in range(len(program.slot_sequence)):
        tile = tile_below.get(index, tile)
        tiles.append(tile)
    return tuple(tiles)
