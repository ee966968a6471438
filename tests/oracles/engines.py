"""Compare the results of two engines, and random programs that the fast engine should cover."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from machine_programs import Case, values

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.build.task_builder import TaskBuilder
from tilewright.simulator.isa.dsd import Element, Ref
from tilewright.simulator.program.routes import Area, CounterFilter, EdgeInput, EdgeOutput
from tilewright.simulator.run.trace import RunResult


def differences(found: RunResult, expected: RunResult) -> list[str]:
    """Name every part in which two results differ; bit by bit."""
    parts = {
        "cycles": found.cycles != expected.cycles,
        "counts": found.counts != expected.counts,
        "timeline": found.trace.timeline != expected.trace.timeline,
        "memory names": sorted(found.memory) != sorted(expected.memory),
        "edge names": sorted(found.edges) != sorted(expected.edges),
    }
    for name in ("element_cycles", "stall_cycles", "stalls", "link_words", "element_macs"):
        mine, theirs = getattr(found.trace, name), getattr(expected.trace, name)
        parts[name] = not np.array_equal(mine, theirs)
    for name, array in expected.memory.items():
        parts[f"memory {name}"] = found.memory[name].tobytes() != array.tobytes()
    for name, stream in expected.edges.items():
        parts[f"values of {name}"] = found.edges[name].values.tobytes() != stream.values.tobytes()
        parts[f"cycles of {name}"] = not np.array_equal(found.edges[name].cycles, stream.cycles)
    return [name for name, differs in parts.items() if differs]


def fair_changes(seed: int) -> dict[str, object]:
    """Draw profile changes with queues of at least two words and whole paces."""
    rng = np.random.default_rng(seed)
    hop = int(rng.integers(1, 4))
    return {
        "router_buffer_words": int(rng.integers(2, 7)),
        "hop_cycles": hop,
        "dispatch_to_link_cycles": hop + int(rng.integers(1, 6)),
        "arrival_to_execute_cycles": int(rng.integers(1, 5)),
        "completion_cycles": int(rng.integers(0, 4)),
        "task_switch_cycles": int(rng.integers(0, 4)),
        "issue_cycles": int(rng.integers(1, 4)),
        "decode_to_execute_cycles": int(rng.integers(0, 4)),
        "input_queue_words": [int(n) for n in rng.integers(2, 9, 8)],
        "output_queue_words": [int(n) for n in rng.integers(2, 9, 8)],
    }


def pipeline(seed: int, filtered: bool = False) -> Case:
    """Multicast tiles down the columns, work on them, and sum them along the rows.

    Every element has its own waits, splits what it receives in its own way, and works in one of
    three manners: one task; a microthread that receives; a microthread that sends at the end.
    """
    rng = np.random.default_rng(seed)
    height, width = int(rng.integers(1, 4)), int(rng.integers(1, 5))
    tiles, words = int(rng.integers(1, 5)), int(rng.integers(1, 24))
    b = ProgramBuilder("pipeline", height, width)
    x, right = b.color("x"), (b.color("even"), b.color("odd"))
    count = tiles * words
    others = height - 1 + int(rng.integers(0, 3)) if filtered else 0
    entering = count * (others + 1)
    pace, start = int(rng.integers(1, 4)), int(rng.integers(0, 300))
    b.edge_input(EdgeInput("x", "N", 0, width, x, "f32", entering, pace, start))
    for r in range(height):
        for c in range(width):
            code = b.code(f"e{r}_{c}")
            b.place(code.name, Area(r, c))
            below = "SR" if r < height - 1 else "R"
            b.route(x, Area(r, c), rx="N", tx=below, filter=_only(r, words, others))
            b.route(right[c % 2], Area(r, c), rx="R", tx="E")
            if c < width - 1:
                b.route(right[c % 2], Area(r, c + 1), rx="W", tx="R")
            receive = right[(c - 1) % 2] if c else None
            _worker(rng, code, (x, receive, right[c % 2]), (tiles, words))
    out = EdgeOutput("y", "E", 0, height, right[(width - 1) % 2], "f32", count)
    b.edge_output(out)
    data = {"v": values(rng, "f32", (height, width, words))}
    return Case(b.build(), data, {}, {"x": values(rng, "f32", (width, entering))})


def filtered_pipeline(seed: int) -> Case:
    """Draw a pipeline in which each row has tiles of its own, which filters let pass."""
    return pipeline(seed, filtered=True)


def _only(row: int, words: int, others: int) -> CounterFilter | None:
    """Return the filter that lets the tile of a row pass and keeps `others` tiles away."""
    if not others:
        return None
    period = words * (others + 1)
    return CounterFilter(period, words, (period - row * words) % period)


def _worker(
    rng: np.random.Generator,
    code: CodeBuilder,
    colors: tuple[str, str | None, str],
    size: tuple[int, int],
) -> None:
    x, receive, send = colors
    tiles, words = size
    for name in ("v", "x", "s", "idle"):
        code.buffer(name, "f32", words if name != "idle" else 1)
        code.mem1d(f"all_{name}", name, words if name != "idle" else 1)
    code.input_queue(0, x)
    code.output_queue(1, send)
    code.fabout("out", 1, words)
    if receive is not None:
        code.input_queue(3, receive)
        code.fabin("in", 3, words)
    manner = str(rng.choice(["in turn", "receives", "sends"]))
    if manner == "receives":
        _receiving(rng, code, size, receive is not None)
        return
    task = code.task("main", entry=True)
    with task.loop("tile", tiles):
        _split(rng, code, task, words)
        _wait(rng, code, task)
        _compute(rng, task, words)
        _send(rng, task, receive is not None)
    if manner == "sends":
        task.activate("rest")
        rest = code.task("rest")
        rest.op("fnegs", "all_s", "all_v")
        _wait(rng, code, rest)


def _split(rng: np.random.Generator, code: CodeBuilder, task: TaskBuilder, words: int) -> None:
    """Receive a tile in one to three pieces."""
    pieces = int(rng.integers(1, 4))
    cuts = sorted({0, words, *rng.integers(0, words + 1, pieces - 1).tolist()})
    for i, (low, high) in enumerate(pairwise(cuts)):
        code.mem1d(f"piece{i}", "x", high - low, offset=low)
        code.fabin(f"x_in{i}", 0, high - low)
        task.op("fmovs", f"piece{i}", f"x_in{i}")


def _receiving(
    rng: np.random.Generator, code: CodeBuilder, size: tuple[int, int], receives: bool
) -> None:
    """Receive each tile on a microthread, whose end starts the work on it."""
    tiles, words = size
    code.fabin("x_in", 0, words)
    fetch = code.task("fetch", entry=True)
    fetch.start("fmovs", "all_x", "x_in", activate="work")
    if rng.integers(2):
        _wait(rng, code, fetch)
    work = code.task("work")
    _compute(rng, work, words)
    _wait(rng, code, work)
    _send(rng, work, receives)
    work.increment("done")
    with work.when_below("done", tiles):
        work.activate("fetch")


def _wait(rng: np.random.Generator, code: CodeBuilder, task: TaskBuilder) -> None:
    name = f"wait{int(rng.integers(1 << 30))}"
    with task.loop(name, int(rng.integers(1, 12))):
        task.op("fmovs", Element("idle"), Ref("all_idle"))


def _compute(rng: np.random.Generator, task: TaskBuilder, words: int) -> None:
    """Fill s from x and v, by some nest of operations on memory."""
    task.op("fmuls", "all_s", "all_x", Element("v"))
    name = f"k{int(rng.integers(1 << 30))}"
    with task.loop(name, words) as k:
        task.op("fmacs", "all_s", "all_s", "all_v", Element("x", k))


def _send(rng: np.random.Generator, task: TaskBuilder, receives: bool) -> None:
    slow: Any = ("fmacs", "out", "all_s", "all_v", 0.25)
    if receives:
        task.op("fadds", "out", "all_s", "in")
    elif rng.integers(2):
        task.op(*slow)
    else:
        task.op("fmovs", "out", "all_s")


def duplex(seed: int) -> Case:
    """One element receives on a microthread while it sends: sometimes both want the datapath."""
    rng = np.random.default_rng(seed)
    b = ProgramBuilder("duplex", 1, 1)
    x, y = b.color("x"), b.color("y")
    code = b.code("main")
    received, sent = (int(n) for n in rng.integers(1, 30, 2))
    for name, words in (("x", received), ("v", sent)):
        code.buffer(name, "f32", words)
        code.mem1d(f"all_{name}", name, words)
    code.input_queue(0, x)
    code.fabin("in", 0, received)
    code.output_queue(1, y)
    code.fabout("out", 1, sent)
    main = code.task("main", entry=True)
    main.start("fmovs", "all_x", "in", activate="after")
    if rng.integers(2):
        main.set("n", 0)
    if rng.integers(2):
        main.op("fmacs", "out", "all_v", "all_v", 0.5)
    else:
        main.op("fmovs", "out", "all_v")
    code.task("after").op("fnegs", "all_x", "all_x")
    b.place("main", Area(0, 0))
    b.route(x, Area(0, 0), rx="N", tx="R")
    b.route(y, Area(0, 0), rx="R", tx="E")
    pace, start = int(rng.integers(1, 6)), int(rng.integers(0, 40))
    b.edge_input(EdgeInput("x", "N", 0, 1, x, "f32", received, pace, start))
    b.edge_output(EdgeOutput("y", "E", 0, 1, y, "f32", sent))
    data = {"v": values(rng, "f32", (1, 1, sent))}
    return Case(b.build(), data, {}, {"x": values(rng, "f32", (1, received))})


def meeting(seed: int) -> Case:
    """Streams of one color each to the east, over links that they share, from and to anywhere.

    Every element sends first and receives then, in pieces and with waits, so words meet in routers
    at any time; some streams come from the border and some leave there, some go to two elements.
    """
    rng = np.random.default_rng(seed)
    width = int(rng.integers(3, 8))
    b = ProgramBuilder("meeting", 1, width)
    codes = [b.code(f"e{x}") for x in range(width)]
    mains = [code.task("main", entry=True) for code in codes]
    free = list(range(1, width))
    edges: dict[str, Any] = {}
    memory: dict[str, Any] = {}
    for x, code in enumerate(codes):
        code.buffer("idle", "f32", 1)
        code.mem1d("all_idle", "idle", 1)
        b.place(f"e{x}", Area(0, x))
    receives = []
    for x in range(-1, width - 1):
        if rng.random() < 0.2:
            continue
        color, words = b.color(f"c{x + 1}"), int(rng.integers(1, 60))
        ends = sorted({y for y in free if y > x and rng.random() < 0.5})[-2:]
        free = [y for y in free if y not in ends]
        leaves = not ends or rng.random() < 0.2
        for y in range(max(x, 0), width):
            stays = not leaves and y == max(ends)
            if y > x or x < 0:
                tx = ("R" if y in ends else "") + ("" if stays else "E")
                b.route(color, Area(0, y), rx="W", tx=tx)
            else:
                b.route(color, Area(0, y), rx="R", tx="E")
            if stays:
                break
        if leaves:
            b.edge_output(EdgeOutput(f"o{x + 1}", "E", 0, 1, color, "f32", words))
        if x < 0:
            pace, start = int(rng.integers(1, 4)), int(rng.integers(0, 60))
            b.edge_input(EdgeInput("x", "W", 0, 1, color, "f32", words, pace, start))
            edges["x"] = values(rng, "f32", (1, words))
        else:
            memory["v"] = memory.get("v", {}) | {(0, x): values(rng, "f32", (60,))}
            codes[x].buffer("v", "f32", 60)
            codes[x].output_queue(1, color)
            _pieces(rng, codes[x], mains[x], ("out", words))
        receives += [(y, color, words) for y in ends]
    for y, color, words in receives:
        codes[y].buffer("r", "f32", 60)
        codes[y].input_queue(0, color)
        _pieces(rng, codes[y], mains[y], ("in", words))
    return Case(b.build(), memory, {}, edges)


def _pieces(
    rng: np.random.Generator, code: CodeBuilder, task: TaskBuilder, what: tuple[str, int]
) -> None:
    """Send or receive some words in pieces, with waits before them."""
    way, words = what
    cuts = sorted({0, words, *rng.integers(0, words + 1, int(rng.integers(0, 4))).tolist()})
    for i, (low, high) in enumerate(pairwise(cuts)):
        if rng.random() < 0.5:
            _wait(rng, code, task)
        name = f"{way}{i}"
        if way == "out":
            code.fabout(name, 1, high - low)
            mine = code.mem1d(f"{name}_v", "v", high - low, offset=low)
            slow: Any = ("fmacs", name, mine, mine, 0.25)
            task.op(*slow) if rng.random() < 0.3 else task.op("fmovs", name, mine)
        else:
            code.fabin(name, 0, high - low)
            task.op("fmovs", code.mem1d(f"{name}_r", "r", high - low, offset=low), name)


def mapping_pair(seed: int) -> Case:
    """Draw two elements: one sends what maps and scalar instructions made, one receives beside."""
    rng = np.random.default_rng(seed)
    words = int(rng.integers(1, 9))
    b = ProgramBuilder("maps", 1, 2)
    b.color("x")
    for column, name in enumerate(("sender", "receiver")):
        code = b.code(name)
        b.place(name, Area(0, column))
        for buffer in ("v", "w", "got"):
            code.buffer(buffer, "f32", words + 3)
            code.mem1d(f"all_{buffer}", buffer, words, offset=int(rng.integers(0, 4)))
            code.mem1d(f"few_{buffer}", buffer, int(rng.integers(1, words + 1)))
        task = code.task("main", entry=True)
        if name == "receiver":
            code.input_queue(2, "x")
            code.fabin("in", 2, words)
            done = code.task("done")
            task.start("fmovs", "all_got", "in", activate="done")
            _scalars(rng, code, task, ("v", "w"))
            _scalars(rng, code, done, ("v", "w", "got"))
        else:
            code.output_queue(3, "x")
            code.fabout("out", 3, words)
            _scalars(rng, code, task, ("v", "w", "got"))
            task.op("fmovs", "out", "all_v")
    b.route("x", Area(0, 0), rx="R", tx="E")
    b.route("x", Area(0, 1), rx="W", tx="R")
    data = {n: values(rng, "f32", (1, 2, words + 3)) for n in ("v", "w", "got")}
    return Case(b.build(), data, {})


def _scalars(
    rng: np.random.Generator, code: CodeBuilder, task: TaskBuilder, buffers: tuple[str, ...]
) -> None:
    """Append maps of one to three inputs and scalar instructions, in loops and branches."""
    for part in range(int(rng.integers(1, 4))):
        name = f"turn{part}"
        with task.loop(name, int(rng.integers(1, 4))) as turn:
            if rng.integers(0, 2):
                with task.when_below(name, 2):
                    task.compute(code.element(str(rng.choice(buffers)), turn), "add", "y", 1.5,
                                 dtype="f32")  # fmt: skip
            task.compute("y", "mov", code.element(str(rng.choice(buffers))), dtype="f32")
            size = str(rng.choice(["all", "few"]))
            inputs = [(f"i{n}", Ref(f"{size}_{rng.choice(buffers)}")) for n in range(3)]
            if size == "all":  # else it would leave the buffer
                inputs[0] = ("i0", Ref(f"few_{rng.choice(buffers)}").at(turn))
            inputs = inputs[: int(rng.integers(1, 4))]
            target = Ref(f"{rng.choice(['all', 'few'])}_{rng.choice(buffers)}")
            outputs = [("y", target), None, ("y", code.element(buffers[0]))]
            with task.map(*inputs, output=outputs[int(rng.integers(0, 3))]):
                for _ in range(int(rng.integers(0, 3))):
                    task.compute("y", "mul", "y", str(inputs[-1][0]), dtype="f32")
