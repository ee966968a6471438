"""Write into the table of FIFOs which FIFOs feed which others, and over which links."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as at
from tilewright.simulator.isa.machine_errors import ProgramError

Ids = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int32]
Feed = tuple[Ids, Ids, Ids]
"""FIFOs, the FIFOs that they feed, the links between."""
MOST: Final = 5
"""Successors of a FIFO in the engine's table."""


@dataclass(frozen=True, slots=True)
class SteeredTables:
    """Hold the engine's tables of routers that choose where a wavelet goes (switches, filters).

    - `way`: a row per router buffer that chooses among its successors (the FIFOs that it feeds).
    - `state`: a row per router and color: switch position and filter.
    - `ports`: (ways, 5) router port of each successor, -1 where there is none, or for the second
      copy that a color swap makes.
    - `change`: a row per configuration to which a router can be changed.

    References between the tables are row numbers.
    """

    way: at.Table
    state: at.Table
    ports: Ids
    change: at.Table


def connect(fifo: Rows, feed: Feed) -> None:
    """Write into the table of FIFOs that some FIFOs feed others, over given links.

    fifo: (FIFOs, columns), changed; feed: three arrays (sources, targets, links) of one length. A
    source may be there once per call; over all calls a FIFO has at most five targets.
    """
    sources, targets, links = feed
    position = fifo[sources, at.F_SUCCESSORS]
    fifo[sources, at.F_NEXT + position] = targets
    fifo[sources, at.F_LINK + position] = links
    fifo[sources, at.F_SUCCESSORS] += 1


def mark_shared(fifo: Rows, links: int) -> None:
    """Mark, in the table of FIFOs, those that send on a link that another FIFO uses, too.

    fifo: (FIFOs, columns), changed; links: number of links. Only marked FIFOs bid for their links.
    """
    count = fifo[:, at.F_SUCCESSORS]
    senders = [np.flatnonzero(count > rank) for rank in range(int(count.max(initial=0)))]
    used = [fifo[fifos, at.F_LINK + rank] for rank, fifos in enumerate(senders)]
    users = np.bincount(np.concatenate([np.zeros(0, np.int32), *used]), minlength=links)
    for fifos, links_used in zip(senders, used, strict=True):
        fifo[fifos[users[links_used] > 1], at.F_SHARED] |= at.SHARES


def connect_swap_copies(fifo: Rows, copies: Iterable[Feed], steered: SteeredTables) -> None:
    """Let FIFOs feed a second FIFO where a color swap gives a wavelet to both colors of a pair.

    A swap at a router exchanges two colors; where only one side swaps, both take the wavelet. fifo:
    the table of FIFOs, changed; copies: (sources, second targets, links). The copy takes the link
    of the first target and goes whenever the first one goes; the rows of routers that choose
    (`steered`) are changed so. Raises ProgramError if a FIFO would get more than five targets.
    """
    for sources, targets, used in copies:
        ranks = fifo[sources, at.F_SUCCESSORS].copy()
        if (ranks >= MOST).any():
            raise ProgramError(
                "a router would send one wavelet to more than five buffers, by a color swap of its "
                "neighbour",
                instead="fewer tx ports, or a swap of both colors",
            )
        firsts = (fifo[sources[:, None], at.F_LINK + np.arange(MOST)] == used[:, None]).argmax(1)
        connect(fifo, (sources, targets, used))
        selectors = fifo[sources, at.F_WAY]
        for selector, first, rank in zip(
            selectors.tolist(), firsts.tolist(), ranks.tolist(), strict=True
        ):
            if selector >= 0:
                masks = steered.way[selector, at.W_MASKS : at.W_MASKS + 4]
                masks |= (masks >> first & 1) << rank
                steered.way[selector, at.W_COPIES] |= (first + 1) << 4 * rank
