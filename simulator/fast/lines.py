"""Straight lines of FIFOs: what a topology's graphs have in common, whatever is sent."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.simulator.engine import layout as at
from tilewright.simulator.fast.errors import NotCovered
from tilewright.simulator.fast.graph import Ints
from tilewright.simulator.fast.parts import Division
from tilewright.simulator.fusing import climb as follow
from tilewright.simulator.memo import Memo
from tilewright.simulator.network import EDGE_IN, EDGE_OUT, INPUT, OUTPUT, ROUTER, Network

Bools = npt.NDArray[np.bool_]
ENDLESS: Final = 1 << 40
"""Space of a channel to an edge output, which takes everything."""
_KEPT: Final = Memo(4)
"""By the kinds of a network's FIFOs, which all networks of one topology share."""


class Lines(NamedTuple):
    """The lines of a network, and what its FIFOs are."""

    table: Ints
    """(FIFOs, 6), see graph.LINE_...: source port; latency, space and credit from there up to and
    with the FIFO; next port down; FIFO where the stream begins."""
    branch: Bools
    """Router buffers that feed several FIFOs."""
    sends: Bools
    """Output queues."""
    takes: Bools
    """Input queues."""
    enters: Bools
    leaves: Bools
    """Edge inputs and edge outputs of the parts that are not refused."""


def lines_of(network: Network, kept: Division) -> Lines:
    """Return the lines of the parts that are not refused. Raises NotCovered."""
    if not kept.whole:
        return _find(network, kept)
    found: Lines = _KEPT.of(network.kind, "lines", lambda: _find(network, kept))
    return found


def climb(pointer: Ints, sums: Ints) -> Ints:
    """Follow pointers as `fusing.climb` does. Raises NotCovered for a loop."""
    ends = follow(pointer, sums)
    if ends is None:
        raise NotCovered("a route leads back to itself", fifos=_endless(pointer))
    return ends


def _endless(pointer: Ints) -> Ints:
    """Return the places from which pointers come to no end."""
    for _ in range(pointer.size.bit_length()):
        pointer = np.where(pointer >= 0, pointer[pointer], -1)
    return np.flatnonzero(pointer >= 0)


def _find(network: Network, kept: Division) -> Lines:
    kind, fifo = network.kind, network.fifo
    branch = (kind == ROUTER) & (fifo[:, at.F_SUCCESSORS] > 1)
    return Lines(
        _table(network, kept, branch),
        branch,
        kind == OUTPUT,
        kind == INPUT,
        kept.fifos & (kind == EDGE_IN),
        kept.fifos & (kind == EDGE_OUT),
    )


def _table(network: Network, kept: Division, branch: Bools) -> Ints:
    kind, fifo, size = network.kind, network.fifo, network.kind.size
    count = fifo[:, at.F_SUCCESSORS]
    parent = _parents(network, kept)
    _check_depths(network, kept)
    edge = (kind == EDGE_OUT) | (kind == EDGE_IN)
    node = branch | (kind == INPUT) | edge
    space = np.where(edge, ENDLESS, fifo[:, at.F_CAP])
    sums = np.stack([fifo[:, at.F_LATENCY], space, np.ones(size, np.int64)])
    up = np.where((parent >= 0) & ~node[parent], parent, -1)
    top = climb(up, sums)
    source = np.where(parent[top] >= 0, parent[top], top)
    only = np.where((count > 0) & kept.fifos, fifo[:, at.F_NEXT], -1)
    down = climb(np.where(node, -1, only), np.zeros((1, size), np.int64))
    root = climb(parent, np.zeros((1, size), np.int64))
    return np.stack([source, *sums, down, root], axis=1)


def _parents(network: Network, kept: Division) -> Ints:
    """Return the FIFO that feeds each FIFO, -1 for none."""
    fifo, size = network.fifo, network.kind.size
    used = (np.arange(5) < fifo[:, at.F_SUCCESSORS, None]) & kept.fifos[:, None]
    targets = fifo[:, at.F_NEXT : at.F_NEXT + 5][used]
    sources = np.broadcast_to(np.arange(size)[:, None], used.shape)[used]
    feeders = np.bincount(targets, minlength=size)
    if feeders.max(initial=0) > 1:
        crowded = np.flatnonzero(feeders > 1)
        raise NotCovered("a router takes one color from two sides", fifos=crowded)
    parent = np.full(size, -1, dtype=np.int64)
    parent[targets] = sources
    return parent


def _check_depths(network: Network, kept: Division) -> None:
    passing = np.isin(network.kind, [OUTPUT, ROUTER, INPUT]) & kept.fifos
    shallow = passing & (network.fifo[:, at.F_CAP] < network.fifo[:, at.F_LATENCY] + 1)
    if shallow.any():
        fifos = np.flatnonzero(shallow)
        raise NotCovered("a queue is too shallow for the full rate", fifos=fifos)
