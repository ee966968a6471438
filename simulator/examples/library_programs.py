"""Programs on the collectives library: one line of calls, GEMV and SUMMA as the SDK's examples.

The steps, tiles and callbacks of the last two are those of csl-examples, gemv-collectives_2d and
gemm-collectives_2d (github Cerebras/csl-examples @00ab4bf and @1d7742d).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.build.task_builder import TaskBuilder
from tilewright.simulator.examples.collectives_library import Call, Library, choose
from tilewright.simulator.examples.collectives_steps import LibraryLine
from tilewright.simulator.isa.dsd import Ref
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area

END: Final = "finished"
"""Name of the task after the last call: the SDK's programs go back to the host there."""


class Matrix(NamedTuple):
    """Hold rows and columns: of a grid of elements, or of a tile."""

    rows: int
    columns: int


def library_calls(elements: int, words: int, calls: Sequence[tuple[str, int]]) -> Program:
    """Return a row of elements that makes calls of the library in turn, each of (kind, root).

    Every element sends the `words` f32 of its buffer `mine` (`elements` times as many for a
    scatter). Row i of its buffer `got`, `elements` times `words` f32, gets what call i brings it.
    Raises ProgramError for fewer than two elements, no call, or a call that cannot be.
    """
    if elements < 2 or not calls:
        raise ProgramError("a line has two elements and a call", value=(elements, tuple(calls)))
    b = _builder("library_calls", Matrix(1, elements), "x")
    for place in range(elements):
        code = b.code(f"e{place}")
        code.buffer("mine", "f32", words * elements)
        code.buffer("got", "f32", (len(calls), words * elements))
        made = []
        for number, (kind, root) in enumerate(calls):
            code.view(f"got{number}", "got", words * elements, number * words * elements)
            after = f"call{number + 1}" if number + 1 < len(calls) else END
            made.append(Call(kind, root, words, "mine", f"got{number}", after))
        line = LibraryLine("x", place, elements)
        _route(b, line, Area(0, place))
        library = Library(code, line, made)
        for number in range(len(calls)):
            library.call(code.task(f"call{number}", entry=number == 0), [number])
        code.task(END)
        b.place(code.name, Area(0, place))
    return b.build()


def _builder(name: str, grid: Matrix, lines: str) -> ProgramBuilder:
    """Return a builder with the colors of the library; lines: "x" for rows, "y" for columns."""
    b = ProgramBuilder(name, *grid)
    for line in lines:
        for number in (0, 1):
            b.color(f"{line}{number}")
    return b


def _route(b: ProgramBuilder, line: LibraryLine, area: Area) -> None:
    """Set the routes that the library starts with: both colors are torn down."""
    less, more = line.ports
    for number, color in enumerate(line.colors):
        if number == 1:
            b.route(color, area, rx="R", tx="R", teardown=True)
        elif line.place == 0:
            b.route(color, area, rx="R", tx=more, teardown=True)
        else:
            tx = "R" + (more if line.place < line.size - 1 else "")
            b.route(color, area, rx=less, tx=tx, teardown=True)


def library_gemv(grid: Matrix, tile: Matrix) -> Program:
    """Return y = A x + b on a grid of elements, by five calls of the library.

    The vectors `x` and `b` stand in the first element, each element's tile of A by columns in
    `tile`. b is scattered down the first column, x along the first row, tiles of x are broadcast
    down the columns; products are summed along the rows into the last column, and gathered in the
    buffer `y` of the last element. Raises ProgramError for less than 2 x 2 elements or an empty
    tile.
    """
    if min(grid) < 2 or min(tile) < 1:
        raise ProgramError("a grid of 2 x 2 or more, and tiles", value=(grid, tile))
    b = _builder("library_gemv", grid, "xy")
    for row in range(grid.rows):
        for column in range(grid.columns):
            code = b.code(f"e{row}_{column}")
            along = LibraryLine("x", column, grid.columns)
            down = LibraryLine("y", row, grid.rows)
            for line in (along, down):
                _route(b, line, Area(row, column))
            _gemv_element(code, along, down, tile)
            b.place(code.name, Area(row, column))
    return b.build()


def _gemv_element(code: CodeBuilder, along: LibraryLine, down: LibraryLine, tile: Matrix) -> None:
    """Declare one element's buffers, calls and tasks, in the order of the SDK's program."""
    rows, columns = tile
    for name, words in (
        ("x", columns * along.size), ("b", rows * down.size), ("tile", rows * columns),
        ("x_tile", columns), ("b_tile", rows), ("local", rows), ("row_sum", rows),
        ("y", rows * down.size),
    ):  # fmt: skip
        code.buffer(name, "f32", words)
    scatter_b = [Call("scatter", 0, rows, "b", "b_tile", "scatter_x")]
    scatter_x = [Call("scatter", 0, columns, "x", "x_tile", "broadcast_x")]
    x_calls = [
        *(scatter_x if down.place == 0 else []),
        Call("reduce", along.size - 1, rows, "local", "row_sum", "gather_y"),
    ]
    y_calls = [
        *(scatter_b if along.place == 0 else []),
        Call("broadcast", 0, columns, "x_tile", "x_tile", "compute"),
        Call("gather", down.size - 1, rows, "row_sum", "y", END),
    ]
    library_x, library_y = Library(code, along, x_calls), Library(code, down, y_calls)
    start, spread = code.task("main", entry=True), code.task("scatter_x")
    if along.place == 0:
        library_y.call(start, [0])
    else:
        start.activate("scatter_x")
    if down.place == 0:
        library_x.call(spread, [0])
    else:
        spread.activate("broadcast_x")
    library_y.call(code.task("broadcast_x"), [len(y_calls) - 2])
    compute = code.task("compute")
    _multiply(code, compute, tile, adds=along.place == 0)
    library_x.call(compute, [len(x_calls) - 1])
    library_y.call(code.task("gather_y"), [len(y_calls) - 1])
    code.task(END)


def _multiply(code: CodeBuilder, compute: TaskBuilder, tile: Matrix, *, adds: bool) -> None:
    """Append the product of the tile and its part of x, column by column, and the addition of b."""
    rows, columns = tile
    code.mem1d("column", "tile", rows)
    code.mem1d("sum", "local", rows)
    with compute.loop("j", columns) as j:
        x = code.element("x_tile", j)
        compute.op("fmacs", "sum", "sum", Ref("column").at(j * rows), x)
    if adds:
        code.mem1d("added", "b_tile", rows)
        compute.op("fadds", "sum", "sum", "added")


def library_summa(size: int, tile: int) -> Program:
    """Return C = A B on size x size elements with square tiles, by two broadcasts per step.

    Tiles stand by columns in the buffers `A`, `B` and `C`. In step k the elements of column k
    broadcast A along their rows, those of row k broadcast B down their columns. Raises ProgramError
    for less than 2 x 2 elements or an empty tile.
    """
    if size < 2 or tile < 1:
        raise ProgramError("a grid of 2 x 2 or more, and tiles", value=(size, tile))
    b = _builder("library_summa", Matrix(size, size), "xy")
    for row in range(size):
        for column in range(size):
            code = b.code(f"e{row}_{column}")
            along, down = LibraryLine("x", column, size), LibraryLine("y", row, size)
            for line in (along, down):
                _route(b, line, Area(row, column))
            _summa_element(code, along, down, tile)
            b.place(code.name, Area(row, column))
    return b.build()


def _summa_element(code: CodeBuilder, along: LibraryLine, down: LibraryLine, tile: int) -> None:
    """Declare one element's tiles, broadcasts, and the task of the product of a step."""
    words = tile * tile
    for name in ("A", "B", "C", "A_buffer", "B_buffer"):
        code.buffer(name, "f32", words)
    code.buffer("moved", "u16", 2)
    steps = range(along.size)
    main = code.task("main", entry=True)
    for line, name in ((along, "A"), (down, "B")):
        calls = [
            Call("broadcast", step, words, name, f"{name}_buffer", f"{line.name}_done")
            for step in steps
        ]
        Library(code, line, calls).call(main, steps)
    code.task("x_done").activate("compute")
    code.task("y_done").unblock("compute")
    compute = code.task("compute", blocked=True)
    code.mem1d("c", "C", tile)
    for name in ("A", "A_buffer"):
        code.mem1d(f"column_{name}", name, tile)
    products = [
        partial(
            _multiply_tiles, code, tile,
            ["A" if along.place == step else "A_buffer",
             "B" if down.place == step else "B_buffer"],
        )
        for step in steps
    ]  # fmt: skip
    choose(compute, "step", products, steps)
    compute.increment("step")
    compute.block("compute")
    with compute.when_below("step", along.size):
        compute.activate("main")
    with compute.otherwise():
        compute.activate(END)
    code.task(END)


def _multiply_tiles(code: CodeBuilder, tile: int, names: Sequence[str], task: TaskBuilder) -> None:
    """Append C += A B by one fmacs per element of B; the source moves a descriptor in each turn."""
    first, second = names
    moved = code.element("moved")
    with task.loop("k", tile) as k, task.loop("j", tile) as j:
        task.compute("place", "mul", "j", tile, dtype="u16")
        task.compute("place", "add", "place", "k", dtype="u16")
        factor = code.element(second, j * tile + k)
        sums = Ref("c").at(j * tile)
        task.op("fmacs", sums, sums, Ref(f"column_{first}").at(k * tile), factor)
        task.compute(moved, "add", moved, tile, dtype="u16")
