"""A star stencil of radius 1 with one cell per element: every word is an operation.

    new = weights[0] * old + weights[1] * (east + west + north + south)

An element sends its cell by one multicast to its neighbours, multiplies it, and adds what comes
from each of them by a multiply-add; all operations are synchronous, on descriptors in registers.
Six colors in a pattern give every element five different ones: its own and those of its
neighbours. It is the form of the public kernel's source (github Jorineg/cerebras @911a327,
r1-stencil, with the routes of non-tiled-tencil). Elements at the border keep their cells and take
the words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sized
from typing import Final

from tilewright.simulator.build.program_builder import CodeBuilder, ProgramBuilder
from tilewright.simulator.build.task_builder import TaskBuilder
from tilewright.simulator.isa.dsd import Register
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area

SEND: Final = 2
RECEIVE: Final = {"E": 2, "W": 3, "N": 4, "S": 5}
STEPS: Final = {"E": (0, 1), "W": (0, -1), "N": (-1, 0), "S": (1, 0)}
COLORS: Final = 6
OUT, TARGET = Register("dest", 1), Register("dest", 2)
OWN, ADDED = Register("src1", 1), Register("src0", 1)


def cell_stencil(height: int, width: int, iterations: int, *, unrolled: bool = False) -> Program:
    """Return a program that does some iterations of the stencil on a grid, a cell per element.

    height, width: rows and columns of elements, at least 3 each; iterations: at least 1; unrolled:
    whether they stand one after the other, without a loop. Every element starts from its buffer
    `cell`, one f32, and `weights`, two. Raises ProgramError for other sizes.
    """
    if min(height, width) < 3 or iterations < 1:
        raise ProgramError(
            "a stencil has 3 x 3 elements or more, and iterations",
            value=((height, width), iterations),
        )
    b = ProgramBuilder("cell_stencil", height, width)
    for number in range(COLORS):
        b.color(f"c{number}")
    made: dict[tuple[str, ...], str] = {}
    for row in range(height):
        for column in range(width):
            color, around = (
                color_of(row, column),
                neighbours(Area(0, 0, height, width), row, column),
            )
            key = (color, *(f"{port} {name}" for port, name in around.items()))
            if key not in made:
                made[key] = f"e{len(made)}"
                code = b.code(made[key])
                _element(code, color, around)
                _iterate(code, around, iterations, unrolled=unrolled)
            b.place(made[key], Area(row, column))
            if around:
                b.route(color, Area(row, column), rx="R", tx="".join(around))
            for port, name in around.items():
                b.route(name, Area(row, column), rx=port, tx="R")
    return b.build()


def color_of(row: int, column: int) -> str:
    """Return the color by which an element sends; around an element no two are the same."""
    return f"c{(column + row // 2 % 2) % 3 + row % 2 * 3}"


def neighbours(grid: Area, row: int, column: int) -> dict[str, str]:
    """Return the colors of the neighbours with which an element exchanges, by port.

    Two elements exchange if one of them is not at the border.
    """
    found = {}
    for port, (down, right) in STEPS.items():
        other = row + down, column + right
        if _is_inner(grid, row, column) or _is_inner(grid, *other):
            found[port] = color_of(*other)
    return found


def _is_inner(grid: Area, row: int, column: int) -> bool:
    return 0 < row < grid.height - 1 and 0 < column < grid.width - 1


def _element(code: CodeBuilder, color: str, around: Mapping[str, str]) -> None:
    """Declare the data, queues and registers of an element that exchanges with some neighbours.

    around: ports to the neighbours, with their colors.
    """
    code.buffer("cell", "f32", 1)
    code.buffer("taken", "f32", 1)
    code.buffer("weights", "f32", 2)
    code.mem1d("own", "cell", 1)
    code.mem1d("rest", "taken", 1)
    if not around:
        return
    code.output_queue(SEND, color)
    code.load(OUT, code.fabout("out", SEND, 1))
    code.load(OWN, "own")
    code.load(ADDED, "own")
    code.load(TARGET, "own" if len(around) == len(STEPS) else "rest")
    for number, (port, name) in enumerate(around.items()):
        code.input_queue(RECEIVE[port], name)
        code.load(Register("src1", 2 + number), code.fabin(f"from_{port}", RECEIVE[port], 1))


def _iterate(code: CodeBuilder, around: Sized, iterations: int, *, unrolled: bool) -> None:
    """Declare the task of an element, whose iterations are a loop or stand one after the other."""
    main = code.task("main", entry=True)
    if not around:
        return
    if unrolled:
        for _ in range(iterations):
            _exchange(code, main, len(around))
        return
    with main.loop("i", iterations):
        _exchange(code, main, len(around))


def _exchange(code: CodeBuilder, main: TaskBuilder, count: int) -> None:
    """Append an iteration: an element with all four neighbours computes, others drop the words."""
    inner = count == len(STEPS)
    main.op("fmovs", OUT, OWN)
    if inner:
        main.op("fmuls", TARGET, OWN, code.element("weights", 0))
    for number in range(count):
        came = Register("src1", 2 + number)
        if inner:
            main.op("fmacs", TARGET, ADDED, came, code.element("weights", 1))
        else:
            main.op("fmovs", TARGET, came)
