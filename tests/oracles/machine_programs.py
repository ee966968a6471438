"""Random small programs with the results that numpy predicts for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.isa.dsd import Element, Ref
from tilewright.simulator.isa.index_expression import as_index, variable
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area, EdgeInput, EdgeOutput

ADDS = {"f32": "fadds", "f16": "faddh", "i16": "add16"}
MOVES = {"f32": "fmovs", "f16": "fmovh", "i16": "mov16"}
NUMPY: dict[str, Any] = {"f32": np.float32, "f16": np.float16, "i16": np.int16}


@dataclass(frozen=True)
class Case:
    """A program, its data, and the buffers and streams that must come out."""

    program: Program
    memory: dict[str, Any]
    expected: dict[str, Any]
    edges: dict[str, Any] = field(default_factory=dict)
    streams: dict[str, Any] = field(default_factory=dict)


def values(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> Any:
    if dtype == "i16":
        return rng.integers(-100, 100, shape).astype(np.int16)
    return rng.standard_normal(shape).astype(NUMPY[dtype])


def delay(code: CodeBuilder, cycles: int) -> None:
    """Declare what makes a task busy for about so many cycles."""
    code.buffer("idle", "f32", 1)
    task = code.task("main", entry=True)
    with task.loop("wait", max(1, cycles // 10)):
        task.op("fmovs", Element("idle"), Ref("one"))
    code.mem1d("one", "idle", 1)


def chain(seed: int, width: int, words: int, dtype: str) -> Case:
    """A chain reduction to the west, every element after a random wait, some asynchronously."""
    rng = np.random.default_rng(seed)
    b = ProgramBuilder("chain", 1, width)
    colors = (b.color("even"), b.color("odd"))
    for x in range(width):
        code = b.code(f"e{x}")
        code.buffer("v", dtype, words)
        code.mem1d("all", "v", words)
        if x < width - 1:
            code.input_queue(2, colors[(x + 1) % 2])
            code.fabin("in", 2, words)
            b.route(colors[(x + 1) % 2], Area(0, x), rx="E", tx="R")
        if x > 0:
            code.output_queue(3, colors[x % 2])
            code.fabout("out", 3, words)
            b.route(colors[x % 2], Area(0, x), rx="R", tx="W")
        delay(code, int(rng.integers(0, 200)))
        work = code.task("work", blocked=bool(rng.integers(2)))
        dest = "out" if x else "all"
        operation = (
            (MOVES[dtype], dest, "all") if x == width - 1 else (ADDS[dtype], dest, "all", "in")
        )
        start = work.start if rng.integers(2) else work.op
        start(*operation)
        wake = code.task("wake", entry=True)
        wake.activate("work")
        wake.unblock("work")
        b.place(f"e{x}", Area(0, x))
    v = values(rng, dtype, (1, width, words))
    total = v[0, width - 1].copy()
    for x in range(width - 2, -1, -1):
        total = v[0, x] + total
    expected = v.copy()
    expected[0, 0] = total
    return Case(b.build(), {"v": v}, {"v": expected})


def broadcast(seed: int, height: int, width: int, words: int) -> Case:
    """A stream from the west edge to all elements, each taking it at its own pace."""
    rng = np.random.default_rng(seed)
    b = ProgramBuilder("broadcast", height, width)
    color = b.color("x")
    for row in range(height):
        for column in range(width):
            code = b.code(f"e{row}_{column}")
            code.buffer("x", "f32", words)
            code.input_queue(int(rng.integers(0, 8)), color)
            code.fabin("in", code.build().input_queues[0].id, 1)
            code.mem1d("slot", "x", 1)
            delay(code, int(rng.integers(0, 100)))
            task = code.task("take", entry=True)
            with task.loop("k", words) as k:
                task.op("fmovs", Ref("slot").at(k), "in")
            b.place(f"e{row}_{column}", Area(row, column))
            tx = "R" + ("E" if column < width - 1 else "")
            if column == 0 and row < height - 1:
                tx += "S"
            rx = "N" if column == 0 and row else "W"
            b.route(color, Area(row, column), rx=rx, tx=tx)
    b.edge_input(EdgeInput("x", "W", 0, 1, color, "f32", words, int(rng.integers(1, 4)), 3))
    x = values(rng, "f32", (1, words))
    expected = np.broadcast_to(x[0], (height, width, words))
    return Case(b.build(), {}, {"x": expected}, {"x": x})


def contention(seed: int, width: int, words: int, streams: int) -> Case:
    """Several streams share every link to the east edge, sent by microthreads at once."""
    rng = np.random.default_rng(seed)
    b = ProgramBuilder("contention", 1, width)
    code = b.code("sender")
    main = code.task("main", entry=True)
    passing = b.code("between")
    passing.task("nothing")
    b.place("between", Area(0, 0, 1, width))
    b.place("sender", Area(0, 0))
    data = {}
    for i in range(streams):
        color = b.color(f"c{i}")
        code.buffer(f"v{i}", "f32", words)
        code.mem1d(f"all{i}", f"v{i}", words)
        code.output_queue(i, color)
        code.fabout(f"out{i}", i, words)
        main.start("fmovs", f"out{i}", f"all{i}")
        b.route(color, Area(0, 0), rx="R", tx="E")
        if width > 1:
            b.route(color, Area(0, 1, 1, width - 1), rx="W", tx="E")
        b.edge_output(EdgeOutput(f"o{i}", "E", 0, 1, color, "f32", words))
        data[f"v{i}"] = {(0, 0): values(rng, "f32", (words,))}
    sent = {f"o{i}": data[f"v{i}"][0, 0][None, :] for i in range(streams)}
    return Case(b.build(), data, {}, {}, sent)


def double_buffer(seed: int, steps: int, words: int) -> Case:
    """A receiver adds up blocks that arrive in two slots while it works on the other."""
    rng = np.random.default_rng(seed)
    b = ProgramBuilder("double_buffer", 1, 1)
    color = b.color("x")
    code = b.code("main")
    code.buffer("slots", "i16", (2, words))
    code.buffer("sum", "i16", words)
    code.mem1d("block", "slots", words)
    code.mem1d("total", "sum", words)
    code.input_queue(3, color)
    code.fabin("in", 3, words)
    first = code.task("first", entry=True)
    first.start("mov16", "block", "in", activate="arrived")
    arrived = code.task("arrived")
    slot = variable("slot") * words
    arrived.increment("done")
    with arrived.when_below("slot", 1):
        _next_block(arrived, as_index(words), slot, steps)
        arrived.set("slot", 1)
    with arrived.otherwise():
        _next_block(arrived, as_index(0), slot, steps)
        arrived.set("slot", 0)
    b.place("main", Area(0, 0))
    b.route(color, Area(0, 0), rx="N", tx="R")
    b.edge_input(EdgeInput("x", "N", 0, 1, color, "i16", words * steps, int(rng.integers(1, 3))))
    x = values(rng, "i16", (1, words * steps))
    expected = x.reshape(steps, words).sum(axis=0).astype(np.int16)
    return Case(b.build(), {}, {"sum": expected[None, None]}, {"x": x})


def _next_block(task: Any, other: Any, slot: Any, steps: int) -> None:
    with task.when_below("done", steps):
        task.start("mov16", Ref("block").at(other), "in", activate="arrived")
    task.op("add16", "total", "total", Ref("block").at(slot))


def random_case(seed: int) -> Case:
    """Draw a program by a seed."""
    rng = np.random.default_rng(seed)
    kind = int(rng.integers(4))
    words = int(rng.integers(1, 30))
    if kind == 0:
        return chain(seed, int(rng.integers(2, 7)), words, str(rng.choice(sorted(ADDS))))
    if kind == 1:
        return broadcast(seed, int(rng.integers(1, 4)), int(rng.integers(1, 4)), words)
    if kind == 2:
        return contention(seed, int(rng.integers(1, 5)), words, int(rng.integers(1, 6)))
    return double_buffer(seed, int(rng.integers(1, 7)), words)


def random_changes(seed: int) -> dict[str, object]:
    """Draw profile changes: buffer depths from 1 on, latencies, rates."""
    rng = np.random.default_rng(seed)
    hop = int(rng.integers(1, 4))
    return {
        "router_buffer_words": int(rng.integers(1, 5)),
        "hop_cycles": hop,
        "dispatch_to_link_cycles": hop + int(rng.integers(1, 5)),
        "arrival_to_execute_cycles": int(rng.integers(1, 4)),
        "completion_cycles": int(rng.integers(0, 4)),
        "task_switch_cycles": int(rng.integers(0, 4)),
        "input_queue_words": [int(n) for n in rng.integers(1, 5, 8)],
        "output_queue_words": [int(n) for n in rng.integers(1, 5, 8)],
        "cycles_per_wavelet": str(rng.choice(["1", "9/8", "2"])),
    }
