"""The certificate: no decision of an arbiter, no queue or thread asked for while it is in use.

The times were found as if every element had a datapath per thread and every color its own links.
Where no two users of one datapath or link ever move in the same cycle, the arbiters never had a
choice, and the times are the machine's (induction over cycles, engines.md §5).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as engine
from tilewright.simulator.compile.fabric.network import EDGE_IN, EDGE_OUT, ROUTER, FifoNetwork
from tilewright.simulator.fast import graph as at
from tilewright.simulator.fast.fast_entries import links_meet, units_meet
from tilewright.simulator.fast.graph import (
    X_COMPLETION,
    Graph,
    Ints,
    Layout,
    Times,
)
from tilewright.simulator.fast.independent_parts import Division
from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.fast.script import Script

Bools = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int32]
AT_ONCE: Final = 1 << 16
"""Pairs looked at together: on a wafer all of them would take as much room as the graph."""


class Fifos(NamedTuple):
    """FIFOs whose words may meet."""

    down: Ints
    """As in Layout."""
    node: Bools
    """Whether a FIFO is a port of its own."""
    work: Ints
    """(4, segments of a FIFO at most, 3): room."""


class Pairs(NamedTuple):
    """Pairs of FIFOs on one link, and the part of each FIFO."""

    some: Ints
    others: Ints
    part: Ints


def units_of(layout: Layout, number: int, script: Script, k: int) -> Ints:
    """Return the units of one operation, an element each."""
    return layout.first[number] + k + script.size * np.arange(layout.elements[number].size)


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
    first = layout.first[number] + script.size * np.arange(layout.elements[number].size)
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
    network: FifoNetwork, graph: Graph, layout: Layout, times: Times, division: Division
) -> None:
    """Check that no two colors want a link in the same cycle. Raises NotCovered."""
    pairs = _sharing(network, graph)
    pairs = pairs[:, ~division.contended[pairs].all(axis=0)]
    near = _near(network, graph, layout, times, pairs)
    if not near.any():
        return
    node = np.isin(network.kind, [ROUTER, EDGE_IN]) & (graph.port[:, at.P_COUNT] > 0)
    sums = np.concatenate([[0], np.cumsum(times.pieces[graph.entry[:, 0]])])
    begin = np.where(graph.port[:, at.P_COUNT] > 0, graph.port[:, at.P_AT], 0)
    entries = sums[begin + graph.port[:, at.P_COUNT]] - sums[begin]
    work = np.empty((4, 4 * int(entries.max()) + 64, 3), dtype=np.int64)
    fifos = Fifos(layout.down, node, work)
    some, others = (np.ascontiguousarray(row[near], dtype=np.int64) for row in pairs)
    one = np.zeros(network.kind.size, dtype=np.int64)
    if not _parts_meeting(graph, times, fifos, Pairs(some, others, one)).size:
        return  # the usual end, without looking for parts
    bad = _parts_meeting(graph, times, fifos, Pairs(some, others, division.part))
    fifos_there = np.flatnonzero(np.isin(division.part[: network.kind.size], bad))
    users = np.unique(np.concatenate([some, others]))
    meeting = users[np.isin(division.part[users], bad)]
    raise NotCovered("two colors want a link at once", fifos=fifos_there, meeting=meeting)


def _parts_meeting(graph: Graph, times: Times, fifos: Fifos, pairs: Pairs) -> Ints:
    """Return the parts in which a pair of FIFOs moves a word in the same cycle, or may."""
    bad = np.zeros(int(pairs.part.max()) + 1, dtype=bool)
    links_meet(graph, times, fifos, pairs, bad)
    return np.flatnonzero(bad)


def _sharing(network: FifoNetwork, graph: Graph) -> Numbers:
    """Return the pairs of FIFOs with words on one link: (2, pairs)."""
    fifo, words = network.fifo, graph.port[:, at.P_WORDS] > 0
    sharing = np.flatnonzero((fifo[:, engine.F_SHARED] != 0) & words).astype(np.int32)
    by_rank = [sharing[fifo[sharing, engine.F_SUCCESSORS] > rank] for rank in range(5)]
    users = np.concatenate(by_rank)
    links = np.concatenate([fifo[mine, engine.F_LINK + r] for r, mine in enumerate(by_rank)])
    order = np.lexsort((users, links))
    links, users = links[order], users[order]
    found = [np.zeros((2, 0), dtype=np.int32)]
    for distance in range(1, links.size):
        same = links[distance:] == links[:-distance]
        if not same.any():
            break
        found.append(np.stack([users[:-distance][same], users[distance:][same]]))
    return np.concatenate(found, axis=1)


def _near(
    network: FifoNetwork, graph: Graph, layout: Layout, times: Times, pairs: Numbers
) -> Bools:
    """Return which pairs have words between the same cycles."""
    found = np.zeros(pairs.shape[1], dtype=bool)
    for first in range(0, found.size, AT_ONCE):
        piece = slice(first, first + AT_ONCE)
        low, high = _intervals(network, graph, layout, times, pairs[:, piece])
        found[piece] = (low[0] <= high[1]) & (low[1] <= high[0])
    return found


def _intervals(
    network: FifoNetwork, graph: Graph, layout: Layout, times: Times, fifos: Numbers
) -> tuple[Ints, Ints]:
    """Return cycles between which the words of FIFOs leave them, at most."""
    source, latency = graph.port[fifos, at.P_SOURCE], graph.port[fifos, at.P_LATENCY]
    down = layout.down[fifos]
    kind, passed = network.kind[fifos], graph.port[fifos, at.P_COUNT] > 0
    node = (kind == EDGE_IN) | ((kind == ROUTER) & passed)
    sink = network.kind[down] == EDGE_OUT
    low = np.where(node, 0, latency) + times.first[ends_of(graph, np.where(node, fifos, source))[0]]
    after = np.where(node, fifos, np.where(sink, source, down))
    high = np.where(sink & ~node, latency, 0) + times.last[ends_of(graph, after)[1]]
    return low, high


def ends_of(graph: Graph, ports: Ints) -> tuple[Ints, Ints]:
    """Return the first and the last unit that pass words through ports."""
    first = graph.port[ports, at.P_AT]
    return graph.entry[first, 0], graph.entry[first + graph.port[ports, at.P_COUNT] - 1, 0]
