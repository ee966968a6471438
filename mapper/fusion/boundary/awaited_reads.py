"""Find the loops below which one Einsum may read what another has just written.

In a shared loop that both run through, the writer computes a part of the tensor in each turn, and
the reader runs in each turn behind it. What the reader touches is complete iff the loop cuts the
tensor alike for both: it is over a variable that indexes the same rank on both sides
(theory/fusion.md §1.3).

Example: `D[m] = X[m, n]`, then `A[m, n] = X[m, n] * D[m]`. A loop over m is right for D. Below a
loop over n, D is a partial sum when the second Einsum reads it: the two have to be separated above
that loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tilewright.mapper.fusion.boundary.rank_names import LoopName, LoopNames, aligned_ranks
from tilewright.mapper.workload.workload import Workload


class AwaitedRead(NamedTuple):
    """A tensor with the numbers of the Einsum that writes it and of a later one that reads it.

    `complete_loops`: names, common to both Einsums, of the rank variables over which they may share
    a loop without the reader meeting partial sums.
    """

    tensor: str
    writer: int
    reader: int
    complete_loops: frozenset[str]

    def is_complete_below(self, loops: tuple[LoopName, ...]) -> bool:
        """Tell whether the reader finds complete values if both run in these shared loops."""
        return all(loop.variable in self.complete_loops for loop in loops)

    def renumbered(self, offset: int) -> AwaitedRead:
        """Return the same read where every Einsum's number is greater by `offset`."""
        return self._replace(writer=self.writer + offset, reader=self.reader + offset)


def awaited_reads(workload: Workload, names: LoopNames) -> tuple[AwaitedRead, ...]:
    """Return every pair of Einsums of which the later one reads what the earlier one writes.

    `names`: per Einsum, its rank variables' names that are common to all Einsums. In the order of
    the writers, then of their tensors and readers.
    """
    return tuple(_awaited_reads(workload, names))


def _awaited_reads(workload: Workload, names: LoopNames) -> Iterator[AwaitedRead]:
    for writer, einsum in enumerate(workload.einsums):
        for written in einsum.outputs:
            ranks = aligned_ranks(written, names[writer])
            for reader in range(writer + 1, len(workload.einsums)):
                for read in workload.einsums[reader].inputs:
                    if read.tensor == written.tensor:
                        same = ranks & aligned_ranks(read, names[reader])
                        loops = frozenset(name for _, name, _ in same)
                        yield AwaitedRead(read.tensor, writer, reader, loops)
