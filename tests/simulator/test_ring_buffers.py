"""FIFOs in memory and circular buffers against slow twins."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.build.task_builder import TaskBuilder
from tilewright.simulator.isa.dsd import Element
from tilewright.simulator.isa.machine_errors import MachineError
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.routes import Area
from tilewright.simulator.run.machine import Machine

WSE3 = load_profile("wse3-sdk-sim")


def single(**fifo: str) -> tuple[ProgramBuilder, CodeBuilder, TaskBuilder]:
    """Return an element with a FIFO of four i16 and vectors of 64, and its main task."""
    b = ProgramBuilder("fifo", 1, 1)
    code = b.code("main")
    code.buffer("store", "i16", 4)
    code.buffer("given", "i16", 64)
    code.buffer("taken", "i16", 64)
    code.buffer("flags", "i16", 32)
    main = code.task("main", entry=True)
    b.place("main", Area(0, 0))
    code.fifo("fifo", "store", **fifo)
    return b, code, main


@pytest.mark.row("000.67", "000.69", "000.71")
@pytest.mark.row("000.65")
@pytest.mark.row("000.63")
@pytest.mark.row("000.59", "000.60", "000.61", "000.72")
@pytest.mark.row("000.62")
@settings(max_examples=20)
@given(st.lists(st.tuples(st.booleans(), st.integers(1, 6)), min_size=1, max_size=12))
def test_pushes_and_pops_equal_a_deque(steps: list[tuple[bool, int]]) -> None:
    """A synchronous operation that meets a full or empty FIFO ends with the result false."""
    b, code, main = single()
    queue: deque[int] = deque()
    given_at = taken_at = 0
    expected, flags = np.zeros(64, dtype=np.int16), []
    for number, (push, words) in enumerate(steps):
        start = given_at if push else taken_at
        if start + words > 60:
            break
        buffer = "given" if push else "taken"
        code.mem1d(f"part{number}", buffer, words, offset=start)
        operands = ("fifo", f"part{number}") if push else (f"part{number}", "fifo")
        main.op("mov16", *operands, result="ok")
        main.compute(code.element("flags", number), "mov", "ok", dtype="i16")
        room = 4 - len(queue) if push else len(queue)
        done = min(words, room)
        flags.append(int(done == words))
        for i in range(done):
            if push:
                queue.append(given_at + i)
            else:
                expected[taken_at + i] = queue.popleft()
        given_at += done if push else 0
        taken_at += 0 if push else done
    memory = {"given": np.arange(64).reshape(1, 1, 64)}
    result = Machine(b.build(), WSE3).run(memory=memory)
    assert result.memory["flags"][0, 0, : len(flags)].tolist() == flags
    assert result.memory["taken"][0, 0].tolist() == expected.tolist()


def test_the_length_becomes_what_is_left() -> None:
    b, code, main = single()
    code.mem1d("two", "given", 2, offset=1)
    code.mem1d("out", "taken", 6)
    main.set_write_length("fifo", 6)
    main.op("mov16", "fifo", 7, result="first")  # four of six
    main.compute(code.element("flags", 0), "mov", "first", dtype="i16")
    main.set_read_length("fifo", 3)
    main.op("mov16", Element("taken"), "fifo", result="popped")  # three of the four sevens
    main.compute(code.element("flags", 1), "mov", "popped", dtype="i16")
    main.op("mov16", "fifo", 9, result="second")  # the length is now 2
    main.compute(code.element("flags", 2), "mov", "second", dtype="i16")
    main.set_read_length("fifo", 9)
    main.op("mov16", Element("taken"), "fifo", result="last")
    main.compute(code.element("flags", 3), "mov", "last", dtype="i16")
    result = Machine(b.build(), WSE3).run()
    assert result.memory["flags"][0, 0, :4].tolist() == [0, 1, 1, 0]
    # three pops complete and write; the nine find three and leave the pointer's value
    assert result.memory["taken"][0, 0, 0] == 7
    assert result.memory["store"][0, 0].tolist() == [9, 9, 7, 7]
    assert result.counts.memory_writes["store"] == 4 + 2


def test_terminate_returns_true() -> None:
    b, code, main = single(empty_action="terminate")
    code.mem1d("out", "taken", 6)
    main.op("mov16", "out", "fifo", result="ok")
    main.compute(code.element("flags"), "mov", "ok", dtype="i16")
    assert Machine(b.build(), WSE3).run().memory["flags"][0, 0, 0] == 1


def test_fault_stops_the_run() -> None:
    b, code, main = single(full_action="fault")
    code.mem1d("in", "given", 6)
    main.op("mov16", "fifo", "in")
    with pytest.raises(MachineError) as caught:
        Machine(b.build(), WSE3).run()
    assert caught.value.what == (
        "cycle 9, element (0, 0), code main, task main, @mov16: a push found the FIFO full, whose "
        "action is fault"
    )


def test_tasks_wake_on_push_and_pop_after_events_only() -> None:
    """Without an empty (full) event a push (pop) activates nothing."""
    b, code, main = single(activate_push="pushed", activate_pop="popped")
    code.mem1d("two", "given", 2)
    code.mem1d("four", "given", 4)
    code.mem1d("to", "taken", 2)
    for name, slot in (("pushed", 0), ("popped", 1)):
        task = code.task(name)
        task.compute(name, "add", name, 1, dtype="i16")
        task.compute(code.element("flags", slot), "mov", name, dtype="i16")
    main.op("mov16", "fifo", "two")  # no event before: pushes wake nobody
    main.op("mov16", "to", "fifo")
    main.op("mov16", "to", "fifo")  # empty event
    main.activate("second")
    second = code.task("second")
    second.op("mov16", "fifo", "four")  # wakes `pushed`, once
    second.op("mov16", "fifo", "two")  # full event
    second.activate("third")
    third = code.task("third")
    third.op("mov16", "to", "fifo")  # wakes `popped`, once
    result = Machine(b.build(), WSE3).run()
    assert result.memory["flags"][0, 0, :2].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("extent", "wraparound", "expected"),
    [(20, None, [*range(10), *range(10)]), (20, 5, [*range(5)] * 4), (3, 5, [0, 1, 2])],
)
def test_circular_buffers_of_the_documentation(
    extent: int, wraparound: int | None, expected: list[int]
) -> None:
    b = ProgramBuilder("circular", 1, 1)
    code = b.code("main")
    code.buffer("ring", "i32", 10)
    code.buffer("out", "i32", extent)
    code.circbuf("around", "ring", extent, wraparound)
    code.mem1d("all", "out", extent)
    code.task("main", entry=True).op("mov32", "all", "around")
    b.place("main", Area(0, 0))
    memory = {"ring": np.arange(10).reshape(1, 1, 10)}
    result = Machine(b.build(), WSE3).run(memory=memory)
    assert result.memory["out"].ravel().tolist() == expected
    assert result.counts.memory_reads == {"ring": extent}
