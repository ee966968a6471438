"""Points of a template that share a mapping: their canonical point, and the number of mappings.

Below a holder that is not outermost, loops over which its tile streams stand above its reservation
(`TemporalLoops` over relevant variables where the holder is pinned, then one loop over a window),
all others below. A mapping does not say where the reservation is: loops that could stream do
(nest.py). So a point with such loops right below the reservation has the mapping of another
point, with a smaller tile, which is the canonical one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.mapper.mapspace.lattice import Lattice
from tilewright.mapper.mapspace.lattice_steps import completions_above
from tilewright.mapper.mapspace.points import EXACT, Points
from tilewright.mapper.templates.slots import Reservation, Slot, TemporalLoops
from tilewright.mapper.workload.einsum import TensorAccess


def may_repeat(slots: Sequence[Slot]) -> bool:
    """Tell whether several points of a template may stand for the same mapping.

    So where temporal loops stand right above a reservation (the tile that needs capacity): a
    mapping does not say above which of its loops the tile is reserved. A template is a mapping
    without its loops; a point is one choice of all tile sizes of a template.
    """
    return any(
        isinstance(slot, Reservation) and index > 0 and isinstance(slots[index - 1], TemporalLoops)
        for index, slot in enumerate(slots)
    )


def count_distinct(points: Points) -> int:
    """Return the number of different mappings of a template, whether they fit its memories or not.

    The template must have no adjacent holders (holders with no loop between them whose tiles
    shrink together) and no uneven loops. A template is a mapping without its loops.
    """
    total, exact = _counted(points, np.float64)
    return total if exact else _counted(points, object)[0]


def _counted(points: Points, kind: type) -> tuple[int, bool]:
    """Count the distinct mappings of a template with numbers of one kind: float64 or integers.

    Return the number, and whether float64 holds all numbers exactly.
    """
    lattice, slots = points.lattice, points.slots
    counts: Any = np.zeros(lattice.size, kind)
    counts[0] = 1
    largest, index = 1, len(slots) - 1
    while index >= 0:
        gap = _gap_above(slots, index)
        if gap:
            counts = _distinct_above(points, slots[gap : index + 1], counts)
            index = gap
        else:
            counts = completions_above(lattice, slots[index], counts)
        admitted = points.admitted(index)
        if admitted is not None:
            counts = np.where(admitted, counts, 0)
        largest = max(largest, int(counts.max()))
        index -= 1
    return int(counts[-1]), largest < EXACT


def _gap_above(slots: Sequence[Slot], last: int) -> int | None:
    """Return the first slot of a gap that ends at slot `last` and has loops above a reservation.

    None if there is no such gap.
    """
    index = last - 1 if isinstance(slots[last], TemporalLoops) else last
    if index < 1 or not isinstance(slots[index], Reservation):
        return None
    first = index
    while first > 0 and isinstance(slots[first - 1], TemporalLoops):
        first -= 1
    return first if first < index else None


def _distinct_above(points: Points, gap: Sequence[Any], counts: Any) -> Any:
    """Return the number of distinct mappings above one gap, per state; `counts`: from those below.

    All loops that can stand above the gap's reservation do. With S one loop over a window and R the
    loops below: S R with some S, and without any S those of R that begin with a loop over which the
    tile does not stream, or none.
    """
    lattice = points.lattice
    place = next(i for i, slot in enumerate(gap) if isinstance(slot, Reservation))
    below = [v for loops in gap[place + 1 :] for v in loops.variables]
    access = points.problem.einsum.access(gap[place].tensor)
    distinct = _over(lattice, _with_relevance(access, below, "irrelevant", "partial"), counts)
    for slot in gap[:place]:
        if slot.single:
            slides = _with_relevance(access, below, "partial")
            without_window = distinct - _over(lattice, slides, counts) + counts
            looped = _over(lattice, below, counts)
            with_window = completions_above(lattice, slot, looped) - looped
            distinct = with_window + without_window
    for slot in gap[:place]:
        if not slot.single:
            distinct = completions_above(lattice, slot, distinct)
    return distinct


def _with_relevance(access: TensorAccess, variables: Sequence[str], *kinds: str) -> list[str]:
    return [v for v in variables if access.relevance(v) in kinds]


def _over(lattice: Lattice, variables: Sequence[str], counts: Any) -> Any:
    return (
        completions_above(lattice, TemporalLoops(tuple(variables)), counts) if variables else counts
    )
