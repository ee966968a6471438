"""Tolls above the lowest tensor on chip: where among the shared loops a tensor passes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tilewright.arch.components import Toll
from tilewright.arch.flat import FlatArch
from tilewright.mapper.cascade.lower import Part
from tilewright.mapper.mapspace.frame import Frame
from tilewright.mapper.mapspace.placement import Holder
from tilewright.mapper.mapspace.slots import Fill, Pass


class Passage(NamedTuple):
    """`toll` stands right above region holder number `place` (one more than the last: below all),
    or, if there are any, above the innermost `lanes` lanes that deal out the region."""

    toll: Pass
    place: int
    lanes: int


def tolls_in(flats: Iterable[FlatArch]) -> tuple[str, ...]:
    """Return the names of the Tolls on some paths."""
    found = (c.name for flat in flats for c in flat.components if isinstance(c, Toll))
    return tuple(dict.fromkeys(found))


def passages(frame: Frame, part: Part) -> list[Passage]:
    """Return what passes Tolls above the lowest tensor on chip, outermost first.

    A Toll stands right above the next holder of its tensor in a deeper memory; where it is above
    the fanout of lanes, above these.
    """
    region = part.layout.region
    found: list[Passage] = []
    for toll in _tolls_above(part):
        level = frame.level(toll.component)
        below = (i for i, holder in enumerate(region) if _reaches(frame, toll, holder))
        lanes = sum(spread.place[0] > level for spread in part.spreads)
        found.append(Passage(toll, next(below, len(region)), lanes))
    return sorted(found, key=lambda one: one.place)


def _reaches(frame: Frame, toll: Pass, holder: Holder) -> bool:
    deeper = frame.level(holder.component) > frame.level(toll.component)
    return toll.tensor == holder.tensor and deeper and not holder.backing


def _tolls_above(part: Part) -> list[Pass]:
    """Return what passes a Toll above the lowest tensor on chip."""
    slots = part.program.skeleton
    fills = [i for i, slot in enumerate(slots) if isinstance(slot, Fill)]
    return [slot for slot in slots[: fills[part.layout.split]] if isinstance(slot, Pass)]
