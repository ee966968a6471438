"""The charges of a template: counts of every edge between a holder and the next one below.

For a parent p and the next lower holder c of tensor T (or the Compute), with t the tile at c in
T's own mapping (model.md §3.6; lattice.md §1.2):

    R = occ_T(t) * prod_v B_v / t_v                     values moved, counted at c
    S = occ_T(t) * prod_{v relevant} B_v / t_v          of them, first fills of an output

Of a rank that is padded, R has what the tiles span inside it (model.md §3.7).

S is multiplied by the lanes above c over variables that are not fully relevant to T (R has these
lanes in B / t). Seen from above a spatial dimension that reuses T, both counts are divided by the
lanes over irrelevant variables. An EdgeCharge charges one such count to one action.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

from tilewright.arch.components.components import Component, Compute, Memory, Toll
from tilewright.mapper.model.traffic.padded_counts import zeros_take_time
from tilewright.mapper.model.traffic.padded_spans import share_of_points
from tilewright.mapper.templates.placement import Template
from tilewright.mapper.templates.problem import Problem

Kind = Literal["moved", "first"]


@dataclass(frozen=True, slots=True)
class Edge:
    """A holder of a tensor and the next one below, between which values move.

    `parent`, `child`: their numbers in the template, child None for the Compute. `parent_level`,
    `child_level`: places of their components on the path, 0 for the outermost. A template is a
    mapping without its loops.
    """

    tensor: str
    parent: int
    child: int | None
    parent_level: int
    child_level: int


@dataclass(frozen=True, slots=True)
class EdgeCharge:
    """An action of a component that pays for values moved between two holders of a tensor.

    `edge`: the two holders. `kind`: "moved" for all values, or "first" for the first fills of an
    output, which may be skipped because nothing has been written yet. `level`, `action`: place of
    the paying component on the path, and its "read" or "write". `at_child`: values are counted
    below all spatial loops between the two, so each instance counts; else above the loops deeper
    than the paying component, where instances that share a value count once. `sign`: 1, or -1 for
    what is saved.
    """

    edge: Edge
    kind: Kind
    level: int
    action: str
    at_child: bool
    sign: int


def values_per_move(problem: Problem, charge: EdgeCharge) -> int:
    """Return how many values of a tensor one move of a charge takes: the divisor of its counts.

    1 between two holders. At the Compute all values that the access of one operation spans: with a
    constant in an index AccelForge reserves a window, which an operation reads as one value.
    """
    if charge.edge.child is not None:
        return 1
    return problem.einsum.access(charge.edge.tensor).point_size


class ChargeRate(NamedTuple):
    """What one value of a charge costs.

    `calls`: of the action, negative for what is saved; `joules`: of each call.
    """

    calls: float
    joules: float


def charge_rate(problem: Problem, charge: EdgeCharge) -> ChargeRate | None:
    """Return the calls and joules of one value of a charge; None without such an action."""
    component = problem.components[charge.level]
    action = next((a for a in component.actions if a.name == charge.action), None)
    if action is None:
        return None
    values = action.values_per_action[charge.edge.tensor] * values_per_move(problem, charge)
    return ChargeRate(float(charge.sign * component.actions_scale / values), float(action.energy))


def moved_kinds(problem: Problem, charge: EdgeCharge) -> tuple[str, str]:
    """Return the kinds of count that the values moved take for energy, and for calls in time.

    "moved" is without zeros of padded ranks, "whole" with them (theory/model.md §3.7).
    """
    if zeros_take_time(problem.components[: charge.level + 1]):
        return "moved", whole_kind(problem, charge.edge.tensor)
    return "moved", "moved"


def whole_kind(problem: Problem, tensor: str) -> str:
    """Return the kind of count of the values moved with zeros of padded ranks, if there are any."""
    return "whole" if problem.einsum.access(tensor).clipped else "moved"


def values_of_operations(problem: Problem, charge: EdgeCharge) -> tuple[float, float]:
    """Return how many values the operations of an Einsum take one by one: for energy, and calls."""
    einsum = problem.einsum
    access = einsum.access(charge.edge.tensor)
    whole = einsum.operations * access.point_size
    inside = float(whole * share_of_points(access, einsum.bounds))
    return inside, whole if moved_kinds(problem, charge)[1] == "whole" else inside


def edges(problem: Problem, template: Template) -> Iterator[Edge]:
    """Yield each pair of successive holders of a tensor in a template, for all tensors.

    Values move between the two. The last pair of a tensor ends at the Compute. A template is a
    mapping without its loops.
    """
    compute_level = len(problem.components) - 1
    levels = [problem.level(holder.component) for holder in template.holders]
    for tensor in problem.einsum.tensors:
        holders = [i for i, h in enumerate(template.holders) if h.tensor == tensor]
        for parent, child in pairwise(holders):
            yield Edge(tensor, parent, child, levels[parent], levels[child])
        for last in holders[-1:]:
            yield Edge(tensor, last, None, levels[last], compute_level)


def edge_charges(problem: Problem, template: Template) -> Iterator[EdgeCharge]:
    """Yield all actions that pay for values moved between the holders of a template.

    Tolls in between pay, too. First fills of an output that are skipped come with sign -1. A
    template is a mapping without its loops.
    """
    for edge in edges(problem, template):
        tolls = list(_crossed_tolls(problem, template, edge))
        if not problem.einsum.access(edge.tensor).output:
            yield from _fill_charges(problem, edge, tolls)
            continue
        yield from _drain_charges(edge, tolls)
        if not (edge.child is None and problem.einsum.is_copy):
            yield from _fill_charges(problem, edge, tolls)


class _CrossedToll(NamedTuple):
    """A Toll that a tensor passes between two holders, and its level on the path."""

    level: int
    toll: Toll


def _crossed_tolls(problem: Problem, template: Template, edge: Edge) -> Iterator[_CrossedToll]:
    """Yield the Tolls that the tensor crosses on an edge."""
    for holder in template.tolls:
        level = problem.level(holder.component)
        if holder.tensor == edge.tensor and edge.parent_level < level < edge.child_level:
            toll = problem.holder(holder.component)
            assert isinstance(toll, Toll)
            yield _CrossedToll(level, toll)


def _drain_charges(edge: Edge, tolls: Sequence[_CrossedToll]) -> Iterator[EdgeCharge]:
    """Yield the charges of an output's values on their way up."""
    yield EdgeCharge(edge, "moved", edge.parent_level, "write", False, 1)
    if edge.child is not None:
        yield EdgeCharge(edge, "moved", edge.child_level, "read", True, 1)
    for level, toll in tolls:
        if toll.direction[edge.tensor] != "down":
            yield EdgeCharge(edge, "moved", level, "read", False, 1)


def _fill_charges(
    problem: Problem, edge: Edge, tolls: Sequence[_CrossedToll]
) -> Iterator[EdgeCharge]:
    """Yield the charges of values on their way down.

    For an output the charge of the first fill, which may be skipped, follows with sign -1.
    """
    parent = problem.components[edge.parent_level]
    child = problem.components[edge.child_level]
    elides = problem.einsum.access(edge.tensor).output and _skips_first_fill(child)
    yield EdgeCharge(edge, "moved", edge.parent_level, "read", False, 1)
    if elides and _skips_first_fill(parent):
        yield EdgeCharge(edge, "first", edge.parent_level, "read", False, -1)
    if edge.child is not None:
        yield EdgeCharge(edge, "moved", edge.child_level, "write", True, 1)
        if elides:
            yield EdgeCharge(edge, "first", edge.child_level, "write", True, -1)
    for level, toll in tolls:
        if toll.direction[edge.tensor] != "up":
            yield EdgeCharge(edge, "moved", level, "read", False, 1)
            if elides:
                yield EdgeCharge(edge, "first", level, "read", False, -1)


def _skips_first_fill(component: Component) -> bool:
    return isinstance(component, (Memory, Compute)) and component.skip_initial_output_write
