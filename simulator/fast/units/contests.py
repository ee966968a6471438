"""Which FIFOs contend for the links of a router: groups within which the arbiter is simulated.

Two FIFOs contend if they send on one link. A group is a connected component of this relation; it
lies in one router. Who wins a link can depend on any FIFO of the group: of the FIFOs a (to the east
and the element), b (to the element) and c (to the east), b waits for a wherever a bids and was
served longer ago, also while a itself waits for c.

A word that a filter keeps from the element does not want the link to it (engines.md §6).
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.fabric.network import FifoNetwork
from tilewright.simulator.fast.no_certificate import Ints
from tilewright.simulator.fast.units.graph import (
    C_FILTER,
    C_LINKS,
    C_RAMP,
    C_RANK,
    C_RIVAL,
    C_RIVALS,
    C_WIDTH,
)
from tilewright.simulator.fast.units.ramp_filters import RampFilters

Bools = npt.NDArray[np.bool_]
NO_CONTESTS: Final = np.zeros((0, C_WIDTH), dtype=np.int64)
"""Where no link is contended."""


def contests_of(network: FifoNetwork, contended: Bools, filters: RampFilters) -> tuple[Ints, Ints]:
    """Return what each FIFO contends for, and the lists of its rivals: (FIFOs, C_WIDTH), (rivals,).

    contended: (FIFOs,) mask of the FIFOs that may want a link in the same cycle as another one; the
    others do not count. The rivals of a FIFO are all other FIFOs of its group, those of other links
    included; a FIFO that shares no link has none.
    """
    contest = np.zeros((contended.size, C_WIDTH), dtype=np.int64)
    contest[:, C_RANK] = network.fifo[:, at.F_COLOR].astype(np.int64) * contended.size
    contest[:, C_RANK] += np.arange(contended.size)
    contest[:, C_FILTER] = -1
    links, users = _shared_links(network, contended)
    fifos, user = np.unique(users, return_inverse=True)
    _, link = np.unique(links, return_inverse=True)
    group_of_fifo, group_of_link = _groups(user, link)
    bit = np.int64(1) << _places(group_of_link)[link]
    np.bitwise_or.at(contest[:, C_LINKS], users, bit)
    to_element = network.fifo[users, at.F_LINK] == links  # a filter's first link is the ramp
    filtered = np.full(contended.size, -1, dtype=np.int64)
    filtered[filters.router] = filters.row
    ramp = to_element & (filtered[users] >= 0)
    contest[users[ramp], C_RAMP] = bit[ramp]
    contest[fifos, C_FILTER] = filtered[fifos]
    rival, contest[fifos, C_RIVAL], contest[fifos, C_RIVALS] = _rivals(fifos, group_of_fifo)
    return contest, rival


def _shared_links(network: FifoNetwork, contended: Bools) -> tuple[Ints, Ints]:
    """List the links on which several contended FIFOs send, with each such FIFO: (pairs,) each."""
    fifo = network.fifo
    used = (np.arange(5) < fifo[:, at.F_SUCCESSORS, None]) & contended[:, None]
    links = fifo[:, at.F_LINK : at.F_LINK + 5][used].astype(np.int64)
    users = np.broadcast_to(np.arange(contended.size)[:, None], used.shape)[used]
    _, number, count = np.unique(links, return_inverse=True, return_counts=True)
    shared = count[number] > 1
    return links[shared], users[shared]


def _groups(user: Ints, link: Ints) -> tuple[Ints, Ints]:
    """Number the groups of FIFOs that share links: the group of each FIFO, and of each link.

    user, link: (pairs,) numbers from 0 on, a pair for each FIFO and each of its shared links.
    """
    users, links = int(user.max(initial=-1)) + 1, int(link.max(initial=-1)) + 1
    least, before = np.arange(users, dtype=np.int64), np.zeros(0, dtype=np.int64)
    of_link = np.full(links, users, dtype=np.int64)
    while not np.array_equal(least, before):  # few rounds: a group lies in one router
        before = least.copy()
        np.minimum.at(of_link, link, least[user])
        np.minimum.at(least, user, of_link[link])
    _, group = np.unique(least, return_inverse=True)
    return group.astype(np.int64), group[of_link].astype(np.int64)


def _places(group: Ints) -> Ints:
    """Return the place of each item among those of its group, in order: (0, 1, 0) -> (0, 0, 1)."""
    order = np.argsort(group, kind="stable")
    count = np.bincount(group)
    place = np.empty_like(group)
    place[order] = np.arange(group.size) - np.repeat(np.cumsum(count) - count, count)
    return place


def _rivals(fifos: Ints, group: Ints) -> tuple[Ints, Ints, Ints]:
    """List for each FIFO the others of its group: (list, first place of each FIFO, their number).

    fifos: numbers of the FIFOs; group: the group of each.
    """
    members = fifos[np.argsort(group, kind="stable")]
    size = np.bincount(group)
    begin, place = (np.cumsum(size) - size)[group], _places(group)
    count = size[group] - 1
    first = np.cumsum(count) - count
    k = np.arange(int(count.sum())) - np.repeat(first, count)
    k += k >= np.repeat(place, count)  # all but the FIFO itself
    return members[np.repeat(begin, count) + k], first, count
