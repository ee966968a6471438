"""Data-structure registers, @map, tensor access: the rules of the documentation."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.build.task_builder import TaskBuilder
from tilewright.simulator.check.register_count import register_needs
from tilewright.simulator.isa.dsd import Ref, Register
from tilewright.simulator.isa.index_expression import variable
from tilewright.simulator.isa.machine_errors import MachineError, ProgramError
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area, EdgeInput, EdgeOutput
from tilewright.simulator.run.machine import Machine

WSE3 = load_profile("wse3-sdk-sim")
DEST, SRC0, SRC1 = (Register(file, 2) for file in ("dest", "src0", "src1"))


def single() -> tuple[ProgramBuilder, CodeBuilder, TaskBuilder]:
    b = ProgramBuilder("registers", 1, 1)
    code = b.code("main")
    code.buffer("a", "i16", 12)
    code.buffer("out", "i16", 12)
    code.mem1d("chunk", "a", 4)
    code.mem1d("out_chunk", "out", 4)
    main = code.task("main", entry=True)
    b.place("main", Area(0, 0))
    return b, code, main


def run(program: Program, **memory: object) -> dict[str, list[float]]:
    given = {name: np.asarray(value)[None, None] for name, value in memory.items()}
    result = Machine(program, WSE3).run(memory=given)
    return {name: value[0, 0].ravel().tolist() for name, value in result.memory.items()}


@pytest.mark.row("002.27")
@pytest.mark.row("002.26")
@pytest.mark.parametrize("early", [True, False])
def test_save_address_goes_on_where_the_last_call_ended(early: bool) -> None:
    """Three calls of four elements copy 0..11 in order (wafer.md §4.3)."""
    b, code, main = single()
    for register, dsd in ((DEST, "out_chunk"), (SRC1, "chunk")):
        (code if early else main).load(register, dsd, save_address=True)
    for _ in range(3):
        main.op("mov16", DEST, SRC1)
    assert run(b.build(), a=np.arange(12))["out"] == list(range(12))


def test_save_address_moves_the_outermost_dimension() -> None:
    """Two calls of a 2 x 2 part of a 4 x 3 matrix: rows 0-1, then rows 2-3."""
    b, code, main = single()
    code.mem4d("part", "a", [(2, 3), (2, 1)])
    code.load(SRC1, "part", xdsr=0, save_address=True)
    code.load(DEST, "out_chunk", save_address=True)
    for _ in range(2):
        main.op("mov16", DEST, SRC1)
    assert run(b.build(), a=np.arange(12))["out"][:8] == [0, 1, 3, 4, 6, 7, 9, 10]


def test_without_save_address_every_call_starts_again() -> None:
    b, code, main = single()
    code.load(SRC1, "chunk")
    for k in range(3):
        main.op("mov16", Ref("out_chunk").at(4 * k), SRC1)
    assert run(b.build(), a=np.arange(12))["out"] == [0, 1, 2, 3] * 3


def test_a_saved_address_that_leaves_the_buffer() -> None:
    b, code, main = single()
    code.load(SRC1, "chunk", save_address=True)
    for _ in range(4):
        main.op("mov16", "out_chunk", SRC1)
    with pytest.raises(MachineError, match="what register dsr_src1 2 holds leaves buffer a"):
        Machine(b.build(), WSE3).run()


@pytest.mark.row("000.83", "002.20")
def test_fabric_through_registers() -> None:
    """A load holds queue, length and what happens at the end; the operation is asynchronous."""
    b, code, main = single()
    for name in "xy":
        b.color(name)
    code.input_queue(2, "x")
    code.output_queue(3, "y")
    code.fabin("in", 2, 4)
    code.fabout("y_out", 3, 4)
    main.load(SRC1, "in", asynchronous=True, activate="second")
    main.op("mov16", "out_chunk", SRC1)
    second = code.task("second")
    second.load(DEST, "y_out", asynchronous=True)
    second.op("add16", DEST, "out_chunk", 1)
    b.route("x", Area(0, 0), rx="W", tx="R")
    b.route("y", Area(0, 0), rx="R", tx="E")
    b.edge_input(EdgeInput("x", "W", 0, 1, "x", "i16", 4))
    b.edge_output(EdgeOutput("y", "E", 0, 1, "y", "i16", 4))
    result = Machine(b.build(), WSE3).run(edges={"x": [[5, 6, 7, 8]]}, timeline=True)
    assert result.edges["y"].values.tolist() == [[6, 7, 8, 9]]
    threads = {e.operation: e.thread for e in result.trace.timeline if e.operation != "task"}
    assert threads == {"mov16": "ut2", "add16": "ut3"}


def needed(extents: int, inner_stride: int, offset: object = 0, strides: int = 0) -> str:
    b, code, main = single()
    loops = [(1, 1)] * (extents - 1) + [(2, inner_stride)]
    code.mem4d("walk", "a", loops)
    main.load(SRC1, Ref("walk").at(offset), xdsr=1, strides=tuple(range(strides)))  # type: ignore[arg-type]
    try:
        b.build()
    except ProgramError as error:
        return str(error).splitlines()[0]
    return "holds"


@pytest.mark.row("002.25")
@pytest.mark.row("002.24")
@pytest.mark.parametrize("dimensions", [1, 2, 3, 4])
@pytest.mark.parametrize("inner_stride", [1, 2])
def test_count_of_stride_registers(dimensions: int, inner_stride: int) -> None:
    """The first dimension needs none; the second none when the first has stride 1."""
    count = max(0, dimensions - 1) if inner_stride != 1 else max(0, dimensions - 2)
    assert needed(dimensions, inner_stride, strides=count) == "holds"
    for wrong in {0, 1, 2, 3} - {count}:
        assert needed(dimensions, inner_stride, strides=wrong) == (
            f"code main, task main, load of dsr_src1 2: needs {count} stride registers"
        )


def test_a_descriptor_known_only_at_run_time_needs_three_stride_registers() -> None:
    assert needed(2, 1, variable("k"), strides=3) == "holds"
    assert "needs 3 stride registers" in needed(2, 1, variable("k"), strides=0)


# wafer.md §6.2: coefficients of the access (with the array's row-major strides), extents, and the
# offset, strides and elements that the documentation gives for them.
ACCESSES = [
    ("a[i]", 10, [(10, 1)], 0, (1,), [*range(10)]),
    ("a[2i+1]", 10, [(5, 2)], 1, (2,), [1, 3, 5, 7, 9]),
    ("a[0]", 10, [(10, 0)], 0, (0,), [0] * 10),
    ("a[i,i] of 20 x 20", 400, [(20, 21)], 0, (21,), [*range(0, 400, 21)]),
    ("a[i,j] of 4 x 3", 12, [(2, 3), (2, 1)], 0, (1, 2), [0, 1, 3, 4]),
    (
        "a[i,j,1+k,l] of 1 x 2 x 3 x 4",
        24,
        [(1, 24), (2, 12), (1, 4), (4, 1)],
        4,
        (1, 1, 9, 9),
        [4, 5, 6, 7, 16, 17, 18, 19],
    ),
    ("a[i+j+k+l]", 4, [(1, 1)] * 4, 0, (1, 1, 1, 1), [0]),
    ("a[2i+j]", 20, [(5, 2), (5, 1)], 0, (1, -2), [2 * i + j for i in range(5) for j in range(5)]),
    (
        "a[i+j,k+l+2] of 4 x 5, beyond its end as in the documentation",
        51,
        [(5, 5), (5, 5), (5, 1), (5, 1)],
        2,
        (1, -3, -3, -23),
        [
            5 * (i + j) + k + m + 2
            for i in range(5)
            for j in range(5)
            for k in range(5)
            for m in range(5)
        ],
    ),
    ("a[i+1,j+1] of 10 x 10", 100, [(2, 10), (2, 1)], 11, (1, 9), [11, 12, 21, 22]),
]


@pytest.mark.parametrize(("text", "size", "loops", "offset", "strides", "touched"), ACCESSES)
def test_tensor_access(
    text: str,
    size: int,
    loops: list[tuple[int, int]],
    offset: int,
    strides: tuple[int, ...],
    touched: list[int],
) -> None:
    b = ProgramBuilder(text, 1, 1)
    code = b.code("main")
    code.buffer("a", "i16", size)
    code.buffer("seen", "i16", len(touched))
    code.mem4d("walk", "a", loops, offset)
    code.mem1d("all", "seen", len(touched))
    code.task("main", entry=True).op("mov16", "all", "walk")
    b.place("main", Area(0, 0))
    program = b.build()
    dsd = program.codes[0].dsd("walk")
    assert dsd.strides == strides  # type: ignore[union-attr]
    assert dsd.offset == offset  # type: ignore[union-attr]
    assert run(program, a=np.arange(size))["seen"] == touched


def test_increment_of_the_offset_goes_one_row_up() -> None:
    b = ProgramBuilder("up", 1, 1)
    code = b.code("main")
    code.buffer("a", "f32", (10, 10))
    code.buffer("seen", "f32", 4)
    code.mem4d("walk", "a", [(2, 10), (2, 1)], 11)
    code.mem1d("all", "seen", 4)
    code.task("main", entry=True).op("fmovs", "all", Ref("walk").at(-10))
    b.place("main", Area(0, 0))
    assert run(b.build(), a=np.arange(100).reshape(10, 10))["seen"] == [1, 2, 11, 12]


def test_map_square_roots_of_a_diagonal() -> None:
    """Topic 10: a callback on the diagonal, in place."""
    b = ProgramBuilder("map", 1, 1)
    code = b.code("main")
    code.buffer("a", "f32", (4, 4))
    code.mem1d("diagonal", "a", 4, stride=5)
    main = code.task("main", entry=True)
    with main.map(("x", "diagonal"), output=("x", "diagonal")):
        main.compute("x", "sqrt", "x", dtype="f32")
    b.place("main", Area(0, 0))
    a = np.arange(16, dtype=np.float32).reshape(4, 4)
    result = Machine(b.build(), WSE3).run(memory={"a": a[None, None]})
    expected = a.copy()
    np.fill_diagonal(expected, np.sqrt(np.diag(a)))
    np.testing.assert_array_equal(result.memory["a"][0, 0], expected)
    assert result.counts.memory_reads == result.counts.memory_writes == {"a": 4}


def test_map_transposes_and_reduces() -> None:
    """Topic 10: a copy through two access patterns, and an i32 reduction without an output."""
    b = ProgramBuilder("map", 1, 1)
    code = b.code("main")
    code.buffer("a", "i32", (3, 5))
    code.buffer("t", "i32", (5, 3))
    code.buffer("sum", "i32", 1)
    code.mem4d("rows", "a", [(3, 5), (5, 1)])
    code.mem4d("columns", "t", [(3, 1), (5, 3)])
    main = code.task("main", entry=True)
    with main.map(("x", "rows"), output=("x", "columns")):
        pass
    with main.map(("x", "rows")):
        main.compute("total", "add", "total", "x", dtype="i32")
    main.compute(code.element("sum"), "mov", "total", dtype="i32")
    b.place("main", Area(0, 0))
    a = (np.arange(15) * 1000003 - 7000000).astype(np.int32).reshape(3, 5)
    result = Machine(b.build(), WSE3).run(memory={"a": a[None, None]})
    np.testing.assert_array_equal(result.memory["t"][0, 0], a.T)
    assert result.memory["sum"].item() == a.sum()


def test_map_ends_with_the_shortest_operand() -> None:
    b, code, main = single()
    code.mem1d("three", "a", 3)
    with main.map(("x", "chunk"), ("y", "three"), output=("z", "out_chunk")):
        main.compute("z", "mul", "x", "y", dtype="i16")
    assert run(b.build(), a=np.arange(1, 13))["out"] == [1, 4, 9] + [0] * 9


def test_map_over_wavelets() -> None:
    """Fabric input and output: the callback waits for both; a stream of running sums."""
    b, code, main = single()
    for name in "xy":
        b.color(name)
    code.input_queue(2, "x")
    code.output_queue(3, "y")
    code.fabin("in", 2, 9)
    code.fabout("y_out", 3, 9)
    with main.map(("x", "in"), output=("sum", "y_out"), label="running sums"):
        main.compute("sum", "add", "sum", "x", dtype="u32")
    b.route("x", Area(0, 0), rx="W", tx="R")
    b.route("y", Area(0, 0), rx="R", tx="E")
    b.edge_input(EdgeInput("x", "W", 0, 1, "x", "u32", 9, interval=30))
    b.edge_output(EdgeOutput("y", "E", 0, 1, "y", "u32", 9))
    result = Machine(b.build(), WSE3).run(edges={"x": [range(9)]})
    assert result.edges["y"].values[0].tolist() == np.cumsum(np.arange(9)).tolist()
    assert result.counts.labelled == {"running sums": 9}


@pytest.mark.row("002.29")
def test_map_with_registers_needs_single_step() -> None:
    b, code, main = single()
    code.load(SRC1, "chunk", single_step=True)
    for _ in range(2):
        with main.map(("x", SRC1)):
            main.compute("sum", "add", "sum", "x", dtype="i16")
    main.compute(code.element("out"), "mov", "sum", dtype="i16")
    assert run(b.build(), a=np.arange(12))["out"][0] == 2 * sum(range(4))
    b, code, main = single()
    code.load(SRC1, "chunk")
    with main.map(("x", SRC1)):
        pass
    with pytest.raises(MachineError) as caught:
        run(b.build())
    assert caught.value.what == (
        "cycle 0, element (0, 0), code main, task main, @map: register dsr_src1 2 is not loaded "
        "with single_step, which @map needs"
    )


def test_fifo_in_registers_of_its_own() -> None:
    b, code, main = single()
    code.buffer("store", "i16", 4)
    code.fifo("fifo", "store", dest=5, src=5, xdsr=1)
    main.op("mov16", Register("dest", 5, fifo=True), "chunk", result="all")
    main.op("mov16", Register("dest", 5, fifo=True), "chunk", result="full")
    main.op("mov16", "out_chunk", Register("src1", 5))
    main.compute(code.element("out", 4), "mov", "all", dtype="i16")
    main.compute(code.element("out", 5), "mov", "full", dtype="i16")
    assert run(b.build(), a=np.arange(12))["out"][:6] == [0, 1, 2, 3, 1, 0]
    main.op("mov16", "out_chunk", Register("src1", 5), label="again")
    with pytest.raises(MachineError) as caught:
        run(b.build())
    assert caught.value.what.endswith(
        "@mov16 (again): a register that is not of FIFO type holds a FIFO that is full or empty"
    )


def crowded(named: int, fifos: int, streams: int) -> ProgramBuilder:
    """One element with named registers, FIFOs, and microthreads that send."""
    b = ProgramBuilder("crowded", 1, 1)
    code = b.code("main")
    code.buffer("v", "f32", 4)
    code.mem1d("all", "v", 4)
    for i in range(named):
        code.load(Register("dest", i), "all")
    for i in range(fifos):
        code.buffer(f"store{i}", "f32", 4)
        code.fifo(f"fifo{i}", f"store{i}")
    main = code.task("main", entry=True)
    for i in range(streams):
        color = b.color(f"c{i}")
        code.output_queue(i, color)
        code.fabout(f"out{i}", i, 4)
        b.route(color, Area(0, 0), rx="R", tx="E")
        b.edge_output(EdgeOutput(f"y{i}", "E", 0, 1, color, "f32", 4))
        main.start("fmovs", f"out{i}", "all")
    main.op("fmovs", "all", 1.0)
    b.place("main", Area(0, 0))
    return b


@pytest.mark.row("002.04")
def test_registers_that_a_compiler_would_allocate_are_counted() -> None:
    """16 of file dest: named ones, FIFOs, one per microthread, one for the main thread."""
    Machine(crowded(9, 2, 4).build(), WSE3)
    with pytest.raises(ProgramError) as caught:
        Machine(crowded(9, 2, 5).build(), WSE3)
    assert str(caught.value).splitlines()[0] == (
        "code main: needs 17 registers of file dest (9 named, 2 of FIFOs, 6 of operations), an "
        "element of wse3-sdk-sim has 16"
    )
    needs = {need.kind: need.total for need in register_needs(crowded(9, 2, 4).build().codes[0])}
    assert needs == {"dest": 16, "src0": 0, "src1": 6, "extended": 2, "stride": 0}
    with pytest.raises(ProgramError, match=r"17 FIFOs need as many dest, src1 and extended"):
        Machine(crowded(0, 17, 1).build(), WSE3)


@pytest.mark.parametrize("words", [4, 7])
def test_a_saved_ring_is_cleared_from_where_the_operation_began(words: int) -> None:
    """What was sent from a circular buffer with save_address is set to zero, around its end."""
    b = ProgramBuilder("cleared", 1, 1)
    b.color("x")
    code = b.code("main")
    code.buffer("ring", "f32", 6)
    code.circbuf("around", "ring", words, 5)
    code.output_queue(3, "x")
    code.fabout("out", 3, words, zero="second")
    code.fabout("kept", 3, words)
    code.load(Register("src1", 1), "around", xdsr=0, save_address=True)
    main = code.task("main", entry=True)
    main.op("fmovs", "kept", Register("src1", 1))
    main.op("fmovs", "out", Register("src1", 1))
    b.place("main", Area(0, 0))
    b.route("x", Area(0, 0), rx="R", tx="N")
    b.edge_output(EdgeOutput("y", "N", 0, 1, "x", "f32", 2 * words))
    ring = np.arange(1, 7, dtype=np.float32)
    result = Machine(b.build(), WSE3).run(memory={"ring": ring[None, None]})
    assert result.edges["y"].values[0].tolist() == np.resize(ring[:5], 2 * words).tolist()
    left = ring.copy()
    left[np.arange(words, 2 * words) % 5] = 0
    assert result.memory["ring"].ravel().tolist() == left.tolist()


def test_stride_registers_are_counted() -> None:
    b = ProgramBuilder("strides", 1, 1)
    code = b.code("main")
    code.buffer("a", "f32", 256)
    code.mem4d("cube", "a", [(4, 64), (4, 16), (4, 4), (4, 1)])
    code.task("main", entry=True).op("fmovs", "cube", "cube")
    b.place("main", Area(0, 0))
    with pytest.raises(ProgramError) as caught:
        Machine(b.build(), WSE3.with_values({"stride_registers": 3}))
    assert caught.value.what == (
        "code main, task main, @fmovs: needs 4 stride registers and 2 extended registers"
    )
    Machine(b.build(), WSE3)
