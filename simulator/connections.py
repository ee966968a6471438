"""Successors of the FIFOs of a network, written into its table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tilewright.simulator.engine import layout as at
from tilewright.simulator.errors import ProgramError

Ids = npt.NDArray[np.int64]
Feeds = Iterable[tuple[Ids, Ids, Ids]]
"""(FIFOs, the FIFOs that they feed, the links between)."""
MOST: Final = 5
"""Successors of a FIFO in the engine's table."""


@dataclass(frozen=True, slots=True)
class Steered:
    """The tables of routers that choose, with row numbers of each other."""

    way: at.Table
    state: at.Table
    ports: Ids
    """(ways, 5): port of each successor, -1 where there is none, or for the copy of a swap."""
    change: at.Table


def connect(fifo: at.Table, feeds: Feeds, links: int) -> None:
    """Write successors and links into the table; mark FIFOs that share a link."""
    users = np.zeros(links, dtype=np.int64)
    known = list(feeds)
    for sources, targets, used in known:
        _append(fifo, sources, targets, used)
        np.add.at(users, used, 1)
    for sources, _, used in known:
        fifo[sources[users[used] > 1], at.F_SHARED] |= at.SHARES


def copy_ways(fifo: at.Table, copies: Feeds, steered: Steered) -> None:
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
        _append(fifo, sources, targets, used)
        ways = fifo[sources, at.F_WAY]
        for way, first, rank in zip(ways.tolist(), firsts.tolist(), ranks.tolist(), strict=True):
            if way >= 0:
                masks = steered.way[way, at.W_MASKS : at.W_MASKS + 4]
                masks |= (masks >> first & 1) << rank
                steered.way[way, at.W_COPIES] |= (first + 1) << 4 * rank


def _append(fifo: at.Table, sources: Ids, targets: Ids, links: Ids) -> None:
    position = fifo[sources, at.F_SUCCESSORS]
    fifo[sources, at.F_NEXT + position] = targets
    fifo[sources, at.F_LINK + position] = links
    fifo[sources, at.F_SUCCESSORS] += 1
