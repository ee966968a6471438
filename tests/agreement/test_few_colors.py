"""Mappings on machines with few colors: they run, equal numpy, and take the cycles of 24 colors.

`execute` itself compares the results with numpy and the machine's counts with the model's.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from cascades import cascade_arch, cascade_workload
from explore import at_night
from grid_mappings import einsum_workload, grid_arch, random_space_time
from pipeline_cases import random_pipeline

from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.mapper.workload.errors import InfeasibleMapping, NoFeasibleMapping
from tilewright.simulator.execution.einsum_execution import ExecutionSettings, execute_einsum
from tilewright.simulator.execution.execution import execute
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.lowering.plan import program_of
from tilewright.simulator.search.grid_mapping import GridRequest, map_on_grid

MACHINES = ("wse2-sdk-sim", "wse3-sdk-sim")
FEW = range(3, 11)


def settings(colors: int, machine: str = MACHINES[0]) -> ExecutionSettings:
    return ExecutionSettings(machine=machine, overrides={"colors": colors})


def readings(seed: int) -> Iterator[SpaceTime]:
    """A random mapping, and one of the mapspace of a form with many streams."""
    rng = random.Random(seed)
    form = rng.choice(("three matrices", "matrix product", "sum of all", "matrix times vector"))
    flat = grid_arch(form, 32, rng.choice((3, 4, 6)), rng.choice((2, 4, 5)))
    staying = frozenset(rng.choice(((), ("Z",))))
    space = GridMapspace(grid_of(flat), einsum_workload(form).einsums[0], staying=staying)
    choice = rng.choice(space.members(rng.choice(list(space.families()))))
    try:
        yield space_time(flat, space.einsum, space.mapping_of(choice), staying)
        yield random_space_time(seed)[1]
    except InfeasibleMapping:
        pass


@pytest.mark.parametrize("part", [0, *at_night(*range(1, 12))])
def test_mappings_with_more_streams_than_colors_run_in_the_same_cycles(part: int) -> None:
    shared = others = 0
    for seed in range(60 * part, 60 * (part + 1)):
        machine = MACHINES[seed % 2]
        for read in readings(seed):
            try:
                run = execute_einsum(read, settings(24, machine))
            except InfeasibleMapping:
                continue
            streams = len(run.program().colors)
            for colors in (n for n in FEW if n < streams):
                try:
                    few = execute_einsum(read, settings(colors, machine))
                except ProgramError:
                    continue
                assert len(few.program().colors) <= colors
                assert few.lower_bound_cycles == run.lower_bound_cycles <= few.cycles
                assert few.counts == run.counts
                others += few.cycles != run.cycles
                shared += 1
    assert shared >= 20
    assert others <= 1  # where the order of streams on a link is another one


def test_a_search_looks_at_mappings_that_share_colors() -> None:
    arch, workload = cascade_arch(6, 4), einsum_workload("sum of all")
    answers = {
        colors: map_on_grid(arch, workload, GridRequest(settings=settings(colors)))
        for colors in (24, 5, 4)
    }
    assert all(answer.certificate.is_optimal for answer in answers.values())
    (run,) = answers[5].execution.einsums
    assert len(program_of(run.plan).colors) == 8
    assert answers[24].value == answers[5].value < answers[4].value
    with pytest.raises(NoFeasibleMapping, match="need more colors than wse2-sdk-sim has"):
        map_on_grid(arch, workload, GridRequest(settings=settings(1)))


def test_halos_go_by_phases_of_a_reshard_where_colors_are_too_few() -> None:
    arch, workload = cascade_arch(2, 2), cascade_workload("smoothing", m=16, n=12)
    mapping = map_on_grid(arch, workload).mapping
    kinds = {}
    for colors in (24, 4, 3):
        run = execute(arch, workload, mapping, settings=settings(colors))
        (moved,) = run.exchanges
        assert moved.lower_bound_cycles <= moved.cycles
        kinds[colors] = moved.kind
    assert kinds == {24: "halos", 4: "halos", 3: "reshard"}


def test_pipelines_share_colors_too() -> None:
    shared = 0
    for seed in range(20):
        case = random_pipeline(seed)
        (run,) = execute(case.arch, case.workload, case.mapping).pipelines
        for colors in range(3, len(run.program().colors)):
            try:
                few = execute(
                    case.arch, case.workload, case.mapping, settings=settings(colors)
                ).pipelines[0]
            except ProgramError:
                continue
            assert few.counts == run.counts
            assert run.lower_bound_cycles <= few.cycles == run.cycles
            shared += 1
    assert shared > 3
