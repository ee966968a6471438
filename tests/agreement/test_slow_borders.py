"""Borders that pass less than a word a cycle: what comes out is the same, later, on both engines."""

from dataclasses import replace

import numpy as np
import pytest
from engines import differences
from grid_mappings import random_space_time
from machine_programs import Case, random_case

from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.execution.drawn_operands import random_operands
from tilewright.simulator.fast.fast_machine import run_fast
from tilewright.simulator.lowering.plan import plan_of, program_of
from tilewright.simulator.lowering.tile_values import run_inputs
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine


def slowed(case: Case, interval: int) -> Case:
    outputs = tuple(replace(port, interval=interval) for port in case.program.edge_outputs)
    return replace(case, program=replace(case.program, edge_outputs=outputs))


def check(case: Case, interval: int, profile_name: str) -> bool:
    """Run by both engines; compare with the run at a word a cycle. Return whether both ran."""
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
    return bool(found.certificate.granted)


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
