"""Fronts over the usage of memories, of mappings that may be fused."""

from __future__ import annotations

from itertools import pairwise
from math import inf

from fused_example import WORKLOAD, machine

from tilewright.mapper.fronts.fused_usage_front import FusedUsageFrontSearch, front_with_usage
from tilewright.mapper.mapping.scored_mapping import ScoredMapping
from tilewright.mapper.searches.api import search
from tilewright.mapper.searches.objective.measures import FrontMetrics
from tilewright.mapper.searches.request import request_of

METRICS = FrontMetrics(("energy", "usage.BUF"), ("BUF",))


def incumbent() -> ScoredMapping:
    """Return the best unfused mapping."""
    return search(machine(12), WORKLOAD, fusion=False).best


def test_less_energy_takes_more_bits() -> None:
    """theory/fusion.md, the running example: 2568 J with Y whole, 3376 J in 8 bits."""
    request = request_of(machine(12), WORKLOAD, {})
    result = front_with_usage(request, incumbent(), METRICS)
    points = [(point.score.energy, point.score.capacity.get("BUF", 0)) for point in result.points]
    assert points == sorted(points)
    assert all(first[1] > second[1] for first, second in pairwise(points))
    assert points[0][0] == 2568
    assert min(energy for energy, bits in points if bits <= 8) == 3376
    assert result.proof.whole


def test_a_search_reports_how_far_it_is_complete() -> None:
    request = request_of(machine(12), WORKLOAD, {})
    finder = FusedUsageFrontSearch(request, incumbent(), METRICS)
    assert finder.run() == inf
    assert len(finder.mappings) > 1
