"""What must hold for every optimum, whatever the design."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from fused_cases import random_case
from hypothesis import HealthCheck, given, settings, strategies
from search_cases import EINSUMS, random_arch, random_workload

from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.explain.subject import ConstrainedEinsum
from tilewright.mapper.searches.api import answer
from tilewright.mapper.searches.exact.exact import ExactSearch
from tilewright.mapper.searches.exact.label_metrics import Goal, Objective
from tilewright.mapper.searches.request import request_of
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload import Workload
from tilewright.mapper.workload.workload_loading import load_workload

OBJECTIVES: tuple[Objective, ...] = ("energy", "latency", "edp")


@cache
def case(seed: int) -> tuple[str, Workload]:
    rng = random.Random(seed)
    text = rng.choice(EINSUMS[:3])
    return random_arch(rng), load_workload(random_workload(rng, text))


def best(arch: Arch, workload: Workload, objective: str) -> float:
    try:
        request = request_of(arch, workload, {"objective": objective})
        return answer(request, explain=False).certificate.value
    except InfeasibleMapping:
        return float("inf")


SEEDS = strategies.integers(0, 10_000)
FEW = settings(max_examples=2)
MANY = settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])


@FEW
@given(SEEDS)
def test_lifting_a_constraint_never_hurts(seed: int) -> None:
    lifting_never_hurts(*case(seed), OBJECTIVES[seed % 3])


@pytest.mark.nightly
@MANY
@given(SEEDS)
def test_lifting_a_constraint_never_hurts_in_many(seed: int) -> None:
    lifting_never_hurts(*case(seed), OBJECTIVES[seed % 3])


@pytest.mark.parametrize("seed", [0, 3])
def test_lifting_the_order_of_the_hierarchy_never_hurts(seed: int) -> None:
    text, workload = case(seed)
    ordered = text.replace("tensors: {", "tensors: {force_memory_hierarchy_order: true, ")
    lifting_never_hurts(ordered, workload, OBJECTIVES[seed % 3])


def lifting_never_hurts(text: str, workload: Workload, objective: Objective) -> None:
    """The same as: adding one never helps. min_usage is part of no mapspace here."""
    subject = ConstrainedEinsum(load_arch(text), workload, workload.einsums[0])
    goal = Goal(objective)
    everything = frozenset(subject.constraints)

    def value(active: frozenset[object]) -> float:
        found = [ExactSearch().find(s, goal, None).best for s in subject.spaces(active)]  # type: ignore[arg-type]
        return min((f.value(goal) for f in found if f is not None), default=float("inf"))

    bound = value(everything)
    for constraint in subject.constraints:
        assert value(everything - {constraint}) <= bound * (1 + 1e-9), str(constraint)


@FEW
@given(SEEDS)
def test_energies_scale(seed: int) -> None:
    energies_scale(*case(seed))


@pytest.mark.nightly
@MANY
@given(SEEDS)
def test_energies_scale_in_many(seed: int) -> None:
    energies_scale(*case(seed))


def energies_scale(text: str, workload: Workload) -> None:
    arch = load_arch(text)
    scaled = arch.with_values(
        {
            f"{node.name}.{field}": 3
            for node in arch.leaves()
            for field in ("energy_scale", "leak_power_scale")
            if node.tag != "Container"
        }
    )
    for objective, factor in (("energy", 3), ("edp", 3), ("latency", 1)):
        one, other = best(arch, workload, objective), best(scaled, workload, objective)
        assert other == pytest.approx(factor * one, rel=1e-9)


@FEW
@given(SEEDS)
def test_a_larger_memory_never_hurts(seed: int) -> None:
    larger_never_hurts(*case(seed), OBJECTIVES[seed % 3])


@pytest.mark.nightly
@MANY
@given(SEEDS)
def test_a_larger_memory_never_hurts_in_many(seed: int) -> None:
    larger_never_hurts(*case(seed), OBJECTIVES[seed % 3])


def larger_never_hurts(text: str, workload: Workload, objective: Objective) -> None:
    if "min_usage" in text:
        text = text.replace("min_usage: 0.5", "min_usage: 0").replace(
            "min_usage: 1", "min_usage: 0"
        )
    values = [
        best(load_arch(text).with_values({"BUF.size": size}), workload, objective)
        for size in (16, 32, 64, 128, 512)
    ]
    for small, large in pairwise(values):
        assert large <= small * (1 + 1e-9)


@pytest.mark.parametrize("seed", [2])
def test_a_larger_memory_never_hurts_a_workload(seed: int) -> None:
    arch, workload, _ = random_case(seed)
    values = [
        best(arch.with_values({"BUF.size": size}), workload, "energy") for size in (4, 6, 10, 20)
    ]
    for small, large in pairwise(values):
        assert large <= small * (1 + 1e-9)


TWO = """
workload:
  rank_sizes: {M: 4, N: 6, K: 4}
  bits_per_value: {All: 8}
  einsums:
"""
LINES = (
    '  - {einsum: "Y[m, n] = A[m, k] * B[k, n]", renames: {input: A, weight: B, output: Y}}\n',
    '  - {einsum: "X[m] = C[m, k] * D[k]", renames: {input: C, weight: D, output: X}}\n',
    '  - {einsum: "Z[n] = E[n, k] * D[k]", renames: {input: E, weight: D, output: Z}}\n',
)


@settings(max_examples=4)
@given(strategies.sampled_from(OBJECTIVES), strategies.permutations((0, 1, 2)))
def test_order_of_independent_einsums_means_nothing(objective: str, order: list[int]) -> None:
    """Where one Einsum reads what another writes, the order of the file is that of execution."""
    arch, _, _ = random_case(1)
    arch = arch.with_values({"BUF.size": 160})
    values = [
        best(arch, load_workload(TWO + "".join(LINES[i] for i in one)), objective)
        for one in ((0, 1, 2), order)
    ]
    assert values[1] == pytest.approx(values[0], rel=1e-12)


@pytest.mark.parametrize("seed", [1])
def test_names_and_order_of_variables_mean_nothing(seed: int) -> None:
    text, _ = case(seed)
    forms = (
        "Z[m, n] = A[m, k] * B[k, n]",
        "Z[n, m] = A[k, m] * B[n, k]",
        "Z[x, y] = A[x, w] * B[w, y]",
    )
    sizes = ({"M": 4, "N": 6, "K": 3}, {"M": 4, "N": 6, "K": 3}, {"X": 4, "Y": 6, "W": 3})
    found = []
    for form, ranks in zip(forms, sizes, strict=True):
        listed = ", ".join(f"{rank}: {size}" for rank, size in ranks.items())
        work = (
            f"workload:\n  rank_sizes: {{{listed}}}\n  bits_per_value: {{All: 8}}\n  einsums:\n"
            f'  - {{einsum: "{form}", renames: {{input: A, weight: B, output: Z}}}}\n'
        )
        found.append(best(load_arch(text), load_workload(work), "edp"))
    assert found == pytest.approx([found[0]] * 3, rel=1e-12)


SCRIPT = """
import json, sys
sys.path.insert(0, sys.argv[1])
from fused_cases import random_case
from tilewright.mapper.mapping.mapping_file import dump_mapping
from tilewright.mapper.searches.api import search
arch, workload, _ = random_case(3)
arch = arch.with_values({"BUF.size": 40})
out = []
for options in ({}, {"fusion": False}, {"method": "annealing", "seed": 4}, {"objective": "edp"}):
    result = search(arch, workload, **options)
    out.append((dump_mapping(result.best.mapping), repr(result.certificate)))
print(json.dumps(out))
"""


def test_same_bytes_for_any_hash_seed_and_thread_count() -> None:
    oracles = str(Path(__file__).parent.parent / "oracles")
    seen = set()
    for seed, threads in (("0", "1"), ("4711", "2")):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "NUMBA_NUM_THREADS": threads,
                       "OMP_NUM_THREADS": threads}  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, oracles],
            env=environment, capture_output=True, text=True, check=True, timeout=600,
        )  # fmt: skip
        seen.add(done.stdout)
    (text,) = seen
    assert len(json.loads(text)) == 4
