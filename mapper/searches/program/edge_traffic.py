"""What a template pays where: the counts of every edge between a holder and the next one below.

Between a parent p and the next lower holder c of tensor T (or the Compute), with t the tile at c
in T's own mapping (model.md §3.6; lattice.md §1.2):

    R = occ_T(t) * prod_v B_v / t_v                     values moved, counted at c
    S = occ_T(t) * prod_{v relevant} B_v / t_v          of them, first fills of an output

each times the lanes above c that are dealt over variables of no full relevance (S only: R has them
in B / t), and, seen from above a spatial dimension that reuses T, divided by its lanes over
irrelevant variables. A tap charges one such count to one action.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tilewright.arch.components.components import Component, Compute, Memory, Toll
from tilewright.mapper.templates.placement import Template
from tilewright.mapper.templates.problem import Problem

Kind = Literal["moved", "first"]


@dataclass(frozen=True, slots=True)
class Edge:
    """`child` is the holder number in the template, or None for the Compute."""

    tensor: str
    parent: int
    child: int | None
    parent_level: int
    child_level: int


@dataclass(frozen=True, slots=True)
class EdgeCharge:
    """Charge `sign` x the count of `kind` to `action` of the component at `level`.

    `at_child`: counted below every spatial dimension of the edge, else above those deeper than
    `level`.
    """

    edge: Edge
    kind: Kind
    level: int
    action: str
    at_child: bool
    sign: int


def values_per_move(problem: Problem, tap: EdgeCharge) -> int:
    """Return how many of the values that a tap counts move together: an operation takes one value,
    however many positions one point counts for in a holder."""
    return problem.einsum.access(tap.edge.tensor).least if tap.edge.child is None else 1


def edges(problem: Problem, template: Template) -> Iterator[Edge]:
    """Enumerate the edges of every tensor of the template."""
    for tensor in problem.einsum.tensors:
        chain = [i for i, h in enumerate(template.holders) if h.tensor == tensor]
        for number, parent in enumerate(chain):
            child = chain[number + 1] if number + 1 < len(chain) else None
            yield Edge(
                tensor,
                parent,
                child,
                problem.level(template.holders[parent].component),
                len(problem.components) - 1
                if child is None
                else problem.level(template.holders[child].component),
            )


def edge_charges(problem: Problem, template: Template) -> Iterator[EdgeCharge]:
    """Enumerate what every edge of the template charges."""
    for edge in edges(problem, template):
        tolls = [
            (problem.level(toll.component), toll.component)
            for toll in template.tolls
            if toll.tensor == edge.tensor
            and edge.parent_level < problem.level(toll.component) < edge.child_level
        ]
        if problem.einsum.access(edge.tensor).output:
            yield from _drain(problem, edge, tolls)
            if not (edge.child is None and problem.einsum.is_copy):
                yield from _fill(problem, edge, tolls)
        else:
            yield from _fill(problem, edge, tolls)


def _drain(problem: Problem, edge: Edge, tolls: list[tuple[int, str]]) -> Iterator[EdgeCharge]:
    """Values of an output on their way up."""
    yield EdgeCharge(edge, "moved", edge.parent_level, "write", False, 1)
    if edge.child is not None:
        yield EdgeCharge(edge, "moved", edge.child_level, "read", True, 1)
    for level, name in tolls:
        if _toll(problem, name).direction[edge.tensor] != "down":
            yield EdgeCharge(edge, "moved", level, "read", False, 1)


def _fill(problem: Problem, edge: Edge, tolls: list[tuple[int, str]]) -> Iterator[EdgeCharge]:
    """Values on their way down; of an output, the first fill may be elided."""
    parent = problem.components[edge.parent_level]
    child = problem.components[edge.child_level]
    elides = problem.einsum.access(edge.tensor).output and _skips(child)
    yield EdgeCharge(edge, "moved", edge.parent_level, "read", False, 1)
    if elides and _skips(parent):
        yield EdgeCharge(edge, "first", edge.parent_level, "read", False, -1)
    if edge.child is not None:
        yield EdgeCharge(edge, "moved", edge.child_level, "write", True, 1)
        if elides:
            yield EdgeCharge(edge, "first", edge.child_level, "write", True, -1)
    for level, name in tolls:
        if _toll(problem, name).direction[edge.tensor] != "up":
            yield EdgeCharge(edge, "moved", level, "read", False, 1)
            if elides:
                yield EdgeCharge(edge, "first", level, "read", False, -1)


def _skips(component: Component) -> bool:
    return isinstance(component, (Memory, Compute)) and component.skip_initial_output_write


def _toll(problem: Problem, name: str) -> Toll:
    toll = problem.holder(name)
    assert isinstance(toll, Toll)
    return toll
