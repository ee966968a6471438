"""An all-reduce by a ring: its routes, and what each element does (theory/grid.md §3).

The first half is one operation for each stretch of chunks that lie evenly in memory: it adds what
comes and sends it on. All elements begin by sending, so it goes in slices that the queues hold. The
second half is four moves on microthreads; routers let the element's own chunk pass first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.mapper.grid.partial_sums import PartialSums
from tilewright.mapper.grid.rings.ring_links import ring_links
from tilewright.mapper.grid.schemes.ring_reduction import RingReduction, ring_color
from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.even_steps import even_steps
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.build.task_builder import TaskBuilder
from tilewright.simulator.isa.dsd import Ref
from tilewright.simulator.lowering.number_operations import move_of
from tilewright.simulator.lowering.sums.sum_operations import append_sum
from tilewright.simulator.lowering.sums.sum_roles import Role
from tilewright.simulator.program.routes import Area, CounterFilter, Position, Switch

RECEIVE, SEND, TAKE, GIVE = 3, 3, 4, 0
"""Queues of the ring, behind those of three streams; the first of two of the second half."""
SLICE = "slice"
"""Counter of the slices of a chunk."""
UP, DOWN = "up", "down"
_SIDES = {(0, 1): ("E", "W"), (0, -1): ("W", "E"), (1, 0): ("S", "N"), (-1, 0): ("N", "S")}
"""By the step in rows and columns: the side by which a word leaves, and by which it comes in."""


def gather_color(direction: str) -> str:
    """Return the color on which chunks go to all elements: `ring_all_up`, `ring_all_down`."""
    return f"ring_all_{direction}"


# -- routes --------------------------------------------------------------------------------------


def route_ring(builder: ProgramBuilder, read: SpaceTime, sums: PartialSums) -> None:
    """Declare the colors and routes of a ring in each group, and of the way to all elements."""
    ring = sums.ring
    assert ring is not None
    for color in sorted({ring_color(k.direction, k.parity) for k in ring_links(ring.elements)}):
        builder.color(color)
    for direction in (UP, DOWN):
        builder.color(gather_color(direction))
    way = [
        Area.of(range(row, read.rows, ring.way.rows), range(column, read.columns, ring.way.columns))
        for row, column in ring.way.way()
    ]
    _route_links(builder, way)
    _route_all(builder, way, ring, UP)
    _route_all(builder, way[::-1], ring, DOWN)


def _sides(way: Sequence[Area], place: int) -> tuple[str, str]:
    """Return the side by which a word leaves a place of a way, and by which the next takes it."""
    here, there = way[place], way[place + 1]
    return _SIDES[there.row - here.row, there.column - here.column]


def _route_links(builder: ProgramBuilder, way: Sequence[Area]) -> None:
    """Route each link of the ring, over one element or none between its ends.

    way: the elements at each place of the ring, those of all groups.
    """
    for link in ring_links(len(way)):
        color, step = ring_color(link.direction, link.parity), 1 if link.direction == UP else -1
        passed = [way[place] for place in range(link.source, link.target + step, step)]
        came = "R"
        for number, area in enumerate(passed):
            goes, next_side = _sides(passed, number) if number < len(passed) - 1 else ("R", "")
            builder.route(color, area, rx=came, tx=goes)
            came = next_side


def _route_all(
    builder: ProgramBuilder, way: Sequence[Area], ring: RingReduction, direction: str
) -> None:
    """Route chunks along a way: each router lets the own one pass first, then those of others.

    A switch of the WSE-2 changes one side only, so the own one would come back to its element, too:
    a filter keeps it out.
    """
    color, came = gather_color(direction), ""
    for passed, area in enumerate(way):
        words = passed * ring.chunk_words
        goes, next_side = _sides(way, passed) if passed < len(way) - 1 else ("", "")
        if not passed:
            builder.route(color, area, rx="R", tx=goes)
        elif not goes:
            builder.route(color, area, rx=came, tx="R")
        else:
            own_first = Switch((Position(rx=("R",)), Position(rx=(came,))), current=1)
            others = CounterFilter(words + ring.chunk_words, words, words)
            builder.route(color, area, rx=came, tx=f"{goes}R", switch=own_first, filter=others)
        came = next_side


# -- elements ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RingProgram:
    """What an element of a ring does with its tile.

    `ring`: with the tile's size; `output`: name of the tensor. `place`: of the element on the way;
    `receives`, `sends`: colors of the ring.
    """

    ring: RingReduction
    output: str
    place: int
    receives: str
    sends: str

    @property
    def _runs(self) -> list[tuple[int, int, int]]:
        """The chunks that the element adds to and sends on: (first, step, count) each."""
        return list(even_steps(self.ring.chunks(self.place)[1:-1]))

    @property
    def _others(self) -> list[tuple[str, int, int, int]]:
        """By direction: its name, how many chunks come, the first one, and the step to the next."""
        last = self.ring.elements - 1
        return [(UP, self.place, self.place - 1, -1), (DOWN, last - self.place, self.place + 1, 1)]

    def declare(self, code: CodeBuilder) -> None:
        """Declare the queues and descriptors; changes `code`."""
        chunk, part = self.ring.chunk, self.ring.slice_values
        chunks = self.ring.chunks(self.place)
        simd = "simd_32" if self.ring.together == 2 else ""
        code.input_queue(RECEIVE, self.receives)
        code.output_queue(SEND, self.sends)
        for name, number in (("first", chunks[0]), ("own", chunks[-1])):
            code.mem1d(f"ring_{name}", self.output, extent=part, offset=number * chunk)
        code.fabout("ring_out", SEND, part, simd=simd)
        code.fabin("ring_in", RECEIVE, part, simd=simd)
        for run, (first, step, count) in enumerate(self._runs):
            code.fabin(f"ring_in{run}", RECEIVE, count * part, simd=simd)
            code.fabout(f"ring_out{run}", SEND, count * part, simd=simd)
            loops = [(count, step * chunk), (part, 1)]
            code.mem4d(f"ring_passing{run}", self.output, loops, offset=first * chunk)
        code.mem1d("ring_chunk", self.output, extent=chunk, offset=self.place * chunk)
        for number, (direction, count, first, step) in enumerate(self._others):
            if count:
                code.input_queue(TAKE + number, gather_color(direction))
                stream = f"ring_from_{direction}"
                code.fabin(stream, TAKE + number, count * chunk, simd=simd)
                loops = [(count, step * chunk), (chunk, 1)]
                code.mem4d(f"ring_into_{direction}", self.output, loops, offset=first * chunk)
            if count < self.ring.elements - 1:
                code.output_queue(GIVE + number, gather_color(direction))
                settings = {"advance_switch": count > 0, "simd": simd}
                code.fabout(f"ring_to_{direction}", GIVE + number, chunk, **settings)

    def add_up(self, task: TaskBuilder, read: SpaceTime) -> None:
        """Append both halves to a task.

        The moves of the second half are under way when the task ends.
        """
        add, send = f"add {self.output}", f"send {self.output}"
        part, move = self.ring.slice_values, move_of(read.dtype)
        with task.loop(SLICE, self.ring.chunk // part) as turn:
            moved = turn * part
            append_sum(task, read, Ref("ring_out"), (Ref("ring_first").at(moved),), send)
            for run in range(len(self._runs)):
                passing = Ref(f"ring_passing{run}").at(moved)
                sources = passing, Ref(f"ring_in{run}")
                append_sum(task, read, Ref(f"ring_out{run}"), sources, add)
            own = Ref("ring_own").at(moved)
            append_sum(task, read, own, (own, Ref("ring_in")), add)
        for direction, count, _, _ in self._others:
            share = f"share {self.output}"
            if count:
                task.start(move, f"ring_into_{direction}", f"ring_from_{direction}", label=share)
            if count < self.ring.elements - 1:
                task.start(move, f"ring_to_{direction}", "ring_chunk", label=share)


def ring_program(read: SpaceTime, role: Role, sums_of_ring: RingReduction) -> RingProgram:
    """Return what the elements of a role do in a ring."""
    assert role.ring is not None
    receives, sends = role.receives[0], role.send
    assert sends is not None
    return RingProgram(sums_of_ring, read.output.name, role.ring, receives, sends)
