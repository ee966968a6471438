"""Straight lines of queues and routers as single queues: fewer events, the same cycles.

On a line whose queues all hold at least latency + 1 words, and whose links nobody else uses, what
happens between the ends cannot be seen from outside (engines.md §2.2): with summed
latencies, capacities and credit delays one queue gives every word the same cycle at both ends.
Tests compare with the plain network.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt

from tilewright.arch.memo import IdentityCache
from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.fabric.network import INPUT, OUTPUT, ROUTER, FifoNetwork, are_of
from tilewright.simulator.compile.store_layout import StoreLayout

Ids = npt.NDArray[np.int64]
NONE: Final = np.zeros(0, dtype=np.int64)
MOST_KEPT: Final = 1 << 12
"""FIFOs of a network up to which its merged one is kept."""
_MERGED: Final = IdentityCache(64)
"""Merged networks by the kinds of FIFOs, which networks of one topology share."""


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


def merge_queues(network: FifoNetwork) -> tuple[FifoNetwork, Ids]:
    """Merge lines of queues and router buffers of a network: fewer events, the same cycles.

    Returns the network and (FIFOs,) the number of the FIFO that each one became part of, which has
    the line's summed latency, capacity and credit delay (engines.md §2.2). If the network has a
    loop of such FIFOs, nothing is merged. Networks of one topology are merged once.
    """
    if network.kind.size > MOST_KEPT:
        return _merged(network)
    merged, ends = _MERGED.of(network.kind, "merged", partial(_merged, network))
    fifo = merged.fifo.copy(order="K")
    ports = np.concatenate([*network.edge_inputs, *network.edge_outputs, NONE])
    fifo[ports, at.F_CAP] = network.fifo[ports, at.F_CAP]
    return replace(network, fifo=fifo, queue=merged.queue), ends


def _merged(network: FifoNetwork) -> tuple[FifoNetwork, Ids]:
    pointer = mergeable_into(network)
    ends = follow_pointers(pointer, np.zeros((1, pointer.size), dtype=np.int64))
    if ends is None:
        return network, np.arange(pointer.size, dtype=np.int64)
    fifo, last = network.fifo.copy(order="K"), pointer < 0
    for column in (at.F_LATENCY, at.F_CAP, at.F_CREDIT):
        total = np.bincount(ends, weights=fifo[:, column], minlength=pointer.size)
        fifo[last, column] = total[last]
    fifo[~last, at.F_CAP] = 0
    into = fifo[:, at.F_NEXT : at.F_NEXT + 5]
    queue = network.queue.copy()
    for numbers in (into, queue):
        is_set = numbers >= 0
        numbers[is_set] = ends[numbers[is_set]]
    return replace(network, fifo=fifo, queue=queue), ends


def restore_pops(store: at.Table, parts: StoreLayout, ends: Ids) -> None:
    """Set, after a run, the count of words that left each merged FIFO to that of its line.

    store: the engine's array after the run, changed; ends: the second result of `merge_queues`.
    """
    table = parts.fifo.view(store)
    table[:, at.F_POPS] = table[ends, at.F_POPS]
