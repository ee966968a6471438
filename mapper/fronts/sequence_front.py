"""Pareto sets of Einsums that run one after the other: sums of costs, maxima of used bits.

Example: points (1 J, 9 s, 8 bits) and (2 J, 3 s, 16 bits) of one Einsum, (1 J, 1 s, 12 bits) of the
next. Joined they are (2 J, 10 s, 12 bits) and (3 J, 4 s, 16 bits) (theory/fronts.md §4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from tilewright.mapper.fronts.einsum_fronts import EinsumFront
from tilewright.mapper.fronts.pareto_points import undominated
from tilewright.mapper.searches.exact.kernels import Floats, Ints

MAX_PAIRS = 1 << 21  # at a time


@dataclass(frozen=True, slots=True)
class FoldedFronts:
    """Rows of the workload and, per row, the number of the point of each Einsum."""

    rows: Floats
    choices: Ints


def fold_fronts(
    fronts: Sequence[EinsumFront], bits_of_others: Sequence[Sequence[float]]
) -> FoldedFronts:
    """Combine one point per Einsum; only combinations that no other one covers are kept.

    `others[i][m]`: bits of memory m that other Einsums keep there while Einsum i runs. Exact: a
    point that another one covers never becomes better by what is added to both.
    """
    width = len(fronts[0].points[0].row)
    rows = np.zeros((1, width))
    choices = np.zeros((1, 0), np.int64)
    for front, more_bits in zip(fronts, bits_of_others, strict=True):
        points = np.array([point.row for point in front.points])
        points[:, 2:] += np.array(more_bits).reshape(1, -1)
        rows, choices = _joined(FoldedFronts(rows, choices), points)
    return FoldedFronts(rows, choices)


def _joined(folded: FoldedFronts, points: Floats) -> tuple[Floats, Ints]:
    """Join every row with every point, some rows at a time."""
    step = max(1, MAX_PAIRS // len(points))
    rows, choices = np.zeros((0, folded.rows.shape[1])), np.zeros((0, 1), np.int64)
    choices = np.zeros((0, folded.choices.shape[1] + 1), np.int64)
    for first in range(0, len(folded.rows), step):
        row_slice = folded.rows[first : first + step]
        row_numbers = np.repeat(np.arange(len(row_slice)), len(points))
        point_numbers = np.tile(np.arange(len(points)), len(row_slice))
        sums = row_slice[row_numbers] + points[point_numbers]
        sums[:, 2:] = np.maximum(row_slice[row_numbers][:, 2:], points[point_numbers][:, 2:])
        chosen = np.column_stack([folded.choices[first : first + step][row_numbers], point_numbers])
        rows, choices = np.vstack([rows, sums]), np.vstack([choices, chosen])
        undominated_rows = undominated(rows)
        rows, choices = rows[undominated_rows], choices[undominated_rows]
    return rows, choices


def proven_up_to(fronts: Sequence[EinsumFront]) -> float:
    """Return the energy up to which the combination is whole.

    A combination with less energy in all takes from each Einsum a point of less energy than what
    the least of the others leaves.
    """
    least_energies = [min(point.row[0] for point in front.points) for front in fronts]
    limits = [
        front.proven + sum(least_energies) - least_energy
        for front, least_energy in zip(fronts, least_energies, strict=True)
        if front.proven < inf
    ]
    if any(front.proven == 0 for front in fronts):
        return 0.0
    return min(limits, default=inf)
