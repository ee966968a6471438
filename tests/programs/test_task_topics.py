"""Data tasks, control tasks, filters and @map (csl-examples topics 03, 04, 05, 08 and 10)."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.isa.dsd import Ref
from tilewright.simulator.isa.index_expression import variable
from tilewright.simulator.isa.wavelets import control_wavelet
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.routes import Area, RangeFilter
from tilewright.simulator.run.machine import Machine

PROFILES = pytest.mark.parametrize("profile", ["wse2-sdk-sim", "wse3-sdk-sim", "generic"])


@PROFILES
def test_topic_03_a_wavelet_starts_a_data_task(profile: str) -> None:
    b = ProgramBuilder("data_task", 1, 1)
    b.color("loop")
    code = b.code("main")
    code.buffer("result", "u32", 1)
    code.output_queue(3, "loop")
    code.fabout("out", 3, 1)
    code.input_queue(2, "loop")
    code.task("start", entry=True).op("mov32", "out", 42)
    got = code.data_task("got", 2, [("data", "u32")])
    got.compute(code.element("result"), "mov", "data", dtype="u32")
    b.place("main", Area(0, 0))
    b.route("loop", Area(0, 0), rx="R", tx="R")
    result = Machine(b.build(), load_profile(profile)).run()
    assert result.memory["result"].item() == 42
    assert result.counts.memory_writes == {"result": 1}


@PROFILES
def test_topic_04_a_sparse_vector_by_the_index_of_wavelets(profile: str) -> None:
    """y = A x for x with two of four entries: a wavelet has value and column."""
    b = ProgramBuilder("sparse", 1, 2)
    b.color("x")
    send = b.code("send")
    send.buffer("values", "f16", 2)
    send.mem1d("value", "values", 1)
    send.output_queue(3, "x")
    send.fabout("out", 3, 1, wavelet_index_offset=True)
    task = send.task("main", entry=True)
    for number, column in enumerate((1, 3)):
        task.op("fmovh", "out", Ref("value").at(number), index=column)
    code = b.code("multiply")
    code.buffer("A", "f16", (2, 4))
    code.buffer("y", "f16", 2)
    code.mem1d("column", "A", 2, stride=4)
    code.mem1d("y_all", "y", 2)
    code.input_queue(2, "x")
    got = code.data_task("got", 2, [("x", "f16"), ("j", "u16")])
    got.op("fmach", "y_all", "y_all", Ref("column").at(variable("j")), variable("x"))
    b.place("send", Area(0, 0))
    b.place("multiply", Area(0, 1))
    b.route("x", Area(0, 0), rx="R", tx="E")
    b.route("x", Area(0, 1), rx="W", tx="R")
    a = np.array([[9, 4, 9, 6], [9, 2, 9, 4]], dtype=np.float16)
    memory = {"A": {(0, 1): a}, "values": {(0, 0): np.array([3, 5], dtype=np.float16)}}
    result = Machine(b.build(), load_profile(profile)).run(memory=memory)
    assert result.memory["y"][0, 1].tolist() == [42, 26]
    assert result.counts.macs == 4
    assert result.counts.memory_reads == {"A": 4, "values": 2, "y": 4}


@PROFILES
def test_topic_05_a_control_wavelet_ends_a_stream(profile: str) -> None:
    """Rows of unknown length: a data task adds, a control task writes the sum of the row."""
    lengths = (3, 1, 6)
    b = ProgramBuilder("sentinel", len(lengths), 2)
    b.color("row")
    total = b.code("total")
    total.buffer("sum", "i16", 1)
    total.buffer("ends", "i16", 1)
    total.input_queue(2, "row")
    add = total.data_task("add", 2, [("value", "i16")])
    add.compute("running", "add", "running", "value", dtype="i16")
    end = total.control_task("end", 7, [("mark", "i16")])
    end.compute(total.element("sum"), "mov", "running", dtype="i16")
    end.compute(total.element("ends"), "mov", "mark", dtype="i16")
    for row, length in enumerate(lengths):
        code = b.code(f"send{row}")
        code.buffer("values", "i16", length)
        code.mem1d("all", "values", length)
        code.output_queue(3, "row")
        code.fabout("out", 3, length)
        code.fabout("last", 3, 1, control=True)
        main = code.task("main", entry=True)
        main.op("mov16", "out", "all")
        main.op("mov32", "last", control_wavelet(entry=7, data=-row))
        b.place(f"send{row}", Area(row, 0))
    b.place("total", Area(0, 1, len(lengths), 1))
    b.route("row", Area(0, 0, len(lengths), 1), rx="R", tx="E")
    b.route("row", Area(0, 1, len(lengths), 1), rx="W", tx="R")
    values = {(row, 0): np.arange(n) - 10 * row for row, n in enumerate(lengths)}
    result = Machine(b.build(), load_profile(profile)).run(memory={"values": values})
    sums = [int(values[row, 0].sum()) for row in range(len(lengths))]
    assert result.memory["sum"][:, 1, 0].tolist() == sums
    assert result.memory["ends"][:, 1, 0].tolist() == [0, -1, -2]


@PROFILES
def test_topic_08_range_filters_share_out_a_broadcast(profile: str) -> None:
    """Element p keeps the wavelets with index 3p to 3p + 2."""
    b = ProgramBuilder("filters", 1, 4)
    b.color("x")
    send = b.code("send")
    send.buffer("x", "f16", 9)
    send.mem1d("one", "x", 1)
    send.output_queue(3, "x")
    send.fabout("out", 3, 1, wavelet_index_offset=True)
    main = send.task("main", entry=True)
    with main.loop("i", 9) as i:
        main.op("fmovh", "out", Ref("one").at(i), index=i)
    code = b.code("keep")
    code.buffer("kept", "f16", 3)
    code.mem1d("all", "kept", 3)
    code.input_queue(2, "x")
    code.fabin("in", 2, 3)
    code.task("main", entry=True).op("faddh", "all", 1.0, "in")
    b.place("send", Area(0, 0))
    b.place("keep", Area(0, 1, 1, 3))
    b.route("x", Area(0, 0), rx="R", tx="E")
    for p in range(3):
        tx = "RE" if p < 2 else "R"
        b.route("x", Area(0, p + 1), rx="W", tx=tx, filter=RangeFilter(3 * p, 3 * p + 2))
    x = {(0, 0): np.arange(9, dtype=np.float16) / 2 + 5.5}
    result = Machine(b.build(), load_profile(profile)).run(memory={"x": x})
    kept = result.memory["kept"][0, 1:].ravel()
    assert kept.tolist() == [6.5, 7.0, 7.5, 8.0, 8.5, 9.0, 9.5, 10.0, 10.5]
    assert result.trace.link_words[0, :, 4].tolist() == [0, 3, 3, 3]
    assert result.trace.link_words[0, :, 1].tolist() == [9, 9, 9, 0]


@PROFILES
def test_topic_10_map_over_descriptors(profile: str) -> None:
    """Square roots on a diagonal, a transposed copy, and the sum of all elements (i32)."""
    n = 4
    b = ProgramBuilder("map", 1, 1)
    code = b.code("main")
    for name, dtype, shape in (("A", "f32", (n, n)), ("T", "f32", (n, n)), ("v", "i32", n * n)):
        code.buffer(name, dtype, shape)
    code.buffer("total", "i32", 1)
    code.mem1d("diagonal", "A", n, stride=n + 1)
    code.mem4d("rows", tensor_access=f"|i, j|{{{n}, {n}}} -> A[i, j]")
    code.mem4d("columns", tensor_access=f"|i, j|{{{n}, {n}}} -> T[j, i]")
    code.mem1d("v_all", "v", n * n)
    main = code.task("main", entry=True)
    with main.map(("x", "diagonal"), output=("x", "diagonal")):
        main.compute("x", "sqrt", "x", dtype="f32")
    with main.map(("x", "rows"), output=("x", "columns")):
        main.compute("x", "mov", "x", dtype="f32")
    with main.map(("x", "v_all")):
        main.compute("sum", "add", "sum", "x", dtype="i32")
    main.compute(code.element("total"), "mov", "sum", dtype="i32")
    b.place("main", Area(0, 0))
    a = np.arange(1, n * n + 1, dtype=np.float32).reshape(n, n) ** 2
    v = np.arange(n * n, dtype=np.int32) - 5
    memory = {"A": a[None, None], "v": v[None, None]}
    result = Machine(b.build(), load_profile(profile)).run(memory=memory)
    rooted = np.where(np.eye(n, dtype=bool), np.sqrt(a), a)
    assert (result.memory["T"][0, 0] == rooted.T).all()
    assert result.memory["total"].item() == v.sum()
