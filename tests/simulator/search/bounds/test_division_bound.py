"""The bounds of a division of the work are never above those of a family that divides it so."""

import random
from math import inf
from statistics import median
from typing import Any

import pytest
from grid_mappings import FORMS, einsum_workload, grid_arch

from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_constraints import NO_CONSTRAINTS, GridConstraints
from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.execution.einsum_execution import ExecutionSettings
from tilewright.simulator.search.bounds.division_bound import DivisionBound
from tilewright.simulator.search.bounds.quick_bound import QuickBound

NEARLY = 1 + 1e-12
SIZES = ((4, 3), (3, 5), (6, 6), (1, 7), (8, 2), (2, 4))


def divisions(space: GridMapspace) -> list[tuple[object, ...]]:
    further = space.further_shares(inf, 1 << 20)
    assert further is not None
    return [*space.shares(), *further]


def ratios(space: GridMapspace, quick: QuickBound, seed: str) -> list[tuple[float, float]]:
    """Compare the bounds of a few divisions with the least of their families': (cycles, energy)."""
    bound, shares_of = DivisionBound(quick), random.Random(seed)
    every = divisions(space)
    compared = []
    for shares in shares_of.sample(every, min(3, len(every))):
        cycles, energy, least, least_energy = bound.cycles(shares), bound.energy(shares), inf, inf
        for family in space.families_of(shares):
            try:
                least = min(least, quick.cycles(family))
                least_energy = min(least_energy, quick.energy(family))
            except InfeasibleMapping:
                continue
        assert cycles <= least * NEARLY, (seed, shares)
        assert energy <= least_energy * NEARLY, (seed, shares)
        if least < inf:
            compared.append((cycles / least, energy / least_energy))
    return compared


@pytest.mark.parametrize(
    ("step", "size"),
    [(3, (4, 3)), *(pytest.param(1, size, marks=pytest.mark.nightly) for size in SIZES)],
)
@pytest.mark.parametrize("constraints", [NO_CONSTRAINTS, GridConstraints(movement="shift")])
def test_no_division_is_bounded_above_its_families(
    step: int, size: tuple[int, int], constraints: GridConstraints
) -> None:
    """Of every third form by day, of all at night."""
    compared = []
    for form in list(FORMS)[::step]:
        for bits in (16, 32):
            flat, einsum = grid_arch(form, bits, *size), einsum_workload(form, bits).einsums[0]
            space = GridMapspace(grid_of(flat), einsum, constraints)
            profile = ExecutionSettings().profile(space.grid)
            compared += ratios(space, QuickBound(space, flat, profile), form)
    if constraints == NO_CONSTRAINTS:
        assert median(cycles for cycles, _ in compared) > 0.5
        assert median(energy for _, energy in compared) > 0.95


@pytest.mark.parametrize("constraints", [NO_CONSTRAINTS, GridConstraints(movement="shift")])
def test_divisions_together_have_the_bounds_of_each_alone(constraints: GridConstraints) -> None:
    for form in list(FORMS)[1::3]:
        flat, einsum = grid_arch(form, 16, 4, 3), einsum_workload(form, 16).einsums[0]
        space = GridMapspace(grid_of(flat), einsum, constraints)
        quick = QuickBound(space, flat, ExecutionSettings().profile(space.grid))
        bound, every = DivisionBound(quick), divisions(space)
        together = bound.together(every, has_energy=True)
        for shares, bounds in list(zip(every, together, strict=True))[::5]:
            assert bounds == (bound.cycles(shares), bound.energy(shares)), (form, shares)


def test_divisions_beyond_the_sizes_of_arrays_are_bounded_one_by_one(monkeypatch: Any) -> None:
    form = "matrix product"
    flat, einsum = grid_arch(form, 16, 4, 4), einsum_workload(form, 16).einsums[0]
    space = GridMapspace(grid_of(flat), einsum)
    quick = QuickBound(space, flat, ExecutionSettings().profile(space.grid))
    together = DivisionBound(quick).together(space.shares(), has_energy=True)
    monkeypatch.setattr(QuickBound, "has_exact_numbers", False)
    assert DivisionBound(quick).together(space.shares(), has_energy=True) == together
