"""Where several computes can do an Einsum, a workload takes the best one for each."""

from __future__ import annotations

from typing import Literal

import pytest
from explore import at_night
from fused_cases import chain

from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.load import load_arch
from tilewright.mapper import evaluate, search
from tilewright.mapper.fusion.bounds.cost_limit import CostLimit
from tilewright.mapper.fusion.fused_plan import plan_fused_search
from tilewright.mapper.fusion.fused_problem import OBJECTIVE_VALUES
from tilewright.mapper.fusion.pmappings import pmapping_builder
from tilewright.mapper.fusion.pmappings.on_chip_choice import PmappingFilter
from tilewright.mapper.fusion.pmappings.pmapping_builder import TableBuilder
from tilewright.mapper.fusion.pmappings.pmapping_cache import PmappingCache
from tilewright.mapper.searches.budget import Budget
from tilewright.mapper.searches.request import request_of
from tilewright.studies import path_of

MEMORY = """
  - !Memory
    name: {name}
    size: {size}
    leak_power: 0
    area: 0
    tensors: {{{keep}}}
    actions:
    - {{name: read, energy: {energy}, throughput: 100}}
    - {{name: write, energy: {energy}, throughput: 100}}
"""
COMPUTE = """
  - !Compute
    name: {name}
    leak_power: 0
    area: 0
    enabled: {enabled}
    actions: [{{name: compute, energy: {energy}, throughput: {rate}}}]
"""
FRUGAL = {"name": "Frugal", "energy": 1, "rate": 1}
SWIFT = {"name": "Swift", "energy": 5, "rate": 4}


def design(frugal: bool, swift: bool) -> Arch:
    top = 'keep: "~Intermediates", may_keep: All'
    return load_arch(
        "arch:\n  nodes:"
        + MEMORY.format(name="DRAM", size="inf", keep=top, energy=50)
        + MEMORY.format(name="BUF", size=40, keep='keep: "~DRAM", may_keep: All', energy=1)
        + COMPUTE.format(**FRUGAL, enabled=frugal)
        + COMPUTE.format(**SWIFT, enabled=swift)
    )


@pytest.mark.parametrize(
    ("objective", "name"),
    [("energy", "Frugal"), pytest.param("latency", "Swift", marks=pytest.mark.nightly)],
)
def test_the_best_compute_is_taken(objective: Literal["energy", "latency"], name: str) -> None:
    work = chain(2, (2, 4, 2))
    both = search(design(True, True), work, objective=objective)
    alone = [
        search(design(one, not one), work, objective=objective).certificate.value
        for one in (True, False)
    ]
    assert both.certificate.kind == "optimal"
    assert both.certificate.value == min(alone) < max(alone)
    assert f"on {name}" in str(both.best.mapping)
    assert evaluate(design(True, True), work, both.best.mapping) == both.best.score


def split(size: int, near: bool) -> Arch:
    top = 'keep: "~Intermediates", may_keep: All'
    return load_arch(
        "arch:\n  nodes:"
        + MEMORY.format(name="DRAM", size="inf", keep=top, energy=50)
        + COMPUTE.format(name="Near", energy=1, rate=1, enabled=near)
        + MEMORY.format(name="BUF", size=size, keep="keep: Nothing, may_keep: All", energy=1)
        + COMPUTE.format(name="Far", energy=1, rate=1, enabled=True)
    )


@pytest.mark.parametrize("size", [160, *at_night(16)])
def test_a_compute_right_below_the_outermost_memory(size: int) -> None:
    """What others keep on chip has as much room there as without that compute."""
    work = chain(4, (2, 4, 2))
    both, far = split(size, True), split(size, False)
    result = search(both, work)
    alone = search(far, work)
    assert result.certificate.kind == "optimal"
    assert result.certificate.value <= alone.certificate.value
    assert result.certificate.value <= search(both, work, fusion=False).certificate.value
    assert result.best.score.capacity.get("BUF", 0) <= size
    assert evaluate(both, work, result.best.mapping) == result.best.score
    assert result.on_chip == ("T1",)


LEAKING_PAIR = """
workload:
  bits_per_value: {All: 8}
  rank_sizes: {M: 96, K: 96, N: 384, P: 32}
  einsums:
  - {einsum: "Y[m, n] = A[m, k] * B[k, n]", renames: {input: A, weight: B, output: Y}}
  - {einsum: "Z[m, p] = Y[m, n] * C[n, p]", renames: {input: Y, weight: C, output: Z}}
"""


def test_where_leakage_is_much_a_beam_takes_the_best_of_several_limits_of_latency(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Close to the least latency is best for Z, twice that for Y: each with Y on chip."""
    request = request_of(path_of("hardware", "edge_npu"), LEAKING_PAIR, {})
    plan = plan_fused_search(request, "energy", OBJECTIVE_VALUES["energy"])
    problem = plan.problem.with_few_placements(45)

    def least_energies(slacks: tuple[float, ...]) -> list[float]:
        monkeypatch.setattr(pmapping_builder, "FAST_SLACKS", slacks)
        builder = TableBuilder(problem, Budget(), PmappingCache())
        beam = PmappingFilter(CostLimit(), beam=True)
        choices = [c for fused in problem.solved for c in builder.choices(fused) if c.mask]
        assert all(map(builder.leaks_much, choices))
        return [builder.least_cost(choice, beam, 0) for choice in choices]

    near, far, both = least_energies((0.1,)), least_energies((1.0,)), least_energies((0.1, 1.0))
    assert near[0] > 1.05 * far[0]
    assert far[1] > 1.02 * near[1]
    assert both == [far[0], near[1]]
