"""Lower bounds of mappings whose tiles are long: none is above the cycles of the run.

An operation of wse3-silicon takes a word in 9/8 cycles, a link brings one in each cycle; the words
of short tiles wait in the queue of the element that takes them, those of long ones on the link.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from explore import at_night
from grid_mappings import einsum_on_grid

from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_mapspace import GridChoice, GridFamily, GridMapspace, TimeTile
from tilewright.mapper.grid.grid_shares import Share
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.execution.einsum_execution import ExecutionSettings
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.lowering.lower_bound.cycle_bound import alone_cycles, lower_bound
from tilewright.simulator.lowering.plan import plan_of, program_of
from tilewright.simulator.lowering.sums.sum_chains import line_costs
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.search.bounds.quick_bound import QuickBound

MACHINES = ("wse3-silicon", "wse2-sdk-sim", "generic")
EINSUMS = {
    "Z[m, n] = A[m, n] * S[m]": "MN",
    "Z[m, n] = A[m, n] + B[m, n]": "MN",
    "Z[m] = A[m, k] * B[k]": "MK",
    "Z[m] = A[m, k]": "MK",
    "Z[n, m] = A[m, n]": "MN",
    "Z[m, n] = A[m, k] * B[k, n]": "MNK",
}
SIZES = (1, 2, 3, 7, 16, 43, 100, 257, 1000)
GRIDS = ((3, 5), (4, 4), (12, 20), (1, 16), (16, 1), (2, 20))
MOST_WORK = 3_000_000
"""Cycles times elements of a run."""


def mapspace(einsum: str, sizes: dict[str, int], grid: tuple[int, int], machine: str) -> QuickBound:
    """The mapspace of an Einsum of f32 on a grid, with its quick bounds on a machine."""
    flat, only = einsum_on_grid(einsum, sizes, grid)
    space = GridMapspace(grid_of(flat), only)
    profile = ExecutionSettings(machine).profile(space.grid)
    return QuickBound(replace(space, costs=line_costs(profile)), flat, profile)


def bounds_and_cycles(quick: QuickBound, choice: GridChoice) -> tuple[float, float, int] | None:
    """The quick bound, that of the plan, and the cycles; None if it does not run, or runs long."""
    space, profile = quick.space, quick.profile
    try:
        read = space_time(quick.flat, space.einsum, space.mapping_of(choice), space.staying)
        plan = plan_of(read, profile.sram_reserved_bytes)
        bound = lower_bound(plan, profile)
        if bound * space.grid.columns * space.grid.rows > MOST_WORK:
            return None
        alone = alone_cycles(plan, profile)
        least = quick.cycles(choice.family, choice.reduction, alone)
        return least, bound, Machine(program_of(plan), profile).cycles()
    except (InfeasibleMapping, ProgramError):
        return None


@pytest.mark.parametrize("buffers", [1, 2])
def test_tiles_of_several_words_wait_in_the_queue(buffers: int) -> None:
    """67 words of a tile are taken in 75 cycles, but the next tile passes after 67."""
    quick = mapspace("Z[m] = A[m, k]", {"K": 7, "M": 1000}, (3, 5), "wse3-silicon")
    shares = (Share("X", "m", 3), Share("Y", "m", 5))
    family = GridFamily(shares, TimeTile("k", 1), frozenset(), None, buffers)
    found = bounds_and_cycles(quick, GridChoice(family, "chain"))
    assert found is not None
    assert found[0] <= found[1] <= found[2]
    assert found[1] >= 0.95 * found[2]


@pytest.mark.parametrize("seed", [0, 1, 2, *at_night(*range(3, 150))])
def test_no_bound_is_above_the_cycles(seed: int) -> None:
    rng, run = random.Random(seed), 0
    for _ in range(5):
        einsum = rng.choice(list(EINSUMS))
        sizes = {name: rng.choice(SIZES) for name in EINSUMS[einsum]}
        quick = mapspace(einsum, sizes, rng.choice(GRIDS), MACHINES[seed % 3])
        families = list(quick.space.families())
        for family in rng.sample(families, min(2, len(families))):
            choice = rng.choice(quick.space.members(family))
            found = bounds_and_cycles(quick, choice)
            if found is not None:
                assert found[0] <= found[2] >= found[1], (einsum, sizes, choice, found)
                run += 1
    assert run >= 1
