"""Rows and columns exchanged: the same cycles, values transposed; and which mappings are so."""

from __future__ import annotations

import random
from itertools import islice
from typing import Any

import numpy as np
import pytest
from explore import at_night, enough
from grid_mappings import FORMS, einsum_workload, grid_arch
from machine_programs import random_case

from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_mapspace import GridFamily, GridMapspace
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.execution.einsum_execution import ExecutionSettings
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.lowering.plan import program_of
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.transposed import transposed
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.search.candidates.candidates import Candidates
from tilewright.simulator.search.candidates.transposition import transposed_choice


@pytest.mark.parametrize("block", [0, *at_night(*range(1, 10))])
def test_a_transposed_program_takes_the_same_cycles_and_has_transposed_values(block: int) -> None:
    compared = 0
    profile = load_profile("generic")
    for seed in range(40 * block, 40 * block + 40):
        case = random_case(seed)
        try:
            other = transposed(case.program)
        except ValueError:
            continue
        compared += 1
        memory = {name: exchanged(values) for name, values in case.memory.items()}
        run = Machine(case.program, profile).run(memory=case.memory, edges=case.edges)
        turned = Machine(other, profile).run(memory=memory, edges=case.edges)
        assert turned.cycles == run.cycles
        for name, values in run.memory.items():
            assert np.array_equal(exchanged(turned.memory[name]), values, equal_nan=True)
        for name, stream in run.edges.items():
            assert np.array_equal(turned.edges[name].cycles, stream.cycles)
    assert enough(compared, 30)


def exchanged(values: Any) -> Any:
    """Values of all elements with rows and columns exchanged; one for all stays as it is."""
    if isinstance(values, dict):
        return {(column, row): value for (row, column), value in values.items()}
    return np.swapaxes(values, 0, 1) if np.ndim(values) >= 2 else values


@pytest.mark.parametrize("machine", ["wse2-sdk-sim", *at_night("wse3-sdk-sim", "generic")])
@pytest.mark.parametrize("grid", ["4 x 4", *at_night("8 x 8")])
@pytest.mark.parametrize("most", [4, *at_night(40)])
@pytest.mark.parametrize("result", ["leaves", "stays"])
def test_the_program_of_a_transposed_choice_is_the_transposed_one(
    machine: str, grid: str, most: int, result: str
) -> None:
    columns, rows = map(int, grid.split(" x "))
    compared = 0
    for form in FORMS:
        flat, einsum = grid_arch(form, 32, columns, rows), einsum_workload(form).einsums[0]
        staying = frozenset({einsum.outputs[0].tensor} if result == "stays" else ())
        space = GridMapspace(grid_of(flat), einsum, staying=staying)
        settings = ExecutionSettings(machine=machine)
        candidates = Candidates.unbounded("latency", settings, flat, space)
        members = (compare(candidates, family) for family in drawn(candidates, 4 * most))
        compared += sum(islice(filter(None, members), most))
    assert compared >= 5 * most


def drawn(candidates: Candidates, most: int) -> list[GridFamily]:
    families = list(candidates.space.families())
    return random.Random(len(families)).sample(families, min(most, len(families)))


def compare(candidates: Candidates, family: GridFamily) -> int:
    """Compare each member with what it claims to be the transposed one; return their number."""
    bounds = candidates.space.einsum.bounds
    compared = 0
    for choice in candidates.space.members(family):
        try:
            plan = candidates.plan(choice)
            other = transposed_choice(choice, plan, bounds)
            if other is None:
                continue
            turned = candidates.plan(other)
            program = program_of(plan)
        except (InfeasibleMapping, ProgramError):
            continue
        assert parts_of(transposed(program)) == parts_of(program_of(turned))
        assert transposed_choice(other, turned, bounds) == choice
        compared += 1
    return compared


def parts_of(program: Program) -> tuple[object, ...]:
    """All of a program but for the order of its routes and the numbers of its codes."""
    codes = [program.codes[number] for number in program.placement.ravel()]
    routes = {(r.color, r.area, r.rx, r.tx, r.filter, r.teardown) for r in program.routes}
    ports = program.edge_inputs, program.edge_outputs
    return program.colors, codes, program.placement.shape, routes, len(program.routes), ports


@pytest.mark.parametrize("form", ["vector times matrix", "convolution"])
def test_cycles_of_a_choice_are_those_of_the_transposed_one(form: str) -> None:
    flat, einsum = grid_arch(form, 32, 4, 4), einsum_workload(form).einsums[0]
    space, turned = GridMapspace(grid_of(flat), einsum), 0
    candidates = Candidates.unbounded("latency", ExecutionSettings(), flat, space)
    for family in drawn(candidates, 1000):
        for choice in space.members(family)[:2] if turned < 12 else ():
            try:
                other = transposed_choice(choice, candidates.plan(choice), einsum.bounds)
                if other is None:
                    continue
                cycles, bound = candidates.simulated_cycles(choice), candidates.least_cycles(choice)
            except (InfeasibleMapping, ProgramError):
                continue
            turned += 1
            assert candidates.known_cycles[other] == cycles
            machine = Machine(program_of(candidates.plan(other)), candidates.quick.profile)
            assert machine.cycles() == cycles
            assert bound == candidates.least_cycles(other) <= cycles
    assert turned >= 5
