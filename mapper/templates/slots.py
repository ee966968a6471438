"""What stands in a template, from the outermost slot in: holders, loops, lanes, reservations."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.mapper.model.view import Count
from tilewright.mapper.templates.lane_variants import DimName, Lanes
from tilewright.mapper.templates.spatial_choices import SpatialLoops


@dataclass(frozen=True, slots=True)
class Fill:
    """The node of a holder: its tile is the one that the loops above leave."""

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
    """The tile that `component` must have room for: the one that the loops above leave.

    `persistent`: it stays there for every instance of the Einsum (model.md §4.2). `lanes`:
    written above, but seen below it, so that its tile is as much larger; `under`: dimensions with
    such lanes that are still to be chosen. `places`: how many places of a distributed memory share
    it.
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
