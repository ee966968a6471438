"""Straight lines of FIFOs, which are channels between units (engines.md §2.2).

They depend on the topology of a network only, not on the words that are sent, so they are cached.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.arch.memo import IdentityCache
from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.fabric.network import (
    EDGE_IN,
    EDGE_OUT,
    INPUT,
    OUTPUT,
    ROUTER,
    FifoNetwork,
    are_of,
)
from tilewright.simulator.compile.fabric.queue_fusion import follow_pointers as follow
from tilewright.simulator.compile.fabric.topology import MOST_FIFOS
from tilewright.simulator.fast.fast_entries import compile_entries
from tilewright.simulator.fast.independent_parts import Division
from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.fast.units.graph import Ints
from tilewright.simulator.fast.units.ramp_filters import filters_of

Bools = npt.NDArray[np.bool_]
ENDLESS: Final = 1 << 40
"""Space of a channel to an edge output, which takes everything."""
_LINES: Final = IdentityCache(4)
"""By the kinds of a network's FIFOs, which all networks of one topology share."""


class LineTables(NamedTuple):
    """Hold a network's straight lines: chains of FIFOs that act as one channel (engines.md §2.2).

    Arrays over the FIFOs. `channel`: source FIFO of each one's channel, and latency, space and
    credit delay (cycles, words, cycles) from there. `down`: the FIFO at the end of the line.
    `root`: where the stream begins. `branch`: router buffers that feed several FIFOs, have a
    filter, contend for a link, or are all to be timed by themselves. `sends`, `takes`: output and
    input queues. `enters`, `leaves`: edge inputs and outputs that the fast engine covers.
    """

    channel: tuple[Ints, ...]
    down: Ints
    root: Ints
    branch: Bools
    sends: Bools
    takes: Bools
    enters: Bools
    leaves: Bools


def lines_of(network: FifoNetwork, division: Division) -> LineTables:
    """Find the straight lines of a network: chains of FIFOs that act as one channel.

    division: says which FIFOs the fast engine still covers and which contend for a link. Raises
    NotCovered for a router that takes one color from two sides, a route that leads back to itself,
    and a queue of less than latency + 1 words.
    """
    if not division.untouched or network.kind.size > MOST_FIFOS:
        return _line_tables(network, division)
    lines: LineTables = _LINES.of(network.kind, "lines", lambda: _line_tables(network, division))
    return lines


def line_ends(pointer: Ints, sums: Ints) -> Ints:
    """Return the end of each FIFO's chain of pointers, and add up values along the chains.

    pointer: (FIFOs,) the next one, -1 at an end. sums: (k, FIFOs), changed: each gets the sum over
    its chain. Raises NotCovered, with the FIFOs, for a chain that leads back to itself.
    """
    compile_entries()  # here first, so that the solver is compiled beside what is needed now
    ends = follow(pointer, sums)
    if ends is None:
        raise NotCovered("a route leads back to itself", fifos=_endless(pointer))
    return ends


def _endless(pointer: Ints) -> Ints:
    """Return the numbers of the FIFOs from which pointers lead into a loop.

    pointer: by FIFO the number of another one, -1 for none.
    """
    for _ in range(pointer.size.bit_length()):
        pointer = np.where(pointer >= 0, pointer[pointer], -1)
    return np.flatnonzero(pointer >= 0)


def _line_tables(network: FifoNetwork, division: Division) -> LineTables:
    kind = network.kind
    several = (network.fifo[:, at.F_SUCCESSORS] > 1) | division.contended
    several |= division.separate_routers
    several[filters_of(network, division).router] = True
    branch = (kind == ROUTER) & several
    parent, root = _streams(network, division)
    node = branch | (kind == INPUT) | (kind == EDGE_OUT) | (kind == EDGE_IN)
    return LineTables(
        _channels(network, parent, node),
        _down(network, division, node),
        root,
        branch,
        kind == OUTPUT,
        kind == INPUT,
        division.fifos & (kind == EDGE_IN),
        division.fifos & (kind == EDGE_OUT),
    )


def _streams(network: FifoNetwork, division: Division) -> tuple[Ints, Ints]:
    """Return the FIFO that feeds each FIFO, -1 for none, and the one where its stream begins."""

    def streams() -> tuple[Ints, Ints]:
        parent = _parents(network, division)
        _check_depths(network, division)
        return parent, line_ends(parent, np.zeros((0, parent.size), np.int64))

    if not division.whole or network.kind.size > MOST_FIFOS:
        return streams()
    of_network: tuple[Ints, Ints] = _LINES.of(network.kind, "streams", streams)
    return of_network


def _channels(network: FifoNetwork, parent: Ints, node: Bools) -> tuple[Ints, ...]:
    """Return (source, latency, space, credit) of each FIFO's channel: arrays (FIFOs,).

    A channel is a chain of FIFOs from a source with times of its own. latency: cycles of a word
    through it; space: words that it holds; credit: cycles until its source can use space that was
    freed at its end.
    """
    kind, fifo = network.kind, network.fifo
    sums = np.ones((3, kind.size), dtype=np.int64)
    sums[0], sums[1] = fifo[:, at.F_LATENCY], fifo[:, at.F_CAP]
    sums[1, (kind == EDGE_OUT) | (kind == EDGE_IN)] = ENDLESS
    top = line_ends(np.where((parent >= 0) & ~node[parent], parent, -1), sums)
    source = parent[top]
    first = source < 0
    source[first] = top[first]
    return source, *sums


def _down(network: FifoNetwork, division: Division, node: Bools) -> Ints:
    """Return for each FIFO the number of the next port on the way of its words.

    A port gives itself. node: which FIFOs are ports, that is have times of their own.
    """
    ends = node | (network.fifo[:, at.F_SUCCESSORS] == 0) | ~division.fifos
    only = np.where(ends, np.int64(-1), network.fifo[:, at.F_NEXT])
    return line_ends(only, np.zeros((0, only.size), np.int64))


def _parents(network: FifoNetwork, division: Division) -> Ints:
    """Return the FIFO that feeds each FIFO, -1 for none.

    Raises NotCovered for a router that takes one color from two sides.
    """
    fifo, size = network.fifo, network.kind.size
    used = (np.arange(5) < fifo[:, at.F_SUCCESSORS, None]) & division.fifos[:, None]
    targets = fifo[:, at.F_NEXT : at.F_NEXT + 5][used]
    sources = np.broadcast_to(np.arange(size)[:, None], used.shape)[used]
    feeders = np.bincount(targets, minlength=size)
    if feeders.max(initial=0) > 1:
        fed_twice = np.flatnonzero(feeders > 1)
        raise NotCovered("a router takes one color from two sides", fifos=fed_twice)
    parent = np.full(size, -1, dtype=np.int64)
    parent[targets] = sources
    return parent


def _check_depths(network: FifoNetwork, division: Division) -> None:
    passing = are_of(network.kind, OUTPUT, ROUTER, INPUT) & division.fifos
    shallow = passing & (network.fifo[:, at.F_CAP] < network.fifo[:, at.F_LATENCY] + 1)
    if shallow.any():
        fifos = np.flatnonzero(shallow)
        raise NotCovered("a queue is too shallow for the full rate", fifos=fifos)
