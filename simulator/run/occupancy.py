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
from tilewright.simulator.compile.fabric.network import INPUT, OUTPUT, ROUTER
from tilewright.simulator.isa.machine_errors import MachineError
from tilewright.simulator.run.results import Outcome, link_words, queue_sums
from tilewright.simulator.run.trace import Occupancy

Ints = npt.NDArray[np.int64]
MOST_VALUES: Final = 1 << 26
"""Values of all looks together."""


class Looks:
    """Collects what links have carried and queues have held, look by look."""

    def __init__(self, interval: int) -> None:
        self.interval = interval
        self._words: list[Ints] = []
        self._held: list[Ints] = []

    def look(self, outcome: Outcome, cycle: int) -> None:
        """Look at the engine's state when all cycles below `cycle` are done."""
        size = (len(self._words) + 1) * outcome.program.placement.size
        if size * 22 > MOST_VALUES:
            raise MachineError(
                f"more than {MOST_VALUES} values of occupancy at cycle {cycle}",
                value=self.interval,
                instead="a longer interval",
            )
        self._words.append(link_words(outcome))
        self._held.append(queue_sums(outcome, _word_cycles(outcome, cycle)))

    def occupancy(self) -> Occupancy:
        """Return what happened between the looks."""
        first = np.zeros_like(self._words[0]), np.zeros_like(self._held[0])
        words = np.diff([first[0], *self._words], axis=0)
        return Occupancy(self.interval, words, np.diff([first[1], *self._held], axis=0))


def _word_cycles(outcome: Outcome, cycle: int) -> Ints:
    """Return the cycles that words were in each FIFO before a cycle, those that are there too."""
    fifo = outcome.fifo
    waited = fifo[:, at.F_WAITED].copy()
    queues = np.isin(outcome.network.kind, (OUTPUT, ROUTER, INPUT))
    rows = np.flatnonzero(queues & (fifo[:, at.F_COUNT] > 0))
    owners = np.repeat(rows, fifo[rows, at.F_COUNT])
    places = np.arange(owners.size) - np.searchsorted(owners, owners)
    places = (fifo[owners, at.F_HEAD] + places) % fifo[owners, at.F_CAP]
    ready = outcome.store[fifo[owners, at.F_RING] + 2 * places]
    np.add.at(waited, owners, cycle - (ready - fifo[owners, at.F_LATENCY]))
    return waited
