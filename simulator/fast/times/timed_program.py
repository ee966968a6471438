"""A program with the times of its units, and what follows from times without values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile.fabric.exit_times import exit_cycles, slow_places
from tilewright.simulator.compile.fabric.network import EDGE_OUT, FifoNetwork
from tilewright.simulator.fast.fast_entries import expand, gather
from tilewright.simulator.fast.independent_parts import Division
from tilewright.simulator.fast.proofs.certificate import ends_of, units_of
from tilewright.simulator.fast.units.graph import (
    P_LATENCY,
    P_SOURCE,
    P_WORDS,
    THREAD,
    U_KIND,
    X_COMPLETION,
    X_ISSUE,
    Ints,
    Times,
    UnitGraph,
    UnitLayout,
    WordSpan,
)
from tilewright.simulator.fast.walk.script import (
    ADVANCE,
    FABRIC,
    PAUSE,
    Q_ASYNC,
    Q_GAP,
    WAIT,
    Script,
)

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class TimedProgram:
    """Hold a program with the times of the parts that the fast engine covers.

    - `network`: queues, router buffers and edge ports as FIFOs.
    - `graph`: units (runs of operations on queues, and messages) with their channels.
    - `layout`: which units belong to which code and element.
    - `scripts`: per code the runs of operations of an element, in order.
    - `times`: cycles of each unit's words.
    - `division`: which parts are covered.
    """

    network: FifoNetwork
    graph: UnitGraph
    layout: UnitLayout
    scripts: tuple[Script, ...]
    times: Times
    division: Division

    @property
    def edge_outputs(self) -> Bools:
        """The FIFOs that are edge outputs of covered parts: (FIFOs,) mask."""
        return np.asarray(self.division.fifos & (self.network.kind == EDGE_OUT))


def end_cycle(timed: TimedProgram, execute: int) -> int:
    """Return the cycle at which the last operation and the last task of the program have ended.

    execute: cycles from the dispatch of a task's last instruction to the task's end.
    """
    times, layout = timed.times, timed.layout
    last = times.last
    threads = last[timed.graph.unit[:, U_KIND] == THREAD]
    ends = [int(threads.max(initial=-1)) + max(1, int(times.header[X_COMPLETION]))]
    for number, script in enumerate(timed.scripts):
        if script.tasks and layout.elements[number].size:
            ends.append(int(main_ends(layout, times, number, script).max()) + execute)
    return max(ends) if threads.size or len(ends) > 1 else 0


def last_timed_exit(timed: TimedProgram) -> int:
    """Return the cycle in which the last word has left by an edge output, -1 without any.

    Edge outputs are ports at the border of the grid; only parts that the fast engine covers count.
    """
    return int(timed_exits(timed, np.flatnonzero(timed.edge_outputs)).max(initial=-1))


def timed_exits(timed: TimedProgram, sinks: Ints) -> Ints:
    """Return the cycle in which the last word has left by each of some FIFOs of edge outputs."""
    port = timed.graph.port[sinks]
    units = ends_of(timed.graph, port[:, P_SOURCE])[1]
    last = np.asarray(timed.times.last[units] + port[:, P_LATENCY])
    for place, interval in slow_places(timed.network, sinks):
        last[place] = _last_exit(timed, int(sinks[place]), interval)
    return last


def _last_exit(timed: TimedProgram, fifo: int, interval: int) -> int:
    """Return the cycle in which the last word has left by a place that is slow."""
    work = np.empty((int(timed.times.pieces.sum()) + 1, 3), dtype=np.int64)
    return int(exit_cycles(_arrived(timed, fifo, work), interval)[-1])


def arrivals(timed: TimedProgram) -> dict[int, Ints]:
    """Return the cycles in which words arrive at the edge outputs: by FIFO an array (words,).

    Edge outputs are ports at the border of the grid, with one FIFO per position; only parts that
    the fast engine covers are there.
    """
    cycles = {}
    work = np.empty((int(timed.times.pieces.sum()) + 1, 3), dtype=np.int64)
    for fifo in np.flatnonzero(timed.edge_outputs).tolist():
        cycles[fifo] = _arrived(timed, fifo, work)
    return cycles


def _arrived(timed: TimedProgram, fifo: int, work: Ints) -> Ints:
    """Return the cycles in which words arrive at an edge output's FIFO: (words,).

    work: place for as many segments of times as there may be, and one.
    """
    port = timed.graph.port[fifo]
    cycles = np.empty(port[P_WORDS], dtype=np.int64)
    span = WordSpan(port[P_SOURCE], 0, port[P_WORDS], port[P_LATENCY])
    expand(work, gather(timed.graph, timed.times, work, span, 1), cycles)
    return cycles


def main_ends(layout: UnitLayout, times: Times, number: int, script: Script) -> Ints:
    """Return (elements,) the cycle at which the main thread of each element of a code has ended.

    number: of the code; script: its runs of operations on queues, in order.
    """
    last = times.last
    now = np.zeros(layout.elements[number].size, dtype=np.int64)
    for event, value, _ in script.ending:
        if event in (ADVANCE, PAUSE):
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
