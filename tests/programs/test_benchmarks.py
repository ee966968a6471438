"""The residual, a Cholesky factorisation, a matvec on one element, the game of life.

After the benchmarks of csl-examples with these names.
"""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.build.task_builder import TaskBuilder
from tilewright.simulator.isa.dsd import Ref, Register
from tilewright.simulator.isa.index_expression import variable
from tilewright.simulator.isa.wavelets import control_wavelet
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.routes import Area, Position, Switch
from tilewright.simulator.run.machine import Machine

PROFILES = pytest.mark.parametrize("profile", ["wse2-sdk-sim", "wse3-sdk-sim", "generic"])


@PROFILES
def test_residual(profile: str) -> None:
    """The largest |b - A x| on 2 x 2 elements: x goes down, parts go east, the largest north.

    The SDK's residual takes 674 cycles for the same tiles (recorded on the WSE-3 simulator:
    FABRICA, github luozoupi @4b34f02). It is another program: here every step is an operation on
    descriptors, and no library is called.
    """
    rows, columns = 3, 2
    b = ProgramBuilder("residual", 2, 2)
    for name in ("x", "part", "norm"):
        b.color(name)
    for row in range(2):
        for column in range(2):
            _residual_code(b.code(f"e{row}{column}"), (row, column), (rows, columns))
            b.place(f"e{row}{column}", Area(row, column))
    b.route("x", Area(0, 0, 1, 2), rx="R", tx="S")
    b.route("x", Area(1, 0, 1, 2), rx="N", tx="R")
    b.route("part", Area(0, 0, 2, 1), rx="R", tx="E")
    b.route("part", Area(0, 1, 2, 1), rx="W", tx="R")
    b.route("norm", Area(1, 1), rx="R", tx="N")
    b.route("norm", Area(0, 1), rx="S", tx="R")
    rng = np.random.default_rng(22)
    a = rng.integers(-8, 8, (2 * rows, 2 * columns)).astype(np.float32)
    x = rng.integers(-8, 8, 2 * columns).astype(np.float32)
    rest = rng.integers(-8, 8, 2 * rows).astype(np.float32)
    memory = {
        "A": a.reshape(2, rows, 2, columns).transpose(0, 2, 1, 3),
        "x": {(0, c): x.reshape(2, columns)[c] for c in range(2)},
        "r": {(r, 0): rest.reshape(2, rows)[r] for r in range(2)},
    }
    result = Machine(b.build(), load_profile(profile)).run(memory=memory)
    assert result.memory["norm"][0, 1, 0] == np.abs(rest - a @ x).max()


def _residual_code(code: CodeBuilder, place: tuple[int, int], shape: tuple[int, int]) -> None:
    """Declare an element: r (b in the west, else zero) minus its part, added up to the east."""
    (row, column), (rows, columns) = place, shape
    for name, dims in (("A", shape), ("x", columns), ("r", rows), ("minus", columns)):
        code.buffer(name, "f32", dims)
    code.mem1d("column", "A", rows, stride=columns)
    for name, extent in (("x", columns), ("minus", columns), ("r", rows)):
        code.mem1d(f"{name}_all", name, extent)
    main = code.task("main", entry=True)
    if row == 0:
        code.output_queue(2, "x")
        code.fabout("x_out", 2, columns)
        main.op("fmovs", "x_out", "x_all")
    else:
        code.input_queue(2, "x")
        code.fabin("x_in", 2, columns)
        main.op("fmovs", "x_all", "x_in")
    main.op("fnegs", "minus_all", "x_all")
    with main.loop("j", columns) as j:
        main.op("fmacs", "r_all", "r_all", Ref("column").at(j), code.element("minus", j))
    if column == 0:
        code.output_queue(3, "part")
        code.fabout("out", 3, rows)
        main.op("fmovs", "out", "r_all")
        return
    code.input_queue(3, "part")
    code.fabin("in", 3, rows)
    code.buffer("norm", "f32", 1)
    main.op("fadds", "r_all", "r_all", "in")
    main.op("fabss", "r_all", "r_all")
    main.op("fmaxs", code.element("norm"), 0.0, "r_all")  # the destination is a pointer
    if row == 1:
        code.output_queue(4, "norm")
        code.fabout("norm_out", 4, 1)
        main.op("fmovs", "norm_out", code.element("norm"))
    else:
        code.input_queue(4, "norm")
        code.fabin("norm_in", 4, 1)
        main.op("fmaxs", code.element("norm"), code.element("norm"), "norm_in")


P, NT = 10, 4
"""Elements a side and rows of a tile of the factorisation."""


@PROFILES
def test_cholesky(profile: str) -> None:
    """A = L L^T on a triangle of 10 x 10 elements, right-looking.

    Step k: (k, k) factors its tile and sends it down; (i, k) solves for L_ik and sends it east to
    (i, j), j <= i; (j, j) sends it on down column j. The sender of a row moves east by a control
    wavelet that loses its command (pop_on_advance) at the first router that takes it.
    """
    b = ProgramBuilder("cholesky", P, P)
    b.color("row")
    b.color("column")
    b.code("idle")
    b.place("idle", Area(0, 0, P, P))
    for j in range(P):
        _diagonal(b.code(f"diagonal{j}"), j)
        _below(b.code(f"below{j}"), j)
        if j < P - 1:
            b.place(f"below{j}", Area(j + 1, j, P - 1 - j, 1))
        b.place(f"diagonal{j}", Area(j, j))
    _cholesky_routes(b)
    rng = np.random.default_rng(10)
    m = rng.random((P * NT, P * NT))
    a = (m @ m.T + P * NT * np.eye(P * NT)).astype(np.float32)
    tiles = a.reshape(P, NT, P, NT).transpose(0, 2, 1, 3)
    memory = {"A": {(i, j): tiles[i, j] for i in range(P) for j in range(i + 1)}}
    result = Machine(b.build(), load_profile(profile)).run(memory=memory)
    lower = np.tril(result.memory["A"].transpose(0, 2, 1, 3).reshape(P * NT, P * NT))
    np.testing.assert_allclose(
        lower, np.linalg.cholesky(a.astype(np.float64)), rtol=2e-5, atol=1e-5
    )


def _cholesky_routes(b: ProgramBuilder) -> None:
    for j in range(P - 1):
        b.route("column", Area(j, j), rx="R", tx="S")
        if j < P - 2:
            b.route("column", Area(j + 1, j, P - 2 - j, 1), rx="N", tx="RS")
        b.route("column", Area(P - 1, j), rx="N", tx="R")
    send = Switch((Position(rx=("R",)),), pop="pop_on_advance")
    for i in range(1, P):
        b.route("row", Area(i, 0), rx="R", tx="E")
        if i > 1:
            b.route("row", Area(i, 1, 1, i - 1), rx="W", tx="RE", switch=send)
        b.route("row", Area(i, i), rx="W", tx="R")


def _tiles(code: CodeBuilder, *names: str) -> None:
    for name in names:
        code.buffer(name, "f32", (NT, NT))
        code.mem1d(f"{name}_all", name, NT * NT)
        code.mem1d(f"{name}_column", name, NT, stride=NT)


def _receive(code: CodeBuilder, color: str, queue: int) -> None:
    code.input_queue(queue, color)
    code.fabin(f"{color}_in", queue, NT * NT)


def _send(code: CodeBuilder, color: str, queue: int) -> None:
    code.output_queue(queue, color)
    code.fabout(f"{color}_out", queue, NT * NT)


def _subtract_product(task: TaskBuilder, code: CodeBuilder, left: str, right: str) -> None:
    """Append A = A - left right^T."""
    task.op("fnegs", "minus_all", f"{right}_all")
    with task.loop("c", NT) as c, task.loop("p", NT) as p:
        dest = Ref("A_column").at(c)
        task.op("fmacs", dest, dest, Ref(f"{left}_column").at(p), code.element("minus", c * NT + p))


def _diagonal(code: CodeBuilder, j: int) -> None:
    _tiles(code, "A", "row", "minus")
    main = code.task("main", entry=True)
    if j < P - 1:
        _send(code, "column", 3)
    if j:
        _receive(code, "row", 2)
        with main.loop("k", j):
            main.op("fmovs", "row_all", "row_in")
            if j < P - 1:
                main.op("fmovs", "column_out", "row_all")
            _subtract_product(main, code, "row", "row")
    _factor(main, code)
    if j < P - 1:
        main.op("fmovs", "column_out", "A_all")


def _factor(task: TaskBuilder, code: CodeBuilder) -> None:
    """Append the factorisation of the own tile, scalar by scalar."""

    def at(row: int, column: int) -> object:
        return code.element("A", row * NT + column)

    for p in range(NT):
        task.compute(at(p, p), "sqrt", at(p, p), dtype="f32")
        for r in range(p + 1, NT):
            task.compute(at(r, p), "div", at(r, p), at(p, p), dtype="f32")
        for c in range(p + 1, NT):
            for r in range(c, NT):
                task.compute("product", "mul", at(r, p), at(c, p), dtype="f32")
                task.compute(at(r, c), "sub", at(r, c), "product", dtype="f32")


def _below(code: CodeBuilder, j: int) -> None:
    """Declare an element below the diagonal: update in every step, solve, send, move on."""
    _tiles(code, "A", "row", "column", "minus")
    main = code.task("main", entry=True)
    _receive(code, "column", 4)
    if j:
        _receive(code, "row", 2)
        with main.loop("k", j):
            main.op("fmovs", "row_all", "row_in")
            main.op("fmovs", "column_all", "column_in")
            _subtract_product(main, code, "row", "column")
    main.op("fmovs", "column_all", "column_in")  # L_jj
    main.op("fnegs", "minus_all", "column_all")
    for c in range(NT):
        dest = Ref("A_column").at(c)
        for p in range(c):
            factor = code.element("minus", c * NT + p)
            main.op("fmacs", dest, dest, Ref("A_column").at(p), factor)
        pivot = code.element("column", c * NT + c)
        main.compute(pivot, "div", 1.0, pivot, dtype="f32")
        main.op("fmuls", dest, dest, pivot)
    _send(code, "row", 3)
    code.fabout("commands", 3, 1, control=True)
    if j:  # a position of the second generation changes rx or tx: the words come back here too
        main.start("fmovs", "row_all", "row_in")
    main.op("fmovs", "row_out", "A_all")
    main.op("mov32", "commands", control_wavelet("switch_adv", "nop", ignore_ce=True))


@PROFILES
@pytest.mark.parametrize(("height", "width"), [(6, 3), (28, 25)])
def test_single_tile_matvec(profile: str, height: int, width: int) -> None:
    """A map over x with the multiply-add in its body; A's register saves its address.

    The form of the SDK's program of this name, which takes 780 cycles (recorded on the WSE-3
    simulator: FABRICA, github luozoupi @4b34f02).
    """
    b = ProgramBuilder("matvec", 1, 1)
    code = b.code("main")
    code.buffer("y", "f32", height)
    code.buffer("pad", "f32", 1)  # moves A to other banks than y
    code.buffer("A", "f32", (width, height))  # by columns
    code.buffer("x", "f32", width)
    code.mem1d("column", "A", height)
    code.mem1d("y_all", "y", height)
    code.mem1d("x_all", "x", width)
    main = code.task("main", entry=True)
    y_to, y_from, column = Register("dest", 1), Register("src0", 1), Register("src1", 1)
    main.load(y_to, "y_all")
    main.load(y_from, "y_all")
    main.load(column, "column", save_address=True)
    with main.map(("value", "x_all")):
        main.op("fmacs", y_to, y_from, column, variable("value"))
    b.place("main", Area(0, 0))
    rng = np.random.default_rng(25)
    a = rng.integers(-9, 9, (height, width)).astype(np.float32)
    x = rng.integers(-9, 9, width).astype(np.float32)
    memory = {"A": a.T.copy()[None, None], "x": x[None, None]}
    result = Machine(b.build(), load_profile(profile)).run(memory=memory)
    assert (result.memory["y"][0, 0] == a @ x).all()
    assert result.counts.macs == height * width


LIFE, GENERATIONS = 12, 9
WAYS = {"E": (0, 1, "W"), "W": (0, -1, "E"), "S": (1, 0, "N"), "N": (-1, 0, "S")}
"""Row and column step of each way, and the side on which its words come in."""


@PROFILES
def test_game_of_life(profile: str) -> None:
    """One cell an element: sums of three in the row, then of three rows, dead outside."""
    b = ProgramBuilder("life", LIFE, LIFE)
    for way in WAYS:
        b.color(f"{way}0")
        b.color(f"{way}1")
    for row in range(LIFE):
        for column in range(LIFE):
            name = f"e{row}_{column}"
            _cell(b.code(name), row, column)
            b.place(name, Area(row, column))
            _cell_routes(b, row, column)
    rng = np.random.default_rng(12)
    cells = (rng.random((LIFE, LIFE)) < 0.4).astype(np.int16)
    machine = Machine(b.build(), load_profile(profile))
    result = machine.run(memory={"cell": cells[:, :, None]})
    for _ in range(GENERATIONS):
        cells = _next_generation(cells)
    assert (result.memory["cell"][:, :, 0] == cells).all()
    assert 0 < cells.sum() < LIFE * LIFE


def _next_generation(cells: np.ndarray) -> np.ndarray:
    wide = np.pad(cells, 1)
    around = sum(
        wide[1 + dr : 1 + dr + LIFE, 1 + dc : 1 + dc + LIFE]
        for dr in (-1, 0, 1)
        for dc in (-1, 0, 1)
        if dr or dc
    )
    return ((around == 3) | ((cells == 1) & (around == 2))).astype(np.int16)


def _has(row: int, column: int, way: str) -> bool:
    down, right, _ = WAYS[way]
    return 0 <= row + down < LIFE and 0 <= column + right < LIFE


def _cell_routes(b: ProgramBuilder, row: int, column: int) -> None:
    """Route what the element sends: every other one has the other color."""
    for way, (down, right, side) in WAYS.items():
        if _has(row, column, way):
            color = f"{way}{(row + column) % 2}"
            b.route(color, Area(row, column), rx="R", tx=way)
            b.route(color, Area(row + down, column + right), rx=side, tx="R")


def _cell(code: CodeBuilder, row: int, column: int) -> None:
    parity = (row + column) % 2
    code.buffer("cell", "i16", 1)
    code.buffer("sum", "i16", 1)
    code.mem1d("cell_all", "cell", 1)
    code.mem1d("sum_all", "sum", 1)
    main = code.task("main", entry=True)
    opposite = {"E": "W", "W": "E", "N": "S", "S": "N"}
    for queue, way in enumerate(WAYS, 2):
        if _has(row, column, way):
            code.output_queue(queue, f"{way}{parity}")
            code.fabout(f"to_{way}", queue, 1)
            code.input_queue(queue, f"{opposite[way]}{1 - parity}")
            code.fabin(f"from_{way}", queue, 1)
    with main.loop("generation", GENERATIONS):
        main.op("mov16", "sum_all", "cell_all")
        for first, second in (("E", "W"), ("N", "S")):
            ways = [way for way in (first, second) if _has(row, column, way)]
            for way in ways:
                main.op("mov16", f"to_{way}", "sum_all")
            for way in ways:
                main.op("add16", "sum_all", "sum_all", f"from_{way}")
        main.compute("around", "sub", code.element("sum"), code.element("cell"), dtype="i16")
        main.compute("born", "eq", "around", 3, dtype="i16")
        main.compute("stays", "eq", "around", 2, dtype="i16")
        main.compute("stays", "and", "stays", code.element("cell"), dtype="i16")
        main.compute(code.element("cell"), "or", "born", "stays", dtype="i16")
