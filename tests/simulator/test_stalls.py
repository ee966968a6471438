"""Why an element stalls: each reason alone with the cycles that the profile gives it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.build.task_builder import TaskBuilder
from tilewright.simulator.fast.fast_machine import FastMachine
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area, EdgeInput, EdgeOutput
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.run.trace import (
    ACCUMULATOR,
    BACKPRESSURE,
    BUSY,
    CONFLICT,
    DEPENDENT,
    INTERLOCK,
    STALLS,
    WAVELETS,
    RunResult,
    Trace,
)
from tilewright.simulator.show.heat_map import heat_maps
from tilewright.simulator.show.timeline import perfetto

WSE3 = load_profile("wse3-sdk-sim")
LOAD_USE = WSE3.descriptor_use_cycles - WSE3.descriptor_load_cycles
Work = Callable[[CodeBuilder, TaskBuilder], object]


def alone(work: Work) -> Program:
    """Return one element with vectors a, b, c of 32 f32 at multiples of 8 words."""
    b = ProgramBuilder("alone", 1, 1)
    code = b.code("main")
    for name in "abc":
        code.buffer(name, "f32", 32)
        code.mem1d(f"{name}_all", name, 32)
    code.buffer("d", "f32", 36)
    code.mem1d("apart", "d", 32, offset=2)
    work(code, code.task("go", entry=True))
    b.place("main", Area(0, 0))
    return b.build()


def run(program: Program, **data: object) -> RunResult:
    """Run on both engines, which must agree, and check the account."""
    fast = FastMachine(program, WSE3).run(timeline=True, **data).result  # type: ignore[arg-type]
    result = Machine(program, WSE3).run(timeline=True, **data)  # type: ignore[arg-type]
    assert (fast.trace.stall_cycles == result.trace.stall_cycles).all()
    assert (fast.trace.stalls == result.trace.stalls).all()
    account = result.trace.cycles_by_reason()
    assert list(account) == ["busy", "idle", *STALLS]
    assert sum(account.values()) == result.cycles * result.trace.element_cycles[..., 0].size
    return result


def stalled(trace: Trace, reason: int) -> int:
    return int(trace.stall_cycles[..., reason].sum())


def test_sources_in_one_bank_are_a_read_conflict() -> None:
    met = run(alone(lambda _, task: task.op("fmacs", "a_all", "b_all", "c_all", 2.0)))
    free = run(alone(lambda _, task: task.op("fmacs", "a_all", "b_all", "apart", 2.0)))
    assert stalled(met.trace, CONFLICT) == met.cycles - free.cycles == 32
    assert stalled(free.trace, CONFLICT) == 0
    (conflict,) = [row for row in met.trace.stalls.tolist() if row[2] == CONFLICT]
    assert conflict[4] - conflict[3] == 32


def test_a_sum_waits_for_its_accumulator() -> None:
    def work(code: CodeBuilder, task: TaskBuilder) -> None:
        total = code.element("c", 0)
        task.op("fadds", total, total, "a_all")

    assert stalled(run(alone(work)).trace, ACCUMULATOR) == 32


def test_an_operation_depends_on_its_descriptors() -> None:
    result = run(alone(lambda _, task: [task.op("fmovs", "a_all", "b_all") for _ in range(3)]))
    assert stalled(result.trace, DEPENDENT) == 3 * LOAD_USE > 0
    starts = [entry.start for entry in result.trace.timeline if entry.operation != "task"]
    assert [row[4] for row in result.trace.stalls.tolist()] == starts


def test_scalar_instructions_on_memory_interlock() -> None:
    def work(code: CodeBuilder, task: TaskBuilder) -> None:
        task.compute(code.element("a", 1), "add", code.element("b", 1), 1.0, dtype="f32")

    slow = replace(WSE3, scalar_operand_cycles=3)
    result = Machine(alone(work), slow).run(timeline=True)
    assert stalled(result.trace, INTERLOCK) == 2 * 2


def stream(words: int, send_every: int) -> Program:
    """Return two elements: the west one sends words slowly, or the east one takes them slowly."""
    b = ProgramBuilder("stream", 1, 2)
    color = b.color("x")
    west, east = b.code("west"), b.code("east")
    for code in (west, east):
        code.buffer("v", "f32", words)
        code.mem1d("all", "v", words)
        code.mem1d("one", "v", 1)
    west.output_queue(2, color)
    west.fabout("out", 2, words if send_every == 0 else 1)
    east.input_queue(2, color)
    east.fabin("in", 2, 1 if send_every == 0 else words)
    send, receive = west.task("send", entry=True), east.task("receive", entry=True)
    if send_every == 0:
        send.op("fmovs", "out", "all")
        with receive.loop("k", words):
            receive.op("fmovs", "one", "in")
    else:
        receive.op("fmovs", "all", "in")
        with send.loop("k", words):
            send.op("fmovs", "out", "one")
    b.place("west", Area(0, 0))
    b.place("east", Area(0, 1))
    b.route(color, Area(0, 0), rx="R", tx="E")
    b.route(color, Area(0, 1), rx="W", tx="R")
    return b.build()


@pytest.mark.parametrize(("send_every", "reason"), [(1, WAVELETS), (0, BACKPRESSURE)])
def test_streams_wait_for_words_or_for_space(send_every: int, reason: int) -> None:
    result = run(stream(60, send_every))
    waits = result.trace.stall_cycles[0, 1 if send_every else 0]
    assert waits[reason] > 300
    assert waits[reason] == result.trace.element_cycles[0, 1 if send_every else 0, reason - 2]
    other = BACKPRESSURE if reason == WAVELETS else WAVELETS
    assert waits[other] == 0


def test_pictures_and_the_timeline_show_stalls() -> None:
    result = run(alone(lambda _, task: task.op("fmacs", "a_all", "b_all", "c_all", 2.0)))
    maps = heat_maps(result)
    assert {"stalls dependent", "stalls read conflict"} <= set(maps)
    assert "stalls interlock" not in maps
    events = perfetto(result)["traceEvents"]
    names = [event["name"] for event in events if event.get("cat") == "stall"]
    assert names == ["dependent", "read conflict"]
    busy = result.trace.element_cycles[0, 0, BUSY]
    assert result.trace.cycles_by_reason()["busy"] == busy - LOAD_USE - 32


def test_an_edge_that_gives_late_words() -> None:
    b = ProgramBuilder("late", 1, 1)
    color, away = b.color("x"), b.color("y")
    code = b.code("main")
    code.input_queue(2, color)
    code.output_queue(3, away)
    code.fabin("in", 2, 4)
    code.fabout("out", 3, 4)
    code.task("go", entry=True).op("fmovs", "out", "in")
    b.place("main", Area(0, 0))
    b.route(color, Area(0, 0), rx="W", tx="R")
    b.route(away, Area(0, 0), rx="R", tx="E")
    b.edge_input(EdgeInput("x", "W", 0, 1, color, "f32", 4, interval=10))
    b.edge_output(EdgeOutput("y", "E", 0, 1, away, "f32", 4))
    result = run(b.build(), edges={"x": np.ones((1, 4), np.float32)})
    waits = [row for row in result.trace.stalls.tolist() if row[2] == WAVELETS]
    assert [end - start for *_, start, end in waits] == [9, 9, 9]
