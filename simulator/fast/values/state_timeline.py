"""What an element does in each cycle: busy, waiting for input or output, idle."""

from __future__ import annotations

import numpy as np

from tilewright.simulator.compile.columns import Word
from tilewright.simulator.fast.fast_jit import inner_kernel, whole
from tilewright.simulator.fast.times.segments import (
    M,
    R,
    SegmentCounts,
    SegmentSlice,
    T,
    append,
    append_slice,
    excess,
)
from tilewright.simulator.fast.times.unit_times import last_time, space_credits
from tilewright.simulator.fast.units import graph as at
from tilewright.simulator.fast.units.graph import X_COMPLETION, X_ISSUE, Ints, Times, UnitGraph
from tilewright.simulator.fast.values.final_tables import (
    MARK_BUSY,
    MARK_INPUT,
    MARK_OUTPUT,
    CycleMarks,
    MarkCounts,
)
from tilewright.simulator.fast.walk.script import ADVANCE, FABRIC, PAUSE, WAIT


@inner_kernel
def output_waits(graph: UnitGraph, times: Times, units: Ints, cycles: Ints) -> None:
    """Write for how many cycles each unit waits for space behind it while it is due.

    A unit is one run of an operation on queues, or one message. units, cycles: (units,), the second
    is changed.
    """
    work = times.work
    for i in range(units.size):
        u = units[i]
        cycles[i] = 0
        due = due_times(graph, times, u, work[0])
        space = space_times(graph, times, u, work[1])
        if space > 0:
            cycles[i] = excess(work[1], work[0], SegmentCounts(space, due))


@inner_kernel
def due_times(graph: UnitGraph, times: Times, u: int, out: Ints) -> int:
    """Write the cycles from which a unit's words could go if its queues were ready, as segments.

    A unit is one run of an operation on queues. Its first word is due at its start, each later one
    `gap` cycles after the word before. Returns the number of segments.
    """
    size, gap = graph.unit[u, at.U_SIZE], graph.unit[u, at.U_GAP]
    n = append(out, whole(0), times.start[u], whole(0), whole(1))
    if size == 1:
        return n
    part = SegmentSlice(times.pieces[u], whole(0), size - 1, gap)
    return append_slice(out, n, times.segment[u], part)


@inner_kernel
def space_times(graph: UnitGraph, times: Times, u: int, out: Ints) -> Word:
    """Write the cycles from which there is space for each of a unit's words, as segments.

    A unit is one run of an operation on queues; a segment (t, r, m) stands for t, t + r, ... m
    times. Returns their number, 0 if the unit sends no words.
    """
    port = graph.unit[u, at.U_OUT]
    if port < 0:
        return 0
    first = graph.port[port, at.P_CHILD]
    return space_credits(graph, times, out, u, graph.child[first])


@inner_kernel
def mark_cycles(marks: CycleMarks, begin: int, end: int, bit: int) -> None:
    """Set a bit in the marks of the cycles from `begin` to `end` - 1, as far as there are marks."""
    for t in range(begin, min(end, marks.size)):
        marks[t] |= np.uint8(bit)


@inner_kernel
def count_marks(graph: UnitGraph, times: Times, events: Ints, marked: MarkCounts) -> None:
    """Count for each of some elements of a code the cycles of each combination of marks.

    Marks are busy, waiting for input, waiting for output. events: (events, 3) steps of the code's
    main thread; marked: the elements, and the counts, changed.
    """
    for i in range(marked.first.size):
        marked.marks[:] = 0
        mark_element(graph, times, events, marked.first[i], marked.marks)
        for t in range(marked.marks.size):
            marked.counts[i, marked.marks[t]] += 1


@inner_kernel
def mark_element(
    graph: UnitGraph, times: Times, events: Ints, first: int, marks: CycleMarks
) -> None:
    """Mark in each cycle what an element's main thread and microthreads do: busy or waiting.

    events: (events, 3) steps of the main thread; first: number of the element's first unit (run of
    an operation on queues); marks: a byte per cycle, changed.
    """
    now = 0
    for i in range(events.shape[0]):
        kind, value = events[i, 0], events[i, 1]
        if kind == ADVANCE:
            mark_cycles(marks, now, now + value, MARK_BUSY)
            now += value
        elif kind == PAUSE:
            now += value
        elif kind == WAIT:
            done = last_time(times, first + value) + times.header[X_COMPLETION]
            now = max(now, done)
        elif kind == FABRIC:
            u = first + value
            mark_unit(graph, times, u, marks)
            if graph.unit[u, at.U_ASYNC] == 1:
                mark_cycles(marks, now, now + times.header[X_ISSUE], MARK_BUSY)
                now += times.header[X_ISSUE]
            else:
                now = last_time(times, u) + graph.unit[u, at.U_GAP]


@inner_kernel
def mark_unit(graph: UnitGraph, times: Times, u: int, marks: CycleMarks) -> None:
    """Mark the cycles of one run of an operation on queues: busy, waiting for input or for output.

    u: its number; marks: a byte per cycle, changed.
    """
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
            mark_cycles(marks, due, free, MARK_OUTPUT)
            mark_cycles(marks, free, t, MARK_INPUT)
            mark_cycles(marks, t, t + gap, MARK_BUSY)
            due = t + gap
    if graph.unit[u, at.U_ASYNC] == 1 and times.header[X_COMPLETION] > 1:
        last = due - gap
        mark_cycles(marks, last, last + times.header[X_COMPLETION], MARK_BUSY)
