"""Candidates: every bound is below the value of a run, whichever way the value is found."""

from __future__ import annotations

import random
import time

import pytest
from explore import at_night
from grid_mappings import einsum_workload, grid_arch

from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_mapspace import GridFamily, GridMapspace
from tilewright.mapper.searches.budget import Budget
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.execution.einsum_execution import ExecutionSettings
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.lowering.lower_bound.cycle_bound import alone_cycles
from tilewright.simulator.search.bounds.division_bound import DivisionBound
from tilewright.simulator.search.candidates.candidates import Candidates
from tilewright.simulator.search.grid_certificate import GridObjective, objective_value


def candidates_of(form: str, objective: GridObjective) -> Candidates:
    flat, einsum = grid_arch(form, 32, 4, 2), einsum_workload(form).einsums[0]
    space = GridMapspace(grid_of(flat), einsum)
    return Candidates.of(objective, ExecutionSettings(), flat, space)


@pytest.mark.parametrize("objective", ["latency", "energy", "edp"])
@pytest.mark.parametrize(
    "form", ["matrix times vector", "outer product", *at_night("largest of rows")]
)
def test_bounds_and_values_of_members(form: str, objective: GridObjective) -> None:
    candidates = candidates_of(form, objective)
    few, executed = 1 + 1e-9, 0
    for bounded in candidates.families[::7]:
        alone = candidates.orders(bounded.family)[0].alone
        least = candidates.least_value(bounded.family, None, alone)
        for choice in candidates.space.members(bounded.family)[:2]:
            quick = candidates.least_value(bounded.family, choice.reduction, alone)
            try:
                bound, value = candidates.bound(choice), candidates.simulated_value(choice)
            except (InfeasibleMapping, ProgramError):
                continue
            executed += 1
            assert max(bounded.bound, least, quick) <= bound * few
            assert bound <= value * few
            run = candidates.execute(choice)
            assert objective_value(objective, run.latency, run.energy) == value
            assert candidates.known_cycles[choice] == run.cycles
    assert executed >= 5


@pytest.mark.parametrize("objective", ["latency", "energy"])
def test_what_fits_no_element_below_one_loop_is_mapped_with_two(objective: GridObjective) -> None:
    flat, einsum = (
        grid_arch("matrix product", 32, 1, 1),
        einsum_workload("matrix product").einsums[0],
    )
    space = GridMapspace(grid_of(flat), einsum)
    wide = Candidates.of(objective, ExecutionSettings(), flat, space)
    assert not wide.space.nests
    least = min(family.words for family in wide.families)
    reserved = int(space.grid.memory.size) // 8 - 2 * (least - 1)
    settings = ExecutionSettings(overrides={"sram_reserved_bytes": reserved})
    candidates = Candidates.of(objective, settings, flat, space)
    assert candidates.space.nests
    assert all(family.words < least for family in candidates.families)
    for bounded in candidates.families[:6]:
        choice = candidates.space.members(bounded.family)[0]
        run = candidates.execute(choice)  # compared with numpy, counts with the model's
        value = objective_value(objective, run.latency, run.energy)
        assert bounded.bound <= candidates.bound(choice) * (1 + 1e-9) <= value * (1 + 2e-9)


def test_without_time_one_family_is_bounded_and_the_floor_stands_for_the_others() -> None:
    whole = candidates_of("matrix product", "latency")
    flat, settings = whole.flat, whole.settings
    short = Candidates.unbounded("latency", settings, flat, whole.space).bounded(Budget(0.0))
    assert (whole.is_whole, short.is_whole) == (True, False)
    (family,) = short.families
    assert family in whole.families
    assert 0 < short.floor <= min(family.bound for family in whole.families)


@pytest.mark.parametrize("objective", ["latency", "energy"])
def test_in_a_limited_time_the_best_divisions_are_bounded_first(objective: GridObjective) -> None:
    all_of_them = candidates_of("matrix product", objective)
    time_enough = all_of_them.bounded(Budget(deadline=time.monotonic() + 1e6))
    assert time_enough == all_of_them
    first = all_of_them.bounded(Budget(deadline=0.0))
    assert not first.is_whole
    division = DivisionBound(all_of_them.quick)

    def least(family: GridFamily) -> float:
        if objective == "latency":
            return division.cycles(family.shares)
        return all_of_them.value_of(division.cycles(family.shares), division.energy(family.shares))

    (bounded,) = first.families
    assert least(bounded.family) == min(least(f.family) for f in all_of_them.families)


@pytest.mark.parametrize(
    "form", ["matrix product", "convolution", *at_night("largest of rows", "grouped product")]
)
def test_elements_with_shares_of_one_size_work_alike(form: str) -> None:
    """The cycles of an element are found for one of them, and are those of its own plan."""
    flat, einsum = grid_arch(form, 16, 4, 4), einsum_workload(form, 16).einsums[0]
    candidates = Candidates.of(
        "latency", ExecutionSettings(), flat, GridMapspace(grid_of(flat), einsum)
    )
    plans, families = [], [bounded.family for bounded in candidates.families]
    for family in random.Random(form).sample(families, min(150, len(families))):
        shared = candidates.orders(family)[0].alone
        try:
            plan = candidates.plan(candidates.members(family)[0][0])
            assert shared == alone_cycles(plan, candidates.quick.profile)
        except (InfeasibleMapping, ProgramError):
            assert shared is None
        plans.append(shared)
    assert len({id(shared) for shared in plans}) < len(plans)
