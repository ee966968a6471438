"""Whether two units, or two FIFOs on a link, move words in the same cycle (engines.md §5)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tilewright.simulator.fast.fast_jit import inner_kernel, whole
from tilewright.simulator.fast.proofs.certificate import FifoLines, FifoPairs
from tilewright.simulator.fast.times.port_words import gather
from tilewright.simulator.fast.times.segments import SegmentCounts, lists_share_time, maximum
from tilewright.simulator.fast.units import graph as at
from tilewright.simulator.fast.units.graph import Ints, Times, UnitGraph, WordSpan

Bools = npt.NDArray[np.bool_]


@inner_kernel
def units_conflict(times: Times, first: Ints, second: Ints, conflicts: Bools) -> None:
    """Write for each pair of units whether both move a word in some same cycle.

    A unit is one run of an operation, or one message. first, second: (pairs,) units with known
    times; conflicts: (pairs,), changed.
    """
    for i in range(first.size):
        a, b = first[i], second[i]
        counts = SegmentCounts(times.pieces[a], times.pieces[b])
        conflicts[i] = lists_share_time(times.segment[a], times.segment[b], counts)


@inner_kernel
def fifo_times(graph: UnitGraph, times: Times, lines: FifoLines, fifo: int) -> int:
    """Write the cycles in which words leave a FIFO to work[0], as segments; return their number.

    A segment (t, r, m) stands for t, t + r, ... m times. A word inside a straight line of FIFOs
    leaves when it has arrived and when there is space down the line, which is exact if the line's
    queues hold latency + 1 words. Returns a negative number if the times do not fit or are not
    known; work[1] and work[2] are overwritten.
    """
    work, below = lines.work, lines.down[fifo]
    words = graph.port[fifo, at.P_WORDS]
    if lines.node[fifo]:
        span = WordSpan(fifo, whole(0), words, whole(0))
        return gather(graph, times, work[0], span, whole(1))
    row, down = graph.port[fifo], graph.port[below]
    span = WordSpan(row[at.P_SOURCE], whole(0), words, row[at.P_LATENCY])
    a = gather(graph, times, work[1], span, whole(1))
    space, credit = down[at.P_SPACE] - row[at.P_SPACE], down[at.P_CREDIT] - row[at.P_CREDIT]
    b = gather(graph, times, work[2], WordSpan(below, -space, words, credit), whole(0))
    if a < 0 or b < 0:
        return -1
    return maximum(work[0], work[1], work[2], SegmentCounts(a, b))


@inner_kernel
def links_conflict(
    graph: UnitGraph, times: Times, lines: FifoLines, pairs: FifoPairs, bad: Bools
) -> None:
    """Mark the parts of a program in which two FIFOs on one link may send in the same cycle.

    pairs: the FIFOs, and the part of each; bad: (parts,) mask, changed. A pair whose times do not
    fit the working space counts as a conflict.
    """
    first, second, part = pairs
    work = lines.work
    for i in range(first.size):
        if bad[part[first[i]]]:
            continue
        a = fifo_times(graph, times, lines, first[i])
        if a < 0:
            bad[part[first[i]]] = True
            continue
        for k in range(a):
            for column in range(3):
                work[3, k, column] = work[0, k, column]
        b = fifo_times(graph, times, lines, second[i])
        counts = SegmentCounts(a, b)
        bad[part[first[i]]] = b < 0 or lists_share_time(work[3], work[0], counts)
