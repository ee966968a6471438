"""Streams from and to the host, shared out and collected (csl-examples sdklayout, topic-15)."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.isa.dsd import Ref
from tilewright.simulator.isa.index_expression import variable
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.isa.wavelets import control_wavelet
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.routes import Area, EdgeInput, EdgeOutput, Position, Switch
from tilewright.simulator.run.machine import Machine

PROFILES = pytest.mark.parametrize("profile", ["wse2-sdk-sim", "wse3-sdk-sim", "generic"])


@PROFILES
def test_sdklayout_02_receive_a_stream(profile: str) -> None:
    b = ProgramBuilder("receive", 1, 1)
    b.color("x")
    code = b.code("main")
    code.buffer("got", "i16", 5)
    code.mem1d("all", "got", 5)
    code.input_queue(2, "x")
    code.fabin("in", 2, 5)
    code.task("main", entry=True).op("mov16", "all", "in")
    b.place("main", Area(0, 0))
    b.route("x", Area(0, 0), rx="W", tx="R")
    b.edge_input(EdgeInput("x", "W", 0, 1, "x", "i16", 5))
    machine = Machine(b.build(), load_profile(profile))
    result = machine.run(edges={"x": np.arange(1, 6, dtype=np.int16)[None]})
    assert result.memory["got"].ravel().tolist() == [1, 2, 3, 4, 5]


@PROFILES
def test_sdklayout_03_add_two_streams(profile: str) -> None:
    b = ProgramBuilder("add", 1, 1)
    code = b.code("main")
    for queue, name, side in ((2, "a", "W"), (3, "b", "N")):
        b.color(name)
        b.route(name, Area(0, 0), rx=side, tx="R")
        b.edge_input(EdgeInput(name, side, 0, 1, name, "i16", 10))
        code.input_queue(queue, name)
        code.fabin(f"{name}_in", queue, 10)
    b.route(b.color("sum"), Area(0, 0), rx="R", tx="E")
    b.edge_output(EdgeOutput("sum", "E", 0, 1, "sum", "i16", 10))
    code.output_queue(4, "sum")
    code.fabout("out", 4, 10)
    code.buffer("a", "i16", 10)
    code.mem1d("a_all", "a", 10)
    main = code.task("main", entry=True)  # an operation of the third generation has one fabin
    main.start("mov16", "a_all", "a_in", activate="add")
    code.task("add").start("add16", "out", "a_all", "b_in")
    b.place("main", Area(0, 0))
    ones = np.arange(1, 11, dtype=np.int16)[None]
    result = Machine(b.build(), load_profile(profile)).run(edges={"a": ones, "b": ones})
    assert result.edges["sum"].values.ravel().tolist() == list(range(2, 21, 2))


SIDE, ROWS, COLUMNS = 4, 3, 2
"""Elements a side of sdklayout-05, and the shape of a tile of A."""


@PROFILES
def test_sdklayout_05_share_out_multiply_collect(profile: str) -> None:
    """One stream of x is shared out to columns, one stream of y collected from rows.

    Grid: the demultiplexer at (0, 0), routers east of it; 4 x 4 elements with tiles of A below;
    the multiplexer at (5, 5) below a column of routers. Words of x carry their index in the
    chunk; control wavelets move the switches on between chunks.
    """
    b = ProgramBuilder("demux_mux", SIDE + 2, SIDE + 2)
    for name in ("host", "x", "even", "odd", "y"):
        b.color(name)
    b.code("router")
    b.place("router", Area(0, 0, SIDE + 2, SIDE + 2))
    _share_out(b)
    for column in range(SIDE):
        _tile(b.code(f"tile{column}"), column)
        b.place(f"tile{column}", Area(1, column + 1, SIDE, 1))
        if column:
            color = "odd" if column % 2 else "even"
            b.route(color, Area(1, column, SIDE, 1), rx="R", tx="E")
            b.route(color, Area(1, column + 1, SIDE, 1), rx="W", tx="R")
    _collect(b)
    rng = np.random.default_rng(5)
    a = rng.integers(-9, 9, (SIDE * ROWS, SIDE * COLUMNS)).astype(np.float16)
    x = rng.integers(-9, 9, SIDE * COLUMNS).astype(np.float16)
    tiles = a.reshape(SIDE, ROWS, SIDE, COLUMNS).transpose(0, 2, 1, 3)
    memory = {"A": {(r + 1, c + 1): tiles[r, c] for r in range(SIDE) for c in range(SIDE)}}
    result = Machine(b.build(), load_profile(profile)).run(memory=memory, edges={"x": x[None]})
    y = result.memory["y_host"][-1, -1].reshape(SIDE, ROWS)
    assert (y.ravel() == a @ x).all()


def _share_out(b: ProgramBuilder) -> None:
    """Declare the demultiplexer and the switches that turn from south to east, one by one."""
    code = b.code("demux")
    code.input_queue(2, "host")
    code.fabin("in", 2, 1)
    code.output_queue(3, "x")
    code.fabout("out", 3, 1, wavelet_index_offset=True)
    code.fabout("commands", 3, 1, control=True)
    main = code.task("main", entry=True)
    with main.loop("chunk", SIDE):
        with main.loop("j", COLUMNS) as j:
            main.op("fmovh", "out", "in", index=j)
        main.op("mov32", "commands", control_wavelet("switch_adv", ignore_ce=True))
    b.place("demux", Area(0, 0))
    b.edge_input(EdgeInput("x", "W", 0, 1, "host", "f16", SIDE * COLUMNS))
    b.route("host", Area(0, 0), rx="W", tx="R")
    b.route("x", Area(0, 0), rx="R", tx="E")
    on = Switch((Position(tx=("E",)),))
    b.route("x", Area(0, 1, 1, SIDE - 1), rx="W", tx="S", switch=on)
    b.route("x", Area(0, SIDE), rx="W", tx="S")
    b.route("x", Area(1, 1, SIDE - 1, SIDE), rx="N", tx="RS")
    b.route("x", Area(SIDE, 1, 1, SIDE), rx="N", tx="R")


def _tile(code: CodeBuilder, column: int) -> None:
    """Declare an element: a data task per word of x, then its part goes on to the east."""
    code.buffer("A", "f16", (ROWS, COLUMNS))
    code.buffer("y", "f16", ROWS)
    code.mem1d("column", "A", ROWS, stride=COLUMNS)
    code.mem1d("y_all", "y", ROWS)
    code.input_queue(2, "x")
    take = code.data_task("take", 2, [("x", "f16"), ("j", "u16")])
    take.op("fmach", "y_all", "y_all", Ref("column").at(variable("j")), variable("x"))
    take.increment("taken")
    with take.when_below("taken", COLUMNS):
        pass
    with take.otherwise():
        take.activate("reduce")
    reduce = code.task("reduce")
    last = column == SIDE - 1
    send = "y" if last else ("even", "odd")[(column + 1) % 2]
    code.output_queue(4, send)
    code.fabout("out", 4, ROWS)
    if column:
        code.input_queue(5, ("even", "odd")[column % 2])
        code.fabin("in", 5, ROWS)
        reduce.op("faddh", "out", "y_all", "in")
    else:
        reduce.op("fmovh", "out", "y_all")
    if last:
        code.fabout("commands", 4, 1, control=True)
        reduce.op("mov32", "commands", control_wavelet("switch_adv", ignore_ce=True))


def _collect(b: ProgramBuilder) -> None:
    """Declare the multiplexer: each router takes its own row first, then the rows above it.

    So the lowest row comes first; the rows find their places by descriptors from the end back.
    """
    b.route("y", Area(1, SIDE, SIDE, 1), rx="R", tx="E")
    on = Switch((Position(rx=("N",)),))
    b.route("y", Area(1, SIDE + 1, SIDE, 1), rx="W", tx="S", switch=on)
    b.route("y", Area(SIDE + 1, SIDE + 1), rx="N", tx="R")
    code = b.code("mux")
    code.buffer("y_host", "f16", SIDE * ROWS)
    code.mem1d("row", "y_host", ROWS)
    code.input_queue(2, "y")
    code.fabin("in", 2, ROWS)
    main = code.task("main", entry=True)
    with main.loop("row", SIDE) as row:
        main.op("fmovh", Ref("row").at(row * -ROWS + (SIDE - 1) * ROWS), "in")
    b.place("mux", Area(SIDE + 1, SIDE + 1))


def two_microthreads() -> ProgramBuilder:
    """Return a program whose microthreads 4 and 5 take from input queue 2, one after the other."""
    b = ProgramBuilder("ut_id", 1, 1)
    b.color("x")
    code = b.code("main")
    code.buffer("got", "i16", 8)
    code.mem1d("first", "got", 4)
    code.mem1d("second", "got", 4, offset=4)
    code.input_queue(2, "x")
    code.fabin("in", 2, 4)
    main = code.task("main", entry=True)
    main.start("mov16", "first", "in", microthread=4, activate="next")
    code.task("next").start("add16", "second", 100, "in", microthread=5)
    b.place("main", Area(0, 0))
    b.route("x", Area(0, 0), rx="W", tx="R")
    b.edge_input(EdgeInput("x", "W", 0, 1, "x", "i16", 8))
    return b


def test_topic_15_any_microthread_with_any_queue() -> None:
    machine = Machine(two_microthreads().build(), load_profile("wse3-sdk-sim"))
    result = machine.run(edges={"x": np.arange(8, dtype=np.int16)[None]}, timeline=True)
    assert result.memory["got"].ravel().tolist() == [0, 1, 2, 3, 104, 105, 106, 107]
    threads = [entry.thread for entry in result.trace.timeline if entry.operation.endswith("16")]
    assert [thread[-1] for thread in threads] == ["4", "5"]


def test_topic_15_not_on_the_second_generation() -> None:
    with pytest.raises(ProgramError, match="microthread"):
        Machine(two_microthreads().build(), load_profile("wse2-sdk-sim"))
