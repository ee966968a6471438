"""Einsums that share loops and see a memory in different sizes, against every fused mapping."""

from __future__ import annotations

import pytest
from compared import OBJECTIVES, found_alike
from explore import at_night, enough
from fused_cases import random_sized_case, two_memories, workload_of
from fused_owns import Subject

from tilewright.mapper.fusion.fused_search import fused_search


def check(seed: int, limit: int) -> bool:
    """Compare one case; tell whether any mapping of it fits."""
    return found_alike(Subject(*random_sized_case(seed)), OBJECTIVES[seed % 3], limit)


@pytest.mark.parametrize("seed", [0, 4, 10, 17, *at_night(2, 7, 13, 18)])
def test_sizes_that_depend_on_the_einsum(seed: int) -> None:
    assert check(seed, 5_000)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(20))
def test_many_sizes_that_depend_on_the_einsum(block: int) -> None:
    seeds = range(1000 + block * 10, 1010 + block * 10)
    assert enough(sum(check(seed, 60_000) for seed in seeds), 3)


@pytest.mark.parametrize("conventions", ["default", *at_night("accelforge")])
def test_a_larger_memory_for_one_einsum_only_does_not_hurt(conventions: str) -> None:
    workload = workload_of(
        ("Y[m, n] = A[m, k] * B[k, n]", "Z[m] = Y[m, n] * C[n]"), {"m": 4, "n": 4, "k": 2}
    )
    values = [
        fused_search(
            two_memories(f"{one} if A else {two}"), workload, conventions=conventions
        ).certificate.value
        for one, two in ((6, 6), (7, 6), (24, 6), ("inf", 24))
    ]
    assert values == sorted(values, reverse=True)
    assert values[0] > values[2] > values[3]
