"""Collectives with published closed forms (wafer.md §7.1), for the validation page and tests."""

from __future__ import annotations

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area, Position, Switch

RECEIVE, SEND = 2, 3


def star_reduce(elements: int, words: int) -> Program:
    """Return a program that sums vectors along a row into its west end, which does all additions.

    Each element has a vector of `words` f32 in the buffer `v`. One color: every router lets its own
    element's vector pass, then switches to what comes from the east. The root adds the stream to a
    circular buffer. Raises ProgramError for less than two elements or a word.
    """
    if elements < 2 or words < 1:
        raise ProgramError("a star has two or more elements, and words", value=(elements, words))
    b = ProgramBuilder("star_reduce", 1, elements)
    color = b.color("all")
    for name in ("root", "leaf"):
        code = b.code(name)
        code.buffer("v", "f32", words + (name == "root"))
        code.mem1d("all", "v", words)
    root, leaf = b.codes
    total = (elements - 1) * words
    root.circbuf("around", "v", total, words)
    root.input_queue(RECEIVE, color)
    root.fabin("in", RECEIVE, total)
    root.task("main", entry=True).op("fadds", "around", "around", "in")
    leaf.output_queue(SEND, color)
    leaf.fabout("out", SEND, words, advance_switch=True)
    leaf.task("main", entry=True).op("fmovs", "out", "all")
    b.place("leaf", Area(0, 0, 1, elements))
    b.place("root", Area(0, 0))
    b.route(color, Area(0, 0), rx="E", tx="R")
    if elements > 2:
        switch = Switch((Position(rx=("E",)),))
        b.route(color, Area(0, 1, 1, elements - 2), rx="R", tx="W", switch=switch)
    b.route(color, Area(0, elements - 1), rx="R", tx="W")
    return b.build()


def broadcast(height: int, width: int, words: int) -> Program:
    """Return a program that sends the vector of the north west element to all others of a grid.

    The vector is `words` f32 in the buffer `v`; it spreads by one flood of multicasts. Raises
    ProgramError for less than two elements or a word.
    """
    if min(height, width, words) < 1 or height * width < 2:
        raise ProgramError(
            "a broadcast has two or more elements, and words", value=(height, width, words)
        )
    b = ProgramBuilder("broadcast", height, width)
    color = b.color("all")
    first, rest = b.code("first"), b.code("rest")
    for code in (first, rest):
        code.buffer("v", "f32", words)
        code.mem1d("all", "v", words)
    first.output_queue(SEND, color)
    first.fabout("out", SEND, words)
    first.task("main", entry=True).op("fmovs", "out", "all")
    _receive(rest, color, words)
    b.place("rest", Area(0, 0, height, width))
    b.place("first", Area(0, 0))
    south = "S" if height > 1 else ""
    b.route(color, Area(0, 0), rx="R", tx=("E" if width > 1 else "") + south)
    if width > 2:
        b.route(color, Area(0, 1, 1, width - 2), rx="W", tx="RE" + south)
    if width > 1:
        b.route(color, Area(0, width - 1), rx="W", tx="R" + south)
    if height > 2:
        b.route(color, Area(1, 0, height - 2, width), rx="N", tx="RS")
    if height > 1:
        b.route(color, Area(height - 1, 0, 1, width), rx="N", tx="R")
    return b.build()


def _receive(code: CodeBuilder, color: str, words: int) -> None:
    code.input_queue(RECEIVE, color)
    code.fabin("in", RECEIVE, words)
    code.task("main", entry=True).op("fmovs", "all", "in")


def aliased_operation(operation: str, extent: int, distance: int) -> Program:
    """Return a program of one element that runs `v = v (operation) w` on vectors in chosen banks.

    They have `extent` f32 values; the addresses of `v` and `w` differ by `distance` 16-bit words
    modulo 8, which decides whether their reads are of the same memory bank.
    """
    b = ProgramBuilder(operation, 1, 1)
    code = b.code("main")
    code.buffer("v", "f32", extent)
    code.buffer("w", "f32", extent, address=(2 * extent + 15) // 8 * 8 + distance)
    code.mem1d("all_v", "v", extent)
    code.mem1d("all_w", "w", extent)
    code.task("main", entry=True).op(operation, "all_v", "all_v", "all_w")
    b.place("main", Area(0, 0))
    return b.build()
