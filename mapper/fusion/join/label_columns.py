"""Which columns the labels of the join have, and pairs of labels with the pmappings that follow.

Columns of a label: energy (joule), latency (second), usages that are measured (bits), two for the
outermost memory if its usage counts, and per exchange memory the bits above each shared loop that
stay, then the peaks of finished Einsums (label_pass.py).
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.mapper.fusion.boundary.usage_peaks import CountedUsage, OutermostBits
from tilewright.mapper.fusion.join.compatibility_graph import Edges
from tilewright.mapper.searches.exact.kernels import Ints

METRICS = 2  # energy, latency


@dataclass(frozen=True, slots=True)
class LabelColumns:
    """Which columns labels have.

    `capacities`: bits of the exchange memories, the second memory first. `usage`: what counts.
    """

    capacities: tuple[float, ...]
    usage: CountedUsage

    @property
    def pmapping_head(self) -> int:
        """Number of columns of a pmapping before its bits: energy, latency, usages of its own."""
        return METRICS + len(self.usage.pmapping_memories)

    @property
    def n_measures(self) -> int:
        """Number of columns of a label that a mapping is compared by."""
        return METRICS + len(self.usage.names)

    def usage_column(self, memory: str) -> int:
        """Return the column of the usage of an exchange memory."""
        return METRICS + self.usage.names.index(memory)

    @property
    def head(self) -> int:
        """Number of columns of a label before what is kept."""
        return self.n_measures + 2 * bool(self.usage.outermost)

    def outermost_bits(self, number: int, edges: Edges) -> OutermostBits:
        """Return the bits in the outermost memory while Einsum `number` runs."""
        if not self.usage.outermost:
            return OutermostBits(0.0, 0.0, 0.0)
        tensors = self.usage.outermost_tensors[number]
        return tensors.bits(edges.group.depths, edges.source.depths)


@dataclass(frozen=True, slots=True)
class LabelPairs:
    """Labels with pmappings that could follow: numbers of the label, the edge and the pmapping."""

    labels: Ints
    edges: Ints
    pmappings: Ints

    def select(self, chosen: Ints) -> LabelPairs:
        """Return some of the pairs."""
        return LabelPairs(self.labels[chosen], self.edges[chosen], self.pmappings[chosen])
