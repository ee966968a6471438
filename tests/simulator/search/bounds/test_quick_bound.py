"""The quick bounds of a family are never above those of any plan of the family."""

import random
from statistics import median
from typing import Any

import pytest
from grid_mappings import FORMS, einsum_workload, grid_arch

from tilewright.arch.files.source import load_document
from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.execution.action_counts import predicted_energy
from tilewright.simulator.execution.einsum_execution import ExecutionSettings
from tilewright.simulator.lowering.lower_bound.cycle_bound import (
    alone_cycles,
    bound_of_parts,
    work_cycles,
)
from tilewright.simulator.lowering.plan import plan_of
from tilewright.simulator.search.bounds import quick_bound
from tilewright.simulator.search.bounds.quick_bound import QuickBound

NEARLY = 1 + 1e-12


@pytest.mark.parametrize(
    ("machine", "bits", "nests"),
    [
        ("wse2-sdk-sim", 32, False),
        pytest.param("wse3-sdk-sim", 16, False, marks=pytest.mark.nightly),
        ("wse2-sdk-sim", 16, True),
        pytest.param("wse3-sdk-sim", 32, False, marks=pytest.mark.nightly),
        pytest.param("wse3-sdk-sim", 32, True, marks=pytest.mark.nightly),
    ],
)
def test_no_family_is_bounded_above_its_plans(machine: str, bits: int, *, nests: bool) -> None:
    shares, tightness = [], []
    for form in FORMS:
        flat, einsum = grid_arch(form, bits, 4, 4), einsum_workload(form, bits).einsums[0]
        space = GridMapspace(grid_of(flat), einsum, nests=nests)
        profile = ExecutionSettings(machine=machine).profile(space.grid)
        quick, families = QuickBound(space, flat, profile), list(space.families())
        for family in random.Random(form).sample(families, min(1, len(families))):
            try:
                cycles, energy = quick.cycles(family), quick.energy(family)
                plans = {
                    choice.reduction: plan_of(space_time(flat, einsum, space.mapping_of(choice)))
                    for choice in space.members(family)
                }
            except InfeasibleMapping:
                continue
            alone = alone_cycles(next(iter(plans.values())), profile)
            planned = quick.cycles(family, alone=alone)
            for reduction, plan in plans.items():
                bound = quick.cycles(family, reduction, alone)
                last = plan.roles[plan.placement[-1, -1]]
                least = max(bound_of_parts(plan, profile), work_cycles(plan, profile, last).total)
                assert planned <= bound <= least, (form, family)
                tightness.append(bound / least)
                known = quick.cycles(family, reduction), quick.energy(family, reduction)
                assert cycles <= known[0] <= bound_of_parts(plan, profile), (form, family)
                exact = predicted_energy(plan.read)
                assert energy <= known[1] * NEARLY <= exact * NEARLY**2, (form, family)
                shares.append(known[1] / exact)
    assert len(shares) > 50
    assert median(shares) > 0.98
    assert min(shares) > 0.7
    assert median(tightness) > 0.92


def test_a_memory_that_is_too_small_is_said_at_once() -> None:
    form = "matrix product"
    flat = grid_arch(form, 32, 1, 1)
    space = GridMapspace(grid_of(flat), einsum_workload(form).einsums[0])
    profile = ExecutionSettings(overrides={"sram_reserved_bytes": 49_000}).profile(space.grid)
    with pytest.raises(InfeasibleMapping, match="too small"):
        QuickBound(space, flat, profile).cycles(next(iter(space.families())))


@pytest.mark.parametrize("nests", [False, True])
@pytest.mark.parametrize("staying", [frozenset(), frozenset({"Z"})])
def test_many_families_together_have_the_bounds_of_each_alone(
    staying: frozenset[str], *, nests: bool
) -> None:
    """In a memory that some do not fit."""
    counted, refused = 0, 0
    for form in FORMS:
        flat, einsum = grid_arch(form, 16, 5, 3), einsum_workload(form, 16).einsums[0]
        stays = staying & {einsum.outputs[0].tensor}
        space = GridMapspace(grid_of(flat), einsum, staying=stays, nests=nests)
        profile = ExecutionSettings(overrides={"sram_reserved_bytes": 49_000}).profile(space.grid)
        quick = QuickBound(space, flat, profile)
        families = list(space.families())
        together = quick.together(families, has_energy=True)
        for family, bounds in list(zip(families, together, strict=True))[::7]:
            try:
                cycles, energy = quick.cycles(family), quick.energy(family)
            except InfeasibleMapping:
                cycles, energy = None, 0.0
            alone = cycles, energy, quick.words(family), quick.persistent_words(family)
            assert bounds == (*alone, len(space.members(family))), (form, family)
            counted, refused = counted + 1, refused + (cycles is None)
    assert min(refused, counted - refused) > 100


def test_words_that_no_port_takes_are_refused_together_as_alone() -> None:
    """Tiles fit an element, but all of them together are too many words for a port."""
    text = (
        "workload: {rank_sizes: {M: 4, K: 40000000}, bits_per_value: {All: 32}, "
        "einsums: ['Z[m] = A[m, k] * B[k]']}"
    )
    einsum = load_workload(load_document("w.yaml", text=text)).einsums[0]
    flat = grid_arch("matrix times vector", 32, 1, 1)
    space = GridMapspace(grid_of(flat), einsum)
    quick = QuickBound(space, flat, ExecutionSettings().profile(space.grid))
    families = list(space.families())
    bounds = quick.together(families)
    entering = 0
    for family, bound in zip(families, bounds, strict=True):
        assert bound.cycles is None
        with pytest.raises(InfeasibleMapping) as error:
            quick.cycles(family)
        entering += "enter over a border" in str(error.value)
    assert entering


def test_sizes_beyond_those_of_arrays_are_bounded_one_by_one(monkeypatch: Any) -> None:
    form = "matrix product"
    flat, einsum = grid_arch(form, 16, 4, 4), einsum_workload(form, 16).einsums[0]
    space = GridMapspace(grid_of(flat), einsum)
    profile = ExecutionSettings().profile(space.grid)
    families = list(space.families())
    together = QuickBound(space, flat, profile).together(families, has_energy=True)
    monkeypatch.setattr(quick_bound, "EXACT", einsum.operations)
    assert QuickBound(space, flat, profile).together(families, has_energy=True) == together


@pytest.mark.parametrize("nests", [False, True])
@pytest.mark.parametrize("form", ["sum of a matrix and a row", "difference"])
def test_a_map_over_values_of_the_register_is_no_faster_than_its_bound(
    form: str, *, nests: bool
) -> None:
    """Operations that add up nothing have a map, too, though no operation adds to their results."""
    flat, einsum = grid_arch(form, 16, 2, 1), einsum_workload(form, 16).einsums[0]
    space = GridMapspace(grid_of(flat), einsum, nests=nests)
    profile = ExecutionSettings().profile(space.grid)
    quick, compared = QuickBound(space, flat, profile), 0
    families = [family for family in space.families() if family.scalar is not None]
    for family in random.Random(form).sample(families, min(100, len(families))):
        choice = space.members(family)[0]
        plan = plan_of(space_time(flat, einsum, space.mapping_of(choice)))
        compared += plan.kernel.walks
        assert quick.cycles(family) <= bound_of_parts(plan, profile)
    assert compared >= 4
