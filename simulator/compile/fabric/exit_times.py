"""When words that leave a grid have passed its border, of which a place may be slow.

Words wait outside, so their arrival there depends on nothing behind it: word j of a place passes at
the cycle max over i <= j of a_i + (j - i) g, where a_i are the arrivals and g is the interval.
"""

from __future__ import annotations

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


def last_exits(store: at.Table, parts: StoreLayout, network: FifoNetwork, sinks: Cycles) -> Cycles:
    """Return the cycle in which the last word so far has passed each of some edge outputs' FIFOs.

    store: the engine's array; parts: where each table is in it. 0 where none has come.
    """
    fifo = parts.fifo.view(store)[sinks]
    last = store[fifo[:, at.F_RING] + 2 * np.maximum(fifo[:, at.F_COUNT] - 1, 0)]
    last = np.where(fifo[:, at.F_COUNT] > 0, last, 0)
    for fifos, interval in zip(network.edge_outputs, network.exit_intervals, strict=True):
        slow = np.flatnonzero(np.isin(sinks, fifos)) if interval > 1 else ()
        for place in slow:
            row = fifo[place]
            arrivals = store[row[at.F_RING] + 2 * np.arange(row[at.F_COUNT])]
            last[place] = exit_cycles(arrivals, interval)[-1] if arrivals.size else 0
    return np.asarray(last)
