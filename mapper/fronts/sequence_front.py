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
    """Pareto set of several Einsums that run one after the other.

    `rows`: energy in joule, latency in second, bits in use of each counted memory, shape (points,
    metrics). `choices`: per point, the number of the point of each Einsum's own front, shape
    (points, Einsums).
    """

    rows: Floats
    choices: Ints


def fold_fronts(
    fronts: Sequence[EinsumFront], bits_of_others: Sequence[Sequence[float]]
) -> FoldedFronts:
    """Combine the fronts of Einsums that run one after the other into one.

    One point of each Einsum makes a combination: energies and latencies add up, bits in use are the
    maximum. Combinations that another one covers are dropped on the way, which loses nothing
    (theory/fronts.md §4). `fronts`: per Einsum. `bits_of_others[i][m]`: bits that tensors of other
    Einsums take in counted memory m while Einsum i runs. Example: (1 J, 9 s, 8 bits) or (2 J, 3 s,
    16 bits), then (1 J, 1 s, 12 bits): (2 J, 10 s, 12 bits) and (3 J, 4 s, 16 bits).
    """
    tables = [np.array([point.row for point in front.points]) for front in fronts]
    for points, more_bits in zip(tables, bits_of_others, strict=True):
        points[:, 2:] += np.array(more_bits).reshape(1, -1)
    return fold_rows(tables)


def fold_rows(tables: Sequence[Floats]) -> FoldedFronts:
    """Combine the points of Einsums that run one after the other, as `fold_fronts` does.

    `tables`: of each Einsum, shape (points, metrics): joule, second, bits of each counted memory.
    """
    folded = FoldedFronts(np.zeros((1, tables[0].shape[1])), np.zeros((1, 0), np.int64))
    for points in tables:
        folded = FoldedFronts(*_joined(folded, points))
    return folded


def _joined(folded: FoldedFronts, points: Floats) -> tuple[Floats, Ints]:
    """Combine every row with every point, in pieces; keep the rows that no other covers.

    Return the rows and the point numbers of each Einsum. Energy and latency add up, bits take the
    maximum.
    """
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
    """Return the energy, in joule, up to which a combination of fronts is whole.

    `fronts`: of each Einsum, whole up to an energy of its own. A combination within the result
    takes from each Einsum a point within that Einsum's limit, because the others cost at least
    their least. Example: two Einsums of at least 1 J each, the first whole up to 3 J, the second
    whole: 4 J. inf if all are whole, 0 if nothing is proven of one.
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
