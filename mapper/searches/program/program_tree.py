"""Programs of all templates in one tree, shared from the Compute up (lattice.md §3.4)."""

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
    """The state of the search after `operation`; the root has none."""

    step: ProgramStep | None
    children: dict[ProgramStep, ProgramNode] = field(default_factory=dict)
    programs: list[TemplateProgram] = field(default_factory=list)
    before: RemainingCost | None = None  # outlook below the operation
    after: RemainingCost | None = None  # outlook above it, over everything that continues here
    size: int = 1  # nodes from here on


def program_tree(programs: Iterable[TemplateProgram]) -> ProgramNode:
    """Build the tree of all programs."""
    root = ProgramNode(None)
    for program in programs:
        way = [root]
        for operation in program.steps:
            child = way[-1].children.get(operation)
            if child is None:
                child = way[-1].children[operation] = ProgramNode(operation)
                for node in way:
                    node.size += 1
            way.append(child)
        way[-1].programs.append(program)
    return root


def bound_remaining_cost(
    node: ProgramNode, engine: LabelEngine, budget: Budget = UNLIMITED
) -> RemainingCost:
    """Fill in the outlooks of a tree, from its leaves to the root; return the root's. OutOfBudget.

    Room is checked for each tile alone and latency left out, so that the energy still to pay is a
    lower bound (lattice.md §6.1).
    """
    budget.check()
    views = [bound_remaining_cost(child, engine, budget) for child in node.children.values()]
    if node.programs:
        views.append(engine.remaining_at_top())
    node.after = least_remaining(views)
    node.before = (
        node.after if node.step is None else engine.remaining_before(node.step, node.after)
    )
    return node.before
