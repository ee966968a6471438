"""Memories of an Array with several places on its grid: distributed memories (model.md §4.3).

Example: 2 places on a grid of 4 lanes. If 4 lanes are in use, both places work and each holds half
of a tile; if 1 lane is in use, one place holds all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from tilewright.arch.components.components import Component
from tilewright.mapper.model.occupancy.occupancy import Occupancy
from tilewright.mapper.model.paths.view import Count, EinsumView, lowest_terms

# instances in use of a dimension / instances that one place serves -> places at work
PlacesAtWork = Callable[[Fraction], Fraction]


def at_least_one(places: Fraction) -> Fraction:
    """Return how many instances of a distributed memory work, at least one.

    `places`: instances of the fanout in use, divided by those that one instance of the memory
    serves. Values above 1 are returned as they are, also fractions.
    """
    return max(Fraction(1), places)


def in_proportion(places: Fraction) -> Fraction:
    """Return how many instances of a distributed memory work, also fewer than one.

    The number is `places` unchanged (instances in use divided by those that one memory instance
    serves), as accelforge 1.0.467 counts.
    """
    return places


def active_places(
    view: EinsumView, used: Mapping[tuple[str, str], Count], rule: PlacesAtWork
) -> dict[str, Count]:
    """Return how many instances of each memory spread over an Array share its work, by name.

    `used[component, dim]`: instances of a fanout in use. One memory instance serves (fanout of the
    grid) / (instances of the memory) lanes of each dimension of the grid below it; with `rule` the
    quotient becomes instances at work. 2 instances, grid of 4, 4 lanes in use: 2.
    """
    return places_at_work(view.flat.components, used, rule)


def places_at_work(
    components: Sequence[Component], used: Mapping[tuple[str, str], Count], rule: PlacesAtWork
) -> dict[str, Count]:
    """Return how many instances of each distributed memory share its work, by component name.

    A distributed memory has instances beside each other, over the lanes of the fanout below it
    (`Array` in files); other components are left out. `components`: a path, outermost first;
    `used[component name, dimension name]`: lanes of a fanout in use, 1 if absent; `rule`: turns
    (lanes in use / lanes served by one memory instance) into instances, which are multiplied over
    the dimensions.
    """
    return {
        component.name: _active(component, grid_of(components, level), used, rule)
        for level, component in enumerate(components)
        if any(dim.fanout > 1 for dim in component.physical_spatial)
    }


def grid_of(components: Sequence[Component], level: int) -> Component | None:
    """Return the component whose fanout the distributed memory at position `level` serves.

    It is the next one below on the path that has a spatial fanout; None if there is none.
    """
    return next((component for component in components[level + 1 :] if component.spatial), None)


def _active(
    component: Component,
    grid: Component | None,
    used: Mapping[tuple[str, str], Count],
    rule: PlacesAtWork,
) -> Count:
    active = Fraction(1)
    for dim in component.physical_spatial:
        for grid_dim in grid.spatial if grid is not None else ():
            if grid_dim.name == dim.name and grid is not None:
                served = Fraction(grid_dim.fanout, dim.fanout)
                lanes = used.get((grid.name, dim.name))  # None: no loop runs over them
                active *= 1 if lanes is None else rule(lanes / served)
    return lowest_terms(active)


def spread(tile: Occupancy, places: Mapping[str, Count]) -> Occupancy:
    """Return a reserved tile with the bits that fall to one instance of a distributed memory.

    `places`: memory name to the number of instances that share the tile; others have one.
    """
    active = places.get(tile.component, 1)
    if active == 1:
        return tile
    return replace(tile, bits=lowest_terms(Fraction(tile.bits) / active))
