"""Bound the cost of all mappings with some placement, without making templates.

Each tensor passes every memory that keeps it at least once. The innermost of these memories hands
over, or takes, one value per operation, divided by the lanes that may share the value there: the
counts of model.md §3.6, with the largest tile that a child can have. The lanes of a fanout share
several tensors only as far as their product allows: 256 lanes over m share the weights of a matrix
product among 256, and then nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import inf, prod
from typing import NamedTuple

import numpy as np

from tilewright.arch.components.components import Component, Memory
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.model.traffic.padded_spans import share_of_points
from tilewright.mapper.searches.exact.kernels import Floats
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

MOST_WAYS = 20_000  # to share lanes out that are compared
_Ways = dict[tuple[int, ...], int]  # lanes by which each tensor is shared: least lanes used


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
    moved = min(least_transfer_energy(space, placement) for placement in placements)
    return _least_with(space, moved, compulsory_seconds_of(space, placements))


def least_computing_costs(space: Mapspace) -> tuple[float, float]:
    """Return (joules, seconds) that no mapping is below, whatever it moves.

    For one instance of the Einsum, each number by itself: of computing, on all lanes.
    """
    return _least_with(space, 0.0, 0.0)


def _least_with(space: Mapspace, moved: float, seconds: float) -> tuple[float, float]:
    """Return lower bounds of joules and seconds of one instance, leakage included.

    `moved`: least joules of moving data; `seconds`: least time of moving.
    """
    problem = space.problem
    leaks = leaks_of(space.flat, space.conventions)
    layout = label_fields(problem, leaks)
    metrics = LabelMetrics(problem, layout, leaks, seconds)
    label = np.zeros((1, layout.width))
    label[0, 0] = compute_energy(problem) + moved
    label[0, layout.lanes] = -float(prod(component.own_fanout for component in problem.components))
    energy, latency = (
        float(metrics.lower_bounds(label, KINDS[name])[0]) for name in ("energy", "latency")
    )
    return energy, latency


def least_transfer_energy(space: Mapspace, placement: Placement) -> float:
    """Return the joules that moving all tensors takes at least, for one instance of the Einsum.

    `placement`: says which memory keeps which tensors. Leakage and computing, which hardly depend
    on it, do not count.
    """
    problem = space.problem
    if problem.einsum.is_copy:
        return 0.0
    memories = [(problem.holder(name), tensors) for name, tensors in _kept(problem, placement)]
    total = 0.0
    readers: list[_HandedOver] = []
    for access in problem.einsum.accesses:
        chain = [memory for memory, tensors in memories if access.tensor in tensors]
        action_down, action_up = ("write", "read") if access.output else ("read", "write")
        values = float(touched_values(access, problem.einsum.bounds))
        for upper, lower in pairwise(chain):
            total += values * (
                _price(upper, access, action_down) + _price(lower, access, action_up)
            )
        if chain and (price := _price(chain[-1], access, action_down)) > 0:
            readers.append(_HandedOver(access, problem.level(chain[-1].name), values, price))
    return total + _least_handed_over(problem, readers)


def _kept(problem: Problem, placement: Placement) -> list[tuple[str, tuple[str, ...]]]:
    """Return the tensors that each memory keeps, the outermost memory first."""
    kept = placement.kept_tensors
    return [(name, tensors) for name, tensors in kept if isinstance(problem.holder(name), Memory)]


def compulsory_seconds_of(space: Mapspace, placements: Sequence[Placement]) -> float:
    """Return the seconds that moving once each tensor in the outermost memory takes.

    A lower bound of the latency of one instance. Only tensors count that it keeps in all of the
    placements (which memory keeps which tensors).
    """
    return seconds_of_first_moves(space, [_on_top(space, placement) for placement in placements])


def _on_top(space: Mapspace, placement: Placement) -> BackingHolders:
    """Return the (tensor, memory) pairs that the outermost memory backs."""
    outermost = _kept(space.problem, placement)[:1]
    return frozenset((tensor, name) for name, tensors in outermost for tensor in tensors)


def _price(component: Component, access: TensorAccess, name: str) -> float:
    """Return the joules of the action `name` per value of a tensor; 0 without such an action."""
    action = next((a for a in component.actions if a.name == name), None)
    if action is None:
        return 0.0
    calls = component.actions_scale / action.values_per_action[access.tensor]
    return float(calls) * action.energy


class _HandedOver(NamedTuple):
    """A tensor between its innermost memory and the lanes below it, read or written.

    `level`: of that memory on the path; `values`: the least that pass; `price`: joules per value.
    """

    access: TensorAccess
    level: int
    values: float
    price: float

    def irrelevant(self, problem: Problem) -> frozenset[str]:
        """Return the rank variables over which lanes share the tensor."""
        bounds = problem.einsum.bounds
        return frozenset(v for v in bounds if self.access.relevance(v) == "irrelevant")


def _least_handed_over(problem: Problem, readers: Sequence[_HandedOver]) -> float:
    """Return the least joules of values between the innermost memories and the lanes below.

    `readers`: the tensors that pass there. Least over all ways to divide lanes among the rank
    variables, if these are few; else each tensor has all lanes to itself.
    """
    if not readers:
        return 0.0
    bounds = problem.einsum.bounds
    most = np.array([prod(bounds[v] for v in r.irrelevant(problem)) for r in readers], np.float64)
    shared = np.minimum(_lane_shares(problem, readers), most)
    operations = problem.einsum.operations
    taken = [float(operations * share_of_points(r.access, bounds)) for r in readers]
    values = np.maximum([r.values for r in readers], taken / shared)
    return float((values @ np.array([r.price for r in readers])).min())


def _lane_shares(problem: Problem, readers: Sequence[_HandedOver]) -> Floats:
    """Return by how many lanes each tensor may be shared, shape (ways, readers).

    A way divides the lanes of all fanouts among the rank variables. Computed once per problem.
    """
    key = tuple((reader.access.tensor, reader.level) for reader in readers)
    if key not in problem.lane_shares:
        problem.lane_shares[key] = _computed_lane_shares(problem, readers)
    return problem.lane_shares[key]


def _computed_lane_shares(problem: Problem, readers: Sequence[_HandedOver]) -> Floats:
    fanouts: dict[frozenset[int], int] = {}  # of dimensions that share the same tensors
    for level, component in enumerate(problem.components):
        for dim in component.spatial:
            sharing = [
                i
                for i, reader in enumerate(readers)
                if reader.level <= level and reader.access.tensor in dim.may_reuse
            ]
            fanouts[frozenset(sharing)] = fanouts.get(frozenset(sharing), 1) * dim.fanout
    ways = np.ones((1, len(readers)))
    for sharing_readers, fanout in fanouts.items():
        of_fanout = _shares_of_fanout(problem, readers, sharing_readers, fanout)
        if len(ways) * len(of_fanout) > MOST_WAYS:
            of_fanout = of_fanout.max(axis=0, keepdims=True)
        ways = (ways[:, np.newaxis] * of_fanout).reshape(-1, len(readers))
    return ways


def _shares_of_fanout(
    problem: Problem, readers: Sequence[_HandedOver], sharing: frozenset[int], most_lanes: int
) -> Floats:
    """Return by how many lanes of a fanout each tensor may be shared, shape (ways, readers).

    `sharing`: the readers that its lanes may share; `most_lanes`: of the fanout. Variables that are
    irrelevant to the same tensors count as one; lanes over it divide the product of their bounds,
    if tiles are even.
    """
    ways: _Ways = {(1,) * len(readers): 1}
    for tensors, bound in _bounds_by_sharing(problem, readers, sharing).items():
        counts = range(1, min(bound, most_lanes) + 1)
        lanes = [n for n in counts if problem.uneven or bound % n == 0]
        ways = _extended(ways, tensors, lanes, most_lanes)
        if len(ways) > MOST_WAYS:
            return np.array(
                [[most_lanes if i in sharing else 1 for i in range(len(readers))]], float
            )
    return np.array(list(ways), np.float64)


def _bounds_by_sharing(
    problem: Problem, readers: Sequence[_HandedOver], sharing: frozenset[int]
) -> dict[frozenset[int], int]:
    """Return products of rank variables' bounds, by the set of readers that may share over them.

    `sharing`: numbers of the readers that share at all.
    """
    bounds: dict[frozenset[int], int] = {}
    irrelevant = [reader.irrelevant(problem) for reader in readers]
    for variable, bound in problem.einsum.bounds.items():
        tensors = frozenset(i for i in sharing if variable in irrelevant[i])
        if tensors:
            bounds[tensors] = bounds.get(tensors, 1) * bound
    return bounds


def _extended(ways: _Ways, tensors: frozenset[int], lanes: Sequence[int], most_lanes: int) -> _Ways:
    """Return the ways to share with some more lanes for some tensors.

    `ways`: lanes per tensor, to lanes used so far; `tensors`: numbers of those shared by the new
    lanes; `lanes`: possible numbers of new lanes, rising; `most_lanes`: of the fanout.
    """
    extended: _Ways = {}
    for way, used in ways.items():
        for n in lanes:
            if used * n > most_lanes:
                break
            key = tuple(x * n if i in tensors else x for i, x in enumerate(way))
            extended[key] = min(used * n, extended.get(key, used * n))
    return extended
