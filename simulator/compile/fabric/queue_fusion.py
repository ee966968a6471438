"""Straight lines of queues and routers as single queues: fewer events, the same cycles.

On a line whose queues all hold at least latency + 1 words, and whose links nobody else uses, what
happens between the ends cannot be seen from outside (engines.md §2.2): with summed
latencies, capacities and credit delays one queue gives every word the same cycle at both ends.
Tests compare with the plain network.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.fabric.network import INPUT, OUTPUT, ROUTER, FifoNetwork, are_of
from tilewright.simulator.compile.store_layout import StoreLayout

Ids = npt.NDArray[np.int64]


def follow_pointers(pointer: Ids, sums: Ids) -> Ids | None:
    """Follow each row's chain of pointers to its end; return the ends, or None for a loop.

    pointer: (rows,) next row, -1 at an end, which is its own end. sums: (k, rows), changed: each
    row gets the sum of its values over its chain, end included.
    """
    from tilewright.simulator.engine.engine_entries import follow

    ends = np.full(pointer.size, -1, dtype=np.int64)
    stack = np.empty(pointer.size, dtype=np.int64)
    return ends if follow(pointer, sums, ends, stack) else None


def mergeable_into(network: FifoNetwork) -> Ids:
    """Return (FIFOs,) the next FIFO with which each FIFO can be simulated as one, or -1.

    It can be if it feeds the next one only and nobody else does, over a link of its own, and both
    hold at least latency + 1 words: then merging changes no time (engines.md §2.2). Queues that may
    pass two wavelets per cycle, edge ports and routers that choose are not merged.
    """
    fifo, kind = network.fifo, network.kind
    not_merged = np.full(kind.size, -1, dtype=np.int64)
    if kind.size == 0:
        return not_merged
    used = np.arange(5) < fifo[:, at.F_SUCCESSORS, None]
    targets = fifo[:, at.F_NEXT : at.F_NEXT + 5]
    feeders = np.bincount(targets[used], minlength=kind.size)
    successor = np.where(fifo[:, at.F_SUCCESSORS] == 1, targets[:, 0], 0)
    deep = fifo[:, at.F_CAP] >= fifo[:, at.F_LATENCY] + 1
    able = (fifo[:, at.F_SUCCESSORS] == 1) & (fifo[:, at.F_SHARED] == 0) & deep
    able &= are_of(kind, OUTPUT, ROUTER) & are_of(kind[successor], ROUTER, INPUT)
    able &= deep[successor] & (feeders[successor] == 1)
    paired = fifo[:, at.F_WAKE] == 2  # its ends move two words in a cycle
    able &= ~paired & ~paired[successor]
    return np.where(able, successor, not_merged)


def fuse_queues(store: at.Table, parts: StoreLayout, network: FifoNetwork) -> tuple[at.Table, Ids]:
    """Merge lines of queues and router buffers in a copy of the store: fewer events, same cycles.

    Returns the copy and (FIFOs,) the number of the FIFO that each one became part of, which has the
    line's summed latency, capacity and credit delay (engines.md §2.2). If the network has a loop of
    such FIFOs, the store itself is returned, with each FIFO its own.
    """
    pointer = mergeable_into(network)
    fifo = network.fifo
    # every merged FIFO adds its own numbers to those of the last one of its line
    sums = np.stack([fifo[:, at.F_LATENCY], fifo[:, at.F_CAP], fifo[:, at.F_CREDIT]])
    ends = follow_pointers(pointer, np.zeros((1, pointer.size), dtype=np.int64))
    if ends is None:
        return store, np.arange(pointer.size, dtype=np.int64)
    total = np.zeros_like(sums)
    for row in range(sums.shape[0]):
        total[row] = np.bincount(ends, weights=sums[row], minlength=pointer.size).astype(np.int64)
    merged = store.copy()
    table = parts.fifo.view(merged)
    last = pointer < 0
    table[:, at.F_CAP] = np.where(last, total[1], 0)
    table[last, at.F_LATENCY], table[last, at.F_CREDIT] = total[0, last], total[2, last]
    first = np.cumsum(table[:, at.F_CAP]) - table[:, at.F_CAP]
    table[:, at.F_RING] = parts.ring.address(first)
    into = table[:, at.F_NEXT : at.F_NEXT + 5]
    is_set = into >= parts.fifo.start
    into[is_set] = _moved(into[is_set], parts, ends)
    queues = parts.element.view(merged)[:, at.E_QUEUES : at.E_QUEUES + 16]
    bound = queues >= 0
    queues[bound] = _moved(queues[bound], parts, ends)
    return merged, ends


def _moved(addresses: Ids, parts: StoreLayout, ends: Ids) -> Ids:
    numbers = (addresses - parts.fifo.start) // parts.fifo.width
    return parts.fifo.address(ends[numbers])


def restore_pops(store: at.Table, parts: StoreLayout, ends: Ids) -> None:
    """Set, after a run, the count of words that left each merged FIFO to that of its line.

    store: the engine's array after the run, changed; ends: the second result of `fuse_queues`.
    """
    table = parts.fifo.view(store)
    table[:, at.F_POPS] = table[ends, at.F_POPS]
