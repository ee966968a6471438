"""Bounds by the turns of all elements: near the cycles where elements wait in each turn."""

from statistics import median

import pytest
from grid_mappings import einsum_workload, grid_arch

from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.lowering.lower_bound.cycle_bound import bound_of_parts, lower_bound
from tilewright.simulator.lowering.lower_bound.turn_times import turns_end
from tilewright.simulator.lowering.plan import plan_of, program_of
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine

FORMS = ("matrix product", "matrix times vector", "convolution of images")


@pytest.mark.parametrize("machine", ["wse2-sdk-sim", "wse3-sdk-sim"])
@pytest.mark.parametrize("form", FORMS)
def test_cycles_are_near_the_bound(form: str, machine: str) -> None:
    """On 8 x 4 elements; the bound of the parts alone is farther away."""
    flat, einsum = grid_arch(form, 16, 8, 4), einsum_workload(form, 16).einsums[0]
    space, profile = GridMapspace(grid_of(flat), einsum), load_profile(machine)
    followed, parts = [], []
    families = list(space.families())
    for family in families[:: max(1, len(families) // 40)]:
        try:
            plan = plan_of(space_time(flat, einsum, space.mapping_of(space.members(family)[0])))
            cycles = Machine(program_of(plan), profile).cycles()
        except (InfeasibleMapping, ProgramError):
            continue
        least = lower_bound(plan, profile)
        assert max(turns_end(plan, profile) - 1, bound_of_parts(plan, profile)) <= least <= cycles
        followed.append(least / cycles)
        parts.append(bound_of_parts(plan, profile) / cycles)
    assert len(followed) > 20
    assert median(followed) > 0.93
    assert median(parts) < median(followed)
