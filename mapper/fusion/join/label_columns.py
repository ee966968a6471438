"""Say which columns the labels of the join have; pair labels with the pmappings that follow.

Columns of a label: energy (joule), latency (second), usages that are measured (bits), two for the
outermost memory if its usage counts, and per exchange memory the bits above each shared loop that
stay, then the peaks of finished Einsums (join_pmappings.py).
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.mapper.fusion.boundary.usage_peaks import CountedUsage, OutermostBits
from tilewright.mapper.fusion.join.compatibility_graph import Edges
from tilewright.mapper.searches.exact.kernels import Ints

METRICS = 2  # energy, latency


@dataclass(frozen=True, slots=True)
class LabelColumns:
    """Say which columns a label has: a choice of mappings for the Einsums so far, with its costs.

    `capacities`: bits of the memories in which tensors are exchanged, the second memory first.
    `usage`: the memories whose usage (most bits in them at a time) counts. The columns are energy,
    latency, usages, two for the outermost memory if its usage counts, then per exchange memory the
    bits above each shared loop that stay and the peaks of finished Einsums.
    """

    capacities: tuple[float, ...]
    usage: CountedUsage

    @property
    def pmapping_head(self) -> int:
        """Number of columns of one Einsum's mapping (a pmapping) before its reserved bits.

        Energy, latency, and the bits in use of each memory whose usage counts: of those in which no
        tensor is exchanged, and of the outermost one.
        """
        return METRICS + len(self.usage.pmapping_memories)

    @property
    def n_measures(self) -> int:
        """Number of columns that whole mappings are compared by: energy, latency, usages."""
        return METRICS + len(self.usage.names)

    def usage_column(self, memory: str) -> int:
        """Return the number of the label's column with the usage of an exchange memory, in bits.

        A label is a choice of mappings for the Einsums so far. Raises ValueError for a memory whose
        usage does not count.
        """
        return METRICS + self.usage.names.index(memory)

    @property
    def head(self) -> int:
        """Number of columns of a label before the bits of the exchange memories.

        A label is a choice of mappings for the Einsums so far: energy, latency and usages come
        first, then two columns for the outermost memory if its usage counts.
        """
        return self.n_measures + 2 * bool(self.usage.outermost)

    def outermost_bits(self, number: int, edges: Edges) -> OutermostBits:
        """Return the bits in the outermost memory while one Einsum runs, by what is on chip.

        `number`: of the Einsum. `edges`: their source and group say which tensors are on chip. All
        0 if the usage of that memory does not count.
        """
        if not self.usage.outermost:
            return OutermostBits(0.0, 0.0, 0.0)
        tensors = self.usage.outermost_tensors[number]
        return tensors.bits(edges.group.depths, edges.source.depths)


@dataclass(frozen=True, slots=True)
class LabelPairs:
    """Pairs of a label and a mapping of the next Einsum (a pmapping) that may follow it.

    A label is a choice of mappings for the Einsums so far. `labels`, `edges`, `pmappings`: per pair
    the number of the label, of the edge in the compatibility graph, and of the pmapping in its
    group; shape (pairs,) each.
    """

    labels: Ints
    edges: Ints
    pmappings: Ints

    def select(self, chosen: Ints) -> LabelPairs:
        """Return only the pairs with the numbers `chosen`."""
        return LabelPairs(self.labels[chosen], self.edges[chosen], self.pmappings[chosen])
