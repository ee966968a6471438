"""Routes to a network of FIFOs: output queues, router buffers, input queues, edge ports.

One router buffer per element and color in use: all its rx ports feed it (two arrivals in one
cycle are an error), its head leaves by all tx ports at once. A queue of depth d behind a latency
of L cycles holds d + L - 1 entries: the registers on the way are full too when it is stopped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tilewright.simulator.engine import layout as at
from tilewright.simulator.errors import ProgramError
from tilewright.simulator.profile import Profile
from tilewright.simulator.program import Program
from tilewright.simulator.routes import OPPOSITE, PORTS, RAMP, STEP, EdgeInput, EdgeOutput, Route
from tilewright.simulator.simd import paired_queues
from tilewright.simulator.steering import (
    Steering,
    all_directions,
    control_colors,
    most_buffers,
    teardown_tasks,
)
from tilewright.simulator.steering import port_groups as groups_of
from tilewright.simulator.tables import CodeLayout

Ids = npt.NDArray[np.int64]
LINKS = 6
"""Links per element: N, E, S, W, ramp to the element, ramp from it."""


@dataclass(frozen=True, slots=True)
class Network:
    """The FIFO network of a program: the engine's table with row numbers, and what a row is."""

    fifo: at.Table
    queue: npt.NDArray[np.int32]
    """(elements, 16): FIFO of each queue slot, -1 if not bound and used."""
    links: int
    ring_entries: int
    element: Ids
    """Element (row * width + column) of each FIFO; of an edge port, the element at its border."""
    kind: Ids
    """OUTPUT, ROUTER, INPUT, EDGE_IN or EDGE_OUT of each FIFO."""
    edge_inputs: tuple[Ids, ...]
    """FIFOs of each edge input, per position."""
    edge_outputs: tuple[Ids, ...]
    words: npt.NDArray[np.int64]
    """(moves, 3): FIFO, element, port of every way a FIFO's words go, for link counts."""
    way: at.Table
    """Ways of the steered router buffers, with row numbers of `state`."""
    state: at.Table
    way_ports: Ids
    """(ways, 5): port of each successor, -1 where there is none."""


OUTPUT, ROUTER, INPUT, EDGE_IN, EDGE_OUT = range(5)


def compile_network(program: Program, layouts: tuple[CodeLayout, ...], profile: Profile) -> Network:
    """Return the FIFO network. Raises ProgramError for a route that leads nowhere."""
    return _NetworkCompiler(program, layouts, profile).compile()


@dataclass(frozen=True, slots=True)
class _Buffers:
    """The router buffers of one color."""

    arrive: Ids
    """(5, elements): buffer that takes what comes in by a port."""
    holders: list[tuple[Ids, Ids]]
    """(buffers, their elements)."""


@dataclass(frozen=True, slots=True)
class _Masks:
    buffers: _Buffers
    rx: npt.NDArray[np.uint8]
    tx: npt.NDArray[np.uint8]


class _NetworkCompiler:
    def __init__(self, program: Program, layouts: tuple[CodeLayout, ...], profile: Profile) -> None:
        self.program = program
        self.layouts = layouts
        self.profile = profile
        self.shape = (program.height, program.width)
        self.elements = program.height * program.width
        self.rows: list[at.Table] = []
        self.kinds: list[Ids] = []
        self.places: list[Ids] = []
        self.count = 0
        self.queue = np.full((self.elements, 16), -1, dtype=np.int32)
        self.links = self.elements * LINKS
        self.successors: list[tuple[Ids, Ids, Ids]] = []
        self.words: list[Ids] = []
        self.border_links: dict[tuple[int, str], int] = {}
        self.entered: set[tuple[int, str, str]] = set()
        codes = program.placement.ravel()
        self.steering = Steering(profile)
        self.commanded = control_colors(program)
        self.places_of = {
            layout.code.name: np.flatnonzero(codes == number).astype(np.int64)
            for number, layout in enumerate(layouts)
        }
        # by columns: those that nobody writes here take no memory
        self.table = np.zeros((self._most_fifos(), at.F_WIDTH), dtype=np.int64, order="F")

    def _most_fifos(self) -> int:
        """Return an upper bound of the FIFOs; rows that stay unused cost no memory."""
        used = [(self.places_of[code.name].size, code) for code in self.program.codes]
        queues = sum(n * (len(c.input_queues) + len(c.output_queues)) for n, c in used)
        return queues + most_buffers(self.program)

    def compile(self) -> Network:
        outputs = [self._edge_output(port) for port in self.program.edge_outputs]
        inputs = [self._edge_input(port) for port in self.program.edge_inputs]
        for color in self.program.colors:
            self._color(color.name, color.id, outputs, inputs)
        self._check_queues_routed()
        fifo = self.table[: self.count]
        self._connect(fifo)
        fifo[:, at.F_RING] = np.cumsum(fifo[:, at.F_CAP]) - fifo[:, at.F_CAP]
        for fifos, ways in self.steering.steered:
            fifo[fifos, at.F_WAY] = ways
            fifo[fifos, at.F_SHARED] |= at.STEERED
        return Network(
            fifo,
            self.queue,
            self.links,
            int(fifo[:, at.F_CAP].sum()),
            _joined(self.places),
            _joined(self.kinds),
            tuple(inputs),
            tuple(outputs),
            np.concatenate(self.words) if self.words else np.zeros((0, 3), np.int64),
            *self.steering.tables(),
        )

    def _add(self, kind: int, places: Ids, capacity: Ids | int, latency: int) -> Ids:
        """Append one FIFO per place; return their numbers."""
        block = self.table[self.count : self.count + places.size]
        numbers = np.arange(self.count, self.count + places.size, dtype=np.int64)
        block[:, at.F_CAP] = capacity
        block[:, at.F_LATENCY] = latency
        block[:, at.F_CREDIT] = 1
        block[:, at.F_WAY] = -1
        block[:, at.F_USER] = -1 if kind == EDGE_OUT else numbers
        block[:, at.F_WAKE] = 0 if kind == EDGE_OUT else 1
        self.rows.append(block)
        self.kinds.append(np.full(places.size, kind, dtype=np.int64))
        self.places.append(places)
        self.count += places.size
        return numbers

    def _border(self, port: EdgeInput | EdgeOutput) -> Ids:
        """Return the elements at an edge port's positions."""
        along = np.arange(port.first, port.first + port.positions, dtype=np.int64)
        height, width = self.shape
        if port.side == "N":
            return along
        if port.side == "S":
            return (height - 1) * width + along
        return along * width + (width - 1 if port.side == "E" else 0)

    def _edge_output(self, port: EdgeOutput) -> Ids:
        return self._add(EDGE_OUT, self._border(port), port.count, self.profile.hop_cycles)

    def _edge_input(self, port: EdgeInput) -> Ids:
        numbers = self._add(EDGE_IN, self._border(port), port.count, 1)
        color = next(color.id for color in self.program.colors if color.name == port.color)
        self.rows[-1][:, at.F_COLOR] = color
        return numbers

    def _color(self, name: str, number: int, outputs: list[Ids], inputs: list[Ids]) -> None:
        """Add the router buffers and queues of one color and note how they feed each other."""
        routes = [route for route in self.program.routes if route.color == name]
        rx, tx = self._masks(routes, name)
        buffers = self._buffers(routes, number, tx.ravel())
        self._output_queues(name, buffers, rx.ravel())
        self._ramps_in(name, buffers, tx.ravel())
        for port in range(4):
            self._links(name, port, _Masks(buffers, rx.ravel(), tx.ravel()), outputs)
        for source, fifos in zip(self.program.edge_inputs, inputs, strict=True):
            if source.color == name:
                self._enter(source, fifos, buffers, rx.ravel())

    def _buffers(self, routes: Sequence[Route], number: int, tx: npt.NDArray[np.uint8]) -> _Buffers:
        """Add a color's router buffers: one per element, several where a switch selects rx."""
        places = np.flatnonzero(tx).astype(np.int64)
        base = np.full(self.elements, -1, dtype=np.int64)
        base[places] = self._router(places, number)
        made = _Buffers(np.tile(base, (5, 1)), [(base[places], places)])
        handlers = teardown_tasks(self.layouts, self.places_of, self.elements, routes)
        for route in routes:
            steered = route.switch or route.filter or route.teardown
            if not steered and route.color not in self.commanded:
                continue
            inside = self._area(route)
            groups = groups_of(route)
            fifos = [base[inside], *(self._router(inside, number) for _ in groups[1:])]
            for group, numbers in zip(groups, fifos, strict=True):
                ports = np.flatnonzero([group >> port & 1 for port in range(5)])
                made.arrive[ports[:, None], inside] = numbers
            made.holders.extend((numbers, inside) for numbers in fifos[1:])
            self.steering.add(route, number, inside, fifos, handlers[inside])
        return made

    def _router(self, places: Ids, color: int) -> Ids:
        hop = self.profile.hop_cycles
        numbers = self._add(ROUTER, places, self.profile.router_buffer_words + hop - 1, hop)
        self.rows[-1][:, at.F_COLOR] = color
        return numbers

    def _area(self, route: Route) -> Ids:
        """Return the elements of a route, row by row."""
        area = route.area
        rows = np.arange(area.row, area.row + area.height, dtype=np.int64)
        columns = np.arange(area.column, area.column + area.width, dtype=np.int64)
        return np.asarray((rows[:, None] * self.shape[1] + columns).ravel())

    def _masks(
        self, routes: Sequence[Route], name: str
    ) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
        """Return rx and tx port bits per element of one color."""
        rx = np.zeros(self.shape, dtype=np.uint8)
        tx = np.zeros(self.shape, dtype=np.uint8)
        for route in routes:
            area = route.area
            rows = slice(area.row, area.row + area.height)
            columns = slice(area.column, area.column + area.width)
            if tx[rows, columns].any():
                row, column = np.argwhere(tx[rows, columns])[0] + (area.row, area.column)
                where = f"element ({row}, {column})"
                raise ProgramError(f"{where} has two routes for color {name}", value=str(area))
            rx[rows, columns], tx[rows, columns] = all_directions(route)
        return rx, tx

    def _output_queues(self, name: str, buffers: _Buffers, rx: npt.NDArray[np.uint8]) -> None:
        latency = self.profile.dispatch_to_link_cycles - self.profile.hop_cycles
        if latency < 1:
            raise ProgramError("dispatch_to_link_cycles must exceed hop_cycles", value=latency)
        for layout in self.layouts:
            for queue in layout.code.output_queues:
                slot = at.OUTPUT_SLOT + queue.id
                if queue.color != name or slot not in layout.queues:
                    continue
                places = self.places_of[layout.code.name]
                bad = places[rx[places] >> RAMP & 1 == 0]
                if bad.size:
                    what = f"output queue {queue.id} sends color {name}, but its router"
                    raise ProgramError(f"{self._at(bad[0])}: {what} has no route for it from R")
                depth = self.profile.output_queue_words[queue.id] + latency - 1
                numbers = self._add(OUTPUT, places, depth, latency)
                self.rows[-1][:, at.F_WAKE] += slot in paired_queues(layout.code)
                self.rows[-1][:, at.F_COLOR] = queue.id
                self.queue[places, slot] = numbers
                self._feed(numbers, buffers.arrive[RAMP, places], places * LINKS + 5)

    def _ramps_in(self, name: str, buffers: _Buffers, tx: npt.NDArray[np.uint8]) -> None:
        latency = self.profile.arrival_to_execute_cycles
        delivered = (tx >> RAMP & 1).astype(bool)
        for layout in self.layouts:
            places = self.places_of[layout.code.name]
            queue = next((q for q in layout.code.input_queues if q.color == name), None)
            reached = places[delivered[places]]
            if queue is None:
                if reached.size:
                    raise ProgramError(
                        f"{self._at(reached[0])}: color {name} is routed to R, but code "
                        f"{layout.code.name} has no input queue for it"
                    )
                continue
            if queue.id in layout.queues and reached.size != places.size:
                missing = places[~delivered[places]]
                what = f"input queue {queue.id} receives color {name}, but its router"
                raise ProgramError(f"{self._at(missing[0])}: {what} has no route for it to R")
            depth = self.profile.input_queue_words[queue.id] + latency - 1
            numbers = self._add(INPUT, reached, depth, latency)
            self.rows[-1][:, at.F_USER] = at.USER_IS_ELEMENT - reached
            self.rows[-1][:, at.F_WAKE] += queue.id in paired_queues(layout.code)
            self.queue[reached, queue.id] = numbers
            ramps = np.full(self.elements, -1, dtype=np.int64)
            ramps[reached] = numbers
            for fifos, homes in buffers.holders:
                mine = ramps[homes] >= 0
                self._feed(fifos[mine], ramps[homes][mine], homes[mine] * LINKS + RAMP)
                self._note(fifos[mine], homes[mine], RAMP)

    def _links(
        self,
        name: str,
        port: int,
        masks: _Masks,
        outputs: list[Ids],
    ) -> None:
        """Connect every router that sends by a port to its neighbour or to an edge output."""
        rx = masks.rx
        leaving = [
            (fifos[masks.tx[homes] >> port & 1 == 1], homes[masks.tx[homes] >> port & 1 == 1])
            for fifos, homes in masks.buffers.holders
        ]
        sources = np.concatenate([fifos for fifos, _ in leaving])
        places = np.concatenate([homes for _, homes in leaving])
        row = places // self.shape[1] + STEP[port][0]
        column = places % self.shape[1] + STEP[port][1]
        inside = (row >= 0) & (row < self.shape[0]) & (column >= 0) & (column < self.shape[1])
        here, there = places[inside], (row * self.shape[1] + column)[inside]
        deaf = (rx[there] >> OPPOSITE[port] & 1) == 0
        if deaf.any():
            raise ProgramError(
                f"{self._at(here[deaf][0])}: color {name} leaves by {PORTS[port]}, but "
                f"{self._at(there[deaf][0])} does not take it from {PORTS[OPPOSITE[port]]}"
            )
        arrive = masks.buffers.arrive[OPPOSITE[port]]
        self._feed(sources[inside], arrive[there], here * LINKS + port)
        outside = places[~inside]
        sinks = np.full(self.elements, -1, dtype=np.int64)
        for sink, fifos in zip(self.program.edge_outputs, outputs, strict=True):
            if sink.color == name and sink.side == PORTS[port]:
                sinks[self._border(sink)] = fifos
        lost = outside[sinks[outside] < 0]
        if lost.size:
            raise ProgramError(
                f"{self._at(lost[0])}: color {name} leaves the grid by {PORTS[port]}, but there "
                "is no edge output"
            )
        self._feed(sources[~inside], sinks[outside], outside * LINKS + port)
        self._note(sources, places, port)

    def _enter(
        self, port: EdgeInput, fifos: Ids, buffers: _Buffers, rx: npt.NDArray[np.uint8]
    ) -> None:
        places = self._border(port)
        deaf = places[(rx[places] >> PORTS.index(port.side) & 1) == 0]
        if deaf.size:
            raise ProgramError(
                f"{self._at(deaf[0])}: edge input {port.name} brings color {port.color} from "
                f"{port.side}, but its router does not take it from there"
            )
        links = [self._border_link(place, port) for place in places.tolist()]
        arrive = buffers.arrive[PORTS.index(port.side)]
        self._feed(fifos, arrive[places], np.array(links, dtype=np.int64))

    def _border_link(self, place: int, port: EdgeInput) -> int:
        """Return the link by which edge inputs enter at a place; all colors share it."""
        if (place, port.side, port.color) in self.entered:
            raise ProgramError(
                f"{self._at(place)}: two edge inputs bring color {port.color} from {port.side}",
                value=port.name,
            )
        self.entered.add((place, port.side, port.color))
        key = (place, port.side)
        if key not in self.border_links:
            self.border_links[key] = self.links
            self.links += 1
        return self.border_links[key]

    def _feed(self, sources: Ids, targets: Ids, links: Ids) -> None:
        self.successors.append((sources, targets, links))

    def _note(self, fifos: Ids, places: Ids, port: int) -> None:
        self.words.append(np.stack([fifos, places, np.full_like(places, port)], axis=1))

    def _connect(self, fifo: at.Table) -> None:
        """Write successors and links into the table; mark FIFOs that share a link."""
        users = np.zeros(self.links, dtype=np.int64)
        for sources, targets, links in self.successors:
            position = fifo[sources, at.F_SUCCESSORS]
            fifo[sources, at.F_NEXT + position] = targets
            fifo[sources, at.F_LINK + position] = links
            fifo[sources, at.F_SUCCESSORS] += 1
            np.add.at(users, links, 1)
        for sources, _, links in self.successors:
            shared = sources[users[links] > 1]
            fifo[shared, at.F_SHARED] = 1

    def _check_queues_routed(self) -> None:
        for layout in self.layouts:
            places = self.places_of[layout.code.name]
            for slot in layout.queues:
                if places.size and (self.queue[places, slot] < 0).any():
                    raise ProgramError(
                        f"{self._at(places[0])}: queue {slot % 8} of code {layout.code.name} has "
                        "no route"
                    )

    def _at(self, element: int) -> str:
        return f"element ({int(element) // self.shape[1]}, {int(element) % self.shape[1]})"


def _joined(parts: list[Ids]) -> Ids:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
