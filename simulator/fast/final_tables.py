"""From times and values to the tables that a run of the reference engine leaves behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.fabric.network import EDGE_OUT, FifoNetwork
from tilewright.simulator.compile.store import StoreLayout, StoreTable
from tilewright.simulator.fast.certificate import ends_of, units_of
from tilewright.simulator.fast.fast_entries import expand, gather, held, tally
from tilewright.simulator.fast.graph import (
    P_LATENCY,
    P_SOURCE,
    P_WORDS,
    THREAD,
    U_KIND,
    X_COMPLETION,
    X_ISSUE,
    Graph,
    Ints,
    Layout,
    Times,
)
from tilewright.simulator.fast.independent_parts import Division
from tilewright.simulator.fast.memory_work import Nest
from tilewright.simulator.fast.script import (
    ADVANCE,
    BEGIN,
    END,
    FABRIC,
    NEST,
    Q_ASYNC,
    Q_GAP,
    Q_SIZE,
    WAIT,
    WORK,
    Script,
)
from tilewright.simulator.fast.value_state import S_BASE, Flow
from tilewright.simulator.run.trace import BUSY, WAIT_INPUT, WAIT_OUTPUT


@dataclass(frozen=True, slots=True)
class Solution:
    """What is known once the times are."""

    network: FifoNetwork
    graph: Graph
    layout: Layout
    scripts: tuple[Script, ...]
    times: Times
    kept: Division
    """The parts that all this is about."""


def end_cycle(solution: Solution, execute: int) -> int:
    """Return the cycle at which the last operation and the last task have ended."""
    times, layout = solution.times, solution.layout
    last = times.last
    threads = last[solution.graph.unit[:, U_KIND] == THREAD]
    ends = [int(threads.max(initial=-1)) + max(1, int(times.header[X_COMPLETION]))]
    for number, script in enumerate(solution.scripts):
        if script.tasks and layout.elements[number].size:
            ends.append(int(main_ends(layout, times, number, script).max()) + execute)
    return max(ends) if threads.size or len(ends) > 1 else 0


def last_arrival(solution: Solution) -> int:
    """Return the cycle of the last word at any edge output, -1 without one."""
    sinks = np.flatnonzero(solution.kept.fifos & (solution.network.kind == EDGE_OUT))
    port = solution.graph.port[sinks]
    last = ends_of(solution.graph, port[:, P_SOURCE])[1]
    return int((solution.times.last[last] + port[:, P_LATENCY]).max(initial=-1))


def arrivals(solution: Solution) -> dict[int, Ints]:
    """Return the cycles at which words arrive at each FIFO of an edge output."""
    graph, times = solution.graph, solution.times
    found = {}
    room = int(times.pieces.sum()) + 1
    work = np.empty((room, 3), dtype=np.int64)
    sinks = solution.kept.fifos & (solution.network.kind == EDGE_OUT)
    for fifo in np.flatnonzero(sinks).tolist():
        source, latency = graph.port[fifo, P_SOURCE], graph.port[fifo, P_LATENCY]
        words = graph.port[fifo, P_WORDS]
        n = gather(graph, times, work, (source, 0, words, latency), 1)
        found[fifo] = np.empty(words, dtype=np.int64)
        expand(work, n, found[fifo])
    return found


def fill_store(
    solution: Solution, parts: StoreLayout, flow: Flow, came: dict[int, Ints], cycles: int
) -> None:
    """Write the final state of queues, edge outputs and elements into the store."""
    store, graph = flow.store, solution.graph
    fifo = parts.fifo.view(store)
    sinks = solution.kept.fifos & (solution.network.kind == EDGE_OUT)
    passing = solution.kept.fifos & ~sinks
    fifo[passing, at.F_POPS] = graph.port[passing, P_WORDS]
    fifo[passing, at.F_COUNT] = 0
    fifo[sinks, at.F_COUNT] = fifo[sinks, at.F_CAP]
    # routers of a color that has control wavelets elsewhere count what they send in their ways
    chosen = np.flatnonzero(passing & (fifo[:, at.F_WAY] >= 0))
    sent = parts.way.view(store)[:, at.W_SENT : at.W_SENT + 5]
    sent[solution.network.fifo[chosen, at.F_WAY]] = graph.port[chosen, P_WORDS, None]
    for number, times in came.items():
        first = flow.stream[solution.layout.root[number], S_BASE]
        ring = int(fifo[number, at.F_RING])
        entries = store[ring : ring + 2 * times.size].reshape(-1, 2)
        entries[:, 0] = times
        entries[:, 1] = flow.data[first : first + times.size]
    element = parts.element.view(store)
    tables = (graph, solution.layout)
    states = element[:, at.E_CYCLES : at.E_CYCLES + 4]
    element_cycles(tables, solution.times, solution.scripts, cycles, states)
    mine = solution.kept.elements
    element[mine, at.E_SINCE], element[mine, at.E_CYCLE_STATE] = cycles, 0
    element[mine, at.E_ACTIVE] = 0
    for places, script in zip(solution.layout.elements, solution.scripts, strict=True):
        runs = element[places, at.E_RUNS][:, None] + np.arange(len(script.walk.runs))
        store[runs] = np.array(script.walk.runs, dtype=np.int64)


def events(
    solution: Solution,
    home: StoreTable,
    store: at.Table,
    scripts: Mapping[int, Script],
    chosen: Ints,
) -> Ints:
    """Return the timeline's rows of the chosen elements; `scripts` name every operation.

    home: the elements of the store.
    """
    found = [np.zeros((0, at.V_WIDTH), dtype=np.int64)]
    for number, script in scripts.items():
        which = np.flatnonzero(np.isin(solution.layout.elements[number], chosen))
        addresses = home.address(solution.layout.elements[number][which])
        part = script, which, addresses
        found.extend(_CodeEvents(solution, store, number, part).rows())
    return np.concatenate(found)


class _CodeEvents:
    """Replays the script of one code for some of its elements."""

    def __init__(
        self, solution: Solution, store: at.Table, number: int, part: tuple[Script, Ints, Ints]
    ) -> None:
        self.solution = solution
        self.store = store
        self.number = number
        self.script, self.which, self.address = part
        self.now = np.zeros(self.which.size, dtype=np.int64)
        self.begun = self.now
        self.last = solution.times.last

    def rows(self) -> list[Ints]:
        """Return blocks of rows, one per operation and task."""
        found = []
        completion = int(self.solution.times.header[X_COMPLETION])
        for event, value, cycles in self.script.walk.events:
            if event == ADVANCE:
                self.now = self.now + value
            elif event == WAIT:
                self.now = np.maximum(self.now, self.last[self._units(value)] + completion)
            elif event == BEGIN:
                self.begun = self.now
            elif event == END:
                found.append(self._row(-1 - value, self.begun, self.now))
            elif event == WORK:
                after = self.now + cycles
                found.append(
                    self._row(value, self.now, after + int(self.store[at.K_MEMORY_COMPLETION]))
                )
                self.now = after
            elif event == FABRIC:
                found.append(self._fabric(value, cycles, completion))
            elif event == NEST:
                found.append(self._nest(self.script.walk.nests[value]))
                self.now = self.now + cycles
        return found

    def _fabric(self, k: int, row: int, completion: int) -> Ints:
        times, op, units = self.solution.times, self.script.walk.ops[k], self._units(k)
        start, last = times.start[units], self.last[units]
        self.now = start + times.header[X_ISSUE] if op.asynchronous else last + op.gap
        return self._row(row, start, last + max(1, completion))

    def _nest(self, nest: Nest) -> Ints:
        block = np.zeros((self.now.size, nest.row.size, at.V_WIDTH), dtype=np.int64)
        block[:, :, at.V_ELEMENT], block[:, :, at.V_ROW] = self.address[:, None], nest.row
        block[:, :, at.V_THREAD] = self.store[nest.row + at.O_THREAD]
        block[:, :, at.V_START] = self.now[:, None] + nest.start
        completion = int(self.store[at.K_MEMORY_COMPLETION])
        block[:, :, at.V_END] = self.now[:, None] + nest.end + completion
        return block.reshape(-1, at.V_WIDTH)

    def _units(self, k: int) -> Ints:
        return units_of(self.solution.layout, self.number, self.script, k)[self.which]

    def _row(self, row: int, start: Ints, end: Ints) -> Ints:
        block = np.empty((self.now.size, at.V_WIDTH), dtype=np.int64)
        block[:, at.V_ELEMENT], block[:, at.V_ROW] = self.address, row
        block[:, at.V_THREAD] = self.store[row + at.O_THREAD] if row >= 0 else 0
        block[:, at.V_START], block[:, at.V_END] = start, end
        return block


Marks = npt.NDArray[np.uint8]
MARK_BUSY, MARK_INPUT, MARK_OUTPUT = 4, 1, 2
"""Bits of a cycle."""


class Tally(NamedTuple):
    """Elements whose cycles are counted."""

    first: Ints
    """The first unit of each."""
    marks: Marks
    """Room for one of them."""
    counts: Ints
    """(elements, 8) cycles of each combination of marks."""


def main_ends(layout: Layout, times: Times, number: int, script: Script) -> Ints:
    """Return the cycle at which the main thread of each of a code's elements has ended."""
    last = times.last
    now = np.zeros(layout.elements[number].size, dtype=np.int64)
    for event, value, _ in script.ending:
        if event == ADVANCE:
            now += value
        elif event == WAIT:
            done = last[units_of(layout, number, script, value)]
            now = np.maximum(now, done + times.header[X_COMPLETION])
        elif event == FABRIC:
            units, op = units_of(layout, number, script, value), script.tables.op[value]
            now = times.start[units] + times.header[X_ISSUE]
            if not op[Q_ASYNC]:
                now = last[units] + op[Q_GAP]
    return now


def element_cycles(
    tables: tuple[Graph, Layout], times: Times, scripts: Sequence[Script], cycles: int, found: Ints
) -> None:
    """Write the cycles per state to (elements, 4)."""
    graph, layout = tables
    for number, script in enumerate(scripts):
        mine = layout.elements[number]
        if script.overlaps:
            events = np.array(script.walk.events, dtype=np.int64)
            first = layout.first[number] + script.size * np.arange(mine.size, dtype=np.int64)
            counts = np.zeros((mine.size, 8), dtype=np.int64)
            tally(graph, times, events, Tally(first, np.zeros(cycles, dtype=np.uint8), counts))
            found[mine] = _states(counts)
        else:
            found[mine] = _in_turn(tables, times, (number, script), cycles)


def _states(counts: Ints) -> Ints:
    """Return the cycles per state from those per combination of marks."""
    found = np.empty((counts.shape[0], 4), dtype=np.int64)
    found[:, 0], found[:, WAIT_INPUT] = counts[:, 0], counts[:, MARK_INPUT]
    found[:, WAIT_OUTPUT] = counts[:, MARK_OUTPUT:MARK_BUSY].sum(axis=1)
    found[:, BUSY] = counts[:, MARK_BUSY:].sum(axis=1)
    return found


def _in_turn(
    tables: tuple[Graph, Layout], times: Times, which: tuple[int, Script], cycles: int
) -> Ints:
    """Account elements without microthreads: they are busy unless their operation waits."""
    graph, layout = tables
    number, script = which
    end = main_ends(layout, times, number, script)
    units = layout.first[number] + np.arange(end.size * script.size).reshape(end.size, script.size)
    op = script.tables.op
    waited = times.last[units] - times.start[units] - op[:, Q_GAP] * (op[:, Q_SIZE] - 1)
    full = np.zeros(units.size, dtype=np.int64)
    waiting = np.flatnonzero(waited > 0)
    full[waiting] = _held(graph, times, units.ravel()[waiting])
    found = np.zeros((end.size, 4), dtype=np.int64)
    found[:, WAIT_OUTPUT] = full.reshape(units.shape).sum(axis=1)
    found[:, WAIT_INPUT] = waited.sum(axis=1) - found[:, WAIT_OUTPUT]
    found[:, BUSY] = end - found.sum(axis=1)
    found[:, 0] = cycles - end
    return found


def _held(graph: Graph, times: Times, units: Ints) -> Ints:
    """Return for how many cycles each of some units waits for space."""
    found = np.zeros_like(units)
    held(graph, times, units, found)
    return found
