"""Rows of routers with switches, filters and changing routes: where each buffer's words go."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.table_blocks import CodeLayout
from tilewright.simulator.instructions.queue_changes import BindQueue
from tilewright.simulator.isa.dsd import Fabout
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.code_parts import all_instructions
from tilewright.simulator.program.program import ElementCode, Program
from tilewright.simulator.program.routes import (
    POP_MODES,
    PORTS,
    RAMP,
    CounterFilter,
    Position,
    RangeFilter,
    Route,
)

Ids = npt.NDArray[np.int64]
SUCCESSOR_ORDER = (RAMP, 0, 1, 2, 3)
"""Ports in the order in which the network compiler connects a router's successors."""

COUNTER_COLUMNS = (at.X_COUNT, at.X_LIMIT, at.X_LIMIT + 1, at.X_MOST)
"""Columns of a router's state that hold the numbers of a counter filter (`counter_numbers`)."""


def counter_numbers(counter: CounterFilter) -> tuple[int, int, int, int]:
    """Return the numbers of a counter filter, in the order of COUNTER_COLUMNS."""
    return counter.start, counter.limit, counter.other_limit or 0, counter.most


def counter_kind(chosen: CounterFilter | RangeFilter | None) -> tuple[bool, ...] | None:
    """Return what a counter filter is beside its numbers; None for another filter, or none."""
    if not isinstance(chosen, CounterFilter):
        return None
    return chosen.count_data, chosen.count_control, chosen.filter_control, chosen.is_sparse


def control_colors(program: Program) -> set[str]:
    """Return the names of the colors whose routers may get commands to their switches.

    They come by control wavelets from the border, or from output queues that send control wavelets
    or advance the switch; the partners of these colors in a color swap are included.
    """
    commanded = {port.color for port in program.edge_inputs if port.control}
    for code in program.codes:
        queues = {d.queue for d in code.dsds if isinstance(d, Fabout) and d.commands}
        if queues:
            commanded |= _output_colors(code, queues)
    return commanded | _partners(program, commanded)


def _output_colors(code: ElementCode, queues: Collection[int]) -> set[str]:
    """Return the colors that some output queues are bound to at the start or later."""
    colors = {queue.color for queue in code.output_queues if queue.id in queues}
    binds = (change for _, change in all_instructions(code) if isinstance(change, BindQueue))
    return colors | {bind.color for bind in binds if bind.output and bind.queue in queues}


def _partners(program: Program, commanded: set[str]) -> set[str]:
    """Return the colors with a swap whose partner is one of `commanded`.

    The swap lets them take the wavelets of the partner.
    """
    ids = {color.id for color in program.colors if color.name in commanded}
    swapped = {route.color for route in program.routes if route.swap}
    return {color.name for color in program.colors if color.name in swapped and color.id ^ 1 in ids}


@lru_cache(1024)
def port_bits(ports: tuple[str, ...]) -> int:
    """Return port names as an integer with one bit per port: N 1, E 2, S 4, W 8, ramp R 16."""
    return sum(1 << PORTS.index(port) for port in set(ports))


def all_directions(*routes: Route) -> tuple[int, int]:
    """Return (rx, tx): bits of all ports from which and to which some routes send in any position.

    The positions are those of a route's switch. Bits: N 1, E 2, S 4, W 8, ramp 16.
    """
    rx = tx = 0
    for route in routes:
        if route.switch is None:
            rx, tx = rx | port_bits(route.rx), tx | port_bits(route.tx)
            continue
        for position in route.directions():
            rx |= port_bits(position.rx or ())
            tx |= port_bits(position.tx or ())
    return rx, tx


def port_groups(*routes: Route) -> list[int]:
    """Group the rx ports of routes: those open in the same switch positions share a buffer.

    The result has a number per router buffer, one bit per port: N 1, E 2, S 4, W 8, ramp 16. Two
    ports share a buffer if each switch position and configuration opens both or neither. Example:
    rx W in one position, N and E in the next give [3, 8].
    """
    if len(routes) == 1 and routes[0].switch is None:
        return [port_bits(routes[0].rx)] if routes[0].rx else []
    masks = [port_bits(p.rx or ()) for route in routes for p in route.directions()]
    groups: dict[tuple[int, ...], int] = {}
    for port in range(5):
        signature = tuple(mask >> port & 1 for mask in masks)
        if any(signature):
            groups[signature] = groups.get(signature, 0) | 1 << port
    return list(groups.values())


def way_masks(route: Route, group: int, used: Sequence[int]) -> list[int]:
    """Return four masks, one per switch position: where a router buffer's words go then.

    group: the rx ports (bits) that fill the buffer; used: the port of each successor (a FIFO that
    the buffer feeds). Bit n of a mask is successor n; the bit ACCEPTS (32) says that the position
    takes words from the group. Unused positions are 0.
    """
    masks = []
    for position in route.directions():
        tx = port_bits(position.tx or ())
        mask = sum(1 << rank for rank, port in enumerate(used) if tx >> port & 1)
        masks.append(mask | (at.ACCEPTS if port_bits(position.rx or ()) & group else 0))
    return masks + [0] * (4 - len(masks))


def valid_positions(route: Route) -> int:
    """Return the positions (0 to 3) to which a route's switch can advance, one bit each.

    Position 0 is the route itself and is always valid; later ones are if they change a direction.
    """
    later = route.switch.positions if route.switch is not None else ()
    return 1 | sum(1 << n for n, position in enumerate(later, 1) if position != Position())


def most_buffers(program: Program, changed: Collection[str]) -> int:
    """Return an upper bound of the router buffers and edge ports of a program.

    changed: colors whose routes a code changes while it runs; their routers may need five buffers.
    """
    ports = sum(p.positions for p in program.edge_inputs)
    ports += sum(p.positions for p in program.edge_outputs)
    return ports + sum(
        route.area.size * (5 if route.color in changed else _buffers(route))
        for route in program.routes
    )


def _buffers(route: Route) -> int:
    return 1 if route.switch is None else len(port_groups(route)) or 1


def teardown_tasks(
    layouts: Sequence[CodeLayout], places: Mapping[str, Ids], elements: int, routes: Sequence[Route]
) -> Ids:
    """Return (elements,) the task that a teardown of a color activates there, or -1.

    A teardown is a command that stops a color at a router, to be configured anew. routes: all of
    one color; places: elements of each code by name; elements: how many the grid has.
    """
    handlers = np.full(elements, -1, dtype=np.int64)
    for layout in layouts:
        for number, task in enumerate(layout.code.tasks):
            if routes and task.teardown == routes[0].color:
                handlers[places[layout.code.name]] = number
    return handlers


@dataclass(slots=True)
class Steering:
    """Collect the engine's rows of routers that choose: by switches, filters or changes.

    - `profile`: the machine.
    - `ways`: blocks of rows, one per router buffer that chooses among its successors.
    - `states`: blocks of rows, one per router and color: switch position, filter.
    - `ports`: per block of ways, the port of each successor.
    - `steered`: (FIFOs of buffers, their ways).
    - `changes`: a row per configuration that a router can be changed to.
    - `way_count`, `state_count`: rows so far.
    """

    profile: Profile
    ways: list[at.Table] = field(default_factory=list)
    states: list[at.Table] = field(default_factory=list)
    ports: list[Ids] = field(default_factory=list)
    steered: list[tuple[Ids, Ids]] = field(default_factory=list)
    changes: list[at.Table] = field(default_factory=list)
    way_count: int = 0
    state_count: int = 0

    def add(
        self,
        configurations: Sequence[Route],
        color: int,
        places: Ids,
        buffers: list[Ids],
        handlers: Ids,
    ) -> None:
        """Add the rows of the routers of one color at some elements.

        - configurations: the route, then what a code can change it to.
        - color: its number.
        - places: the elements.
        - buffers: for each group of rx ports (`port_groups`) the FIFO at each element.
        - handlers: task of each element that a teardown of the color activates, or -1.
        """
        route = configurations[0]
        state = self._state(route, color, places, buffers)
        self.states[-1][:, at.X_HANDLER] = handlers
        tx = all_directions(*configurations)[1]
        used = [port for port in SUCCESSOR_ORDER if tx >> port & 1]
        groups = port_groups(*configurations)
        for group, fifos in zip(groups, buffers, strict=True):
            rows = np.zeros((places.size, at.W_WIDTH), dtype=np.int64)
            rows[:, at.W_STATE] = state
            rows[:, at.W_MASKS : at.W_MASKS + 4] = way_masks(route, group, used)
            rows[:, at.W_RAMP] = int(tx >> RAMP & 1)
            self.ways.append(rows)
            self.ports.append(np.tile(used + [-1] * (5 - len(used)), (places.size, 1)))
            numbers = np.arange(self.way_count, self.way_count + places.size, dtype=np.int64)
            self.way_count += places.size
            self.steered.append((fifos, numbers))
        self.states[-1][:, at.X_CHANGES] = len(self.changes)
        for changed in configurations[1:]:
            self._change(changed, groups, used)

    def set_counters(
        self, counters: Sequence[tuple[CounterFilter | RangeFilter | None, int]]
    ) -> None:
        """Set the numbers of counter filters in the states that were added last.

        counters: the filter of the first so many of these states, then of the next.
        """
        if len(counters) > 1 and isinstance(counters[0][0], CounterFilter):
            numbers = [counter_numbers(c) for c, _ in counters if isinstance(c, CounterFilter)]
            sizes = [size for _, size in counters]
            self.states[-1][:, COUNTER_COLUMNS] = np.repeat(numbers, sizes, axis=0)

    def _change(self, route: Route, groups: Sequence[int], used: Sequence[int]) -> None:
        """Append a row of what a reconfiguration writes into a router.

        It has columns of the router's state and, for each group, the masks of `way_masks`. groups:
        by buffer, the rx ports (bits) that fill it; used: the port of each successor.
        """
        row = np.zeros(at.C_WIDTH, dtype=np.int64)
        for column, value in self._settings(route).items():
            row[column] = value
        for i, group in enumerate(groups):
            first = at.C_MASKS + 4 * i
            row[first : first + 4] = way_masks(route, group, used)
        self.changes.append(row)

    def _state(self, route: Route, color: int, places: Ids, buffers: list[Ids]) -> Ids:
        rows = np.zeros((places.size, at.X_WIDTH), dtype=np.int64)
        rows[:, at.X_FIFOS : at.X_FIFOS + 5] = -1
        for i, fifos in enumerate(buffers):
            rows[:, at.X_FIFOS + i] = fifos
        rows[:, at.X_ELEMENT], rows[:, at.X_COLOR] = places, color
        rows[:, at.X_TORN] = int(route.teardown)
        for column, value in self._settings(route).items():
            rows[:, column] = value
        self.states.append(rows)
        numbers = np.arange(self.state_count, self.state_count + places.size, dtype=np.int64)
        self.state_count += places.size
        return numbers

    def _settings(self, route: Route) -> dict[int, int]:
        """Return the values that a route sets in a router's state, by column."""
        settings = {at.X_VALID: valid_positions(route)}
        if route.switch is not None:
            settings[at.X_POSITION] = settings[at.X_BEFORE] = route.switch.current
            settings[at.X_RING] = int(route.switch.ring)
            settings[at.X_POP] = POP_MODES.index(route.switch.pop)
        return settings | self._filter(route)

    def _filter(self, route: Route) -> dict[int, int]:
        chosen = route.filter
        if isinstance(chosen, RangeFilter):
            return {at.X_FILTER: at.RANGE, at.X_LOW: chosen.low, at.X_HIGH: chosen.high}
        if not isinstance(chosen, CounterFilter):
            return {}
        data = at.COUNTS_DATA if chosen.count_data else 0
        control = at.COUNTS_CONTROL if chosen.count_control else 0
        return {
            at.X_FILTER: at.SPARSE_COUNTER if chosen.is_sparse else at.COUNTER,
            **dict(zip(COUNTER_COLUMNS, counter_numbers(chosen), strict=True)),
            at.X_COUNTS: data | control,
            at.X_CONTROL_ONLY: int(chosen.filter_control),
            at.X_INCLUSIVE: int(self.profile.filter_counter_inclusive),
        }

    def tables(self) -> tuple[at.Table, at.Table, Ids, at.Table]:
        """Return all rows as four arrays: ways, states, ports of each way's successors, changes.

        A way is a router buffer that chooses among its successors (FIFOs that it feeds); a state is
        the switch and filter of a router for one color; a change is a configuration that a router
        can be given. References between them are row numbers. ports: (ways, 5) router port of each
        successor, -1 where there is none.
        """
        ways = [np.zeros((0, at.W_WIDTH), np.int64), *self.ways]
        state = [np.zeros((0, at.X_WIDTH), np.int64), *self.states]
        ports = [np.zeros((0, 5), np.int64), *self.ports]
        changes = np.array(self.changes, dtype=np.int64).reshape(len(self.changes), at.C_WIDTH)
        return np.concatenate(ways), np.concatenate(state), np.concatenate(ports), changes
