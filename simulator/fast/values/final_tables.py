"""The final tables of a run: from times and values to what the reference engine leaves in a store.

An element's cycles are accounted as the reference engine accounts them: it is busy while its main
thread or a microthread is busy; else it waits for output, waits for input, or is idle.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.store_layout import StoreLayout, StoreTable
from tilewright.simulator.fast.fast_entries import count_marks, output_waits
from tilewright.simulator.fast.proofs.certificate import units_of
from tilewright.simulator.fast.times.timed_program import TimedProgram, main_ends
from tilewright.simulator.fast.units.graph import (
    P_WORDS,
    X_COMPLETION,
    X_ISSUE,
    Ints,
    Times,
    UnitGraph,
)
from tilewright.simulator.fast.values.value_state import S_BASE, ValueState
from tilewright.simulator.fast.walk.memory_loops import LoopRuns
from tilewright.simulator.fast.walk.memory_work import free_cycles
from tilewright.simulator.fast.walk.script import (
    ADVANCE,
    BEGIN,
    END,
    FABRIC,
    MAP,
    NEST,
    PAUSE,
    Q_GAP,
    Q_SIZE,
    STALL,
    WAIT,
    WORK,
    Script,
)
from tilewright.simulator.run.trace import BUSY, IDLE, WAIT_INPUT, WAIT_OUTPUT

Bools = npt.NDArray[np.bool_]


def fill_store(
    timed: TimedProgram,
    parts: StoreLayout,
    state: ValueState,
    arrived: dict[int, Ints],
    cycles: int,
) -> None:
    """Write into the store what the reference engine would leave there at the end of a run.

    store: the engine's int64 array (`state.store`). Only parts that the fast engine covers are
    written: counts of queues, words at edge outputs, cycles and counts of elements. parts: where
    each table is in the store; arrived: the cycles of the words at each FIFO of an edge output;
    state: the words of all streams; cycles: those of the run.
    """
    store, graph = state.store, timed.graph
    fifo = parts.fifo.view(store)
    sinks = timed.edge_outputs
    passing = timed.division.fifos & ~sinks
    fifo[passing, at.F_POPS] = graph.port[passing, P_WORDS]
    fifo[passing, at.F_COUNT] = 0
    fifo[sinks, at.F_COUNT] = fifo[sinks, at.F_CAP]
    # routers of a color that has control wavelets elsewhere count what they send in their ways
    chosen = np.flatnonzero(passing & (fifo[:, at.F_WAY] >= 0))
    sent = parts.way.view(store)[:, at.W_SENT : at.W_SENT + 5]
    sent[timed.network.fifo[chosen, at.F_WAY]] = graph.port[chosen, P_WORDS, None]
    filters = timed.layout.filters  # of a filtered router the ramp is the first successor
    sent[timed.network.fifo[filters.router, at.F_WAY], 0] = graph.port[filters.queue, P_WORDS]
    for number, times in arrived.items():
        first = state.stream[timed.layout.root[number], S_BASE]
        ring = int(fifo[number, at.F_RING])
        entries = store[ring : ring + 2 * times.size].reshape(-1, 2)
        entries[:, 0] = times
        entries[:, 1] = state.data[first : first + times.size]
    element = parts.element.view(store)
    element_cycles(timed, cycles, element[:, at.E_CYCLES : at.E_CYCLES + 4])
    granted = timed.division.elements
    element[granted, at.E_SINCE], element[granted, at.E_CYCLE_STATE] = cycles, 0
    element[granted, at.E_ACTIVE] = 0


def events(
    timed: TimedProgram,
    rows: StoreTable,
    store: at.Table,
    scripts: Mapping[int, Script],
    recorded: Ints,
) -> Ints:
    """Return the timeline of chosen elements: (events, V_WIDTH).

    Columns: address of the element, row, thread, start, end, stalled cycles. An event is an
    operation (row: its address in the store) or a task (row: -1 - number of the task). Start and
    end are cycles; only operations on memory alone stall. rows: the table of elements in the store;
    scripts: by code, what its elements do in order, with an event for each operation; recorded:
    numbers of the elements.
    """
    blocks = [np.zeros((0, at.V_WIDTH), dtype=np.int64)]
    for number, script in scripts.items():
        members = np.flatnonzero(np.isin(timed.layout.elements[number], recorded))
        addresses = rows.address(timed.layout.elements[number][members])
        code = _RecordedCode(number, script, members, addresses)
        blocks.extend(_CodeEvents(timed, store, code).rows())
    return np.concatenate(blocks)


class _RecordedCode(NamedTuple):
    """A code and its recorded elements.

    `number`, `script`: of the code; `addresses`: of the elements in the store.
    """

    number: int
    script: Script
    members: Ints
    """Their places among the elements of the code."""
    addresses: Ints


class _CodeEvents:
    """Replay the script of one code for its recorded elements."""

    def __init__(self, timed: TimedProgram, store: at.Table, code: _RecordedCode) -> None:
        self.timed = timed
        self.store = store
        self.code = code
        self.script = code.script
        self.address = code.addresses
        self.now = np.zeros(code.members.size, dtype=np.int64)
        self.begun = self.now
        self.last = timed.times.last

    def rows(self) -> list[Ints]:
        """Return blocks of rows, one per operation and task."""
        blocks = []
        completion = int(self.timed.times.header[X_COMPLETION])
        for event, value, cycles in self.script.walk.events:
            if event in (ADVANCE, PAUSE, WAIT):
                self._pass(event, value)
            elif event == BEGIN:
                self.begun = self.now
            elif event == END:
                blocks.append(self._row(-1 - value, self.begun, self.now))
            elif event == WORK:
                blocks.append(self._work(value, cycles))
            elif event == STALL:  # of the operation before it, which is on registers
                blocks[-1][:, at.V_STALLED] = value
            elif event == FABRIC:
                blocks.append(self._fabric(value, cycles, completion))
            elif event == MAP:
                blocks.append(self._row(value, self.now, self.now + cycles))
            elif event == NEST:
                blocks.append(self._nest(self.script.walk.nests[value]))
                self.now = self.now + cycles
        return blocks

    def _pass(self, event: int, value: int) -> None:
        """Let time pass in all elements of a code.

        value: cycles; for the event WAIT the number of an operation on queues, whose end is waited
        for.
        """
        if event == WAIT:
            completion = int(self.timed.times.header[X_COMPLETION])
            self.now = np.maximum(self.now, self.last[self._units(value)] + completion)
        else:
            self.now = self.now + value

    def _work(self, row: int, cycles: int) -> Ints:
        start, self.now = self.now, self.now + cycles
        block = self._row(row, start, self.now + int(self.store[at.K_MEMORY_COMPLETION]))
        block[:, at.V_STALLED] = cycles - self._free(row)
        return block

    def _fabric(self, k: int, row: int, completion: int) -> Ints:
        times, op, units = self.timed.times, self.script.walk.ops[k], self._units(k)
        start, last = times.start[units], self.last[units]
        self.now = start + times.header[X_ISSUE] if op.asynchronous else last + op.gap
        return self._row(row, start, last + max(1, completion))

    def _nest(self, nest: LoopRuns) -> Ints:
        block = np.zeros((self.now.size, nest.row.size, at.V_WIDTH), dtype=np.int64)
        block[:, :, at.V_ELEMENT], block[:, :, at.V_ROW] = self.address[:, None], nest.row
        block[:, :, at.V_THREAD] = self.store[nest.row + at.O_THREAD]
        block[:, :, at.V_START] = self.now[:, None] + nest.start
        block[:, :, at.V_END] = self.now[:, None] + nest.end
        block[:, :, at.V_STALLED] = nest.stalled
        return block.reshape(-1, at.V_WIDTH)

    def _free(self, row: int) -> int:
        return free_cycles(self.store[row : row + at.O_WIDTH].tolist())

    def _units(self, k: int) -> Ints:
        return units_of(self.timed.layout, self.code.number, self.script, k)[self.code.members]

    def _row(self, row: int, start: Ints, end: Ints) -> Ints:
        block = np.empty((self.now.size, at.V_WIDTH), dtype=np.int64)
        block[:, at.V_ELEMENT], block[:, at.V_ROW] = self.address, row
        block[:, at.V_THREAD] = self.store[row + at.O_THREAD] if row >= 0 else 0
        block[:, at.V_START], block[:, at.V_END] = start, end
        block[:, at.V_STALLED] = 0
        return block


CycleMarks = npt.NDArray[np.uint8]
"""(cycles,): bits of what an element does in each cycle."""
MARK_BUSY, MARK_INPUT, MARK_OUTPUT = 4, 1, 2


class MarkCounts(NamedTuple):
    """Hold the elements of one code whose cycles are counted by what they do.

    `first`: the first unit (run of an operation on queues) of each element. `marks`: working space,
    a byte per cycle. `counts`: (elements, 8) cycles by combination of the marks busy (4), waiting
    for output (2) and for input (1).
    """

    first: Ints
    marks: CycleMarks
    counts: Ints


def element_cycles(timed: TimedProgram, cycles: int, states: Ints) -> None:
    """Write the cycles that each element is idle, busy, waiting for input and waiting for output.

    timed: the program with its times; cycles: those of the run, the sum of each row. states:
    (elements, 4) in this order, changed in the rows of elements that the fast engine covers.
    """
    layout = timed.layout
    for number, script in enumerate(timed.scripts):
        elements = layout.elements[number]
        if script.overlaps:
            events = np.array(script.walk.events, dtype=np.int64)
            first = units_of(layout, number, script, 0)
            counts = np.zeros((elements.size, 8), dtype=np.int64)
            marked = MarkCounts(first, np.zeros(cycles, dtype=np.uint8), counts)
            count_marks(timed.graph, timed.times, events, marked)
            states[elements] = _states(counts)
        else:
            states[elements] = _states_in_turn(timed, number, script, cycles)


def _states(counts: Ints) -> Ints:
    """Return (elements, 4) cycles by state from `counts`: cycles by combination of marks."""
    states = np.empty((counts.shape[0], 4), dtype=np.int64)
    states[:, IDLE], states[:, WAIT_INPUT] = counts[:, 0], counts[:, MARK_INPUT]
    states[:, WAIT_OUTPUT] = counts[:, MARK_OUTPUT:MARK_BUSY].sum(axis=1)
    states[:, BUSY] = counts[:, MARK_BUSY:].sum(axis=1)
    return states


def _states_in_turn(timed: TimedProgram, number: int, script: Script, cycles: int) -> Ints:
    """Return the cycles per state of elements without microthreads.

    They are busy unless their operation waits, and idle between tasks and from their end on.
    """
    layout, times = timed.layout, timed.times
    end = main_ends(layout, times, number, script)
    units = layout.first[number] + np.arange(end.size * script.size).reshape(end.size, script.size)
    op = script.tables.op
    waited = times.last[units] - times.start[units] - op[:, Q_GAP] * (op[:, Q_SIZE] - 1)
    output = np.zeros(units.size, dtype=np.int64)
    waiting = np.flatnonzero(waited > 0)
    output[waiting] = _output_waits(timed.graph, times, units.ravel()[waiting])
    states = np.zeros((end.size, 4), dtype=np.int64)
    states[:, WAIT_OUTPUT] = output.reshape(units.shape).sum(axis=1)
    states[:, WAIT_INPUT] = waited.sum(axis=1) - states[:, WAIT_OUTPUT]
    pauses = sum(value for event, value, _ in script.walk.events if event == PAUSE)
    states[:, BUSY] = end - states.sum(axis=1) - pauses
    states[:, IDLE] = cycles - end + pauses
    return states


def _output_waits(graph: UnitGraph, times: Times, units: Ints) -> Ints:
    """Return for each of some units the cycles in which it waits for space in an output queue."""
    cycles = np.zeros_like(units)
    lists, segments, width = times.work.shape  # due times have a segment more than a unit's times
    work = np.zeros((lists, segments + 1, width), dtype=np.int64)
    output_waits(graph, times._replace(work=work), units, cycles)
    return cycles
