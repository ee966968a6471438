"""The router buffers of colors: which ports feed them, where they send, what they swap.

One buffer per element and color in use, several where a switch or a reconfiguration selects rx.
Several colors are compiled together, as a stack: a site is an element's place for one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile.code.queue_slots import SlotsByColor
from tilewright.simulator.compile.fabric.steering import (
    Steering,
    all_directions,
    control_colors,
    counter_kind,
    port_groups,
    teardown_tasks,
)
from tilewright.simulator.compile.table_blocks import CodeLayout
from tilewright.simulator.isa.machine_errors import ErrorSubject, ProgramError
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import PORTS, Color, Route

Ids = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint8]
AddBuffers = Callable[[Ids, Ids | int], Ids]
"""Add a router buffer at each of some elements, of their colors; return the buffers' numbers."""
MOST_SITES: Final = 1 << 16
"""Sites of several colors together; larger grids are compiled color by color."""
SWAPPED: Final = {"": 0, "x": 0b01010, "y": 0b00101, "xy": 0b11111}
"""Ports (bits) whose arrivals a route takes from the partner of its color."""


@dataclass(frozen=True, slots=True)
class ColorStack:
    """Colors that are compiled together. An element's site for color n is n * elements + element.

    `colors`: of the program; `elements`: number of elements of the grid.
    """

    colors: tuple[Color, ...]
    elements: int

    def elements_of(self, sites: Ids) -> Ids:
        """Return the elements of some sites."""
        return sites if len(self.colors) == 1 else sites % self.elements

    def ids_of(self, sites: Ids) -> Ids | int:
        """Return the numbers of the colors of some sites: one number if there is one color."""
        if len(self.colors) == 1:
            return self.colors[0].id
        ids = np.array([color.id for color in self.colors], dtype=np.int64)
        return np.asarray(ids[sites // self.elements])

    def color_of(self, site: int) -> Color:
        """Return the color of a site."""
        return self.colors[site // self.elements]


@dataclass(frozen=True, slots=True)
class StackRouters:
    """Hold the routers of a stack of colors in all elements. Ports are N, E, S, W and the ramp.

    - `rx`, `tx`: (sites,) the ports that a router takes from and sends to in any configuration, one
      bit each.
    - `swap`: (sites,) the ports at which it takes wavelets of the partner color instead, one bit
      each.
    - `arrive`: (5, sites) FIFO that takes what comes in by each port, -1 for none.
    - `buffers`: (FIFOs, their sites) of all router buffers.
    """

    rx: Bits
    tx: Bits
    swap: Bits
    arrive: Ids
    buffers: list[tuple[Ids, Ids]]

    def takes(self, port: int, *, swapped: bool) -> Ids:
        """Return (sites,) the FIFO that takes a wavelet coming in by a port, or -1.

        port: 0 to 4 for N, E, S, W, ramp. swapped: whether the wavelet is of the partner color,
        which a color swap of the router turns into this one.
        """
        taken = (self.rx >> port & 1 == 1) & (self.swap >> port & 1 == int(swapped))
        return np.where(taken, self.arrive[port], -1)


class Takers(NamedTuple):
    """Hold the FIFOs that take what arrives at each site by one port; -1: none."""

    first: Ids
    """(sites,) buffers of the color, or of its partner where only a swap takes it."""
    second: Ids | None
    """(sites,) buffers of the partner, where a swap on one side only copies the wavelet."""


class QueueColor(NamedTuple):
    """A queue of a code for one color: numbers of code and slot, and the sites of its FIFOs."""

    color: str
    number: int
    slot: int
    sites: Ids


class RoutePiece(NamedTuple):
    """Hold those elements of a route whose routers have the same configurations.

    `configurations`: the route, then what a code can change it to; `elements`: as row * width +
    column.
    """

    configurations: Sequence[Route]
    elements: Ids


class RouterMap:
    """Compile and keep the routers of a program's colors; a stack is compiled at the first call.

    add: a function that appends router buffers to the network of FIFOs and returns their numbers.
    `steering` collects the tables of routers that choose; `places_of` has the elements of each
    code.
    """

    def __init__(
        self, program: Program, layouts: tuple[CodeLayout, ...], profile: Profile, add: AddBuffers
    ) -> None:
        self.program = program
        self.steering = Steering(profile)
        codes = program.placement.ravel()
        self.places_of: Mapping[str, Ids] = {
            layout.code.name: np.flatnonzero(codes == number).astype(np.int64)
            for number, layout in enumerate(layouts)
        }
        self._layouts = layouts
        self._add = add
        self._commanded = control_colors(program)
        self._changed = {
            color for layout in layouts for color, changes in layout.changes.items() if changes
        }
        """Colors whose routes a code changes while it runs."""
        self._by_stack: dict[ColorStack, StackRouters] = {}
        self._routes: dict[str, list[Route]] = {}
        for route in program.routes:
            self._routes.setdefault(route.color, []).append(route)
        swapping = {route.color for route in program.routes if route.swap}
        self._swapping = {color.id for color in program.colors if color.name in swapping}

    def stacks(self) -> tuple[ColorStack, ...]:
        """Return the colors that are compiled together, in the order of the program.

        They are single ones on large grids, and where a router may have several buffers of a color
        or take words of another one.
        """
        colors, elements = self.program.colors, self.program.placement.size
        single = len(colors) * elements > MOST_SITES or self._swapping or self._changed
        if single or any(route.switch for route in self.program.routes):
            return tuple(ColorStack((color,), elements) for color in colors)
        return (ColorStack(colors, elements),) if colors else ()

    def of(self, stack: ColorStack) -> StackRouters:
        """Return the routers of a stack of colors: ports, swaps and router buffers by site.

        Raises ProgramError at the first call if an element has two routes for a color.
        """
        if stack not in self._by_stack:
            self._by_stack[stack] = self._compile(stack)
        return self._by_stack[stack]

    def takers(self, stack: ColorStack, port: int) -> Takers:
        """Return, for each site, the FIFOs that take a wavelet coming in by a port.

        port: 0 to 4 for N, E, S, W, ramp. There may be two where a color swap copies the wavelet.
        Raises ProgramError if an element has two routes for a color or its partner.
        """
        plain = self.of(stack).takes(port, swapped=False)
        partners = {color.id ^ 1 for color in stack.colors} & self._swapping
        if not partners:
            return Takers(plain, None)
        colors = tuple(color for color in self.program.colors if color.id in partners)
        swapped = self.of(ColorStack(colors, stack.elements)).takes(port, swapped=True)
        return Takers(np.where(plain >= 0, plain, swapped), np.where(plain >= 0, swapped, -1))

    def queues(self, stack: ColorStack, slots: SlotsByColor) -> list[QueueColor]:
        """Return the queues that send, or take, the colors of a stack, color by color.

        slots: numbers of code and slot of these queues, by color.
        """
        return [
            QueueColor(color.name, number, slot, plane * stack.elements + places)
            for plane, color in enumerate(stack.colors)
            for number, slot in slots.get(color.name, ())
            for places in (self.places_of[self._layouts[number].code.name],)
        ]

    def swapped_at(self, stack: ColorStack, site: int, port: int) -> str:
        """Say, behind a refusal, that a swap at a site takes a port for the partner alone."""
        routers = self.of(stack)
        if not routers.rx[site] >> port & routers.swap[site] >> port & 1:
            return ""
        color = stack.color_of(site)
        partner = next(c.name for c in self.program.colors if c.id == color.id ^ 1)
        return (
            f": the color swap of {color.name} there takes color {partner} from {PORTS[port]}, "
            f"and {partner} has no swap that takes {color.name}"
        )

    def route_at(self, stack: ColorStack, site: int) -> str:
        """Name the route of a site."""
        row, column = divmod(int(site) % stack.elements, self.program.width)
        name = stack.color_of(site).name
        areas = (r.area for r in self._routes[name] if r.area.holds(row, column))
        return f"route of color {name} in {next(areas)}:"

    def at(self, stack: ColorStack, site: int) -> str:
        """Name the element of a site."""
        return element_name(int(site) % stack.elements, self.program.placement.shape)

    def _compile(self, stack: ColorStack) -> StackRouters:
        rx, tx, swap = self._ports(stack)
        sites = np.flatnonzero(tx)
        numbers = self._add(stack.elements_of(sites), stack.ids_of(sites))
        base = np.full(tx.size, -1, dtype=np.int64)
        base[sites] = numbers
        routers = StackRouters(rx, tx, swap, np.tile(base, (5, 1)), [(numbers, sites)])
        for number, color in enumerate(stack.colors):
            routes = self._routes.get(color.name, [])
            steered = [piece for route in routes for piece in self._steered_pieces(route)]
            if steered:
                handlers = teardown_tasks(self._layouts, self.places_of, stack.elements, routes)
            for _, alike in groupby(steered, _steered_alike):
                pieces = list(alike)
                elements = np.concatenate([piece.elements for piece in pieces])
                sites = number * stack.elements + elements
                piece = RoutePiece(pieces[0].configurations, elements)
                self._steer(routers, color.id, piece, sites, handlers[elements])
                self.steering.set_counters(
                    [(p.configurations[0].filter, p.elements.size) for p in pieces]
                )
        return routers

    def _ports(self, stack: ColorStack) -> tuple[Bits, Bits, Bits]:
        """Return the ports of routers: rx, tx and swaps, as of `StackRouters`."""
        shape = len(stack.colors), *self.program.placement.shape
        rx, tx, swap = (np.zeros(shape, dtype=np.uint8) for _ in range(3))
        for number, color in enumerate(stack.colors):
            for route in self._routes.get(color.name, ()):
                self._set_ports(route, rx[number], tx[number], swap[number])
        return rx.ravel(), tx.ravel(), swap.ravel()

    def _set_ports(self, route: Route, rx: Bits, tx: Bits, swap: Bits) -> None:
        """Set the ports of a route's routers; rx, tx and swap: of its color, as grids."""
        there = route.area.places
        if tx[there].any():
            self._refuse_second(route, tx)
        rx[there], tx[there] = all_directions(route)
        if route.swap:
            swap[there] = SWAPPED[route.swap]
        for configurations, elements in self._pieces(route) if route.color in self._changed else ():
            rx.ravel()[elements], tx.ravel()[elements] = all_directions(*configurations)

    def _refuse_second(self, route: Route, tx: Bits) -> None:
        """Raise ProgramError for a route in an element that has another one. tx: as a grid."""
        area = route.area
        elements = self._area(route)
        place = divmod(int(elements[tx.ravel()[elements] > 0][0]), self.program.width)
        with ErrorSubject(route):
            raise ProgramError(
                f"route of color {route.color} in {area}: element {place} has two routes for it"
            )

    def _steered_pieces(self, route: Route) -> list[RoutePiece]:
        """Return the pieces of a route whose routers choose among their ports, or are changed."""
        chooses = route.switch or route.filter or route.teardown or route.color in self._commanded
        if not chooses and route.color not in self._changed:
            return []
        return [p for p in self._pieces(route) if chooses or len(p.configurations) > 1]

    def _steer(
        self, routers: StackRouters, color: int, piece: RoutePiece, sites: Ids, handlers: Ids
    ) -> None:
        """Add the further buffers of routers that choose, and their rows.

        color: its number; sites: of the piece's elements; handlers: the task of each of them that a
        teardown activates, or -1.
        """
        configurations, elements = piece
        groups = port_groups(*configurations)
        fifos = [routers.arrive[0, sites], *(self._add(elements, color) for _ in groups[1:])]
        for group, numbers in zip(groups[1:], fifos[1:], strict=True):
            ports = np.flatnonzero([group >> port & 1 for port in range(5)])
            routers.arrive[ports[:, None], sites] = numbers
        routers.buffers.extend((numbers, sites) for numbers in fifos[1:])
        self.steering.add(configurations, color, elements, fifos, handlers)

    def _pieces(self, route: Route) -> list[RoutePiece]:
        """Return the pieces of a route: one, or one per code where codes change routes."""
        elements = self._area(route)
        changes = [layout.changes.get(route.color, ()) for layout in self._layouts]
        if not any(changes):
            return [RoutePiece((route,), elements)]
        codes = self.program.placement.ravel()[elements]
        pieces: list[RoutePiece] = []
        for number, route_changes in enumerate(changes):
            configurations = (route, *(change.route(route) for change in route_changes))
            code_elements = elements[codes == number]
            if code_elements.size:
                pieces.append(RoutePiece(configurations, code_elements))
        return pieces

    def _area(self, route: Route) -> Ids:
        """Return the elements of a route, row by row."""
        rows = np.array(route.area.rows, dtype=np.int64)
        columns = np.array(route.area.columns, dtype=np.int64)
        return np.asarray((rows[:, None] * self.program.width + columns).ravel())


def _steered_alike(piece: RoutePiece) -> Hashable:
    """Return a key that is equal for pieces whose routers differ in numbers of filters only."""
    route = piece.configurations[0]
    if len(piece.configurations) > 1 or route.switch is not None:
        return id(piece)
    return route.rx, route.tx, route.teardown, counter_kind(route.filter) or route.filter


def element_name(element: int, shape: tuple[int, ...]) -> str:
    """Name an element (row * width + column) by its row and column. shape: of the grid."""
    return f"element ({int(element) // shape[1]}, {int(element) % shape[1]})"
