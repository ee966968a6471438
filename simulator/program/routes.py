"""Colors, routes by rectangles of elements, and the ports at the border of the grid.

Row 0 is north, column 0 is west. A router has five ports: N, E, S, W and R (the ramp to its
element). rx R takes wavelets from the element, tx R delivers wavelets to the element.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

PORTS: Final = ("N", "E", "S", "W", "R")
"""Port names by number; link words in a trace are indexed by it."""
MAX_ELEMENTS: Final = 1 << 24
"""Elements of a grid: twenty wafers."""
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

    def holds(self, row: int, column: int) -> bool:
        """Return whether an element is in the area."""
        in_rows = self.row <= row < self.row + self.height
        return in_rows and self.column <= column < self.column + self.width

    def __str__(self) -> str:
        rows, columns = self.row + self.height, self.column + self.width
        return f"[{self.row}:{rows}, {self.column}:{columns}]"


SWAPS: Final = ("", "x", "y", "xy")
POP_MODES: Final = ("no_pop", "always_pop", "pop_on_advance", "pop_on_advance_nop")


@dataclass(frozen=True, slots=True)
class Position:
    """A switch position: the directions that it changes; without one those of the route stay.

    A position that changes nothing is invalid: the switch does not advance to it.
    """

    rx: tuple[str, ...] | None = None
    tx: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Switch:
    """Positions 1 to 3 of a route; position 0 is the route itself.

    The command SWITCH_ADV of a control wavelet moves to the next position; where that is invalid
    or missing, to position 0 in ring mode, else it stays. A pop mode says when a control wavelet
    loses its first command (the commands behind it move up) at this router; an advance counts
    when the position has changed.
    """

    positions: tuple[Position, ...]
    current: int = 0
    ring: bool = False
    pop: str = "no_pop"


@dataclass(frozen=True, slots=True)
class CounterFilter:
    """Keep wavelets from the element by counting those that come to it.

    The counter starts at `start`, counts each counted wavelet, and starts again from 0 at
    `limit`; a wavelet is rejected when the counter is above `most`. With `filter_control` only
    control wavelets pass, and only when the counter is at `most`.

    A sparse counter (`sparse`, or with an `other_limit`): when it reaches `limit`, that becomes
    `other_limit`; when it reaches that one too, or without one at once, nothing is filtered any
    more.
    """

    limit: int
    most: int
    start: int = 0
    other_limit: int | None = None
    count_data: bool = True
    count_control: bool = False
    filter_control: bool = False
    sparse: bool = False

    @property
    def is_sparse(self) -> bool:
        return self.sparse or self.other_limit is not None


@dataclass(frozen=True, slots=True)
class RangeFilter:
    """Let data wavelets with an index in low..high to the element, and every control wavelet."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Route:
    """What every router of an area does with a color: wavelets of `rx` ports go to all of `tx`.

    One configuration per element and color; a route with several tx ports is a multicast.

    A color swap (`swap`: x for what comes from E and W, y from N and S, xy these and R) makes the
    router take for this color the wavelets of its partner, the color whose id differs in the
    lowest bit. So both colors of a pair swapped are exchanged; with one of them swapped, its
    partner's wavelets come on both colors. What arrives is still subject to `rx`.
    """

    color: str
    area: Area
    rx: tuple[str, ...]
    tx: tuple[str, ...]
    switch: Switch | None = None
    filter: CounterFilter | RangeFilter | None = None
    teardown: bool = False
    """The color starts torn down: nothing moves until the element ends the teardown."""
    swap: str = ""
    """One of SWAPS (WSE-2)."""

    def directions(self) -> tuple[Position, ...]:
        """Return rx and tx of every position, the route itself first."""
        later = self.switch.positions if self.switch is not None else ()
        changed = (Position(p.rx or self.rx, p.tx or self.tx) for p in later)
        return (Position(self.rx, self.tx), *changed)


class RouteChange(Protocol):
    """What gives an element's router another route, switch and filter of a color."""

    def route(self, before: Route) -> Route:
        """Return the route of an area after the change."""


@dataclass(frozen=True, slots=True)
class EdgeInput:
    """Streams that enter over border links, one per position first..first+positions-1.

    A position is a column on the sides N and S, a row on W and E. Wavelet i of a stream waits
    outside from cycle `start + i * interval` on and enters when the router takes it.
    Run-time data: an array (positions, count) of `dtype`. `control`: they are control wavelets
    (wavelets.control_wavelet gives their values, dtype u32).
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
    control: bool = False


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
