"""FIFOs that want a link at once, and what the arbiter has to know of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.fabric.network import EDGE_IN, ROUTER, FifoNetwork
from tilewright.simulator.fast.no_certificate import Ints

Bools = npt.NDArray[np.bool_]


def users_of_links(network: FifoNetwork, wanted: Bools) -> tuple[Ints, Ints]:
    """Return (link, FIFO) of every way by which some FIFOs send, by links."""
    fifo = network.fifo
    used = (np.arange(5) < fifo[:, at.F_SUCCESSORS, None]) & wanted[:, None]
    links = fifo[:, at.F_LINK : at.F_LINK + 5][used]
    users = np.broadcast_to(np.arange(fifo.shape[0])[:, None], used.shape)[used]
    order = np.argsort(links, kind="stable")
    return links[order].astype(np.int64), users[order].astype(np.int64)


def rivals_of(network: FifoNetwork, contended: Bools) -> tuple[Ints, Ints, Ints]:
    """Return the rivals of contended FIFOs in one list, where each one's begin, and how many."""
    links, users = users_of_links(network, contended)
    begins = np.zeros(contended.size, dtype=np.int64)
    counts = np.zeros(contended.size, dtype=np.int64)
    found: list[int] = []
    _, first, size = np.unique(links, return_index=True, return_counts=True)
    for begin, count in zip(first[size > 1].tolist(), size[size > 1].tolist(), strict=True):
        together = users[begin : begin + count].tolist()
        for fifo in together:
            begins[fifo], counts[fifo] = len(found), count - 1
            found.extend(other for other in together if other != fifo)
    return np.array(found, dtype=np.int64), begins, counts


def can_be_played(network: FifoNetwork, contended: Bools) -> Bools:
    """Return which FIFOs the arbiter can play: routers and edges with rivals on one link only."""
    links, users = users_of_links(network, contended)
    _, number, size = np.unique(links, return_inverse=True, return_counts=True)
    crowded = np.bincount(users[size[number] > 1], minlength=contended.size)
    plain = np.isin(network.kind, (ROUTER, EDGE_IN)) & (network.fifo[:, at.F_WAY] < 0)
    return np.asarray(plain & (crowded <= 1))
