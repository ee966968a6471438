"""The least times of all units: Kleene iteration from below with a worklist (engines.md §4).

Times that are not known yet are NEVER, so every evaluation is a lower bound. Whenever a unit's
times change, the units that follow it are evaluated again, those that feed it only if its new
times hold them back. When nothing is left to do, all conditions hold with equality; every one of
them refers to earlier cycles, so the times are those of the cycle-stepped engine.

The order of evaluation does not matter for the result. First come, first served needs one
evaluation a unit where streams do not wait for each other much; elsewhere a wrong guess early in a
long stream is carried to its end again and again, and units are taken in the order of their start,
a window of cycles at a time.

The kernels here go into `solve`: a call with so many arrays would cost more than what they do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from numba import types
from numba.extending import intrinsic

from tilewright.simulator.compile.columns import Word
from tilewright.simulator.engine.jit import UNJITTED, generate_call
from tilewright.simulator.fast import graph as at
from tilewright.simulator.fast.fast_jit import inline_kernel, inner_kernel, part_kernel, whole
from tilewright.simulator.fast.graph import (
    FOREVER,
    KEEP,
    PLAY,
    SOLVED,
    TOO_FINE,
    TOO_LONG,
    UNKNOWN,
    X_CHANGES,
    X_COMPLETION,
    X_EVALUATIONS,
    X_ISSUE,
    X_LIMIT,
    X_OUTCOME,
    X_PLAY,
    X_READY,
    X_WINDOW,
    Graph,
    Ints,
    Times,
)
from tilewright.simulator.fast.script import AFTER, COMPLETE
from tilewright.simulator.fast.segments import (
    FULL,
    NEVER,
    M,
    R,
    T,
    append,
    append_never,
    append_slice,
    copy,
    paced,
    same,
    upper,
)


@inline_kernel
def last_time(times: Times, u: int) -> Word:
    """Return the time of a known unit's last word."""
    last = times.pieces[u] - 1
    row = times.segment[u, last]
    return row[T] + row[R] * (row[M] - 1)


@inline_kernel
def find_entry(graph: Graph, port: int, index: int) -> Word:
    """Return the entry of a port that holds an index."""
    low = graph.port[port, at.P_AT]
    high = low + graph.port[port, at.P_COUNT] - 1
    if low == high:
        return low
    guess = low + index * (high + 1 - low) // graph.port[port, at.P_WORDS]
    if graph.entry[guess, 1] <= index and (guess == high or graph.entry[guess + 1, 1] > index):
        return guess
    while low < high:
        middle = (low + high + 1) // 2
        if graph.entry[middle, 1] <= index:
            low = middle
        else:
            high = middle - 1
    return low


@inner_kernel
def gather(
    graph: Graph, times: Times, out: Ints, span: tuple[int, int, int, int], strict: int
) -> int:
    """Write the times of `size` words of a port from `index` on, `shift` later.

    What is not known is NEVER; with `strict` the answer is then UNKNOWN.
    """
    port, index, size, shift = span
    n: int = whole(0)
    if index < 0:
        n = append_never(out, n, min(size, -index))
        size += index
        index = 0
    if size <= 0:
        return n
    e = find_entry(graph, port, index)
    while size > 0 and n >= 0:
        u = graph.entry[e, 0]
        skip = index - graph.entry[e, 1]
        take = min(size, graph.unit[u, at.U_SIZE] - skip)
        if times.pieces[u] > 0:
            n = append_slice(out, n, times.segment[u], (times.pieces[u], skip, take, shift))
        elif strict == 1:
            return UNKNOWN
        else:
            n = append_never(out, n, take)
        index += take
        size -= take
        e += 1
    return n


@inline_kernel
def start_of(graph: Graph, times: Times, u: int) -> int:
    """Return a unit's dispatch, NEVER if what it refers to is not known."""
    row = graph.unit[u]
    first = row[at.U_FIRST]
    if row[at.U_KIND] != at.THREAD:
        return (
            0 if u == first else (last_time(times, u - 1) + 1 if times.pieces[u - 1] > 0 else NEVER)
        )
    found = NEVER
    op = graph.op[row[at.U_OP]]
    for i in range(op[0], op[0] + op[1]):
        kind, other, cycles = graph.term[i, 0], first + graph.term[i, 1], graph.term[i, 2]
        base = 0
        if kind >= AFTER:
            if times.pieces[other] == 0:
                return NEVER
            if kind == COMPLETE:
                base = last_time(times, other) + times.header[X_COMPLETION]
            elif graph.unit[other, at.U_ASYNC] == 1:
                base = times.start[other] + times.header[X_ISSUE]
            else:
                base = last_time(times, other) + graph.unit[other, at.U_GAP]
        found = max(found, base + cycles)
    return found


@inline_kernel
def space_credits(graph: Graph, times: Times, out: Ints, u: int, child: int) -> int:
    """Write the cycles from which a channel has space for each of a unit's words."""
    row, channel = graph.unit[u], graph.port[child]
    index = row[at.U_OUT_AT] - channel[at.P_SPACE]
    return gather(graph, times, out, (child, index, row[at.U_SIZE], channel[at.P_CREDIT]), whole(0))


@part_kernel
def arrivals(graph: Graph, times: Times, u: int) -> tuple[int, int]:
    """Write the cycles from which a unit's words are there to work[0] or work[1].

    Return how many segments, UNKNOWN or FULL, and where.
    """
    row, work = graph.unit[u], times.work
    size = row[at.U_SIZE]
    if row[at.U_KIND] == at.EDGE:
        return append(work[0], whole(0), row[at.U_START], row[at.U_STEP], size), 0
    here, n = 0, append_never(work[0], whole(0), size)
    for column in (at.U_IN, at.U_IN2):
        port = row[column]
        if port < 0:
            continue
        source, shift = graph.port[port, at.P_SOURCE], graph.port[port, at.P_LATENCY]
        k = gather(graph, times, work[2], (source, row[column + 1], size, shift), whole(1))
        if k < 0:
            return k, here
        n = upper(work[1 - here], work[here], work[2], (n, k))
        if n < 0:
            return FULL, here
        here = 1 - here
    return n, here


@inline_kernel
def evaluate(graph: Graph, times: Times, u: int, start: int) -> Word:
    """Write a unit's times to work[3]; return their segments, UNKNOWN or FULL."""
    work, port = times.work, graph.unit[u, at.U_OUT]
    n, here = arrivals(graph, times, u)
    if n < 0:
        return n
    if port < 0:
        return paced(work[3], work[here], n, graph.unit[u, at.U_GAP], start)
    first = graph.port[port, at.P_CHILD]
    for i in range(first, first + graph.port[port, at.P_CHILDREN]):
        k = space_credits(graph, times, work[2], u, graph.child[i])
        if k < 0:
            return FULL
        n = upper(work[1 - here], work[here], work[2], (n, k))
        if n < 0:
            return FULL
        here = 1 - here
    if graph.rival.size > 0 and graph.contest[port, at.C_RIVALS] > 0:
        return play(graph, times, u, (whole(PLAY), n, start, here))
    return paced(work[3], work[here], n, graph.unit[u, at.U_GAP], start)


@inline_kernel
def exceeds(times: Times, u: int, other: int, span: tuple[int, int, int, int]) -> bool:
    """Return whether u's times (from index `a` on, shifted) are above another's (from `b` on)."""
    a, b, size, shift = span
    i = j = 0
    while a >= times.segment[u, i, M]:
        a -= times.segment[u, i, M]
        i += 1
    while b >= times.segment[other, j, M]:
        b -= times.segment[other, j, M]
        j += 1
    while size > 0:
        mine, theirs = times.segment[u, i], times.segment[other, j]
        k = min(size, mine[M] - a, theirs[M] - b)
        first = mine[T] + mine[R] * a + shift - theirs[T] - theirs[R] * b
        if first > 0 or first + (mine[R] - theirs[R]) * (k - 1) > 0:
            return True
        size -= k
        a += k
        b += k
        if a == mine[M]:
            i += 1
            a = 0
        if b == theirs[M]:
            j += 1
            b = 0
    return False


@inline_kernel
def wake_sources(graph: Graph, times: Times, u: int, column: int) -> None:
    """Evaluate the units again that a unit's new times hold back."""
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
    e = find_entry(graph, source, index)
    while index < end:
        other = graph.entry[e, 0]
        skip = index - graph.entry[e, 1]
        take = min(end - index, graph.unit[other, at.U_SIZE] - skip)
        if times.pieces[other] > 0:
            span = (index - begin, skip, take, channel[at.P_CREDIT])
            if graph.rival.size > 0 or exceeds(times, u, other, span):
                enqueue(times, other)
        index += take
        e += 1


@inline_kernel
def wake_followers(graph: Graph, times: Times, u: int) -> None:
    """Evaluate the units again that take a unit's words or start after it."""
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
        if graph.port[child, at.P_COUNT] == 0:
            continue
        e = find_entry(graph, child, index)
        end = graph.port[child, at.P_AT] + graph.port[child, at.P_COUNT]
        while e < end and graph.entry[e, 1] < index + row[at.U_SIZE]:
            enqueue(times, graph.entry[e, 0])
            e += 1


@inline_kernel
def update(graph: Graph, times: Times, u: int, start: int) -> int:
    """Evaluate a unit; if its times changed, wake who depends on them. Return False if full."""
    n = evaluate(graph, times, u, start)
    if n == UNKNOWN:
        return True
    times.header[X_EVALUATIONS] += 1
    if n < 0 or n > times.segment.shape[1]:
        return False
    work, mine = times.work[3], times.segment[u]
    old = times.pieces[u]
    port = graph.unit[u, at.U_OUT]
    played = graph.rival.size > 0 and port >= 0 and graph.contest[port, at.C_RIVALS] > 0
    if old > 0 and times.start[u] == start and same(mine, work, (old, n)):
        count = (times.arrived[u], times.header[X_READY])
        if not played or same(times.ready[u], times.work[2], count):
            return True
    begin, end = work[0, T], work[n - 1, T] + work[n - 1, R] * (work[n - 1, M] - 1)
    if old > 0:
        begin, end = min(begin, mine[0, T]), max(end, last_time(times, u))
    times.header[X_CHANGES] += 1
    times.start[u] = start
    times.pieces[u] = n
    copy(mine, work, n)
    if played:
        play(graph, times, u, (whole(KEEP), begin, end, whole(0)))
    wake_followers(graph, times, u)
    for column in (at.U_IN, at.U_IN2):
        wake_sources(graph, times, u, column)
    return True


@inline_kernel
def let_in(times: Times, waiting: int, horizon: int) -> int:
    """Put the units that start up to a cycle on the worklist; return how many go on waiting."""
    kept = 0
    for i in range(waiting):
        u = times.last[i]
        if times.first[u] <= horizon:
            put(times, u)
        else:
            times.last[kept] = u
            kept += 1
    return kept


@inline_kernel
def soonest(times: Times, waiting: int) -> Word:
    """Return the earliest start of the units that wait."""
    found = FOREVER
    for i in range(waiting):
        found = min(found, times.first[times.last[i]])
    return found


@inline_kernel
def finish(times: Times) -> None:
    """Note the first and the last time of every unit, or that one is not known."""
    for u in range(times.pieces.size):
        if times.pieces[u] == 0:
            times.header[X_OUTCOME] = UNKNOWN
            return
        times.first[u] = times.segment[u, 0, T]
        times.last[u] = last_time(times, u)


@inner_kernel
def solve(graph: Graph, times: Times) -> None:
    """Evaluate until nothing changes; the outcome is in the header."""
    for u in range(graph.unit.shape[0]):
        if graph.unit[u, at.U_KIND] == at.EDGE or graph.unit[u, at.U_IN] < 0:
            enqueue(times, u)
    times.header[X_OUTCOME] = SOLVED
    head = waiting = 0
    checked = -1 if graph.rival.size > 0 else FOREVER
    horizon = times.header[X_WINDOW]
    while head != times.queue[-1] or waiting > 0 or checked < times.header[X_CHANGES]:
        if head == times.queue[-1] and waiting == 0:
            checked = times.header[X_CHANGES]
            for u in range(graph.unit.shape[0]):
                enqueue(times, u)
        if head == times.queue[-1]:
            horizon = soonest(times, waiting) + times.header[X_WINDOW]
            waiting = let_in(times, waiting, horizon)
        u = times.queue[head]
        head = following(times, head)
        start = start_of(graph, times, u)
        if start > horizon:
            times.first[u] = start
            times.last[waiting] = u
            waiting += 1
            continue
        if times.header[X_EVALUATIONS] > times.header[X_LIMIT]:
            times.header[X_OUTCOME] = TOO_LONG
            return
        times.queued[u] = 0
        if start != NEVER and not update(graph, times, u, start):
            times.header[X_OUTCOME] = TOO_FINE
            times.queued[:] = 0
            times.queued[u] = 1
            return
    finish(times)


@inline_kernel
def following(times: Times, place: int) -> Word:
    """Return the next place of the worklist's ring."""
    return place + 1 if place + 2 < times.queue.size - 1 else 0


@inline_kernel
def put(times: Times, u: int) -> None:
    """Append a unit to the worklist."""
    tail = times.queue[-1]
    times.queue[tail] = u
    times.queue[-1] = following(times, tail)


@inline_kernel
def enqueue(times: Times, u: int) -> None:
    """Put a unit at the end of the worklist, once."""
    if times.queued[u] == 1:
        return
    times.queued[u] = 1
    put(times, u)


What = tuple[int, int, int, int]
PLAIN: Final[list[Callable[[Graph, Times, int, What], Word]]] = []
"""Un-jitted, the arbiter itself."""


def _by_address(typing: Any, address: Any, graph: Any, times: Any, u: Any, what: Any) -> Any:  # noqa: ARG001, PLR0913, PLR0917
    """Call the arbiter at an address."""
    return types.int64(types.int64, graph, times, u, what), generate_call


def _plain(address: int, graph: Graph, times: Times, u: int, what: What) -> Word:  # noqa: ARG001
    return PLAIN[0](graph, times, u, what)


by_address: Any = _plain if UNJITTED else intrinsic(_by_address)


@part_kernel
def play(graph: Graph, times: Times, u: int, what: What) -> Word:
    """Let the arbiter do what `arbiter.play_unit` does."""
    return by_address(times.header[X_PLAY], graph, times, u, what)
