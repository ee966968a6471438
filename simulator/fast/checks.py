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
from tilewright.simulator.fast.script import Script
from tilewright.simulator.fast.times import X_COMPLETION, Times
from tilewright.simulator.network import EDGE_IN, EDGE_OUT, ROUTER, Network

Bools = npt.NDArray[np.bool_]


def units_of(layout: Layout, number: int, script: Script, k: int) -> Ints:
    """Return the units of one operation, an element each."""
    return layout.first[number] + k + len(script.ops) * np.arange(layout.elements[number].size)


def check_threads(layout: Layout, times: Times, scripts: Sequence[Script]) -> None:
    """Check queues, microthreads and datapaths of the elements. Raises NotCovered."""
    for found, reason in (
        (_in_use, "a queue or microthread may still be in use"),
        (_contended, "two threads of an element want the datapath at once"),
    ):
        bad = [
            layout.elements[number][found(layout, times, (number, script))]
            for number, script in enumerate(scripts)
            if script.overlaps
        ]
        if any(elements.size for elements in bad):
            raise NotCovered(reason, elements=np.concatenate(bad))


def _pairs(layout: Layout, which: tuple[int, Script], pairs: Ints) -> tuple[Ints, Ints]:
    """Return the units of pairs of operations: (elements, pairs) each."""
    number, script = which
    first = layout.first[number] + len(script.ops) * np.arange(layout.elements[number].size)
    return first[:, None] + pairs[:, 0], first[:, None] + pairs[:, 1]


def _in_use(layout: Layout, times: Times, which: tuple[int, Script]) -> Bools:
    """Return of which elements an operation finds its queue or microthread in use."""
    mine, other = _pairs(layout, which, which[1].tables.exclusive)
    busy = times.last[other] + times.header[X_COMPLETION] >= times.start[mine]
    return np.asarray(busy.any(axis=1))


def _contended(layout: Layout, times: Times, which: tuple[int, Script]) -> Bools:
    """Return in which elements an operation and one beside it want the datapath at once."""
    first, last = times.first, times.last
    mine, other = _pairs(layout, which, which[1].tables.together)
    near = (first[mine] <= last[other]) & (first[other] <= last[mine])
    meeting = np.zeros(int(near.sum()), dtype=bool)
    units_meet(times, mine[near], other[near], meeting)
    near[near] = meeting
    return np.asarray(near.any(axis=1))


def check_links(
    network: Network, graph: Graph, layout: Layout, times: Times, division: Division
) -> None:
    """Check that no two colors want a link in the same cycle. Raises NotCovered."""
    some, others = _sharing(network, graph)
    if some.size == 0:
        return
    low, high = _intervals(network, graph, layout, times, np.stack([some, others]))
    near = (low[0] <= high[1]) & (low[1] <= high[0])
    if not near.any():
        return
    node = np.isin(network.kind, [ROUTER, EDGE_IN]) & (graph.port[:, at.P_COUNT] > 0)
    sums = np.concatenate([[0], np.cumsum(times.pieces[graph.entry[:, 0]])])
    begin = np.where(graph.port[:, at.P_COUNT] > 0, graph.port[:, at.P_AT], 0)
    entries = sums[begin + graph.port[:, at.P_COUNT]] - sums[begin]
    work = np.empty((4, 4 * int(entries.max()) + 64, 3), dtype=np.int64)
    fifos = Fifos(layout.line, node, work)
    some, others = some[near], others[near]
    one = np.zeros(network.kind.size, dtype=np.int64)
    if not _parts_meeting(graph, times, fifos, Pairs(some, others, one)).size:
        return  # the usual end, without looking for parts
    bad = _parts_meeting(graph, times, fifos, Pairs(some, others, division.part))
    meeting = np.flatnonzero(np.isin(division.part[: network.kind.size], bad))
    raise NotCovered("two colors want a link at once", fifos=meeting)


def _parts_meeting(graph: Graph, times: Times, fifos: Fifos, pairs: Pairs) -> Ints:
    """Return the parts in which a pair of FIFOs moves a word in the same cycle, or may."""
    bad = np.zeros(int(pairs.part.max()) + 1, dtype=bool)
    links_meet(graph, times, fifos, pairs, bad)
    return np.flatnonzero(bad)


def _sharing(network: Network, graph: Graph) -> tuple[Ints, Ints]:
    """Return the pairs of FIFOs with words on one link."""
    fifo = network.fifo
    sharing = np.flatnonzero((fifo[:, engine.F_SHARED] != 0) & (graph.port[:, at.P_WORDS] > 0))
    used = np.arange(5) < fifo[sharing, engine.F_SUCCESSORS, None]
    links = fifo[sharing, engine.F_LINK : engine.F_LINK + 5][used]
    users = np.broadcast_to(sharing[:, None], used.shape)[used]
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
    network: Network, graph: Graph, layout: Layout, times: Times, fifos: Ints
) -> tuple[Ints, Ints]:
    """Return cycles between which the words of FIFOs leave them, at most."""
    line = layout.line[fifos]
    source, down, latency = line[..., LINE_SOURCE], line[..., LINE_DOWN], line[..., LINE_LATENCY]
    kind, passed = network.kind[fifos], graph.port[fifos, at.P_COUNT] > 0
    node = (kind == EDGE_IN) | ((kind == ROUTER) & passed)
    sink = network.kind[down] == EDGE_OUT
    low = np.where(node, 0, latency) + times.first[_ends(graph, np.where(node, fifos, source))[0]]
    after = np.where(node, fifos, np.where(sink, source, down))
    high = np.where(sink & ~node, latency, 0) + times.last[_ends(graph, after)[1]]
    return low, high


def _ends(graph: Graph, ports: Ints) -> tuple[Ints, Ints]:
    """Return the first and the last unit that pass words through ports."""
    first = graph.port[ports, at.P_AT]
    return graph.entry[first, 0], graph.entry[first + graph.port[ports, at.P_COUNT] - 1, 0]
