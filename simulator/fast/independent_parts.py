"""The independent parts of a program: what no stream, no link and no router joins.

Two FIFOs are joined when one feeds the other or when they use one link; a queue is joined to its
element, and so is the buffer of a router that chooses, for tasks can change it. Whatever happens
in one part never touches the state of another one, so each may be run by another engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.fabric.network import EDGE_IN, INPUT, OUTPUT, ROUTER, FifoNetwork
from tilewright.simulator.fast.no_certificate import Ints, NotCovered

Bools = npt.NDArray[np.bool_]
MOST_TURNS = 8
"""Rounds in which links may turn out to be contended."""


@dataclass(frozen=True, slots=True)
class PartCertificate:
    """One independent part, and why the reference engine runs it if it does."""

    granted: bool
    reason: str
    elements: int
    first: int
    """Its first element: row * width + column."""


class Division:
    """Which FIFOs and elements the fast engine can still vouch for."""

    def __init__(self, network: FifoNetwork) -> None:
        self.network = network
        self.elements = np.ones(network.queue.shape[0], dtype=bool)
        self.fifos = np.ones(network.kind.size, dtype=bool)
        self.contended = np.zeros(network.kind.size, dtype=bool)
        """FIFOs that may want a link in the same cycle as another one."""
        self.turns = 0
        self.reasons: dict[int, str] = {}
        """By part; of all parts if there is one for -1."""

    @property
    def whole(self) -> bool:
        """Return whether nothing is refused."""
        return not self.reasons

    @property
    def untouched(self) -> bool:
        """Return whether the graph is that of the network as it is."""
        return self.whole and not self.contended.any()

    @property
    def reason(self) -> str:
        """Return the first reason."""
        return next(iter(self.reasons.values()), "")

    @cached_property
    def part(self) -> Ints:
        """Return the part of each FIFO, then of each element."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        some, others = (np.concatenate(ends) for ends in zip(*self._joints(), strict=True))
        size = self.fifos.size + self.elements.size + self.network.links
        joints = coo_array((np.ones(some.size, dtype=np.int8), (some, others)), (size, size))
        _, number = connected_components(joints, directed=False)
        return np.asarray(number[: self.fifos.size + self.elements.size], dtype=np.int64)

    def _joints(self) -> list[tuple[Ints, Ints]]:
        """Return pairs of nodes: FIFOs, then elements, then links."""
        fifo, kind, count = self.network.fifo, self.network.kind, self.fifos.size
        numbers = np.arange(count, dtype=np.int64)
        used = np.arange(5) < fifo[:, at.F_SUCCESSORS, None]
        sources = np.broadcast_to(numbers[:, None], used.shape)
        home = np.isin(kind, (INPUT, OUTPUT)) | (fifo[:, at.F_WAY] >= 0)
        shared = used & (fifo[:, at.F_SHARED] & at.SHARES != 0)[:, None]
        links = fifo[:, at.F_LINK : at.F_LINK + 5][shared]
        return [
            (sources[used], fifo[:, at.F_NEXT : at.F_NEXT + 5][used]),
            (numbers[home], count + self.network.element[home]),
            (sources[shared], count + self.elements.size + links),
        ]

    def refuse(self, missing: NotCovered) -> None:
        """Leave the parts of what is not covered to the reference engine."""
        if missing.elements is None and missing.fifos is None:
            self.reasons.setdefault(-1, missing.reason)
            self.elements[:] = self.fifos[:] = False
            return
        none = np.zeros(0, dtype=np.int64)
        fifos = none if missing.fifos is None else missing.fifos
        elements = none if missing.elements is None else missing.elements
        parts = np.unique(self.part[np.concatenate([fifos, self.fifos.size + elements])])
        for part in parts.tolist():
            self.reasons.setdefault(part, missing.reason)
        kept = ~np.isin(self.part, parts)
        self.fifos &= kept[: self.fifos.size]
        self.elements &= kept[self.fifos.size :]

    def meet(self, missing: NotCovered) -> bool:
        """Let the arbiter decide on the links where words meet; return False if it cannot."""
        if missing.meeting is None or self.turns == MOST_TURNS:
            return False
        self.turns += 1
        wanted = self.contended.copy()
        wanted[missing.meeting] = True
        bad = wanted & ~can_be_played(self.network, wanted)
        if bad.any():
            self.refuse(NotCovered(missing.reason, fifos=np.flatnonzero(bad)))
        self.contended = wanted & self.fifos
        return True

    def certificates(self) -> tuple[PartCertificate, ...]:
        """Return what is known of each part that has elements, by their first one."""
        _, first, counts = np.unique(
            self.part[self.fifos.size :],
            return_index=True,
            return_counts=True,
        )
        names = self.part[self.fifos.size + first].tolist()
        found = [
            PartCertificate(not reason, reason, size, element)
            for name, size, element in zip(names, counts.tolist(), first.tolist(), strict=True)
            for reason in [self.reasons.get(-1, self.reasons.get(name, ""))]
        ]
        return tuple(sorted(found, key=lambda part: part.first))


def users_of_links(network: FifoNetwork, wanted: Bools) -> tuple[Ints, Ints]:
    """Return (link, FIFO) of every way by which some FIFOs send, by links."""
    fifo = network.fifo
    used = (np.arange(5) < fifo[:, at.F_SUCCESSORS, None]) & wanted[:, None]
    links = fifo[:, at.F_LINK : at.F_LINK + 5][used]
    users = np.broadcast_to(np.arange(fifo.shape[0])[:, None], used.shape)[used]
    order = np.argsort(links, kind="stable")
    return links[order].astype(np.int64), users[order].astype(np.int64)


def rivals_of(network: FifoNetwork, contended: Bools) -> tuple[Ints, Ints, Ints]:
    """Return the rivals of contended FIFOs in one list, where each one's begin, and how many."""
    links, users = users_of_links(network, contended)
    begins = np.zeros(contended.size, dtype=np.int64)
    counts = np.zeros(contended.size, dtype=np.int64)
    found: list[int] = []
    _, first, size = np.unique(links, return_index=True, return_counts=True)
    for begin, count in zip(first[size > 1].tolist(), size[size > 1].tolist(), strict=True):
        together = users[begin : begin + count].tolist()
        for fifo in together:
            begins[fifo], counts[fifo] = len(found), count - 1
            found.extend(other for other in together if other != fifo)
    return np.array(found, dtype=np.int64), begins, counts


def can_be_played(network: FifoNetwork, contended: Bools) -> Bools:
    """Return which FIFOs the arbiter can play: routers and edges with rivals on one link only."""
    links, users = users_of_links(network, contended)
    _, number, size = np.unique(links, return_inverse=True, return_counts=True)
    crowded = np.bincount(users[size[number] > 1], minlength=contended.size)
    plain = np.isin(network.kind, (ROUTER, EDGE_IN)) & (network.fifo[:, at.F_WAY] < 0)
    return np.asarray(plain & (crowded <= 1))
