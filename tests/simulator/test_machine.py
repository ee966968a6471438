"""Programs with known results: GEMV, edge streams, loops, four dimensions, reductions, counts."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.examples.known_costs import chain_reduce, message, vector_operation
from tilewright.simulator.isa.dsd import Element, Ref, mem4d_access
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area, EdgeInput, EdgeOutput
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.show.timeline import perfetto
from tilewright.simulator.text.printing import print_program

WSE3 = load_profile("wse3-sdk-sim")
M, N = 4, 3


def gemv() -> Program:
    """y = A x on 2 x 2 elements: x streams in from the north, sums leave by the east edge."""
    b = ProgramBuilder("gemv", height=2, width=2)
    x, left, right = b.color("x"), b.color("left"), b.color("right")
    for name, receive, send in (("west", None, left), ("east", left, right)):
        code = b.code(name)
        code.buffer("A", "f32", (M, N))
        code.buffer("x", "f32", N)
        code.buffer("y", "f32", M)
        code.mem1d("column", "A", M, stride=N)
        code.mem1d("x_all", "x", N)
        code.mem1d("y_all", "y", M)
        code.input_queue(2, x)
        code.fabin("x_in", 2, N)
        code.output_queue(4, send)
        code.fabout("sum_out", 4, M)
        code.task("load", entry=True).start("fmovs", "x_all", "x_in", activate="compute")
        compute = code.task("compute")
        with compute.loop("k", N) as k:
            compute.op("fmacs", "y_all", "y_all", Ref("column").at(k), code.element("x", k))
        if receive is None:
            compute.op("fmovs", "sum_out", "y_all", label="first sum")
        else:
            code.input_queue(3, receive)
            code.fabin("sum_in", 3, M)
            compute.op("fadds", "sum_out", "y_all", "sum_in")
    b.place("west", Area(0, 0, 2, 1))
    b.place("east", Area(0, 1, 2, 1))
    b.route(x, Area(0, 0, 1, 2), rx="N", tx="SR")
    b.route(x, Area(1, 0, 1, 2), rx="N", tx="R")
    b.route(left, Area(0, 0, 2, 1), rx="R", tx="E")
    b.route(left, Area(0, 1, 2, 1), rx="W", tx="R")
    b.route(right, Area(0, 1, 2, 1), rx="R", tx="E")
    b.edge_input(EdgeInput("x", "N", 0, 2, x, "f32", N))
    b.edge_output(EdgeOutput("y", "E", 0, 2, right, "f32", M))
    return b.build()


def test_gemv_counts_and_values() -> None:
    rng = np.random.default_rng(3)
    a = rng.integers(-9, 9, (2, 2, M, N)).astype(np.float32)
    x = rng.integers(-9, 9, (2, N)).astype(np.float32)
    result = Machine(gemv(), WSE3).run(memory={"A": a}, edges={"x": x})
    np.testing.assert_array_equal(result.edges["y"].values, np.einsum("hwmn,wn->hm", a, x))
    assert (np.diff(result.edges["y"].cycles, axis=1) >= 1).all()
    counts = result.counts
    assert counts.macs == 4 * M * N
    assert counts.memory_reads == {"A": 4 * M * N, "x": 4 * N, "y": 4 * M * N + 4 * M}
    assert counts.memory_writes == {"x": 4 * N, "y": 4 * M * N}
    assert (counts.adds, counts.moves) == (2 * M, 4 * N + 2 * M)
    assert counts.wavelet_hops == 2 * N + 2 * M
    assert (counts.ramp_in_words, counts.ramp_out_words) == (4 * N + 2 * M, 4 * M)
    assert (counts.edge_in_words, counts.edge_out_words) == (2 * N, 2 * M)
    assert result.trace.element_macs.tolist() == [[M * N] * 2] * 2


def test_a_machine_runs_again_from_zero() -> None:
    machine = Machine(gemv(), WSE3)
    a, x = np.ones((2, 2, M, N)), np.ones((2, N))
    first = machine.run(memory={"A": a}, edges={"x": x})
    second = machine.run(memory={"A": 2 * a}, edges={"x": x})
    assert first.cycles == second.cycles
    np.testing.assert_array_equal(second.edges["y"].values, 2 * first.edges["y"].values)


def test_text_form(golden: Callable[[str], None]) -> None:
    golden(print_program(gemv()))


def test_timeline_is_a_trace(golden: Callable[[str], None]) -> None:
    result = Machine(message(3, 1), WSE3).run(timeline=True)
    golden(json.dumps(perfetto(result), indent=1) + "\n")


def test_no_timeline_unless_asked() -> None:
    assert Machine(message(3, 1), WSE3).run().trace.timeline == ()


def test_long_timeline_grows() -> None:
    b = ProgramBuilder("long", 1, 1)
    code = b.code("main")
    code.buffer("a", "f32", 1)
    code.mem1d("all", "a", 1)
    main = code.task("main", entry=True)
    with main.loop("k", 10000):
        main.op("fadds", "all", "all", 1.0)
    b.place("main", Area(0, 0))
    result = Machine(b.build(), WSE3).run(timeline=True)
    assert len(result.trace.timeline) == 10001
    assert result.memory["a"].item() == 10000


@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(-9, 9)), min_size=1, max_size=4),
)
def test_four_dimensional_access(loops: list[tuple[int, int]]) -> None:
    """The strides' lowering visits the affine index of every iteration, in row-major order."""
    low = sum(min(0, (extent - 1) * c) for extent, c in loops)
    dsd = mem4d_access("walk", "a", loops, -low)
    grid = np.indices([extent for extent, _ in loops]).reshape(len(loops), -1)
    visited = -low + np.array([c for _, c in loops]) @ grid
    assert (dsd.span()[0], dsd.span()[1]) == (visited.min(), visited.max())
    b = ProgramBuilder("walk", 1, 1)
    code = b.code("main")
    code.buffer("a", "i16", int(visited.max()) + 1)
    code.buffer("out", "i16", visited.size)
    code.mem4d("walk", "a", loops, -low)
    code.mem1d("all", "out", visited.size)
    code.task("main", entry=True).op("mov16", "all", "walk")
    b.place("main", Area(0, 0))
    data = np.arange(visited.max() + 1, dtype=np.int16)
    result = Machine(b.build(), WSE3).run(memory={"a": data[None, None]})
    np.testing.assert_array_equal(result.memory["out"].ravel(), visited)


@pytest.mark.parametrize(
    ("extent", "coefficients", "strides"),
    [((5, 5), (2, 1), (1, -2)), ((5, 5, 5, 5), (5, 5, 1, 1), (1, -3, -3, -23))],
)
def test_strides_of_the_documentation(
    extent: tuple[int, ...], coefficients: tuple[int, ...], strides: tuple[int, ...]
) -> None:
    dsd = mem4d_access("a", "a", list(zip(extent, coefficients, strict=True)))
    assert dsd.strides == strides
    assert dsd.coefficients() == coefficients


def test_reduction_into_a_scalar_rounds_in_order() -> None:
    b = ProgramBuilder("reduce", 1, 1)
    code = b.code("main")
    code.buffer("a", "f16", 50)
    code.buffer("sum", "f16", 2)
    code.mem1d("all", "a", 50)
    main = code.task("main", entry=True)
    main.op("faddh", Element("sum"), code.element("sum", 1), "all")
    b.place("main", Area(0, 0))
    a = np.random.default_rng(0).standard_normal((1, 1, 50)).astype(np.float16)
    start = np.array([[[0, 3]]], dtype=np.float16)
    result = Machine(b.build(), WSE3).run(memory={"a": a, "sum": start})
    expected = np.float16(3)
    for value in a.ravel():
        expected = np.float16(expected + value)
    assert result.memory["sum"][0, 0, 0] == expected
    assert result.counts.memory_reads == {"a": 50, "sum": 1}


@pytest.mark.parametrize(
    ("operation", "dtype", "sources", "rate"),
    [
        ("fmovh", "f16", 1, Fraction(8)),
        ("fmovs", "f32", 1, Fraction(4)),
        ("add16", "i16", 2, Fraction(4)),
    ],
)
def test_rates_of_wse3(operation: str, dtype: str, sources: int, rate: Fraction) -> None:
    """Elements per cycle as measured (wafer.md §3.2), from the difference of two extents."""
    cycles = [
        Machine(vector_operation(operation, n, sources, dtype), WSE3).run().cycles
        for n in (800, 1600)
    ]
    assert Fraction(800, cycles[1] - cycles[0]) == rate


def test_words_on_links_of_a_chain() -> None:
    result = Machine(chain_reduce(4, 10), WSE3).run(memory={"v": np.ones((1, 4, 10))})
    assert result.trace.link_words[0, :, 3].tolist() == [0, 10, 10, 10]
    assert result.trace.link_words[0, :, 4].tolist() == [10, 10, 10, 0]
    assert (result.memory["v"][0, 0] == 4).all()


def test_buffers_of_several_shapes_are_read_flat() -> None:
    b = ProgramBuilder("shapes", 1, 2)
    for number, size in enumerate((2, 3)):
        code = b.code(f"c{number}")
        code.buffer("a", "i16", size)
        code.mem1d("all", "a", size)
        code.task("main", entry=True).op("add16", "all", "all", 1)
        b.place(f"c{number}", Area(0, number))
    given_memory = {"a": {(0, 0): [1, 2], (0, 1): [3, 4, 5]}}
    result = Machine(b.build(), WSE3).run(memory=given_memory)
    assert result.memory["a"].tolist() == [[[2, 3, 0], [4, 5, 6]]]


def test_edge_streams_share_the_border_link() -> None:
    """Two colors over one border link: one wavelet per cycle, in turns."""
    b = ProgramBuilder("border", 1, 2)
    b.code("main").task("main")
    b.place("main", Area(0, 0, 1, 2))
    streams = {}
    for name, side in (("p", "N"), ("q", "S")):
        color = b.color(name)
        b.route(color, Area(0, 0), rx="W", tx="E")
        b.route(color, Area(0, 1), rx="W", tx=side)
        b.edge_input(EdgeInput(name, "W", 0, 1, color, "u32", 20))
        b.edge_output(EdgeOutput(f"{name}_out", side, 1, 1, color, "u32", 20))
        streams[name] = np.arange(20, dtype=np.uint32)[None]
    result = Machine(b.build(), WSE3).run(edges=streams)
    arrivals = [result.edges[f"{name}_out"].cycles[0] for name in "pq"]
    assert sorted(np.concatenate(arrivals)) == list(range(arrivals[0][0], arrivals[0][0] + 40))
    assert (np.diff(arrivals[0]) == 2).all()
