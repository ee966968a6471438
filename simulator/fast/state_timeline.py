"""What an element does in each cycle, from the times of its units."""

from __future__ import annotations

import numpy as np

from tilewright.simulator.fast import graph as at
from tilewright.simulator.fast.fast_jit import inner_kernel, whole
from tilewright.simulator.fast.final_tables import (
    MARK_BUSY,
    MARK_INPUT,
    MARK_OUTPUT,
    Marks,
    Tally,
)
from tilewright.simulator.fast.graph import X_COMPLETION, X_ISSUE, Graph, Ints, Times
from tilewright.simulator.fast.script import ADVANCE, FABRIC, WAIT
from tilewright.simulator.fast.segments import M, R, T, append, append_slice, excess
from tilewright.simulator.fast.solve import last_time, space_credits


@inner_kernel
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


@inner_kernel
def tally(graph: Graph, times: Times, events: Ints, of: Tally) -> None:
    """Count the cycles of each combination of marks, for elements of one script."""
    for i in range(of.first.size):
        of.marks[:] = 0
        paint(graph, times, events, of.first[i], of.marks)
        for t in range(of.marks.size):
            of.counts[i, of.marks[t]] += 1


@inner_kernel
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
