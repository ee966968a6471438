"""A star stencil of radius 1 with one cell per element: every word is an operation.

    new = weights[0] * old + weights[1] * (east + west + north + south)

An element sends weights[1] times its cell by one multicast to its neighbours, multiplies the cell,
and adds what comes from each of them; all operations are synchronous, on descriptors in registers.
A machine that takes two fabric inputs per operation adds the words by pairs first. Six colors in a
pattern give every element five different ones: its own and those of its neighbours. Elements at the
border keep their cells, send once more than they receive, so that no queue runs empty, and take the
words. It is the form of the public kernel's last source (github Jorineg/cerebras, r1-stencil
@c8ba590), whose iterations the compiler puts one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Final

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.build.task_builder import TaskBuilder
from tilewright.simulator.isa.dsd import Register
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area

SEND: Final = 2
RECEIVE: Final = {"E": 2, "W": 3, "N": 4, "S": 5}
STEPS: Final = {"E": (0, 1), "W": (0, -1), "N": (-1, 0), "S": (1, 0)}
COLORS: Final = 6
OUT, CELL = Register("dest", 1), Register("src0", 1)
SENT: Final = Register("src1", 1)
FIRST: Final = 2
SUMS: Final = (8, 9)
"""Registers of what is sent at the border, of the four words, and of the sums of two of them."""


def cell_stencil(height: int, width: int, iterations: int, *, pairs: bool) -> Program:
    """Return a program that does some iterations of the stencil on a grid, a cell per element.

    height, width: rows and columns of elements, at least 3 each; iterations: at least 1; pairs:
    whether an operation takes two words, as WSE-2 allows. Every element starts from its buffer
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
    made: dict[tuple[object, ...], str] = {}
    grid = Area(0, 0, height, width)
    for row, column in product(range(height), range(width)):
        color, around = color_of(row, column), neighbours(grid, row, column)
        ahead = [p for p in around if not _is_inner(grid, *_neighbour(row, column, p))]
        key = (color, *around.items(), *ahead)
        if key not in made:
            made[key] = f"e{len(made)}"
            code = b.code(made[key])
            registers = _element(code, color, around, pairs=pairs)
            _iterate(code, registers, iterations, ahead)
        b.place(made[key], Area(row, column))
        _route(b, Area(row, column), color, around)
    return b.build()


def _route(b: ProgramBuilder, place: Area, color: str, around: Mapping[str, str]) -> None:
    """Route the multicast of an element, on `color`, and what comes from its neighbours."""
    if around:
        b.route(color, place, rx="R", tx="".join(around))
    for port, name in around.items():
        b.route(name, place, rx=port, tx="R")


def color_of(row: int, column: int) -> str:
    """Return the color on which the element at (row, column) sends.

    An element and its four neighbours have five different colors.
    """
    return f"c{(column + row // 2 % 2) % 3 + row % 2 * 3}"


def neighbours(grid: Area, row: int, column: int) -> dict[str, str]:
    """Return the neighbours with which an element exchanges: by port, the color of each.

    A color is that on which the neighbour sends. Two elements exchange if at least one of them is
    not at the border of the grid.
    """
    colors = {}
    for port in STEPS:
        other = _neighbour(row, column, port)
        if _is_inner(grid, row, column) or _is_inner(grid, *other):
            colors[port] = color_of(*other)
    return colors


def _neighbour(row: int, column: int, port: str) -> tuple[int, int]:
    down, right = STEPS[port]
    return row + down, column + right


def _is_inner(grid: Area, row: int, column: int) -> bool:
    return 0 < row < grid.height - 1 and 0 < column < grid.width - 1


def _element(
    code: CodeBuilder, color: str, around: Mapping[str, str], *, pairs: bool
) -> dict[str, Register]:
    """Declare the data, queues and registers of an element that exchanges with some neighbours.

    around: ports to the neighbours, with their colors; pairs: whether it adds words by pairs.
    Returns the registers of what comes, by port.
    """
    code.buffer("weights", "f32", 2)
    for name in ("cell", "sent", "dropped"):
        code.buffer(name, "f32", 1)
        code.mem1d(f"{name}_cell", name, 1)
    if not around:
        return {}
    code.output_queue(SEND, color)
    code.load(OUT, code.fabout("out", SEND, 1))
    code.load(CELL, "cell_cell")
    code.load(SENT, "sent_cell")
    pairs = pairs and len(around) == len(STEPS)
    came = {}
    for number, (port, name) in enumerate(around.items()):
        code.input_queue(RECEIVE[port], name)
        came[port] = Register("src1" if number % 2 or not pairs else "src0", FIRST + number)
        code.load(came[port], code.fabin(f"from_{port}", RECEIVE[port], 1))
    for number in SUMS if pairs else ():
        code.buffer(f"sum{number}", "f32", 1)
        for file in ("dest", "src1"):
            code.load(Register(file, number), code.mem1d(f"{file}{number}", f"sum{number}", 1))
    return came


def _iterate(
    code: CodeBuilder, came: Mapping[str, Register], iterations: int, ahead: Sequence[str]
) -> None:
    """Declare the task of an element: its iterations, one after the other.

    came: registers of what comes, by port; ahead: ports to neighbours that send once more.
    """
    main = code.task("main", entry=True)
    if not came:
        return
    if len(came) == len(STEPS):
        for _ in range(iterations):
            _iteration(code, main, tuple(came.values()))
        for port in ahead:
            main.op("fmovs", "dropped_cell", came[port])
        return
    outer = code.element("weights", 1), code.element("cell")
    main.compute(code.element("sent"), "mul", *outer, dtype="f32")
    main.op("fmovs", OUT, SENT)
    for _ in range(iterations):
        main.op("fmovs", OUT, SENT)
        main.op("fmovs", "dropped_cell", *came.values())


def _iteration(code: CodeBuilder, main: TaskBuilder, words: tuple[Register, ...]) -> None:
    """Append an iteration of an inner element: send, multiply, add what came."""
    main.op("fmuls", OUT, CELL, code.element("weights", 1))
    main.op("fmuls", CELL, CELL, code.element("weights", 0))
    if words[0].file == "src0":
        for number, first, second in zip(SUMS, words[::2], words[1::2], strict=True):
            main.op("fadds", Register("dest", number), first, second)
        words = tuple(Register("src1", number) for number in SUMS)
    for word in words:
        main.op("fadds", CELL, CELL, word)
