"""Mappings with two loops in time: the machine executes them, and no bound is above their cycles.

Executions compare the result with numpy and all counts with the model's (`Candidates.execute`).
"""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache

import pytest
from explore import at_night
from grid_mappings import FORMS, einsum_workload, grid_arch

from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.execution.einsum_execution import ExecutionSettings
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.search.candidates.candidates import BoundedFamily, Candidates
from tilewright.simulator.search.grid_certificate import GridObjective, objective_value

GRIDS = ((1, 1), (2, 2), (3, 2), (1, 4))
FEW = 1 + 1e-9


@cache
def nested(form: str, bits: int, grid: tuple[int, int], objective: GridObjective) -> Candidates:
    """All mappings of a form with two loops in time, whether one would do or not."""
    flat = grid_arch(form, bits, *grid)
    space = GridMapspace(grid_of(flat), einsum_workload(form, bits).einsums[0])
    settings = ExecutionSettings()
    return Candidates.of(objective, settings, flat, replace(space, nests=True))


def executed(candidates: Candidates, bounded: BoundedFamily, rng: random.Random) -> bool:
    """Execute a member of a family; False for one that the machine cannot run."""
    choice = rng.choice(candidates.space.members(bounded.family))
    try:
        bound = candidates.bound(choice)
        run = candidates.execute(choice)
    except (InfeasibleMapping, ProgramError):
        return False
    value = objective_value(candidates.objective, run.latency, run.energy)
    assert bounded.bound <= bound * FEW <= value * FEW**2, (candidates.space.einsum.name, choice)
    return True


@pytest.mark.parametrize("seed", [0, *at_night(*range(1, 48))])
def test_drawn_mappings_are_executed(seed: int) -> None:
    rng, runs = random.Random(seed), 0
    for form in list(FORMS)[seed % 2 :: 2]:
        bits, grid = rng.choice((16, 32)), rng.choice(GRIDS)
        candidates = nested(form, bits, grid, rng.choice(("latency", "energy")))
        families = rng.sample(candidates.families, min(1, len(candidates.families)))
        runs += sum(executed(candidates, bounded, rng) for bounded in families)
    assert runs > 7
