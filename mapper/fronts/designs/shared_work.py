"""How much work one search for many designs may do before a search of each takes less.

One search for all goes through labels that no single design needs: mostly it saves most of the
time, but with many sizes of several memories it can take longer than all searches of one. So it
ends when it has looked at as many labels as these searches would have time for. Work is counted,
never timed: whether designs share a search must not depend on the machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from tilewright.mapper.searches.budget import WorkLeft
from tilewright.mapper.searches.request import Request
from tilewright.mapper.workload.errors import InfeasibleMapping

LITTLE = 1_000_000  # labels looked at per design (4 ms): less than any search of a design takes
PER_EINSUM = 5_000_000  # the same that take as long as what a search of an Einsum does once
PER_LABEL = 150  # the same that take as long as a label of a search of one design


@dataclass(frozen=True)
class SharedWork:
    """The limits of a search that answers for many designs.

    `designs`: how many; `typical`: the request for one of them.
    """

    designs: int
    typical: Request

    def limits(self) -> Iterator[WorkLeft]:
        """Yield how much work the search may do, first little, then as much as pays.

        The second needs a search of the typical design.
        """
        yield WorkLeft(self.designs * LITTLE)
        yield WorkLeft(self.designs * self.of_one)

    @cached_property
    def of_one(self) -> int:
        """About the work of a search of the typical design, in labels looked at."""
        from tilewright.mapper.searches.api import answer

        try:
            statistics = answer(self.typical, explain=False).statistics
        except InfeasibleMapping:  # nothing fits: it ends early
            return LITTLE
        return PER_EINSUM * statistics.solved + PER_LABEL * statistics.labels
