"""The cascade search against every fused mapping of small workloads, scored by the model."""

from __future__ import annotations

import pytest
from fused_cases import random_case
from fused_mappings import best_fused

from tilewright.mapper.cascade.api import fused_search
from tilewright.mapper.errors import InfeasibleMapping

OBJECTIVES = ("energy", "latency", "edp")


def check(seed: int, objective: str) -> bool:
    """Compare the two optima; False if there are too many mappings to enumerate."""
    arch, workload, conventions = random_case(seed)
    listed = best_fused(arch, workload, objective, conventions)
    if listed is None:
        return False
    if listed[1] is None:
        with pytest.raises(InfeasibleMapping):
            fused_search(arch, workload, objective=objective, conventions=conventions)
        return True
    result = fused_search(arch, workload, objective=objective, conventions=conventions)
    assert result.certificate.kind == "optimal"
    assert result.certificate.value == pytest.approx(listed[0], rel=1e-9), seed
    return True


@pytest.mark.parametrize("seed", range(12))
def test_fused_optimum(seed: int) -> None:
    assert check(seed, OBJECTIVES[seed % 3]) or seed > 0


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(20))
def test_fused_optimum_of_many(block: int) -> None:
    done = [check(1000 + seed, OBJECTIVES[seed % 3]) for seed in range(block * 10, block * 10 + 10)]
    assert sum(done) >= 5
