"""The certificate: no arbiter has a choice, and no queue or thread is requested while in use.

The solver finds times as if every thread had a datapath and every color its own links. If no two
users of one datapath or link ever move in the same cycle, no arbiter has a choice, and the times
are those of the machine (induction over cycles, engines.md §5).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as engine
from tilewright.simulator.compile.fabric.network import (
    EDGE_IN,
    EDGE_OUT,
    ROUTER,
    FifoNetwork,
    are_of,
)
from tilewright.simulator.fast.fast_entries import links_conflict, units_conflict
from tilewright.simulator.fast.independent_parts import Division
from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.fast.units import graph as at
from tilewright.simulator.fast.units.graph import X_COMPLETION, Ints, Times, UnitGraph, UnitLayout
from tilewright.simulator.fast.walk.script import Script

Bools = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int32]
BATCH: Final = 1 << 16
"""Pairs checked together: all pairs of a wafer would take as much memory as the graph."""


class FifoLines(NamedTuple):
    """Say at the end of which line each FIFO is, with working space for lists of times.

    A line is a chain of FIFOs that act as one channel (engines.md §2.2). `down`: (FIFOs,) number of
    the FIFO at the end of each one's line. `node`: (FIFOs,) whether the solver has times of the
    FIFO itself. `work`: (4, most segments, 3) four lists of segments (t, r, m), each t, t + r, ...
    m times.
    """

    down: Ints
    node: Bools
    work: Ints


class FifoPairs(NamedTuple):
    """Hold pairs of FIFOs that send on one link: `first` and `second`, (pairs,) numbers each.

    `part`: (FIFOs,) the independent part of the program that each FIFO belongs to.
    """

    first: Ints
    second: Ints
    part: Ints


def units_of(layout: UnitLayout, number: int, script: Script, k: int) -> Ints:
    """Return the units of one operation in all elements of a code: (elements,) numbers.

    A unit is one run of an operation on queues in one element. number: of the code; k: number of
    the run in the code's script, which lists such runs in order.
    """
    return layout.first[number] + k + script.size * np.arange(layout.elements[number].size)


def check_threads(layout: UnitLayout, times: Times, scripts: Sequence[Script]) -> None:
    """Check that no element has two operations at once on one queue, microthread or datapath.

    An operation must have ended before another one uses its queue or microthread, and no two may
    use the datapath in one cycle: then the times, which assume this, are the machine's (engines.md
    §5). times: solved; scripts: per code its runs of operations. Raises NotCovered with the
    elements.
    """
    for check, reason in (
        (_in_use, "a queue or microthread may still be in use"),
        (_contended, "two threads of an element want the datapath at once"),
    ):
        bad = [
            layout.elements[number][check(times, script, units_of(layout, number, script, 0))]
            for number, script in enumerate(scripts)
            if script.overlaps
        ]
        if any(elements.size for elements in bad):
            raise NotCovered(reason, elements=np.concatenate(bad))


def _in_use(times: Times, script: Script, first_units: Ints) -> Bools:
    """Return the elements in which an operation finds its queue or microthread in use."""
    pairs = script.tables.exclusive
    later, earlier = first_units[:, None] + pairs[:, 0], first_units[:, None] + pairs[:, 1]
    busy = times.last[earlier] + times.header[X_COMPLETION] >= times.start[later]
    return np.asarray(busy.any(axis=1))


def _contended(times: Times, script: Script, first_units: Ints) -> Bools:
    """Return the elements in which two operations want the datapath in one cycle."""
    first, last, pairs = times.first, times.last, script.tables.together
    later, earlier = first_units[:, None] + pairs[:, 0], first_units[:, None] + pairs[:, 1]
    overlapping = (first[later] <= last[earlier]) & (first[earlier] <= last[later])
    conflicting = np.zeros(int(overlapping.sum()), dtype=bool)
    units_conflict(times, later[overlapping], earlier[overlapping], conflicting)
    overlapping[overlapping] = conflicting
    return np.asarray(overlapping.any(axis=1))


def check_links(
    network: FifoNetwork, graph: UnitGraph, layout: UnitLayout, times: Times, division: Division
) -> None:
    """Check that no two colors want a link in the same cycle, but where an arbiter decided.

    times: solved as if each color had links of its own; division: says which FIFOs are already left
    to the simulated arbiter. Raises NotCovered with the FIFOs of the parts concerned and those that
    contend (engines.md §5).
    """
    pairs = link_pairs(network, graph)
    pairs = pairs[:, ~division.contended[pairs].all(axis=0)]
    overlapping = _overlapping(network, graph, layout, times, pairs)
    if not overlapping.any():
        return
    node = are_of(network.kind, ROUTER, EDGE_IN) & (graph.port[:, at.P_COUNT] > 0)
    sums = np.concatenate([[0], np.cumsum(times.pieces[graph.entry[:, 0]])])
    begin = np.where(graph.port[:, at.P_COUNT] > 0, graph.port[:, at.P_AT], 0)
    entries = sums[begin + graph.port[:, at.P_COUNT]] - sums[begin]
    work = np.empty((4, 4 * int(entries.max()) + 64, 3), dtype=np.int64)
    lines = FifoLines(layout.down, node, work)
    first, second = (np.ascontiguousarray(row[overlapping], dtype=np.int64) for row in pairs)
    single_part = np.zeros(network.kind.size, dtype=np.int64)
    if not _conflicting_parts(graph, times, lines, FifoPairs(first, second, single_part)).size:
        return  # the usual end: the parts need not be known
    bad = _conflicting_parts(graph, times, lines, FifoPairs(first, second, division.part))
    fifos = np.flatnonzero(np.isin(division.part[: network.kind.size], bad))
    users = np.unique(np.concatenate([first, second]))
    contending = users[np.isin(division.part[users], bad)]
    raise NotCovered("two colors want a link at once", fifos=fifos, contending=contending)


def _conflicting_parts(graph: UnitGraph, times: Times, lines: FifoLines, pairs: FifoPairs) -> Ints:
    """Return the numbers of the parts in which a pair of FIFOs may send on a link in one cycle."""
    bad = np.zeros(int(pairs.part.max()) + 1, dtype=bool)
    links_conflict(graph, times, lines, pairs, bad)
    return np.flatnonzero(bad)


def link_pairs(network: FifoNetwork, graph: UnitGraph) -> Numbers:
    """Return all pairs of FIFOs that send words over one link: (2, pairs) numbers of FIFOs."""
    fifo, words = network.fifo, graph.port[:, at.P_WORDS] > 0
    sharing = np.flatnonzero((fifo[:, engine.F_SHARED] != 0) & words).astype(np.int32)
    by_rank = [sharing[fifo[sharing, engine.F_SUCCESSORS] > rank] for rank in range(5)]
    users = np.concatenate(by_rank)
    links = np.concatenate([fifo[senders, engine.F_LINK + r] for r, senders in enumerate(by_rank)])
    order = np.lexsort((users, links))
    links, users = links[order], users[order]
    pairs = [np.zeros((2, 0), dtype=np.int32)]
    for distance in range(1, links.size):
        same = links[distance:] == links[:-distance]
        if not same.any():
            break
        pairs.append(np.stack([users[:-distance][same], users[distance:][same]]))
    return np.concatenate(pairs, axis=1)


def _overlapping(
    network: FifoNetwork, graph: UnitGraph, layout: UnitLayout, times: Times, pairs: Numbers
) -> Bools:
    """Return the pairs whose ranges of cycles overlap."""
    overlapping = np.zeros(pairs.shape[1], dtype=bool)
    for first in range(0, overlapping.size, BATCH):
        piece = slice(first, first + BATCH)
        low, high = intervals(network, graph, layout, times, pairs[:, piece])
        overlapping[piece] = (low[0] <= high[1]) & (low[1] <= high[0])
    return overlapping


def intervals(
    network: FifoNetwork, graph: UnitGraph, layout: UnitLayout, times: Times, fifos: Numbers
) -> tuple[Ints, Ints]:
    """Return a range of cycles outside which no word leaves each FIFO.

    fifos: numbers of FIFOs, of any shape. Both results have this shape: no word leaves before the
    cycle of the first array, none after that of the second.
    """
    source, latency = graph.port[fifos, at.P_SOURCE], graph.port[fifos, at.P_LATENCY]
    down = layout.down[fifos]
    kind, passed = network.kind[fifos], graph.port[fifos, at.P_COUNT] > 0
    node = (kind == EDGE_IN) | ((kind == ROUTER) & passed)
    sink = network.kind[down] == EDGE_OUT
    low = np.where(node, 0, latency) + times.first[ends_of(graph, np.where(node, fifos, source))[0]]
    after = np.where(node, fifos, np.where(sink, source, down))
    high = np.where(sink & ~node, latency, 0) + times.last[ends_of(graph, after)[1]]
    return low, high


def ends_of(graph: UnitGraph, ports: Ints) -> tuple[Ints, Ints]:
    """Return the first and the last unit that pass words through each of some FIFOs: two arrays.

    A unit is one run of an operation on queues, or one message. ports: numbers of FIFOs through
    which at least one word passes. The results are numbers of units, in the shape of `ports`.
    """
    first = graph.port[ports, at.P_AT]
    return graph.entry[first, 0], graph.entry[first + graph.port[ports, at.P_COUNT] - 1, 0]
