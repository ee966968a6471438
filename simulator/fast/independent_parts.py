"""The independent parts of a program, and which of them the fast engine still covers.

Two FIFOs are joined if one feeds the other or if they use one link. A queue is joined to its
element, and so is the buffer of a router with a switch, since tasks can change it. A part is a
connected component of these joints. No part reads or writes the state of another part, so another
engine may run each (engines.md §7).
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
MOST_ROUNDS = 8
"""Rounds in which further links may turn out to be contended."""


@dataclass(frozen=True, slots=True)
class PartCertificate:
    """One independent part; `reason` says why the reference engine runs it if it is not granted."""

    granted: bool
    reason: str
    elements: int
    first: int
    """Its first element: row * width + column."""


class Division:
    """The FIFOs and elements that the fast engine still covers, and the reasons for the others."""

    def __init__(self, network: FifoNetwork) -> None:
        self.network = network
        self.elements = np.ones(network.queue.shape[0], dtype=bool)
        self.fifos = np.ones(network.kind.size, dtype=bool)
        self.contended = np.zeros(network.kind.size, dtype=bool)
        """FIFOs that may want a link in the same cycle as another FIFO."""
        self.rounds = 0
        self.reasons: dict[int, str] = {}
        """By part; the key -1 stands for all parts."""

    @property
    def whole(self) -> bool:
        """Return whether no part is refused."""
        return not self.reasons

    @property
    def untouched(self) -> bool:
        """Return whether no part is refused and no link is contended."""
        return self.whole and not self.contended.any()

    @property
    def reason(self) -> str:
        """Return the first reason."""
        return next(iter(self.reasons.values()), "")

    @cached_property
    def part(self) -> Ints:
        """Return the number of the part of each FIFO, then of each element."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        first, second = (np.concatenate(ends) for ends in zip(*self._joints(), strict=True))
        size = self.fifos.size + self.elements.size + self.network.links
        joints = coo_array((np.ones(first.size, dtype=np.int8), (first, second)), (size, size))
        _, number = connected_components(joints, directed=False)
        return np.asarray(number[: self.fifos.size + self.elements.size], dtype=np.int64)

    def _joints(self) -> list[tuple[Ints, Ints]]:
        """Return the pairs of joined nodes; the nodes are FIFOs, then elements, then links."""
        fifo, kind, count = self.network.fifo, self.network.kind, self.fifos.size
        numbers = np.arange(count, dtype=np.int64)
        used = np.arange(5) < fifo[:, at.F_SUCCESSORS, None]
        sources = np.broadcast_to(numbers[:, None], used.shape)
        at_element = np.isin(kind, (INPUT, OUTPUT)) | (fifo[:, at.F_WAY] >= 0)
        shared = used & (fifo[:, at.F_SHARED] & at.SHARES != 0)[:, None]
        links = fifo[:, at.F_LINK : at.F_LINK + 5][shared]
        return [
            (sources[used], fifo[:, at.F_NEXT : at.F_NEXT + 5][used]),
            (numbers[at_element], count + self.network.element[at_element]),
            (sources[shared], count + self.elements.size + links),
        ]

    def refuse(self, missing: NotCovered) -> None:
        """Leave the parts of elements and FIFOs that are not covered to the reference engine."""
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
        granted = ~np.isin(self.part, parts)
        self.fifos &= granted[: self.fifos.size]
        self.elements &= granted[self.fifos.size :]

    def contend(self, missing: NotCovered) -> bool:
        """Let the arbiter decide on links where words conflict; return False if it cannot.

        Parts whose links the arbiter cannot decide are refused.
        """
        if missing.contending is None or self.rounds == MOST_ROUNDS:
            return False
        self.rounds += 1
        wanted = self.contended.copy()
        wanted[missing.contending] = True
        bad = wanted & ~arbiter_decides(self.network, wanted)
        if bad.any():
            self.refuse(NotCovered(missing.reason, fifos=np.flatnonzero(bad)))
        self.contended = wanted & self.fifos
        return True

    def certificates(self) -> tuple[PartCertificate, ...]:
        """Return the certificates of the parts that have elements, by their first element."""
        _, first, counts = np.unique(
            self.part[self.fifos.size :],
            return_index=True,
            return_counts=True,
        )
        names = self.part[self.fifos.size + first].tolist()
        certificates = [
            PartCertificate(not reason, reason, size, element)
            for name, size, element in zip(names, counts.tolist(), first.tolist(), strict=True)
            for reason in [self.reasons.get(-1, self.reasons.get(name, ""))]
        ]
        return tuple(sorted(certificates, key=lambda part: part.first))


def users_of_links(network: FifoNetwork, wanted: Bools) -> tuple[Ints, Ints]:
    """Return link and FIFO, (pairs,) each, of every link on which wanted FIFOs send; by link."""
    fifo = network.fifo
    used = (np.arange(5) < fifo[:, at.F_SUCCESSORS, None]) & wanted[:, None]
    links = fifo[:, at.F_LINK : at.F_LINK + 5][used]
    users = np.broadcast_to(np.arange(fifo.shape[0])[:, None], used.shape)[used]
    order = np.argsort(links, kind="stable")
    return links[order].astype(np.int64), users[order].astype(np.int64)


def rivals_of(network: FifoNetwork, contended: Bools) -> tuple[Ints, Ints, Ints]:
    """Return the rivals of all contended FIFOs in one list, and first place and number of each."""
    links, users = users_of_links(network, contended)
    begins = np.zeros(contended.size, dtype=np.int64)
    counts = np.zeros(contended.size, dtype=np.int64)
    rivals: list[int] = []
    _, first, size = np.unique(links, return_index=True, return_counts=True)
    for begin, count in zip(first[size > 1].tolist(), size[size > 1].tolist(), strict=True):
        together = users[begin : begin + count].tolist()
        for fifo in together:
            begins[fifo], counts[fifo] = len(rivals), count - 1
            rivals.extend(rival for rival in together if rival != fifo)
    return np.array(rivals, dtype=np.int64), begins, counts


def arbiter_decides(network: FifoNetwork, contended: Bools) -> Bools:
    """Return for which FIFOs the arbiter can decide: routers and edges with rivals on one link."""
    links, users = users_of_links(network, contended)
    _, number, size = np.unique(links, return_inverse=True, return_counts=True)
    crowded = np.bincount(users[size[number] > 1], minlength=contended.size)
    plain = np.isin(network.kind, (ROUTER, EDGE_IN)) & (network.fifo[:, at.F_WAY] < 0)
    return np.asarray(plain & (crowded <= 1))
