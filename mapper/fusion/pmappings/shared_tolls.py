"""Tolls above the lowest tensor on chip: where among the shared loops a tensor passes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tilewright.arch.components.components import Toll
from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.fusion.pmappings.inner_programs import InnerProgram
from tilewright.mapper.templates.placement import Holder
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.slots import Fill, TollCrossing


class TollPassage(NamedTuple):
    """`toll` stands right above region holder number `place` (one more than the last: below all),
    or right below the outermost `lanes` lanes, above others that stand above that holder."""

    toll: TollCrossing
    region_place: int
    lanes_above: int | None


def tolls_in(flats: Iterable[FlatArch]) -> tuple[str, ...]:
    """Return the names of the Tolls on some paths."""
    found = (c.name for flat in flats for c in flat.components if isinstance(c, Toll))
    return tuple(dict.fromkeys(found))


def toll_passages(problem: Problem, part: InnerProgram) -> list[TollPassage]:
    """Return what passes Tolls above the lowest tensor on chip, outermost first.

    A Toll stands right above the next holder of its tensor in a deeper memory, or above the first
    lanes of a deeper level if these come first.
    """
    region = part.template.region
    found: list[TollPassage] = []
    for toll in _tolls_above(part):
        level = problem.level(toll.component)
        below = (i for i, holder in enumerate(region) if _reaches(problem, toll, holder))
        place = next(below, len(region))
        lanes = (n for n, spread in enumerate(part.spatial_loops) if spread.position[0] > level)
        first = next(lanes, None)
        if first is not None and part.spatial_loops[first].region_place <= place:
            found.append(TollPassage(toll, part.spatial_loops[first].region_place, first))
        else:
            found.append(TollPassage(toll, place, None))
    return sorted(found, key=lambda one: one.region_place)


def _reaches(problem: Problem, toll: TollCrossing, holder: Holder) -> bool:
    deeper = problem.level(holder.component) > problem.level(toll.component)
    return toll.tensor == holder.tensor and deeper and not holder.backing


def _tolls_above(part: InnerProgram) -> list[TollCrossing]:
    """Return what passes a Toll above the lowest tensor on chip."""
    slots = part.program.slot_sequence
    fills = [i for i, slot in enumerate(slots) if isinstance(slot, Fill)]
    return [
        slot
        for slot in slots[: fills[part.template.lowest_on_chip]]
        if isinstance(slot, TollCrossing)
    ]
