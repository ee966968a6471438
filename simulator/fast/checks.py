"""The certificate: no decision of an arbiter, no queue or thread asked for while it is in use.

The times were found as if every element had a datapath per thread and every color its own links.
Where no two users of one datapath or link ever move in the same cycle, the arbiters never had a
choice, and the times are the machine's (induction over cycles, fabric-engine.md §5.1).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tilewright.simulator.engine import layout as engine
from tilewright.simulator.fast import graph as at
from tilewright.simulator.fast.entries import links_meet, units_meet
from tilewright.simulator.fast.errors import NotCovered
from tilewright.simulator.fast.graph import (
    LINE_DOWN,
    LINE_LATENCY,
    LINE_SOURCE,
    Fifos,
    Graph,
    Ints,
    Layout,
    Pairs,
)
from tilewright.simulator.fast.parts import Division
from tilewright.simulator.fast.script import FabricOp, Script
from tilewright.simulator.fast.times import X_COMPLETION, Times
from tilewright.simulator.network import EDGE_IN, EDGE_OUT, ROUTER, Network

Bools = npt.NDArray[np.bool_]


def units_of(layout: Layout, number: int, script: Script, k: int) -> Ints:
    """Return the units of one operation, an element each."""
    return layout.first[number] + k + len(script.ops) * np.arange(layout.elements[number].size)


def check_threads(layout: Layout, times: Times, scripts: Sequence[Script]) -> None:
    """Check queues, microthreads and datapaths of the elements. Raises NotCovered."""
    held = [np.zeros(0, dtype=np.int64)]
    shared = [np.zeros(0, dtype=np.int64)]
    for number, script in enumerate(scripts):
        mine = layout.elements[number]
        bad = np.zeros(mine.size, dtype=bool)
        for k, op in enumerate(script.ops):
            bad |= _in_use(layout, times, (number, script), (k, op))
        held.append(mine[bad])
        bad = np.zeros(mine.size, dtype=bool)
        for k, op in enumerate(script.ops):
            bad |= _contended(layout, times, (number, script), (k, op))
        shared.append(mine[bad])
    busy, both = np.concatenate(held), np.concatenate(shared)
    if busy.size:
        raise NotCovered("a queue or microthread may still be in use", elements=busy)
    if both.size:
        raise NotCovered("two threads of an element want the datapath at once", elements=both)


def _in_use(
    layout: Layout, times: Times, which: tuple[int, Script], this: tuple[int, FabricOp]
) -> Bools:
    """Return of which elements an operation finds its queue or microthread in use."""
    mine = units_of(layout, *which, this[0])
    found = np.zeros(mine.size, dtype=bool)
    for j in this[1].exclusive:
        other = units_of(layout, *which, j)
        found |= times.last[other] + times.header[X_COMPLETION] >= times.start[mine]
    return found


def _contended(
    layout: Layout, times: Times, which: tuple[int, Script], this: tuple[int, FabricOp]
) -> Bools:
    """Return in which elements an operation and one beside it want the datapath at once."""
    first, last = times.first, times.last
    mine = units_of(layout, *which, this[0])
    found = np.zeros(mine.size, dtype=bool)
    for j in this[1].together:
        other = units_of(layout, *which, j)
        near = (first[mine] <= last[other]) & (first[other] <= last[mine]) & ~found
        if near.any():
            meeting = np.zeros(int(near.sum()), dtype=bool)
            units_meet(times, mine[near], other[near], meeting)
            found[near] = meeting
    return found


def check_links(
    network: Network, graph: Graph, layout: Layout, times: Times, division: Division
) -> None:
    """Check that no two colors want a link in the same cycle. Raises NotCovered."""
    some, others = _sharing(network, graph)
    if some.size == 0:
        return
    first, last = times.first, times.last
    low, high = _intervals(network, graph, layout, (first, last))
    near = (low[some] <= high[others]) & (low[others] <= high[some])
    if not near.any():
        return
    node = np.isin(network.kind, [ROUTER, EDGE_IN]) & (graph.port[:, at.P_COUNT] > 0)
    sums = np.concatenate([[0], np.cumsum(times.pieces[graph.entry[:, 0]])])
    begin = np.where(graph.port[:, at.P_COUNT] > 0, graph.port[:, at.P_AT], 0)
    entries = sums[begin + graph.port[:, at.P_COUNT]] - sums[begin]
    work = np.empty((4, 4 * int(entries.max()) + 64, 3), dtype=np.int64)
    pairs = Pairs(some[near], others[near], division.part)
    bad = np.zeros(int(division.part.max()) + 1, dtype=bool)
    links_meet(graph, times, Fifos(layout.line, node, work), pairs, bad)
    if bad.any():
        fifos = np.flatnonzero(bad[division.part[: network.kind.size]])
        raise NotCovered("two colors want a link at once", fifos=fifos)


def _sharing(network: Network, graph: Graph) -> tuple[Ints, Ints]:
    """Return the pairs of FIFOs with words on one link."""
    fifo = network.fifo
    used = np.arange(5) < fifo[:, engine.F_SUCCESSORS, None]
    used &= ((graph.port[:, at.P_WORDS] > 0) & (fifo[:, engine.F_SHARED] != 0))[:, None]
    links = fifo[:, engine.F_LINK : engine.F_LINK + 5][used]
    users = np.broadcast_to(np.arange(fifo.shape[0])[:, None], used.shape)[used]
    order = np.argsort(links, kind="stable")
    links, users = links[order], users[order]
    some, others = [], []
    for distance in range(1, links.size):
        same = links[distance:] == links[:-distance]
        if not same.any():
            break
        some.append(users[:-distance][same])
        others.append(users[distance:][same])
    empty = np.zeros(0, dtype=np.int64)
    return np.concatenate([empty, *some]), np.concatenate([empty, *others])


def _intervals(
    network: Network, graph: Graph, layout: Layout, ends: tuple[Ints, Ints]
) -> tuple[Ints, Ints]:
    """Return cycles between which each FIFO's words leave it, at most."""
    first, last = ends
    port = graph.port
    source, down = layout.line[:, LINE_SOURCE], layout.line[:, LINE_DOWN]
    passed = port[:, at.P_COUNT] > 0
    begin = np.zeros(passed.size, dtype=np.int64)
    end = begin.copy()
    begin[passed] = first[graph.entry[port[passed, at.P_AT], 0]]
    end[passed] = last[graph.entry[port[passed, at.P_AT] + port[passed, at.P_COUNT] - 1, 0]]
    node = np.isin(network.kind, [EDGE_IN]) | ((network.kind == ROUTER) & passed)
    sink = network.kind[down] == EDGE_OUT
    latency = layout.line[:, LINE_LATENCY]
    low = np.where(node, begin, begin[source] + latency)
    high = np.where(node, end, np.where(sink, end[source] + latency, end[down]))
    return low, high
