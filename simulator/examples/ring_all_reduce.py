"""All-reduce by a ring that is folded onto one row."""

from __future__ import annotations

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.isa.dsd import Ref
from tilewright.simulator.isa.index_expression import variable
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area

RECEIVE, SEND = 2, 3
MOST_SENT = 16
"""Words that the queues between two elements hold while all of them send and none receives."""


def ring_all_reduce(elements: int, words: int) -> Program:
    """Return a program that sums vectors of a row into every element, by a ring on the row.

    Each element has a vector of `words` f32 in the buffer `v`. First reduce-scatter: the vector has
    a chunk for every place of the ring, which travels around once while every element adds its
    part, one operation per word; all begin by sending, so this goes in slices that the queues hold.
    Then all-gather: each finished chunk travels around; an element stores what comes and sends it
    again, two operations per word, for an operation has one destination. Raises ProgramError unless
    `elements` is even and divides `words`.
    """
    b = folded_ring("ring_all_reduce", elements, words)
    for place, column in enumerate(ring_order(elements)):
        code = b.codes[column]
        _scatter(code, place, elements, words // elements)
        _gather(code, elements, words // elements)
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


def _scatter(code: CodeBuilder, place: int, elements: int, chunk: int) -> None:
    """Append the reduce-scatter: send a chunk, add to those that pass, finish the element's own."""
    slice_words = next(n for n in range(min(chunk, MOST_SENT), 0, -1) if chunk % n == 0)
    for name, number in (("first", place - 1), ("own", place)):
        code.mem1d(name, "v", slice_words, offset=number % elements * chunk)
    code.fabout("first_out", SEND, slice_words)
    code.fabin("own_in", RECEIVE, slice_words)
    main = code.task("scatter", entry=True)
    with main.loop("slice", chunk // slice_words) as turn:
        main.op("fmovs", "first_out", Ref("first").at(turn * slice_words))
        for name, top, count in _around(place - 2, elements):
            code.fabin(f"{name}_in", RECEIVE, count * slice_words)
            code.fabout(f"{name}_out", SEND, count * slice_words)
            loops = [(count, -chunk), (slice_words, 1)]
            passing = code.mem4d(name, "v", loops, offset=top * chunk).at(turn * slice_words)
            main.op("fadds", f"{name}_out", passing, f"{name}_in")
        own_slice = Ref("own").at(turn * slice_words)
        main.op("fadds", own_slice, own_slice, "own_in")
    main.set("known", place)
    main.activate("gather")


def _around(top: int, elements: int) -> list[tuple[str, int, int]]:
    """Return (name, first, count) of the elements - 2 numbers from `top` down, around below 0."""
    low = min(max(top + 1, 0), elements - 2)
    runs = [("low", top, low), ("high", (top - low) % elements, elements - 2 - low)]
    return [(name, first % elements, count) for name, first, count in runs if count]


def _gather(code: CodeBuilder, elements: int, chunk: int) -> None:
    """Append the all-gather: send the last chunk on a microthread while the next one comes in."""
    code.mem1d("chunk", "v", chunk)
    code.fabin("in", RECEIVE, chunk)
    code.fabout("out", SEND, chunk)
    last_chunk = Ref("chunk").at(variable("known") * chunk)
    step = code.task("gather")
    with step.when_below("turn", elements - 1):
        step.start("fmovs", "out", last_chunk, activate="gather")
        step.increment("turn")
        with step.when_below("known", 1):
            step.set("known", elements)
        step.increment("known", -1)
        step.op("fmovs", last_chunk, "in")
