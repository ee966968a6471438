"""Pareto points within groups."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tilewright.mapper.searches.kernels import Floats, Ints

NOISE = 1e-13  # relative: sums of the same terms in another order


@njit(cache=True)
def _keep(groups: Ints, values: Floats, noise: float) -> Any:
    """Mark the rows that no earlier row of their group dominates; rows sorted by group, value."""
    count, width = values.shape
    kept = np.zeros(count, np.bool_)
    front = np.empty(count, np.int64)
    size = 0
    for row in range(count):
        if row > 0 and groups[row] != groups[row - 1]:
            size = 0
        dominated = False
        for place in range(size):
            other = front[place]
            smaller = True
            for column in range(width):
                if values[other, column] > values[row, column] * (1.0 + noise):
                    smaller = False
                    break
            if smaller:
                dominated = True
                break
        if not dominated:
            front[size] = row
            size += 1
            kept[row] = True
    return kept


def pareto(groups: Ints, values: Floats, noise: float = NOISE) -> Ints:
    """Return the numbers of the rows that no other row of their group dominates.

    `groups`: shape (rows,); `values`: not negative, smaller is better, shape (rows, metrics). Of
    equal rows the first one stays; values that differ by `noise`, relative, count as equal. Sorted
    by group, then by value.
    """
    keys = [values[:, column] for column in range(values.shape[1] - 1, -1, -1)]
    order = np.lexsort((*keys, groups))
    mask = _keep(groups[order], np.ascontiguousarray(values[order]), noise)
    return np.asarray(order[mask], np.int64)
