"""What an element of a chain does in each cycle, by hand (see test_timed_program.py)."""

import numpy as np

from tilewright.simulator.examples.known_costs import chain_reduce
from tilewright.simulator.fast.fast_entries import count_marks, output_waits
from tilewright.simulator.fast.partition_solve import solve_parts
from tilewright.simulator.fast.times.timed_program import TimedProgram
from tilewright.simulator.fast.values.final_tables import (
    MARK_BUSY,
    MARK_INPUT,
    MARK_OUTPUT,
    MarkCounts,
)
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine

CYCLES = 24
WEST, MIDDLE, EAST = 0, 1, 2


def timed(words: int) -> TimedProgram:
    times, _ = solve_parts(Machine(chain_reduce(3, words), load_profile("wse2-sdk-sim")))
    assert times is not None
    return times


def test_marks_of_each_element() -> None:
    """Dispatch is busy; the first word of the middle comes at 11, of the west at 17; then idle."""
    chain = timed(4)
    for number, unit, waits in ((0, WEST, 12), (2, MIDDLE, 5), (3, EAST, 0)):
        events = np.array(chain.scripts[number].walk.events, dtype=np.int64)
        counts = np.zeros((1, 8), dtype=np.int64)
        marked = MarkCounts(np.array([unit]), np.zeros(CYCLES, dtype=np.uint8), counts)
        count_marks(chain.graph, chain.times, events, marked)
        dispatch = 6 if unit == MIDDLE else 5
        assert counts[0, MARK_BUSY] == dispatch + 4
        assert counts[0, MARK_INPUT] == waits
        assert counts[0, MARK_OUTPUT] == 0
        assert counts[0, 0] == CYCLES - dispatch - 4 - waits


def test_no_unit_of_a_chain_waits_for_space() -> None:
    chain = timed(40)
    waits = np.full(3, -1, dtype=np.int64)
    output_waits(chain.graph, chain.times, np.arange(3), waits)
    assert waits.tolist() == [0, 0, 0]


def test_waits_for_space_of_a_full_channel() -> None:
    """The channel between two elements takes 19 words: two queues and two routers.

    The receiver starts after a loop, long after the sender has filled the channel; the sender's
    last words wait until the receiver has taken words before them.
    """
    from tilewright.simulator.build.program_builder import ProgramBuilder
    from tilewright.simulator.program.routes import Area

    words, turns = 30, 100
    b = ProgramBuilder("late", 1, 2)
    b.color("x")
    send, receive = b.code("send"), b.code("receive")
    for code in (send, receive):
        code.buffer("v", "f32", words)
        code.mem1d("all", "v", words)
    send.output_queue(3, "x")
    send.fabout("out", 3, words)
    send.task("main", entry=True).op("fmovs", "out", "all")
    receive.input_queue(2, "x")
    receive.fabin("in", 2, words)
    task = receive.task("main", entry=True)
    with task.loop("i", turns):
        task.op("fadds", "all", "all", "all")
    task.op("fmovs", "all", "in")
    b.place("send", Area(0, 0))
    b.place("receive", Area(0, 1))
    b.route("x", Area(0, 0), rx="R", tx="E")
    b.route("x", Area(0, 1), rx="W", tx="R")
    machine = Machine(b.build(), load_profile("wse2-sdk-sim"))
    late, _ = solve_parts(machine)
    assert late is not None
    waits = np.zeros(2, dtype=np.int64)
    output_waits(late.graph, late.times, np.arange(2), waits)
    start, last = late.times.start[0], late.times.last[0]
    assert waits.tolist() == [last - start - (words - 1), 0]
    assert waits[0] > turns
