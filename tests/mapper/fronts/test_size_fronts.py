"""One search with the largest memories answers for smaller ones what searches of these answer."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from explore import at_night

from tilewright.arch.spec.load import load_arch
from tilewright.mapper.fronts.size_fronts import SizeFronts, size_fronts
from tilewright.mapper.searches.api import search
from tilewright.mapper.searches.request import request_of
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload_loading import load_workload

ARCH = """\
arch:
  nodes:
  - !Memory
    name: DRAM
    size: inf
    leak_power: 0.5
    tensors: {keep: ~Intermediates, may_keep: All}
    actions: [{name: read, energy: 40, throughput: 2}, {name: write, energy: 40, throughput: 2}]
  - !Memory
    name: BUF
    size: 1600
    area: size * 1e-12
    leak_power: LEAK
    tensors: {keep: ~DRAM, may_keep: All}
    actions:
    - {name: read, energy: 1, throughput: 8}
    - {name: write, energy: 1.25, throughput: 8}
  - !Container
    name: GRID
    spatial: [{name: x, fanout: 4, may_reuse: input, min_usage: 1}]
  - !Memory
    name: REG
    size: 96
    tensors: {keep: output}
    actions: [{name: read, energy: 0.125, throughput: inf}, {name: write, energy: 0.25}]
    total_latency: 0
  - !Compute
    name: MAC
    actions: [{name: compute, energy: 0.5, throughput: 1}]
"""
ONE = """\
workload:
  rank_sizes: {M: 4, K: 6, N: 4}
  bits_per_value: {All: 8}
  einsums:
  - {einsum: "C[m, n] = A[m, k] * B[k, n]", renames: {input: A, weight: B, output: C}}
"""
APART = (
    ONE + '  - {einsum: "F[k, m] = D[k, n] * E[n, m]", renames: {input: D, weight: E, output: F}}\n'
)
FUSED = (
    ONE + '  - {einsum: "D[m, k] = C[m, n] * E[n, k]", renames: {input: C, weight: E, output: D}}\n'
)
SIZES = {"BUF": (48.0, 128.0, 700.0, 1600.0), "REG": (4.0, 40.0, 96.0)}


def fronts_of(arch: str, workload: str, **options: Any) -> SizeFronts | None:
    work = load_workload(workload)
    return size_fronts(request_of(load_arch(arch.replace("LEAK", "0.1")), work, options), SIZES)


@pytest.mark.parametrize("workload", [ONE, APART])
@pytest.mark.parametrize("objective", ["edp", *at_night("energy", "latency")])
def test_the_answers_are_those_of_searches(workload: str, objective: str) -> None:
    arch, work = load_arch(ARCH.replace("LEAK", "0.1")), load_workload(workload)
    fronts, feasible = fronts_of(ARCH, workload, objective=objective), 0
    assert fronts is not None
    for bits in product(*SIZES.values()):
        sizes = dict(zip(SIZES, bits, strict=True))
        smaller = arch.with_values({f"{name}.size": size for name, size in sizes.items()})
        known = fronts.answer(sizes)
        try:
            alone = search(smaller, work, objective=objective)
        except InfeasibleMapping:
            assert known is None
            continue
        if known is None:  # fewer lanes than min_usage, as no mapping with all of them fits
            assert any(share < 1 for share in alone.best.score.spatial_usage.values())
            continue
        feasible += 1
        best, score = known.best, alone.best.score
        assert known.certificate.kind == "optimal"
        assert best.score.metric(objective) == pytest.approx(score.metric(objective), rel=1e-9)
        assert best.score.energy == pytest.approx(score.energy, rel=1e-9)
        assert best.score.area == pytest.approx(score.area, rel=1e-12)
        assert best.score.verified
        assert all(share <= 1 for share in best.score.memory_usage.values())
        assert all(best.score.metric(f"usage.{name}") <= most for name, most in sizes.items())
    assert feasible >= 5


def test_sizes_that_change_more_than_what_fits_are_left_to_searches() -> None:
    leaking = fronts_of(ARCH.replace("LEAK", "size * 1e-3"), ONE)
    assert leaking is not None
    assert leaking.answer({"BUF": 700, "REG": 96}) is None
    assert leaking.answer({"BUF": 1600, "REG": 40}) is not None


@pytest.mark.parametrize(
    ("workload", "options"), [(FUSED, {}), (ONE, {"budget": 5.0}), (ONE, {"uneven": "all"})]
)
def test_other_questions_are_left_to_searches(workload: str, options: dict[str, Any]) -> None:
    assert fronts_of(ARCH, workload, **options) is None
