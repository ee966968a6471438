"""What must hold for every optimum of a workload: the designs of benchmarks/random_designs.py."""

from __future__ import annotations

import random
import re
from itertools import islice, pairwise

import pytest
from random_designs import KINDS, Case, random_case

from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.api import answer
from tilewright.mapper.searches.request import request_of
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload_loading import load_workload

CONVENTIONS = ("default", "accelforge")
FUSED = ("copies", "dags", "widths", "instances", "persistent", "lanes", "sliding")

MOST_TEMPLATES = 20_000


def best(case: Case, arch: str, workload: str, **options: object) -> float:
    """Return the least value, infinite where nothing fits; of a front's metrics the first one's."""
    objective = case.objective.partition("|")[0]
    try:
        request = request_of(
            load_arch(arch), load_workload(workload), {"objective": objective, **options}
        )
        return answer(request, explain=False).certificate.value
    except InfeasibleMapping:
        return float("inf")


def is_small(case: Case) -> bool:
    """Whether no Einsum has more than MOST_TEMPLATES templates: four tensors that each of three
    memories may keep have a million, and their search takes hours.
    """
    arch, workload = load_arch(case.arch), load_workload(case.workload)
    return all(
        sum(1 for _ in islice(Mapspace(einsum, flat).each_template(), MOST_TEMPLATES + 1))
        <= MOST_TEMPLATES
        for einsum in workload.einsums
        for flat in flatten(arch, workload.scope(einsum))
    )


def holds(case: Case, conventions: str) -> None:
    """Check one case: buffers, energies, order of factors, fusion."""
    value = best(case, case.arch, case.workload, conventions=conventions)
    swapped = re.sub(r"= (\w+\[[^]]*]) \* (\w+\[[^]]*])", r"= \2 * \1", case.workload)
    assert best(case, case.arch, swapped, conventions=conventions) == pytest.approx(value)
    if "min_usage" not in case.arch:  # it changes what others may do
        sizes = [int(n) for n in re.findall(r"name: BUF, size: (\d+)", case.arch)]
        values = [value] + [
            best(
                case, case.arch.replace(f"BUF, size: {size}", f"BUF, size: {size * more}"),
                case.workload, conventions=conventions,
            )
            for size in sizes
            for more in (2, 100)
        ]  # fmt: skip
        for small, large in pairwise(values):
            assert large <= small * (1 + 1e-9)
        alone = best(case, case.arch, case.workload, conventions=conventions, fusion=False)
        assert value <= alone * (1 + 1e-9)


@pytest.mark.parametrize("kind", ["copies", "widths"])
def test_of_two_kinds(kind: str) -> None:
    holds(random_case(kind, 10), CONVENTIONS[kind == "copies"])


@pytest.mark.nightly
@pytest.mark.parametrize("kind", FUSED)
def test_of_fused_workloads(kind: str, shift: int) -> None:
    for seed in range(shift + 1000, shift + 1020):
        holds(random_case(kind, seed), CONVENTIONS[seed % 2])


@pytest.mark.nightly
@pytest.mark.parametrize("kind", sorted(set(KINDS) - set(FUSED)))
def test_of_all_other_kinds(kind: str, shift: int) -> None:
    seeds = random.Random(kind).sample(range(shift, shift + 10_000), 20)
    small = [seed for seed in seeds if is_small(random_case(kind, seed))]
    for seed in small:
        holds(random_case(kind, seed), CONVENTIONS[seed % 2])
    assert len(small) >= 12
