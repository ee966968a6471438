"""Search everything below the lowest tensor on chip by a dynamic program over tile shapes.

It is the program of theory/lattice.md §3 without its upper part, so that one tree of operations
serves all fused templates that agree below. The reservation in the second memory is summed and kept
in the label, because what other Einsums leave there is only known when they are joined.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.fusion.pmappings.inner_programs import InnerProgram
from tilewright.mapper.fusion.pmappings.region.region_rules import RegionRules, tile_bits
from tilewright.mapper.fusion.pmappings.shared.shared_spatial import lane_stride
from tilewright.mapper.searches.budget import GROWTH, Budget
from tilewright.mapper.searches.exact.kernels import ENERGY, LATENCY, Floats, Ints, LabelTable
from tilewright.mapper.searches.exact.label_metrics import LabelMetrics
from tilewright.mapper.searches.exact.label_tables import LabelEngine
from tilewright.mapper.searches.exact.remaining.remaining_cost import RemainingCost, StepBounds
from tilewright.mapper.searches.exact.remaining.remaining_latency import (
    FieldAmount,
    remaining_at_arrival,
)
from tilewright.mapper.searches.program.charge_sites import CostTerm
from tilewright.mapper.searches.program.program_steps import ProgramStep, TemplateProgram
from tilewright.mapper.searches.program.program_tree import (
    ROOT,
    NodeBounds,
    ProgramNode,
    ProgramTree,
    bounds_of_node,
    program_tree,
)
from tilewright.mapper.templates.spatial_choices import Lanes

TREE_BYTES = 800_000_000  # of lower bounds; of larger trees one branch at a time is kept
BRANCH_BYTES = 100_000_000
LANES_ROWS = 0.25  # most nodes share their bounds of lanes


_NO_LABELS = np.zeros((0, 0))
NO_LATENCY_TERMS = np.zeros((0, 3))


@dataclass(frozen=True, slots=True)
class SolvedProgram:
    """Hold the result of one search below the lowest tensor exchanged on chip.

    `inner_program`: the search. Its labels are partial mappings that no other one beats in all that
    counts. `labels`: energy, calls of actions, lanes, bits in use of each, shape (labels, fields).
    `tables`: the labels at each operation on the way, from the innermost one, to trace them back;
    they keep only where labels begin per tile shape and which label each comes from.
    """

    inner_program: InnerProgram
    labels: Floats
    tables: tuple[LabelTable, ...]

    @property
    def states(self) -> Ints:
        """Tile shape of each label (partial mapping) as number in the lattice; shape (labels,)."""
        start = self.tables[-1].start
        return np.repeat(np.arange(len(start) - 1), np.diff(start))


@dataclass(frozen=True, slots=True)
class InnerTree:
    """The programs below the lowest tensor on chip in one tree of steps.

    `tree`: whose steps may have their costs by name; `steps`: the same ones as they are to be run,
    by number. `inner_programs`: the programs, with what the region above costs.
    """

    tree: ProgramTree
    steps: tuple[ProgramStep, ...]
    inner_programs: tuple[InnerProgram, ...]


def inner_tree(inner_programs: Iterable[InnerProgram]) -> InnerTree:
    """Put the programs below the lowest tensor on chip into one tree of steps."""
    programs = tuple(inner_programs)
    by_program = {id(inner.program): inner for inner in programs}

    def end_key(ends: Sequence[TemplateProgram]) -> Hashable:
        """Return a key of the programs ending at a node, equal where remaining costs are equal."""
        return tuple(map(_end_key, (by_program[id(program)] for program in ends)))

    tree = program_tree((inner.program for inner in programs), end_key)
    return InnerTree(tree, tree.steps, programs)


def _end_key(inner: InnerProgram) -> Hashable:
    return _free_variables(inner), _fitting_key(inner), tuple(_region_charges(inner))


class InnerSearch:
    """Run the searches below the lowest tensor on chip for one Einsum and one set of such tensors.

    Operations that several programs begin with are run once (a tree of operations). `engine`: the
    lattice of tile shapes and the fields of a label. `inner`: the programs to run. `rules`: what
    decides in the region above. `latency_terms`: terms of a lower bound of latency, shape (terms,
    3); without them labels are not pruned by latency. `known`: a search of the same programs that
    lacks them, whose other bounds are taken over. `nbytes`: bytes of lower bounds kept at a
    time. `labels`: number of labels made so far. `look_ahead` must be called first.
    """

    def __init__(
        self,
        engine: LabelEngine,
        inner: InnerTree,
        rules: RegionRules,
        latency_terms: Floats = NO_LATENCY_TERMS,
        known: InnerSearch | None = None,
    ) -> None:
        self._engine = engine
        self._rules = rules
        self._latency_terms = latency_terms
        self._n_deciding = 0
        self._budget = Budget()
        self._bound = np.zeros(0)
        self._by_program = {id(each.program): each for each in inner.inner_programs}
        self._solved: list[SolvedProgram] = []
        self._live_labels = 0
        self._whole: dict[frozenset[int], NDArray[np.bool_]] = {}
        self._fitting: dict[Hashable, NDArray[np.bool_]] = {}
        self._count_ranges: dict[tuple[str, str, Lanes], tuple[float, float]] = {}
        self.inner = inner
        self._root = inner.tree.root
        self._bounds: dict[int, NodeBounds] = {}  # by continuation
        self._known: Mapping[int, NodeBounds] = {} if known is None else dict(known._bounds)
        self._branch = self._root.size
        bound_rows = 1 + LANES_ROWS + len(latency_terms)
        bound_bytes = int(bound_rows * 8 * engine.lattice.size)  # of each continuation
        n_kept = len(inner.tree.continuations)
        if n_kept * bound_bytes > TREE_BYTES:
            self._branch = BRANCH_BYTES // bound_bytes
            n_kept = self._branch + _n_kept_bounds(self._root, self._branch)
        self.nbytes = n_kept * bound_bytes
        """Bytes of the lower bounds that are kept at a time."""
        self.labels = 0

    @property
    def bounds_latency(self) -> bool:
        """Whether partial mappings are pruned by lower bounds of latency, not of energy only."""
        return self._latency_terms is not NO_LATENCY_TERMS

    @property
    def has_bounds(self) -> bool:
        """Whether `look_ahead` has run and its bounds were not dropped."""
        return bool(self._bounds)

    def drop_bounds(self) -> None:
        """Drop the lower bounds, to free their memory; `look_ahead` computes them again."""
        self._bounds.clear()
        self._engine.forget_steps()

    def look_ahead(self, check: Callable[[], None]) -> None:
        """Compute, for each operation and tile shape, a lower bound of the cost still to come.

        Operations are the steps of the searches below the lowest tensor exchanged on chip. `check`:
        called now and then; it may raise OutOfBudget. Must run once before the other methods
        (theory/lattice.md §6.1).
        """
        self._look_ahead(self._root, check)
        self._known = {}

    def solve(self, bound: Floats, budget: Budget, n_deciding: int) -> list[SolvedProgram]:
        """Return the labels of every program that may lead to a mapping within the bound.

        `bound`: limits of energy in joule and latency in second of one instance of the Einsum, with
        parameters of the pruning test, as `LabelMetrics.pruning_limits` makes them. `n_deciding`:
        number of leading fields in which a label must be no worse than another to replace it.
        Raises OutOfBudget (theory/lattice.md §3).
        """
        self._n_deciding = n_deciding
        self._bound, self._budget = bound, budget
        self._solved, self._live_labels = [], 0
        self._visit(self._root, self._engine.initial(), ())
        solved, self._solved = self._solved, []
        return solved

    def start_bounds(self, metrics: LabelMetrics) -> tuple[float, float]:
        """Return lower bounds of the energy and of the latency of any mapping found here.

        Joule and second, of one instance of the Einsum; inf if no mapping fits. `metrics`: turn
        labels into energy and latency (theory/lattice.md §6.1).
        """
        remaining = self._bounds[self._root.continuation].before
        label = self._engine.initial().label.copy()
        label[0, 0] += remaining.energy[0]
        label[0, self._engine.fields.lanes] *= max(float(remaining.lanes[0]), 1.0)
        energy, latency = (
            float(metrics.lower_bounds(label, kind)[0]) for kind in (ENERGY, LATENCY)
        )
        return energy, max(latency, remaining.latency.least_latency())

    def _look_ahead(self, node: ProgramNode, check: Callable[[], None]) -> RemainingCost:
        """Compute the remaining costs at a node and below it; return those before the node's step.

        Remaining costs end where labels can arrive: where only fused loops stand above. `check`:
        may raise OutOfBudget.
        """
        if node.continuation in self._bounds:
            return self._bounds[node.continuation].before
        check()
        views = [self._look_ahead(child, check) for child in node.children.values()]
        views += [
            self._remaining_cost_of_region(self._by_program[id(program)])
            for program in node.programs
        ]
        step = None if node.step == ROOT else self.inner.steps[node.step]
        known = self._known.get(node.continuation)
        bounds = bounds_of_node(self._engine, step, views or [self._no_remaining_cost()], known)
        self._bounds[node.continuation] = bounds
        if node.size > self._branch:
            for child in node.children.values():
                self._forget(child)
        return bounds.before

    def _forget(self, node: ProgramNode) -> None:
        """Drop the lower bounds below a node that is the foot of a small branch, to free memory.

        A later visit computes them again.
        """
        if node.size > self._branch:
            return
        descendants = list(node.children.values())
        for descendant in descendants:
            self._bounds.pop(descendant.continuation, None)
            descendants += descendant.children.values()

    def _no_remaining_cost(self) -> RemainingCost:
        """Return a remaining cost of inf for all states: no label may pass."""
        size = self._engine.lattice.size
        nowhere = np.zeros(size, np.bool_)
        return RemainingCost(
            np.full(size, inf),
            np.zeros(size),
            remaining_at_arrival(self._latency_terms, nowhere, ()),
        )

    def _remaining_cost_of_region(self, inner: InnerProgram) -> RemainingCost:
        """Return, per state, the least that the region above a program still costs.

        inf for states from which no pmapping can be made.
        """
        arrived = self._arrived(_free_variables(inner)) & self._fits(inner)
        charges = [
            FieldAmount(term.field, self._least_charge(term)) for term in _region_charges(inner)
        ]
        region_energy = sum(amount for field, amount in charges if field == 0)
        latency = remaining_at_arrival(self._latency_terms, arrived, charges)
        return RemainingCost(
            np.where(arrived, region_energy, inf), np.where(arrived, 1.0, 0.0), latency
        )

    def _arrived(self, free: frozenset[int]) -> NDArray[np.bool_]:
        """Mark the states whole in all variables except `free`, which fused loops may cut.

        Shape (states,).
        """
        if free not in self._whole:
            lattice = self._engine.lattice
            fixed = [v for v in range(len(lattice.bounds)) if v not in free]
            is_whole = lattice.tiles[:, fixed] == np.array(lattice.bounds)[fixed]
            self._whole[free] = is_whole.all(axis=1)
        return self._whole[free]

    def _fits(self, inner: InnerProgram) -> NDArray[np.bool_]:
        """Mark the states with which the exchanged tensors on chip fit their memories; (states,).

        Their tiles are taken as below all fused loops, where they are smallest.
        """
        lattice, region = self._engine.lattice, inner.template.region
        key = _fitting_key(inner)
        if key in self._fitting:
            return self._fitting[key]
        fits = np.ones(lattice.size, np.bool_)
        for memory, capacity in zip(self._rules.memories, self._rules.capacities, strict=True):
            total = np.zeros(lattice.size)
            for place, holder in enumerate(region) if capacity < inf else ():
                if holder.backing and holder.component == memory:
                    bits = tile_bits(self._engine, holder.tensor, memory)
                    total += np.roll(bits, lane_stride(lattice, inner.spatial_loops_above(place)))
            fits &= total <= capacity
        self._fitting[key] = fits
        return fits

    def _least_charge(self, term: CostTerm) -> float:
        key = term.tensor, term.kind, term.lanes
        if key not in self._count_ranges:
            counts = self._engine.arrays.count(*key)
            self._count_ranges[key] = float(counts.min()), float(counts.max())
        least, greatest = self._count_ranges[key]
        return term.factor * (least if term.factor > 0 else greatest)

    def _visit(self, node: ProgramNode, table: LabelTable, tables: tuple[LabelTable, ...]) -> None:
        """Collect the labels of the programs that end at `node`, then visit its children.

        `table`: the labels at the node. `tables`: those of all nodes before it.
        """
        tables = (*tables, table._replace(label=_NO_LABELS))
        for program in node.programs:
            self._solved.append(SolvedProgram(self._by_program[id(program)], table.label, tables))
        forgotten = [c for c in node.children.values() if c.continuation not in self._bounds]
        for child in forgotten:
            self._look_ahead(child, self._budget.check)
        for child in node.children.values():
            following = self._step(child, table)
            if following.label.shape[0]:
                self._visit(child, following, tables)
        for child in (*forgotten, node) if forgotten else ():
            self._forget(child)

    def _step(self, child: ProgramNode, table: LabelTable) -> LabelTable:
        """Apply the step of `child` to the labels of its parent.

        Return the labels above the step.
        """
        bounds = StepBounds(*self._bounds[child.continuation], self._bound)
        self._budget.check(more_bytes=GROWTH * table.label.nbytes)
        following = self._engine.apply(
            self.inner.steps[child.step], table, self._n_deciding, bounds
        )
        count = following.label.shape[0]
        self.labels += count
        self._live_labels += count
        self._budget.check(self._live_labels)
        return following


def _free_variables(inner: InnerProgram) -> frozenset[int]:
    """Return the numbers of the variables that fused loops may run over."""
    return frozenset(variable for variable, _ in inner.loop_gaps)


def _fitting_key(inner: InnerProgram) -> Hashable:
    """Return a key, equal for programs whose tensors on chip fit for the same tile shapes."""
    region = enumerate(inner.template.region)
    return tuple((h, inner.spatial_loops_above(i)) for i, h in region if h.backing)


def _region_charges(inner: InnerProgram) -> Iterator[CostTerm]:
    """Yield the charges in the region: of its non-backing holders, and over Networks."""
    for holder, terms in zip(inner.template.region, inner.holder_charges, strict=True):
        if not holder.backing:
            yield from terms
    for terms in inner.network_charges.values():
        yield from terms


def _n_kept_bounds(node: ProgramNode, branch: int) -> int:
    """Return how many nodes of a tree of programs keep bounds.

    Those with more than `branch` nodes in their subtree, and the children of these.
    """
    if node.size <= branch:
        return 1
    return 1 + sum(_n_kept_bounds(child, branch) for child in node.children.values())
