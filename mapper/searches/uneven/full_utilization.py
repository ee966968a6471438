"""The part of a mapspace that uses every fanout as far as its rules permit."""

from __future__ import annotations

from dataclasses import replace

from tilewright.arch.components.components import Component, Compute
from tilewright.mapper.mapspace.space import Mapspace


def with_most_lanes(space: Mapspace) -> Mapspace | None:
    """Return the mapspace in which each dimension must use as many lanes as it can.

    That is min_usage 1 everywhere; None if that is so already. Few choices of lanes are left, and
    the best mappings are often among them. A lane is one instance along a dimension of a fanout.
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
