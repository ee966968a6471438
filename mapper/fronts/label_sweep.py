"""Pass all labels of a tree of programs that a target may be interested in.

The dynamic program of lattice.md §3 with the Pareto sets of labels. Twice: first labels count
as equal when they agree in energy, room and lanes, because the slowest component is mostly the
Compute or a memory whose every value must move; only if a label's bound then promises more than
what was found, once more with the calls of every slow component (fronts.md §2).
"""

from __future__ import annotations

import numpy as np

from tilewright.mapper.searches.budget import GROWTH, Budget, OutOfBudget
from tilewright.mapper.searches.exact.dynamic_program import MAX_LABELS, tiles_of_label
from tilewright.mapper.searches.exact.kernels import ENERGY, FRONT, LATENCY, Floats
from tilewright.mapper.searches.exact.label_tables import LabelTable, StepBounds
from tilewright.mapper.searches.objective.targets import SweepTarget, TracedMapping
from tilewright.mapper.searches.program.compiled_mapspace import CompiledMapspace
from tilewright.mapper.searches.program.program_tree import ProgramNode


class LabelSweep:
    """Sweeps one tree of programs; `rooms`: the fields of the memories that rows tell of."""

    def __init__(self, ready: CompiledMapspace, rooms: tuple[int, ...], budget: Budget) -> None:
        self._engine = ready.engine
        self._metrics = ready.metrics
        self._root = ready.root
        self._rooms = list(rooms)
        self._budget = budget
        self._most_energy = np.inf
        self.labels = 0

    @property
    def states(self) -> int:
        """Number of tile shapes."""
        return self._engine.lattice.size

    @property
    def lower_bound(self) -> tuple[float, ...]:
        """Return the row of one instance that no mapping is below; inf: there is none."""
        outlook, rooms = self._root.before, (0.0 for _ in self._rooms)
        if outlook is None:  # no program
            return (np.inf, np.inf, *rooms)
        start = self._engine.initial().label.copy()
        start[0, 0] += outlook.energy[0]
        start[0, self._engine.fields.lanes] *= max(float(outlook.lanes[0]), 1.0)
        bounds = (float(self._metrics.lower_bounds(start, kind)[0]) for kind in (ENERGY, LATENCY))
        return (*bounds, *rooms)

    def run(self, target: SweepTarget, most_energy: float = np.inf) -> None:
        """Offer to `target` all that it wants; OutOfBudget leaves it with what was found.

        `most_energy`: mappings above it need not be found (they may be).
        """
        self._most_energy = most_energy
        fields = self._engine.fields
        floors = self._pass(target, fields.n_class_fields)
        if fields.width > fields.n_class_fields and target.hopeful(floors).any():
            self._pass(target, fields.width)

    def _pass(self, target: SweepTarget, nd: int) -> Floats:
        """Return the bounds of the labels that were of interest when they arrived."""
        floors: list[Floats] = [np.zeros((0, 2 + len(self._rooms)))]
        self._visit(self._root, (target, nd, floors), [self._engine.initial()])
        return np.concatenate(floors)

    def _visit(
        self, node: ProgramNode, how: tuple[SweepTarget, int, list[Floats]], path: list[LabelTable]
    ) -> None:
        target, nd, floors = how
        if node.programs and path[-1].label.shape[0]:
            floors.append(self._arrive(node, target, path))
        for child in node.children.values():
            following = self._step(child, target, path[-1], nd)
            if following.label.shape[0]:
                self._visit(child, how, [*path, following])

    def _step(
        self, child: ProgramNode, target: SweepTarget, table: LabelTable, nd: int
    ) -> LabelTable:
        self._budget.check(more_bytes=GROWTH * table.label.nbytes)
        assert child.step is not None
        assert child.before is not None
        assert child.after is not None
        bounds = StepBounds(child.before, child.after, self._bound(target.corners()))
        result = self._engine.apply(child.step, table, nd, bounds)
        self.labels += result.label.shape[0]
        if result.label.shape[0] > MAX_LABELS:
            raise OutOfBudget
        return result

    def _bound(self, corners: Floats) -> Floats:
        ordered = corners[np.argsort(corners[:, 0], kind="stable")] if corners.size else corners
        head = self._metrics.pruning_limits(FRONT, np.inf, self._most_energy)
        sizes = [float(len(ordered)), float(len(self._rooms)), *map(float, self._rooms)]
        return np.concatenate([head, sizes, ordered.ravel()])

    def _arrive(self, node: ProgramNode, target: SweepTarget, path: list[LabelTable]) -> Floats:
        first = int(path[-1].start[-2])
        labels = path[-1].label[first:]
        bounds = [self._metrics.lower_bounds(labels, kind) for kind in (ENERGY, LATENCY)]
        floors = np.column_stack([*bounds, labels[:, self._rooms]])
        places = np.flatnonzero(target.hopeful(floors))
        if not len(places):
            return floors[:0]
        rows = self._rows(labels[places])
        wanted = target.wanted(rows)
        tiles = [
            tiles_of_label(self._engine, node.programs[0], path, first + int(places[i]))
            for i in wanted
        ]
        pairs = zip(wanted, tiles, strict=True)
        target.offer(
            [TracedMapping(tuple(rows[i].tolist()), node.programs[0], t) for i, t in pairs]
        )
        return np.asarray(floors[places])

    def _rows(self, labels: Floats) -> Floats:
        """Return the exact (energy, latency, room …) of complete labels."""
        latency = self._metrics.all_latencies(labels)
        energy = self._metrics.all_energies(labels, latency)
        return np.column_stack([energy, latency, labels[:, self._rooms]])
