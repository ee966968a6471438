"""Who goes first on a link that several FIFOs want: the reference engine's rule, word by word.

A unit of such a FIFO is evaluated together with the words of its rivals that may move beside it:
from their readiness (the cycles from which each could go: arrived, and space behind the link) the
kernel plays the link cycle by cycle. Of the FIFOs that bid in a cycle the one goes that was served
longest ago, then the one of the least rank (color, number), as `leads` in engine/fabric.py has it.

What a unit gets this way refers to earlier cycles only: to readiness up to a cycle, and to who was
served before it. So conditions that all hold with equality have one solution (induction over
cycles), whatever the way to it; the solver ends with a pass over all units that changes nothing.
"""

from __future__ import annotations

from tilewright.simulator.compile.columns import Word
from tilewright.simulator.fast import graph as at
from tilewright.simulator.fast.fast_jit import inline_kernel, inner_kernel, whole
from tilewright.simulator.fast.graph import (
    B_DONE,
    B_ENTRY,
    B_LAST,
    B_NEXT,
    B_PIECE,
    FOREVER,
    PLAY,
    X_READY,
    Graph,
    Ints,
    Times,
)
from tilewright.simulator.fast.segments import M, R, T, append, copy
from tilewright.simulator.fast.solve import enqueue


@inline_kernel
def end_of(times: Times, u: int) -> Word:
    """Return the time of a known unit's last word."""
    row = times.segment[u, times.pieces[u] - 1]
    return row[T] + row[R] * (row[M] - 1)


@inner_kernel
def words_before(times: Times, u: int, now: int) -> Word:
    """Return how many words of a known unit move before a cycle."""
    count = 0
    for i in range(times.pieces[u]):
        t, r, m = times.segment[u, i, T], times.segment[u, i, R], times.segment[u, i, M]
        if t + r * (m - 1) < now:
            count += m
            continue
        if t < now:
            count += (now - t + r - 1) // r
        break
    return count


@inner_kernel
def time_of(times: Times, u: int, k: int) -> Word:
    """Return the time of a known unit's word number k."""
    for i in range(times.pieces[u]):
        if k < times.segment[u, i, M]:
            return times.segment[u, i, T] + times.segment[u, i, R] * k
        k -= times.segment[u, i, M]
    return -1


@inner_kernel
def await_next(graph: Graph, times: Times, rival: int, b: Ints) -> None:
    """Find the first cycle in which a rival's next word can bid."""
    port = graph.port[rival]
    while b[B_ENTRY] < port[at.P_AT] + port[at.P_COUNT]:
        u = graph.entry[b[B_ENTRY], 0]
        if times.arrived[u] == 0:
            break
        while b[B_PIECE] < times.arrived[u]:
            row = times.ready[u, b[B_PIECE]]
            if b[B_DONE] < row[M]:
                b[B_NEXT] = max(row[T] + row[R] * b[B_DONE], b[B_LAST] + 1)
                return
            b[B_DONE] -= row[M]
            b[B_PIECE] += 1
        b[B_ENTRY] += 1
        b[B_PIECE] = 0
    b[B_NEXT] = FOREVER


@inner_kernel
def place_rival(graph: Graph, times: Times, rival: int, now: int, b: Ints) -> None:
    """Find a rival's next word at a cycle, by the times that are known."""
    first = graph.port[rival, at.P_AT]
    low, high = first, first + graph.port[rival, at.P_COUNT]
    while low < high:
        middle = (low + high) // 2
        u = graph.entry[middle, 0]
        if times.pieces[u] > 0 and end_of(times, u) < now:
            low = middle + 1
        else:
            high = middle
    b[B_ENTRY], b[B_PIECE], b[B_DONE] = low, 0, 0
    b[B_LAST] = -1 if low == first else end_of(times, graph.entry[low - 1, 0])
    if low < first + graph.port[rival, at.P_COUNT]:
        u = graph.entry[low, 0]
        if times.pieces[u] > 0:
            count = words_before(times, u, now)
            b[B_DONE] = count
            if count > 0:
                b[B_LAST] = time_of(times, u, count - 1)
    await_next(graph, times, rival, b)


@inner_kernel
def best_rival(graph: Graph, times: Times, span: tuple[int, int], now: int) -> Word:
    """Return the number of the rival that is best of those that bid in a cycle, or -1."""
    first, count = span
    best = -1
    for k in range(count):
        b = times.bid[k]
        if b[B_NEXT] > now:
            continue
        if best >= 0:
            other = times.bid[best]
            mine = graph.contest[graph.rival[first + k], at.C_RANK]
            theirs = graph.contest[graph.rival[first + best], at.C_RANK]
            if b[B_LAST] > other[B_LAST] or (b[B_LAST] == other[B_LAST] and mine > theirs):
                continue
        best = k
    return best


@inner_kernel
def serve(graph: Graph, times: Times, rival: int, k: int, now: int) -> None:
    """Let a rival's next word move."""
    b = times.bid[k]
    b[B_LAST] = now
    b[B_DONE] += 1
    await_next(graph, times, rival, b)


@inline_kernel
def precedes(graph: Graph, times: Times, mine: tuple[int, int], other: tuple[int, int]) -> Word:
    """Return whether a port served last at a cycle goes before a rival (its number, its port)."""
    last, port = mine
    theirs = times.bid[other[0], B_LAST]
    if last != theirs:
        return last < theirs
    return graph.contest[port, at.C_RANK] < graph.contest[other[1], at.C_RANK]


@inner_kernel
def next_turn(graph: Graph, times: Times, port: int, state: tuple[int, int, int]) -> Word:
    """Let rivals go until a port does that is due at a cycle; return in which it does.

    state: the first cycle that is not decided yet, the port's due cycle, its last turn.
    """
    clock, due, last = state
    first, count = graph.contest[port, at.C_RIVAL], graph.contest[port, at.C_RIVALS]
    while True:
        soonest = due
        for k in range(count):
            soonest = min(soonest, times.bid[k, B_NEXT])
        clock = max(clock, soonest)
        k = best_rival(graph, times, (first, count), clock)
        if clock >= due and (
            k < 0 or precedes(graph, times, (last, port), (k, graph.rival[first + k]))
        ):
            return clock
        serve(graph, times, graph.rival[first + k], k, clock)
        clock += 1


@inner_kernel
def play_unit(graph: Graph, times: Times, u: int, what: tuple[int, int, int, int]) -> int:
    """Do one of two things for a unit on a contended link, by the first number.

    PLAY: `arbitrate` with the others; KEEP: `keep_readiness` with the next two.
    """
    if what[0] == PLAY:
        return arbitrate(graph, times, u, (what[1], what[2], what[3]))
    keep_readiness(graph, times, u, (what[1], what[2]))
    return 0


@inner_kernel
def arbitrate(graph: Graph, times: Times, u: int, what: tuple[int, int, int]) -> int:
    """Write a unit's times to work[3] and its readiness to work[2]; return the times' segments.

    what: segments of the readiness, first cycle, and where in `work` the readiness is.
    """
    count, start, here = what
    port, due, out = graph.unit[u, at.U_OUT], times.work[2], times.work[3]
    copy(due, times.work[here], count)
    times.header[X_READY] = count
    clock = max(start, due[0, T])
    for k in range(graph.contest[port, at.C_RIVALS]):
        rival = graph.rival[graph.contest[port, at.C_RIVAL] + k]
        place_rival(graph, times, rival, clock, times.bid[k])
    last = -1 if u == graph.unit[u, at.U_FIRST] else end_of(times, u - 1)
    n: int = whole(0)
    for i in range(count):
        for j in range(due[i, M]):
            wanted = max(due[i, T] + due[i, R] * j, last + 1)
            last = next_turn(graph, times, port, (clock, wanted, last))
            clock = last + 1
            n = append(out, n, last, whole(0), whole(1))
            if n < 0:
                return n
    return n


@inner_kernel
def keep_readiness(graph: Graph, times: Times, u: int, ends: tuple[int, int]) -> None:
    """Note a unit's readiness from work[2]; evaluate the rivals' units beside it again.

    ends: first and last cycle that its times had or have.
    """
    low, high = ends
    count = times.header[X_READY]
    low = min(low, times.work[2, 0, T])
    if times.arrived[u] > 0:
        low = min(low, times.ready[u, 0, T])
    copy(times.ready[u], times.work[2], count)
    times.arrived[u] = count
    port = graph.contest[graph.unit[u, at.U_OUT]]
    for k in range(port[at.C_RIVAL], port[at.C_RIVAL] + port[at.C_RIVALS]):
        wake_rival(graph, times, graph.rival[k], (low, high))


@inner_kernel
def wake_rival(graph: Graph, times: Times, rival: int, ends: tuple[int, int]) -> None:
    """Evaluate a rival's units again that move between two cycles, and the next one after."""
    first = graph.port[rival, at.P_AT]
    low, high = first, first + graph.port[rival, at.P_COUNT]
    end = high
    while low < high:
        middle = (low + high) // 2
        u = graph.entry[middle, 0]
        if times.pieces[u] > 0 and end_of(times, u) < ends[0]:
            low = middle + 1
        else:
            high = middle
    for e in range(low, end):
        u = graph.entry[e, 0]
        enqueue(times, u)
        if times.pieces[u] == 0 or times.segment[u, 0, T] > ends[1]:
            break
