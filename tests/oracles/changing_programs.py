"""Random programs that change what is around their elements: queues, microthreads, registers."""

from __future__ import annotations

import numpy as np
from machine_programs import Case

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.build.task_builder import TaskBuilder
from tilewright.simulator.isa.dsd import Ref, Register
from tilewright.simulator.isa.wavelets import control_wavelet
from tilewright.simulator.program.routes import Area, EdgeInput, EdgeOutput

DEST = Register("dest", 1)


def _idle(task: TaskBuilder, rng: np.random.Generator) -> None:
    with task.loop("wait", int(rng.integers(1, 30))):
        task.increment("idle")


def rebound(seed: int, words: int) -> Case:
    """Two neighbours send on two colors each by one queue; one queue takes all, in any order."""
    rng = np.random.default_rng(seed)
    b = ProgramBuilder("rebound", 1, 3)
    for color in "wxyz":
        b.color(color)
    for name, column, colors, port in (("west", 0, "wx", "E"), ("east", 2, "yz", "W")):
        _sender(b.code(name), colors, words, rng)
        b.place(name, Area(0, column))
        for color in colors:
            b.route(color, Area(0, column), rx="R", tx=port)
            b.route(color, Area(0, 1), rx="W" if column == 0 else "E", tx="R")
    order = list(rng.permutation(["wx", "wx", "yz", "yz"]))
    taken = [pair[order[:i].count(pair)] for i, pair in enumerate(order)]
    code = b.code("middle")
    code.buffer("got", "u32", 4 * words)
    code.mem1d("part", "got", words)
    code.input_queue(2, taken[0])
    code.fabin("in", 2, words)
    task = code.task("main", entry=True)
    for i, color in enumerate(taken):
        if i == 2:
            task.flush_input(2)
            task = code.task("later", empty_input=2)
        if i:
            task.bind_input(2, color)
        if rng.integers(2):
            _idle(task, rng)
        task.op("mov32", Ref("part").at(i * words), "in")
    b.place("middle", Area(0, 1))
    v = rng.integers(0, 1 << 32, (1, 3, 2 * words), dtype=np.uint32)
    sent = dict(zip("wxyz", v[0, [0, 2]].reshape(4, words), strict=True))
    got = np.zeros((1, 3, 4 * words), dtype=np.uint32)
    got[0, 1] = np.concatenate([sent[color] for color in taken])
    given = {(0, column): v[0, column] for column in (0, 2)}
    return Case(b.build(), {"v": given}, {"got": got})


def _sender(code: CodeBuilder, colors: str, words: int, rng: np.random.Generator) -> None:
    code.buffer("v", "u32", 2 * words)
    code.mem1d("part", "v", words)
    code.output_queue(3, colors[0])
    code.fabout("out", 3, words)
    first, second = code.task("first", entry=True), code.task("second", empty_output=3)
    _idle(first, rng)
    if rng.integers(2):
        first.start("mov32", "out", "part", activate="sent")
        first = code.task("sent")
    else:
        first.op("mov32", "out", "part")
    first.flush_output(3)
    second.bind_output(3, colors[1])
    _idle(second, rng)
    second.op("mov32", "out", Ref("part").at(words))


def paused(seed: int, words: int) -> Case:
    """Microthreads take streams, add to them and send them; they are blocked now and then."""
    rng = np.random.default_rng(seed)
    threads = int(rng.integers(1, 4))
    b = ProgramBuilder("paused", 1, 1)
    code = b.code("main")
    code.buffer("v", "f32", words)
    code.mem1d("all", "v", words)
    main = code.task("main", entry=True)
    edges, streams = {}, {}
    v = rng.standard_normal((1, 1, words)).astype(np.float32)
    for k in range(threads):
        came, goes = f"in{k}", f"out{k}"
        side, end = (("N", "S"), ("W", "E"), ("S", "N"))[k]
        for color in (came, goes):
            b.color(color)
        code.input_queue(2 + k, came)
        code.output_queue(3 + k, goes)
        code.fabin(came, 2 + k, words)
        code.fabout(goes, 3 + k, words)
        b.route(came, Area(0, 0), rx=side, tx="R")
        b.route(goes, Area(0, 0), rx="R", tx=end)
        interval = int(rng.integers(1, 4))
        b.edge_input(EdgeInput(came, side, 0, 1, came, "f32", words, interval))
        b.edge_output(EdgeOutput(goes, end, 0, 1, goes, "f32", words))
        edges[came] = rng.standard_normal((1, words)).astype(np.float32)
        streams[goes] = edges[came] + v[0]
        if rng.integers(2):
            main.block_microthread(2 + k)
        main.start("fadds", goes, came, "all", microthread=2 + k)
    for _ in range(int(rng.integers(1, 6))):
        which = 2 + int(rng.integers(threads))
        (main.block_microthread if rng.integers(2) else main.unblock_microthread)(which)
        _idle(main, rng)
    for k in range(threads):
        main.unblock_microthread(2 + k)
    b.place("main", Area(0, 0))
    return Case(b.build(), {"v": v}, {}, edges, streams)


def copied(seed: int, width: int, words: int) -> Case:
    """A stream goes east; one router gives it to the other color of its pair as well."""
    rng = np.random.default_rng(seed)
    b = ProgramBuilder("copied", 1, width)
    b.color("even", 0)
    b.color("odd", 1)
    b.code("idle").task("nothing")
    b.place("idle", Area(0, 0, 1, width))
    mine, other = ("even", "odd") if rng.integers(2) else ("odd", "even")
    first = int(rng.integers(width))
    for column in range(width):
        b.route(mine, Area(0, column), rx="W", tx="E")
        if column >= first:
            b.route(other, Area(0, column), rx="W", tx="E", swap="x" if column == first else "")
    interval, start = (int(n) for n in rng.integers(1, 9, 2))
    b.edge_input(EdgeInput("in", "W", 0, 1, mine, "u32", words, interval, start))
    values = rng.integers(0, 1 << 32, (1, words), dtype=np.uint32)
    for color in (mine, other):
        b.edge_output(EdgeOutput(f"{color}_out", "E", 0, 1, color, "u32", words))
    return Case(b.build(), {}, {}, {"in": values}, {"even_out": values, "odd_out": values})


def cut_short(seed: int, uses: int, most: int) -> Case:
    """Control wavelets end receptions early; a register goes on where each one ended."""
    rng = np.random.default_rng(seed)
    sizes = [int(size) for size in rng.integers(1, most + 1, uses)]
    b = ProgramBuilder("cut_short", 1, 2)
    b.color("x")
    send = b.code("send")
    send.buffer("v", "u32", sum(sizes))
    send.output_queue(3, "x")
    send.fabout("stop", 3, 1, control=True)
    main = send.task("main", entry=True)
    for i, size in enumerate(sizes):
        send.mem1d(f"v{i}", "v", size, offset=sum(sizes[:i]))
        send.fabout(f"out{i}", 3, size)
        _idle(main, rng)
        main.op("mov32", f"out{i}", f"v{i}")
        main.op("mov32", "stop", control_wavelet())
    code = b.code("receive")
    code.buffer("got", "u32", sum(sizes) + most + 1)
    code.mem1d("into", "got", most + 1)
    code.input_queue(2, "x")
    code.fabin("in", 2, most + 1)
    code.load(DEST, "into", save_address=True)
    task = code.task("use0", entry=True)
    for i in range(uses):
        settings = {"activate": f"use{i + 1}"} if i + 1 < uses else {}
        task.start("mov32", DEST, "in", on_control=("terminate", None), **settings)
        if settings:
            task = code.task(f"use{i + 1}")
    b.place("send", Area(0, 0))
    b.place("receive", Area(0, 1))
    b.route("x", Area(0, 0), rx="R", tx="E")
    b.route("x", Area(0, 1), rx="W", tx="R")
    v = rng.integers(0, 1 << 32, sum(sizes), dtype=np.uint32)
    got = np.zeros((1, 2, sum(sizes) + most + 1), dtype=np.uint32)
    got[0, 1, : v.size] = v
    return Case(b.build(), {"v": {(0, 0): v}}, {"got": got})


def changing_case(seed: int) -> Case:
    """Draw a program by a seed."""
    rng = np.random.default_rng(seed)
    kind = int(rng.integers(4))
    if kind == 0:
        return rebound(seed, int(rng.integers(1, 20)))
    if kind == 1:
        return paused(seed, int(rng.integers(1, 25)))
    if kind == 2:
        return copied(seed, int(rng.integers(1, 6)), int(rng.integers(1, 20)))
    return cut_short(seed, int(rng.integers(1, 6)), int(rng.integers(1, 9)))
