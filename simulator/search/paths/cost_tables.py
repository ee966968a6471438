"""Tables of least costs by where tensors lie, and how tensors are eliminated from their sum.

The sum of tables that share tensors has its least value where one tensor after the other is
eliminated: the tables with that tensor are joined, and the least over its places takes their place
(R. Dechter, "Bucket elimination", Artificial Intelligence 113, 1999). Where a join would be too
large, its tables are eliminated apart, which gives no more than the least sum (R. Dechter, I. Rish,
"Mini-buckets", J. ACM 50, 2003; theory/grid.md §8).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

_Floats = npt.NDArray[np.float64]
_Integers = npt.NDArray[np.int64]
MOST_SUMS = 1 << 26
"""Sums that the elimination of one tensor may take; some 0.3 s."""
MOST_COSTS = 1 << 22
"""Costs of one table, of 8 bytes each."""


@dataclass(frozen=True, slots=True, eq=False)
class PlaceCostTable:
    """The least costs for each choice of the places of some tensors.

    `tensors`: their numbers, rising; `costs`: an axis for each of them, along it the places.
    """

    tensors: tuple[int, ...]
    costs: _Floats

    def at(self, places: Sequence[int]) -> float:
        """Return the cost where each tensor has its place, given by the tensor's number."""
        return float(self.costs[tuple(places[tensor] for tensor in self.tensors)])

    def at_rows(self, places: _Integers) -> _Floats:
        """Return the costs of rows of places, as those of one row."""
        costs: _Floats = self.costs[tuple(places[:, tensor] for tensor in self.tensors)]
        return costs


def eliminated(tables: Sequence[PlaceCostTable], tensor: int) -> list[PlaceCostTable]:
    """Return the tables that take the place of those with a tensor, the last one of each.

    The sum of the results is, for all places of the others, at most the least sum of the tables.
    They are equal if there is one result.
    """
    return [_without_last(group) for group in _groups(tables, tensor)]


def _groups(tables: Sequence[PlaceCostTable], tensor: int) -> list[list[PlaceCostTable]]:
    """Return the tables in groups whose joins are not too large, the largest tables first."""
    groups: list[list[PlaceCostTable]] = []
    for table in sorted(tables, key=lambda table: -table.costs.size):
        assert table.tensors[-1] == tensor, (table.tensors, tensor)
        group = next((g for g in groups if _is_small([*g, table])), None)
        if group is None:
            groups.append([table])
        else:
            group.append(table)
    return groups


def _is_small(tables: Sequence[PlaceCostTable]) -> bool:
    """Return whether the join of tables, and what is left without its last tensor, are small."""
    *others, last = _sizes(tables).values()
    return prod(others) <= MOST_COSTS and prod(others) * last <= MOST_SUMS


def _sizes(tables: Sequence[PlaceCostTable]) -> dict[int, int]:
    """Return the number of places by tensor, in the order of the tensors."""
    sizes = {
        t: n for table in tables for t, n in zip(table.tensors, table.costs.shape, strict=True)
    }
    return dict(sorted(sizes.items()))


def _without_last(tables: Sequence[PlaceCostTable]) -> PlaceCostTable:
    """Return the least sums of tables over the places of their last tensor, which all have."""
    sizes = _sizes(tables)
    *tensors, _ = sizes
    *shape, places = sizes.values()
    aligned = [
        table.costs.reshape([n if t in table.tensors else 1 for t, n in sizes.items()])
        for table in tables
    ]
    least = np.full(shape, np.inf)
    for place in range(places):  # one after the other, so that the join itself is never stored
        np.minimum(least, sum(costs[..., place] for costs in aligned), out=least)
    return PlaceCostTable(tuple(tensors), least)
