"""The programs of all templates in one tree, shared from the Compute up (lattice.md §1.2).

Programs with the same first steps share these steps and their labels. What may still be added above
a node depends on the steps from there on alone: nodes with the same continuation share the bounds
of the cost still to come.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from tilewright.mapper.searches.budget import UNLIMITED, Budget
from tilewright.mapper.searches.exact.kernels import Floats
from tilewright.mapper.searches.exact.label_tables import LabelEngine
from tilewright.mapper.searches.exact.remaining.energies_at_prices import EnergiesAtPrices
from tilewright.mapper.searches.exact.remaining.remaining_cost import (
    RemainingCost,
    least_of,
    least_remaining,
)
from tilewright.mapper.searches.exact.remaining.remaining_latency import least_latencies
from tilewright.mapper.searches.program.program_steps import (
    ProgramStep,
    SpatialStep,
    TemplateProgram,
)
from tilewright.mapper.templates.spatial_choices import DimName

ROOT = -1  # in place of the number of a step
NOTHING_KNOWN: Mapping[int, Any] = MappingProxyType({})


@dataclass(slots=True)
class ProgramNode:
    """A node of the tree of all templates' steps: the dynamic program after one more step.

    `step`: the number of that step, ROOT at the root. `children`: next nodes, by the numbers of
    their steps; templates with the same first steps share them. `programs`: templates that end
    here. `size`: nodes from here on. `continuation`: nodes with the same number have equal steps,
    and equal ways to go on. A template is a mapping without its loops.
    """

    step: int = ROOT
    children: dict[int, ProgramNode] = field(default_factory=dict)
    programs: list[TemplateProgram] = field(default_factory=list)
    size: int = 1
    continuation: int = 0


@dataclass(frozen=True, slots=True)
class ProgramTree:
    """All templates' steps in one tree, in which equal first steps are shared.

    `root`: where all programs begin. `steps`: each step once, by number. `continuations`: one node
    of each continuation, by number, after those of its children. A template is a mapping without
    its loops.
    """

    root: ProgramNode
    steps: tuple[ProgramStep, ...]
    continuations: tuple[ProgramNode, ...]


EndKey = Callable[[Sequence[TemplateProgram]], Hashable]


def program_tree(programs: Iterable[TemplateProgram], end_key: EndKey = bool) -> ProgramTree:
    """Put the steps of all templates into one tree, in which equal first steps are shared.

    `end_key`: of the programs that end at a node, what decides about the cost still to come there.
    A template is a mapping without its loops.
    """
    root = ProgramNode()
    numbers: dict[ProgramStep, int] = {}
    known: list[ProgramStep] = []
    for program in programs:
        path, steps = [root], []
        for step in program.steps:
            number = numbers.setdefault(step, len(numbers))
            if number == len(known):
                known.append(step)
            steps.append(known[number])
            child = path[-1].children.get(number)
            if child is None:
                child = path[-1].children[number] = ProgramNode(number)
                for node in path:
                    node.size += 1
            path.append(child)
        object.__setattr__(program, "steps", tuple(steps))  # equal ones take the memory of one
        path[-1].programs.append(program)
    continuations: dict[Hashable, ProgramNode] = {}
    _number_continuations(root, end_key, continuations)
    return ProgramTree(root, tuple(known), tuple(continuations.values()))


def _number_continuations(
    node: ProgramNode, end_key: EndKey, continuations: dict[Hashable, ProgramNode]
) -> int:
    """Number the nodes so that those with equal steps from there on have equal numbers.

    Return the number of `node`. `continuations`: one node per number, filled in.
    """
    following = tuple(
        _number_continuations(child, end_key, continuations) for child in node.children.values()
    )
    known = continuations.setdefault((node.step, following, end_key(node.programs)), node)
    node.continuation = len(continuations) - 1 if known is node else known.continuation
    return node.continuation


class NodeBounds(NamedTuple):
    """Lower bounds of the cost still to come below (`before`) and above (`after`) a step."""

    before: RemainingCost
    after: RemainingCost


class NodeEnergies(NamedTuple):
    """Least joules still to come below (`before`) and above (`after`) a step, (prices, states)."""

    before: Floats
    after: Floats


@dataclass(frozen=True, slots=True)
class BoundedTree:
    """A tree of steps with lower bounds of the cost still to come at each node.

    `tree`: whose steps may name rates (costs of a value) by number; `steps`: the same ones with all
    costs in numbers; `bounds`: by the number of a continuation, none without programs. `energies`:
    the same at some further prices, if there are any.
    """

    tree: ProgramTree
    steps: tuple[ProgramStep, ...]
    bounds: tuple[NodeBounds, ...]
    energies: tuple[NodeEnergies, ...] = ()

    def step(self, node: ProgramNode) -> ProgramStep:
        """Return the step of a node other than the root."""
        return self.steps[node.step]

    def bounds_of(self, node: ProgramNode) -> NodeBounds:
        """Return the lower bounds of the cost still to come below and above the step of a node."""
        return self.bounds[node.continuation]

    def with_further(
        self, dearer: Sequence[NodeEnergies], parts: Sequence[Sequence[int]]
    ) -> BoundedTree:
        """Return the same tree with lower bounds of energy at further prices of actions.

        `dearer`: bounds of each node at some of them. `parts[j]`: which of these bound further
        price j from below, as numbers; the greatest of them counts. Bounds that have such prices
        stay.
        """
        bounds = tuple(
            NodeBounds(
                _with_further(cost.before, joules.before, parts),
                _with_further(cost.after, joules.after, parts),
            )
            for cost, joules in zip(self.bounds, dearer, strict=True)
        )
        return replace(self, bounds=bounds, energies=tuple(dearer))

    @property
    def at_start(self) -> RemainingCost | None:
        """The cost still to come below the first step; None if the tree is empty."""
        return self.bounds[self.tree.root.continuation].before if self.bounds else None


def bounded_tree(
    tree: ProgramTree,
    engine: LabelEngine,
    budget: Budget = UNLIMITED,
    steps: tuple[ProgramStep, ...] | None = None,
    known: Mapping[int, NodeBounds] = NOTHING_KNOWN,
) -> BoundedTree:
    """Compute lower bounds of the cost still to come at each node of a tree of steps.

    The tree has the steps of the dynamic program for all templates (mappings without their loops),
    equal first steps being shared; `steps`: instead of its own ones; `known`: bounds by the number
    of a continuation that need not be computed. Goes from the leaves to the root. Bounds are the
    least joules, most lanes (instances of fanouts) and least seconds by tile. Capacity is checked
    for each tile alone, so that these are lower bounds (theory/lattice.md §6.1). Raises OutOfBudget
    when the budget ends.
    """
    priced = tree.steps if steps is None else steps
    bounds: list[NodeBounds] = []
    if tree.root.children or tree.root.programs:
        for number, node in enumerate(tree.continuations):
            budget.check()
            if number in known:
                bounds.append(known[number])
                continue
            views = [bounds[child.continuation].before for child in node.children.values()]
            if node.programs:
                views.append(engine.remaining_at_top())
            bounds.append(
                bounds_of_node(engine, None if node.step == ROOT else priced[node.step], views)
            )
    return BoundedTree(tree, priced, tuple(bounds))


def least_energies(
    bounded: BoundedTree,
    prices: EnergiesAtPrices,
    budget: Budget,
    known: Mapping[int, NodeEnergies] = NOTHING_KNOWN,
) -> list[NodeEnergies]:
    """Return the least joules still to come at each node of a tree, at other prices than its own.

    `known`: those by the number of a continuation that need not be computed. Raises OutOfBudget
    when the budget ends.
    """
    energies: list[NodeEnergies] = []
    at_top = prices.at_top()
    for number, bounds in enumerate(bounded.bounds):
        budget.check()
        if number in known:
            energies.append(known[number])
            continue
        node = bounded.tree.continuations[number]
        views = [energies[child.continuation].before for child in node.children.values()]
        after = before = least_of(views + [at_top] * bool(node.programs))
        if node.step != ROOT:
            before = prices.before(node.step, after, bounds.after.carried)
        energies.append(NodeEnergies(before, after))
    return energies


class _AtPrices:
    """The bounds at all further prices, shape (prices, states), computed when first asked for.

    `base`: bounds at some prices, shape (prices, states); `parts`: for each further price the
    numbers of those of which the greatest counts. There is one for each node: it is cheap to make.
    """

    __slots__ = ("_base", "_parts", "_rows")

    def __init__(self, base: Floats, parts: Sequence[Sequence[int]]) -> None:
        self._base, self._parts = base, parts
        self._rows: Floats | None = None

    def __call__(self) -> Floats:
        if self._rows is None:
            self._rows = np.empty((len(self._parts), self._base.shape[1]))
            for row, several in zip(self._rows, self._parts, strict=True):
                np.maximum.reduce([self._base[part] for part in several], out=row)
        return self._rows


def _with_further(
    cost: RemainingCost, joules: Floats, parts: Sequence[Sequence[int]]
) -> RemainingCost:
    if cost.further is not None:
        return cost
    further = _AtPrices(joules, parts)
    return RemainingCost(cost.energy, cost.lanes, cost.latency, cost.carried, further)


def without_lanes(tree: ProgramTree, dims: Collection[DimName]) -> list[int]:
    """Return the numbers of the continuations in which no lanes of some dimensions are chosen.

    `dims`: the dimensions, each a component and a name. A lane is one instance along a dimension of
    a fanout.
    """
    chosen = [isinstance(step, SpatialStep) and step.loops.dim in dims for step in tree.steps]
    without = list[bool]()
    for node in tree.continuations:
        above = (without[child.continuation] for child in node.children.values())
        without.append(all(above) and not (node.step != ROOT and chosen[node.step]))
    return [number for number, has_none in enumerate(without) if has_none]


def bounds_of_node(
    engine: LabelEngine,
    step: ProgramStep | None,
    views: list[RemainingCost],
    known: NodeBounds | None = None,
) -> NodeBounds:
    """Return the bounds below and above a step (None: at the root) from those of all ways to go on.

    `views`: at least one. Bounds are the least joules and seconds, and the most lanes (instances of
    fanouts), still to come for each tile. `known`: the same ones but for the seconds.
    """
    if known is not None:
        latency = least_latencies([view.latency for view in views])
        after = known.after.with_latency(latency)
        if step is None:
            return NodeBounds(after, after)
        below = engine.latency_before(step, latency)
        return NodeBounds(known.before.with_latency(below), after)
    after = least_remaining(views)
    return NodeBounds(after if step is None else engine.remaining_before(step, after), after)
