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
from tilewright.simulator.compile.fabric.network import (
    EDGE_IN,
    INPUT,
    OUTPUT,
    ROUTER,
    FifoNetwork,
    are_of,
)
from tilewright.simulator.fast.no_certificate import Ints, NotCovered

Bools = npt.NDArray[np.bool_]
MOST_ROUNDS = 8
"""Rounds in which further links may turn out to be contended."""


@dataclass(frozen=True, slots=True)
class PartCertificate:
    """Say whether the fast engine covers one independent part of a program (engines.md §7).

    `granted`: whether it does; `reason`: why not, else empty; `elements`: number of its elements;
    `first`: its first element, as row * width of the grid + column.
    """

    granted: bool
    reason: str
    elements: int
    first: int


class Division:
    """Keep which FIFOs and elements the fast engine still covers, and why not the others.

    A part is a set of elements, queues and links that no other part touches (engines.md §7); it is
    covered or refused as a whole. `elements`, `fifos`: masks of what is covered. `contended`: mask
    of FIFOs whose link the simulated arbiter decides. `reasons`: by number of the part, -1 for all
    parts. `separate_routers`: whether every router is timed by itself, and no straight line of
    routers is one channel. `in_parts`: whether independent parts are told apart; if not, the whole
    program is one part.
    """

    def __init__(
        self, network: FifoNetwork, *, separate_routers: bool = False, in_parts: bool = True
    ) -> None:
        self.network = network
        self.in_parts = in_parts
        self.separate_routers = separate_routers
        self.elements = np.ones(network.queue.shape[0], dtype=bool)
        self.fifos = np.ones(network.kind.size, dtype=bool)
        self.contended = np.zeros(network.kind.size, dtype=bool)
        """FIFOs that may want a link in the same cycle as another FIFO."""
        self.rounds = 0
        self.reasons: dict[int, str] = {}
        """By part; the key -1 stands for all parts."""

    @property
    def whole(self) -> bool:
        """Whether the fast engine covers all parts of the program, that is, none is refused."""
        return not self.reasons

    @property
    def untouched(self) -> bool:
        """Whether the first attempt covers all: no part is refused, and no arbiter is simulated.

        Routers are then not timed one by one either, but as straight lines.
        """
        return self.whole and not self.contended.any() and not self.separate_routers

    @property
    def reason(self) -> str:
        """Why the first refused part is not covered by the fast engine; empty if all parts are."""
        return next(iter(self.reasons.values()), "")

    @cached_property
    def part(self) -> Ints:
        """The number of the independent part of each FIFO, then of each element, as one array.

        (FIFOs + elements,). A part is a set of elements, queues and links that no other part
        touches. All have number 0 where parts are not told apart.
        """
        if not self.in_parts:
            return np.zeros(self.fifos.size + self.elements.size, dtype=np.int64)
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        first, second = (np.concatenate(ends) for ends in zip(*self._joints(), strict=True))
        size = self.fifos.size + self.elements.size + self.network.links
        joints = coo_array((np.ones(first.size, dtype=np.int8), (first, second)), (size, size))
        _, number = connected_components(joints, directed=False)
        return np.asarray(number[: self.fifos.size + self.elements.size], dtype=np.int64)

    def _joints(self) -> list[tuple[Ints, Ints]]:
        """Return the pairs of joined nodes; numbers are those of FIFOs, elements, then links."""
        fifo, kind, count = self.network.fifo, self.network.kind, self.fifos.size
        numbers = np.arange(count, dtype=np.int64)
        used = np.arange(5) < fifo[:, at.F_SUCCESSORS, None]
        sources = np.broadcast_to(numbers[:, None], used.shape)
        at_element = are_of(kind, INPUT, OUTPUT) | (fifo[:, at.F_WAY] >= 0)
        shared = used & (fifo[:, at.F_SHARED] & at.SHARES != 0)[:, None]
        links = fifo[:, at.F_LINK : at.F_LINK + 5][shared]
        return [
            (sources[used], fifo[:, at.F_NEXT : at.F_NEXT + 5][used]),
            (numbers[at_element], count + self.network.element[at_element]),
            (sources[shared], count + self.elements.size + links),
        ]

    def refuse(self, missing: NotCovered) -> None:
        """Leave the independent parts of some elements and FIFOs to the reference engine.

        missing: names them, and the reason, which is kept; without elements and FIFOs all parts are
        left.
        """
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
        """Let the simulated arbiter decide on links that two FIFOs want in the same cycle.

        missing: a failed check of links; its `contending` are the FIFOs that may want one link in
        one cycle. Parts with a link on which the arbiter cannot decide are refused. Returns whether
        something changed, so that the times must be found again: False if `missing` names no such
        FIFO, or after eight rounds.
        """
        if missing.contending is None or self.rounds == MOST_ROUNDS:
            return False
        self.rounds += 1
        wanted = self.contended.copy()
        wanted[missing.contending] = True
        bad = wanted & ~are_of(self.network.kind, ROUTER, EDGE_IN)
        if bad.any():
            self.refuse(NotCovered(missing.reason, fifos=np.flatnonzero(bad)))
        self.contended = wanted & self.fifos
        return True

    def certificates(self) -> tuple[PartCertificate, ...]:
        """Return, for each independent part that has elements, whether the fast engine covers it.

        A part is a set of elements, queues and links that no other part touches. The certificates
        are in the order of the parts' first elements (row * width + column).
        """
        _, first, counts = np.unique(
            self.part[self.fifos.size :], return_index=True, return_counts=True
        )
        names = self.part[self.fifos.size + first].tolist()
        certificates = [
            PartCertificate(not reason, reason, size, element)
            for name, size, element in zip(names, counts.tolist(), first.tolist(), strict=True)
            for reason in [self.reasons.get(-1, self.reasons.get(name, ""))]
        ]
        return tuple(sorted(certificates, key=lambda part: part.first))
