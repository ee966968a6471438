"""Pareto sets of Einsums that run one after the other: sums of costs, the peak of room."""

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


def fold_fronts(fronts: Sequence[EinsumFront], others: Sequence[Sequence[float]]) -> FoldedFronts:
    """Combine one point per Einsum; only combinations that no other one covers are kept.

    `others[i][m]`: bits of memory m that other Einsums keep there while Einsum i runs. Exact: a
    point that another one covers never becomes better by what is added to both.
    """
    width = len(fronts[0].points[0].row)
    rows = np.zeros((1, width))
    choices = np.zeros((1, 0), np.int64)
    for front, more in zip(fronts, others, strict=True):
        points = np.array([point.row for point in front.points])
        points[:, 2:] += np.array(more).reshape(1, -1)
        rows, choices = _joined(FoldedFronts(rows, choices), points)
    return FoldedFronts(rows, choices)


def _joined(before: FoldedFronts, points: Floats) -> tuple[Floats, Ints]:
    """Join every row with every point, some rows at a time."""
    step = max(1, MAX_PAIRS // len(points))
    rows, choices = np.zeros((0, before.rows.shape[1])), np.zeros((0, 1), np.int64)
    choices = np.zeros((0, before.choices.shape[1] + 1), np.int64)
    for first in range(0, len(before.rows), step):
        part = before.rows[first : first + step]
        one = np.repeat(np.arange(len(part)), len(points))
        two = np.tile(np.arange(len(points)), len(part))
        made = part[one] + points[two]
        made[:, 2:] = np.maximum(part[one][:, 2:], points[two][:, 2:])
        chosen = np.column_stack([before.choices[first : first + step][one], two])
        rows, choices = np.vstack([rows, made]), np.vstack([choices, chosen])
        kept = undominated(rows)
        rows, choices = rows[kept], choices[kept]
    return rows, choices


def proven_up_to(fronts: Sequence[EinsumFront]) -> float:
    """Return the energy up to which the combination is whole.

    A combination with less energy in all takes from each Einsum a point of less energy than what
    the least of the others leaves.
    """
    least = [min(point.row[0] for point in front.points) for front in fronts]
    limits = [
        front.proven + sum(least) - own
        for front, own in zip(fronts, least, strict=True)
        if front.proven < inf
    ]
    if any(front.proven == 0 for front in fronts):
        return 0.0
    return min(limits, default=inf)
