"""Fronts of several Einsums that share no loops, and the bits that others keep meanwhile."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from fused_cases import two_memories, workload_of

from tilewright.arch.errors import TilewrightError
from tilewright.mapper import search
from tilewright.mapper.evaluation.verified_score import evaluate
from tilewright.mapper.fronts.einsum_fronts import EinsumFrontSolver
from tilewright.mapper.fronts.front_search import (
    check_metrics,
    front_of_einsums,
    least_of_einsums,
    pareto_mappings,
    requested_metrics,
)
from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.mapping.score import Score
from tilewright.mapper.mapping.scored_mapping import ScoredMapping
from tilewright.mapper.searches.objective.measures import FrontMetrics
from tilewright.mapper.searches.request import Request, request_of
from tilewright.mapper.searches.result import Progress

WORKLOAD = workload_of(("Y[m] = A[m, k] * B[k]", "Z[m] = Y[m] * C[m]"), {"m": 4, "k": 2})


def request(**options: object) -> Request:
    return request_of(two_memories(20), WORKLOAD, options)


def test_a_front_is_what_no_combination_of_points_covers() -> None:
    """Sums of energy and latency over both Einsums, every pair of points tried."""
    asked = request(front=("energy", "latency"))
    result = front_of_einsums(asked, WORKLOAD.einsums, ())
    solver = EinsumFrontSolver(asked, FrontMetrics(("energy", "latency"), ()))
    fronts = [[p.row for p in solver.front(einsum).points] for einsum in asked.workload.einsums]
    sums = {tuple(map(sum, zip(*pair, strict=True))) for pair in product(*fronts)}
    best = sorted(
        row for row in sums
        if not any(all(a <= b for a, b in zip(other, row, strict=True)) and other != row
                   for other in sums)
    )  # fmt: skip
    points = [(point.score.energy, point.score.latency) for point in result.points]
    assert points == [pytest.approx(row) for row in best]
    for point in result.points:
        assert evaluate(asked.arch, asked.workload, point.mapping) == point.score


def test_usage_of_the_outermost_memory_counts_what_others_need() -> None:
    """While Y is computed DRAM holds A, B and Y, 8 + 2 + 4 bits; while Z is, Y, C and Z, 12."""
    asked = request(front=("usage.DRAM", "energy"))
    result = front_of_einsums(asked, asked.workload.einsums, ())
    assert min(point.score.capacity["DRAM"] for point in result.points) == 14


def test_the_least_formula_of_both_einsums() -> None:
    asked = request(objective="energy + 3 * latency")
    result = least_of_einsums(asked, asked.workload.einsums)
    front = front_of_einsums(request(front=("energy", "latency")), asked.workload.einsums, ())
    values = [point.score.energy + 3 * point.score.latency for point in front.points]
    assert result.certificate.value == pytest.approx(min(values))
    assert result.certificate.kind == "optimal"


def test_covered_mappings_are_left_out() -> None:
    def scored(energy: float, latency: float) -> ScoredMapping:
        score = evaluate(two_memories(20), WORKLOAD, best)
        return ScoredMapping(best, with_costs(score, energy, latency))

    best = least_of_einsums(request(objective="energy + latency"), WORKLOAD.einsums).best.mapping
    assert isinstance(best, Mapping)
    mappings = [scored(3.0, 1.0), scored(2.0, 2.0), scored(3.0, 3.0)]
    kept = pareto_mappings(mappings, FrontMetrics(("energy", "latency"), ()))
    assert [(m.score.energy, m.score.latency) for m in kept] == [(2.0, 2.0), (3.0, 1.0)]
    assert pareto_mappings([], FrontMetrics(("energy",), ())) == ()


def with_costs(score: Score, energy: float, latency: float) -> Score:
    """Return a score with other costs."""
    return replace(score, energy=energy, latency=latency)


def test_metrics_must_exist() -> None:
    asked = request(front=("energy", "usage.BUF"))
    assert requested_metrics(asked, WORKLOAD.einsums).memories == ("BUF",)
    with pytest.raises(TilewrightError):
        check_metrics(request(front=("usage.REG",)), WORKLOAD.einsums)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"front": ("energy", "latency"), "fusion": False}, ["front of Y", "front of Z"]),
        (
            {"front": ("energy", "latency")},
            ["its least energy", "its least latency", "between its ends"],
        ),
        ({"front": ("energy", "usage.BUF")}, ["front of fused mappings"]),
        ({"objective": "energy + 3 * latency", "einsum": "Y"}, ["least of the formula for Y"]),
    ],
)
def test_progress_says_which_part_of_a_front_is_searched(
    options: dict[str, object], said: list[str]
) -> None:
    steps: list[Progress] = []
    search(two_memories(20), WORKLOAD, progress=steps.append, **options)  # type: ignore[arg-type]
    doing = list(dict.fromkeys(step.doing for step in steps))
    places = [next(i for i, text in enumerate(doing) if part in text) for part in said]
    assert places == sorted(places)
