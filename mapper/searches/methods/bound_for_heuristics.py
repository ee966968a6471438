"""Give heuristic searches (random, annealing, Optuna) a lower bound and a first mapping."""

from __future__ import annotations

from math import inf

from tilewright.mapper.explain.reach import first_mapping
from tilewright.mapper.mapspace.locate import MapspacePoint
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.budget import UNLIMITED, Budget, OutOfBudget, budget_from
from tilewright.mapper.searches.exact.exact import ExactSearch
from tilewright.mapper.searches.exact.label_metrics import Goal
from tilewright.mapper.searches.exact.least_placement_costs import least_value
from tilewright.mapper.workload.errors import UnsupportedFeature

SHARE = 0.25  # of the budget: for the bound


def lower_bound(space: Mapspace, goal: Goal, limits: Budget = UNLIMITED) -> float:
    """Return a lower bound of the goal over all mappings, for all instances; 0 if none is known.

    It is the bound from which the exact search starts (theory/lattice.md §6.1); where that takes
    more than `limits`, a weaker one from the placements alone. In J, s or J s.
    """
    try:
        bound = ExactSearch().bound(space, goal, limits)
    except UnsupportedFeature:
        return 0.0
    except OutOfBudget:
        bound = least_value(space, goal)
    return bound if bound < inf else 0.0


def lower_bound_in_share(space: Mapspace, goal: Goal, limits: Budget) -> float:
    """Return a lower bound of the goal, found in at most a quarter of the seconds left.

    For all instances, in J, s or J s; 0 if none is known.
    """
    seconds_left = limits.seconds_left
    seconds = None if seconds_left is None else SHARE * seconds_left
    return lower_bound(space, goal, budget_from(seconds, limits.memory))


def smallest_mapping(space: Mapspace, limits: Budget = UNLIMITED) -> MapspacePoint | None:
    """Return a point of the mapspace that needs little capacity; None if there is no mapping.

    None is certain. All points are counted on the way, so that drawing some later is fast. Raises
    OutOfBudget when `limits` end. A point is one choice of all tile sizes of a template (a mapping
    without loops). Raises UnsupportedFeature if there are too many choices of lanes (instances of
    fanouts) to list.
    """
    first = first_mapping(space, limits.check)
    if first is None:
        return None
    for points in limits.checking(space.points_within(limits.check)):
        _ = points.count
    template, tiles = first
    return MapspacePoint(space.templates.index(template), tiles)
