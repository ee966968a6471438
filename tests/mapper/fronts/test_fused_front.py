"""Corners of the convex hull of a front, and labels that no other one covers."""

from __future__ import annotations

from tilewright.mapper.fronts.fused_front import hull_corners, pareto_labels
from tilewright.mapper.fusion.fused_problem import ValueFunction
from tilewright.mapper.fusion.join.join_pmappings import WholeLabel

POINTS = ((1.0, 9.0), (2.0, 5.0), (3.0, 4.5), (4.0, 3.0), (6.0, 2.9), (9.0, 1.0), (9.5, 4.0))


def least_label(value: ValueFunction) -> WholeLabel:
    """Return the point with the least value, ties by energy and latency."""
    return WholeLabel(*min(POINTS, key=lambda point: (value(*point), point)), ())


def test_corners_are_those_of_the_convex_hull() -> None:
    """(3, 4.5) is above the chord from (2, 5) to (4, 3), (6, 2.9) above that to (9, 1)."""
    corners: list[WholeLabel] = []
    hull_corners(least_label, corners)
    points = sorted((label.energy, label.latency) for label in corners)
    assert points == [(1.0, 9.0), (2.0, 5.0), (4.0, 3.0), (9.0, 1.0)]


def test_one_best_point_is_the_whole_hull() -> None:
    best = WholeLabel(1.0, 1.0, ())
    corners: list[WholeLabel] = []
    hull_corners(lambda _: best, corners)
    assert set(corners) == {best}


def test_covered_labels_are_left_out() -> None:
    labels = [WholeLabel(energy, latency, ()) for energy, latency in POINTS]
    kept = [(label.energy, label.latency) for label in pareto_labels(labels)]
    assert kept == [point for point in POINTS if point != (9.5, 4.0)]
