"""What travels: control wavelets in operations, indices, transforms, zeroed sources."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.build.task_builder import TaskBuilder
from tilewright.simulator.isa.dsd import Register
from tilewright.simulator.isa.index_expression import variable
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.isa.wavelets import control_wavelet
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.routes import (
    Area,
    CounterFilter,
    EdgeInput,
    EdgeOutput,
    Position,
    RangeFilter,
    Switch,
)
from tilewright.simulator.run.machine import Machine

WSE3 = load_profile("wse3-sdk-sim")
WSE2 = load_profile("wse2-sdk-sim")


def pair(words: int) -> tuple[ProgramBuilder, TaskBuilder, CodeBuilder]:
    """Return two elements: the first's task sends `words` and then a control wavelet (data 77)."""
    b = ProgramBuilder("pair", 1, 2)
    b.color("x")
    send = b.code("send")
    send.buffer("v", "u16", words)
    send.mem1d("all", "v", words)
    send.output_queue(3, "x")
    send.fabout("out", 3, words)
    send.fabout("last", 3, 1, control=True)
    main = send.task("main", entry=True)
    main.op("mov16", "out", "all")
    main.op("mov32", "last", control_wavelet(data=77))
    code = b.code("receive")
    code.buffer("got", "u16", 12)
    code.buffer("flag", "u16", 2)
    code.mem1d("all", "got", 12)
    code.input_queue(2, "x")
    code.fabin("in", 2, 12)
    b.place("send", Area(0, 0))
    b.place("receive", Area(0, 1))
    b.route("x", Area(0, 0), rx="R", tx="E")
    b.route("x", Area(0, 1), rx="W", tx="R")
    return b, main, code


def outcome(b: ProgramBuilder, words: int) -> tuple[list[int], list[int]]:
    v = {(0, 0): np.arange(words) + 5}
    memory = Machine(b.build(), WSE3).run(memory={"v": v}).memory
    return memory["got"][0, 1].tolist(), memory["flag"][0, 1].tolist()


@pytest.mark.parametrize("words", [1, 4, 11])
def test_a_control_wavelet_is_data_for_a_plain_operation(words: int) -> None:
    b, _, code = pair(words)
    code.fabin("exact", 2, words + 1)
    code.mem1d("part", "got", words + 1)
    code.task("main", entry=True).op("mov16", "part", "exact")
    got, _ = outcome(b, words)
    assert got == [*range(5, words + 5), 77, *[0] * (11 - words)]


@pytest.mark.row("000.21", "000.97")
@pytest.mark.row("000.88")
@pytest.mark.parametrize("words", [1, 4, 11])
@pytest.mark.parametrize("action", ["terminate", "activate", "unblock"])
def test_on_control_ends_an_operation(words: int, action: str) -> None:
    """`done` runs by the end of the operation only if that is what terminate leaves to it."""
    b, _, code = pair(words)
    main = code.task("main", entry=True)
    task = None if action == "terminate" else "signal"
    main.start("mov16", "all", "in", activate="done", on_control=(action, task))
    if action == "unblock":
        main.activate("signal")
    done = code.task("done")
    done.compute(code.element("flag", 0), "mov", 1, dtype="u16")
    signal = code.task("signal", blocked=action == "unblock")
    signal.compute(code.element("flag", 1), "mov", 1, dtype="u16")
    got, flags = outcome(b, words)
    assert got == [*range(5, words + 5), *[0] * (12 - words)]
    assert flags == [1, int(action != "terminate")]


def test_the_index_moves_a_memory_descriptor() -> None:
    """An index counts words; a descriptor without the property ignores it."""
    b = ProgramBuilder("index", 1, 1)
    code = b.code("main")
    code.buffer("a", "f32", 8)
    code.buffer("out", "f32", 4)
    code.mem1d("moved", "a", 2, wavelet_index_offset=True)
    code.mem1d("first", "out", 2)
    code.mem1d("second", "out", 2, offset=2)
    main = code.task("main", entry=True)
    main.op("fmovs", "first", "moved", index=6)
    main.set("k", 2)
    main.op("fmovs", "second", "moved", index=variable("k") * 4)
    b.place("main", Area(0, 0))
    memory = {"a": np.arange(8.0).reshape(1, 1, 8)}
    result = Machine(b.build(), WSE3).run(memory=memory)
    assert result.memory["out"].ravel().tolist() == [3, 4, 4, 5]


@pytest.mark.row("000.100")
@pytest.mark.parametrize(("zero", "left"), [("", [1, 1]), ("first", [0, 1]), ("second", [1, 0])])
def test_a_source_is_cleared_when_it_was_sent(zero: str, left: list[int]) -> None:
    b = ProgramBuilder("zero", 1, 1)
    b.color("x")
    code = b.code("main")
    for name in "ab":
        code.buffer(name, "f32", 4)
        code.mem1d(f"{name}_all", name, 4)
    code.output_queue(3, "x")
    code.fabout("out", 3, 4, zero=zero)
    code.task("main", entry=True).op("fadds", "out", "a_all", "b_all")
    b.place("main", Area(0, 0))
    b.route("x", Area(0, 0), rx="R", tx="E")
    b.edge_output(EdgeOutput("y", "E", 0, 1, "x", "f32", 4))
    ones = np.ones((1, 1, 4))
    result = Machine(b.build(), WSE3).run(memory={"a": ones, "b": ones})
    assert (result.edges["y"].values == 2).all()
    assert [int(result.memory[name][0, 0, 3]) for name in "ab"] == left
    assert [int(result.memory[name].sum()) for name in "ab"] == [4 * n for n in left]


def base() -> tuple[ProgramBuilder, CodeBuilder, TaskBuilder]:
    b = ProgramBuilder("base", 1, 1)
    b.color("x")
    b.color("y", 11)
    code = b.code("main")
    code.buffer("a", "i16", 8)
    code.mem1d("all", "a", 8)
    code.mem4d("grid", "a", [(2, 4), (4, 1)])
    code.input_queue(2, "x")
    code.output_queue(3, "x")
    code.fabin("in", 2, 8)
    code.fabout("out", 3, 8)
    b.place("main", Area(0, 0))
    return b, code, code.task("main", entry=True)


def route(b: ProgramBuilder, color: str = "x", **steering: object) -> None:
    b.route(color, Area(0, 0), rx="R", tx="R", **steering)  # type: ignore[arg-type]


def map_over(task: TaskBuilder, dsd: str) -> None:
    with task.map(("x", dsd)):
        pass


Breakage = Callable[[ProgramBuilder, CodeBuilder, TaskBuilder], object]
DEST, SRC0, SRC1 = (Register(file, 1) for file in ("dest", "src0", "src1"))
REFUSALS: list[tuple[str, Breakage]] = [
    (
        "code main, task main, load of dsr_dest 1: a fabin DSD cannot be loaded into dsr_dest",
        lambda b, c, t: t.load(DEST, "in"),
    ),
    (
        "code main, task main, load of dsr_src1 1: a fabout DSD is loaded into dsr_dest only",
        lambda b, c, t: t.load(SRC1, "out"),
    ),
    (
        "code main, task main, load of dsr_src1 1: grid needs an extended register",
        lambda b, c, t: t.load(SRC1, "grid"),
    ),
    (
        "code main, task main, load of dsr_src1 1: a FIFO cannot be loaded into a register",
        lambda b, c, t: (c.fifo("f", "a"), t.load(SRC1, "f")),
    ),
    (
        "code main, task main, load of dsr_src1 1: only a fabric DSD is loaded as asynchronous",
        lambda b, c, t: t.load(SRC1, "all", asynchronous=True),
    ),
    (
        "code main, task main, load of dsr_src1 1: save_address is for memory DSDs",
        lambda b, c, t: t.load(SRC1, "in", save_address=True),
    ),
    (
        "code main, task main, load of dsr_src1 1: at most one of activate and unblock",
        lambda b, c, t: t.load(SRC1, "in", asynchronous=True, activate="main", unblock="main"),
    ),
    (
        "code main: wse3-sdk-sim has no register dsr_src1 16",
        lambda b, c, t: t.load(Register("src1", 16), "all"),
    ),
    (
        "code main, load of dsr_src1 1: wse3-sdk-sim has no extended register 16",
        lambda b, c, t: t.load(SRC1, "grid", xdsr=16),
    ),
    (
        "code main, task main, @mov16: the destination is a register of file dest or src0",
        lambda b, c, t: t.op("mov16", SRC1, "all"),
    ),
    (
        "code main, task main, @mov16: a source is a register of file src0 or src1",
        lambda b, c, t: t.op("mov16", "all", DEST),
    ),
    (
        "code main, task main, @add16: a FIFO may not be the first of several sources",
        lambda b, c, t: (c.fifo("f", "a"), t.op("add16", "out", "f", "all")),
    ),
    (
        "code main, task main, @map: an operand is no descriptor, or a FIFO",
        lambda b, c, t: (c.fifo("f", "a"), map_over(t, "f")),
    ),
    (
        "code main, DSD f: dest, src and xdsr are given together or not at all",
        lambda b, c, t: c.fifo("f", "a", dest=3, src=3),
    ),
    (
        "code main, DSD f: dest and src need the same id",
        lambda b, c, t: c.fifo("f", "a", dest=3, src=4, xdsr=0),
    ),
    (
        "code main, DSD f: no local task of this name",
        lambda b, c, t: c.fifo("f", "a", activate_pop="nobody"),
    ),
    (
        "code main, DSD ring: the wraparound must be less than the 8 elements of buffer a",
        lambda b, c, t: c.circbuf("ring", "a", 20, 8),
    ),
    (
        "code main, task main, @mov16: a descriptor with wavelet_index_offset needs an index",
        lambda b, c, t: (c.mem1d("i", "a", 8, wavelet_index_offset=True), t.op("mov16", "i", 0)),
    ),
    (
        "code main, task main, @mov16: on_control activate needs a task",
        lambda b, c, t: t.start("mov16", "all", "in", on_control=("activate", None)),
    ),
    (
        "code main: input queue 2 is bound to two tasks",
        lambda b, c, t: (c.data_task("p", 2), c.data_task("q", 2)),
    ),
    (
        "code main: entry 4 is bound to two tasks",
        lambda b, c, t: [c.control_task(n, 4) for n in "pq"],
    ),
    (
        "code main, task p: the arguments need more bits than a wavelet gives",
        lambda b, c, t: c.data_task("p", 2, [("x", "f32"), ("i", "u16")]),
    ),
    (
        "route of color x in [0:1, 0:1]: a switch has one to three positions beside the route",
        lambda b, c, t: route(b, switch=Switch(())),
    ),
    (
        "route of color y in [0:1, 0:1]: wse3-sdk-sim has no switches for this color",
        lambda b, c, t: route(b, "y", switch=Switch((Position(tx=("E",)),))),
    ),
    (
        "route of color x in [0:1, 0:1]: no such switch position",
        lambda b, c, t: route(b, switch=Switch((Position(tx=("E",)),), current=2)),
    ),
    (
        "route of color x in [0:1, 0:1]: a range filter needs 0 <= low <= high <= 65535",
        lambda b, c, t: route(b, filter=RangeFilter(5, 4)),
    ),
    (
        "route of color x in [0:1, 0:1]: a filter's counter starts below its limit",
        lambda b, c, t: route(b, filter=CounterFilter(4, 2, start=4)),
    ),
    (
        "code main, task main, and: not for this dtype",
        lambda b, c, t: t.compute("k", "and", "k", 1, dtype="f32"),
    ),
]


@pytest.mark.row("000.02")
@pytest.mark.parametrize(("text", "breakage"), REFUSALS, ids=[text[:60] for text, _ in REFUSALS])
def test_refused(text: str, breakage: Breakage) -> None:
    b, code, task = base()
    breakage(b, code, task)
    with pytest.raises(ProgramError) as caught:
        Machine(b.build(), WSE3)
    assert str(caught.value).splitlines()[0] == text


def test_what_wse2_does_not_have() -> None:
    b, code, _ = base()
    code.fifo("f", "a", full_action="fault")
    with pytest.raises(ProgramError, match="DSD f: wse2-sdk-sim has no full action"):
        Machine(b.build(), WSE2)
    b, _, _ = base()
    route(b, switch=Switch((Position(rx=("W",), tx=("E",)),)))
    with pytest.raises(ProgramError, match="wse2-sdk-sim changes rx or tx, not both"):
        Machine(b.build(), WSE2)


def test_control_wavelets_have_bounds() -> None:
    assert control_wavelet("switch_adv", entry=1, data=3, ignore_ce=True) == (
        (1 | 1 << 6 | 1 << 8) << 16 | 3
    )
    with pytest.raises(ProgramError, match="at most eight commands"):
        control_wavelet(*["nop"] * 9)
    with pytest.raises(ProgramError, match="unknown command"):
        control_wavelet("advance")


def test_dfilt_drops_data_up_to_control_wavelets() -> None:
    """The 4 data wavelets and a control wavelet go, what comes behind is received."""
    b, main, code = pair(4)
    b._codes[0].mem1d("two", "v", 2)
    b._codes[0].fabout("more", 3, 2)
    main.op("mov16", "more", "two")
    code.mem1d("first", "got", 2)
    code.fabin("dropped", 2, 1)
    code.fabin("kept", 2, 2)
    code.task("main", entry=True).start("dfilt", "dropped", activate="after")
    code.task("after").op("mov16", "first", "kept")
    assert outcome(b, 4)[0][:3] == [5, 6, 0]


def test_dfilt_by_a_register() -> None:
    b, _, code = pair(3)
    code.fabin("dropped", 2, 1)
    code.load(SRC1, "dropped", asynchronous=True, activate="after")
    code.task("main", entry=True).op("dfilt", SRC1)
    code.task("after").compute(code.element("flag"), "mov", 1, dtype="u16")
    assert outcome(b, 3)[1] == [1, 0]


DFILT_REFUSALS: list[tuple[str, Breakage]] = [
    (
        "code main, task main, @dfilt: only as an asynchronous operation",
        lambda b, c, t: t.op("dfilt", "in"),
    ),
    (
        "code main, task main, @dfilt: needs a fabin DSD or a register of file src1",
        lambda b, c, t: t.start("dfilt", "out"),
    ),
    (
        "code main, task main, @dfilt: needs a fabin DSD or a register of file src1",
        lambda b, c, t: t.start("dfilt", SRC0),
    ),
    (
        "code main, task main, @dfilt: has no on_control and no index",
        lambda b, c, t: t.start("dfilt", "in", on_control=("terminate", None)),
    ),
]


@pytest.mark.parametrize(("text", "breakage"), DFILT_REFUSALS)
def test_dfilt_refused(text: str, breakage: Breakage) -> None:
    test_refused(text, breakage)


@pytest.mark.parametrize("blocked", [False, True])
def test_a_blocked_data_task_holds_the_control_wavelets_of_its_queue(blocked: bool) -> None:
    """Two control wavelets on two queues: that of the blocked data task's queue waits."""
    b = ProgramBuilder("held", 1, 1)
    code = b.code("main")
    code.buffer("order", "u16", 3)
    for queue, color, port in ((2, "x", "W"), (4, "y", "N")):
        b.color(color)
        code.input_queue(queue, color)
        b.route(color, Area(0, 0), rx=port, tx="R")
        b.edge_input(EdgeInput(color, port, 0, 1, color, "u32", 1, control=True))
    code.data_task("words", 2, [("value", "u16")], blocked=blocked)
    for entry in (1, 2):
        task = code.control_task(f"control{entry}", entry)
        task.increment("n")
        task.compute(code.element("order", entry), "mov", "n", dtype="u16")
    main = code.task("main", entry=True)
    with main.loop("i", 20):
        main.increment("idle")
    main.activate("later")
    code.task("later").unblock("words")
    b.place("main", Area(0, 0))
    edges = {"x": [[control_wavelet(entry=1)]], "y": [[control_wavelet(entry=2)]]}
    result = Machine(b.build(), load_profile("wse3-sdk-sim")).run(edges=edges)
    assert result.memory["order"][0, 0].tolist() == ([0, 2, 1] if blocked else [0, 1, 2])
