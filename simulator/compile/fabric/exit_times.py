"""When words that leave a grid have passed its border, of which a place may be slow.

Words wait outside, so their arrival there depends on nothing behind it: word j of a place passes at
the cycle max over i <= j of a_i + (j - i) g, where a_i are the arrivals and g is the interval.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.fabric.network import FifoNetwork
from tilewright.simulator.compile.store_layout import StoreLayout

Cycles = npt.NDArray[np.int64]


def exit_cycles(arrivals: Cycles, interval: int) -> Cycles:
    """Return the cycles in which words pass the border that arrive in the cycles `arrivals`.

    arrivals: (..., words) ascending; interval: cycles between two of them at least. Example: 3, 4
    and 9 with the interval 4 give 3, 7 and 11.
    """
    if interval == 1:
        return arrivals
    steps = interval * np.arange(arrivals.shape[-1])
    return np.asarray(np.maximum.accumulate(arrivals - steps, axis=-1) + steps)


def slow_places(network: FifoNetwork, sinks: Cycles) -> Iterator[tuple[int, int]]:
    """Yield the places in `sinks` of edge outputs' FIFOs that are slow, each with its interval."""
    for fifos, interval in zip(network.edge_outputs, network.exit_intervals, strict=True):
        if interval > 1:
            yield from (
                (place, interval) for place in np.flatnonzero(np.isin(sinks, fifos)).tolist()
            )


def arrivals_at(store: at.Table, fifo: at.Table) -> Cycles:
    """Return the cycles in which words have come to an edge output's FIFO so far.

    store: the engine's array; fifo: the row of the FIFO.
    """
    return np.asarray(store[fifo[at.F_RING] + 2 * np.arange(fifo[at.F_COUNT])])


def last_arrivals(store: at.Table, fifo: at.Table) -> Cycles:
    """Return the cycle in which the last word so far has come to each of some edge outputs' FIFOs.

    store: the engine's array; fifo: rows of FIFOs. 0 where none has come.
    """
    last = store[fifo[:, at.F_RING] + 2 * np.maximum(fifo[:, at.F_COUNT] - 1, 0)]
    return np.asarray(np.where(fifo[:, at.F_COUNT] > 0, last, 0))


def last_exits(store: at.Table, parts: StoreLayout, network: FifoNetwork, sinks: Cycles) -> Cycles:
    """Return the cycle in which the last word so far has passed each of some edge outputs' FIFOs.

    store: the engine's array; parts: where each table is in it. 0 where none has come.
    """
    fifo = parts.fifo.view(store)[sinks]
    last = last_arrivals(store, fifo)
    for place, interval in slow_places(network, sinks):
        arrivals = arrivals_at(store, fifo[place])
        last[place] = exit_cycles(arrivals, interval)[-1] if arrivals.size else 0
    return last
