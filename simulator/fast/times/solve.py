"""The least times of all units: Kleene iteration from below with a worklist (engines.md §4).

Times that are not known yet are NEVER, so every evaluation is a lower bound. When a unit's times
change, the units that depend on them are put on the worklist: those behind it, and those before it
if its new times delay them. When the worklist is empty, all conditions hold with equality; each of
them refers to earlier cycles, so the times are those of the cycle-stepped engine.

The result does not depend on the order of evaluation. First come, first served needs one evaluation
per unit where streams rarely wait for each other. Elsewhere it carries a wrong early guess to the
end of a long stream again and again; then units are taken in the order of their start, a window of
cycles at a time.

The small kernels are merged into `solve`: a call with so many arrays costs more than their work.
"""

from __future__ import annotations

from typing import NamedTuple

from tilewright.simulator.compile.columns import Word
from tilewright.simulator.fast.fast_jit import inline_kernel, inner_kernel
from tilewright.simulator.fast.times.port_words import find_entry, neighbours, place_in_stream
from tilewright.simulator.fast.times.segments import (
    NEVER,
    M,
    R,
    SegmentCounts,
    T,
    copy,
    first_difference,
)
from tilewright.simulator.fast.times.unit_times import (
    by_address,
    evaluate,
    is_contended,
    last_time,
    start_of,
)
from tilewright.simulator.fast.units import graph as at
from tilewright.simulator.fast.units.graph import (
    FOREVER,
    SOLVED,
    TOO_FINE,
    TOO_LONG,
    UNKNOWN,
    X_CHANGES,
    X_EVALUATIONS,
    X_LIMIT,
    X_OUTCOME,
    X_READY,
    X_RIVALRY,
    X_SINCE,
    X_STORE_READINESS,
    X_WINDOW,
    CycleRange,
    Times,
    UnitGraph,
)
from tilewright.simulator.fast.units.ramp_filters import kept_before


class Overlap(NamedTuple):
    """Name `size` words of a unit, and as many words of a sender that wait for their places.

    A unit is one run of an operation on queues, or one message. A channel has space for so many
    words, so the sender's word i + space can only go when the taker's word i has left. `first`:
    number of the first such word of the taker; `source_first`: of the first word that waits, in the
    sender; `shift`: cycles from the leaving of a word until its place is free (credit delay).
    """

    first: int
    source_first: int
    size: int
    shift: int


@inline_kernel
def following(times: Times, place: int) -> Word:
    """Return the next place of the worklist, a ring of units to evaluate.

    A unit is one run of an operation on queues, or one message. place: index in the ring.
    """
    return place + 1 if place + 2 < times.queue.size - 1 else 0


@inline_kernel
def put(times: Times, u: int) -> None:
    """Append unit u to the worklist of units to evaluate.

    A unit is one run of an operation on queues, or one message.
    """
    tail = times.queue[-1]
    times.queue[tail] = u
    times.queue[-1] = following(times, tail)


@inline_kernel
def enqueue(times: Times, u: int) -> None:
    """Append unit u to the worklist of units to evaluate, unless it is there.

    A unit is one run of an operation on queues, or one message. What it reads has changed from
    cycle X_SINCE of the header on.
    """
    times.first[u] = min(times.first[u], times.header[X_SINCE])
    if times.queued[u] == 1:
        return
    times.queued[u] = 1
    put(times, u)


@inline_kernel
def delays(times: Times, u: int, source: int, overlap: Overlap) -> bool:
    """Return whether new times of unit u delay a word of its sender, for want of space.

    source: number of the sender; overlap: which words of u free the places of which words of the
    sender.
    """
    a, b, size, shift = overlap
    i = j = 0
    while a >= times.segment[u, i, M]:
        a -= times.segment[u, i, M]
        i += 1
    while b >= times.segment[source, j, M]:
        b -= times.segment[source, j, M]
        j += 1
    while size > 0:
        row, source_row = times.segment[u, i], times.segment[source, j]
        k = min(size, row[M] - a, source_row[M] - b)
        first = row[T] + row[R] * a + shift - source_row[T] - source_row[R] * b
        if first > 0 or first + (row[R] - source_row[R]) * (k - 1) > 0:
            return True
        size -= k
        a += k
        b += k
        if a == row[M]:
            i += 1
            a = 0
        if b == source_row[M]:
            j += 1
            b = 0
    return False


@inline_kernel
def wake_sources(graph: UnitGraph, times: Times, u: int, column: int) -> None:
    """Put the units on the worklist whose words the new times of unit u delay, for want of space.

    A unit is one run of an operation on queues, or one message. column: U_IN or U_IN2, the input of
    u whose senders are meant.
    """
    row = graph.unit[u]
    port = row[column]
    if port < 0:
        return
    channel = graph.port[port]
    source = channel[at.P_SOURCE]
    index = row[column + 1] + channel[at.P_SPACE]
    end = min(index + row[at.U_SIZE], channel[at.P_WORDS])
    if index >= end:
        return
    begin = index
    while index < end:
        place = place_in_stream(graph, port, index)
        e = find_entry(graph, source, place)
        unit = graph.entry[e, 0]
        skip = place - graph.entry[e, 1]
        take = min(neighbours(graph, port, index, end), graph.unit[unit, at.U_SIZE] - skip)
        if times.pieces[unit] > 0:
            overlap = Overlap(index - begin, skip, take, channel[at.P_CREDIT])
            if times.header[X_RIVALRY] or delays(times, u, unit, overlap):
                enqueue(times, unit)
        index += take


@inline_kernel
def wake_followers(graph: UnitGraph, times: Times, u: int) -> None:
    """Put the units on the worklist that take words of unit u, or start after it.

    A unit is one run of an operation on queues, or one message. The new times of u may change
    theirs.
    """
    row = graph.unit[u]
    if row[at.U_KIND] == at.THREAD:
        op = graph.op[row[at.U_OP]]
        for i in range(op[2], op[2] + op[3]):
            enqueue(times, row[at.U_FIRST] + graph.follower[i])
    elif row[at.U_NEXT] >= 0:
        enqueue(times, row[at.U_NEXT])
    port = row[at.U_OUT]
    if port < 0:
        return
    index = row[at.U_OUT_AT]
    first = graph.port[port, at.P_CHILD]
    for i in range(first, first + graph.port[port, at.P_CHILDREN]):
        child = graph.child[i]
        begin, behind = index, index + row[at.U_SIZE]
        if graph.port[child, at.P_FILTER] >= 0:
            counter = graph.filter[graph.port[child, at.P_FILTER]]
            begin, behind = kept_before(counter, begin), kept_before(counter, behind)
        if graph.port[child, at.P_COUNT] == 0 or begin == behind:
            continue
        e = find_entry(graph, child, begin)
        end = graph.port[child, at.P_AT] + graph.port[child, at.P_COUNT]
        while e < end and graph.entry[e, 1] < behind:
            enqueue(times, graph.entry[e, 0])
            e += 1


@inline_kernel
def changed_since(graph: UnitGraph, times: Times, u: int, start: int, count: int) -> Word:
    """Return the earliest cycle from which on unit u's new start or times differ from the old ones.

    FOREVER if they do not differ. A unit is one run of an operation on queues, or one message.
    start: the new start; the new times are `count` segments in work[3]. On a contended link the
    cycles from which each word could go, in work[2], are compared, too.
    """
    counts = SegmentCounts(times.pieces[u], count)
    since = first_difference(times.segment[u], times.work[3], counts)
    if times.pieces[u] > 0 and times.start[u] != start:
        since = min(since, start, times.start[u])
    if is_contended(graph, u):
        counts = SegmentCounts(times.arrived[u], times.header[X_READY])
        since = min(since, first_difference(times.ready[u], times.work[2], counts))
    return since


@inline_kernel
def update(graph: UnitGraph, times: Times, u: int, start: int) -> int:
    """Evaluate unit u; if its times changed, keep them and wake the units that depend on them.

    A unit is one run of an operation on queues, or one message. start: earliest cycle of its first
    word. Returns False if the segments do not fit, else True.
    """
    n = evaluate(graph, times, u, start)
    if n == UNKNOWN:
        return True
    times.header[X_EVALUATIONS] += 1
    if n < 0 or n > times.segment.shape[1]:
        return False
    since = changed_since(graph, times, u, start, n)
    if since == FOREVER:
        return True
    work, segments = times.work[3], times.segment[u]
    last = work[n - 1, T] + work[n - 1, R] * (work[n - 1, M] - 1)
    if times.pieces[u] > 0:
        last = max(last, last_time(times, u))
    times.header[X_CHANGES] += 1
    times.header[X_SINCE] = since
    times.start[u] = start
    times.pieces[u] = n
    copy(segments, work, n)
    if is_contended(graph, u):
        concerned = CycleRange(since if times.header[X_RIVALRY] else FOREVER, last)
        by_address(times.header[X_STORE_READINESS], graph, times, u, concerned)
    wake_followers(graph, times, u)
    for column in (at.U_IN, at.U_IN2):
        wake_sources(graph, times, u, column)
    return True


@inline_kernel
def admit_waiting(times: Times, waiting: int, horizon: int) -> int:
    """Put the waiting units that change up to cycle `horizon` on the worklist.

    Units (runs of operations, or messages) that only change later wait until earlier cycles are
    solved. waiting: how many wait; their numbers are in `times.last`, the cycles from which on what
    they read has changed in `times.first`. Returns how many still wait.
    """
    remaining = 0
    for i in range(waiting):
        u = times.last[i]
        if times.first[u] <= horizon:
            put(times, u)
        else:
            times.last[remaining] = u
            remaining += 1
    return remaining


@inline_kernel
def earliest_change(times: Times, waiting: int) -> Word:
    """Return the earliest cycle in which what a waiting unit reads has changed; FOREVER if none.

    Units are runs of operations, or messages.
    """
    start = FOREVER
    for i in range(waiting):
        start = min(start, times.first[times.last[i]])
    return start


@inline_kernel
def finish(times: Times) -> None:
    """Store the cycles of the first and the last word of every unit, once all times are found.

    A unit is one run of an operation on queues, or one message. If one has no times (it waits for
    ever), the outcome in the header becomes UNKNOWN.
    """
    for u in range(times.pieces.size):
        if times.pieces[u] == 0:
            times.header[X_OUTCOME] = UNKNOWN
            return
        times.first[u] = times.segment[u, 0, T]
        times.last[u] = last_time(times, u)


@inline_kernel
def enqueue_all(graph: UnitGraph, times: Times) -> None:
    """Put all units (runs of operations, and messages) on the worklist."""
    times.header[X_SINCE] = 0
    for u in range(graph.unit.shape[0]):
        enqueue(times, u)


@inline_kernel
def enqueue_sources(graph: UnitGraph, times: Times) -> None:
    """Put the units on the worklist that take no words: edge inputs, operations that only send."""
    for u in range(graph.unit.shape[0]):
        if graph.unit[u, at.U_KIND] == at.EDGE or graph.unit[u, at.U_IN] < 0:
            enqueue(times, u)


@inline_kernel
def enqueue_contended(graph: UnitGraph, times: Times) -> None:
    """Put the units on the worklist that want a link which others want, too: arbiters decide now.

    Units are runs of operations, or messages. What they read changes from their first words on.
    """
    times.header[X_RIVALRY] = 1
    for u in range(graph.unit.shape[0]):
        if times.pieces[u] > 0 and is_contended(graph, u):
            times.header[X_SINCE] = times.segment[u, 0, T]
            enqueue(times, u)


@inner_kernel
def solve(graph: UnitGraph, times: Times) -> None:
    """Find the cycles of all units' words: evaluate units until no time changes (engines.md §4).

    graph: units (runs of operations on queues, and messages) with their channels; times: changed.
    The outcome in the header is SOLVED, UNKNOWN (units wait for each other), TOO_LONG (too many
    evaluations) or TOO_FINE (too many segments). Where links are contended, the times without
    arbiters are the first guess. There, or if words wait for the main thread, a last pass over all
    units confirms that nothing changes.
    """
    enqueue_sources(graph, times)
    times.header[X_OUTCOME] = SOLVED
    head = waiting = 0
    guessed = graph.rival.size > 0 or graph.span.size > 0
    checked = -1 if guessed and graph.unit.shape[0] > 0 else FOREVER
    horizon = times.header[X_WINDOW]
    while head != times.queue[-1] or waiting > 0 or checked < times.header[X_CHANGES]:
        if head == times.queue[-1] and waiting == 0:
            if graph.rival.size > 0 and not times.header[X_RIVALRY]:
                enqueue_contended(graph, times)
                continue
            checked = times.header[X_CHANGES]
            enqueue_all(graph, times)
        if head == times.queue[-1]:
            horizon = earliest_change(times, waiting) + times.header[X_WINDOW]
            waiting = admit_waiting(times, waiting, horizon)
        u = times.queue[head]
        head = following(times, head)
        start = start_of(graph, times, u)
        if times.pieces[u] == 0:
            times.first[u] = start
        if times.first[u] > horizon:
            times.last[waiting] = u
            waiting += 1
            continue
        if times.header[X_EVALUATIONS] > times.header[X_LIMIT]:
            times.header[X_OUTCOME] = TOO_LONG
            return
        times.queued[u], times.first[u] = 0, FOREVER
        if start != NEVER and not update(graph, times, u, start):
            times.header[X_OUTCOME] = TOO_FINE
            times.queued[:] = 0
            times.queued[u] = 1
            return
    finish(times)
