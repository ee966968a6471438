"""Colors, routes by rectangles of elements, and the ports at the border of the grid.

Row 0 is north, column 0 is west. A router has five ports: N, E, S, W and R (the ramp to its
element). rx R takes wavelets from the element, tx R delivers wavelets to the element.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

PORTS: Final = ("N", "E", "S", "W", "R")
"""Port names by number; link words in a trace are indexed by it."""
RAMP: Final = 4
OPPOSITE: Final = (2, 3, 0, 1, 4)
STEP: Final = ((-1, 0), (0, 1), (1, 0), (0, -1))
"""(row, column) step of each link port."""


@dataclass(frozen=True, slots=True)
class Color:
    """A named virtual channel; `id` is the routable color number."""

    name: str
    id: int


@dataclass(frozen=True, slots=True)
class Area:
    """A rectangle of elements: rows row..row+height-1, columns column..column+width-1."""

    row: int
    column: int
    height: int = 1
    width: int = 1

    def __str__(self) -> str:
        rows, columns = self.row + self.height, self.column + self.width
        return f"[{self.row}:{rows}, {self.column}:{columns}]"


@dataclass(frozen=True, slots=True)
class Route:
    """What every router of an area does with a color: wavelets of `rx` ports go to all of `tx`.

    One configuration per element and color; a route with several tx ports is a multicast.
    """

    color: str
    area: Area
    rx: tuple[str, ...]
    tx: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EdgeInput:
    """Streams that enter over border links, one per position first..first+positions-1.

    A position is a column on the sides N and S, a row on W and E. Wavelet i of a stream waits
    outside from cycle `start + i * interval` on and enters when the router takes it.
    Run-time data: an array (positions, count) of `dtype`.
    """

    name: str
    side: str
    first: int
    positions: int
    color: str
    dtype: str
    count: int
    interval: int = 1
    start: int = 0


@dataclass(frozen=True, slots=True)
class EdgeOutput:
    """Streams that leave over border links; each position expects exactly `count` wavelets.

    The run returns values and arrival cycles as arrays (positions, count).
    """

    name: str
    side: str
    first: int
    positions: int
    color: str
    dtype: str
    count: int
