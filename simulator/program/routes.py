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
    """A named virtual channel of the network; `id` is the number of the routable color."""

    name: str
    id: int


@dataclass(frozen=True, slots=True)
class Area:
    """Elements at the crossings of some rows and columns: a rectangle, or every n-th of its lines.

    `height` rows from `row` on, each `row_step` behind the one before, and so the columns. Row 0 is
    north, column 0 is west. Area(0, 1, 8, 4, column_step=2) has columns 1, 3, 5 and 7 of rows 0 to
    7; its text is [0:8, 1:8:2].
    """

    row: int
    column: int
    height: int = 1
    width: int = 1
    row_step: int = 1
    column_step: int = 1

    @staticmethod
    def of(rows: range, columns: range) -> Area:
        """Return the area at the crossings of some rows and columns, at least one of each."""
        steps = (lines.step if len(lines) > 1 else 1 for lines in (rows, columns))
        return Area(rows.start, columns.start, len(rows), len(columns), *steps)

    @property
    def rows(self) -> range:
        """The numbers of its rows."""
        return range(self.row, self.row + self.height * self.row_step, self.row_step)

    @property
    def columns(self) -> range:
        """The numbers of its columns."""
        return range(self.column, self.column + self.width * self.column_step, self.column_step)

    @property
    def places(self) -> tuple[slice, slice]:
        """The index of its elements in an array (rows, columns) of a grid."""
        row_end, column_end = self.ends
        return (
            slice(self.row, row_end, self.row_step),
            slice(self.column, column_end, self.column_step),
        )

    @property
    def ends(self) -> tuple[int, int]:
        """The row and the column behind its last ones."""
        row_end = self.row + (self.height - 1) * self.row_step + 1
        return row_end, self.column + (self.width - 1) * self.column_step + 1

    @property
    def size(self) -> int:
        """Number of its elements."""
        return self.height * self.width

    @property
    def transposed(self) -> Area:
        """The area with rows and columns exchanged."""
        return Area(self.column, self.row, self.width, self.height, self.column_step, self.row_step)

    def holds(self, row: int, column: int) -> bool:
        """Return whether the element at (row, column) is in the area."""
        return row in self.rows and column in self.columns

    def __str__(self) -> str:
        row_step = f":{self.row_step}" if self.row_step != 1 else ""
        column_step = f":{self.column_step}" if self.column_step != 1 else ""
        row_end, column_end = self.ends
        return f"[{self.row}:{row_end}{row_step}, {self.column}:{column_end}{column_step}]"


SWAPS: Final = ("", "x", "y", "xy")
POP_MODES: Final = ("no_pop", "always_pop", "pop_on_advance", "pop_on_advance_nop")


@dataclass(frozen=True, slots=True)
class Position:
    """One position of a router's switch: the ports that it uses in place of the route's.

    `rx`: ports that wavelets are taken from, `tx`: ports that they are sent to, letters of N E S W
    R (R: the ramp to the element); None keeps the route's. A position that changes nothing is
    invalid: the switch does not advance to it.
    """

    rx: tuple[str, ...] | None = None
    tx: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Switch:
    """The switch of a route: up to three further positions; position 0 is the route itself.

    `positions`: numbers 1 to 3. `current`: the number at the start. The command switch_adv of a
    control wavelet moves to the next position; if that is missing or invalid, to position 0 with
    `ring`, else the switch stays. `pop`: when this router removes the first of a control wavelet's
    commands, so that the next router obeys the one behind it: no_pop, always_pop, pop_on_advance
    (when the position has changed) or pop_on_advance_nop (then, and for the command nop).
    """

    positions: tuple[Position, ...]
    current: int = 0
    ring: bool = False
    pop: str = "no_pop"


@dataclass(frozen=True, slots=True)
class CounterFilter:
    """A filter at the ramp of a router: by a counter it keeps some wavelets from the element.

    The counter starts at `start`; each data wavelet (`count_data`) and each control wavelet
    (`count_control`) for the element adds 1 and is rejected if the counter is then above `most`. At
    `limit` the counter goes back to 0. Example: limit 4 and most 1 let the first of every four
    wavelets pass. What is not counted passes, except with `filter_control`: then only control
    wavelets pass, and only at the count `most`. A sparse counter (`sparse`, or one with an
    `other_limit`) works once: at `limit` it goes on with `other_limit`; after that one, or without
    one at once, nothing is filtered.
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
        """Whether the filter works once only, so that after its limits everything passes."""
        return self.sparse or self.other_limit is not None


@dataclass(frozen=True, slots=True)
class RangeFilter:
    """A filter at the ramp of a router: only data wavelets with an index in low..high pass.

    The index is the upper half of a wavelet, 0..65535. Control wavelets always pass to the element.
    """

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Route:
    """What the router of each element of an area does with the wavelets of one color.

    It takes them from the ports `rx` and sends each to all ports `tx` (N, E, S, W, or R, the ramp
    to the element); several tx ports are a multicast. `switch`: further positions that control
    wavelets select; `filter`: at the ramp; `teardown`: starts torn down, nothing moves until the
    element ends that. `swap` exchanges colors (WSE-2): for wavelets from E and W (x), N and S (y)
    or all ports (xy) the router takes for this color those of its partner, the color whose id
    differs in the lowest bit. With a swap on one of the two only, the partner's wavelets come on
    both. What arrives is still subject to `rx`. An element has one route per color.
    """

    color: str
    area: Area
    rx: tuple[str, ...]
    tx: tuple[str, ...]
    switch: Switch | None = None
    filter: CounterFilter | RangeFilter | None = None
    teardown: bool = False
    swap: str = ""
    """One of SWAPS (WSE-2)."""

    def directions(self) -> tuple[Position, ...]:
        """Return the rx and tx ports of every switch position, position 0 (the route) first."""
        later = self.switch.positions if self.switch is not None else ()
        changed = (Position(p.rx or self.rx, p.tx or self.tx) for p in later)
        return (Position(self.rx, self.tx), *changed)


class RouteChange(Protocol):
    """An instruction that gives one element's router another route of a color while it runs."""

    def route(self, before: Route) -> Route:
        """Return the route `before` with the new ports, switch and filter."""


@dataclass(frozen=True, slots=True)
class EdgeInput:
    """Streams of wavelets that enter the grid over its border, one per position.

    `side`: N, E, S or W; positions first..first+positions-1 are columns on N and S, rows on W and
    E. Each stream brings `count` wavelets of `color`, values of `dtype`. Wavelet i may enter from
    cycle `start + i * interval` on and waits outside until the router takes it. The values are
    given to the run as an array (positions, count). `control`: they are control wavelets, whose
    u32 values `control_wavelet` makes. `name`: the key of the run's data.
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
    """Streams of wavelets that leave the grid over its border, one per position.

    `side`: N, E, S or W; positions first..first+positions-1 are columns on N and S, rows on W and
    E. Each position must get exactly `count` wavelets of `color`; with fewer or more the run raises
    DeadlockError. It returns their values (`dtype`) and arrival cycles as arrays (positions, count)
    under `name`. Two wavelets leave a position at least `interval` cycles apart; later ones wait
    outside the grid, where there is always space.
    """

    name: str
    side: str
    first: int
    positions: int
    color: str
    dtype: str
    count: int
    interval: int = 1
