"""A search of a workload that is stopped gives a mapping and a bound that holds."""

from __future__ import annotations

from functools import cache, partial
from math import inf

import pytest
from explore import at_night
from fused_cases import chain, two_memories

from tilewright.arch.errors import TilewrightError
from tilewright.mapper import evaluate, search
from tilewright.mapper.searches.budget import Budget, OutOfBudget, resident_bytes
from tilewright.mapper.searches.result import Progress, SearchResult

CHAIN = chain(4, (2, 4, 2, 4))
SHORT = chain(3, (2, 4, 2))


@cache
def best_of(objective: str) -> SearchResult:
    """The whole search that the stopped ones are compared with."""
    return search(two_memories(72), CHAIN, objective=objective)


@pytest.mark.parametrize("objective", ["edp", *at_night("energy", "latency")])
def test_no_time_gives_a_mapping_and_a_bound(objective: str) -> None:
    arch = two_memories(72)
    best = best_of(objective)
    hasty = search(arch, CHAIN, objective=objective, budget=0.0)
    assert best.certificate.kind == "optimal"
    proof = hasty.certificate
    assert proof.kind == ("bounded" if proof.gap else "optimal")
    assert proof.lower_bound <= best.certificate.value <= proof.value
    assert proof.scope == best.certificate.scope
    assert evaluate(arch, CHAIN, hasty.best.mapping) == hasty.best.score
    assert 0 <= proof.gap < inf


@pytest.mark.nightly
def test_memory_ends_the_search_with_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    arch = two_memories(72)
    best = best_of("energy").certificate.value
    gaps = []
    for labels in (10, 1000):
        small = partial(Budget, labels=labels)
        monkeypatch.setattr("tilewright.mapper.searches.request.Budget", small)
        proof = search(arch, CHAIN).certificate
        assert proof.lower_bound <= best <= proof.value
        gaps.append(proof.gap)
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[0] > 0


def test_too_little_memory_gives_a_mapping_and_a_bound() -> None:
    arch = two_memories(72)
    best = best_of("energy").certificate.value
    proof = search(arch, CHAIN, max_memory=1.0).certificate
    assert proof.lower_bound <= best <= proof.value
    assert proof.kind == "bounded"
    assert search(arch, CHAIN, max_memory=1e12).certificate.value == best
    with pytest.raises(TilewrightError, match="max_memory=2e9"):
        search(arch, CHAIN, max_memory=0.0)


def test_memory_counts_what_is_needed_next() -> None:
    now = resident_bytes()
    Budget(memory=2 * now).check(more_bytes=0.5 * now)
    with pytest.raises(OutOfBudget):
        Budget(memory=2 * now).check(more_bytes=2 * now)


def test_a_front_in_no_time_says_that_it_is_not_whole() -> None:
    arch, asked = two_memories(72), ("energy", "latency")
    whole = search(arch, SHORT, front=asked)
    hasty = search(arch, SHORT, front=asked, budget=0.0)
    assert whole.front_proof is not None
    assert hasty.front_proof is not None
    assert whole.front_proof.whole
    assert not hasty.front_proof.whole
    for point in hasty.front:
        score = point.score
        assert any(
            p.score.energy <= score.energy * (1 + 1e-9)
            and p.score.latency <= score.latency * (1 + 1e-9)
            for p in whole.front
        )


def test_progress_closes_in_on_the_optimum() -> None:
    seen: list[Progress] = []
    result = search(two_memories(72), SHORT, progress=seen.append)
    assert seen
    values = [one.value for one in seen]
    bounds = [one.lower_bound for one in seen]
    assert values == sorted(values, reverse=True)
    assert bounds == sorted(bounds)
    optimum = result.certificate.value
    assert all(bound <= optimum * (1 + 1e-9) for bound in bounds)
    assert all(value >= optimum * (1 - 1e-9) for value in values)
