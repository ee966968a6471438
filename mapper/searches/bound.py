"""What searches by chance take from the exact machinery: a bound, and a first mapping."""

from __future__ import annotations

from math import inf

from tilewright.mapper.explain.reach import first_mapping
from tilewright.mapper.mapspace.locate import Place
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.errors import UnsupportedFeature
from tilewright.mapper.searches.exact import ExactSearch
from tilewright.mapper.searches.metrics import Goal


def lower_bound(space: Mapspace, goal: Goal) -> float:
    """Return the bound that the exact search starts from, 0 where that search does not apply.

    It looks at one reservation at a time (lattice-dp.md §9.2), which takes one pass.
    """
    try:
        bound = ExactSearch().bound(space, goal)
    except UnsupportedFeature:
        return 0.0
    return bound if bound < inf else 0.0


def roomiest(space: Mapspace) -> Place | None:
    """Return a place that needs little room; None if the mapspace is empty, which is certain."""
    found = first_mapping(space)
    if found is None:
        return None
    template, tiles = found
    return Place(space.templates.index(template), tiles)
