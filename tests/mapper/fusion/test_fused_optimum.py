"""The collector of cycles around a search, and searches for a product that a budget limits."""

from __future__ import annotations

import gc

import pytest
from explore import at_night
from fused_cases import random_case, random_deep_case
from two_matmuls import ARCH, WORKLOAD

from tilewright.mapper.fusion.fused_optimum import FusedOptimizer, garbage_collection_paused
from tilewright.mapper.fusion.fused_plan import plan_fused_search
from tilewright.mapper.fusion.fused_problem import OBJECTIVE_VALUES
from tilewright.mapper.fusion.fused_search import fused_search
from tilewright.mapper.fusion.join.join_deepening import JoinSearch
from tilewright.mapper.searches.budget import Budget
from tilewright.mapper.searches.request import request_of
from tilewright.mapper.searches.result import Progress
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.studies import path_of


def test_the_collector_is_switched_on_again() -> None:
    assert gc.isenabled()
    with garbage_collection_paused():
        assert not gc.isenabled()
    assert gc.isenabled()


@pytest.mark.parametrize("objective", ["edp", *at_night("energy * latency**2")])
@pytest.mark.parametrize("seed", [0, *at_night(1, 2)])
def test_a_budget_that_does_not_end_changes_no_optimum(objective: str, seed: int) -> None:
    compared = 0
    for make in (random_case, random_deep_case):
        arch, work, conventions = make(seed)
        try:
            whole, limited = (
                fused_search(
                    arch, work, conventions=conventions, objective=objective, budget=seconds
                )
                for seconds in (None, 1000.0)
            )
        except InfeasibleMapping:
            continue
        proof = limited.certificate
        assert proof.kind == whole.certificate.kind == "optimal"
        assert proof.value == pytest.approx(whole.certificate.value, rel=1e-12)
        compared += 1
    assert compared


@pytest.mark.parametrize("objective", ["latency", *at_night("edp * usage.Inner")])
def test_usages_count_in_what_a_search_starts_from(objective: str) -> None:
    whole, limited = (
        fused_search(ARCH, WORKLOAD, objective=objective, budget=seconds) for seconds in (None, 1e3)
    )
    proof = limited.certificate
    assert proof.kind == whole.certificate.kind == "optimal"
    assert proof.value == pytest.approx(whole.certificate.value, rel=1e-12)


def test_a_product_tells_of_the_searches_that_it_starts_from() -> None:
    doing: list[str] = []
    fused_search(
        ARCH, WORKLOAD, objective="edp", budget=100, progress=lambda step: doing.append(step.doing)
    )
    first, *_, last = dict.fromkeys(text.split(":")[0] for text in doing)
    assert first == "fused mappings, first of least energy"
    assert last == "fused mappings"
    assert any("at least" in text for text in doing)


BOTTLENECK = """
workload:
  rank_sizes: {P: 16, Q: 16, C: 64, K: 16, M: 16, R: 3, S: 3, N: 64}
  pad: {P: 1, Q: 1}
  bits_per_value: {All: 8}
  einsums:
  - "T1[p, q, k] = I[p, q, c] * W1[c, k]"
  - "T2[p, q, m] = T1[P: p + r - 1, Q: q + s - 1, k] * W2[r, s, k, m]"
  - "O[p, q, n] = T2[p, q, m] * W3[m, n]"
"""


def test_what_a_search_has_proven_stays_when_it_starts_anew() -> None:
    steps: list[Progress] = []
    found = fused_search(path_of("hardware", "edge_npu"), BOTTLENECK, progress=steps.append)
    bounds = [step.lower_bound for step in steps if step.doing == "fused mappings"]
    assert bounds == sorted(bounds)
    assert bounds[-1] == found.certificate.lower_bound


def test_a_search_starts_from_the_best_mapping_that_was_passed() -> None:
    """The mapping of least energy is far slower than one that was the best on the way to it."""
    request = request_of(ARCH, WORKLOAD, {"objective": "latency", "budget": 1000.0})
    plan = plan_fused_search(request, "latency", OBJECTIVE_VALUES["latency"])
    optimizer = FusedOptimizer(request, plan, request.budget)
    frugal = optimizer.best("energy", OBJECTIVE_VALUES["energy"])
    fast = optimizer.best("latency", OBJECTIVE_VALUES["latency"])
    assert frugal.scored is not None
    assert fast.scored is not None
    assert fast.result.mapping is not None
    assert fast.scored.score.latency < frugal.scored.score.latency
    for passed in ([], [fast.result.mapping]):
        optimizer._passed = passed
        start = optimizer._best_known(plan.problem, frugal.result)
        expected = (fast if passed else frugal).scored
        assert start.label is not None
        assert expected is not None
        assert start.label.latency == pytest.approx(expected.score.latency)
        assert start.label.energy == pytest.approx(expected.score.energy)


def test_mappings_that_were_the_best_at_their_time_are_remembered() -> None:
    plan = plan_fused_search(
        request_of(ARCH, WORKLOAD, {"budget": 1000.0}), "energy", OBJECTIVE_VALUES["energy"]
    )
    search = JoinSearch(plan.problem, Budget(deadline=1e9))
    result = search.solve()
    energies = [mapping.label.energy for mapping in search.history]
    assert energies == sorted(energies, reverse=True)
    assert result.label is not None
    assert energies[-1] == result.label.energy
