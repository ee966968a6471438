"""Where several computes can do an Einsum, a workload takes the best one for each."""

from __future__ import annotations

from typing import Literal

import pytest
from explore import at_night
from fused_cases import chain

from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.load import load_arch
from tilewright.mapper import evaluate, search

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
