"""Occupancy of links and queues over time: the engine stops after every interval to be looked at.

Nothing is counted while it runs, so a run that is not looked at costs nothing more. The words in
queues are counted exactly, not sampled: `F_WAITED` holds the cycles of the words that have left,
the rings hold since when the others are there.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.fabric.network import INPUT, OUTPUT, ROUTER, are_of
from tilewright.simulator.diagnose.final_state import FinalState
from tilewright.simulator.isa.machine_errors import InputDataError
from tilewright.simulator.run.results import link_words, queue_sums
from tilewright.simulator.run.trace import IntervalOccupancy

Ints = npt.NDArray[np.int64]
MOST_VALUES: Final = 1 << 26
"""Values of all intervals together."""


class IntervalRecorder:
    """Records how many words links carried and queues held in each interval of a run.

    `interval`: its length in cycles. `record` is called at the end of each interval; `occupancy`
    returns the words per link, and the sum over cycles of the words in each queue, per interval.
    """

    def __init__(self, interval: int) -> None:
        self.interval = interval
        self._words: list[Ints] = []
        self._word_cycles: list[Ints] = []

    def record(self, state: FinalState, cycle: int) -> None:
        """Record the sums so far, at a moment when all cycles below `cycle` are simulated.

        `state`: the engine's tables. Raises InputDataError for more than 2**26 values over all
        intervals.
        """
        size = (len(self._words) + 1) * state.program.placement.size
        if size * 22 > MOST_VALUES:
            raise InputDataError(
                f"more than {MOST_VALUES} values of occupancy at cycle {cycle}",
                value=self.interval,
                instead="a longer interval",
            )
        self._words.append(link_words(state))
        self._word_cycles.append(queue_sums(state, _cycles_in_queues(state, cycle)))

    def occupancy(self) -> IntervalOccupancy:
        """Return, per interval, the words on each link and the words times cycles in each queue."""
        words = np.diff([np.zeros_like(self._words[0]), *self._words], axis=0)
        word_cycles = np.diff([np.zeros_like(self._word_cycles[0]), *self._word_cycles], axis=0)
        return IntervalOccupancy(self.interval, words, word_cycles)


def _cycles_in_queues(state: FinalState, cycle: int) -> Ints:
    """Return (FIFOs,) words times cycles in each FIFO before a cycle, for all words so far."""
    fifo = state.fifo
    waited = fifo[:, at.F_WAITED].copy()
    queues = are_of(state.network.kind, OUTPUT, ROUTER, INPUT)
    rows = np.flatnonzero(queues & (fifo[:, at.F_COUNT] > 0))
    owners = np.repeat(rows, fifo[rows, at.F_COUNT])
    places = np.arange(owners.size) - np.searchsorted(owners, owners)
    places = (fifo[owners, at.F_HEAD] + places) % fifo[owners, at.F_CAP]
    ready = state.store[fifo[owners, at.F_RING] + 2 * places]
    np.add.at(waited, owners, cycle - (ready - fifo[owners, at.F_LATENCY]))
    return waited
