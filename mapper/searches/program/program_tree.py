"""Programs of all templates in one tree, shared from the Compute up (lattice.md §3.4)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tilewright.mapper.searches.budget import ENDLESS, Budget
from tilewright.mapper.searches.exact.label_tables import Engine, Outlook, merged
from tilewright.mapper.searches.program.program import Operation, Program


@dataclass(slots=True)
class Node:
    """The state of the search after `operation`; the root has none."""

    operation: Operation | None
    children: dict[Operation, Node] = field(default_factory=dict)
    ends: list[Program] = field(default_factory=list)
    before: Outlook | None = None  # outlook below the operation
    after: Outlook | None = None  # outlook above it, over everything that continues here
    size: int = 1  # nodes from here on


def grow(programs: Iterable[Program]) -> Node:
    """Build the tree of all programs."""
    root = Node(None)
    for program in programs:
        way = [root]
        for operation in program.operations:
            child = way[-1].children.get(operation)
            if child is None:
                child = way[-1].children[operation] = Node(operation)
                for node in way:
                    node.size += 1
            way.append(child)
        way[-1].ends.append(program)
    return root


def look_ahead(node: Node, engine: Engine, budget: Budget = ENDLESS) -> Outlook:
    """Fill in the outlooks of a tree, from its leaves to the root; return the root's. OutOfBudget.

    Room is checked for each tile alone and latency left out, so that the energy still to pay is a
    lower bound (lattice.md §6.1).
    """
    budget.check()
    views = [look_ahead(child, engine, budget) for child in node.children.values()]
    if node.ends:
        views.append(engine.final())
    node.after = merged(views)
    node.before = node.after if node.operation is None else engine.undo(node.operation, node.after)
    return node.before
