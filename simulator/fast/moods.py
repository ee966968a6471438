"""Where an element's cycles went: busy, waiting for input or output, idle.

As the reference engine accounts them: an element whose main thread is busy, or any of its threads
is, is busy; else it waits for output, for input, or is idle.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tilewright.simulator.fast import graph as at
from tilewright.simulator.fast.checks import units_of
from tilewright.simulator.fast.graph import Graph, Ints, Layout
from tilewright.simulator.fast.jit import inner_kernel, kernel, whole
from tilewright.simulator.fast.script import ADVANCE, FABRIC, WAIT, Script
from tilewright.simulator.fast.segments import M, R, T, append, append_slice, excess
from tilewright.simulator.fast.solve import (
    X_COMPLETION,
    X_ISSUE,
    Times,
    last_time,
    space_credits,
)
from tilewright.simulator.trace import BUSY, WAIT_INPUT, WAIT_OUTPUT

Marks = npt.NDArray[np.uint8]
MARK_BUSY, MARK_INPUT, MARK_OUTPUT = 4, 1, 2


def main_ends(layout: Layout, times: Times, number: int, script: Script) -> Ints:
    """Return the cycle at which the main thread of each of a code's elements has ended."""
    last = times.last
    now = np.zeros(layout.elements[number].size, dtype=np.int64)
    for event, value, _ in script.events:
        if event == ADVANCE:
            now += value
        elif event == WAIT:
            done = last[units_of(layout, number, script, value)]
            now = np.maximum(now, done + times.header[X_COMPLETION])
        elif event == FABRIC:
            op, units = script.ops[value], units_of(layout, number, script, value)
            now = times.start[units] + times.header[X_ISSUE]
            if not op.asynchronous:
                now = last[units] + op.gap
    return now


def element_cycles(
    tables: tuple[Graph, Layout], times: Times, scripts: Sequence[Script], cycles: int, found: Ints
) -> None:
    """Write the cycles per state to (elements, 4)."""
    graph, layout = tables
    for number, script in enumerate(scripts):
        mine = layout.elements[number]
        if script.overlaps:
            events = np.array(script.events, dtype=np.int64)
            for i, element in enumerate(mine.tolist()):
                marks = np.zeros(cycles, dtype=np.uint8)
                paint(graph, times, events, layout.first[number] + i * len(script.ops), marks)
                found[element] = _tally(marks)
        else:
            found[mine] = _in_turn(tables, times, (number, script), cycles)


def _tally(marks: Marks) -> Ints:
    counts = np.bincount(marks, minlength=8)
    busy = int(counts[MARK_BUSY:].sum())
    out = int(counts[MARK_OUTPUT:MARK_BUSY].sum())
    return np.array([counts[0], busy, counts[MARK_INPUT], out], dtype=np.int64)


def _in_turn(
    tables: tuple[Graph, Layout], times: Times, which: tuple[int, Script], cycles: int
) -> Ints:
    """Account elements without microthreads: they are busy unless their operation waits."""
    graph, layout = tables
    number, script = which
    end = main_ends(layout, times, number, script)
    found = np.zeros((end.size, 4), dtype=np.int64)
    last = times.last
    for k, op in enumerate(script.ops):
        units = units_of(layout, number, script, k)
        waited = last[units] - times.start[units] - op.gap * (op.extent - 1)
        out = np.zeros_like(waited)
        held(graph, times, units[waited > 0], out)
        full = np.zeros_like(waited)
        full[waited > 0] = out[: int((waited > 0).sum())]
        found[:, WAIT_OUTPUT] += full
        found[:, WAIT_INPUT] += waited - full
    found[:, BUSY] = end - found.sum(axis=1)
    found[:, 0] = cycles - end
    return found


@kernel
def held(graph: Graph, times: Times, units: Ints, out: Ints) -> None:
    """Write the cycles for which each unit waits for space: from when it is due until there is."""
    work = times.work
    for i in range(units.size):
        u = units[i]
        out[i] = 0
        n = due_times(graph, times, u, work[0])
        c = space_times(graph, times, u, work[1])
        if c > 0:
            out[i] = excess(work[1], work[0], (c, n))


@inner_kernel
def due_times(graph: Graph, times: Times, u: int, out: Ints) -> int:
    """Write the cycles from which a unit's words could go if its queues let them."""
    size, gap = graph.unit[u, at.U_SIZE], graph.unit[u, at.U_GAP]
    n = append(out, whole(0), times.start[u], whole(0), whole(1))
    if size == 1:
        return n
    return append_slice(out, n, times.segment[u], (times.pieces[u], whole(0), size - 1, gap))


@inner_kernel
def space_times(graph: Graph, times: Times, u: int, out: Ints) -> int:
    """Write the cycles from which there is space for a unit's words; 0 if it sends none."""
    port = graph.unit[u, at.U_OUT]
    if port < 0:
        return 0
    first = graph.port[port, at.P_CHILD]
    return space_credits(graph, times, out, u, graph.child[first])


@inner_kernel
def mark(marks: Marks, begin: int, end: int, bit: int) -> None:
    """Set a bit in a range of cycles."""
    for t in range(begin, min(end, marks.size)):
        marks[t] |= np.uint8(bit)


@kernel
def paint(graph: Graph, times: Times, events: Ints, first: int, marks: Marks) -> None:
    """Mark each cycle of an element with what its main thread and its threads do."""
    now = 0
    for i in range(events.shape[0]):
        kind, value = events[i, 0], events[i, 1]
        if kind == ADVANCE:
            mark(marks, now, now + value, MARK_BUSY)
            now += value
        elif kind == WAIT:
            done = last_time(times, first + value) + times.header[X_COMPLETION]
            now = max(now, done)
        elif kind == FABRIC:
            u = first + value
            paint_unit(graph, times, u, marks)
            if graph.unit[u, at.U_ASYNC] == 1:
                mark(marks, now, now + times.header[X_ISSUE], MARK_BUSY)
                now += times.header[X_ISSUE]
            else:
                now = last_time(times, u) + graph.unit[u, at.U_GAP]


@inner_kernel
def paint_unit(graph: Graph, times: Times, u: int, marks: Marks) -> None:
    """Mark the cycles of one operation with queues."""
    gap = graph.unit[u, at.U_GAP]
    space = times.work[1]
    count = space_times(graph, times, u, space)
    piece = done = 0
    due = times.start[u]
    for i in range(times.pieces[u]):
        row = times.segment[u, i]
        for k in range(row[M]):
            t = row[T] + row[R] * k
            free = due
            if count > 0:
                free = min(t, max(due, space[piece, T] + space[piece, R] * done))
                done += 1
                if done == space[piece, M]:
                    piece += 1
                    done = 0
            mark(marks, due, free, MARK_OUTPUT)
            mark(marks, free, t, MARK_INPUT)
            mark(marks, t, t + gap, MARK_BUSY)
            due = t + gap
    if graph.unit[u, at.U_ASYNC] == 1 and times.header[X_COMPLETION] > 1:
        last = due - gap
        mark(marks, last, last + times.header[X_COMPLETION], MARK_BUSY)
