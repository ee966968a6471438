"""Values and counts without queues, routers and times, beside the reference engine, bit by bit."""

import random
from collections import Counter
from collections.abc import Iterator

import pytest
from explore import at_night
from grid_mappings import (
    FORMS,
    HARDWARE,
    REPEATED,
    random_mapping,
    random_space_time,
    typed_workload,
)

from tilewright.arch.spec.load import load_arch
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.execution.drawn_operands import random_operands
from tilewright.simulator.execution.mapped_workload import grid_path
from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.fast.values.grid_values import grid_values
from tilewright.simulator.lowering.plan import plan_of, program_of
from tilewright.simulator.lowering.tile_values import resident_tiles, run_inputs
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine

PROFILES = tuple(load_profile(name) for name in ("wse2-sdk-sim", "wse3-sdk-sim"))
TYPES = (
    *(("f32", "f32"), ("f16", "f16"), ("f16", "f32"), ("f32", "f16")),
    *(("i32", "i32"), ("i16", "i16")),
)
"""Number types of the inputs and of the output."""
GRIDS = ((4, 4), (6, 2), (8, 1), (1, 5), (1, 1))
"""Columns and rows."""


def check(read: SpaceTime, seed: int) -> bool:
    """Compare a mapping's values; return False if they are left to the engines."""
    plan, profile = plan_of(read), PROFILES[seed % 2]
    program = program_of(plan)
    operands = random_operands(read.workload_einsum, seed)
    memory, edges = run_inputs(plan, operands)
    tiles = resident_tiles(plan, operands)
    resident = [tensor.name for tensor in read.tensors if tensor.resident]
    try:
        values = grid_values(program, profile, tiles, edges, resident)
    except NotCovered:
        return False
    result = Machine(program, profile).run(memory=memory, edges=edges)
    assert values.counts == result.counts
    for name, stream in result.edges.items():
        assert values.edges[name].tobytes() == stream.values.tobytes(), seed
    for name in resident:
        assert values.memory[name].tobytes() == result.memory[name].tobytes(), seed
    for name, array in memory.items():
        assert tiles[name].values().tobytes() == array.tobytes()
    return True


@pytest.mark.parametrize("part", [0, *at_night(*range(1, 24))])
def test_random_mappings(part: int) -> None:
    covered = Counter[bool]()
    for seed in range(30 * part, 30 * (part + 1)):
        try:
            covered[check(random_space_time(seed)[1], seed)] += 1
        except InfeasibleMapping:
            continue
    assert covered[True] >= 5
    assert covered[False] <= 1  # where the order of tasks depends on times


def typed_mappings(seed: int, forms: list[str]) -> Iterator[tuple[str, SpaceTime]]:
    """Yield a random mapping of each form for each pair of types that the elements compute."""
    rng = random.Random(seed)
    for form in forms:
        for types in TYPES:
            workload, (columns, rows) = typed_workload(form, *types), rng.choice(GRIDS)
            arch = load_arch(HARDWARE, variables={"GridX": columns, "GridY": rows})
            einsum = workload.einsums[0]
            for _ in range(8):
                try:
                    flat = grid_path(arch, workload, einsum)
                    read = space_time(flat, einsum, random_mapping(rng, einsum))
                    plan_of(read)
                except InfeasibleMapping:
                    continue
                yield form, read
                break


@pytest.mark.parametrize("part", [*range(4), *at_night(*range(4, 24))])
def test_all_forms_and_types_have_values(part: int) -> None:
    forms = [*FORMS, *REPEATED][part % 4 :: 4]
    seen = {form: Counter[bool]() for form in forms}
    for form, read in typed_mappings(part, forms):
        seen[form][check(read, part)] += 1
    assert all(covered[True] for covered in seen.values()), seen
    assert sum(covered[False] for covered in seen.values()) <= 1
