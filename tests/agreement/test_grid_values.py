"""Values and counts without queues, routers and times, beside the reference engine, bit by bit."""

from collections import Counter

import pytest
from explore import at_night
from grid_mappings import random_space_time

from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.execution.drawn_operands import random_operands
from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.fast.values.grid_values import grid_values
from tilewright.simulator.lowering.plan import plan_of, program_of
from tilewright.simulator.lowering.tile_values import resident_tiles, run_inputs
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine

PROFILES = tuple(load_profile(name) for name in ("wse2-sdk-sim", "wse3-sdk-sim"))


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
    covered = Counter[str]()
    for seed in range(30 * part, 30 * (part + 1)):
        try:
            form, read = random_space_time(seed)
            covered[form] += check(read, seed)
        except InfeasibleMapping:
            continue
    assert covered.total() >= 5
