"""Sweep one mapspace by the dynamic program: offer a target every label that may interest it.

The dynamic program of theory/lattice.md §3 runs with the Pareto sets of labels, at most twice. In
the first pass labels count as equal when they agree in energy, used bits and lanes: the slowest
component is mostly the Compute, or a memory whose every value must move. The second pass compares
the calls of every slow component, too. It is made only for the programs at whose end the lower
bound of a label promises more than the mappings so far (theory/fronts.md §2).
"""

from __future__ import annotations

from itertools import chain
from typing import NamedTuple

import numpy as np

from tilewright.mapper.searches.budget import GROWTH, Budget, EndReason, OutOfBudget
from tilewright.mapper.searches.exact.dynamic_program import MAX_LABELS, tiles_of_label
from tilewright.mapper.searches.exact.kernels import ENERGY, FRONT, LATENCY, Floats, LabelTable
from tilewright.mapper.searches.exact.remaining.remaining_cost import RemainingCost, StepBounds
from tilewright.mapper.searches.objective.targets import SweepTarget, TracedMapping
from tilewright.mapper.searches.program.compiled_mapspace import CompiledMapspace
from tilewright.mapper.searches.program.program_steps import ChargeStep, ProgramStep, ReserveStep
from tilewright.mapper.searches.program.program_tree import ProgramNode

_SAME_ROWS = np.zeros((0, 2), np.int64)  # the origin of labels whose rows stay


class _Arrival(NamedTuple):
    """Lower bounds of the labels that were of interest when they arrived at a node.

    `path`: ids of the nodes down to it. `bounds`: shape (labels, 2 + used memories …).
    """

    path: tuple[int, ...]
    bounds: Floats


class _StepChain(NamedTuple):
    """Nodes one after the other whose steps are carried out at once: they add costs alone.

    Or one node. `before`, `after`: lower bounds below the first and above the last step.
    """

    nodes: tuple[ProgramNode, ...]
    steps: tuple[ProgramStep, ...]
    before: RemainingCost
    after: RemainingCost


class _SweepPass(NamedTuple):
    """One pass of a sweep over labels.

    `target`: what is looked for. `n_deciding`: how many leading fields decide between labels.
    `arrivals`: filled in. `nodes`: ids of the nodes to go to; None: to all.
    """

    target: SweepTarget
    n_deciding: int
    arrivals: list[_Arrival]
    nodes: frozenset[int] | None = None


class LabelSweep:
    """Pass all labels of one mapspace that may lead to a mapping a target wants.

    A label is a partial mapping: the tiles below some slot, with costs. `compiled`: the mapspace as
    a tree of operations on labels. `used_bits`: numbers of the label fields with the bits in use of
    the counted memories. `budget`: limits. `labels`: number of labels made so far; `templates`: of
    mappings without their loops gone through.
    """

    def __init__(
        self, compiled: CompiledMapspace, used_bits: tuple[int, ...], budget: Budget
    ) -> None:
        self._engine = compiled.engine
        self._metrics = compiled.metrics
        self._tree = compiled.tree
        self._start = compiled.initial()
        self._priced = [columns[0] for columns in compiled.engine.fields.priced]
        self._used_bits = list(used_bits)
        self._budget = budget
        self._most_energy = np.inf
        self._order: dict[int, list[ProgramNode]] = {}  # by the node's id
        self._chains: dict[int, _StepChain] = {}  # by the id of the first node
        self._latest: tuple[Floats, float, Floats] | None = None
        self.labels = 0
        self.templates = compiled.n_templates

    @property
    def states(self) -> int:
        """Number of tile shapes looked at: the vectors of divisors of the bounds."""
        return self._engine.lattice.size

    @property
    def lower_bound(self) -> tuple[float, ...]:
        """Lower bounds (joule, second, bits of each counted memory) of every mapping.

        Of one instance of the Einsum; inf for energy and latency if there is no mapping. Bits are
        0.
        """
        remaining, usage = self._tree.at_start, (0.0 for _ in self._used_bits)
        if remaining is None:  # no program
            return (np.inf, np.inf, *usage)
        start = self._start.label.copy()
        start[0, 0] += remaining.energy[0]
        start[0, self._engine.fields.lanes] *= max(float(remaining.lanes[0]), 1.0)
        bounds = (float(self._metrics.lower_bounds(start, kind)[0]) for kind in (ENERGY, LATENCY))
        return (*bounds, *usage)

    def run(self, target: SweepTarget, most_energy: float = np.inf) -> None:
        """Sweep the mapspace, and offer the target every mapping that it wants.

        `target`: says what is of interest, and takes mappings. `most_energy`: joule of one
        instance; mappings above it need not be found, but may be. Raises OutOfBudget; the target
        keeps what was offered.
        """
        self._most_energy = most_energy
        fields, root = self._engine.fields, self._tree.tree.root
        first = _SweepPass(target, fields.n_class_fields, [])
        self._visit([root], first, [self._start])
        if fields.width > fields.n_class_fields:
            promising = (a.path for a in first.arrivals if target.hopeful(a.bounds).any())
            nodes = frozenset(chain.from_iterable(promising))
            if nodes:
                self._visit([root], _SweepPass(target, fields.width, [], nodes), [self._start])

    def _visit(self, nodes: list[ProgramNode], sweep: _SweepPass, path: list[LabelTable]) -> None:
        """Offer the complete labels at the last of `nodes` to the target, then visit its children.

        `nodes`: those down to it; `path`: their tables of labels.
        """
        node = nodes[-1]
        if node.programs and path[-1].label.shape[0]:
            bounds = self._arrive(node, sweep.target, path)
            sweep.arrivals.append(_Arrival(tuple(map(id, nodes)), bounds))
        for child in self._children(node):
            if sweep.nodes is None or id(child) in sweep.nodes:
                chain = self._chain(child)
                following = self._step(chain, sweep, path[-1])
                if following.label.shape[0]:
                    tables = [*path, following]
                    if len(chain.nodes) > 1:
                        same = following._replace(origin=_SAME_ROWS)
                        tables += [same] * (len(chain.nodes) - 1)
                    self._visit([*nodes, *chain.nodes], sweep, tables)

    def _chain(self, node: ProgramNode) -> _StepChain:
        """Return a node and those after it whose steps are carried out with its step at once."""
        chain = self._chains.get(id(node))
        if chain is None:
            chain = self._chains[id(node)] = self._new_chain(node)
        return chain

    def _new_chain(self, node: ProgramNode) -> _StepChain:
        nodes, steps = [node], [self._tree.step(node)]
        while not nodes[-1].programs and len(nodes[-1].children) == 1:
            (following,) = nodes[-1].children.values()
            step = self._tree.step(following)
            if not all(isinstance(each, ChargeStep | ReserveStep) for each in (steps[-1], step)):
                break
            nodes.append(following)
            steps.append(step)
        before, after = (self._tree.bounds_of(each) for each in (node, nodes[-1]))
        return _StepChain(tuple(nodes), tuple(steps), before.before, after.after)

    def _children(self, node: ProgramNode) -> list[ProgramNode]:
        """Return the nodes that follow; for a family of designs those of the least bound first.

        Good mappings found early drop labels. Which of several equal mappings is kept depends on
        the order.
        """
        if not self._priced:
            return list(node.children.values())
        if id(node) not in self._order:
            bounds = self._tree.bounds_of
            children = sorted(
                node.children.values(), key=lambda child: bounds(child).before.energy.min()
            )
            self._order[id(node)] = children
        return self._order[id(node)]

    def _step(self, chain: _StepChain, sweep: _SweepPass, table: LabelTable) -> LabelTable:
        """Return the labels above the steps of a chain that the target may want; OutOfBudget."""
        self._budget.check(more_bytes=GROWTH * table.label.nbytes)
        limits = self._bound(sweep.target.corners())
        bounds = StepBounds(chain.before, chain.after, limits, self._budget.work)
        if len(chain.steps) > 1:
            result = self._engine.charged(chain.steps, table, sweep.n_deciding, bounds)
        else:
            result = self._engine.apply(chain.steps[0], table, sweep.n_deciding, bounds)
        self.labels += result.label.shape[0]
        if result.label.shape[0] > MAX_LABELS:
            raise OutOfBudget(EndReason.LABELS)
        return result

    def _bound(self, corners: Floats) -> Floats:
        """Return the target's corners as the array that compiled steps take (see kernels.py).

        Kept until there are other corners.
        """
        known = self._latest
        if known is None or known[0] is not corners or known[1] != self._most_energy:
            self._latest = known = corners, self._most_energy, self._limits(corners)
        return known[2]

    def _limits(self, corners: Floats) -> Floats:
        ordered = corners[np.argsort(corners[:, 0], kind="stable")] if corners.size else corners
        used_bits, deferred = self._used_bits, self._engine.fields.deferred_energy
        counts = len(ordered), len(used_bits), deferred.start
        columns = [*map(float, (*counts, *used_bits, *self._priced))]
        head = self._metrics.pruning_limits(FRONT, np.inf, self._most_energy)
        return np.concatenate([head, columns, ordered.ravel()])

    def _arrive(self, node: ProgramNode, target: SweepTarget, path: list[LabelTable]) -> Floats:
        first = int(path[-1].start[-2])
        labels = path[-1].label[first:]
        costs = [self._metrics.lower_bounds(labels, kind) for kind in (ENERGY, LATENCY)]
        bounds = self._with_counts(labels, *costs)
        hopeful = np.flatnonzero(target.hopeful(bounds))
        if not len(hopeful):
            return bounds[:0]
        rows = self._rows(labels[hopeful])
        numbers = target.wanted(rows)
        tiles = [
            tiles_of_label(self._engine, node.programs[0], path, first + int(hopeful[i]))
            for i in numbers
        ]
        pairs = zip(numbers, tiles, strict=True)
        if numbers:
            target.offer(
                [TracedMapping(tuple(rows[i].tolist()), node.programs[0], t) for i, t in pairs]
            )
        return np.asarray(bounds[hopeful])

    def _rows(self, labels: Floats) -> Floats:
        """Return rows (energy, latency, used bits …, further energies) of complete labels."""
        latency = self._metrics.all_latencies(labels)
        energy = self._metrics.all_energies(labels, latency)
        return self._with_counts(labels, energy, latency)

    def _with_counts(self, labels: Floats, energy: Floats, latency: Floats) -> Floats:
        """Return rows of this energy and latency, used bits, and energies at further prices."""
        leakage = (energy - labels[:, 0])[:, np.newaxis]
        energies = labels[:, self._priced] + leakage
        return np.column_stack([energy, latency, labels[:, self._used_bits], energies])
