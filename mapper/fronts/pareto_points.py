"""Pareto points: which rows of numbers no other row beats, up to the noise of rounding.

A row covers another if no value of it is greater, up to a relative difference of 1e-12. Example: of
(1, 9), (2, 5), (2, 6) the first two are left.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.searches.exact.kernels import Floats, Ints
from tilewright.mapper.searches.shared.group_pareto import pareto

NOISE = 1e-12  # relative: sums of the same terms in another order
_CHUNK = 1 << 22  # comparisons at a time
_FEW = 1 << 14  # comparisons that are faster all at once


def undominated(values: Floats) -> Ints:
    """Return the numbers of the rows that no other row covers, sorted by value.

    `values`: not negative, smaller is better, shape (rows, metrics). A row covers another if no
    value of it is greater, up to a relative 1e-12; of equal rows the first in their order stays.
    Example: of (1, 9), (2, 5), (2, 6) the first two are left. Without metrics, row 0.
    """
    if not len(values):
        return np.zeros(0, np.int64)
    if not values.shape[1]:
        return np.zeros(1, np.int64)
    pareto_rows = pareto(np.zeros(len(values), np.int64), values)
    chosen = values[pareto_rows]
    if chosen.size * len(chosen) <= _FEW:
        return np.asarray(pareto_rows[~_covered_by_any_later(chosen)], np.int64)
    fine = [i for i in range(len(chosen)) if not _covered_by_later(chosen, i)]
    return np.asarray(pareto_rows[fine], np.int64)


def _covered_by_any_later(rows: Floats) -> NDArray[np.bool_]:
    """Mark the rows for which `_covered_by_later` holds, all at once."""
    limits = rows * (1 + NOISE)
    nowhere_above = np.less_equal(rows[np.newaxis], limits[:, np.newaxis]).all(axis=2)
    return np.asarray(np.triu(nowhere_above, 1).any(axis=1))


def _covered_by_later(rows: Floats, number: int) -> bool:
    """Tell whether a later row covers row `number`, up to noise; rows are sorted."""
    limit = rows[number] * (1 + NOISE)
    end = int(np.searchsorted(rows[:, 0], limit[0], side="right"))
    later: Floats = rows[number + 1 : end]
    return bool(np.all(np.less_equal(later, limit), axis=1).sum())


def covered(values: Floats, points: Floats) -> NDArray[np.bool_]:
    """Tell for each row of `values` whether some row of `points` covers it.

    Shapes (rows, metrics) and (points, metrics); the result has shape (rows,). Numbers count as not
    above up to a relative 1e-12.
    """
    is_covered = np.zeros(len(values), np.bool_)
    step = max(1, _CHUNK // max(1, points.size))
    for first in range(0, len(values) if len(points) else 0, step):
        limits = values[first : first + step, np.newaxis, :] * (1 + NOISE)
        nowhere_above = np.all(np.less_equal(points[np.newaxis], limits), axis=2)
        is_covered[first : first + step] = np.any(nowhere_above, axis=1)
    return is_covered


def least_row(values: Floats, rows: Floats) -> int:
    """Return the number of the row with the least value.

    `values`: shape (rows,). Values within a relative 1e-12 of the least tie; of these the row with
    the smallest numbers, compared column by column, is taken. `rows`: shape (rows, metrics).
    """
    ties = np.flatnonzero(values <= values.min() * (1 + NOISE)).tolist()
    return int(min(ties, key=lambda number: tuple(rows[number])))
