"""Memories of an Array that are spread over its grid (accelforge.md §1.1, `Array`)."""

from __future__ import annotations

from fractions import Fraction

from tilewright.arch.components import Component
from tilewright.mapper.model.tally import Tally
from tilewright.mapper.model.view import Count


def active_places(component: Component, tally: Tally) -> Count:
    """Return how many places of a distributed memory share its work: 1 outside of Arrays.

    A place serves `grid fanout / places` instances of each dimension of the grid below.
    """
    if not component.physical_spatial:
        return 1
    below = tally.view.flat.components[tally.view.index[component.name] + 1 :]
    grid = next((other for other in below if other.spatial), None)
    active: Count = 1
    for dim in component.physical_spatial:
        for other in grid.spatial if grid is not None else ():
            if other.name == dim.name and grid is not None:
                stride = Fraction(other.fanout, dim.fanout)
                active *= max(Fraction(1), tally.used[grid.name, dim.name] / stride)
    return active
