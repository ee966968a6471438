"""Sums turn by turn: as fast as their chains from a common start, held up by elements behind."""

import numpy as np
import pytest
from grid_mappings import einsum_workload, grid_arch

from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.grid.schemes.reduction_scheme import reduction_scheme
from tilewright.simulator.lowering.lower_bound.sum_times import SumTimes
from tilewright.simulator.lowering.plan import Plan, plan_of, with_reduction
from tilewright.simulator.lowering.sums.sum_chains import sums_cycles
from tilewright.simulator.profiles.profile import load_profile

PROFILE = load_profile("wse2-sdk-sim")
SCHEMES = ("chain", "tree", "two_phase(2)", "y_first(tree)", "snake")


def added(columns: int, rows: int, words: int = 1) -> Plan:
    """Return a plan in which all elements of a grid add up tiles of so many words at least."""
    form = "matrix product"
    flat, einsum = grid_arch(form, 32, columns, rows), einsum_workload(form).einsums[0]
    space = GridMapspace(grid_of(flat), einsum)
    for family in space.families():
        plan = plan_of(space_time(flat, einsum, space.mapping_of(space.members(family)[0])))
        is_long = plan.read.words(plan.read.output) >= words
        if plan.sums.group == columns * rows > 1 and is_long:
            return plan
    raise AssertionError("no mapping adds up over the grid")


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("grid", [(4, 1), (1, 3), (2, 2)])
def test_from_a_common_start_sums_take_the_cycles_of_their_scheme(
    scheme: str, grid: tuple[int, int]
) -> None:
    plan = with_reduction(added(*grid), scheme)
    words = plan.read.words(plan.read.output)
    ends = SumTimes(plan, PROFILE).ends(np.zeros((grid[1], grid[0])))
    expected = sums_cycles(grid, reduction_scheme(scheme), words, PROFILE)
    assert ends[-1, -1] == expected


def test_elements_wait_for_the_last_of_their_chain() -> None:
    """Its sums stop in the buffers of all elements before it, which have not sent all then."""
    plan = added(4, 1, words=32)
    words, late = plan.read.words(plan.read.output), 5_000.0
    begun = np.zeros((1, 4))
    begun[0, 3] = late
    times = SumTimes(plan, PROFILE)
    ends = times.ends(begun)
    held = times.ends(np.zeros((1, 4)))
    assert late < ends[0, 2] < ends[0, 3]
    assert (ends >= held).all()
    assert ends[0, 2] > late + words - 32 or words <= 32


def test_results_leave_behind_the_last_sum() -> None:
    plan = added(4, 1)
    times = SumTimes(plan, PROFILE)
    ends = times.ends(np.zeros((1, 4)))
    way = PROFILE.dispatch_to_link_cycles + PROFILE.hop_cycles
    assert times.left(ends) == ends[0, 3] - 1 + way
