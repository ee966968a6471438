"""Every scheme of a reduction, run: equal to numpy, counts as predicted, bounds below the cycles.

`execute_einsum` compares values and counts, and raises WrongResult where they differ.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from explore import at_night
from grid_mappings import HARDWARE, einsum_workload, grid_arch

from tilewright.arch.files.source import load_document
from tilewright.arch.flattening.flat import FlatArch
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.grid.schemes.reduction_scheme import reduction_scheme
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.execution.einsum_execution import ExecutionSettings, execute_einsum
from tilewright.simulator.execution.mapped_workload import grid_path
from tilewright.simulator.fast.fast_machine import FastMachine
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.lowering.lower_bound.cycle_bound import alone_cycles
from tilewright.simulator.lowering.plan import program_of
from tilewright.simulator.lowering.sums.sum_chains import line_costs
from tilewright.simulator.search.bounds.quick_bound import QuickBound

SUMS = ("matrix times vector", "largest of rows", "sum of all", "matrix product")
MACHINES = ("wse2-sdk-sim", "wse3-sdk-sim", "wse3-silicon")
GRIDS = ((3, 4), (5, 2), (6, 6), (1, 7), (9, 1))
MOST_FAMILIES = 2


@pytest.mark.parametrize("form", ["sum of all", "matrix product", *at_night(*SUMS[:2])])
@pytest.mark.parametrize("seed", [0, *at_night(*range(1, 12))])
def test_all_schemes_on_drawn_grids(form: str, seed: int) -> None:
    """Groups of two sides before others; streams and tiles that stay; each on some machine."""
    rng, einsum = random.Random(f"{form} {seed}"), einsum_workload(form).einsums[0]
    machine = MACHINES[(seed + SUMS.index(form)) % 3]
    settings, orders = ExecutionSettings(machine=machine), Counter[str]()
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


@pytest.mark.parametrize("form", [form for form in SUMS if form != "sum of all"])
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("third", [0, *at_night(1, 2)])
def test_rings_of_all_sizes(form: str, machine: str, third: int) -> None:
    """Rows, columns, and groups of two sides; one value has no chunk for each element."""
    einsum, executed = einsum_workload(form).einsums[0], 0
    first = (SUMS.index(form) + MACHINES.index(machine) + third) % 3  # each form has all sizes
    for grid in ((2, 1), (1, 3), (4, 1), (3, 2), (2, 4), (6, 2))[first::3]:
        executed += checked_rings(grid_arch(form, 32, *grid), einsum, machine)
    assert executed >= 1


@pytest.mark.parametrize("seed", [0, 1, 2, *at_night(*range(3, 30))])
def test_rings_of_drawn_sizes(seed: int) -> None:
    """Long tiles in one buffer and two: chunks of many slices, and of a prime number of words."""
    rng = random.Random(seed)
    columns, rows = rng.choice(((2, 1), (3, 2), (4, 4), (6, 1), (2, 3)))
    sizes = {"J": 2 * rows, "K": 2 * columns, "N": columns * rows * rng.choice((5, 17, 20, 33))}
    text = (
        f"workload:\n  rank_sizes: {{{', '.join(f'{v}: {n}' for v, n in sizes.items())}}}\n"
        '  bits_per_value: {All: 32}\n  einsums: ["Z[n] = A[j, k, n]"]\n'
    )
    workload = load_workload(load_document("sum.yaml", text=text))
    values = {"variables.GridX": columns, "variables.GridY": rows}
    flat = grid_path(load_arch(HARDWARE).with_values(values), workload, workload.einsums[0])
    assert checked_rings(flat, workload.einsums[0], MACHINES[seed % 3])


def checked_rings(flat: FlatArch, einsum: Einsum, machine: str) -> int:
    """Run and check a few mappings with rings; return how many ran."""
    settings, executed = ExecutionSettings(machine), 0
    profile = settings.profile(grid_of(flat))
    space = GridMapspace(grid_of(flat), einsum, staying=frozenset({"Z"}))
    quick = QuickBound(space, flat, profile)
    families = [f for f in space.families() if "all_reduce(ring)" in space.reductions(f)]
    for family in families[:: max(1, len(families) // 4)]:
        (choice,) = (c for c in space.members(family) if c.reduction == "all_reduce(ring)")
        read = space_time(flat, einsum, space.mapping_of(choice), space.staying)
        try:
            run = execute_einsum(read, settings)
        except (InfeasibleMapping, ProgramError):  # a stride is too long
            continue
        alone = alone_cycles(run.plan, profile)
        for known in (None, alone):
            whole = quick.cycles(family, None, known)
            one = quick.cycles(family, choice.reduction, known)
            assert whole <= one <= run.lower_bound_cycles <= run.cycles, choice
        joules = sum(e for key, e in run.energy_by.items() if "leak" not in key)
        assert quick.energy(family, choice.reduction) <= joules * (1 + 1e-9)
        tiles = run.memory["Z"]
        wide, tall = run.plan.sums.group_columns, run.plan.sums.group_rows
        heads = tiles[tall - 1 :: tall, wide - 1 :: wide]
        assert np.array_equal(tiles, heads.repeat(tall, axis=0).repeat(wide, axis=1))
        executed += 1
    return executed
