"""The kinds of slots of a template: fills, loops, reservations and Toll crossings.

A template is a sequence of slots, outermost first (slot_sequence.py); a point of the mapspace gives
the tile below each slot.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tilewright.mapper.model.paths.view import Count
from tilewright.mapper.templates.spatial_choices import DimName, Lanes, SpatialLoops


@dataclass(frozen=True, slots=True)
class Fill:
    """The Storage node of a holder in a template: here its memory is filled with a tile.

    `tensor`, `component`: names. `backing`: the outermost holder of the tensor, above all loops.
    The tile with which it is filled is the one that the loops above leave.
    """

    tensor: str
    component: str
    backing: bool


@dataclass(frozen=True, slots=True)
class TemporalLoops:
    """A place of a template where temporal loops may stand.

    `variables`: rank variables over which loops may run, in any number; `single`: over at most one
    of them. A template is a mapping without its loops.
    """

    variables: tuple[str, ...]
    single: bool = False


@dataclass(frozen=True, slots=True)
class Reservation:
    """A tile of a tensor for which a memory must have capacity, at its place in a template.

    The tile is what the loops above it leave. `tensor`, `component`: names. `persistent`: it stays
    for every instance of the Einsum (theory/model.md §4.2). `lanes`: pairs (rank variable, lanes)
    of spatial loops written above the holder but acting below it, by which the tile is larger.
    `open_dims`: pairs (component, dimension) of such loops whose lanes are not chosen yet.
    `places`: instances of a memory spread over an Array that share the tile. A template is a
    mapping without its loops.
    """

    tensor: str
    component: str
    persistent: bool = False
    lanes: Lanes = ()
    open_dims: tuple[DimName, ...] = ()
    places: Count = 1


@dataclass(frozen=True, slots=True)
class TollCrossing:
    """The place of a template where a tensor passes a Toll, which charges each value that goes by.

    `tensor`, `component`: names of the tensor and the Toll.
    """

    tensor: str
    component: str


def reservations_in(slots: Iterable[Slot], memory: str) -> dict[int, Reservation]:
    """Return the reservations in a memory among the slots of a template, by the slot's number.

    A template is a mapping without its loops; a slot is a place of a template for loops, a fill or
    a reserved tile.
    """
    return {
        index: slot
        for index, slot in enumerate(slots)
        if isinstance(slot, Reservation) and slot.component == memory
    }


Slot = Fill | TemporalLoops | Reservation | TollCrossing | SpatialLoops
"""Any slot; the last kind is the spatial loops of one dimension."""
