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
The solver calls the arbiter (`arbiter.py`) by its address, so that only programs with contended
links compile it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from numba import types
from numba.extending import intrinsic

from tilewright.simulator.compile.columns import Word
from tilewright.simulator.engine.jit import UNJITTED, generate_call
from tilewright.simulator.fast.fast_jit import inline_kernel, inner_kernel, part_kernel, whole
from tilewright.simulator.fast.times.detours import detour
from tilewright.simulator.fast.times.port_words import (
    Appended,
    append_words,
    find_entry,
    gather,
    neighbours,
    place_in_stream,
)
from tilewright.simulator.fast.times.segments import (
    FULL,
    NEVER,
    M,
    R,
    SegmentCounts,
    T,
    append,
    append_never,
    copy,
    first_difference,
    maximum,
    paced,
)
from tilewright.simulator.fast.units import graph as at
from tilewright.simulator.fast.units.graph import (
    FOREVER,
    SOLVED,
    TOO_FINE,
    TOO_LONG,
    UNKNOWN,
    X_ARBITRATE,
    X_CHANGES,
    X_COMPLETION,
    X_EVALUATIONS,
    X_ISSUE,
    X_LIMIT,
    X_OUTCOME,
    X_READY,
    X_RIVALRY,
    X_SINCE,
    X_STORE_READINESS,
    X_WINDOW,
    Arbitration,
    CycleRange,
    Ints,
    Times,
    UnitGraph,
    WordSpan,
)
from tilewright.simulator.fast.units.ramp_filters import K_LIMIT, K_MOST, K_START, kept_before
from tilewright.simulator.fast.walk.script import AFTER, COMPLETE


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


Request = Arbitration | CycleRange
PLAIN: Final[list[Callable[[UnitGraph, Times, int, Any], Word]]] = []
"""The arbiter's kernels un-jitted: an address is then a place in this list, counted from 1."""


def _by_address(typing: Any, address: Any, graph: Any, times: Any, u: Any, request: Any) -> Any:  # noqa: ARG001, PLR0913, PLR0917
    """Call a kernel of the arbiter at an address."""
    return types.int64(types.int64, graph, times, u, request), generate_call


def _plain(address: int, graph: UnitGraph, times: Times, u: int, request: Request) -> Word:
    return PLAIN[int(address) - 1](graph, times, u, request)


by_address: Any = _plain if UNJITTED else intrinsic(_by_address)
"""Call `arbitrate` or `store_readiness` of the arbiter by its address."""


@inline_kernel
def last_time(times: Times, u: int) -> Word:
    """Return the cycle of a unit's last word; its times must be known.

    A unit is one run of an operation on queues, or one message. u: its number.
    """
    last = times.pieces[u] - 1
    row = times.segment[u, last]
    return row[T] + row[R] * (row[M] - 1)


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
def start_of(graph: UnitGraph, times: Times, u: int) -> int:
    """Return the earliest cycle of a unit's first word by what is before it in its element.

    An operation starts at the maximum of its terms, which are cycles after earlier operations; a
    message starts one cycle after the last word of the message before. NEVER if these are not
    known.
    """
    row = graph.unit[u]
    first = row[at.U_FIRST]
    if row[at.U_KIND] != at.THREAD:
        return (
            0 if u == first else (last_time(times, u - 1) + 1 if times.pieces[u - 1] > 0 else NEVER)
        )
    start = NEVER
    op = graph.op[row[at.U_OP]]
    for i in range(op[0], op[0] + op[1]):
        kind, before, cycles = graph.term[i, 0], first + graph.term[i, 1], graph.term[i, 2]
        base = 0
        if kind >= AFTER:
            if times.pieces[before] == 0:
                return NEVER
            if kind == COMPLETE:
                base = last_time(times, before) + times.header[X_COMPLETION]
            elif graph.unit[before, at.U_ASYNC] == 1:
                base = times.start[before] + times.header[X_ISSUE]
            else:
                base = last_time(times, before) + graph.unit[before, at.U_GAP]
        start = max(start, base + cycles)
    return start


@inline_kernel
def space_credits(graph: UnitGraph, times: Times, out: Ints, u: int, child: int) -> Word:
    """Write the cycles from which a channel has space for each of a unit's words, as segments.

    A unit is one run of an operation, or one message; child: the port at the end of the channel.
    Word i needs word i - space to have left, plus the credit delay. Returns the number of segments,
    or FULL.
    """
    row, channel = graph.unit[u], graph.port[child]
    if channel[at.P_FILTER] >= 0:
        return filtered_credits(graph, times, out, u, child)
    index = row[at.U_OUT_AT] - channel[at.P_SPACE]
    span = WordSpan(child, index, row[at.U_SIZE], channel[at.P_CREDIT])
    return gather(graph, times, out, span, whole(0))


@inner_kernel
def filtered_credits(graph: UnitGraph, times: Times, out: Ints, u: int, child: int) -> Word:
    """Write the cycles from which an input queue behind a filter has space, as `space_credits`.

    Words that the filter rejects need no space: NEVER.
    """
    row, channel = graph.unit[u], graph.port[child]
    counter = graph.filter[channel[at.P_FILTER]]
    index, n = row[at.U_OUT_AT], whole(0)
    end = index + row[at.U_SIZE]
    while index < end and n >= 0:
        phase = (index + counter[K_START]) % counter[K_LIMIT]
        if phase < counter[K_MOST]:
            size = min(end - index, counter[K_MOST] - phase)
            first = kept_before(counter, index) - channel[at.P_SPACE]
            span = WordSpan(child, first, size, channel[at.P_CREDIT])
            n = append_words(graph, times, out, span, Appended(n, whole(0)))
        else:
            size = min(end - index, counter[K_LIMIT] - phase)
            n = append_never(out, n, size)
        index += size
    return n


@part_kernel
def arrivals(graph: UnitGraph, times: Times, u: int) -> tuple[int, int]:
    """Write the cycles in which a unit's words have arrived, as segments, to work[0] or work[1].

    A unit is one run of an operation on queues, or one message. Of two inputs the later word
    counts. Returns (number of segments, 0 or 1 for the buffer); instead of the number UNKNOWN (-1)
    if a source has no times yet, FULL (-2) if they do not fit.
    """
    row, work = graph.unit[u], times.work
    size = row[at.U_SIZE]
    if row[at.U_KIND] == at.EDGE:
        return append(work[0], whole(0), row[at.U_START], row[at.U_STEP], size), 0
    buffer, n = 0, append_never(work[0], whole(0), size)
    for column in (at.U_IN, at.U_IN2):
        port = row[column]
        if port < 0:
            continue
        source, shift = graph.port[port, at.P_SOURCE], graph.port[port, at.P_LATENCY]
        span = WordSpan(source, place_in_stream(graph, port, row[column + 1]), size, shift)
        k = gather(graph, times, work[2], span, whole(1))
        if k < 0:
            return k, buffer
        n = maximum(work[1 - buffer], work[buffer], work[2], SegmentCounts(n, k))
        if n < 0:
            return FULL, buffer
        buffer = 1 - buffer
    return n, buffer


@inline_kernel
def evaluate(graph: UnitGraph, times: Times, u: int, start: int) -> Word:
    """Write a unit's times to work[3] by what is known of its neighbours; return their segments.

    Each word goes when it has arrived, there is space behind, `gap` cycles have passed since the
    last one, and not before start (engines.md §2.1); on a contended link the arbiter is simulated.
    Returns UNKNOWN (-1) if an input has no times yet, FULL (-2) if the segments do not fit.
    """
    work, port = times.work, graph.unit[u, at.U_OUT]
    n, buffer = arrivals(graph, times, u)
    if n < 0:
        return n
    if port < 0:
        n = paced(work[3], work[buffer], n, graph.unit[u, at.U_GAP], start)
        return detour(graph, times, u, n, start)
    first = graph.port[port, at.P_CHILD]
    for i in range(first, first + graph.port[port, at.P_CHILDREN]):
        k = space_credits(graph, times, work[2], u, graph.child[i])
        if k < 0:
            return FULL
        n = maximum(work[1 - buffer], work[buffer], work[2], SegmentCounts(n, k))
        if n < 0:
            return FULL
        buffer = 1 - buffer
    if is_contended(graph, u):
        if times.header[X_RIVALRY]:
            address = times.header[X_ARBITRATE]
            return by_address(address, graph, times, u, Arbitration(n, start, buffer))
        copy(work[2], work[buffer], n)
        times.header[X_READY] = n
    n = paced(work[3], work[buffer], n, graph.unit[u, at.U_GAP], start)
    return detour(graph, times, u, n, start)


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
def is_contended(graph: UnitGraph, u: int) -> Word:
    """Return whether unit u sends on a link that other FIFOs want, so that an arbiter decides.

    A unit is one run of an operation on queues, or one message.
    """
    if graph.rival.size == 0:
        return False
    port = graph.unit[u, at.U_OUT]
    return port >= 0 and graph.contest[port, at.C_RIVALS] > 0


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
