"""Einsums that share loops and see a memory in different sizes, against every fused mapping."""

from __future__ import annotations

import pytest
from fused_cases import random_sized_case, two_memories, workload_of
from fused_mappings import best_fused
from fused_owns import Subject

from tilewright.mapper.cascade.api import fused_search
from tilewright.mapper.errors import InfeasibleMapping

OBJECTIVES = ("energy", "latency", "edp")


def check(seed: int, limit: int) -> bool:
    """Compare one case; tell whether any mapping of it fits."""
    arch, workload, conventions = random_sized_case(seed)
    objective = OBJECTIVES[seed % 3]
    listed = best_fused(Subject(arch, workload, conventions), objective, limit)
    if listed is None:
        return False
    if listed[1] is None:
        with pytest.raises(InfeasibleMapping):
            fused_search(arch, workload, objective=objective, conventions=conventions)
        return False
    result = fused_search(arch, workload, objective=objective, conventions=conventions)
    assert result.certificate.kind == "optimal"
    value = result.certificate.value
    if "whose width changes" in result.certificate.scope:
        assert value >= listed[0] * (1 - 1e-9)
    else:
        assert value == pytest.approx(listed[0], rel=1e-9)
    return True


@pytest.mark.parametrize("seed", [0, 2, 4, 7, 10, 13, 17, 18])
def test_sizes_that_depend_on_the_einsum(seed: int) -> None:
    assert check(seed, 5_000)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(20))
def test_many_sizes_that_depend_on_the_einsum(block: int) -> None:
    seeds = range(1000 + block * 10, 1010 + block * 10)
    assert sum(check(seed, 60_000) for seed in seeds) >= 3


@pytest.mark.parametrize("conventions", ["default", "accelforge"])
def test_a_larger_memory_for_one_einsum_only_does_not_hurt(conventions: str) -> None:
    workload = workload_of(
        ("Y[m, n] = A[m, k] * B[k, n]", "Z[m] = Y[m, n] * C[n]"), {"m": 4, "n": 4, "k": 4}
    )
    values = [
        fused_search(
            two_memories(f"{one} if A else {two}"), workload, conventions=conventions
        ).certificate.value
        for one, two in ((6, 6), (7, 6), (24, 6), ("inf", 6), ("inf", 24), ("inf", "inf"))
    ]
    assert values == sorted(values, reverse=True)
    assert values[0] > values[2] > values[4]
