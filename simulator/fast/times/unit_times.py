"""The times of one unit by what is known of its neighbours (engines.md §2.1).

A unit is one run of an operation on queues, or one message. The solver (`solve.py`) evaluates one
unit after the other. The arbiter (`arbiter.py`) is called by its address, so that only programs
with contended links compile it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from numba import types
from numba.extending import intrinsic

from tilewright.simulator.compile.columns import Word
from tilewright.simulator.engine.jit import UNJITTED, generate_call
from tilewright.simulator.fast.fast_jit import inline_kernel, inner_kernel, part_kernel, whole
from tilewright.simulator.fast.times.detours import detour
from tilewright.simulator.fast.times.port_words import (
    Appended,
    append_words,
    gather,
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
    maximum,
    paced,
)
from tilewright.simulator.fast.units import graph as at
from tilewright.simulator.fast.units.graph import (
    X_ARBITRATE,
    X_COMPLETION,
    X_ISSUE,
    X_READY,
    X_RIVALRY,
    Arbitration,
    CycleRange,
    Ints,
    Times,
    UnitGraph,
    WordSpan,
)
from tilewright.simulator.fast.units.ramp_filters import K_LIMIT, K_MOST, K_START, kept_before
from tilewright.simulator.fast.walk.script import AFTER, COMPLETE

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
def is_contended(graph: UnitGraph, u: int) -> Word:
    """Return whether unit u sends on a link that other FIFOs want, so that an arbiter decides.

    A unit is one run of an operation on queues, or one message.
    """
    if graph.rival.size == 0:
        return False
    port = graph.unit[u, at.U_OUT]
    return port >= 0 and graph.contest[port, at.C_RIVALS] > 0


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
