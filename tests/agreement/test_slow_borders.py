"""Borders that pass less than a word a cycle: what comes out is the same, and later."""

import random
from dataclasses import replace

import numpy as np
import pytest
from engines import differences
from explore import at_night
from grid_mappings import FORMS, einsum_workload, grid_arch, random_space_time
from machine_programs import Case, random_case

from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.execution.drawn_operands import random_operands
from tilewright.simulator.execution.einsum_execution import ExecutionSettings, execute_einsum
from tilewright.simulator.fast.fast_machine import run_fast
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.lowering.lower_bound.cycle_bound import lower_bound
from tilewright.simulator.lowering.plan import plan_of, program_of
from tilewright.simulator.lowering.tile_values import run_inputs
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.search.bounds.division_bound import DivisionBound
from tilewright.simulator.search.bounds.quick_bound import QuickBound

GRIDS = ((1, 12), (12, 1), (2, 8), (4, 4), (6, 3), (3, 6))
MACHINES = ("wse2-sdk-sim", "wse3-sdk-sim", "generic")


def slowed(case: Case, interval: int) -> Case:
    outputs = tuple(replace(port, interval=interval) for port in case.program.edge_outputs)
    return replace(case, program=replace(case.program, edge_outputs=outputs))


def check(case: Case, interval: int, profile_name: str) -> None:
    """Run by both engines; compare with the run at a word a cycle."""
    profile, slow = load_profile(profile_name), slowed(case, interval)
    free = Machine(case.program, profile).run(memory=case.memory, edges=case.edges)
    machine = Machine(slow.program, profile)
    expected = machine.run(memory=case.memory, edges=case.edges, timeline=True)
    found = run_fast(slow.program, profile, case.memory, case.edges, timeline=True)
    assert differences(found.result, expected) == []
    plain = Machine(slow.program, profile, fuse=False)
    assert plain.run(memory=case.memory, edges=case.edges).cycles == expected.cycles
    for port in case.program.edge_outputs:
        values, cycles = expected.edges[port.name].values, expected.edges[port.name].cycles
        assert (values == free.edges[port.name].values).all()
        assert (np.diff(cycles, axis=1) >= interval).all()
        assert (cycles >= free.edges[port.name].cycles).all()
    assert expected.cycles >= free.cycles


@pytest.mark.parametrize("seed", range(0, 60, 7))
def test_lowered_mappings(seed: int) -> None:
    profile = load_profile("wse2-sdk-sim")
    try:
        read = random_space_time(seed)[1]
        plan = plan_of(read, profile.sram_reserved_bytes)
    except InfeasibleMapping:
        return
    memory, edges = run_inputs(plan, random_operands(read.einsum, seed))
    check(Case(program_of(plan), memory, {}, edges), 2 + seed % 9, profile.name)


@pytest.mark.parametrize("seed", range(6))
def test_random_programs(seed: int) -> None:
    check(random_case(seed), 2 + seed, "generic")


@pytest.mark.parametrize("part", [0, *at_night(*range(1, 16))])
def test_mappings_with_few_channels_equal_numpy_and_no_bound_is_above_their_cycles(
    part: int,
) -> None:
    executed, slow = 0, 0
    for seed in range(50 * part, 50 * (part + 1)):
        machine = ("wse2-sdk-sim", "wse3-sdk-sim")[seed % 2]
        settings = ExecutionSettings(machine=machine, overrides={"border_channels": 1 + seed % 3})
        try:
            run = execute_einsum(random_space_time(seed)[1], settings)
        except InfeasibleMapping:
            continue
        executed += 1
        slow += max([run.plan.exit_interval, *(s.interval for s in run.plan.streams)]) > 1
        assert 0 < run.lower_bound_cycles <= run.cycles, seed
        assert Machine(run.program(), run.profile).cycles() == run.cycles, seed
    assert executed >= 25
    assert slow >= 10


@pytest.mark.parametrize("part", [0, *at_night(*range(1, 9))])
def test_no_bound_of_a_family_or_division_is_above_the_cycles(part: int) -> None:
    rng, executed = random.Random(part), 0
    while executed < 60:
        form, bits = rng.choice(list(FORMS)), rng.choice([16, 32])
        flat = grid_arch(form, bits, *rng.choice(GRIDS))
        space = GridMapspace(grid_of(flat), einsum_workload(form, bits).einsums[0])
        overrides = {"border_channels": rng.choice((1, 2, 3))}
        settings = ExecutionSettings(machine=rng.choice(MACHINES), overrides=overrides)
        profile = settings.profile(space.grid)
        quick = QuickBound(space, flat, profile)
        families = list(space.families())
        for family in rng.sample(families, min(4, len(families))):
            mapping = space.mapping_of(rng.choice(list(space.members(family))))
            read = space_time(flat, space.einsum, mapping)
            try:
                plan = plan_of(read, profile.sram_reserved_bytes, channels=profile.border_channels)
                cycles = Machine(program_of(plan), profile).cycles()
            except (InfeasibleMapping, ProgramError):
                continue
            executed += 1
            of_family = quick.cycles(family)
            assert max(of_family, lower_bound(plan, profile)) <= cycles
            assert DivisionBound(quick).cycles(family.shares) <= of_family
            assert quick.together([family])[0].cycles == pytest.approx(of_family)
