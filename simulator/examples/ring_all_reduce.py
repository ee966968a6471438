"""All-reduce by a ring that is folded onto one row."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.even_steps import even_steps
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.isa.dsd import Ref
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area, CounterFilter, Position, Switch

RECEIVE, SEND, TAKE, GIVE = 2, 3, 4, 0
"""Queues of the ring, and the first of the two of the gather."""
MOST_SENT = 16
"""Words that the queues between two elements hold while all of them send and none receives."""


def ring_all_reduce(elements: int, words: int) -> Program:
    """Return a program that sums vectors of a row into every element, by a ring on the row.

    Each element has a vector of `words` f32 in the buffer `v`. First reduce-scatter: the vector has
    a chunk for every element, which travels around the ring once while every element adds its
    part, one operation per word, and ends in its element; all begin by sending, so this goes in
    slices that the queues hold. Then all-gather, forwarded by the routers: each element sends its
    chunk to both sides, and each router hands what comes on to its element and to the next one.
    Raises ProgramError unless `elements` is even and divides `words`.
    """
    b = folded_ring("ring_all_reduce", elements, words)
    order = ring_order(elements)
    for place, column in enumerate(order):
        _scatter(b.codes[column], [order[place - n - 1] for n in range(elements)], words)
    for direction in "EW":
        _gather_routes(b, direction, elements, words // elements)
    for column in range(elements):
        _gather(b.codes[column], column, elements, words // elements)
    return b.build()


def ring_order(elements: int) -> list[int]:
    """Return the columns in the order of the ring: the even ones to the east, the odd ones back.

    For 6 elements: 0 2 4 5 3 1.
    """
    return [*range(0, elements, 2), *range(elements - 1, 0, -2)]


def folded_ring(name: str, elements: int, words: int) -> ProgramBuilder:
    """Return the builder of a row of elements with the queues and routes of a ring, without tasks.

    Every element has a code `e<column>` and a vector `v` of `words` f32, and sends to the next one
    along the ring, over two hops but at the ends. Raises ProgramError unless `elements` is even and
    divides `words`.
    """
    if elements < 2 or elements % 2 or words % elements:
        raise ProgramError(
            "a ring on a row has an even number of elements, which divides the words",
            value=(elements, words),
        )
    b = ProgramBuilder(name, 1, elements)
    colors = [
        b.color(f"{direction}{parity}") for direction in ("east", "west") for parity in (0, 1)
    ]
    for column in range(elements):
        b.code(f"e{column}").buffer("v", "f32", words)
        b.place(f"e{column}", Area(0, column))
    order = ring_order(elements)
    for place, column in enumerate(order):
        after = order[(place + 1) % elements]
        color = colors[2 * (after < column) + place % 2]
        direction, back = ("E", "W") if after > column else ("W", "E")
        b.route(color, Area(0, column), rx="R", tx=direction)
        b.route(color, Area(0, after), rx=back, tx="R")
        if abs(after - column) == 2:
            b.route(color, Area(0, (column + after) // 2), rx=back, tx=direction)
        b.codes[column].output_queue(SEND, color)
        b.codes[after].input_queue(RECEIVE, color)
    return b


def _scatter(code: CodeBuilder, chunks: Sequence[int], words: int) -> None:
    """Send the first chunk, add to those that come by, and finish the last one, the own."""
    chunk = words // len(chunks)
    slice_words = next(n for n in range(min(chunk, MOST_SENT), 0, -1) if chunk % n == 0)
    for name, number in (("first", chunks[0]), ("own", chunks[-1])):
        code.mem1d(name, "v", slice_words, offset=number * chunk)
    code.fabout("first_out", SEND, slice_words)
    code.fabin("own_in", RECEIVE, slice_words)
    main = code.task("scatter", entry=True)
    with main.loop("slice", chunk // slice_words) as turn:
        main.op("fmovs", "first_out", Ref("first").at(turn * slice_words))
        for run, (first, step, count) in enumerate(even_steps(chunks[1:-1])):
            code.fabin(f"in{run}", RECEIVE, count * slice_words)
            code.fabout(f"out{run}", SEND, count * slice_words)
            loops = [(count, step * chunk), (slice_words, 1)]
            passing = code.mem4d(f"passing{run}", "v", loops, offset=first * chunk)
            main.op("fadds", f"out{run}", passing.at(turn * slice_words), f"in{run}")
        own_slice = Ref("own").at(turn * slice_words)
        main.op("fadds", own_slice, own_slice, "own_in")
    main.activate("gather")


def _gather_routes(b: ProgramBuilder, direction: str, elements: int, chunk: int) -> None:
    """Route chunks in one direction: each router lets the own one pass first, then the others'.

    A switch of the WSE-2 changes one side only, so the own one would come back to its element, too:
    a filter keeps it out.
    """
    color, back = b.color(f"gather_{direction}"), {"E": "W", "W": "E"}[direction]
    columns = range(elements) if direction == "E" else range(elements - 1, -1, -1)
    own_first = Switch((Position(rx=("R",)), Position(rx=(back,))), current=1)
    for passed, column in enumerate(columns):
        words, place = passed * chunk, Area(0, column)
        if passed == 0:
            b.route(color, place, rx="R", tx=direction)
        elif passed == elements - 1:
            b.route(color, place, rx=back, tx="R")
        else:
            others = CounterFilter(words + chunk, words, words)
            b.route(color, place, rx=back, tx=f"{direction}R", switch=own_first, filter=others)


def _gather(code: CodeBuilder, column: int, elements: int, chunk: int) -> None:
    """Send the own chunk to both sides while those of all others come in, the nearest first.

    All four go on at once: a chunk goes on only when those before it have gone.
    """
    task = code.task("gather")
    code.mem1d("chunk", "v", chunk, offset=column * chunk)
    sides = (("E", column, -1), ("W", elements - 1 - column, 1))
    for number, (direction, count, step) in enumerate(sides):
        if count:
            code.input_queue(TAKE + number, f"gather_{direction}")
            code.fabin(f"from_{direction}", TAKE + number, count * chunk)
            loops = [(count, step * chunk), (chunk, 1)]
            into = code.mem4d(f"into_{direction}", "v", loops, offset=(column + step) * chunk)
            task.start("fmovs", into, f"from_{direction}")
        if count < elements - 1:
            code.output_queue(GIVE + number, f"gather_{direction}")
            code.fabout(f"to_{direction}", GIVE + number, chunk, advance_switch=count > 0)
            task.start("fmovs", f"to_{direction}", "chunk")
