"""Successors of the FIFOs of a network, written into its table."""

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
    """The tables of routers that choose, with row numbers of each other."""

    way: at.Table
    state: at.Table
    ports: Ids
    """(ways, 5): port of each successor, -1 where there is none, or for the copy of a swap."""
    change: at.Table


def connect(fifo: Rows, feed: Feed) -> None:
    """Write successors and links into the table."""
    sources, targets, links = feed
    position = fifo[sources, at.F_SUCCESSORS]
    fifo[sources, at.F_NEXT + position] = targets
    fifo[sources, at.F_LINK + position] = links
    fifo[sources, at.F_SUCCESSORS] += 1


def mark_shared(fifo: Rows, links: int) -> None:
    """Mark the FIFOs that share a link."""
    users = np.zeros(links, dtype=np.int32)
    for rank in range(MOST):
        linked = fifo[:, at.F_SUCCESSORS] > rank
        np.add.at(users, fifo[linked, at.F_LINK + rank], 1)
    for rank in range(MOST):
        fifos = np.flatnonzero(fifo[:, at.F_SUCCESSORS] > rank)
        sharing = users[fifo[fifos, at.F_LINK + rank]] > 1
        fifo[fifos[sharing], at.F_SHARED] |= at.SHARES


def connect_swap_copies(fifo: Rows, copies: Iterable[Feed], steered: SteeredTables) -> None:
    """Add the second buffers of wavelets that a swap gives to both colors of a pair.

    They share a link with the first ones, and the masks of routers that choose.
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
