"""What every mapping with some placement costs: a bound that needs no templates.

Each tensor passes every memory that keeps it at least once, and the innermost of these hands over,
or takes, one value per operation, less what lanes share there: the counts of model.md §3.6, with
the largest tile that a child can have.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import inf, prod

import numpy as np

from tilewright.arch.components.components import Component, Memory
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.exact.label_fields import label_fields
from tilewright.mapper.searches.exact.label_metrics import KINDS, Goal, LabelMetrics
from tilewright.mapper.searches.exact.label_tables import compute_energy
from tilewright.mapper.searches.exact.metric_terms import (
    BackingHolders,
    leaks_of,
    seconds_of_first_moves,
    touched_values,
)
from tilewright.mapper.templates.placement import Placement
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.workload.einsum import TensorAccess


def least_value(space: Mapspace, goal: Goal) -> float:
    """Return a lower bound of the goal over all mappings, from the placements alone.

    For all instances of the Einsum, in J, s or J s; infinity if the rules leave no placement.
    Fast, as no template is made: each tensor passes every memory that keeps it at least once.
    """
    times = space.einsum.n_instances
    energy, latency = least_costs(space, space.placements)
    return inf if energy == inf else goal.value(energy * times, latency * times)


def least_costs(space: Mapspace, placements: Sequence[Placement]) -> tuple[float, float]:
    """Return (joules, seconds) that no mapping with one of some placements is below.

    For one instance of the Einsum, each number by itself; (inf, inf) without a placement. A
    placement says which memory keeps which tensors.
    """
    if not placements:
        return inf, inf
    problem = space.problem
    leaks = leaks_of(space.flat, space.conventions)
    layout = label_fields(problem, leaks)
    metrics = LabelMetrics(problem, layout, leaks, compulsory_seconds_of(space, placements))
    label = np.zeros((1, layout.width))
    label[0, 0] = compute_energy(problem) + min(_moved(problem, name) for name in placements)
    label[0, layout.lanes] = -float(prod(component.own_fanout for component in problem.components))
    energy, latency = (
        float(metrics.lower_bounds(label, KINDS[name])[0]) for name in ("energy", "latency")
    )
    return energy, latency


def compulsory_seconds_of(space: Mapspace, placements: Sequence[Placement]) -> float:
    """Return the seconds that moving once each tensor in the outermost memory takes.

    A lower bound of the latency of one instance. Only tensors count that it keeps in all of the
    placements (which memory keeps which tensors).
    """
    return seconds_of_first_moves(space, [_on_top(space, placement) for placement in placements])


def _on_top(space: Mapspace, placement: Placement) -> BackingHolders:
    """Return what the outermost memory backs."""
    memories = [
        (name, tensors)
        for name, tensors in placement.kept_tensors
        if _is_memory(space.problem, name)
    ]
    return frozenset((tensor, name) for name, tensors in memories[:1] for tensor in tensors)


def _is_memory(problem: Problem, name: str) -> bool:
    return isinstance(problem.holder(name), Memory)


def _moved(problem: Problem, placement: Placement) -> float:
    """Return the least joules of moving all tensors between the memories that keep them."""
    if problem.einsum.is_copy:
        return 0.0
    memories = [
        (problem.holder(name), tensors)
        for name, tensors in placement.kept_tensors
        if _is_memory(problem, name)
    ]
    total = 0.0
    for access in problem.einsum.accesses:
        chain = [memory for memory, tensors in memories if access.tensor in tensors]
        action_down, action_up = ("write", "read") if access.output else ("read", "write")
        values = float(touched_values(access, problem.einsum.bounds))
        for upper, lower in pairwise(chain):
            total += values * (
                _price(upper, access, action_down) + _price(lower, access, action_up)
            )
        if chain:
            values_handed_over = max(values, _handed_over(problem, access, chain[-1]))
            total += values_handed_over * _price(chain[-1], access, action_down)
    return total


def _price(component: Component, access: TensorAccess, name: str) -> float:
    """Return the joules of an action per value."""
    action = next((a for a in component.actions if a.name == name), None)
    if action is None:
        return 0.0
    calls = component.actions_scale / action.values_per_action[access.tensor]
    return float(calls) * action.energy


def _handed_over(problem: Problem, access: TensorAccess, last: Component) -> float:
    """Return how many values the innermost memory hands over, or takes, at least."""
    einsum = problem.einsum
    free = [v for v in einsum.bounds if access.relevance(v) == "irrelevant"]
    lanes = prod(
        dim.fanout
        for component in problem.components[problem.level(last.name) :]
        for dim in component.spatial
        if access.tensor in dim.may_reuse
    )
    return einsum.operations / min(lanes, prod(einsum.bounds[v] for v in free))
