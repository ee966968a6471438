"""More programs: descriptors of four dimensions and rings, SIMD, mixed precision, registers."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.isa.dsd import Ref, Register
from tilewright.simulator.isa.index_expression import variable
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.routes import Area, EdgeInput, EdgeOutput
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.text.parsing import parse_program

PROFILES = pytest.mark.parametrize("profile", ["wse2-sdk-sim", "wse3-sdk-sim", "generic"])


@PROFILES
@pytest.mark.parametrize("order", ["cab", "bca", "abc", "cba"])
def test_axes_of_a_cube_are_permuted_by_one_descriptor(profile: str, order: str) -> None:
    """One move reads the cube in another order of its axes and writes it in a row."""
    shape = {"a": 3, "b": 4, "c": 5}
    coefficient = {"a": 20, "b": 5, "c": 1}
    b = ProgramBuilder("permute", 1, 1)
    code = b.code("main")
    code.buffer("cube", "i16", (3, 4, 5))
    code.buffer("out", "i16", 60)
    code.mem4d("read", "cube", [(shape[axis], coefficient[axis]) for axis in order])
    code.mem1d("write", "out", 60)
    code.task("main", entry=True).op("mov16", "write", "read")
    b.place("main", Area(0, 0))
    cube = np.arange(60, dtype=np.int16).reshape(3, 4, 5)
    result = Machine(b.build(), load_profile(profile)).run(memory={"cube": cube[None, None]})
    expected = np.einsum(f"abc->{order}", cube).ravel()
    assert result.memory["out"].ravel().tolist() == expected.tolist()


@PROFILES
def test_a_matrix_is_turned_around_with_negative_strides(profile: str) -> None:
    b = ProgramBuilder("turned", 1, 1)
    code = b.code("main")
    code.buffer("m", "f32", (4, 6))
    code.buffer("out", "f32", 24)
    code.buffer("last", "f32", 6)
    code.mem4d("backwards", "m", [(4, -6), (6, -1)], 23)
    code.mem1d("write", "out", 24)
    code.mem1d("row", "last", 6)
    code.mem1d("reversed", "m", 6, stride=-1, offset=23)
    main = code.task("main", entry=True)
    main.op("fnegs", "write", "backwards")
    main.op("fmovs", "row", "reversed")
    b.place("main", Area(0, 0))
    m = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
    result = Machine(b.build(), load_profile(profile)).run(memory={"m": m[None, None]})
    assert (result.memory["out"].reshape(4, 6) == -m[::-1, ::-1]).all()
    assert (result.memory["last"].ravel() == m[-1, ::-1]).all()


@PROFILES
@pytest.mark.parametrize("taps", [2, 5])
def test_a_filter_of_a_stream_over_a_ring_of_the_last_samples(profile: str, taps: int) -> None:
    """y[n] = sum of h[k] x[n - k]: every sample goes into a ring, which is read from its place."""
    samples = 17
    b = ProgramBuilder("fir", 1, 1)
    b.color("x")
    b.color("y")
    code = b.code("main")
    code.buffer("h", "i16", taps)
    code.buffer("last", "i16", 2 * taps)  # twice, so that a window never wraps
    code.buffer("products", "i16", taps)
    code.input_queue(2, "x")
    code.output_queue(3, "y")
    code.fabout("out", 3, 1)
    code.mem1d("weights", "h", taps)
    code.mem1d("window", "last", taps)
    take = code.data_task("take", 2, [("sample", "i16")])
    with take.when_below("place", 1):
        take.set("place", taps)
    take.increment("place", -1)
    take.compute(code.element("last", variable("place")), "mov", "sample", dtype="i16")
    again = variable("place") + taps
    take.compute(code.element("last", again), "mov", "sample", dtype="i16")
    take.set("sum", 0)
    with take.map(("x", Ref("window").at(variable("place"))), ("w", "weights")):
        take.compute("x", "mul", "x", "w", dtype="i16")
        take.compute("sum", "add", "sum", "x", dtype="i16")
    take.op("mov16", "out", variable("sum"))
    b.place("main", Area(0, 0))
    b.route("x", Area(0, 0), rx="N", tx="R")
    b.route("y", Area(0, 0), rx="R", tx="S")
    b.edge_input(EdgeInput("x", "N", 0, 1, "x", "i16", samples))
    b.edge_output(EdgeOutput("y", "S", 0, 1, "y", "i16", samples))
    rng = np.random.default_rng(taps)
    x = rng.integers(-99, 99, samples).astype(np.int16)
    h = rng.integers(-9, 9, taps).astype(np.int16)
    machine = Machine(b.build(), load_profile(profile))
    result = machine.run(memory={"h": h[None, None]}, edges={"x": x[None]})
    assert result.edges["y"].values.ravel().tolist() == np.convolve(x, h)[:samples].tolist()


@PROFILES
@pytest.mark.parametrize(("extent", "wraparound"), [(7, 3), (12, 5), (4, 5)])
@pytest.mark.parametrize("saves", [False, True])
def test_weights_from_a_ring_with_and_without_save_address(
    profile: str, extent: int, wraparound: int, saves: bool
) -> None:
    """A circular buffer in a register: the second operation starts anew, or goes on."""
    b = ProgramBuilder("ring", 1, 1)
    code = b.code("main")
    code.buffer("w", "i16", 6)
    code.buffer("v", "i16", 2 * extent)
    code.mem1d("part", "v", extent)
    code.circbuf("around", "w", extent, wraparound)
    code.load(Register("src0", 1), "around", xdsr=2, save_address=saves)
    main = code.task("main", entry=True)
    main.op("add16", "part", Register("src0", 1), "part")
    second = Ref("part").at(extent)
    main.op("add16", second, Register("src0", 1), second)
    b.place("main", Area(0, 0))
    w, v = np.arange(6, dtype=np.int16) * 100, np.arange(2 * extent, dtype=np.int16)
    memory = {"w": w[None, None], "v": v[None, None]}
    result = Machine(b.build(), load_profile(profile)).run(memory=memory)
    ring = np.resize(w[:wraparound], 2 * extent)
    again = ring if saves else np.tile(ring[:extent], 2)
    assert result.memory["v"].ravel().tolist() == (v + again).tolist()


@PROFILES
def test_a_half_precision_dot_product_summed_in_single_precision(profile: str) -> None:
    """@fmachs multiplies f16 and adds f32; the exact product is rounded once with the sum."""
    n = 9
    b = ProgramBuilder("mixed", 1, 1)
    code = b.code("main")
    for name, dtype, size in (("a", "f16", n), ("s", "f32", n), ("t", "f32", 1), ("u", "f32", 1)):
        code.buffer(name, dtype, size)
        code.mem1d(f"{name}_all", name, size)
    main = code.task("main", entry=True)
    main.op("fmachs", "s_all", "s_all", "a_all", 0.333251953125)
    main.op("fadds", code.element("t"), code.element("t"), "s_all")
    main.op("faddhs", code.element("u"), code.element("u"), "a_all")
    b.place("main", Area(0, 0))
    rng = np.random.default_rng(4)
    a = rng.standard_normal(n).astype(np.float16)
    s = rng.standard_normal(n).astype(np.float32)
    memory = {"a": a[None, None], "s": s[None, None], "t": {(0, 0): [1.5]}, "u": {(0, 0): [-2.0]}}
    result = Machine(b.build(), load_profile(profile)).run(memory=memory)
    products = s.astype(np.float64) + a.astype(np.float64) * 0.333251953125
    assert (result.memory["s"].ravel() == products.astype(np.float32)).all()
    sums, total = np.float32(1.5), np.float32(-2.0)
    for value, half in zip(products.astype(np.float32), a, strict=True):
        sums, total = np.float32(sums + value), np.float32(total + np.float32(half))
    assert result.memory["t"].item() == sums
    assert result.memory["u"].item() == total


@PROFILES
def test_conversions_there_and_back(profile: str) -> None:
    """f32 to f16, to i16 and back: rounded to nearest even, integers cut towards zero."""
    x = np.array([0.1, -2.5, 2.5, 1000.4, -7.99, 65504, 3.00048828125, 1e-7], dtype=np.float32)
    b = ProgramBuilder("convert", 1, 1)
    code = b.code("main")
    for name, dtype in (("x", "f32"), ("h", "f16"), ("i", "i16"), ("y", "f32"), ("z", "f16")):
        code.buffer(name, dtype, x.size)
        code.mem1d(f"{name}_all", name, x.size)
    main = code.task("main", entry=True)
    main.op("fs2h", "h_all", "x_all")
    main.op("fs2xp16", Ref("i_all").with_length(5), Ref("x_all").with_length(5))
    main.op("xp162fs", "y_all", "i_all")
    main.op("xp162fh", "z_all", "i_all")
    b.place("main", Area(0, 0))
    result = Machine(b.build(), load_profile(profile)).run(memory={"x": x[None, None]})
    whole = np.zeros(x.size, dtype=np.int16)
    whole[:5] = np.trunc(x[:5])
    assert (result.memory["h"].ravel() == x.astype(np.float16)).all()
    assert result.memory["i"].ravel().tolist() == whole.tolist()
    assert result.memory["y"].ravel().tolist() == whole.astype(np.float32).tolist()
    assert result.memory["z"].ravel().tolist() == whole.astype(np.float16).tolist()


@PROFILES
@pytest.mark.parametrize("mode", ["simd_32", "simd_64", "simd_32_or_64"])
def test_two_halves_per_wavelet_around_a_ring_of_elements(profile: str, mode: str) -> None:
    """Three elements in a row pass a vector on, each adds its own; half as many words move."""
    words = 12
    b = ProgramBuilder("halves", 1, 3)
    b.color("x")
    b.color("y")
    for column, name in enumerate(("first", "middle", "last")):
        code = b.code(name)
        code.buffer("v", "f16", words)
        code.mem1d("all", "v", words)
        taken, sent = ("x", "y") if column % 2 else ("y", "x")
        main = code.task("main", entry=True)
        if column:
            code.input_queue(2, taken)
            code.fabin("in", 2, words, simd=mode)
            main.op("faddh", "all", "all", "in")
        if column < 2:
            code.output_queue(3, sent)
            code.fabout("out", 3, words, simd=mode)
            main.op("fmovh", "out", "all")
        b.place(name, Area(0, column))
    b.route("x", Area(0, 0), rx="R", tx="E")
    b.route("x", Area(0, 1), rx="W", tx="R")
    b.route("y", Area(0, 1), rx="R", tx="E")
    b.route("y", Area(0, 2), rx="W", tx="R")
    v = np.random.default_rng(2).standard_normal((1, 3, words)).astype(np.float16)
    result = Machine(b.build(), load_profile(profile)).run(memory={"v": v})
    second = v[0, 1] + v[0, 0]
    assert (result.memory["v"][0, 1] == second).all()
    assert (result.memory["v"][0, 2] == v[0, 2] + second).all()
    assert result.counts.wavelet_hops == 2 * words // 2


@PROFILES
def test_blocks_arrive_in_two_buffers_in_turn(profile: str) -> None:
    """A register is loaded again for every block; while one arrives the other is summed."""
    blocks, words = 5, 8
    b = ProgramBuilder("in_turn", 1, 1)
    b.color("x")
    code = b.code("main")
    code.buffer("ping", "f32", 2 * words)
    code.buffer("sums", "f32", blocks)
    code.input_queue(2, "x")
    code.fabin("in", 2, words)
    code.mem1d("half", "ping", words)
    code.load(Register("src1", 1), "in", asynchronous=True, activate="arrived")
    main, arrived = code.task("main", entry=True), code.task("arrived")
    main.load(Register("dest", 1), "half")
    main.start("fmovs", Register("dest", 1), Register("src1", 1))
    arrived.compute("other", "mul", "side", words, dtype="i16")
    arrived.compute("side", "sub", 1, "side", dtype="i16")
    arrived.compute("next", "mul", "side", words, dtype="i16")
    arrived.increment("block")
    with arrived.when_below("block", blocks):
        arrived.load(Register("dest", 1), Ref("half").at(variable("next")))
        arrived.start("fmovs", Register("dest", 1), Register("src1", 1))
    place = code.element("sums", variable("block") - 1)
    arrived.op("fadds", place, place, Ref("half").at(variable("other")))
    b.place("main", Area(0, 0))
    b.route("x", Area(0, 0), rx="N", tx="R")
    b.edge_input(EdgeInput("x", "N", 0, 1, "x", "f32", blocks * words))
    x = np.random.default_rng(9).standard_normal((blocks, words)).astype(np.float32)
    result = Machine(b.build(), load_profile(profile)).run(edges={"x": x.reshape(1, -1)})
    expected = [np.add.accumulate(row, dtype=np.float32)[-1] for row in x]
    assert result.memory["sums"].ravel().tolist() == [float(value) for value in expected]


UNBLOCKED = """
program "one after the other" 1 x 1
color x 0
color y 1
code main
  buffer a i16 [6] @ 0
  buffer b i16 [6] @ 8
  mem1d a_all a extent 6
  mem1d b_all b extent 6
  fabin x_in queue 2 extent 6
  fabin y_in queue 4 extent 6
  fabout out queue 3 extent 6
  input_queue 2 x
  input_queue 4 y
  output_queue 3 y
  task main entry
    activate sum
    activate send
    @mov16 a_all, x_in async unblock send
    @mov16 b_all, y_in async unblock sum
  task sum blocked
    @add16 a_all, a_all, b_all
    block sum
  task send blocked
    @add16 out, a_all, #1
place main [0:1, 0:1]
route x [0:1, 0:1] rx N tx R
route y [0:1, 0:1] rx R tx R
edge_input x side N [0:1] color x i16 count 6 interval 9 start 20
"""


@PROFILES
def test_tasks_that_operations_unblock_run_one_after_the_other(profile: str) -> None:
    """b is what the element sends to itself once a is there; the sum waits for both."""
    machine = Machine(parse_program(UNBLOCKED), load_profile(profile))
    x = np.array([5, -1, 2, 30, 7, 0], dtype=np.int16)
    result = machine.run(edges={"x": x[None]})
    assert result.memory["b"].ravel().tolist() == (x + 1).tolist()
    assert result.memory["a"].ravel().tolist() == (2 * x + 1).tolist()


@PROFILES
def test_a_table_is_filled_by_the_index_of_wavelets_and_read_by_it(profile: str) -> None:
    """Pairs (row, value) in any order: the index chooses the row of a memory descriptor."""
    rows, wide = 5, 3
    order = [3, 0, 4, 1, 2]
    b = ProgramBuilder("table", 1, 2)
    b.color("x")
    sender, code = b.code("sender"), b.code("receiver")
    sender.buffer("v", "i16", (rows, wide))
    sender.mem1d("row", "v", wide)
    sender.output_queue(3, "x")
    sender.fabout("out", 3, wide, wavelet_index_offset=True)
    main = sender.task("main", entry=True)
    for row in order:
        main.op("mov16", "out", Ref("row").at(row * wide), index=row)
    code.buffer("table", "i16", (rows, wide))
    code.buffer("count", "i16", rows)
    code.mem1d("cell", "table", 1, wavelet_index_offset=True)
    code.input_queue(2, "x")
    take = code.data_task("take", 2, [("value", "i16"), ("row", "u16")])
    seen = code.element("count", variable("row"))
    take.compute("at", "mul", "row", wide, dtype="i16")
    take.compute("at", "add", "at", seen, dtype="i16")
    take.op("mov16", "cell", variable("value"), index=variable("at"))
    take.compute(seen, "add", seen, 1, dtype="i16")
    b.place("sender", Area(0, 0))
    b.place("receiver", Area(0, 1))
    b.route("x", Area(0, 0), rx="R", tx="E")
    b.route("x", Area(0, 1), rx="W", tx="R")
    v = np.arange(rows * wide, dtype=np.int16).reshape(rows, wide) - 4
    result = Machine(b.build(), load_profile(profile)).run(memory={"v": {(0, 0): v}})
    assert (result.memory["table"][0, 1] == v).all()
    assert result.memory["count"][0, 1].tolist() == [wide] * rows


@pytest.mark.parametrize("profile", ["wse2-sdk-sim", "generic"])
def test_two_streams_are_added_as_they_come(profile: str) -> None:
    """One operation takes from two queues (WSE-2): the slower stream gives the pace."""
    words = 10
    b = ProgramBuilder("two_streams", 1, 1)
    for color in "xyz":
        b.color(color)
    code = b.code("main")
    code.input_queue(2, "x")
    code.input_queue(4, "y")
    code.output_queue(3, "z")
    code.fabin("x_in", 2, words)
    code.fabin("y_in", 4, words)
    code.fabout("out", 3, words)
    code.task("main", entry=True).start("fsubs", "out", "x_in", "y_in")
    b.place("main", Area(0, 0))
    for color, rx, tx in (("x", "N", "R"), ("y", "W", "R"), ("z", "R", "E")):
        b.route(color, Area(0, 0), rx=rx, tx=tx)
    b.edge_input(EdgeInput("x", "N", 0, 1, "x", "f32", words))
    b.edge_input(EdgeInput("y", "W", 0, 1, "y", "f32", words, interval=6, start=30))
    b.edge_output(EdgeOutput("z", "E", 0, 1, "z", "f32", words))
    x, y = np.random.default_rng(1).standard_normal((2, 1, words)).astype(np.float32)
    result = Machine(b.build(), load_profile(profile)).run(edges={"x": x, "y": y})
    assert (result.edges["z"].values == x - y).all()
    assert (np.diff(result.edges["z"].cycles[0]) == 6).all()
