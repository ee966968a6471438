"""The Pareto set of one mapspace against the listing of all its mappings."""

from __future__ import annotations

from math import inf

import pytest
from fused_cases import two_memories, workload_of

from tilewright.arch.flattening.flattening import flatten
from tilewright.mapper.fronts.mapspace_front import (
    FrontPoint,
    best_points,
    front_of_space,
    least_of_space,
    mapspace_sweep,
    with_usage_choices,
)
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.budget import UNLIMITED
from tilewright.mapper.searches.mapping_scorer import MappingScorer
from tilewright.mapper.searches.objective.measures import FrontMetrics
from tilewright.mapper.searches.objective.objective_formula import formula_of
from tilewright.mapper.workload.errors import InfeasibleMapping

WORKLOAD = workload_of(("Y[m] = A[m, k] * B[k]",), {"m": 2, "k": 2})
METRICS = FrontMetrics(("energy", "latency", "usage.BUF"), ("BUF",))


def mapspace() -> Mapspace:
    einsum = WORKLOAD.einsums[0]
    (flat,) = flatten(two_memories(6), WORKLOAD.scope(einsum))
    return Mapspace(einsum, flat)


def listed_rows() -> set[tuple[float, ...]]:
    """Return the rows of all mappings that fit, one by one."""
    space = with_usage_choices(mapspace(), ("BUF",))
    scorer, rows = MappingScorer(space), set()
    for mapping in space.mappings_within(lambda: None):
        try:
            rows.add(METRICS.row(scorer.score(mapping)))
        except InfeasibleMapping:
            continue
    return rows


def test_the_front_is_what_no_listed_mapping_covers() -> None:
    front = front_of_space(mapspace(), METRICS, UNLIMITED)
    rows = listed_rows()
    best = {
        row for row in rows
        if not any(all(a <= b for a, b in zip(other, row, strict=True)) and other != row
                   for other in rows)
    }  # fmt: skip
    assert {point.row for point in front.points} == best
    assert len(best) > 1
    assert front.proven == inf


def test_the_least_of_a_formula_is_that_of_all_listed_mappings() -> None:
    formula = formula_of("energy + 5 * usage.BUF", {"BUF": None})
    least = least_of_space(mapspace(), formula, UNLIMITED)
    assert least.value == pytest.approx(min(energy + 5 * bits for energy, _, bits in listed_rows()))
    assert least.lower_bound == pytest.approx(least.value)


def test_no_row_is_below_the_lower_bound() -> None:
    sweep = mapspace_sweep(with_usage_choices(mapspace(), ("BUF",)), ("BUF",))
    for row in listed_rows():
        assert all(a <= b * (1 + 1e-12) for a, b in zip(sweep.lower_bound, row, strict=True))


def test_best_points_of_none_and_of_two() -> None:
    front = front_of_space(mapspace(), METRICS, UNLIMITED)
    point = front.points[0]
    worse = FrontPoint(point.mapping, point.score, tuple(2 * value + 1 for value in point.row))
    assert best_points([worse, point], METRICS) == (point,)
    assert best_points([], METRICS) == ()
