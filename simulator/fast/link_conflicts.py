"""Whether units, or FIFOs on a link, move words in the same cycle."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tilewright.simulator.fast import graph as at
from tilewright.simulator.fast.certificate import Fifos, Pairs
from tilewright.simulator.fast.fast_jit import inner_kernel, whole
from tilewright.simulator.fast.graph import (
    Graph,
    Ints,
    Times,
)
from tilewright.simulator.fast.segments import meets, upper
from tilewright.simulator.fast.solve import gather

Bools = npt.NDArray[np.bool_]


@inner_kernel
def units_meet(times: Times, some: Ints, others: Ints, found: Bools) -> None:
    """Find whether each pair of units has a time in common."""
    for i in range(some.size):
        a, b = some[i], others[i]
        count = (times.pieces[a], times.pieces[b])
        found[i] = meets(times.segment[a], times.segment[b], count)


@inner_kernel
def fifo_times(graph: Graph, times: Times, below: int, where: tuple[int, bool], work: Ints) -> int:
    """Write the times at which words leave a FIFO to work[0]; work[1], work[2] are room."""
    f, node = where
    words = graph.port[f, at.P_WORDS]
    if node:
        return gather(graph, times, work[0], (f, whole(0), words, whole(0)), whole(1))
    row, down = graph.port[f], graph.port[below]
    span = (row[at.P_SOURCE], whole(0), words, row[at.P_LATENCY])
    a = gather(graph, times, work[1], span, whole(1))
    space, credit = down[at.P_SPACE] - row[at.P_SPACE], down[at.P_CREDIT] - row[at.P_CREDIT]
    b = gather(graph, times, work[2], (below, -space, words, credit), whole(0))
    if a < 0 or b < 0:
        return -1
    return upper(work[0], work[1], work[2], (a, b))


@inner_kernel
def links_meet(graph: Graph, times: Times, fifos: Fifos, pairs: Pairs, bad: Bools) -> None:
    """Find the parts in which a pair of FIFOs moves a word in the same cycle, or may."""
    down, node, work = fifos
    some, others, part = pairs
    for i in range(some.size):
        if bad[part[some[i]]]:
            continue
        a = fifo_times(graph, times, down[some[i]], (some[i], node[some[i]]), work)
        if a < 0:
            bad[part[some[i]]] = True
            continue
        for k in range(a):
            for column in range(3):
                work[3, k, column] = work[0, k, column]
        b = fifo_times(graph, times, down[others[i]], (others[i], node[others[i]]), work)
        bad[part[some[i]]] = b < 0 or meets(work[3], work[0], (a, b))
