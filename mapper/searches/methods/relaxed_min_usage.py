"""Lower a min_usage that no mapping can meet because of capacity, and search again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from tilewright.arch.components.components import SpatialDim
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.budget import budget_from
from tilewright.mapper.searches.exact.label_metrics import Goal
from tilewright.mapper.searches.result import MapspaceResult, MapspaceSearch
from tilewright.mapper.templates.spatial_choices import (
    bounds_in_effect,
    free_variables,
    lane_choices,
    usage,
)

_Place = tuple[int, int]  # number of the component on the path, number of its dimension


def search_with_lowered_min_usage(
    search: MapspaceSearch, space: Mapspace, goal: Goal, budget: float | None
) -> MapspaceResult | None:
    """Search again with each min_usage lowered to the highest usage that has a mapping.

    For a mapspace in which no mapping fits. min_usage is the least share of a dimension's
    instances to use; the innermost dimension decides first. `search`: the method; `budget`:
    seconds, None for no limit. None if there is no min_usage or lowering does not help; a result
    without a mapping that is not proven if the budget ends before that is known.
    """
    limits = budget_from(budget)
    places = _places_with_min_usage(space)
    if not places:
        return None
    open_space = space
    for place in places:
        open_space = _with_min_usage(open_space, place, 0.0)
    result = search.find(open_space, goal, limits.seconds_left)
    if result.best is None:
        return None if result.proven else result
    for place in reversed(places):
        for level in _levels(space, place):
            trial = _with_min_usage(open_space, place, level)
            trial_result = search.find(trial, goal, limits.seconds_left)
            if trial_result.best is not None:
                open_space, result = trial, trial_result
                break
            if not trial_result.proven:
                return trial_result
    return result


def _places_with_min_usage(space: Mapspace) -> list[_Place]:
    return [
        (i, j)
        for i, component in enumerate(space.problem.components)
        for j, dim in enumerate(component.spatial)
        if dim.min_usage > 0
    ]


def _dim(space: Mapspace, place: _Place) -> SpatialDim:
    return space.problem.components[place[0]].spatial[place[1]]


def _levels(space: Mapspace, place: _Place) -> Iterator[float]:
    """Yield the usages (0 to 1) that a dimension can have up to its min_usage, highest first."""
    dim = _dim(space, place)
    variables = free_variables(dim, space.einsum, frozenset())
    bounds = bounds_in_effect(dim, space.einsum, space.problem.conventions)
    choices = lane_choices(dim, space.einsum, variables, bounds, space.uneven)
    for used in sorted(set(map(prod, choices)), reverse=True):
        yield min(usage(dim, used), dim.min_usage)


def _with_min_usage(space: Mapspace, place: _Place, level: float) -> Mapspace:
    components = list(space.flat.components)
    component = components[place[0]]
    dims = list(component.spatial)
    dims[place[1]] = replace(dims[place[1]], min_usage=level)
    components[place[0]] = replace(component, spatial=tuple(dims))
    flat = replace(space.flat, components=tuple(components))
    return space.with_flat(flat)
