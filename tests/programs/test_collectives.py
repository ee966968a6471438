"""Broadcast, reduction, scatter and gather of rows and columns, and what is built of them.

After csl-examples topic-11 (collectives_2d) and the benchmarks gemm-collectives_2d (SUMMA),
gemv-collectives_2d and gemv-checkerboard. A root per color, routes that do not change; what has
to come in turn (gather) goes by a switch that every sender moves on behind its own words.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.isa.dsd import Ref
from tilewright.simulator.isa.index_expression import variable
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.routes import Area, Position, RangeFilter, Switch
from tilewright.simulator.run.machine import Machine

PROFILES = pytest.mark.parametrize("profile", ["wse2-sdk-sim", "wse3-sdk-sim", "generic"])
Array = npt.NDArray[np.generic]


def broadcast(b: ProgramBuilder, color: str, root: int, *, along: str, size: int) -> None:
    """Route a color from element `root` of every row (column) to all others of it.

    along: "row" or "column" of a square grid of `size` elements a side.
    """
    back, on = ("W", "E") if along == "row" else ("N", "S")
    for place in range(size):
        rows = (0, place, size, 1) if along == "row" else (place, 0, 1, size)
        ways = (back if 0 < place <= root else "") + (on if root <= place < size - 1 else "")
        if place == root:
            b.route(color, Area(*rows), rx="R", tx=ways)
        else:
            b.route(color, Area(*rows), rx=on if place < root else back, tx="R" + ways)


def chain(b: ProgramBuilder, colors: tuple[str, str], *, along: str, size: int) -> None:
    """Route two alternating colors that go from element to element to the west (north)."""
    back, on = ("W", "E") if along == "row" else ("N", "S")
    for place in range(1, size):
        sender = (0, place, size, 1) if along == "row" else (place, 0, 1, size)
        taker = (0, place - 1, size, 1) if along == "row" else (place - 1, 0, 1, size)
        b.route(colors[place % 2], Area(*sender), rx="R", tx=back)
        b.route(colors[place % 2], Area(*taker), rx=on, tx="R")


P, CHUNK = 15, 3
"""Elements a side and words a chunk of topic-11."""


@PROFILES
def test_topic_11_broadcast_along_rows(profile: str) -> None:
    b = ProgramBuilder("broadcast", P, P)
    broadcast(b, b.color("x"), 0, along="row", size=P)
    for name in ("root", "leaf"):
        code = b.code(name)
        code.buffer("data", "u32", CHUNK * P)
        code.mem1d("all", "data", CHUNK * P)
        main = code.task("main", entry=True)
        if name == "root":
            code.output_queue(2, "x")
            code.fabout("out", 2, CHUNK * P)
            main.start("mov32", "out", "all")
        else:
            code.input_queue(2, "x")
            code.fabin("in", 2, CHUNK * P)
            main.start("mov32", "all", "in")
    b.place("leaf", Area(0, 0, P, P))
    b.place("root", Area(0, 0, P, 1))
    sent = np.arange(P * CHUNK * P, dtype=np.uint32).reshape(P, CHUNK * P)
    memory = {"data": {(row, 0): sent[row] for row in range(P)}}
    result = Machine(b.build(), load_profile(profile)).run(memory=memory)
    assert (result.memory["data"] == sent[:, None]).all()


@PROFILES
def test_topic_11_reduce_faddh_along_columns(profile: str) -> None:
    b = ProgramBuilder("reduce", P, P)
    colors = (b.color("even"), b.color("odd"))
    chain(b, colors, along="column", size=P)
    for row in range(P):
        code = b.code(f"row{row}")
        code.buffer("data", "f16", CHUNK)
        code.mem1d("all", "data", CHUNK)
        main = code.task("main", entry=True)
        if row < P - 1:
            code.input_queue(2, colors[(row + 1) % 2])
            code.fabin("in", 2, CHUNK)
        if row:
            code.output_queue(3, colors[row % 2])
            code.fabout("out", 3, CHUNK)
        dest = "out" if row else "all"
        main.op("faddh", dest, "all", "in") if row < P - 1 else main.op("fmovh", dest, "all")
        b.place(f"row{row}", Area(row, 0, 1, P))
    data = np.arange(P * P * CHUNK).reshape(P, P, CHUNK) % 8
    machine = Machine(b.build(), load_profile(profile))
    result = machine.run(memory={"data": data.astype(np.float16)})
    assert (result.memory["data"][0] == data.sum(axis=0)).all()


@PROFILES
def test_topic_11_scatter_along_rows(profile: str) -> None:
    """The root sends all chunks with their index; range filters keep the own one."""
    b = ProgramBuilder("scatter", P, P)
    b.route(b.color("x"), Area(0, 0, P, 1), rx="R", tx="E")
    root, leaf = b.code("root"), b.code("leaf")
    root.buffer("data", "f16", CHUNK * P)
    root.mem1d("one", "data", 1)
    root.output_queue(2, "x")
    root.fabout("out", 2, 1, wavelet_index_offset=True)
    main = root.task("main", entry=True)
    with main.loop("i", CHUNK * P) as i:
        main.op("fmovh", "out", Ref("one").at(i), index=i)
    leaf.buffer("own", "f16", CHUNK)
    leaf.mem1d("all", "own", CHUNK)
    leaf.input_queue(2, "x")
    leaf.fabin("in", 2, CHUNK)
    leaf.task("main", entry=True).op("fmovh", "all", "in")
    b.place("leaf", Area(0, 0, P, P))
    b.place("root", Area(0, 0, P, 1))
    for place in range(1, P):
        keep = RangeFilter(CHUNK * place, CHUNK * (place + 1) - 1)
        tx = "RE" if place < P - 1 else "R"
        b.route("x", Area(0, place, P, 1), rx="W", tx=tx, filter=keep)
    sent = np.arange(P * CHUNK * P, dtype=np.float16).reshape(P, CHUNK * P)
    memory = {"data": {(row, 0): sent[row] for row in range(P)}}
    result = Machine(b.build(), load_profile(profile)).run(memory=memory)
    assert (result.memory["own"][:, 1:] == sent.reshape(P, P, CHUNK)[:, 1:]).all()


@PROFILES
def test_topic_11_gather_along_rows(profile: str) -> None:
    """Behind its own words every sender opens its router to the words from the east."""
    b = ProgramBuilder("gather", P, P)
    b.color("x")
    root, leaf, last = b.code("root"), b.code("leaf"), b.code("last")
    root.buffer("data", "u32", CHUNK * (P - 1))
    root.mem1d("all", "data", CHUNK * (P - 1))
    root.input_queue(2, "x")
    root.fabin("in", 2, CHUNK * (P - 1))
    root.task("main", entry=True).op("mov32", "all", "in")
    for code in (leaf, last):
        code.buffer("own", "u32", CHUNK)
        code.mem1d("all", "own", CHUNK)
        code.output_queue(2, "x")
        code.fabout("out", 2, CHUNK, advance_switch=code is leaf)
        code.task("main", entry=True).op("mov32", "out", "all")
    b.place("leaf", Area(0, 1, P, P - 2))
    b.place("last", Area(0, P - 1, P, 1))
    b.place("root", Area(0, 0, P, 1))
    b.route("x", Area(0, 0, P, 1), rx="E", tx="R")
    on = Switch((Position(rx=("E",)),))
    b.route("x", Area(0, 1, P, P - 2), rx="R", tx="W", switch=on)
    b.route("x", Area(0, P - 1, P, 1), rx="R", tx="W")
    own = np.arange(P * P * CHUNK, dtype=np.uint32).reshape(P, P, CHUNK)
    memory = {"own": {(r, c): own[r, c] for r in range(P) for c in range(1, P)}}
    result = Machine(b.build(), load_profile(profile)).run(memory=memory)
    assert (result.memory["data"][:, 0] == own[:, 1:].reshape(P, -1)).all()


@PROFILES
def test_summa(profile: str) -> None:
    """C = A B on 4 x 4 elements: in step k column k of A and row k of B are broadcast.

    The SDK's gemm-collectives_2d does the same steps and 14 x 14 fmacs of 14 elements in each. It
    takes 51,425 cycles (recorded on the WSE-3 simulator: FABRICA, github luozoupi @4b34f02), 66 per
    fmacs, this program 40. Not the same: there calls of the collectives library set the routes of
    every step and tear them down, and scalar code moves the descriptors; here each step has a color
    of its own, and offsets are part of the operation. With the tasks of the library the machine
    takes 38,896 cycles (examples/library_programs.py, docs/validation/fabric.md).
    """
    p, tile = 4, 14
    b = ProgramBuilder("summa", p, p)
    for k in range(p):
        broadcast(b, b.color(f"a{k}"), k, along="row", size=p)
        broadcast(b, b.color(f"b{k}"), k, along="column", size=p)
    for row in range(p):
        for column in range(p):
            _summa_code(b.code(f"e{row}{column}"), (row, column), p, tile)
            b.place(f"e{row}{column}", Area(row, column))
    rng = np.random.default_rng(4)
    a, other = (rng.random((p * tile, p * tile), dtype=np.float32) for _ in range(2))
    tiles = {"A": a, "B": other}
    memory = {
        name: whole.reshape(p, tile, p, tile).transpose(0, 2, 3, 1).reshape(p, p, tile, tile)
        for name, whole in tiles.items()  # column-major tiles, as there
    }
    result = Machine(b.build(), load_profile(profile)).run(memory=memory)
    c = result.memory["C"].transpose(0, 3, 1, 2).reshape(p * tile, p * tile)
    np.testing.assert_allclose(c, a @ other, rtol=1e-5)
    assert result.counts.macs == (p * tile) ** 3


def _summa_code(code: CodeBuilder, place: tuple[int, int], p: int, tile: int) -> None:
    """Declare an element: per step it sends or takes both tiles, then one fmacs per column."""
    words = tile * tile
    for name in ("A", "B", "A_in", "B_in", "C"):
        code.buffer(name, "f32", (tile, tile))
        code.mem1d(f"{name}_all", name, words)
    for name in ("A", "A_in", "C"):
        code.mem1d(f"{name}_column", name, tile)
    code.task("start", entry=True).activate("step0")
    for k in range(p):
        step, go = code.task(f"step{k}"), code.task(f"go{k}")
        go.block(f"multiply{k}")
        go.activate(f"multiply{k}")
        source = {}
        for name, at, first, then in (
            ("A", place[1], 2, {"activate": f"go{k}"}),
            ("B", place[0], 5, {"unblock": f"multiply{k}"}),
        ):
            color = f"{name.lower()}{k}"
            task = step if name == "A" else go
            if at == k:
                code.output_queue(first, color)
                code.fabout(f"out_{color}", first, words)
                task.start("fmovs", f"out_{color}", f"{name}_all", **then)
            else:  # three others a row and a column: queues 2 to 4 and 5 to 7
                code.input_queue(first + k - (k > at), color)
                code.fabin(f"in_{color}", first + k - (k > at), words)
                task.start("fmovs", f"{name}_in_all", f"in_{color}", **then)
            source[name] = name if at == k else f"{name}_in"
        multiply = code.task(f"multiply{k}")
        with multiply.loop("j", tile) as j, multiply.loop("i", tile) as i:
            dest = Ref("C_column").at(j * tile)
            column = Ref(f"{source['A']}_column").at(i * tile)
            multiply.op("fmacs", dest, dest, column, code.element(source["B"], j * tile + i))
        if k < p - 1:
            multiply.activate(f"step{k + 1}")


@PROFILES
@pytest.mark.parametrize("p", [2, 8, 4])
def test_gemv_collectives(profile: str, p: int) -> None:
    """y = A x, 32 x 16 on 4 x 4: x goes down the columns, parts are reduced along rows.

    It is another program than the SDK's gemv-collectives_2d, which takes 3212, 3670 and 3921 cycles
    on 2 x 2, 4 x 4 and 8 x 8 elements (recorded on the WSE-3 simulator: FABRICA, github luozoupi
    @4b34f02); this one takes 123, 151 and 207 there, in f16: its routes are fixed, and x lies in
    the first row. With the steps of the SDK's program and the tasks of its library the machine
    takes 1498, 1550 and 1657 cycles (examples/library_programs.py); docs/validation/fabric.md says
    what is missing.
    """
    rows, columns = 8, 4
    b = ProgramBuilder("gemv_collectives", p, p)
    broadcast(b, b.color("x"), 0, along="column", size=p)
    colors = (b.color("even"), b.color("odd"))
    chain(b, colors, along="row", size=p)
    for row in (0, 1):
        for column in range(p):
            name = f"e{row}{column}"
            _gemv_code(b.code(name), (row, column), (p, rows, columns), colors)
            b.place(name, Area(row, column, 1 if row == 0 else p - 1, 1))
    rng = np.random.default_rng(16)
    a = rng.integers(-4, 4, (p * rows, p * columns)).astype(np.float16)
    x = rng.integers(-4, 4, p * columns).astype(np.float16)
    tiles = a.reshape(p, rows, p, columns).transpose(0, 2, 1, 3)
    memory = {"A": tiles, "x": {(0, c): x.reshape(p, columns)[c] for c in range(p)}}
    result = Machine(b.build(), load_profile(profile)).run(memory=memory)
    assert (result.memory["y"][:, 0].ravel() == a @ x).all()


def _gemv_code(
    code: CodeBuilder, place: tuple[int, int], shape: tuple[int, int, int], colors: tuple[str, str]
) -> None:
    p, rows, columns = shape
    row, column = place
    code.buffer("A", "f16", (rows, columns))
    code.buffer("x", "f16", columns)
    code.buffer("y", "f16", rows)
    code.mem1d("A_column", "A", rows, stride=columns)
    code.mem1d("x_all", "x", columns)
    code.mem1d("y_all", "y", rows)
    start, work = code.task("start", entry=True), code.task("work")
    if row == 0:
        code.output_queue(2, "x")
        code.fabout("x_out", 2, columns)
        start.start("fmovh", "x_out", "x_all", activate="work")
    else:
        code.input_queue(2, "x")
        code.fabin("x_in", 2, columns)
        start.start("fmovh", "x_all", "x_in", activate="work")
    with work.loop("j", columns) as j:
        work.op("fmach", "y_all", "y_all", Ref("A_column").at(j), code.element("x", j))
    last = p - 1
    if column < last:
        code.input_queue(3, colors[(column + 1) % 2])
        code.fabin("in", 3, rows)
    if column:
        code.output_queue(4, colors[column % 2])
        code.fabout("out", 4, rows)
    dest = "out" if column else "y_all"
    if column < last:
        work.op("faddh", dest, "y_all", "in")
    else:
        work.op("fmovh", dest, "y_all")


@PROFILES
def test_gemv_checkerboard(profile: str) -> None:
    """x streams down the columns with its index; a data task per wavelet; parts go east.

    The SDK's gemv-checkerboard-pattern takes 197 cycles on the same elements and sizes (recorded on
    the WSE-3 simulator: FABRICA, github luozoupi @4b34f02).
    """
    p, rows, columns = 4, 32 // 4, 16 // 4
    b = ProgramBuilder("checkerboard", p, p)
    broadcast(b, b.color("x"), 0, along="column", size=p)
    colors = (b.color("even"), b.color("odd"))
    for column in range(p - 1):
        b.route(colors[column % 2], Area(0, column, p, 1), rx="R", tx="E")
        b.route(colors[column % 2], Area(0, column + 1, p, 1), rx="W", tx="R")
    for top in (True, False):
        for column in range(p):
            name = f"{'top' if top else 'body'}{column}"
            _checker_code(b.code(name), column, (rows, columns), colors, top=top)
            b.place(name, Area(0 if top else 1, column, 1 if top else p - 1, 1))
    rng = np.random.default_rng(61)
    a = rng.integers(-4, 4, (32, 16)).astype(np.float16)
    x = rng.integers(-4, 4, 16).astype(np.float16)
    tiles = a.reshape(p, rows, p, columns).transpose(0, 2, 1, 3)
    memory = {"A": tiles, "x": {(0, c): x.reshape(p, columns)[c] for c in range(p)}}
    result = Machine(b.build(), load_profile(profile)).run(memory=memory)
    assert (result.memory["y"][:, -1].ravel() == a @ x).all()


def _checker_code(
    code: CodeBuilder, column: int, shape: tuple[int, int], colors: tuple[str, str], *, top: bool
) -> None:
    rows, columns = shape
    code.buffer("A", "f16", shape)
    code.buffer("y", "f16", rows)
    code.mem1d("A_column", "A", rows, stride=columns)
    code.mem1d("y_all", "y", rows)
    if top:
        _send_with_index(code, columns)
    else:
        code.input_queue(2, "x")
        take = code.data_task("take", 2, [("value", "f16"), ("j", "u16")])
        part = Ref("A_column").at(variable("j"))
        take.op("fmach", "y_all", "y_all", part, variable("value"))
        take.increment("taken")
        with take.when_below("taken", columns):
            pass
        with take.otherwise():
            take.activate("reduce")
    reduce = code.task("reduce")
    if column:
        code.input_queue(4, colors[(column - 1) % 2])
        code.fabin("in", 4, rows)
    dest = "y_all"
    if column < 3:
        code.output_queue(5, colors[column % 2])
        dest = "out"
        code.fabout("out", 5, rows)
    if column:
        reduce.op("faddh", dest, "y_all", "in")
    else:
        reduce.op("fmovh", dest, "y_all")


def _send_with_index(code: CodeBuilder, columns: int) -> None:
    """Declare the top element: it sends x with its index and multiplies its own tile."""
    code.buffer("x", "f16", columns)
    code.mem1d("one", "x", 1)
    code.output_queue(3, "x")
    code.fabout("x_out", 3, 1, wavelet_index_offset=True)
    main = code.task("main", entry=True)
    with main.loop("j", columns) as j:
        main.op("fmovh", "x_out", Ref("one").at(j), index=j)
        main.op("fmach", "y_all", "y_all", Ref("A_column").at(j), code.element("x", j))
    main.activate("reduce")
