"""Counter filters at ramps: which words of a stream reach an input queue.

Of every `limit` words the first `most` pass; the counter starts at `start`, so the first `start`
words of the first period are missing. With A(x) = x // limit * most + min(x mod limit, most), the
queue gets A(start + n) - A(start) of the first n words of the stream, and its word a is number
q // most * limit + q mod most - start of the stream, with q = a + A(start).

Example: limit 6, most 2, start 4 let the words 2, 3, 8, 9, ... pass.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from tilewright.simulator.check.route_check import MAX_FILTER_COUNT
from tilewright.simulator.compile import columns as engine
from tilewright.simulator.compile.fabric.network import INPUT, ROUTER, FifoNetwork
from tilewright.simulator.fast.fast_jit import inline_kernel
from tilewright.simulator.fast.independent_parts import Division
from tilewright.simulator.fast.no_certificate import Ints, NotCovered

K_LIMIT, K_MOST, K_START, K_WIDTH = range(4)
"""A filter: of every `limit` words the first `most` pass; the first `start` words are missing."""


class RampFilters(NamedTuple):
    """Hold the counter filters of a network.

    - `router`: the router buffers with a filter. `queue`: the input queue behind each.
    - `row`: the row in `table` of each. `table`: (filters, K_WIDTH) limit, most, start; each once.
    """

    router: Ints
    queue: Ints
    row: Ints
    table: Ints

    def kept(self, words: Ints) -> Ints:
        """Return how many of the first `words` words of each stream reach the queue.

        `words` and the result: shape (streams,).
        """
        counter = self.table[self.row]
        limit, most, start = counter.T
        place = start + words
        kept = place // limit * most + np.minimum(place % limit, most) - np.minimum(start, most)
        return np.asarray(kept)


_NONE: Final = np.zeros(0, dtype=np.int64)
NO_FILTERS: Final = RampFilters(_NONE, _NONE, _NONE, np.zeros((0, K_WIDTH), dtype=np.int64))


def filters_of(network: FifoNetwork, division: Division) -> RampFilters:
    """Return the counter filters at ramps, of the parts that the fast engine still covers.

    Raises NotCovered, with the FIFOs, for a filter that is no plain counter of data wavelets, such
    as one that looks at indices or works once.
    """
    way = network.fifo[:, engine.F_WAY]
    routers = np.flatnonzero((network.kind == ROUTER) & (way >= 0) & division.fifos)
    state = network.steered.state[network.steered.way[way[routers], engine.W_STATE]]
    filtered = state[:, engine.X_FILTER] != engine.NO_FILTER
    routers, state = routers[filtered], state[filtered]
    if not routers.size:
        return NO_FILTERS
    queue = network.fifo[routers, engine.F_NEXT].astype(np.int64)  # the ramp is the first successor
    known = (state[:, engine.X_FILTER] == engine.COUNTER) & (state[:, engine.X_INCLUSIVE] == 0)
    known &= (state[:, engine.X_COUNTS] == engine.COUNTS_DATA) & (state[:, engine.X_MOST] > 0)
    known &= (state[:, engine.X_CONTROL_ONLY] == 0) & (network.kind[queue] == INPUT)
    known &= state[:, engine.X_COUNT] < state[:, engine.X_LIMIT]
    known &= state[:, engine.X_MOST] <= state[:, engine.X_LIMIT]
    if not known.all():
        raise NotCovered("a filter counts in another way", fifos=routers[~known])
    columns = state[:, [engine.X_LIMIT, engine.X_MOST, engine.X_COUNT]].astype(np.int64)
    digits = columns @ (MAX_FILTER_COUNT + 1) ** np.arange(2, -1, -1)
    _, firsts, row = np.unique(digits, return_index=True, return_inverse=True)
    return RampFilters(routers, queue, row, np.ascontiguousarray(columns[firsts]))


@inline_kernel
def kept_before(counter: Ints, index: int) -> int:
    """Return how many of the first `index` words of a stream a filter lets pass.

    counter: its row, limit, most and start.
    """
    limit, most, start = counter[K_LIMIT], counter[K_MOST], counter[K_START]
    place = start + index
    kept: int = place // limit * most + min(place % limit, most) - min(start, most)
    return kept


@inline_kernel
def place_behind(counter: Ints, index: int) -> int:
    """Return which word of a stream is number `index` of those that a filter lets pass.

    `counter`: the filter's row of the table, by columns K_...
    """
    limit, most, start = counter[K_LIMIT], counter[K_MOST], counter[K_START]
    number = index + min(start, most)
    place: int = number // most * limit + number % most - start
    return place
