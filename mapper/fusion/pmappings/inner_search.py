"""The dynamic program below the shared loops: everything under the lowest tensor on chip.

It is the program of lattice.md §3 without its upper part, so one tree of operations serves all
layouts that agree below. Room in the second memory is summed and kept in the label, because what
other Einsums leave there is only known when they are joined.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.fusion.pmappings.inner_programs import InnerProgram
from tilewright.mapper.fusion.pmappings.shared_spatial import lane_stride
from tilewright.mapper.searches.budget import GROWTH, Budget
from tilewright.mapper.searches.exact.kernels import ENERGY, LATENCY, Floats
from tilewright.mapper.searches.exact.label_metrics import LabelMetrics
from tilewright.mapper.searches.exact.label_tables import (
    LabelEngine,
    LabelTable,
    RemainingCost,
    StepBounds,
    least_remaining,
)
from tilewright.mapper.searches.exact.latency_bound import FieldAmount, remaining_at_arrival
from tilewright.mapper.searches.program.charge_sites import CostTerm
from tilewright.mapper.searches.program.program_tree import ProgramNode, program_tree

TREE_BYTES = 400_000_000  # of the outlooks of one tree; of larger ones a branch at a time is kept
BRANCH_BYTES = 100_000_000


@dataclass(frozen=True, slots=True)
class RegionRules:
    """What decides about loops above tensors on chip (see Boundaries), and the room there is in the
    memories that they are exchanged in.

    `timed`: latency counts; `fused`: loops may stand there at all, `repeats` of a variable at most;
    `used`: memories whose usage counts (Usage.of_points); `alone`: tensors that no other Einsum
    uses, and that do not persist.
    """

    shareable: Mapping[str, frozenset[str]]
    contested: frozenset[str]
    tracked_tiles: frozenset[str]
    varied_windows: frozenset[str]
    shares_tiles: bool
    memories: tuple[str, ...]
    capacities: tuple[float, ...]
    counts_latency: bool
    fused: bool
    loops_per_variable: int = 1
    usage_memories: tuple[str, ...] = ()
    private: frozenset[str] = frozenset()


_NO_LABELS = np.zeros((0, 0))
NO_PACES = np.zeros((0, 3))


@dataclass(frozen=True, slots=True)
class SolvedProgram:
    """The `labels` of one part, and the tables that lead to them (innermost first): of these only
    where labels begin and come from."""

    inner_program: InnerProgram
    labels: Floats
    tables: tuple[LabelTable, ...]


class InnerSearch:
    """Runs the programs of many parts, sharing what they have in common. Before anything is asked
    of it, it looks ahead."""

    def __init__(
        self,
        engine: LabelEngine,
        parts: Sequence[InnerProgram],
        rules: RegionRules,
        paces: Floats = NO_PACES,
    ) -> None:
        self._engine = engine
        self._rules = rules
        self._paces = paces
        self._n_deciding = 0
        self._budget = Budget()
        self._bound = np.zeros(0)
        self.inner_programs = tuple(parts)
        self._by_program = {id(part.program): part for part in parts}
        self._solved: list[SolvedProgram] = []
        self._live_labels = 0
        self._root = program_tree(part.program for part in parts)
        self._branch = self._root.size
        rows = 2 + len(paces)
        each = rows * 8 * engine.lattice.size  # bytes of the outlook that a node has of its own
        if self._root.size * each > TREE_BYTES:
            self._branch = BRANCH_BYTES // each
        self.nbytes = (self._branch + _kept_outlooks(self._root, self._branch)) * each
        """Bytes of the outlooks that are kept at a time."""
        self.labels = 0

    @property
    def bounds_latency(self) -> bool:
        """Tell whether it can prune by latency."""
        return self._paces is not NO_PACES

    def look_ahead(self, check: Callable[[], None]) -> None:
        """Fill in the bounds: this takes the memory."""
        self._look_ahead(self._root, check)

    def solve(self, bound: Floats, budget: Budget, nd: int) -> list[SolvedProgram]:
        """Return the labels of every part that can lead below `bound` (see kernels.py).

        `nd`: leading fields that decide between labels.
        """
        self._n_deciding = nd
        self._bound, self._budget = bound, budget
        self._solved, self._live_labels = [], 0
        self._visit(self._root, self._engine.initial(), ())
        solved, self._solved = self._solved, []
        return solved

    def start_bounds(self, metrics: LabelMetrics) -> tuple[float, float]:
        """Return a lower bound of the energy and of the latency of one instance."""
        before = self._root.before
        assert before is not None
        label = self._engine.initial().label.copy()
        label[0, 0] += before.energy[0]
        label[0, self._engine.fields.lanes] *= max(float(before.lanes[0]), 1.0)
        energy, latency = (
            float(metrics.lower_bounds(label, kind)[0]) for kind in (ENERGY, LATENCY)
        )
        return energy, max(latency, before.latency.least_latency())

    def _look_ahead(self, node: ProgramNode, check: Callable[[], None]) -> RemainingCost:
        """Fill in where labels can still arrive: only fused loops stand above."""
        check()
        views = [self._look_ahead(child, check) for child in node.children.values()]
        views += [self._outlook_of_region(self._by_program[id(end)]) for end in node.programs]
        node.after = least_remaining(views) if views else self._empty_outlook()
        node.before = (
            node.after
            if node.step is None
            else self._engine.remaining_before(node.step, node.after)
        )
        if node.size > self._branch:
            for child in node.children.values():
                self._forget(child)
        return node.before

    def _forget(self, node: ProgramNode) -> None:
        """Drop the outlooks below the foot of a branch: they are made again when it is visited."""
        if node.size > self._branch:
            return
        below = list(node.children.values())
        for one in below:
            one.before = one.after = None
            below += one.children.values()

    def _empty_outlook(self) -> RemainingCost:
        """Return the outlook without any part: no label arrives."""
        size = self._engine.lattice.size
        nowhere = np.zeros(size, np.bool_)
        return RemainingCost(
            np.full(size, inf), np.zeros(size), remaining_at_arrival(self._paces, nowhere, ())
        )

    def _outlook_of_region(self, part: InnerProgram) -> RemainingCost:
        """Return where labels may arrive, and the least that the region above costs them."""
        lattice = self._engine.lattice
        whole = lattice.tiles == np.array(lattice.bounds)
        free = {v for v, _ in part.loop_gaps}
        fixed = [v for v in range(len(lattice.bounds)) if v not in free]
        arrived = whole[:, fixed].all(axis=1) & self._fits(part)
        priced = zip(part.template.region, part.holder_charges, strict=True)
        adds = [add for holder, some in priced if not holder.backing for add in some]
        adds += [add for some in part.network_charges.values() for add in some]
        dues = [FieldAmount(add.field, self._least_charge(add)) for add in adds]
        rest = sum(due for field, due in dues if field == 0)
        slow = remaining_at_arrival(self._paces, arrived, dues)
        return RemainingCost(np.where(arrived, rest, inf), np.where(arrived, 1.0, 0.0), slow)

    def _fits(self, part: InnerProgram) -> NDArray[np.bool_]:
        """Tell where the tensors on chip fit, no larger than below all fused loops."""
        fits = np.ones(self._engine.lattice.size, np.bool_)
        lattice, region = self._engine.lattice, part.template.region
        for memory, size in zip(self._rules.memories, self._rules.capacities, strict=True):
            total = np.zeros(lattice.size)
            for number, holder in enumerate(region) if size < inf else ():
                if holder.backing and holder.component == memory:
                    bits = tile_bits(self._engine, holder.tensor, memory)
                    total += np.roll(bits, lane_stride(lattice, part.spatial_loops_above(number)))
            fits &= total <= size
        return fits

    def _least_charge(self, add: CostTerm) -> float:
        counts = self._engine.count(add.tensor, add.kind, add.lanes)
        return add.factor * float(counts.min() if add.factor > 0 else counts.max())

    def _visit(self, node: ProgramNode, table: LabelTable, path: tuple[LabelTable, ...]) -> None:
        path = (*path, replace(table, label=_NO_LABELS))
        self._solved += [
            SolvedProgram(self._by_program[id(end)], table.label, path) for end in node.programs
        ]
        forgotten = [child for child in node.children.values() if child.before is None]
        for child in forgotten:
            self._look_ahead(child, self._budget.check)
        for child in node.children.values():
            assert child.step is not None
            assert child.before is not None
            assert child.after is not None
            bounds = StepBounds(child.before, child.after, self._bound)
            self._budget.check(more_bytes=GROWTH * table.label.nbytes)
            following = self._engine.apply(child.step, table, self._n_deciding, bounds)
            self.labels += following.label.shape[0]
            self._live_labels += following.label.shape[0]
            self._budget.check(self._live_labels)
            if following.label.shape[0]:
                self._visit(child, following, path)
        if forgotten:
            self._forget(node)


def _kept_outlooks(node: ProgramNode, branch: int) -> int:
    """Return how many nodes of a tree are the foot of a branch of so many nodes, or above it."""
    if node.size <= branch:
        return 1
    return 1 + sum(_kept_outlooks(child, branch) for child in node.children.values())


def tile_bits(engine: LabelEngine, tensor: str, memory: str) -> Floats:
    """Return the bits of `tensor` in `memory` per tile."""
    problem = engine.problem
    access = problem.einsum.access(tensor)
    width = float(problem.holder(memory).bits_per_value.get(tensor, access.bits_per_value))
    return engine.lattice.occupancy(access) * width
