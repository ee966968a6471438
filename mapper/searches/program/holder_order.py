"""Check that no holder stands below spatial loops of a deeper level.

A holder sees exactly the lanes of its own level and of outer levels above it. Where the
conventions do not let loops sink (out_of_order.py), the dynamic program models no other order.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.slots import Fill, Slot
from tilewright.mapper.templates.spatial_choices import SpatialLoops
from tilewright.mapper.workload.errors import UnsupportedFeature


def check_order(problem: Problem, slots: Sequence[Slot]) -> None:
    """Raise UnsupportedFeature if a holder stands below lanes of a deeper component.

    Lanes are instances of a fanout. For conventions under which the dynamic program models no such
    order.
    """
    misplaced = below_deeper_lanes(problem, slots)
    if misplaced is not None:
        slot, level = misplaced
        raise UnsupportedFeature(
            f"{slot.tensor} in {slot.component} stands below lanes of"
            f" {problem.components[level].name}, a lower level",
            instead="set force_memory_hierarchy_order: true on one of the two memories,"
            " or use the exhaustive search",
        )


def below_deeper_lanes(problem: Problem, slots: Sequence[Slot]) -> tuple[Fill, int] | None:
    """Return the first holder below lanes of a deeper component, and the latter's level.

    None if there is none. The level is the deepest so far on the path, 0 for the outermost. A lane
    is one instance along a dimension of a fanout.
    """
    deepest = -1
    for slot in slots:
        if isinstance(slot, SpatialLoops) and any(prod(choice) > 1 for choice in slot.choices):
            deepest = max(deepest, problem.level(slot.component))
        elif isinstance(slot, Fill) and problem.level(slot.component) < deepest:
            return slot, deepest
    return None
