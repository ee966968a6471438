"""One issue slot: the main thread and the words of microthreads take turns by priority."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.fast.fast_machine import FastMachine
from tilewright.simulator.isa.dsd import MAIN_PRIORITIES
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area, EdgeInput
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.run.trace import BUSY, RunResult

WSE3 = load_profile("wse3-sdk-sim")
WORDS, TURNS, EXTENT = 1000, 10, 200


def overlapped(priority: str, main: str, words: int = WORDS) -> Program:
    """Return a program that receives words while the main thread does multiply-adds.

    Without priorities it has the defaults, `low` below `medium_low`.
    """
    b = ProgramBuilder("overlapped", 1, 1)
    b.color("x")
    b.route("x", Area(0, 0), rx="N", tx="R")
    b.edge_input(EdgeInput("xs", "N", 0, 1, "x", "f32", words))
    code = b.code("main")
    if main:
        code.main_priority(main)
    code.buffer("received", "f32", words)
    code.mem1d("all_received", "received", words)
    for name in ("y", "a"):
        code.buffer(name, "f32", EXTENT)
        code.mem1d(f"all_{name}", name, EXTENT)
    code.input_queue(2, "x")
    code.fabin("in", 2, words, priority=priority)
    task = code.task("main", entry=True)
    task.start("fmovs", "all_received", "in")
    with task.loop("i", TURNS):
        task.op("fmacs", "all_y", "all_y", "all_a", 2.0)
    b.place("main", Area(0, 0))
    return b.build()


def run(program: Program) -> RunResult:
    """Run a program with zeros at its edge, and record its operations."""
    (edge,) = program.edge_inputs
    return Machine(program, WSE3).run(edges={"xs": np.zeros((1, edge.count))}, timeline=True)


def work_of(result: RunResult) -> list[int]:
    """Return for how many cycles each multiply-add had the datapath or waited for it."""
    found = [e for e in result.trace.timeline if e.operation == "fmacs"]
    return [e.end - e.start - WSE3.memory_completion_cycles for e in found]


def work_end(result: RunResult) -> int:
    """Return the cycle in which the last multiply-add ends."""
    return max(e.end for e in result.trace.timeline if e.operation == "fmacs")


def is_first(priority: str, main: str) -> bool:
    """Return whether a microthread goes before the main thread."""
    order = ("low", "medium", "high")
    return order.index(priority) >= MAIN_PRIORITIES.index(main)


@pytest.mark.parametrize("main", MAIN_PRIORITIES)
@pytest.mark.parametrize("priority", ["low", "medium", "high"])
def test_each_word_takes_a_cycle_of_the_datapath(priority: str, main: str) -> None:
    """10 multiply-adds of 200 elements and 1,000 words: nothing is free, whoever goes first."""
    each = 2 * EXTENT  # both vectors begin in one bank
    alone, result = (run(overlapped(priority, main, words)) for words in (1, WORDS))
    end = work_end(result) - work_end(alone)
    assert work_of(alone) == [each] * TURNS
    if is_first(priority, main):
        assert WORDS - 3 <= end == result.cycles - alone.cycles <= WORDS
    else:
        assert end == 0
        assert alone.cycles + WORDS - 10 <= result.cycles <= alone.cycles + WORDS + 1


def test_all_is_done_in_the_cycles_of_both() -> None:
    result = run(overlapped("high", "medium_low"))
    assert all(busy >= 2 * EXTENT for busy in work_of(result))
    busy = result.trace.element_cycles[0, 0, BUSY]
    assert int(busy) >= TURNS * 2 * EXTENT + WORDS


@pytest.mark.parametrize("words", [1, 3, 20, 400])
def test_the_fast_engine_agrees(words: int) -> None:
    program = overlapped("", "", words)
    fast = FastMachine(program, WSE3)
    result = fast.run(edges={"xs": np.zeros((1, words))}, timeline=True)
    assert result.result.cycles == run(program).cycles
    assert fast.certificate.granted
