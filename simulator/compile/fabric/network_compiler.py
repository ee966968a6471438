"""Routes to a network of FIFOs: output queues, router buffers, input queues, edge ports.

One router buffer per element and color in use: all its rx ports feed it (two arrivals in one
cycle are an error), its head leaves by all tx ports at once. A queue of depth d behind a latency
of L cycles holds d + L - 1 entries: the registers on the way are full too when it is stopped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

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
from tilewright.simulator.compile.fabric.fifo_table import FifoTable
from tilewright.simulator.compile.fabric.network import (
    EDGE_IN,
    EDGE_OUT,
    INPUT,
    OUTPUT,
    ROUTER,
    FifoNetwork,
    Ids,
    border_elements,
)
from tilewright.simulator.compile.fabric.routers import (
    ColorStack,
    QueueColor,
    RouterMap,
    StackRouters,
    Takers,
    element_name,
)
from tilewright.simulator.compile.fabric.steering import most_buffers
from tilewright.simulator.compile.table_blocks import CodeLayout
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import OPPOSITE, PORTS, RAMP, STEP, EdgeInput

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
        self.fifos = FifoTable(self._most_fifos())

    def _most_fifos(self) -> int:
        """Return an upper bound of the FIFOs."""
        used = [(self.places_of[code.name].size, code) for code in self.program.codes]
        queues = sum(n * (len(c.input_queues) + len(c.output_queues)) for n, c in used)
        queues += sum(bound.size for bound in self.bound)
        changed = {color for layout in self.layouts for color in layout.changes}
        return queues + most_buffers(self.program, changed)

    def compile(self) -> FifoNetwork:
        hop = self.profile.hop_cycles
        outputs = [
            self.fifos.add(EDGE_OUT, border_elements(port, self.shape), port.count, hop)
            for port in self.program.edge_outputs
        ]
        inputs = [self._edge_input(port) for port in self.program.edge_inputs]
        for stack in self.routers.stacks():
            self._stack(stack, outputs, inputs)
        self._check_queues_routed()
        fifo = self.fifos.rows()
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
            self.fifos.elements(),
            self.fifos.kinds(),
            tuple(inputs),
            tuple(outputs),
            tuple(port.interval for port in self.program.edge_outputs),
            tuple(_joined(fifos_of_port).astype(np.int32) for fifos_of_port in self.leaving),
            steered,
            self.bound,
            _joined(self.closed),
        )

    def _edge_input(self, port: EdgeInput) -> Ids:
        numbers = self.fifos.add(EDGE_IN, border_elements(port, self.shape), port.count, 1)
        color = next(color.id for color in self.program.colors if color.name == port.color)
        self.fifos.added[:, at.F_COLOR] = color
        return numbers

    def _stack(self, stack: ColorStack, outputs: list[Ids], inputs: list[Ids]) -> None:
        """Add the router buffers and queues of a stack of colors and note how they feed others."""
        routers = self.routers.of(stack)
        self._output_queues(stack)
        self._ramps_in(stack, routers)
        fifos, sites = (np.concatenate(parts) for parts in zip(*routers.buffers, strict=True))
        for port in range(4):
            leaves = routers.tx[sites] >> port & 1 == 1
            if leaves.any():
                self._links(stack, port, (fifos[leaves], sites[leaves]), outputs)
        for number, color in enumerate(stack.colors):
            for source, entering in zip(self.program.edge_inputs, inputs, strict=True):
                if source.color == color.name:
                    self._enter(stack, number, source, entering)

    def _router(self, places: Ids, colors: Ids | int) -> Ids:
        hop = self.profile.hop_cycles
        numbers = self.fifos.add(ROUTER, places, self.profile.router_buffer_words + hop - 1, hop)
        self.fifos.added[:, at.F_COLOR] = colors
        return numbers

    def _add_queues(
        self, kind: int, stack: ColorStack, queues: Sequence[QueueColor], latency: int
    ) -> tuple[Ids, Ids]:
        """Add the FIFOs of queues; return their numbers and sites.

        kind: OUTPUT or INPUT; latency: cycles to the router, or from it.
        """
        profile, ids = self.profile, [queue.slot % at.OUTPUT_SLOT for queue in queues]
        words = profile.output_queue_words if kind == OUTPUT else profile.input_queue_words
        paired = [q.slot in paired_queues(self.layouts[q.number].code) for q in queues]
        values = np.array([[words[i] + latency - 1 for i in ids], paired, ids])
        depth, wakes, color = np.repeat(values, [q.sites.size for q in queues], axis=1)
        sites = np.concatenate([queue.sites for queue in queues])
        elements = stack.elements_of(sites)
        numbers = self.fifos.add(kind, elements, depth, latency)
        rows = self.fifos.added
        rows[:, at.F_WAKE] = 1 + wakes
        if kind == OUTPUT:
            rows[:, at.F_COLOR] = color
        else:
            rows[:, at.F_USER] = at.USER_IS_ELEMENT - elements
        first = 0
        for queue in queues:
            end = first + queue.sites.size
            self._bind(queue, elements[first:end], numbers[first:end])
            first = end
        return numbers, sites

    def _output_queues(self, stack: ColorStack) -> None:
        """Add the FIFOs of output queues, which feed the routers of their elements.

        Raises ProgramError if a router has no route from a queue.
        """
        latency = self.profile.dispatch_to_link_cycles - self.profile.hop_cycles
        if latency < 1:
            raise ProgramError(
                f"{self.profile.name}: dispatch_to_link_cycles must exceed hop_cycles",
                value=(self.profile.dispatch_to_link_cycles, self.profile.hop_cycles),
                instead="more cycles from dispatch to link: the hop is one part of them",
            )
        queues = self.routers.queues(stack, self.senders)
        queues = [q for q in queues if q.slot in self.layouts[q.number].queues]
        if not queues:
            return
        takers = self.routers.takers(stack, RAMP)
        for queue in queues:
            unrouted = queue.sites[takers.first[queue.sites] < 0]
            if unrouted.size:
                raise ProgramError(
                    f"code {self.layouts[queue.number].code.name}, output queue "
                    f"{queue.slot - at.OUTPUT_SLOT}: sends color {queue.color}, but the router of "
                    f"{self.routers.at(stack, unrouted[0])} has no route for it from R"
                    f"{self.routers.swapped_at(stack, unrouted[0], RAMP)}"
                )
        numbers, sites = self._add_queues(OUTPUT, stack, queues, latency)
        self._feed(numbers, takers, sites, stack.elements_of(sites) * LINKS + 5)

    def _ramps_in(self, stack: ColorStack, routers: StackRouters) -> None:
        """Add the FIFOs of input queues, to which the routers of their elements send."""
        delivered = (routers.tx >> RAMP & 1).astype(bool)
        queues = []
        for queue in self.routers.queues(stack, self.receivers):
            layout, is_reached = self.layouts[queue.number], delivered[queue.sites]
            if queue.slot in layout.queues and not is_reached.all():
                missing = queue.sites[~is_reached]
                raise ProgramError(
                    f"code {layout.code.name}, input queue {queue.slot}: receives color "
                    f"{queue.color}, but the router of {self.routers.at(stack, missing[0])} has no "
                    "route for it to R"
                )
            queues.append(queue._replace(sites=queue.sites[is_reached]))
        ramps = np.full(delivered.size, -1, dtype=np.int64)
        if queues:
            latency = self.profile.arrival_to_execute_cycles
            numbers, reached = self._add_queues(INPUT, stack, queues, latency)
            ramps[reached] = numbers
        self._check_received(stack, np.flatnonzero(delivered & (ramps < 0)))
        for fifos, sites in routers.buffers:
            delivers = ramps[sites] >= 0
            senders, taking = fifos[delivers], sites[delivers]
            links = stack.elements_of(taking) * LINKS + RAMP
            connect(self.fifos.table, (senders, ramps[taking], links))
            self.leaving[RAMP].append(senders)

    def _check_received(self, stack: ColorStack, unread: Ids) -> None:
        """Raise ProgramError for sites to which a color goes that no queue of theirs takes."""
        if not unread.size:
            return
        site, routers = int(unread[0]), self.routers
        code = self.program.codes[self.program.placement.ravel()[site % stack.elements]]
        raise ProgramError(
            f"{routers.route_at(stack, site)} it goes to R at {routers.at(stack, site)}, "
            f"but code {code.name} has no input queue for it"
        )

    def _bind(self, queue: QueueColor, places: Ids, fifos: Ids) -> None:
        """Note the FIFOs of a queue's color; the queue is bound to its first color at the start.

        places: the elements of the FIFOs.
        """
        layout, slot = self.layouts[queue.number], queue.slot
        if (slot, queue.color) in layout.bindings:
            column = layout.bindings.index((slot, queue.color))
            rows = np.searchsorted(self.places_of[layout.code.name], places)
            self.bound[queue.number][rows, column] = fifos
        if queue.color == first_color(layout.code, slot):
            self.queue[places, slot] = fifos
        elif slot < at.OUTPUT_SLOT:
            self.closed.append(fifos)

    def _links(
        self, stack: ColorStack, port: int, senders_by: tuple[Ids, Ids], outputs: list[Ids]
    ) -> None:
        """Connect the routers that send by a port to their neighbours or to edge outputs.

        senders_by: their buffers, and the sites of these. Raises ProgramError if nobody takes what
        is sent.
        """
        (sources, sites), (down, right) = senders_by, STEP[port]
        places = stack.elements_of(sites)
        row, column = places // self.shape[1] + down, places % self.shape[1] + right
        in_grid = (row >= 0) & (row < self.shape[0]) & (column >= 0) & (column < self.shape[1])
        senders = sites[in_grid]
        neighbours = senders + (down * self.shape[1] + right)
        takers = self.routers.takers(stack, OPPOSITE[port])
        refused = takers.first[neighbours] < 0
        if refused.any():
            routers, sender, neighbour = self.routers, senders[refused][0], neighbours[refused][0]
            raise ProgramError(
                f"{routers.route_at(stack, sender)} it leaves {routers.at(stack, sender)} by "
                f"{PORTS[port]}, but {routers.at(stack, neighbour)} does not take it from "
                f"{PORTS[OPPOSITE[port]]}{routers.swapped_at(stack, neighbour, OPPOSITE[port])}"
            )
        self._feed(sources[in_grid], takers, neighbours, places[in_grid] * LINKS + port)
        self.leaving[port].append(sources)
        if senders.size < sites.size:
            self._leave(stack, port, (sources[~in_grid], sites[~in_grid]), outputs)

    def _leave(
        self, stack: ColorStack, port: int, senders_by: tuple[Ids, Ids], outputs: list[Ids]
    ) -> None:
        """Connect the routers that send out of the grid to edge outputs; arguments as `_links`."""
        sources, sites = senders_by
        sinks = np.full(len(stack.colors) * stack.elements, -1, dtype=np.int64)
        for number, color in enumerate(stack.colors):
            for sink, fifos in zip(self.program.edge_outputs, outputs, strict=True):
                if sink.color == color.name and sink.side == PORTS[port]:
                    sinks[number * stack.elements + border_elements(sink, self.shape)] = fifos
        lost = sites[sinks[sites] < 0]
        if lost.size:
            raise ProgramError(
                f"{self.routers.route_at(stack, lost[0])} it leaves the grid by {PORTS[port]} at "
                f"{self.routers.at(stack, lost[0])}, but there is no edge output",
                instead=f"edge_output NAME side {PORTS[port]} [FIRST:LAST] color "
                f"{stack.color_of(lost[0]).name} f32 count WORDS, or a tx without it",
            )
        connect(self.fifos.table, (sources, sinks[sites], stack.elements_of(sites) * LINKS + port))

    def _enter(self, stack: ColorStack, number: int, port: EdgeInput, fifos: Ids) -> None:
        """Let an edge input feed the routers at its border; number: of its color in the stack."""
        places, side = border_elements(port, self.shape), PORTS.index(port.side)
        sites = number * stack.elements + places
        takers = self.routers.takers(stack, side)
        refusing = sites[takers.first[sites] < 0]
        if refusing.size:
            raise ProgramError(
                f"edge port {port.name}: brings color {port.color} from {port.side}, but the "
                f"router of {self.routers.at(stack, refusing[0])} does not take it from there"
                f"{self.routers.swapped_at(stack, refusing[0], side)}"
            )
        links = [self._border_link(place, port) for place in places.tolist()]
        self._feed(fifos, takers, sites, np.array(links, dtype=np.int64))

    def _border_link(self, place: int, port: EdgeInput) -> int:
        """Return the link by which edge inputs enter at a place; all colors share it.

        Raises ProgramError if two edge inputs bring one color there.
        """
        if (place, port.side, port.color) in self.entered:
            raise ProgramError(
                f"edge port {port.name}: two edge inputs bring color {port.color} from "
                f"{port.side} to {element_name(place, self.shape)}"
            )
        self.entered.add((place, port.side, port.color))
        key = (place, port.side)
        if key not in self.border_links:
            self.border_links[key] = self.links
            self.links += 1
        return self.border_links[key]

    def _feed(self, sources: Ids, takers: Takers, sites: Ids, links: Ids) -> None:
        """Let queues feed the buffers that take their wavelets at some sites."""
        connect(self.fifos.table, (sources, takers.first[sites], links))
        if takers.second is None:
            return
        second = takers.second[sites]
        on_both = second >= 0
        if on_both.any():
            self.copies.append((sources[on_both], second[on_both], links[on_both]))

    def _check_queues_routed(self) -> None:
        for layout in self.layouts:
            places = self.places_of[layout.code.name]
            unrouted = np.asarray((self.queue[places] < 0).any(axis=0))
            for slot in layout.queues:
                if unrouted[slot]:
                    raise ProgramError(
                        f"code {layout.code.name}: queue {slot % 8} has no route at "
                        f"{element_name(places[0], self.shape)}"
                    )
        for bound, layout in zip(self.bound, self.layouts, strict=True):
            if not bound.size:
                continue
            for slot, color in (layout.bindings[i] for i in np.argwhere(bound < 0)[:1, 1]):
                raise ProgramError(
                    f"code {layout.code.name}: queue {slot % 8} is bound to color {color}, but no "
                    "operation uses it, or a router has no route for it"
                )


def _joined(parts: list[Ids]) -> Ids:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
