"""Every scheme of a reduction, run: equal to numpy, counts as predicted, bounds below the cycles.

`execute_einsum` compares values and counts, and raises WrongResult where they differ.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from itertools import product

import pytest
from explore import at_night
from grid_mappings import einsum_workload, grid_arch

from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.grid.schemes.reduction_scheme import reduction_scheme
from tilewright.mapper.grid.space_time import space_time
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.execution.einsum_execution import ExecutionSettings, execute_einsum
from tilewright.simulator.fast.fast_machine import FastMachine
from tilewright.simulator.lowering.cycle_bound import line_costs
from tilewright.simulator.lowering.plan import program_of
from tilewright.simulator.search.quick_bound import QuickBound

SUMS = ("matrix times vector", "largest of rows", "sum of all", "matrix product")
MACHINES = ("wse2-sdk-sim", "wse3-sdk-sim", "wse3-silicon")
GRIDS = ((3, 4), (5, 2), (6, 6), (1, 7), (9, 1))
MOST_FAMILIES = 2


@pytest.mark.parametrize("form", SUMS)
@pytest.mark.parametrize("seed", [0, 2, *at_night(1, *range(3, 12))])
def test_all_schemes_on_drawn_grids(form: str, seed: int) -> None:
    """Groups of two sides before others; streams and tiles that stay; a machine by the seed."""
    rng, einsum = random.Random(f"{form} {seed}"), einsum_workload(form).einsums[0]
    settings, orders = ExecutionSettings(machine=MACHINES[seed % 3]), Counter[str]()
    for grid, stays in product(rng.sample(GRIDS, 2) if seed else GRIDS[:2], (False, True)):
        flat = grid_arch(form, 32, *grid)
        staying = frozenset({"Z"}) if stays else frozenset()
        profile = settings.profile(grid_of(flat))
        space = GridMapspace(grid_of(flat), einsum, staying=staying)
        space = replace(space, costs=line_costs(profile))
        quick = QuickBound(space, flat, profile)
        families = [f for f in space.families() if max(space.groups(f.shares)) > 1]
        rng.shuffle(families)
        families.sort(key=lambda f: -min(space.groups(f.shares)))
        for family in families[:MOST_FAMILIES]:
            for choice in space.members(family):
                read = space_time(flat, einsum, space.mapping_of(choice), staying)
                try:
                    run = execute_einsum(read, settings)
                except InfeasibleMapping:
                    continue
                known = quick.cycles(family), quick.cycles(family, choice.reduction)
                assert known[0] <= known[1] <= run.lower_bound_cycles <= run.cycles, choice
                fast = FastMachine(program_of(run.plan), profile).cycles
                assert fast in (None, run.cycles), choice
                orders[reduction_scheme(choice.reduction).order] += 1
    if not seed:
        assert min(orders[order] for order in ("x_first", "y_first", "snake")) >= 2
