"""Random programs with switches, filters, tasks of wavelets and FIFOs, and what must come out."""

from __future__ import annotations

import numpy as np
from machine_programs import Case

from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.isa.dsd import ENDLESS, Ref, Register
from tilewright.simulator.isa.wavelets import control_wavelet
from tilewright.simulator.program.routes import (
    Area,
    CounterFilter,
    EdgeInput,
    EdgeOutput,
    Position,
    RangeFilter,
    Switch,
)


def gather(seed: int, elements: int, words: int) -> Case:
    """Elements of a row send to its east end in turn: their routers switch rx."""
    rng = np.random.default_rng(seed)
    b = ProgramBuilder("gather", 1, elements + 1)
    b.color("x")
    local = bool(rng.integers(2))
    for column in range(elements):
        code = b.code(f"e{column}")
        code.buffer("v", "u32", words)
        code.mem1d("all", "v", words)
        code.output_queue(3, "x")
        code.fabout("out", 3, words, advance_switch=local)
        code.fabout("command", 3, 1, control=True)
        main = code.task("main", entry=True)
        with main.loop("wait", int(rng.integers(1, 30))):
            main.increment("idle")
        (main.start if rng.integers(2) and local else main.op)("mov32", "out", "all")
        if not local:
            main.op("mov32", "command", control_wavelet("switch_adv", ignore_ce=True))
        b.place(f"e{column}", Area(0, column))
        switch = Switch((Position(rx=("W",)),)) if column else None
        b.route("x", Area(0, column), rx="R", tx="E", switch=switch)
    sink = b.code("sink")
    sink.buffer("got", "u32", elements * words)
    sink.mem1d("all", "got", elements * words)
    sink.input_queue(2, "x")
    sink.fabin("in", 2, elements * words)
    sink.task("main", entry=True).op("mov32", "all", "in")
    b.place("sink", Area(0, elements))
    b.route("x", Area(0, elements), rx="W", tx="R")
    v = rng.integers(0, 1 << 32, (elements, words), dtype=np.uint32)
    got = np.zeros((1, elements + 1, elements * words), dtype=np.uint32)
    got[0, elements] = v[::-1].ravel()
    memory = {"v": {(0, column): v[column] for column in range(elements)}}
    return Case(b.build(), memory, {"got": got})


def scatter(seed: int, receivers: int, each: int) -> Case:
    """A broadcast with an index; filters leave to every element its part."""
    rng = np.random.default_rng(seed)
    words = receivers * each
    b = ProgramBuilder("scatter", 1, receivers + 1)
    b.color("x")
    send = b.code("send")
    send.buffer("v", "i16", words)
    send.mem1d("one", "v", 1)
    send.output_queue(3, "x")
    send.fabout("out", 3, 1, wavelet_index_offset=True)
    main = send.task("main", entry=True)
    with main.loop("i", words) as i:
        main.op("mov16", "out", Ref("one").at(i), index=i)
    code = b.code("keep")
    code.buffer("kept", "i16", each)
    code.buffer("sum", "i16", 1)
    code.input_queue(2, "x")
    add = code.data_task("add", 2, [("value", "i16"), ("index", "u16")])
    add.compute("slot", "sub", "index", "base", dtype="i16")
    add.compute("total", "add", "total", "value", dtype="i16")
    add.compute(code.element("sum"), "mov", "total", dtype="i16")
    b.place("send", Area(0, 0))
    b.place("keep", Area(0, 1, 1, receivers))
    b.route("x", Area(0, 0), rx="R", tx="E")
    counted = receivers == 1 and each > 1
    for p in range(receivers):
        chosen = (
            CounterFilter(each, each) if counted else RangeFilter(p * each, p * each + each - 1)
        )
        b.route("x", Area(0, p + 1), rx="W", tx="RE" if p + 1 < receivers else "R", filter=chosen)
    v = rng.integers(-99, 99, words).astype(np.int16)
    total = np.zeros((1, receivers + 1, 1), dtype=np.int16)
    total[0, 1:, 0] = v.reshape(receivers, each).sum(axis=1)
    return Case(b.build(), {"v": {(0, 0): v}}, {"sum": total})


def buffered(seed: int, words: int, capacity: int) -> Case:
    """A stream through a FIFO, a circular buffer of weights, and registers."""
    rng = np.random.default_rng(seed)
    extent = ENDLESS if rng.integers(2) else words
    period = int(rng.integers(1, 6))
    b = ProgramBuilder("buffered", 1, 1)
    b.color("x")
    b.color("y")
    code = b.code("main")
    code.buffer("store", "f32", capacity)
    code.buffer("weights", "f32", period + 1)
    code.fifo("fifo", "store")
    code.input_queue(2, "x")
    code.output_queue(3, "y")
    code.fabin("in", 2, extent)
    code.fabout("out", 3, words)
    code.circbuf("around", "weights", words, period)
    main = code.task("main", entry=True)
    main.start("fmovs", "fifo", "in")
    if rng.integers(2):
        code.load(Register("src0", 1), "around", xdsr=2)
        main.start("fmuls", "out", Register("src0", 1), "fifo")
    else:
        main.start("fmuls", "out", "around", "fifo")
    b.place("main", Area(0, 0))
    b.route("x", Area(0, 0), rx="N", tx="R")
    b.route("y", Area(0, 0), rx="R", tx="S")
    b.edge_input(EdgeInput("x", "N", 0, 1, "x", "f32", words, int(rng.integers(1, 4))))
    b.edge_output(EdgeOutput("y", "S", 0, 1, "y", "f32", words))
    x = rng.standard_normal((1, words)).astype(np.float32)
    weights = rng.standard_normal((1, 1, period + 1)).astype(np.float32)
    y = x * np.resize(weights[0, 0, :period], words)
    return Case(b.build(), {"weights": weights}, {}, {"x": x}, {"y": y})


def rings(seed: int, uses: int, words: int) -> Case:
    """Rings in registers that save their address: filled from a stream, read by an operation."""
    rng = np.random.default_rng(seed)
    target, source = (int(n) for n in rng.integers(1, 9, 2))
    b = ProgramBuilder("rings", 1, 1)
    b.color("x")
    code = b.code("main")
    code.buffer("kept", "f32", target + 1)
    code.buffer("given", "f32", source)
    code.buffer("taken", "f32", (uses, words))
    code.circbuf("into", "kept", words, target)
    code.circbuf("out_of", "given", words)
    code.mem1d("row", "taken", words)
    code.input_queue(2, "x")
    code.fabin("in", 2, words)
    code.load(Register("dest", 1), "into", xdsr=0, save_address=True)
    main = code.task("main", entry=True)
    main.load(Register("src1", 2), "out_of", xdsr=1, save_address=True)
    with main.loop("i", uses) as i:
        main.op("fmovs", Register("dest", 1), "in")
        main.op("fmuls", Ref("row").at(i * words), Register("src1", 2), 2.0)
    b.place("main", Area(0, 0))
    b.route("x", Area(0, 0), rx="N", tx="R")
    b.edge_input(EdgeInput("x", "N", 0, 1, "x", "f32", uses * words))
    x = rng.standard_normal((1, uses * words)).astype(np.float32)
    given = rng.standard_normal((1, 1, source)).astype(np.float32)
    kept = np.zeros((1, 1, target + 1), dtype=np.float32)
    for i, value in enumerate(x[0]):
        kept[0, 0, i % target] = value
    taken = np.resize(2 * given, (1, 1, uses, words))
    return Case(b.build(), {"given": given}, {"kept": kept, "taken": taken}, {"x": x})


def there_and_back(seed: int, width: int, words: int) -> Case:
    """The west end sends to all and tears the color down; then the east end does, the other way."""
    rng = np.random.default_rng(seed)
    b = ProgramBuilder("there_and_back", 1, width)
    b.color("x")
    ends = {0: ("west", "R", "E", "E", "R"), width - 1: ("east", "W", "R", "R", "W")}
    for column in range(width):
        name, *ports = ends.get(column, (f"e{column}", "W", "RE", "E", "RW"))
        code = b.code(name)
        code.buffer("v", "u32", words)
        code.buffer("got", "u32", 2 * words)
        code.mem1d("all", "v", words)
        code.mem1d("place", "got", words)
        code.input_queue(2, "x")
        code.output_queue(3, "x")
        code.fabin("in", 2, words)
        code.fabout("out", 3, words)
        code.fabout("command", 3, 1, control=True)
        first, second = code.task("first", entry=True), code.task("second", teardown="x")
        for task in (first, second):
            with task.loop("wait", int(rng.integers(1, 30))):
                task.increment("idle")
        second.reconfigure("x", rx=ports[2], tx=ports[3])
        second.end_teardown("x")
        first.op("mov32", *(("out", "all") if column == 0 else ("place", "in")))
        if column == 0:
            first.op("mov32", "command", control_wavelet("teardown", ignore_ce=True))
        later = ("out", "all") if column == width - 1 else (Ref("place").at(words), "in")
        second.op("mov32", *later)
        b.place(name, Area(0, column))
        b.route("x", Area(0, column), rx=ports[0], tx=ports[1])
    v = rng.integers(0, 1 << 32, (1, width, words), dtype=np.uint32)
    got = np.zeros((1, width, 2 * words), dtype=np.uint32)
    got[0, 1:, :words], got[0, :-1, words:] = v[0, 0], v[0, -1]
    return Case(b.build(), {"v": v}, {"got": got})


def swapped(seed: int, width: int, words: int) -> Case:
    """Two streams go east on a pair of colors; some routers exchange them."""
    rng = np.random.default_rng(seed)
    b = ProgramBuilder("swapped", 1, width)
    b.color("even", 0)
    b.color("odd", 1)
    b.code("idle").task("nothing")
    b.place("idle", Area(0, 0, 1, width))
    swaps = [bool(rng.integers(2)) for _ in range(width)]
    for column, swap in enumerate(swaps):
        for color in ("even", "odd"):
            b.route(color, Area(0, column), rx="W", tx="E", swap="x" if swap else "")
    values = {}
    for color in ("even", "odd"):
        interval, start = (int(n) for n in rng.integers(1, 9, 2))
        b.edge_input(EdgeInput(color, "W", 0, 1, color, "u32", words, interval, start))
        b.edge_output(EdgeOutput(f"{color}_out", "E", 0, 1, color, "u32", words))
        values[color] = rng.integers(0, 1 << 32, (1, words), dtype=np.uint32)
    other = {"even": "odd", "odd": "even"} if sum(swaps) % 2 else {"even": "even", "odd": "odd"}
    expected = {f"{other[color]}_out": values[color] for color in values}
    return Case(b.build(), {}, {}, values, expected)


def special_case(seed: int) -> Case:
    """Draw a program by a seed."""
    rng = np.random.default_rng(seed)
    kind = int(rng.integers(6))
    if kind == 0:
        return gather(seed, int(rng.integers(1, 6)), int(rng.integers(1, 12)))
    if kind == 1:
        return scatter(seed, int(rng.integers(1, 5)), int(rng.integers(1, 6)))
    if kind == 2:
        return there_and_back(seed, int(rng.integers(2, 7)), int(rng.integers(1, 12)))
    if kind == 3:
        return swapped(seed, int(rng.integers(1, 7)), int(rng.integers(1, 20)))
    if kind == 4:
        return rings(seed, int(rng.integers(1, 6)), int(rng.integers(1, 20)))
    return buffered(seed, int(rng.integers(1, 40)), int(rng.integers(1, 8)))
