"""The part of a mapspace that uses every fanout as far as its rules permit."""

from __future__ import annotations

from dataclasses import replace

from tilewright.arch.components.components import Component, Compute
from tilewright.mapper.mapspace.space import Mapspace


def with_most_lanes(space: Mapspace) -> Mapspace | None:
    """Return the mapspace with min_usage 1 in every dimension; None if it is the same.

    Few choices of lanes are left there, and the best mappings are often among them.
    """
    components = tuple(_fully_used(component) for component in space.flat.components)
    if components == space.flat.components:
        return None
    compute = components[-1]
    assert isinstance(compute, Compute)
    flat = replace(space.flat, components=components, compute=compute)
    return space.with_flat(flat)


def _fully_used(component: Component) -> Component:
    return replace(
        component, spatial=tuple(replace(dim, min_usage=1.0) for dim in component.spatial)
    )
