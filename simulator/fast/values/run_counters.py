"""What elements count, and when they wait: counters and waits as the reference engine has them."""

from __future__ import annotations

import numpy as np

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.compiled_program import CompiledProgram
from tilewright.simulator.fast.fast_entries import mark_states
from tilewright.simulator.fast.proofs.certificate import units_of
from tilewright.simulator.fast.times.timed_program import TimedProgram
from tilewright.simulator.fast.units.graph import Ints
from tilewright.simulator.fast.values.final_tables import MARK_BUSY, MARK_INPUT, MARK_OUTPUT
from tilewright.simulator.fast.walk.memory_work import free_cycles
from tilewright.simulator.fast.walk.script import Script
from tilewright.simulator.run.trace import BUSY, IDLE, WAIT_INPUT, WAIT_OUTPUT


def fill_counters(timed: TimedProgram, compiled: CompiledProgram, store: at.Table) -> None:
    """Write the counters of each operation of covered elements into the store.

    For each operation: the number of values that it did, the number of its runs, and the cycles
    that its runs on memory lost to bank conflicts.
    """
    element = compiled.parts.element.view(store)
    table = compiled.parts.operation.view(store)
    for number, (places, script) in enumerate(
        zip(timed.layout.elements, timed.scripts, strict=True)
    ):
        first, count = compiled.layouts[number].first["operation"], len(script.walk.runs)
        counters = _counters(script, table[first : first + count])
        store[element[places, at.E_RUNS][:, None] + np.arange(counters.size)] = counters


def _counters(script: Script, operations: at.Table) -> Ints:
    walk = script.walk
    runs, dispatches, worked = (
        np.array(column, dtype=np.int64) for column in (walk.runs, walk.dispatches, walk.worked)
    )
    stalled = np.array(walk.stalled, dtype=np.int64)
    for number in np.flatnonzero(worked):
        free = free_cycles(operations[number].tolist())
        stalled[number] += worked[number] - dispatches[number] * free
    return np.concatenate([runs, dispatches, stalled])


def wait_events(
    timed: TimedProgram, compiled: CompiledProgram, recorded: Ints, cycles: int
) -> Ints:
    """Return the waits of chosen elements as rows of the timeline, (waits, V_WIDTH).

    recorded: numbers of covered elements; cycles: those of the run.
    """
    blocks = [np.zeros((0, at.V_WIDTH), dtype=np.int64)]
    marks = np.zeros(cycles, dtype=np.uint8)
    for number, script in enumerate(timed.scripts):
        events = np.array(script.walk.events, dtype=np.int64).reshape(-1, 3)
        units = units_of(timed.layout, number, script, 0)
        for place in np.flatnonzero(np.isin(timed.layout.elements[number], recorded)):
            marks[:] = 0
            mark_states(timed.graph, timed.times, events, int(units[place]), marks)
            element = timed.layout.elements[number][place : place + 1]
            blocks.append(_waits(marks, int(compiled.parts.element.address(element)[0])))
    return np.concatenate(blocks)


def _waits(marks: np.typing.NDArray[np.uint8], element: int) -> Ints:
    """Return a row for each stretch of cycles in which an element waits for the same."""
    state = np.full(marks.size, IDLE)
    state[marks & MARK_INPUT > 0] = WAIT_INPUT
    state[marks & MARK_OUTPUT > 0] = WAIT_OUTPUT
    state[marks & MARK_BUSY > 0] = BUSY
    begins = np.flatnonzero(np.diff(state, prepend=-1))
    ends = np.append(begins[1:], marks.size)
    waits = state[begins] >= WAIT_INPUT
    rows = np.zeros((int(waits.sum()), at.V_WIDTH), dtype=np.int64)
    rows[:, at.V_ELEMENT] = element
    rows[:, at.V_ROW] = at.V_WAITS + state[begins][waits]
    rows[:, at.V_START], rows[:, at.V_END] = begins[waits], ends[waits]
    return rows
