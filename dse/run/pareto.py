"""Pareto fronts: which designs no other design beats in every objective."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:  # a study file is read without numpy
    import numpy as np
    from numpy.typing import NDArray

Goal = Literal["minimize", "maximize"]

_BLOCK = 256


def oriented(values: Sequence[Sequence[float]], goals: Sequence[Goal]) -> NDArray[np.float64]:
    """Return values as an array (points, objectives) in which smaller is always better.

    `goals`: minimize or maximize, per objective; values to maximize change their sign.
    """
    import numpy as np

    signs = np.array([1.0 if goal == "minimize" else -1.0 for goal in goals])
    costs: NDArray[np.float64] = np.array(values, dtype=np.float64).reshape(-1, len(goals))
    costs *= signs
    return costs


def non_dominated(costs: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return a mask of the points that no other point dominates (the Pareto front).

    `costs`: shape (points, objectives), smaller is better. A point dominates another if it is
    nowhere larger and somewhere smaller; equal points do not dominate each other, so all of them
    are kept. Exact: no tolerance.

    In lexicographic order a point can only be dominated by one that stands before it, and
    dominance is transitive, so each block is compared with the survivors before it and itself.
    """
    import numpy as np

    count = costs.shape[0]
    keep = np.zeros(count, dtype=np.bool_)
    if count == 0:
        return keep
    order = np.lexsort(costs.T[::-1])
    ranked = costs[order]
    survivors = np.empty((0, costs.shape[1]))
    for start in range(0, count, _BLOCK):
        block = ranked[start : start + _BLOCK]
        alive = ~_dominated(block, np.concatenate([survivors, block]))
        keep[order[start : start + _BLOCK]] = alive
        survivors = np.concatenate([survivors, block[alive]])
    return keep


def _dominated(points: NDArray[np.float64], rivals: NDArray[np.float64]) -> NDArray[np.bool_]:
    import numpy as np

    nowhere_larger = np.ones((points.shape[0], rivals.shape[0]), dtype=np.bool_)
    somewhere_smaller = np.zeros_like(nowhere_larger)
    for column in range(points.shape[1]):
        column_values, rival_values = points[:, column, None], rivals[None, :, column]
        nowhere_larger &= rival_values <= column_values
        somewhere_smaller |= rival_values < column_values
    dominated = nowhere_larger & somewhere_smaller
    return np.asarray(dominated.any(axis=1), dtype=np.bool_)


def reference_box(costs: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return (ideal, reference), the corners of the box in which a front's hypervolume is measured.

    `costs`: shape (points, objectives), smaller is better. Ideal is the best of each objective;
    reference is ideal plus 1.1 times the span from best to worst. An objective in which all points
    agree gets a span of its own size (at least 1), so that the box has a volume.
    """
    import numpy as np

    ideal, worst = costs.min(axis=0), costs.max(axis=0)
    span = np.where(worst > ideal, worst - ideal, np.maximum(np.abs(ideal), 1.0))
    return ideal, ideal + 1.1 * span


def hypervolume(
    costs: NDArray[np.float64], ideal: NDArray[np.float64], reference: NDArray[np.float64]
) -> float:
    """Return the share of the box from `ideal` to `reference` that the points dominate, 0 to 1.

    `costs`: shape (points, objectives), smaller is better; the corners have one value per
    objective.
    """
    if costs.shape[0] == 0:
        return 0.0
    import numpy as np
    from optuna._hypervolume import compute_hypervolume  # exact; dimension-sweep, then WFG

    scaled = (costs - ideal) / (reference - ideal)
    front = np.unique(scaled[non_dominated(scaled)], axis=0)
    return float(compute_hypervolume(front, np.ones(costs.shape[1]), assume_pareto=True))
