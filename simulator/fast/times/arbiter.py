"""Which FIFO goes first on contended links: the reference engine's rule, word by word.

A FIFO on a contended link has rivals: the other FIFOs of its group (`contests.py`), which send on
this link, or on one that a rival wants. The times of a unit of such a FIFO follow from its
readiness and from that of its rivals (the cycles from which a word could go: it has arrived, and
there is space behind the links). The kernel simulates the links of the group cycle by cycle. A word
goes if on each link that it wants its FIFO is the first of those that bid: the one that was served
longest ago, then the one of the lowest rank (color, number), as `leads` in engine/fabric.py
decides. Words against which nobody bids go together.

A decision depends on earlier cycles only: on readiness up to its cycle, and on who was served
before. By induction over cycles, conditions that all hold with equality therefore have one
solution; the solver ends with a pass over all units that changes nothing (engines.md §6).
"""

from __future__ import annotations

from tilewright.simulator.compile.columns import Word
from tilewright.simulator.fast.fast_jit import inline_kernel, inner_kernel, whole
from tilewright.simulator.fast.times.segments import M, R, T, append, copy
from tilewright.simulator.fast.times.solve import enqueue
from tilewright.simulator.fast.times.unit_times import last_time
from tilewright.simulator.fast.units import graph as at
from tilewright.simulator.fast.units.graph import (
    B_ALIKE,
    B_DONE,
    B_ENTRY,
    B_LAST,
    B_LINKS,
    B_NEXT,
    B_PIECE,
    B_WINS,
    B_WORD,
    C_FILTER,
    C_LINKS,
    C_RAMP,
    C_RANK,
    C_RIVAL,
    C_RIVALS,
    FOREVER,
    X_READY,
    Arbitration,
    CycleRange,
    Ints,
    Served,
    Times,
    UnitGraph,
)
from tilewright.simulator.fast.units.ramp_filters import K_LIMIT, K_MOST, K_START


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
def find_links(graph: UnitGraph, port: int, bid: Ints) -> None:
    """Find which contended links the next word of a FIFO wants, and how many words want the same.

    Of a stream behind a filter, the words that the filter keeps from the element do not want the
    link to it. port: number of the FIFO; bid: its state (columns B_...), changed.
    """
    contest = graph.contest[port]
    bid[B_LINKS], bid[B_ALIKE] = contest[C_LINKS], FOREVER
    if contest[C_FILTER] < 0:
        return
    counter = graph.filter[contest[C_FILTER]]
    phase = (bid[B_WORD] + counter[K_START]) % counter[K_LIMIT]
    if phase < counter[K_MOST]:
        bid[B_ALIKE] = counter[K_MOST] - phase
    else:
        bid[B_ALIKE] = counter[K_LIMIT] - phase
        bid[B_LINKS] &= ~contest[C_RAMP]


@inline_kernel
def find_word(due: Ints, count: int, bid: Ints) -> bool:
    """Find the next word of a FIFO in a list of segments, and the first cycle in which it can bid.

    due: `count` segments (t, r, m) of the cycles from which words could go; bid: the FIFO's state
    (columns B_...), changed: segment and number of the word in it, and B_NEXT. Returns False, and
    leaves B_NEXT, if all words of the list are gone.
    """
    while bid[B_PIECE] < count:
        row = due[bid[B_PIECE]]
        if bid[B_DONE] < row[M]:
            bid[B_NEXT] = max(row[T] + row[R] * bid[B_DONE], bid[B_LAST] + 1)
            return True
        bid[B_DONE] -= row[M]
        bid[B_PIECE] += 1
    return False


@inner_kernel
def find_next_bid(graph: UnitGraph, times: Times, rival: int, bid: Ints) -> None:
    """Find the first cycle in which the next word of a rival can bid for its links, and these.

    rival: number of a FIFO; bid: its state (columns B_...), changed: entry and segment of its next
    word, and in B_NEXT the cycle, FOREVER if it has no further known word.
    """
    port = graph.port[rival]
    while bid[B_ENTRY] < port[at.P_AT] + port[at.P_COUNT]:
        u = graph.entry[bid[B_ENTRY], 0]
        if times.arrived[u] == 0:
            break
        if find_word(times.ready[u], times.arrived[u], bid):
            find_links(graph, rival, bid)
            return
        bid[B_ENTRY] += 1
        bid[B_PIECE] = 0
    bid[B_NEXT] = FOREVER


@inner_kernel
def find_turn(graph: UnitGraph, times: Times, port: int, bid: Ints) -> None:
    """Find the first cycle in which the next word of the unit that is evaluated can bid.

    port: the FIFO by which its words leave; bid: its state (columns B_...), changed: in B_NEXT the
    cycle, FOREVER behind the last word. The cycles from which the unit's words could go are in
    work[2].
    """
    if find_word(times.work[2], times.header[X_READY], bid):
        find_links(graph, port, bid)
    else:
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
    """Set a rival's bid for its links to its state at cycle `now`, by the known times.

    rival: number of the FIFO; bid: columns B_..., changed: its next word, the cycle in which it was
    last served (-1: never), the first cycle in which it can bid, `now` at the earliest.
    """
    first = graph.port[rival, at.P_AT]
    entry = first_entry_from(graph, times, rival, now)
    bid[B_ENTRY], bid[B_PIECE], bid[B_DONE] = entry, 0, 0
    bid[B_LAST] = -1 if entry == first else last_time(times, graph.entry[entry - 1, 0])
    if entry < first + graph.port[rival, at.P_COUNT]:
        u = graph.entry[entry, 0]
        bid[B_WORD] = graph.entry[entry, 1]
        if times.pieces[u] > 0:
            count = words_before(times, u, now)
            bid[B_DONE] = count
            bid[B_WORD] += count
            if count > 0:
                bid[B_LAST] = time_of(times, u, count - 1)
    find_next_bid(graph, times, rival, bid)
    bid[B_NEXT] = max(bid[B_NEXT], now)


@inline_kernel
def member(graph: UnitGraph, port: int, k: int) -> Word:
    """Return the FIFO with number k of a group: the rivals of a FIFO, then the FIFO itself.

    port: number of this FIFO.
    """
    contest = graph.contest[port]
    return graph.rival[contest[C_RIVAL] + k] if k < contest[C_RIVALS] else port


@inline_kernel
def serve(graph: UnitGraph, times: Times, port: int, k: int, served: Served) -> None:
    """Let words of a group's FIFO go, and find its next bid.

    port: the FIFO whose unit is evaluated; k: which FIFO of its group.
    """
    bid = times.bid[k]
    bid[B_LAST] = served.last
    bid[B_DONE] += served.words
    bid[B_WORD] += served.words
    if k < graph.contest[port, C_RIVALS]:
        find_next_bid(graph, times, member(graph, port, k), bid)
    else:
        find_turn(graph, times, port, bid)


@inline_kernel
def precedes(graph: UnitGraph, times: Times, port: int, k: int, other: int) -> Word:
    """Return whether a FIFO of a group wins a link against another one that bids for it.

    The one served longest ago wins, then the one of the lower rank (color, number). port: the FIFO
    whose unit is evaluated; k, other: which FIFOs of its group.
    """
    last, other_last = times.bid[k, B_LAST], times.bid[other, B_LAST]
    if last != other_last:
        return last < other_last
    rank = graph.contest[member(graph, port, k), C_RANK]
    return rank < graph.contest[member(graph, port, other), C_RANK]


@inline_kernel
def next_bidder(times: Times, members: int) -> Word:
    """Return which FIFO of a group bids first; the first one in the list, if several do."""
    first = 0
    for k in range(1, members):
        if times.bid[k, B_NEXT] < times.bid[first, B_NEXT]:
            first = k
    return first


@inner_kernel
def next_bid_against(graph: UnitGraph, times: Times, port: int, k: int) -> Word:
    """Return the first cycle in which a FIFO may bid against the next words of another one.

    Of a FIFO whose next word wants other links, a later word may want one of these; it bids at the
    earliest when all before it are gone, one in a cycle. port: the FIFO whose unit is evaluated; k:
    which FIFO of its group bids.
    """
    links, soonest = times.bid[k, B_LINKS], FOREVER
    for other in range(graph.contest[port, C_RIVALS] + 1):
        if other == k or links & graph.contest[member(graph, port, other), C_LINKS] == 0:
            continue
        bid = times.bid[other]
        soonest = min(soonest, bid[B_NEXT] + (0 if links & bid[B_LINKS] else bid[B_ALIKE]))
    return soonest


@inner_kernel
def decide(graph: UnitGraph, times: Times, port: int, now: int) -> Word:
    """Let the FIFOs of a group that win all their links in cycle `now` move a word.

    Those that lose bid again in the next cycle. port: the FIFO whose unit is evaluated. Returns
    whether it is among the winners.
    """
    members = graph.contest[port, C_RIVALS] + 1
    for k in range(members):
        bid = times.bid[k]
        bid[B_WINS] = bid[B_NEXT] == now
        for other in range(members):
            rival = times.bid[other]
            if other != k and rival[B_NEXT] == now and rival[B_LINKS] & bid[B_LINKS]:
                bid[B_WINS] &= precedes(graph, times, port, k, other)
    for k in range(members):
        if times.bid[k, B_WINS]:
            serve(graph, times, port, k, Served(whole(1), now))
        elif times.bid[k, B_NEXT] == now:
            times.bid[k, B_NEXT] = now + 1
    return times.bid[members - 1, B_WINS]


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
def begin(graph: UnitGraph, times: Times, u: int, start: int) -> None:
    """Set the bids of a group to their state at the cycle from which on a unit's word may go.

    A unit is one run of an operation, or one message. start: first cycle in which it may go; the
    cycles from which its words could go are in work[2].
    """
    port = graph.unit[u, at.U_OUT]
    rivals, clock = graph.contest[port, C_RIVALS], max(start, times.work[2, 0, T])
    for k in range(rivals):
        find_rival(graph, times, member(graph, port, k), clock, times.bid[k])
    bid = times.bid[rivals]
    bid[B_PIECE], bid[B_DONE], bid[B_WORD] = 0, 0, graph.unit[u, at.U_OUT_AT]
    bid[B_LAST] = -1 if u == graph.unit[u, at.U_FIRST] else last_time(times, u - 1)
    find_turn(graph, times, port, bid)
    bid[B_NEXT] = max(bid[B_NEXT], clock)


@inner_kernel
def arbitrate(graph: UnitGraph, times: Times, u: int, arbitration: Arbitration) -> int:
    """Find the cycles in which the words of a unit win their contended links (engines.md §6).

    A unit is one run of an operation, or one message, whose words leave by links that other FIFOs
    want too. arbitration: the cycles from which each word could go. Writes the times to work[3] and
    those cycles to work[2], both as segments (t, r, m): t, t + r, ... m times. Returns the number
    of segments of the times, or FULL (-2) if they do not fit.
    """
    port, due, out = graph.unit[u, at.U_OUT], times.work[2], times.work[3]
    copy(due, times.work[arbitration.buffer], arbitration.segments)
    times.header[X_READY] = arbitration.segments
    begin(graph, times, u, arbitration.start)
    n: int = whole(0)
    rivals = graph.contest[port, C_RIVALS]
    while n >= 0 and times.bid[rivals, B_NEXT] < FOREVER:
        k = next_bidder(times, rivals + 1)
        bid = times.bid[k]
        now = bid[B_NEXT]
        against = next_bid_against(graph, times, port, k)
        if against <= now:
            if decide(graph, times, port, now):
                n = append(out, n, now, whole(1), whole(1))
            continue
        row = due[bid[B_PIECE]]
        if k < rivals:
            row = times.ready[graph.entry[bid[B_ENTRY], 0], bid[B_PIECE]]
        words, step = words_alone(row, bid[B_DONE], CycleRange(now, against))
        words = min(words, bid[B_ALIKE])
        if k == rivals:
            n = append(out, n, now, step, words)
        serve(graph, times, port, k, Served(words, now + step * (words - 1)))
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
    for k in range(port[C_RIVAL], port[C_RIVAL] + port[C_RIVALS]):
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
