"""One Einsum alone: the cascade search and the search of one mapspace are the same problem."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from explore import at_night, enough
from search_cases import EINSUMS, random_arch, random_workload

from tilewright.arch.spec.load import load_arch
from tilewright.mapper.fusion.fused_search import fused_search
from tilewright.mapper.searches.api import search
from tilewright.mapper.searches.exact.label_metrics import Objective
from tilewright.mapper.workload.errors import InfeasibleMapping, UnsupportedFeature
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_loading import load_workload

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


@pytest.mark.parametrize("block", [4, *at_night(5, 6, 7)])
def test_one_einsum_is_the_same_problem(block: int) -> None:
    done = [check(seed) for seed in range(block * 10, block * 10 + 10)]
    assert enough(sum(done), 5)


def matmuls(numbers: Sequence[int], sizes: Sequence[tuple[int, int, int]]) -> Workload:
    """Return a workload of matmuls that share nothing, of some of these sizes."""
    lines = ["workload:", "  bits_per_value: {All: 8}", "  einsums:"]
    ranks: list[str] = []
    for i in numbers:
        lines += [f'  - einsum: "Z{i}[m{i}, n{i}] = A{i}[m{i}, k{i}] * B{i}[k{i}, n{i}]"']
        lines += [f"    renames: {{input: A{i}, weight: B{i}, output: Z{i}}}"]
        ranks += [f"{rank}{i}: {size}" for rank, size in zip("MNK", sizes[i], strict=True)]
    return load_workload("\n".join([*lines, f"  rank_sizes: {{{', '.join(ranks)}}}"]) + "\n")


@pytest.mark.parametrize("objective", ["energy", "latency"])
def test_strangers_cost_what_each_costs(objective: Objective) -> None:
    """Einsums that share no tensor: ties of all together are those of each."""
    for seed in (0,):
        rng = random.Random(seed)
        arch = load_arch(random_arch(rng))
        sizes = [(rng.choice((2, 3)), rng.choice((2, 4)), 2) for _ in range(4)]
        whole, *parts = [range(4), *([number] for number in range(4))]
        all_of = fused_search(arch, matmuls(whole, sizes), objective=objective).best.score
        each = [
            fused_search(arch, matmuls(part, sizes), objective=objective).best.score
            for part in parts
        ]
        assert all_of.energy == pytest.approx(sum(one.energy for one in each), rel=1e-9), seed
        assert all_of.latency == pytest.approx(sum(one.latency for one in each), rel=1e-9), seed


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(10, 20))
def test_one_einsum_is_the_same_problem_often(block: int) -> None:
    done = [check(seed) for seed in range(block * 20, block * 20 + 20)]
    assert enough(sum(done), 10)
