"""Priorities of microthreads against each other and the main thread; ids by generation."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.isa.dsd import MAIN_PRIORITIES, Register
from tilewright.simulator.isa.machine_errors import MachineError, ProgramError
from tilewright.simulator.profiles.profile import Profile, load_profile
from tilewright.simulator.program.routes import Area, EdgeInput, EdgeOutput
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.run.trace import RunResult

WSE3 = load_profile("wse3-sdk-sim")
WSE2 = load_profile("wse2-sdk-sim")
WORDS = 40


def streams(count: int) -> tuple[ProgramBuilder, CodeBuilder]:
    """Return one element with streams x0, x1, ... from the north, in queues 2, 3, ...

    All of their words wait outside from cycle 0 on; the element takes one word per cycle.
    """
    b = ProgramBuilder("streams", 1, 1)
    code = b.code("main")
    for i in range(count):
        color = b.color(f"x{i}")
        code.buffer(f"v{i}", "u32", WORDS)
        code.mem1d(f"all{i}", f"v{i}", WORDS)
        side = "NESW"[i]
        b.route(color, Area(0, 0), rx=side, tx="R")
        b.edge_input(EdgeInput(f"e{i}", side, 0, 1, color, "u32", WORDS))
    b.place("main", Area(0, 0))
    return b, code


def both(receive: str | None, send: str, profile: Profile, main: str = "medium_low") -> list[int]:
    """Return the ends of a receive and a send, which share the datapath and nothing else.

    The receive runs on the main thread when its priority is None.
    """
    b, code = streams(1)
    color = b.color("y")
    b.route(color, Area(0, 0), rx="R", tx="E")
    b.edge_output(EdgeOutput("out", "E", 0, 1, color, "u32", WORDS))
    code.main_priority(main)
    code.buffer("w", "u32", WORDS)
    code.mem1d("all_w", "w", WORDS)
    code.input_queue(2, "x0")
    code.output_queue(3, color)
    on_dsd = profile.priority_on_descriptors
    code.fabin("in", 2, WORDS, priority=(receive or "") if on_dsd else "")
    code.fabout("out", 3, WORDS, priority=send if on_dsd else "")
    task = code.task("main", entry=True)
    task.start("mov32", "out", "all_w", label="send", priority="" if on_dsd else send)
    if receive is None:
        task.op("mov32", "all0", "in", label="receive")
    else:
        given = "" if on_dsd else receive
        task.start("mov32", "all0", "in", label="receive", priority=given)
    return ends(b, profile)


def ends(b: ProgramBuilder, profile: Profile) -> list[int]:
    found = run(b, profile)
    times = {entry.label: entry.end for entry in found.trace.timeline if entry.label}
    return [times[label] for label in sorted(times)]


def run(b: ProgramBuilder, profile: Profile) -> RunResult:
    program = b.build()
    data = {p.name: np.arange(p.count, dtype=np.uint32)[None] for p in program.edge_inputs}
    found = Machine(program, profile).run(edges=data, timeline=True)
    for shuffle in (1, 2):
        again = Machine(program, profile).run(edges=data, timeline=True, shuffle=shuffle)
        assert again.trace.timeline == found.trace.timeline
    for i, _ in enumerate(program.edge_inputs):
        assert found.memory[f"v{i}"].ravel().tolist() == list(range(WORDS))
    return found


LEVELS = ["low", "medium", "high"]


@pytest.mark.row("000.45", "000.94")
@pytest.mark.parametrize("profile", [WSE2, WSE3], ids=lambda p: p.name)
@pytest.mark.parametrize("receive", LEVELS)
@pytest.mark.parametrize("send", LEVELS)
def test_the_higher_one_goes_first(profile: Profile, receive: str, send: str) -> None:
    received, sent = both(receive, send, profile, "high")  # so that both are issued first
    total = max(both("low", "low", profile, "high"))
    assert abs(max(received, sent) - total) <= 4  # no cycle is lost
    if receive == send:
        assert abs(received - sent) < WORDS // 4  # in turns
    else:
        first, last = sorted((received, sent))
        assert first <= last - WORDS * 3 // 4
        assert (received < sent) == (LEVELS.index(receive) > LEVELS.index(send))


@pytest.mark.row("000.95")
@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("send", LEVELS)
def test_the_main_threads_place(place: int, send: str) -> None:
    received, sent = both(None, send, WSE3, MAIN_PRIORITIES[place])
    assert (received < sent) == (LEVELS.index(send) < place)
    assert abs(received - sent) >= WORDS * 3 // 4


def test_threads_of_one_priority_take_turns_below_a_higher_one() -> None:
    """A high stream of one word in two cycles leaves every other cycle to two low ones."""
    b, code = streams(2)
    b._edge_inputs[0] = EdgeInput("e0", "N", 0, 1, "x0", "u32", WORDS, interval=2)
    task = code.task("main", entry=True)
    code.buffer("w", "u32", WORDS)
    code.mem1d("all_w", "w", WORDS)
    color = b.color("y")
    b.route(color, Area(0, 0), rx="R", tx="E")
    b.edge_output(EdgeOutput("out", "E", 0, 1, color, "u32", WORDS))
    code.output_queue(4, color)
    code.fabout("out", 4, WORDS)
    for i, priority in enumerate(["high", "low"]):
        code.input_queue(2 + i, f"x{i}")
        code.fabin(f"in{i}", 2 + i, WORDS, priority=priority)
        task.start("mov32", f"all{i}", f"in{i}", label=str(i))
    task.start("mov32", "out", "all_w", label="2")
    high, one, other = ends(b, WSE3)
    assert high < one
    assert abs(one - other) < WORDS // 4


@pytest.mark.row("000.94")
@pytest.mark.parametrize("priority", ["", "medium", "high"])
def test_the_default_is_low_and_a_queue_may_say_more_on_wse2(priority: str) -> None:
    b, code = streams(1)
    color = b.color("y")
    b.route(color, Area(0, 0), rx="R", tx="E")
    b.edge_output(EdgeOutput("out", "E", 0, 1, color, "u32", WORDS))
    code.buffer("sent", "u32", WORDS)
    code.mem1d("w", "sent", WORDS)
    code.input_queue(2, "x0", priority)
    code.output_queue(3, color)
    code.fabin("in", 2, WORDS)
    code.fabout("out", 3, WORDS)
    task = code.task("main", entry=True)
    task.start("mov32", "out", "w", label="send")
    task.start("mov32", "all0", "in", label="receive")
    received, sent = ends(b, WSE2)
    assert (received < sent - WORDS // 4) == bool(priority)


REFUSED = [
    (
        WSE3,
        "operation",
        "code main, task main, @mov32: wse3-sdk-sim gives priorities to descriptors",
    ),
    (WSE2, "DSD", "code main, DSD in: wse2-sdk-sim gives priorities to operations and queues"),
    (WSE3, "unknown", "code main, DSD in: unknown priority"),
    (WSE3, "main", "code main: unknown priority"),
    (WSE3, "output", "code main, queue 4: an output queue has no priority"),
    (
        WSE2,
        "synchronous",
        "code main, task main, @mov32: a synchronous operation has the main thread's priority",
    ),
]


@pytest.mark.row("000.94")
@pytest.mark.parametrize(("profile", "kind", "text"), REFUSED, ids=[kind for _, kind, _ in REFUSED])
def test_priorities_in_the_wrong_place(profile: Profile, kind: str, text: str) -> None:
    b, code = streams(1)
    code.input_queue(2, "x0")
    code.fabin("in", 2, WORDS, priority={"DSD": "high", "unknown": "urgent"}.get(kind, ""))
    task = code.task("main", entry=True)
    task.start("mov32", "all0", "in", priority="high" if kind == "operation" else "")
    if kind == "main":
        code.main_priority("highest")
    program = b.build()
    if kind in ("output", "synchronous"):
        from dataclasses import replace

        from tilewright.simulator.program.instruction import DsdOperation
        from tilewright.simulator.program.program import Queue

        (old,) = program.codes
        (body,) = old.tasks[0].body
        assert isinstance(body, DsdOperation)
        task_made = replace(old.tasks[0], body=(replace(body, asynchronous=False, priority="low"),))
        changed = (
            replace(old, output_queues=(Queue(4, "x0", "low"),))
            if kind == "output"
            else replace(old, tasks=(task_made,))
        )
        program = replace(program, codes=(changed,))
    with pytest.raises(ProgramError) as caught:
        Machine(program, profile)
    assert str(caught.value).splitlines()[0] == text


def threads(b: ProgramBuilder, profile: Profile) -> list[str]:
    return [e.thread for e in run(b, profile).trace.timeline if e.operation != "task"]


@pytest.mark.row("000.93", "000.108")
def test_ids_of_microthreads_by_generation() -> None:
    """The queue's id; on WSE-3 also any other, of the operation or of a register's load."""
    b, code = streams(1)
    code.input_queue(2, "x0")
    code.fabin("in", 2, WORDS)
    task = code.task("main", entry=True)
    task.start("mov32", "all0", "in")
    assert threads(b, WSE2) == threads(b, WSE3) == ["ut2"]
    for number in range(8):
        b, code = streams(1)
        code.input_queue(2, "x0")
        code.fabin("in", 2, WORDS)
        code.task("main", entry=True).start("mov32", "all0", "in", microthread=number)
        assert threads(b, WSE3) == [f"ut{number}"]
        with pytest.raises(ProgramError, match="names the microthread by the queue"):
            Machine(b.build(), WSE2)


def test_the_load_of_a_register_names_the_microthread() -> None:
    b, code = streams(1)
    code.input_queue(2, "x0")
    code.fabin("in", 2, WORDS)
    held = Register("src1", 3)
    code.load(held, "in", asynchronous=True, microthread=6)
    code.task("main", entry=True).start("mov32", "all0", held)
    assert threads(b, WSE3) == ["ut6"]


def test_of_several_loads_the_destination_names_it() -> None:
    b, code = streams(1)
    color = b.color("y")
    b.route(color, Area(0, 0), rx="R", tx="R")
    code.buffer("back", "u32", WORDS)
    code.mem1d("all_back", "back", WORDS)
    code.input_queue(2, "x0")
    code.input_queue(3, color)
    code.output_queue(4, color)
    code.fabin("in", 2, WORDS)
    code.fabin("again", 3, WORDS)
    code.fabout("out", 4, WORDS)
    code.load(Register("src1", 3), "in", asynchronous=True, microthread=6)
    code.load(Register("dest", 1), "out", asynchronous=True, microthread=5)
    task = code.task("main", entry=True)
    task.start("mov32", Register("dest", 1), Register("src1", 3))
    task.start("mov32", "all0", "again")
    b.build()
    found = run(b, WSE3)
    assert {e.thread for e in found.trace.timeline if e.operation != "task"} == {"ut5", "ut3"}


@pytest.mark.row("000.89")
def test_two_operations_on_one_microthread_are_an_error() -> None:
    b, code = streams(2)
    task = code.task("main", entry=True)
    for i in range(2):
        code.input_queue(2 + i, f"x{i}")
        code.fabin(f"in{i}", 2 + i, WORDS)
        task.start("mov32", f"all{i}", f"in{i}", microthread=5, label=str(i))
    with pytest.raises(MachineError, match=r"its microthread is in use by .* \(0\)"):
        run(b, WSE3)
