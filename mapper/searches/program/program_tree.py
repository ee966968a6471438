"""The programs of all templates in one tree, shared from the Compute up (lattice.md §1.2).

Programs with the same first steps share these steps and their labels.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tilewright.mapper.searches.budget import UNLIMITED, Budget
from tilewright.mapper.searches.exact.label_tables import (
    LabelEngine,
    RemainingCost,
    least_remaining,
)
from tilewright.mapper.searches.program.program import ProgramStep, TemplateProgram


@dataclass(slots=True)
class ProgramNode:
    """A node of the tree of all templates' steps: the dynamic program after one more step.

    `step`: that step, None at the root. `children`: next steps; templates with the same first
    steps share them. `programs`: templates that end here. `before`, `after`: lower bounds of the
    cost still to come below and above the step, over all templates that go on from here. `size`:
    nodes from here on. A template is a mapping without its loops.
    """

    step: ProgramStep | None
    children: dict[ProgramStep, ProgramNode] = field(default_factory=dict)
    programs: list[TemplateProgram] = field(default_factory=list)
    before: RemainingCost | None = None
    after: RemainingCost | None = None
    size: int = 1


def program_tree(programs: Iterable[TemplateProgram]) -> ProgramNode:
    """Put the steps of all templates into one tree, in which equal first steps are shared.

    Lower bounds of the cost still to come are not filled in; `bound_remaining_cost` does that. A
    template is a mapping without its loops.
    """
    root = ProgramNode(None)
    for program in programs:
        path = [root]
        for step in program.steps:
            child = path[-1].children.get(step)
            if child is None:
                child = path[-1].children[step] = ProgramNode(step)
                for node in path:
                    node.size += 1
            path.append(child)
        path[-1].programs.append(program)
    return root


def bound_remaining_cost(
    node: ProgramNode, engine: LabelEngine, budget: Budget = UNLIMITED
) -> RemainingCost:
    """Fill in lower bounds of the cost still to come at each node of a tree of steps.

    The tree has the steps of the dynamic program for all templates (mappings without their loops),
    equal first steps being shared; `node` is its root. Goes from the leaves to the root and
    returns the root's bounds: least joules, most lanes and least seconds by tile. Capacity is
    checked for each tile alone, so that these are lower bounds (theory/lattice.md §6.1). Raises
    OutOfBudget when the budget ends.
    """
    budget.check()
    continuations = [
        bound_remaining_cost(child, engine, budget) for child in node.children.values()
    ]
    if node.programs:
        continuations.append(engine.remaining_at_top())
    node.after = least_remaining(continuations)
    node.before = node.after
    if node.step is not None:
        node.before = engine.remaining_before(node.step, node.after)
    return node.before
