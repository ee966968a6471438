"""The words of a port (a timed FIFO): who passes each, which word of its source it is, and when."""

from __future__ import annotations

from typing import NamedTuple

from tilewright.simulator.compile.columns import Word
from tilewright.simulator.fast.fast_jit import inline_kernel, inner_kernel, whole
from tilewright.simulator.fast.times.segments import SegmentSlice, append_never, append_slice
from tilewright.simulator.fast.units import graph as at
from tilewright.simulator.fast.units.graph import UNKNOWN, Ints, Times, UnitGraph, WordSpan
from tilewright.simulator.fast.units.ramp_filters import K_MOST, K_START, place_behind


class Appended(NamedTuple):
    """Say how words are appended to a list of times.

    `segments`: how many the list has so far; `strict`: as in `gather`.
    """

    segments: int
    strict: int


@inline_kernel
def find_entry(graph: UnitGraph, port: int, index: int) -> Word:
    """Return the row of `graph.entry` whose unit passes word number `index` of a port.

    A port is a timed FIFO; its entries are the units (runs of operations, or messages) that pass
    words through it, in order.
    """
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
def gather(graph: UnitGraph, times: Times, out: Ints, span: WordSpan, strict: int) -> int:
    """Write the cycles of some words of a port to `out`, as segments; return their number.

    A port is a timed FIFO, a segment (t, r, m) is the cycles t, t + r, ... m times. span: which
    words, and a shift of their times. Words whose times are not found yet, and words of negative
    number, are NEVER (before every cycle); with strict = 1 a time not found gives UNKNOWN (-1).
    FULL (-2): the segments do not fit.
    """
    return append_words(graph, times, out, span, Appended(whole(0), strict))


@inner_kernel
def append_words(
    graph: UnitGraph, times: Times, out: Ints, span: WordSpan, appended: Appended
) -> int:
    """Append the cycles of some words of a port to a list of times, as `gather` writes them.

    `out`: segments (t, r, m), shape (most, 3), changed; span: which words. Returns the number of
    segments of the whole list, or UNKNOWN or FULL.
    """
    port, index, size, shift = span
    n, strict = appended
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
            n = append_slice(
                out, n, times.segment[u], SegmentSlice(times.pieces[u], skip, take, shift)
            )
        elif strict == 1:
            return UNKNOWN
        else:
            n = append_never(out, n, take)
        index += take
        size -= take
        e += 1
    return n


@inline_kernel
def place_in_stream(graph: UnitGraph, port: int, index: int) -> int:
    """Return the number that word `index` of a port has in the stream that feeds the port.

    It is another number only behind a filter, which lets some words of the stream pass.
    """
    row = graph.port[port, at.P_FILTER]
    place: int = index if row < 0 else place_behind(graph.filter[row], index)
    return place


@inline_kernel
def neighbours(graph: UnitGraph, port: int, index: int, end: int) -> int:
    """Return how many words of a port, from `index` on, are consecutive words of its stream.

    At most those before `end`. Behind a filter these are the words up to the next gap, else all.
    """
    row = graph.port[port, at.P_FILTER]
    if row < 0:
        return end - index
    counter = graph.filter[row]
    number = index + min(counter[K_START], counter[K_MOST])
    size: int = min(end - index, counter[K_MOST] - number % counter[K_MOST])
    return size
