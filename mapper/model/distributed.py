"""Memories of an Array that are spread over its grid (model.md §4.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from tilewright.arch.components.components import Component
from tilewright.mapper.model.occupancy import Occupancy
from tilewright.mapper.model.view import Count, EinsumView, lowest_terms

# instances in use of a dimension / instances that one place serves -> places at work
PlacesAtWork = Callable[[Fraction], Fraction]


def at_least_one(places: Fraction) -> Fraction:
    """A place that serves fewer instances than it could is still one place."""
    return max(Fraction(1), places)


def in_proportion(places: Fraction) -> Fraction:
    """Count half a place where half of its instances work, as accelforge 1.0.467 does."""
    return places


def active_places(
    view: EinsumView, used: Mapping[tuple[str, str], Count], rule: PlacesAtWork
) -> dict[str, Count]:
    """Return, for each distributed memory, how many of its places share its work.

    A place serves `grid fanout / places` instances of each dimension of the grid below it.
    """
    return places_at_work(view.flat.components, used, rule)


def places_at_work(
    components: Sequence[Component], used: Mapping[tuple[str, str], Count], rule: PlacesAtWork
) -> dict[str, Count]:
    """Do the same for the `components` of a path, outermost first."""
    return {
        component.name: _active(component, grid_of(components, level), used, rule)
        for level, component in enumerate(components)
        if any(dim.fanout > 1 for dim in component.physical_spatial)
    }


def grid_of(components: Sequence[Component], level: int) -> Component | None:
    """Return the component with the lanes that a distributed memory serves."""
    return next((other for other in components[level + 1 :] if other.spatial), None)


def _active(
    component: Component,
    grid: Component | None,
    used: Mapping[tuple[str, str], Count],
    rule: PlacesAtWork,
) -> Count:
    active = Fraction(1)
    for dim in component.physical_spatial:
        for other in grid.spatial if grid is not None else ():
            if other.name == dim.name and grid is not None:
                served = Fraction(other.fanout, dim.fanout)
                lanes = used.get((grid.name, dim.name))  # None: no loop runs over them
                active *= 1 if lanes is None else rule(lanes / served)
    return lowest_terms(active)


def spread(held: Occupancy, places: Mapping[str, Count]) -> Occupancy:
    """Share the bits among the places of a distributed memory."""
    active = places.get(held.component, 1)
    if active == 1:
        return held
    return replace(held, bits=lowest_terms(Fraction(held.bits) / active))
