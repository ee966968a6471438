"""Matrix-vector products y = A x + b (csl-examples gemv-01 to gemv-09)."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.build.task_builder import TaskBuilder
from tilewright.simulator.isa.dsd import Ref
from tilewright.simulator.isa.index_expression import variable
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.routes import Area, EdgeInput, EdgeOutput
from tilewright.simulator.run.machine import Machine

PROFILES = pytest.mark.parametrize("profile", ["wse2-sdk-sim", "wse3-sdk-sim", "generic"])
M, N = 4, 6
A = np.arange(M * N, dtype=np.float32).reshape(M, N)
X = np.ones(N, dtype=np.float32)
B = np.full(M, 2, dtype=np.float32)
Y = [17, 53, 89, 125]
"""A x + b for these, as the tutorials print it."""


def declare(code: CodeBuilder, rows: int, columns: int) -> None:
    """Declare a tile of A with its pieces of x, b and y, and their descriptors."""
    for name, shape in (("A", (rows, columns)), ("x", columns), ("b", rows), ("y", rows)):
        code.buffer(name, "f32", shape)
    code.mem1d("column", "A", rows, stride=columns)
    code.mem1d("x_all", "x", columns)
    code.mem1d("b_all", "b", rows)
    code.mem1d("y_all", "y", rows)


def multiply(task: TaskBuilder, code: CodeBuilder, columns: int) -> None:
    """Append y = y + A x: one fmacs per column, the descriptor of A moved on by one element."""
    with task.loop("j", columns) as j:
        task.op("fmacs", "y_all", "y_all", Ref("column").at(j), code.element("x", j))


@PROFILES
def test_gemv_01_loops_of_scalar_instructions(profile: str) -> None:
    b = ProgramBuilder("gemv_01", 1, 1)
    code = b.code("main")
    declare(code, M, N)
    main = code.task("main", entry=True)
    with main.loop("i", M) as i:
        main.compute("sum", "mov", code.element("b", i), dtype="f32")
        with main.loop("j", N) as j:
            element, factor = code.element("A", N * i + j), code.element("x", j)
            main.compute("product", "mul", element, factor, dtype="f32")
            main.compute("sum", "add", "sum", "product", dtype="f32")
        main.compute(code.element("y", i), "mov", "sum", dtype="f32")
    b.place("main", Area(0, 0))
    memory = {"A": A[None, None], "x": X[None, None], "b": B[None, None]}
    result = Machine(b.build(), load_profile(profile)).run(memory=memory)
    assert result.memory["y"][0, 0].tolist() == Y


@PROFILES
@pytest.mark.parametrize("elements", [1, 4])
def test_gemv_02_to_05_descriptors_on_one_element_and_on_four(profile: str, elements: int) -> None:
    """One operation per column; every element of the row does the same work on the same data."""
    b = ProgramBuilder("gemv_05", 1, elements)
    code = b.code("main")
    declare(code, M, N)
    main = code.task("main", entry=True)
    multiply(main, code, N)
    main.op("fadds", "y_all", "y_all", "b_all")
    b.place("main", Area(0, 0, 1, elements))
    memory = {name: np.stack([v] * elements)[None] for name, v in (("A", A), ("x", X), ("b", B))}
    result = Machine(b.build(), load_profile(profile)).run(memory=memory)
    assert result.memory["y"][0].tolist() == [Y] * elements
    assert result.counts.macs == M * N * elements


@PROFILES
def test_gemv_06_two_elements_with_half_the_columns_each(profile: str) -> None:
    """The left one sends its part asynchronously; the right one adds it when it has come."""
    half = N // 2
    b = ProgramBuilder("gemv_06", 1, 2)
    send = b.color("send")
    left, right = b.code("left"), b.code("right")
    for code in (left, right):
        declare(code, M, half)
    left.output_queue(3, send)
    left.fabout("out", 3, M)
    work = left.task("work", entry=True)
    multiply(work, left, half)
    work.op("fadds", "y_all", "y_all", "b_all")
    work.start("fmovs", "out", "y_all", activate="exit")
    left.buffer("sent", "i16", 1)
    left.task("exit").compute(left.element("sent"), "mov", 1, dtype="i16")
    right.input_queue(2, send)
    right.fabin("in", 2, M)
    work = right.task("work", entry=True)
    multiply(work, right, half)
    work.start("fadds", "y_all", "y_all", "in", activate="exit")
    right.buffer("done", "i16", 1)
    right.task("exit").compute(right.element("done"), "mov", 1, dtype="i16")
    b.place("left", Area(0, 0))
    b.place("right", Area(0, 1))
    b.route(send, Area(0, 0), rx="R", tx="E")
    b.route(send, Area(0, 1), rx="W", tx="R")
    rng = np.random.default_rng(6)
    a, x, bias = (rng.random(shape, dtype=np.float32) for shape in ((M, N), N, M))
    halves = np.stack([a[:, :half], a[:, half:]])[None]
    memory = {"A": halves, "x": x.reshape(1, 2, half), "b": {(0, 0): bias}}
    result = Machine(b.build(), load_profile(profile)).run(memory=memory)
    np.testing.assert_allclose(result.memory["y"][0, 1], a @ x + bias, rtol=1e-6)
    assert result.memory["sent"][0, 0] == result.memory["done"][0, 1] == 1


@PROFILES
def test_gemv_07_four_elements_and_data_tasks(profile: str) -> None:
    """x goes down the columns; a data task per wavelet of x adds its column of A."""
    rows, columns = M // 2, N // 2
    b = ProgramBuilder("gemv_07", 2, 2)
    x_color, part = b.color("x"), b.color("part")
    for name, first_row, first_column in (("nw", 1, 1), ("ne", 1, 0), ("sw", 0, 1), ("se", 0, 0)):
        _element_07(b.code(name), (rows, columns), bool(first_row), bool(first_column))
        b.place(name, Area(1 - first_row, 1 - first_column))
    for column in range(2):
        b.route(x_color, Area(0, column), rx="R", tx="RS")
        b.route(x_color, Area(1, column), rx="N", tx="R")
    b.route(part, Area(0, 0, 2, 1), rx="R", tx="E")
    b.route(part, Area(0, 1, 2, 1), rx="W", tx="R")
    tiles = A.reshape(2, rows, 2, columns).transpose(0, 2, 1, 3)
    memory = {"A": tiles, "x": {(0, 0): X[:columns], (0, 1): X[columns:]},
              "b": {(0, 0): B[:rows], (1, 0): B[rows:]}}  # fmt: skip
    result = Machine(b.build(), load_profile(profile)).run(memory=memory)
    assert result.memory["y"][:, 1].ravel().tolist() == Y
    assert result.counts.macs == M * N


def _element_07(code: CodeBuilder, shape: tuple[int, int], north: bool, west: bool) -> None:
    rows, columns = shape
    declare(code, rows, columns)
    code.input_queue(2, "x")
    take = code.data_task("take", 2, [("value", "f32")])
    column = Ref("column").at(variable("j"))
    take.op("fmacs", "y_all", "y_all", column, variable("value"))
    take.increment("j")
    with take.when_below("j", columns):
        pass
    with take.otherwise():
        take.activate("reduce")
    start = code.task("start", entry=True)
    if north:
        code.output_queue(3, "x")
        code.fabout("x_out", 3, columns)
        start.start("fmovs", "x_out", "x_all")
    reduce = code.task("reduce")
    if west:
        code.output_queue(4, "part")
        code.fabout("out", 4, rows)
        reduce.op("fadds", "out", "y_all", "b_all")
    else:
        code.input_queue(5, "part")
        code.fabin("in", 5, rows)
        reduce.op("fadds", "y_all", "y_all", "in")


ROWS_8, COLUMNS_8 = 3, 4
"""Elements of gemv-08 and gemv-09: M = 6 and N = 8 in tiles of 2 x 2."""


def _chain_08(code: CodeBuilder, column: int, *, last: str | None) -> None:
    """Declare an element of the chains to the east; `last`: where the last one leaves y."""
    colors = ("even", "odd")
    if column:
        code.input_queue(2, colors[(column - 1) % 2])
        code.fabin("in", 2, 2)
    if last != "y_all":
        code.output_queue(3, last or colors[column % 2])
        code.fabout("out", 3, 2)
    reduce = code.task("reduce")
    multiply(reduce, code, 2)
    dest = "y_all" if last == "y_all" else "out"
    reduce.op("fadds", dest, "y_all", "b_all" if column == 0 else "in")


def _routes_08(b: ProgramBuilder) -> None:
    b.color("even")
    b.color("odd")
    for column in range(COLUMNS_8 - 1):
        color = "odd" if column % 2 else "even"
        b.route(color, Area(0, column, ROWS_8, 1), rx="R", tx="E")
        b.route(color, Area(0, column + 1, ROWS_8, 1), rx="W", tx="R")


def _data_8() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    a = np.arange(48, dtype=np.float32).reshape(6, 8)
    return a, np.ones(8, dtype=np.float32), np.full(6, 2, dtype=np.float32)


@PROFILES
def test_gemv_08_twelve_elements_chains_to_the_east(profile: str) -> None:
    """Every element adds its part to the stream from the west: fadds(fabout, y, fabin)."""
    b = ProgramBuilder("gemv_08", ROWS_8, COLUMNS_8)
    for column in range(COLUMNS_8):
        code = b.code(f"column{column}")
        declare(code, 2, 2)
        _chain_08(code, column, last="y_all" if column == COLUMNS_8 - 1 else None)
        code.task("start", entry=True).activate("reduce")
        b.place(f"column{column}", Area(0, column, ROWS_8, 1))
    _routes_08(b)
    a, x, bias = _data_8()
    memory = {
        "A": a.reshape(ROWS_8, 2, COLUMNS_8, 2).transpose(0, 2, 1, 3),
        "x": np.broadcast_to(x.reshape(COLUMNS_8, 2), (ROWS_8, COLUMNS_8, 2)).copy(),
        "b": {(row, 0): bias[2 * row : 2 * row + 2] for row in range(ROWS_8)},
    }
    result = Machine(b.build(), load_profile(profile)).run(memory=memory)
    assert result.memory["y"][:, -1].ravel().tolist() == (a @ x + bias).tolist()


@PROFILES
def test_gemv_09_streams_from_and_to_the_host(profile: str) -> None:
    """x and b enter at the border, y leaves it; the work waits, blocked, for x (and b)."""
    b = ProgramBuilder("gemv_09", ROWS_8, COLUMNS_8)
    _routes_08(b)
    for name in ("x", "b", "y"):
        b.color(name)
    for column in range(COLUMNS_8):
        code = b.code(f"column{column}")
        declare(code, 2, 2)
        _chain_08(code, column, last="y" if column == COLUMNS_8 - 1 else None)
        code.input_queue(4, "x")
        code.fabin("x_in", 4, 2)
        start = code.task("start", entry=True)
        start.block("reduce")
        start.activate("reduce")
        if column == 0:
            code.input_queue(5, "b")
            code.fabin("b_in", 5, 2)
            code.task("bias").start("fmovs", "b_all", "b_in", unblock="reduce")
        start.start("fmovs", "x_all", "x_in", **({} if column else {"activate": "bias"}),
                    **({"unblock": "reduce"} if column else {}))  # fmt: skip
        b.place(f"column{column}", Area(0, column, ROWS_8, 1))
    b.route("x", Area(0, 0, ROWS_8 - 1, COLUMNS_8), rx="N", tx="RS")
    b.route("x", Area(ROWS_8 - 1, 0, 1, COLUMNS_8), rx="N", tx="R")
    b.route("b", Area(0, 0, ROWS_8, 1), rx="W", tx="R")
    b.route("y", Area(0, COLUMNS_8 - 1, ROWS_8, 1), rx="R", tx="E")
    b.edge_input(EdgeInput("x", "N", 0, COLUMNS_8, "x", "f32", 2))
    b.edge_input(EdgeInput("b", "W", 0, ROWS_8, "b", "f32", 2))
    b.edge_output(EdgeOutput("y", "E", 0, ROWS_8, "y", "f32", 2))
    a, x, bias = _data_8()
    tiles = a.reshape(ROWS_8, 2, COLUMNS_8, 2).transpose(0, 2, 1, 3)
    edges = {"x": x.reshape(COLUMNS_8, 2), "b": bias.reshape(ROWS_8, 2)}
    machine = Machine(b.build(), load_profile(profile))
    result = machine.run(memory={"A": tiles}, edges=edges)
    assert result.edges["y"].values.ravel().tolist() == (a @ x + bias).tolist()
