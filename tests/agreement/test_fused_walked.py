"""The search of workloads against every fused mapping, each Einsum scored by the slow walk."""

from __future__ import annotations

import pytest
from fused_cases import random_case
from fused_mappings import best_fused
from walked import walked

from tilewright.arch.tree import Arch
from tilewright.mapper.errors import InfeasibleMapping
from tilewright.mapper.searches.api import search
from tilewright.mapper.workload import Workload

OBJECTIVES = ("energy", "latency", "edp")


def case(seed: int) -> tuple[Arch, Workload]:
    """Return a random workload with a small buffer; leakage as in the default conventions."""
    arch, workload, _ = random_case(seed)
    return arch, workload


def check(seed: int, limit: int) -> bool:
    """Compare the two optima; False if there are too many mappings to enumerate."""
    arch, workload = case(seed)
    work = sum(einsum.operations for einsum in workload.einsums)
    if work > limit:
        return False
    objective = OBJECTIVES[seed % 3]
    listed = best_fused(arch, workload, objective, "default", 100_000, walked)
    if listed is None:
        return False
    if listed[1] is None:
        with pytest.raises(InfeasibleMapping):
            search(arch, workload, objective=objective)
        return True
    result = search(arch, workload, objective=objective)
    assert result.certificate.kind == "optimal"
    assert result.certificate.value == pytest.approx(listed[0], rel=1e-9), seed
    return True


@pytest.mark.parametrize("seed", [1, 7, 23])
def test_search_of_a_workload_equals_the_walk(seed: int) -> None:
    assert check(seed, limit=24)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(12))
def test_search_of_a_workload_equals_the_walk_on_many(block: int) -> None:
    seeds = range(1000 + 20 * block, 1020 + 20 * block)
    assert sum(check(seed, limit=36) for seed in seeds) >= 4
