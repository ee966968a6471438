"""Fronts over energy, latency and the usage of memories, of mappings that may be fused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import inf
from typing import Any

import pytest
from fused_example import WORKLOAD, machine
from nodes import arch_text, mac, memory

from tilewright.mapper.fronts import fused_front
from tilewright.mapper.fronts.fused_front import FusedFrontSearch, front_of_fused
from tilewright.mapper.fusion.bounds.cost_limit import EnergyLatency
from tilewright.mapper.fusion.join.join_deepening import JoinSearch
from tilewright.mapper.mapping.scored_mapping import ScoredMapping
from tilewright.mapper.searches.api import search
from tilewright.mapper.searches.budget import EndReason, OutOfBudget
from tilewright.mapper.searches.objective.measures import FrontMetrics
from tilewright.mapper.searches.request import request_of

OPTIONAL_BUFFER = arch_text(
    memory("DRAM", "inf", "keep: ~Intermediates, may_keep: All", (100, 1)),
    memory("BUF", 24, "may_keep: All", (1, 8)),
    mac(),
)
METRICS = FrontMetrics(("energy", "usage.BUF"), ("BUF",))
FRONT = {"front": METRICS.names}


def incumbent() -> ScoredMapping:
    """Return the best unfused mapping."""
    return search(machine(12), WORKLOAD, fusion=False).best


def test_less_energy_takes_more_bits() -> None:
    """theory/fusion.md, the running example: 2568 J with Y whole, 3376 J in 8 bits."""
    result = front_of_fused(request_of(machine(12), WORKLOAD, {**FRONT}), incumbent())
    points = [(point.score.energy, point.score.capacity.get("BUF", 0)) for point in result.points]
    assert points == sorted(points)
    assert all(first[1] > second[1] for first, second in pairwise(points))
    assert points[0][0] == 2568
    assert min(energy for energy, bits in points if bits <= 8) == 3376
    assert result.proof.whole


def test_a_search_reports_how_far_it_is_complete() -> None:
    request = request_of(machine(12), WORKLOAD, {})
    finder = FusedFrontSearch(request, incumbent(), METRICS)
    assert finder.run() == inf
    assert len(finder.mappings) > 1


def test_a_mapping_of_the_least_of_all_else_ends_the_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Once a mapping keeps no bits in BUF, none of more energy matters: no further slice."""
    limits: list[float] = []
    slices = JoinSearch.energy_slices

    def noted(self: JoinSearch, shares: Sequence[float], within: EnergyLatency) -> Iterator[Any]:
        for limit, graph in slices(self, shares, within):
            limits.append(limit)
            yield limit, graph

    monkeypatch.setattr(JoinSearch, "energy_slices", noted)
    monkeypatch.setattr(fused_front, "SLICES", (1.0, 100.0, 1000.0, inf))
    request = request_of(OPTIONAL_BUFFER, WORKLOAD, {**FRONT})
    start = search(OPTIONAL_BUFFER, WORKLOAD, fusion=False).best
    short = front_of_fused(request, start)
    assert short.proof.whole
    assert short.points[-1].score.capacity.get("BUF", 0) == 0
    assert len(limits) < 4
    monkeypatch.setattr(FusedFrontSearch, "_covers_all_above", lambda *_: False)
    limits.clear()
    full = front_of_fused(request, start)
    assert limits[-1] == inf
    assert [METRICS.row(p.score) for p in short.points] == [
        METRICS.row(p.score) for p in full.points
    ]


def test_a_limit_that_the_user_did_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def ends(*_: object) -> None:
        raise OutOfBudget(EndReason.LABELS)

    monkeypatch.setattr(JoinSearch, "energy_slices", ends)
    result = search(machine(12), WORKLOAD, front=("energy", "usage"))
    assert result.front_proof is not None
    assert not result.front_proof.whole
    assert result.notes[-1] == fused_front.TOO_MANY
    assert "partial mappings" in result.notes[-1]


def test_slices_have_the_same_front_as_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a budget, mappings of energy and latency are passed in slices of energy, too."""
    slow_buffer = memory("BUF", 12, "may_keep: All", (1, 0.05))
    arch = arch_text(
        memory("DRAM", "inf", "keep: ~Intermediates, may_keep: All", (100, 1)), slow_buffer, mac()
    )
    one_pass = search(arch, WORKLOAD, front=("energy", "latency"))
    monkeypatch.setattr(fused_front, "SLICES", (0.0, 0.05, 0.2, inf))
    sliced = search(arch, WORKLOAD, front=("energy", "latency"), budget=1000.0)
    costs = [[(p.score.energy, p.score.latency) for p in r.front] for r in (one_pass, sliced)]
    assert costs[0] == costs[1]
    assert len(costs[0]) > 5
    for result in (one_pass, sliced):
        assert result.front_proof is not None
        assert result.front_proof.whole
