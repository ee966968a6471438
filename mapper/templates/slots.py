"""The kinds of slots of a template: fills, loops, reservations and Toll crossings.

A template is a sequence of slots, outermost first (slot_sequence.py); a point of the mapspace gives
the tile below each slot.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.mapper.model.view import Count
from tilewright.mapper.templates.spatial_choices import DimName, Lanes, SpatialLoops


@dataclass(frozen=True, slots=True)
class Fill:
    """The Storage node of a holder; the loops above it leave the tile with which it is filled."""

    tensor: str
    component: str
    backing: bool


@dataclass(frozen=True, slots=True)
class TemporalLoops:
    """Temporal loops over any of `variables`; `single`: over one of them at most."""

    variables: tuple[str, ...]
    single: bool = False


@dataclass(frozen=True, slots=True)
class Reservation:
    """The tile for which `component` must have capacity: the one that the loops above leave.

    `persistent`: it stays there for every instance of the Einsum (model.md §4.2). `lanes`:
    spatial loops written above the holder, but seen below it, so that its tile is as much larger;
    `open_dims`: dimensions with such loops whose lanes are not chosen yet. `places`: how many
    places of a distributed memory share the tile.
    """

    tensor: str
    component: str
    persistent: bool = False
    lanes: Lanes = ()
    open_dims: tuple[DimName, ...] = ()
    places: Count = 1


@dataclass(frozen=True, slots=True)
class TollCrossing:
    """`tensor` crosses a Toll here."""

    tensor: str
    component: str


Slot = Fill | TemporalLoops | Reservation | TollCrossing | SpatialLoops
"""Any slot; the last kind is the spatial loops of one dimension."""
