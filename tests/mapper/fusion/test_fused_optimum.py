"""The collector of cycles around a search, and searches for a product that a budget limits."""

from __future__ import annotations

import gc

import pytest
from fused_cases import random_case, random_deep_case
from two_matmuls import ARCH, WORKLOAD

from tilewright.mapper.fusion.fused_optimum import garbage_collection_paused
from tilewright.mapper.fusion.fused_search import fused_search
from tilewright.mapper.workload.errors import InfeasibleMapping


def test_the_collector_is_switched_on_again() -> None:
    assert gc.isenabled()
    with garbage_collection_paused():
        assert not gc.isenabled()
    assert gc.isenabled()


@pytest.mark.parametrize("objective", ["edp", "energy * latency**2"])
def test_a_budget_that_does_not_end_changes_no_optimum(objective: str) -> None:
    compared = 0
    for make, seed in ((random_case, 0), (random_case, 1), (random_deep_case, 0)):
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


def test_a_product_tells_of_the_searches_that_it_starts_from() -> None:
    doing: list[str] = []
    fused_search(
        ARCH, WORKLOAD, objective="edp", budget=100, progress=lambda step: doing.append(step.doing)
    )
    first, *_, last = dict.fromkeys(text.split(":")[0] for text in doing)
    assert first == "fused mappings, first of least energy"
    assert last == "fused mappings"
    assert any("at least" in text for text in doing)
