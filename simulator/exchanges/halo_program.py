"""The program of an exchange of halos between neighbours (theory/grid.md §9).

Every element copies its part into the box that it needs, then sends slabs of it to its neighbours
on microthreads and receives theirs. Neighbours along an axis use two colors in turn.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import NamedTuple

import numpy as np

from tilewright.mapper.grid.exchanges.box_loops import BoxLoops, box_loops
from tilewright.mapper.grid.exchanges.halo import Box, HaloExchange, Shift
from tilewright.mapper.grid.host_streams import Integers
from tilewright.mapper.grid.reductions import Axis
from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.build.task_builder import TaskBuilder
from tilewright.simulator.exchanges.buffers import HELD, NEEDED, ExchangeAddresses, declare_loops
from tilewright.simulator.isa.dsd import Ref
from tilewright.simulator.lowering.kernel import MOST_DIMENSIONS
from tilewright.simulator.lowering.number_operations import move_of, simd_mode
from tilewright.simulator.program.areas import areas_along
from tilewright.simulator.program.program import Program

PORTS = {("X", 1): ("W", "E"), ("X", -1): ("E", "W"), ("Y", 1): ("N", "S"), ("Y", -1): ("S", "N")}
"""Letters of the ports by which words come and go, by axis and step."""
SEND_QUEUES = {("X", 1): 2, ("X", -1): 3, ("Y", 1): 4, ("Y", -1): 5}
RECEIVE_QUEUES = {("X", 1): 0, ("X", -1): 1, ("Y", 1): 6, ("Y", -1): 7}
"""No input queue has the number of an output queue: on WSE-2 both would name one microthread."""


def halo_program(
    exchange: HaloExchange, dtype: str, addresses: ExchangeAddresses
) -> Program | None:
    """Return the program of an exchange of halos between neighbours.

    `dtype`: number type of the tensor; addresses: of the parts. None if a slab has more dimensions
    in memory than a descriptor can have.
    """
    boxes = [exchange.inner, *(box for s in exchange.shifts for box in (s.sent, s.received))]
    if any(len(_loops(box, exchange).loops) > MOST_DIMENSIONS for box in boxes):
        return None
    builder = ProgramBuilder(f"halo_{exchange.tensor}", exchange.rows, exchange.columns)
    for way in _ways(exchange):
        _route(builder, exchange, way)
    kinds, placement = np.unique(_kinds(exchange), axis=0, return_inverse=True)
    for number, kind in enumerate(kinds.tolist()):
        code = builder.code(f"exchange{number}")
        code.buffer(HELD, dtype, exchange.held.extents, addresses.held)
        code.buffer(NEEDED, dtype, exchange.needed.extents, addresses.needed)
        _write(code, exchange, kind, dtype)
    builder.placement(placement.reshape(exchange.rows, exchange.columns))
    return builder.build()


def _ways(exchange: HaloExchange) -> list[Shift]:
    """Return one shift for each (axis, step) in which words cross links."""
    crossing = [shift for shift in exchange.shifts if shift.links.any()]
    return list({(shift.axis, shift.step): shift for shift in crossing}.values())


def _color(shift: Shift, number: int) -> str:
    """Name the color on which the element at place `number` along the axis sends: `X+0`, `Y-1`."""
    return f"{shift.axis}{'+' if shift.step > 0 else '-'}{number % 2}"


def _route(builder: ProgramBuilder, exchange: HaloExchange, way: Shift) -> None:
    come, go = PORTS[way.axis, way.step]
    for parity in (0, 1):
        numbers = np.arange(len(way.links)) % 2 == parity
        if not (way.sends & numbers).any():
            continue
        color = builder.color(_color(way, parity))
        senders = np.flatnonzero(way.sends & numbers)
        for places, rx, tx in ((senders, "R", go), (senders + way.step, come, "R")):
            lines = range(exchange.rows if way.axis == "X" else exchange.columns)
            for area in areas_along(way.axis, lines, places.tolist()):
                builder.route(color, area, rx=rx, tx=tx)


def _kinds(exchange: HaloExchange) -> Integers:
    """Return for each element (row-major) the numbers that decide its code.

    They are the parities of its column and row, then, by direction, whether it sends and whether it
    has a link.
    """
    rows, columns = np.indices((exchange.rows, exchange.columns))
    marks: list[Integers] = [columns % 2, rows % 2]
    for way in _ways(exchange):
        place = columns if way.axis == "X" else rows
        marks += [way.sends[place].astype(np.int64), way.links[place].astype(np.int64)]
    return np.stack([mark.ravel() for mark in marks], axis=1)


def _write(code: CodeBuilder, exchange: HaloExchange, kind: list[int], dtype: str) -> None:
    """Write the code of all elements of one kind: `kind` is a row of `_kinds`."""
    ways: dict[tuple[Axis, int], _Ends] = {}
    for way, sends, receives in zip(_ways(exchange), kind[2::2], kind[3::2], strict=True):
        ends = ways[way.axis, way.step] = _Ends(bool(sends), bool(receives))
        _bind_queues(code, way, ends, parity=kind[0 if way.axis == "X" else 1])
    code.mem1d("part", HELD, extent=exchange.held.values)
    task = code.task("copy", entry=True)
    task.op(move_of(dtype), _declare(code, "own", exchange.inner, exchange), "part", label="copy")
    rounds = _rounds(exchange)
    followings = (f"round{place}" for place in range(1, len(rounds)))
    for shifts, following in zip_longest(rounds, followings):
        this_round = _Round(code, task, exchange, dtype)
        sent = [item for item in shifts if _ends(ways, item[1]).sends]
        this_round.send(sent, following)
        for number, shift in shifts:
            this_round.receive(number, shift, _ends(ways, shift))
        if following is not None:
            if not sent:
                task.activate(following)
            task = code.task(following, blocked=len(sent) > 1)


class _Round(NamedTuple):
    """Appends the operations of one round to a task."""

    code: CodeBuilder
    task: TaskBuilder
    exchange: HaloExchange
    dtype: str

    @property
    def move(self) -> str:
        """Name of the operation that copies vectors."""
        return move_of(self.dtype)

    def simd(self, shift: Shift) -> str:
        """Return the SIMD mode of the queues of a slab."""
        return simd_mode(shift.values, self.dtype)

    def send(self, sent: list[tuple[int, Shift]], following: str | None) -> None:
        """Send slabs; the task of the next round waits for their ends, as it uses their queues."""
        for count, (number, shift) in enumerate(sent):
            queue = SEND_QUEUES[shift.axis, shift.step]
            mode = self.simd(shift)
            stream = self.code.fabout(f"to{number}", queue, shift.values, simd=mode)
            slab = _declare(self.code, f"slab{number}", shift.sent, self.exchange)
            activate, unblock = (None, following) if count else (following, None)
            self.task.start(
                self.move, stream, slab, label="send", activate=activate, unblock=unblock
            )

    def receive(self, number: int, shift: Shift, ends: _Ends) -> None:
        """Receive a slab, or write zeros where there is no neighbour."""
        box = _declare(self.code, f"halo{number}", shift.received, self.exchange)
        if not ends.receives:
            self.task.op(self.move, box, 0.0, label="outside")
            return
        queue = RECEIVE_QUEUES[shift.axis, shift.step]
        mode = self.simd(shift)
        stream = self.code.fabin(f"from{number}", queue, shift.values, simd=mode)
        self.task.op(self.move, box, stream, label="receive")


class _Ends(NamedTuple):
    """Hold whether an element sends and whether it receives, in one direction."""

    sends: bool
    receives: bool


def _bind_queues(code: CodeBuilder, way: Shift, ends: _Ends, parity: int) -> None:
    """Bind the queues of a way to its colors: out by an element's parity, in by the neighbour's."""
    if ends.sends:
        code.output_queue(SEND_QUEUES[way.axis, way.step], _color(way, parity))
    if ends.receives:
        code.input_queue(RECEIVE_QUEUES[way.axis, way.step], _color(way, 1 - parity))


def _ends(ways: dict[tuple[Axis, int], _Ends], shift: Shift) -> _Ends:
    """Return whether an element sends and receives the slab of a shift; neither if it has no links.

    ways: by (axis, step), whether the element sends and receives.
    """
    return ways[shift.axis, shift.step] if shift.links.any() else _Ends(False, False)


def _rounds(exchange: HaloExchange) -> list[list[tuple[int, Shift]]]:
    """Return the shifts, numbered, in rounds of one axis in which each step occurs once."""
    rounds: list[list[tuple[int, Shift]]] = []
    for number, shift in enumerate(exchange.shifts):
        last = [(other.axis, other.step) for _, other in rounds[-1]] if rounds else []
        if not last or last[0][0] != shift.axis or (shift.axis, shift.step) in last:
            rounds.append([])
        rounds[-1].append((number, shift))
    return rounds


def _declare(code: CodeBuilder, name: str, box: Box, exchange: HaloExchange) -> Ref:
    """Declare a descriptor of part of the box that an element needs."""
    return declare_loops(code, name, NEEDED, _loops(box, exchange))


def _loops(box: Box, exchange: HaloExchange) -> BoxLoops:
    """Return the loops over a part of the needed box in memory."""
    first, extents = zip(*box, strict=True)
    return box_loops(first, extents, exchange.needed.extents)
