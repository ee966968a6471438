"""A program like a matrix-vector product, of any size: broadcast, local work, two-stage sum."""

from __future__ import annotations

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.build.task_builder import TaskBuilder
from tilewright.simulator.compile.columns import BANKS
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area, EdgeInput, EdgeOutput

X, ROWS, COLUMNS, OUT = "x", ("row0", "row1"), ("column0", "column1"), "out"
"""Colors: neighbours in a line of sums use two in turns."""
WSE2 = {"load": 5, "work": 2, "back": 9, "counter": 1, "exit": 1, "stage": 6, "link": 3}
"""Cycles on wse2-sdk-sim: descriptors of an operation; an element of fmacs; back edge, counter and
exit of a loop; a stage of a chain (2 receive, 3 send, 1 hop); the last word to the border."""


def gemv_like(height: int, width: int, words: int, work: int) -> Program:
    """Return a program with the communication of a matrix-vector product on a grid.

    It multicasts `words` f32 (edge input `x`) down each column, each element does `work`
    multiply-adds on vectors of that length, then the vectors are summed along the rows and down the
    last column. The grid has at least two rows and columns. Without work nothing is multicast: it
    sums what the buffers `sum` hold.
    """
    b = ProgramBuilder("gemv_like", height, width)
    if work:
        _multicast(b, height, width, words)
    _route(b, height, width, words)
    for number, name in ((0, "first"), (1, "odd"), (2, "even")):
        code = b.code(name)
        task = _work(code, words, work)
        _pass_on(code, task, ROWS[1 - number % 2] if number else "", ROWS[number % 2], words)
    for column in range(width - 1):
        b.place(("even", "odd")[column % 2] if column else "first", Area(0, column, height, 1))
    for row in range(height):
        name = _name(row, height)
        if row < 3 or name == "bottom":
            code = b.code(name)
            task = _work(code, words, work)
            _receive(code, "row_in", 1, ROWS[width % 2], words)
            task.op("fadds", "all_sum", "all_sum", "row_in")
            _pass_on(code, task, *_column_colors(row, name), words)
        b.place(name, Area(row, width - 1))
    return b.build()


def _column_colors(row: int, name: str) -> tuple[str, str]:
    """Return the colors (from above, onward) of an element of the last column."""
    above = COLUMNS[1 - row % 2] if row else ""
    return above, OUT if name == "bottom" else COLUMNS[row % 2]


def wse2_cycles(height: int, width: int, words: int, work: int) -> int:
    """Return the exact cycles of `gemv_like` on wse2-sdk-sim, by a closed form.

    The parameters are its own: rows and columns of the grid, f32 in each vector, multiply-adds of
    each element on such vectors. The phases follow each other: receive a vector, do the work in a
    loop, add along the rows in a chain, and the same down the last column (docs/fast_engine.md).
    """
    c = WSE2
    loop = 0
    if work:
        loop = c["load"] + words + c["counter"] + c["exit"]
        loop += work * (c["load"] + c["work"] * words) + (work - 1) * c["back"]
    row = c["load"] + c["stage"] * (width - 1) + words
    column = c["load"] + c["stage"] * (height - 1) + words
    return loop + row + column + c["link"]


def _name(row: int, height: int) -> str:
    if row in (0, height - 1):
        return "bottom" if row else "top"
    return f"last{row % 2}"


def _multicast(b: ProgramBuilder, height: int, width: int, words: int) -> None:
    b.color(X)
    b.route(X, Area(0, 0, height - 1, width), rx="N", tx="SR")
    b.route(X, Area(height - 1, 0, 1, width), rx="N", tx="R")
    b.edge_input(EdgeInput("x", "N", 0, width, X, "f32", words))


def _route(b: ProgramBuilder, height: int, width: int, words: int) -> None:
    for color in (*ROWS, *COLUMNS, OUT):
        b.color(color)
    for column in range(width - 1):
        b.route(ROWS[column % 2], Area(0, column, height, 1), rx="R", tx="E")
        b.route(ROWS[column % 2], Area(0, column + 1, height, 1), rx="W", tx="R")
    for row in range(height - 1):
        b.route(COLUMNS[row % 2], Area(row, width - 1), rx="R", tx="S")
        b.route(COLUMNS[row % 2], Area(row + 1, width - 1), rx="N", tx="R")
    b.route(OUT, Area(height - 1, width - 1), rx="R", tx="S")
    b.edge_output(EdgeOutput("y", "S", width - 1, 1, OUT, "f32", words))


def _work(code: CodeBuilder, words: int, work: int) -> TaskBuilder:
    """Declare an element's buffers, receive x and work on it; return the task.

    Both vectors begin in bank 0, so every multiply-add takes two cycles, for any number of words.
    """
    code.buffer("sum", "f32", words)
    code.mem1d("all_sum", "sum", words)
    task = code.task("main", entry=True)
    if not work:
        return task
    code.buffer("x", "f32", words, address=-(-2 * words // BANKS) * BANKS)
    code.mem1d("all_x", "x", words)
    _receive(code, "x_in", 0, X, words)
    task.op("fmovs", "all_x", "x_in")
    with task.loop("k", work):
        task.op("fmacs", "all_sum", "all_sum", "all_x", 0.5)
    return task


def _receive(code: CodeBuilder, name: str, queue: int, color: str, words: int) -> None:
    """Declare a stream from an input queue, which a color feeds."""
    code.input_queue(queue, color)
    code.fabin(name, queue, words)


def _pass_on(code: CodeBuilder, task: TaskBuilder, came: str, goes: str, words: int) -> None:
    """Send the element's sum on; first add the sum that comes on color `came`, if there is one."""
    code.output_queue(2, goes)
    code.fabout("onward", 2, words)
    if not came:
        task.op("fmovs", "onward", "all_sum")
        return
    _receive(code, "came", 3, came, words)
    task.op("fadds", "onward", "all_sum", "came")
