"""Words of a microthread that wait while the main thread has the issue slot of their element.

The main thread's spans (`script.MainSpan`) begin at the maximum of their terms. A word that would
go in a span goes behind it, and those after it follow one per cycle until they are on time again
(engines.md §5).
"""

from __future__ import annotations

from tilewright.simulator.fast.fast_jit import inline_kernel, inner_kernel
from tilewright.simulator.fast.times.segments import FULL, NEVER, M, R, T, append, copy
from tilewright.simulator.fast.units import graph as at
from tilewright.simulator.fast.units.graph import FOREVER, X_COMPLETION, X_ISSUE, Times, UnitGraph
from tilewright.simulator.fast.walk.script import AFTER, COMPLETE


@inline_kernel
def span_start(graph: UnitGraph, times: Times, u: int, span: int, start: int) -> int:
    """Return the cycle in which a span of the main thread begins; FOREVER while it is not known.

    A span is a stretch of cycles in which the main thread has the issue slot while microthreads run
    beside it. u: number of a unit (a run of an operation) that may run beside it and that is
    dispatched in cycle `start`; span: its row in `graph.span`.
    """
    first = graph.unit[u, at.U_FIRST]
    begin = NEVER
    for i in range(graph.span[span, 0], graph.span[span, 0] + graph.span[span, 1]):
        kind, before, cycles = (
            graph.span_term[i, 0],
            first + graph.span_term[i, 1],
            graph.span_term[i, 2],
        )
        base = 0
        if kind >= AFTER and before == u:
            base = start + times.header[X_ISSUE]
        elif kind >= AFTER:
            if times.pieces[before] == 0:
                return FOREVER
            last = times.pieces[before] - 1
            row = times.segment[before, last]
            base = row[T] + row[R] * (row[M] - 1)
            if kind == COMPLETE:
                base += times.header[X_COMPLETION]
            elif graph.unit[before, at.U_ASYNC] == 1:
                base = times.start[before] + times.header[X_ISSUE]
            else:
                base += graph.unit[before, at.U_GAP]
        begin = max(begin, base + cycles)
    return begin


@inline_kernel
def free_words(behind: int, pace: int, left: int, room: int) -> int:
    """Return how many words move at equal distances, before the pace changes or a span begins.

    behind: cycles by which the first word is late. Late words follow one per cycle until they are
    on time again, others every `pace` cycles. left: words that are left; room: cycles until the
    next span of the main thread, in which no word moves. Example: 1 cycle late at a pace of 2, the
    first word is late and the second one on time again: 1 word.
    """
    if behind > 0:
        on_time = left if pace <= 1 else (behind + pace - 2) // (pace - 1)
        return min(left, on_time, room)
    return left if pace == 0 else min(left, (room - 1) // pace + 1)


@inner_kernel
def detour(graph: UnitGraph, times: Times, u: int, count: int, start: int) -> int:
    """Move the words of unit u in work[3] out of the main thread's spans; return the segments.

    A unit is one run of an operation on queues; in a span the main thread has the issue slot, so
    words that would move in it move behind it. work[3] holds the cycles of the words as `count`
    segments and is changed; start: cycle of the unit's dispatch. Returns the number of segments
    afterwards, or FULL (-2) if they do not fit.
    """
    if graph.unit[u, at.U_KIND] != at.THREAD or count < 0:
        return count
    op = graph.op[graph.unit[u, at.U_OP]]
    if op[5] == 0:
        return count
    words, out = times.work[3], times.work[2]
    span, end = op[4], op[4] + op[5]
    begin = span_start(graph, times, u, span, start)
    n = 0
    earliest = NEVER
    for i in range(count):
        t, pace, left = words[i, T], words[i, R], words[i, M]
        while left > 0:
            now = max(t, earliest)
            while span < end and begin + graph.span[span, 2] <= now:
                span += 1
                begin = FOREVER
                if span < end:
                    begin = span_start(graph, times, u, span, start)
            if span < end and begin <= now:
                earliest = begin + graph.span[span, 2]
                continue
            taken = free_words(now - t, pace, left, begin - now if span < end else FOREVER)
            step = 1 if now > t else pace
            n = append(out, n, now, step, taken)
            if n < 0:
                return FULL
            earliest = now + step * (taken - 1) + 1
            t += pace * taken
            left -= taken
    copy(words, out, n)
    return n
