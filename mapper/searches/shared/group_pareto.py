"""Find the Pareto set of points within groups."""

from __future__ import annotations

import numpy as np

from tilewright.mapper.searches.exact.kernels import Floats, Ints, first_of_groups

NOISE = 1e-13  # relative: sums of the same terms in another order


def pareto(groups: Ints, values: Floats, noise: float = NOISE) -> Ints:
    """Return the numbers of the rows that no other row of the same group dominates.

    `groups`: number of each row's group, shape (rows,). `values`: not negative, smaller is better,
    shape (rows, metrics). A row dominates another if no value of it is greater. Values that differ
    by `noise`, relative, count as equal; of equal rows the first one stays. The result is sorted by
    group, then by values.
    """
    keys = [values[:, column] for column in range(values.shape[1] - 1, -1, -1)]
    order = np.lexsort((*keys, groups))
    mask = first_of_groups(groups[order], np.ascontiguousarray(values[order]), noise)
    return np.asarray(order[mask], np.int64)
