"""One Einsum alone: the cascade search and the search of one mapspace are the same problem."""

from __future__ import annotations

import random

import pytest
from search_cases import EINSUMS, random_arch, random_workload

from tilewright.arch.load import load_arch
from tilewright.mapper.cascade.api import fused_search
from tilewright.mapper.errors import InfeasibleMapping
from tilewright.mapper.searches.api import search
from tilewright.mapper.searches.errors import UnsupportedFeature
from tilewright.mapper.workload import load_workload

OBJECTIVES = ("energy", "latency", "edp")


def check(seed: int) -> bool:
    """Compare both on a random design with constraints of all kinds; False if one refuses it."""
    rng = random.Random(seed)
    text = rng.choice(EINSUMS)
    arch = load_arch(random_arch(rng))
    workload = load_workload(random_workload(rng, text))
    conventions = rng.choice(("default", "accelforge"))
    objective = OBJECTIVES[seed % 3]
    try:
        fused = fused_search(arch, workload, objective=objective, conventions=conventions)
        alone = search(arch, workload, objective=objective, conventions=conventions)
    except (UnsupportedFeature, InfeasibleMapping):
        return False
    assert fused.certificate.value == pytest.approx(alone.certificate.value, rel=1e-9)
    return True


@pytest.mark.parametrize("block", [2, 3])
def test_one_einsum_is_the_same_problem(block: int) -> None:
    done = [check(seed) for seed in range(block * 20, block * 20 + 20)]
    assert sum(done) >= 12


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(10, 20))
def test_one_einsum_is_the_same_problem_often(block: int) -> None:
    done = [check(seed) for seed in range(block * 20, block * 20 + 20)]
    assert sum(done) >= 10
