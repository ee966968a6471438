"""Routes to a network of FIFOs: output queues, router buffers, input queues, edge ports.

One router buffer per element and color in use: all its rx ports feed it (two arrivals in one
cycle are an error), its head leaves by all tx ports at once. A queue of depth d behind a latency
of L cycles holds d + L - 1 entries: the registers on the way are full too when it is stopped.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.code.queue_slots import first_color, slots_by_color
from tilewright.simulator.compile.code.simd_modes import paired_queues
from tilewright.simulator.compile.fabric.connections import (
    Feed,
    SteeredTables,
    connect,
    connect_swap_copies,
    mark_shared,
)
from tilewright.simulator.compile.fabric.network import (
    EDGE_IN,
    EDGE_OUT,
    INPUT,
    OUTPUT,
    ROUTER,
    FifoNetwork,
    Ids,
    Rows,
    border_elements,
)
from tilewright.simulator.compile.fabric.routers import ColorRouters, RouterMap, Takers
from tilewright.simulator.compile.fabric.steering import most_buffers
from tilewright.simulator.compile.table_blocks import CodeLayout
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import OPPOSITE, PORTS, RAMP, STEP, Color, EdgeInput

LINKS = 6
"""Links per element: N, E, S, W, ramp to the element, ramp from it."""
MOST_WORDS: Final = 1 << 27
"""Places for words in all queues, router buffers and edge ports; each takes 16 bytes."""


def compile_network(
    program: Program, layouts: tuple[CodeLayout, ...], profile: Profile
) -> FifoNetwork:
    """Compile routes, queues and edge ports of a program to a network of FIFOs.

    layouts: what each code needs of queues and routers; profile: depths (words) and latencies
    (cycles). Raises ProgramError for routes, queues and edge ports that do not fit together (a
    route that leads nowhere, two routes of a color at an element, a queue without a route), and for
    more than 2^27 words of space in all FIFOs.
    """
    compiler = _NetworkCompiler(program, layouts, profile)
    network = compiler.compile()
    del compiler.routers  # the two hold each other, and arrays as large as the grid
    return network


class _NetworkCompiler:
    def __init__(self, program: Program, layouts: tuple[CodeLayout, ...], profile: Profile) -> None:
        self.program = program
        self.layouts = layouts
        self.profile = profile
        self.shape = (program.height, program.width)
        self.elements = program.height * program.width
        self.rows: list[Rows] = []
        self.kinds: list[npt.NDArray[np.int8]] = []
        self.places: list[Ids] = []
        self.count = 0
        self.queue = np.full((self.elements, 16), -1, dtype=np.int32)
        self.closed: list[Ids] = []
        self.links = self.elements * LINKS
        self.copies: list[Feed] = []
        self.leaving: tuple[list[Ids], ...] = tuple([] for _ in range(5))
        self.border_links: dict[tuple[int, str], int] = {}
        self.entered: set[tuple[int, str, str]] = set()
        self.senders, self.receivers = slots_by_color(layouts)
        self.routers = RouterMap(program, layouts, profile, self._router)
        self.places_of = self.routers.places_of
        self.bound = tuple(
            np.full((self.places_of[layout.code.name].size, len(layout.bindings)), -1, np.int64)
            for layout in layouts
        )
        # by columns: those that nobody writes here take no memory
        self.table = np.zeros((self._most_fifos(), at.F_WIDTH), dtype=np.int32, order="F")

    def _most_fifos(self) -> int:
        """Return an upper bound of the FIFOs; rows that stay unused cost no memory."""
        used = [(self.places_of[code.name].size, code) for code in self.program.codes]
        queues = sum(n * (len(c.input_queues) + len(c.output_queues)) for n, c in used)
        queues += sum(bound.size for bound in self.bound)
        changed = {color for layout in self.layouts for color in layout.changes}
        return queues + most_buffers(self.program, changed)

    def compile(self) -> FifoNetwork:
        hop = self.profile.hop_cycles
        outputs = [
            self._add(EDGE_OUT, border_elements(port, self.shape), port.count, hop)
            for port in self.program.edge_outputs
        ]
        inputs = [self._edge_input(port) for port in self.program.edge_inputs]
        for color in self.program.colors:
            self._color(color, outputs, inputs)
        self._check_queues_routed()
        fifo = self.table[: self.count]
        words = int(fifo[:, at.F_CAP].sum())
        if words > MOST_WORDS:
            raise ProgramError(
                f"program {self.program.name}: its queues, router buffers and edge ports hold more "
                f"than {MOST_WORDS} words on {self.profile.name}",
                value=words,
                instead="shorter queues, latencies or streams, or fewer elements",
            )
        steering = self.routers.steering
        for fifos, selectors in steering.steered:
            fifo[fifos, at.F_WAY] = selectors
            fifo[fifos, at.F_SHARED] |= at.STEERED
        steered = SteeredTables(*steering.tables())
        mark_shared(fifo, self.links)
        connect_swap_copies(fifo, self.copies, steered)
        return FifoNetwork(
            fifo,
            self.queue,
            self.links,
            words,
            _joined(self.places).astype(np.int32),
            np.concatenate([np.zeros(0, dtype=np.int8), *self.kinds]),
            tuple(inputs),
            tuple(outputs),
            tuple(_joined(fifos_of_port).astype(np.int32) for fifos_of_port in self.leaving),
            steered,
            self.bound,
            _joined(self.closed),
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
        self.kinds.append(np.full(places.size, kind, dtype=np.int8))
        self.places.append(places)
        self.count += places.size
        return numbers

    def _edge_input(self, port: EdgeInput) -> Ids:
        numbers = self._add(EDGE_IN, border_elements(port, self.shape), port.count, 1)
        color = next(color.id for color in self.program.colors if color.name == port.color)
        self.rows[-1][:, at.F_COLOR] = color
        return numbers

    def _color(self, color: Color, outputs: list[Ids], inputs: list[Ids]) -> None:
        """Add the router buffers and queues of one color and note how they feed each other."""
        routers = self.routers.of(color)
        self._output_queues(color)
        self._ramps_in(color.name, routers)
        fifos, elements = (np.concatenate(parts) for parts in zip(*routers.buffers, strict=True))
        for port in range(4):
            leaves = routers.tx[elements] >> port & 1 == 1
            if leaves.any():
                self._links(color, port, (fifos[leaves], elements[leaves]), outputs)
        for source, fifos in zip(self.program.edge_inputs, inputs, strict=True):
            if source.color == color.name:
                self._enter(source, fifos, self.routers.takers(color, PORTS.index(source.side)))

    def _router(self, places: Ids, color: int) -> Ids:
        hop = self.profile.hop_cycles
        numbers = self._add(ROUTER, places, self.profile.router_buffer_words + hop - 1, hop)
        self.rows[-1][:, at.F_COLOR] = color
        return numbers

    def _output_queues(self, color: Color) -> None:
        latency = self.profile.dispatch_to_link_cycles - self.profile.hop_cycles
        if latency < 1:
            raise ProgramError(
                f"{self.profile.name}: dispatch_to_link_cycles must exceed hop_cycles",
                value=(self.profile.dispatch_to_link_cycles, self.profile.hop_cycles),
                instead="more cycles from dispatch to link: the hop is one part of them",
            )
        queues = self.senders.get(color.name, ())
        takers = self.routers.takers(color, RAMP) if queues else None
        for number, slot in queues:
            if slot in self.layouts[number].queues:
                assert takers is not None
                self._output_queue(color, (number, slot), takers, latency)

    def _output_queue(
        self, color: Color, place: tuple[int, int], takers: Takers, latency: int
    ) -> None:
        """Add the FIFOs of an output queue, which feed the routers of its elements.

        place: numbers of the code and of the slot; latency: cycles from the queue to the router.
        Raises ProgramError if a router has no route from the queue.
        """
        number, slot = place
        layout, queue = self.layouts[number], slot - at.OUTPUT_SLOT
        places = self.places_of[layout.code.name]
        unrouted = places[takers.first[places] < 0]
        if unrouted.size:
            raise ProgramError(
                f"code {layout.code.name}, output queue {queue}: sends color {color.name}, "
                f"but the router of {self._at(unrouted[0])} has no route for it from R"
                f"{self._swapped(color, unrouted[0], RAMP)}"
            )
        depth = self.profile.output_queue_words[queue] + latency - 1
        numbers = self._add(OUTPUT, places, depth, latency)
        self.rows[-1][:, at.F_WAKE] += slot in paired_queues(layout.code)
        self.rows[-1][:, at.F_COLOR] = queue
        self._bind(number, slot, color.name, places, numbers)
        self._feed(numbers, takers, places, places * LINKS + 5)

    def _ramps_in(self, name: str, routers: ColorRouters) -> None:
        latency = self.profile.arrival_to_execute_cycles
        delivered = (routers.tx >> RAMP & 1).astype(bool)
        ramps = np.full(self.elements, -1, dtype=np.int64)
        for number, queue in self.receivers.get(name, ()):
            layout = self.layouts[number]
            places = self.places_of[layout.code.name]
            reached = places[delivered[places]]
            if queue in layout.queues and reached.size != places.size:
                missing = places[~delivered[places]]
                raise ProgramError(
                    f"code {layout.code.name}, input queue {queue}: receives color {name}, but the "
                    f"router of {self._at(missing[0])} has no route for it to R"
                )
            depth = self.profile.input_queue_words[queue] + latency - 1
            numbers = self._add(INPUT, reached, depth, latency)
            self.rows[-1][:, at.F_USER] = at.USER_IS_ELEMENT - reached
            self.rows[-1][:, at.F_WAKE] += queue in paired_queues(layout.code)
            self._bind(number, queue, name, reached, numbers)
            ramps[reached] = numbers
        self._check_received(name, np.flatnonzero(delivered & (ramps < 0)))
        for fifos, elements in routers.buffers:
            delivers = ramps[elements] >= 0
            senders, places = fifos[delivers], elements[delivers]
            connect(self.table, (senders, ramps[places], places * LINKS + RAMP))
            self.leaving[RAMP].append(senders)

    def _check_received(self, name: str, unread: Ids) -> None:
        """Raise ProgramError for elements to which a color goes that no queue of theirs takes."""
        if not unread.size:
            return
        code = self.program.codes[int(self.program.placement.ravel()[unread[0]])]
        raise ProgramError(
            f"{self._route(name, unread[0])} it goes to R at {self._at(unread[0])}, "
            f"but code {code.name} has no input queue for it"
        )

    def _bind(self, number: int, slot: int, color: str, places: Ids, fifos: Ids) -> None:
        """Note the FIFOs of a queue's color; the queue is bound to its first color at the start.

        number: of the code; places: the elements of the FIFOs.
        """
        layout = self.layouts[number]
        if (slot, color) in layout.bindings:
            column = layout.bindings.index((slot, color))
            rows = np.searchsorted(self.places_of[layout.code.name], places)
            self.bound[number][rows, column] = fifos
        if color == first_color(layout.code, slot):
            self.queue[places, slot] = fifos
        elif slot < at.OUTPUT_SLOT:
            self.closed.append(fifos)

    def _links(
        self, color: Color, port: int, senders_by: tuple[Ids, Ids], outputs: list[Ids]
    ) -> None:
        """Connect the routers that send by a port to their neighbours or to edge outputs.

        senders_by: their buffers, and the elements of these. Raises ProgramError if nobody takes
        what is sent.
        """
        name, (sources, places) = color.name, senders_by
        row = places // self.shape[1] + STEP[port][0]
        column = places % self.shape[1] + STEP[port][1]
        in_grid = (row >= 0) & (row < self.shape[0]) & (column >= 0) & (column < self.shape[1])
        senders, neighbours = places[in_grid], (row * self.shape[1] + column)[in_grid]
        takers = self.routers.takers(color, OPPOSITE[port])
        refused = takers.first[neighbours] < 0
        if refused.any():
            sender, neighbour = senders[refused][0], neighbours[refused][0]
            raise ProgramError(
                f"{self._route(name, sender)} it leaves {self._at(sender)} by "
                f"{PORTS[port]}, but {self._at(neighbour)} does not take it from "
                f"{PORTS[OPPOSITE[port]]}{self._swapped(color, neighbour, OPPOSITE[port])}"
            )
        self._feed(sources[in_grid], takers, neighbours, senders * LINKS + port)
        leaving_grid = places[~in_grid]
        sinks = np.full(self.elements, -1, dtype=np.int64)
        for sink, fifos in zip(self.program.edge_outputs, outputs, strict=True):
            if sink.color == name and sink.side == PORTS[port]:
                sinks[border_elements(sink, self.shape)] = fifos
        lost = leaving_grid[sinks[leaving_grid] < 0]
        if lost.size:
            raise ProgramError(
                f"{self._route(name, lost[0])} it leaves the grid by {PORTS[port]} at "
                f"{self._at(lost[0])}, but there is no edge output",
                instead=f"edge_output NAME side {PORTS[port]} [FIRST:LAST] color {name} "
                "f32 count WORDS, or a tx without it",
            )
        connect(self.table, (sources[~in_grid], sinks[leaving_grid], leaving_grid * LINKS + port))
        self.leaving[port].append(sources)

    def _swapped(self, color: Color, element: int, port: int) -> str:
        """Say, behind a refusal, that a swap at an element takes a port for the partner alone."""
        routers = self.routers.of(color)
        if not routers.rx[element] >> port & routers.swap[element] >> port & 1:
            return ""
        partner = next(c.name for c in self.program.colors if c.id == color.id ^ 1)
        return (
            f": the color swap of {color.name} there takes color {partner} from {PORTS[port]}, "
            f"and {partner} has no swap that takes {color.name}"
        )

    def _enter(self, port: EdgeInput, fifos: Ids, takers: Takers) -> None:
        places, side = border_elements(port, self.shape), PORTS.index(port.side)
        color = next(color for color in self.program.colors if color.name == port.color)
        refusing = places[takers.first[places] < 0]
        if refusing.size:
            raise ProgramError(
                f"edge port {port.name}: brings color {port.color} from {port.side}, but the "
                f"router of {self._at(refusing[0])} does not take it from there"
                f"{self._swapped(color, refusing[0], side)}"
            )
        links = [self._border_link(place, port) for place in places.tolist()]
        self._feed(fifos, takers, places, np.array(links, dtype=np.int64))

    def _border_link(self, place: int, port: EdgeInput) -> int:
        """Return the link by which edge inputs enter at a place; all colors share it.

        Raises ProgramError if two edge inputs bring one color there.
        """
        if (place, port.side, port.color) in self.entered:
            raise ProgramError(
                f"edge port {port.name}: two edge inputs bring color {port.color} from "
                f"{port.side} to {self._at(place)}"
            )
        self.entered.add((place, port.side, port.color))
        key = (place, port.side)
        if key not in self.border_links:
            self.border_links[key] = self.links
            self.links += 1
        return self.border_links[key]

    def _feed(self, sources: Ids, takers: Takers, places: Ids, links: Ids) -> None:
        """Let queues feed the buffers that take their wavelets at some elements."""
        first, second = takers.first[places], takers.second[places]
        connect(self.table, (sources, first, links))
        on_both = second >= 0
        if on_both.any():
            self.copies.append((sources[on_both], second[on_both], links[on_both]))

    def _check_queues_routed(self) -> None:
        for layout in self.layouts:
            places = self.places_of[layout.code.name]
            for slot in layout.queues:
                if places.size and (self.queue[places, slot] < 0).any():
                    raise ProgramError(
                        f"code {layout.code.name}: queue {slot % 8} has no route at "
                        f"{self._at(places[0])}"
                    )
        for bound, layout in zip(self.bound, self.layouts, strict=True):
            for slot, color in (layout.bindings[i] for i in np.argwhere(bound < 0)[:1, 1]):
                raise ProgramError(
                    f"code {layout.code.name}: queue {slot % 8} is bound to color {color}, but no "
                    "operation uses it, or a router has no route for it"
                )

    def _route(self, color: str, element: int) -> str:
        """Name the route of a color at an element."""
        row, column = divmod(int(element), self.shape[1])
        routes = (route for route in self.program.routes if route.color == color)
        area = next(route.area for route in routes if route.area.holds(row, column))
        return f"route of color {color} in {area}:"

    def _at(self, element: int) -> str:
        return f"element ({int(element) // self.shape[1]}, {int(element) % self.shape[1]})"


def _joined(parts: list[Ids]) -> Ids:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
