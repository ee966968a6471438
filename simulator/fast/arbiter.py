"""Which FIFO goes first on a contended link: the reference engine's rule, word by word.

A FIFO on a contended link has rivals: the other FIFOs that send on this link. The times of a unit
of such a FIFO follow from its readiness and from that of its rivals (the cycles from which a word
could go: it has arrived, and there is space behind the link). The kernel simulates the link cycle
by cycle. Of the FIFOs that bid in a cycle the one goes that was served longest ago, then the one
of the lowest rank (color, number), as `leads` in engine/fabric.py decides.

A decision depends on earlier cycles only: on readiness up to its cycle, and on who was served
before. By induction over cycles, conditions that all hold with equality therefore have one
solution; the solver ends with a pass over all units that changes nothing (engines.md §6).
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
    X_READY,
    Arbitration,
    CycleRange,
    Ints,
    PortTurn,
    Times,
    UnitGraph,
)
from tilewright.simulator.fast.segments import M, R, T, append, copy
from tilewright.simulator.fast.solve import enqueue, last_time


@inner_kernel
def words_before(times: Times, u: int, now: int) -> Word:
    """Return how many words of a unit move before cycle `now`, by the times found so far.

    A unit is one run of an operation on queues, or one message through a route. u: its number; its
    times must be known.
    """
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
    """Return the cycle in which word k (from 0) of unit u moves, -1 if it has fewer words.

    A unit is one run of an operation on queues, or one message through a route; its times must be
    known.
    """
    for i in range(times.pieces[u]):
        if k < times.segment[u, i, M]:
            return times.segment[u, i, T] + times.segment[u, i, R] * k
        k -= times.segment[u, i, M]
    return -1


@inner_kernel
def find_next_bid(graph: UnitGraph, times: Times, rival: int, bid: Ints) -> None:
    """Find the first cycle in which the next word of a rival can bid for a contended link.

    rival: number of a FIFO that sends on the same link. bid: the state of this FIFO as the link is
    simulated, one int64 per column B_...; changed. Words that are already sent are skipped, and
    B_NEXT gets the cycle: the word is ready, and at least one cycle has passed since the last one.
    B_NEXT is FOREVER if the FIFO has no further word with known readiness.
    """
    port = graph.port[rival]
    while bid[B_ENTRY] < port[at.P_AT] + port[at.P_COUNT]:
        u = graph.entry[bid[B_ENTRY], 0]
        if times.arrived[u] == 0:
            break
        while bid[B_PIECE] < times.arrived[u]:
            row = times.ready[u, bid[B_PIECE]]
            if bid[B_DONE] < row[M]:
                bid[B_NEXT] = max(row[T] + row[R] * bid[B_DONE], bid[B_LAST] + 1)
                return
            bid[B_DONE] -= row[M]
            bid[B_PIECE] += 1
        bid[B_ENTRY] += 1
        bid[B_PIECE] = 0
    bid[B_NEXT] = FOREVER


@inline_kernel
def first_entry_from(graph: UnitGraph, times: Times, port: int, now: int) -> Word:
    """Return a port's first entry whose unit does not end before cycle `now`, by bisection.

    A port is a FIFO whose words are timed; its entries are the units (runs of operations, or
    messages) that pass words through it, in order. The result is the entry's row in `graph.entry`,
    or the row behind the port's last entry if all units end before. A unit without known times
    counts as one that does not end before.
    """
    low = graph.port[port, at.P_AT]
    high = low + graph.port[port, at.P_COUNT]
    while low < high:
        middle = (low + high) // 2
        u = graph.entry[middle, 0]
        if times.pieces[u] > 0 and last_time(times, u) < now:
            low = middle + 1
        else:
            high = middle
    return low


@inner_kernel
def find_rival(graph: UnitGraph, times: Times, rival: int, now: int, bid: Ints) -> None:
    """Set a rival's bid for a contended link to its state at cycle `now`, by the known times.

    rival: number of the FIFO. bid: one int64 per column B_..., changed: which word is next, the
    cycle in which the FIFO was last served (-1: never), and the first cycle in which it can bid.
    """
    first = graph.port[rival, at.P_AT]
    entry = first_entry_from(graph, times, rival, now)
    bid[B_ENTRY], bid[B_PIECE], bid[B_DONE] = entry, 0, 0
    bid[B_LAST] = -1 if entry == first else last_time(times, graph.entry[entry - 1, 0])
    if entry < first + graph.port[rival, at.P_COUNT]:
        u = graph.entry[entry, 0]
        if times.pieces[u] > 0:
            count = words_before(times, u, now)
            bid[B_DONE] = count
            if count > 0:
                bid[B_LAST] = time_of(times, u, count - 1)
    find_next_bid(graph, times, rival, bid)


@inner_kernel
def best_rival(graph: UnitGraph, times: Times, port: int, now: int) -> Word:
    """Return which rival wins a contended link among those that bid in cycle `now`.

    port: the FIFO whose rivals are compared, itself left out. The one served longest ago wins, then
    the one of the lowest rank (color, number). The result is its place k in the list of the port's
    rivals, -1 if no rival bids in this cycle.
    """
    first = graph.contest[port, at.C_RIVAL]
    best = -1
    for k in range(graph.contest[port, at.C_RIVALS]):
        bid = times.bid[k]
        if bid[B_NEXT] > now:
            continue
        if best >= 0:
            served, best_served = bid[B_LAST], times.bid[best, B_LAST]
            rank = graph.contest[graph.rival[first + k], at.C_RANK]
            best_rank = graph.contest[graph.rival[first + best], at.C_RANK]
            if served > best_served or (served == best_served and rank > best_rank):
                continue
        best = k
    return best


@inner_kernel
def serve(graph: UnitGraph, times: Times, rival: int, k: int, now: int) -> None:
    """Let a rival FIFO move its next word over the contended link in cycle `now`.

    rival: its number; k: its place in the list of rivals. The cycle of its following bid is found,
    too.
    """
    bid = times.bid[k]
    bid[B_LAST] = now
    bid[B_DONE] += 1
    find_next_bid(graph, times, rival, bid)


@inline_kernel
def words_alone(row: Ints, done: int, cycles: CycleRange) -> tuple[int, int]:
    """Return how many words move without a competitor before a cycle, and the cycles between them.

    row: segment (t, r, m): word i of it is ready in cycle t + i r. done: number i of the first word
    that moves, which counts in any case. cycles: `first` is the cycle in which it moves, the others
    must move before `last`. At most one word moves per cycle. Only words at equal distances are
    counted. Example: words are ready from cycle 0 on, one per cycle (t = 0, r = 1); if the first
    one moves in cycle 7, those before cycle 10 move in 7, 8 and 9, so the result is 3 words, 1
    cycle apart.
    """
    first, end = cycles
    if row[R] > 1 and first > row[T] + row[R] * done:
        return whole(1), whole(1)
    step = max(row[R], whole(1))
    words = min(row[M] - done, (end - first + step - 1) // step)
    return max(words, whole(1)), step


@inner_kernel
def serve_alone(graph: UnitGraph, times: Times, rival: int, k: int, cycles: CycleRange) -> None:
    """Let a rival FIFO move its next words over a contended link while no other FIFO bids.

    rival: its number; k: its place among the rivals, whose bid is moved on. cycles: `first` is the
    cycle of its next word, `last` the first cycle in which another FIFO bids. At most the words of
    one segment of equally spaced cycles move.
    """
    bid = times.bid[k]
    row = times.ready[graph.entry[bid[B_ENTRY], 0], bid[B_PIECE]]
    words, step = words_alone(row, bid[B_DONE], cycles)
    bid[B_LAST] = cycles.first + step * (words - 1)
    bid[B_DONE] += words
    find_next_bid(graph, times, rival, bid)


@inline_kernel
def precedes(graph: UnitGraph, times: Times, port: int, last: int, k: int) -> Word:
    """Return whether a FIFO, last served in cycle `last`, wins a contended link against rival k.

    The one served longest ago wins, then the one of the lower rank (color, number).
    """
    rival_last = times.bid[k, B_LAST]
    if last != rival_last:
        return last < rival_last
    rival = graph.rival[graph.contest[port, at.C_RIVAL] + k]
    return graph.contest[port, at.C_RANK] < graph.contest[rival, at.C_RANK]


@inline_kernel
def next_bid(graph: UnitGraph, times: Times, port: int) -> Word:
    """Return the first cycle in which any rival of a FIFO bids for their link; FOREVER if none.

    port: number of the FIFO; the bids of its rivals are in `times.bid`.
    """
    cycle = FOREVER
    for k in range(graph.contest[port, at.C_RIVALS]):
        cycle = min(cycle, times.bid[k, B_NEXT])
    return cycle


@inner_kernel
def next_turn(graph: UnitGraph, times: Times, port: int, clock: int, turn: PortTurn) -> Word:
    """Simulate a contended link until a FIFO is served; return the cycle in which it is.

    port: the FIFO; clock: the first cycle that is not decided yet; turn: the cycle in which the
    FIFO was last served, and the first one in which its next word can go. Rivals that win earlier
    cycles move their words (engines.md §6).
    """
    last, due = turn
    first, count = graph.contest[port, at.C_RIVAL], graph.contest[port, at.C_RIVALS]
    while True:
        soonest, second, alone = max(clock, due), FOREVER, -1
        for k in range(count):
            bids = max(clock, times.bid[k, B_NEXT])
            if bids < soonest:
                soonest, second, alone = bids, soonest, k
            else:
                second = min(second, bids)
        if alone >= 0 and soonest < second:
            rival = graph.rival[first + alone]
            serve_alone(graph, times, rival, alone, CycleRange(soonest, second))
            clock = times.bid[alone, B_LAST] + 1
            continue
        clock = soonest
        k = best_rival(graph, times, port, clock)
        if clock >= due and (k < 0 or precedes(graph, times, port, last, k)):
            return clock
        serve(graph, times, graph.rival[first + k], k, clock)
        clock += 1


@inner_kernel
def arbitrate(graph: UnitGraph, times: Times, u: int, arbitration: Arbitration) -> int:
    """Find the cycles in which the words of a unit win their contended link (engines.md §6).

    A unit is one run of an operation, or one message, whose words leave by a link that other FIFOs
    want too. arbitration: the cycles from which each word could go. Writes the times to work[3] and
    those cycles to work[2], both as segments (t, r, m): t, t + r, ... m times. Returns the number
    of segments of the times, or FULL (-2) if they do not fit.
    """
    count, start, buffer = arbitration
    port, due, out = graph.unit[u, at.U_OUT], times.work[2], times.work[3]
    copy(due, times.work[buffer], count)
    times.header[X_READY] = count
    clock = max(start, due[0, T])
    for k in range(graph.contest[port, at.C_RIVALS]):
        rival = graph.rival[graph.contest[port, at.C_RIVAL] + k]
        find_rival(graph, times, rival, clock, times.bid[k])
    last = -1 if u == graph.unit[u, at.U_FIRST] else last_time(times, u - 1)
    n: int = whole(0)
    for i in range(count):
        done: int = whole(0)
        while done < due[i, M]:
            wanted = max(due[i, T] + due[i, R] * done, last + 1)
            now = next_turn(graph, times, port, clock, PortTurn(last, wanted))
            words, step = words_alone(due[i], done, CycleRange(now, next_bid(graph, times, port)))
            n = append(out, n, now, step, words)
            if n < 0:
                return n
            done += words
            last = now + step * (words - 1)
            clock = last + 1
    return n


@inner_kernel
def store_readiness(graph: UnitGraph, times: Times, u: int, cycles: CycleRange) -> int:
    """Keep the cycles from which a unit's words could go, and let its rivals be evaluated again.

    The cycles are segments in work[2]; rivals are FIFOs that send on the same link. Only their
    units (runs of operations, or messages) that move in the range concerned are put on the solver's
    worklist. cycles: those in which the unit's times and readiness differ from before. Returns 0.
    """
    count = times.header[X_READY]
    copy(times.ready[u], times.work[2], count)
    times.arrived[u] = count
    port = graph.contest[graph.unit[u, at.U_OUT]]
    for k in range(port[at.C_RIVAL], port[at.C_RIVAL] + port[at.C_RIVALS]):
        wake_rival(graph, times, graph.rival[k], cycles)
    return 0


@inner_kernel
def wake_rival(graph: UnitGraph, times: Times, rival: int, cycles: CycleRange) -> None:
    """Put the units of a rival FIFO that move in a range of cycles on the worklist.

    The first unit behind the range is put there, too. A unit is one run of an operation, or one
    message, that passes words through the FIFO. cycles: `first` and `last` of the range, both
    included.
    """
    end = graph.port[rival, at.P_AT] + graph.port[rival, at.P_COUNT]
    for entry in range(first_entry_from(graph, times, rival, cycles.first), end):
        u = graph.entry[entry, 0]
        enqueue(times, u)
        if times.pieces[u] == 0 or times.segment[u, 0, T] > cycles.last:
            break
