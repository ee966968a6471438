"""One search for a family of designs answers for each what a search of the design answers."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from explore import at_night

from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.fronts.designs.design_fronts import DesignFronts, design_fronts
from tilewright.mapper.fronts.designs.design_range import DesignRange
from tilewright.mapper.model.evaluation import score_mapping
from tilewright.mapper.searches.api import search
from tilewright.mapper.searches.request import request_of
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload_loading import load_workload

ARCH = """\
arch:
  variables: {Scale: 2, Both: 3, Odd: 1}
  nodes:
  - !Memory
    name: DRAM
    size: inf
    leak_power: 0.5
    tensors: {keep: ~Intermediates, may_keep: All}
    actions: [{name: read, energy: 40, throughput: 2}, {name: write, energy: 40, throughput: 2}]
  - !Memory
    name: BUF
    size: Scale * 800
    area: size * 1e-12
    leak_power: 0.1 * Scale
    tensors: {keep: ~DRAM, may_keep: All}
    actions:
    - {name: read, energy: 1 + Scale ** 0.5, throughput: 8}
    - {name: write, energy: 1.25 + 2 * Scale ** 0.5, throughput: 8}
  - !Container
    name: GRID
    spatial: [{name: x, fanout: 4, may_reuse: input}]
  - !Memory
    name: REG
    size: 96
    tensors: {keep: output}
    actions: [{name: read, energy: 0.125, throughput: inf}, {name: write, energy: 0.25}]
    total_latency: 0
  - !Compute
    name: MAC
    leak_power: 0.01
    actions: [{name: compute, energy: 0.5 * Odd, throughput: 1}]
"""
FIRM = ARCH.replace("may_reuse: input}", "may_reuse: input, min_usage: 1}")
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
ONE_MEMORY = """\
arch:
  variables: {Scale: 4}
  nodes:
  - !Memory
    name: DRAM
    size: inf
    tensors: {keep: ~Intermediates, may_keep: All}
    actions: [{name: read, energy: 40, throughput: 2}, {name: write, energy: 40, throughput: 2}]
  - !Memory
    name: BUF
    size: Scale * 256
    tensors: {keep: All}
    actions:
    - {name: read, energy: 1 + Scale ** 0.5, throughput: 8}
    - {name: write, energy: 1.25 + Scale ** 0.5, throughput: 8}
  - !Container
    name: ARRAY
    spatial: [{name: x, fanout: 2}, {name: y, fanout: 4}]
  - !Compute
    name: MAC
    actions: [{name: compute, energy: 0.5, throughput: 1}]
"""
SIZES = {"BUF.size": (48, 128, 700, 1600), "REG.size": (4, 40, 96)}
PRICES = {
    "DRAM.actions.read.energy": (2, 15, 40),
    "variables.Scale": (0.05, 0.2, 1, 2),
    "GRID.spatial.x.fanout": (2, 4),
}
Knobs = dict[str, tuple[float, ...]]


def family_of(arch: Arch, workload: str, knobs: Knobs, **options: Any) -> DesignRange:
    largest = arch.with_values({path: max(values) for path, values in knobs.items()})
    turned = [
        tuple(largest.with_values({path: value}) for value in values)
        for path, values in knobs.items()
    ]
    return DesignRange(request_of(largest, load_workload(workload), options), tuple(turned))


def answers_as_searches(fronts: DesignFronts, family: DesignRange, knobs: Knobs) -> int:
    """Compare all designs with searches of their own; return how many have a mapping."""
    work, objective = family.request.workload, family.request.options.objective
    feasible = 0
    for values in random.Random(1).sample([*product(*knobs.values())], 6):
        design = family.request.arch.with_values(dict(zip(knobs, values, strict=True)))
        known = fronts.answer(design)
        try:
            alone = search(design, work, objective=objective).best.score
        except InfeasibleMapping:
            assert known is None
            continue
        if known is None:  # fewer lanes than min_usage, as no mapping with all of them fits
            assert any(share < 1 for share in alone.spatial_usage.values())
            continue
        feasible += 1
        best = known.best.score
        assert known.certificate.kind == "optimal"
        assert best.verified
        for name in (objective, "energy", "latency", "area", "leak_power"):
            assert best.metric(name) == pytest.approx(alone.metric(name), rel=1e-9), name
        scored = score_mapping(design, work, known.best.mapping)
        assert replace(best, notes=()) == scored  # to the bit
    return feasible


CASES = {
    "prices and lanes": (ARCH, ONE, PRICES, "edp"),
    "sizes": (FIRM, APART, SIZES, "edp"),
    "energy": (ARCH, APART, PRICES, "energy"),
    "latency": (ARCH, APART, PRICES, "latency"),
    "both": (ARCH, APART, PRICES, "edp"),
    "holders in any order": (
        ONE_MEMORY,
        ONE.replace("K: 6, N: 4", "K: 4, N: 6"),
        {"variables.Scale": (0.5, 1, 2, 4), "MAC.actions.compute.energy": (0.25, 0.5, 1)},
        "edp",
    ),
    "firm": (FIRM, ONE, SIZES | {"DRAM.actions.read.energy": (2, 40)}, "energy"),
}

EVERY_DAY = ("prices and lanes", "holders in any order")


@pytest.mark.parametrize(
    "name", [*EVERY_DAY, *at_night(*(name for name in CASES if name not in EVERY_DAY))]
)
def test_the_answers_are_those_of_searches(name: str) -> None:
    arch, workload, knobs, objective = CASES[name]
    family = family_of(load_arch(arch), workload, knobs, objective=objective)
    fronts = design_fronts(family)
    assert fronts is not None
    assert answers_as_searches(fronts, family, knobs) >= 3


@pytest.mark.parametrize(
    "knobs",
    [
        {"DRAM.actions.read.throughput": (1, 2)},  # changes times
        {"GRID.spatial.x.fanout": (1, 2)},  # not all have lanes
        {"variables.Both": (1, 3), "variables.Odd": (1, 2)},  # both change one energy
    ],
)
def test_designs_that_differ_in_more_are_left_to_searches(knobs: Knobs) -> None:
    arch = load_arch(ARCH.replace("energy: 40", "energy: 20 * Both * Odd"))
    assert family_of(arch, ONE, knobs).ranges() is None


def test_a_design_outside_the_family_is_left_to_a_search() -> None:
    family = family_of(load_arch(ARCH), ONE, {"DRAM.actions.read.energy": (2, 40)}, objective="edp")
    fronts = design_fronts(family)
    assert fronts is not None
    for change in ({"DRAM.actions.read.energy": 41}, {"BUF.size": 100}, {"MAC.leak_power": 0}):
        assert fronts.answer(family.request.arch.with_values(change)) is None


@pytest.mark.parametrize(
    ("workload", "options"), [(FUSED, {}), (ONE, {"budget": 5.0}), (ONE, {"uneven": "all"})]
)
def test_other_questions_are_left_to_searches(workload: str, options: dict[str, Any]) -> None:
    assert design_fronts(family_of(load_arch(ARCH), workload, SIZES, **options)) is None
