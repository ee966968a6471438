"""The search of workloads against every fused mapping, each Einsum scored by the slow walk."""

from __future__ import annotations

import random
from math import inf

import pytest
from explore import at_night, enough
from fused_cases import CHAINS, Case, random_case, two_memories, workload_of
from fused_mappings import least_fused
from fused_owns import Subject
from memo import stored
from padded_cases import random_padded_case
from walked import walked

from tilewright.arch.spec.architecture import Arch
from tilewright.mapper.searches.api import search
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload import Workload

OBJECTIVES = ("energy", "latency", "edp")


def check(seed: int, limit: int, case: Case = random_case) -> bool:
    """Compare the two optima; False if there are too many mappings to enumerate."""
    arch, workload, _ = case(seed)  # leakage as in the default conventions
    work = sum(einsum.operations for einsum in workload.einsums)
    if work > limit:
        return False
    objective = OBJECTIVES[seed % 3]
    subject = Subject(arch, workload, "default", scored=walked)
    least = stored(least_fused, subject, objective, 100_000)
    if least is None:
        return False
    if least == inf:
        with pytest.raises(InfeasibleMapping):
            search(arch, workload, objective=objective)
        return True
    result = search(arch, workload, objective=objective)
    assert result.certificate.kind == "optimal"
    assert result.certificate.value == pytest.approx(least, rel=1e-9), seed
    return True


@pytest.mark.parametrize("seed", [1, 7, *at_night(23)])
def test_search_of_a_workload_equals_the_walk(seed: int) -> None:
    assert check(seed, limit=24)


@pytest.mark.parametrize("seed", [0, 1])
def test_search_of_a_padded_workload_equals_the_walk(seed: int) -> None:
    assert check(seed, 40, random_padded_case)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(6))
def test_search_of_a_padded_workload_equals_the_walk_on_many(block: int) -> None:
    seeds = range(1000 + 20 * block, 1020 + 20 * block)
    assert enough(sum(check(seed, 40, random_padded_case) for seed in seeds), 4)


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(12))
def test_search_of_a_workload_equals_the_walk_on_many(block: int) -> None:
    seeds = range(1000 + 20 * block, 1020 + 20 * block)
    assert enough(sum(check(seed, limit=36) for seed in seeds), 4)


def optimum_with(loops: int, arch: Arch, workload: Workload) -> float:
    result = search(arch, workload, max_fused_loops_per_rank_variable=loops)
    assert result.certificate.kind == "optimal"
    assert f"shared loops per rank variable: at most {loops}" in result.certificate.scope
    return result.certificate.value


def test_two_shared_loops_over_one_rank_variable() -> None:
    """Y stays in tiles of two rows, X in single rows: less than with one loop over m."""
    arch, workload = two_memories(6), workload_of(CHAINS[2], {"m": 4, "k": 2, "n": 2})
    subject = Subject(arch, workload, "default", 2, walked)
    least = stored(least_fused, subject, "energy", 100_000)
    assert least is not None
    assert optimum_with(2, arch, workload) == least < optimum_with(1, arch, workload)


@pytest.mark.nightly
@pytest.mark.random
@pytest.mark.parametrize("seed", range(40))
def test_several_shared_loops_equal_the_walk(seed: int) -> None:
    rng = random.Random(f"shared {seed}")
    texts = CHAINS[rng.choice((0, 2))]
    names = sorted({c for text in texts for c in text if c.islower()})
    sizes = {name: rng.choice((1, 2, 2)) for name in names} | {"m": rng.choice((4, 8))}
    arch, workload = two_memories(rng.choice((4, 5, 6, 7, 8)), 50), workload_of(texts, sizes)
    subject = Subject(arch, workload, "default", 2, walked)
    least = stored(least_fused, subject, "energy", 100_000)
    if least is None or least == inf:
        pytest.skip("too many mappings, or none")
    assert optimum_with(2, arch, workload) == pytest.approx(least, rel=1e-9)
