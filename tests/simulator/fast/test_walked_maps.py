"""Maps that are walked once and repeated, against walks through every turn."""

from __future__ import annotations

import random

from tests.oracles.grid_mappings import HARDWARE

from tilewright.arch.files.source import load_document
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.spec.load import load_arch
from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload_loading import load_workload
from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.fast.walk.plain_code import code_of_block
from tilewright.simulator.fast.walk.walker import MOST_INSTRUCTIONS, ScriptWalker
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.lowering.plan import plan_of, program_of
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine

PRODUCT = """workload:
  rank_sizes: {{M: {m}, K: {k}, N: {n}}}
  bits_per_value: {{All: {bits}}}
  einsums: ["Z[m, n] = A[m, k] * B[k, n]"]
"""


def machines(seed: int) -> list[Machine]:
    """Programs of some mappings of a product, whose tiles begin at other banks from row to row."""
    rng = random.Random(seed)
    m, k, n = rng.choice([(12, 20, 18), (30, 10, 14), (8, 44, 12)])
    text = PRODUCT.format(m=m, k=k, n=n, bits=rng.choice([16, 32]))
    workload = load_workload(load_document("w.yaml", text=text))
    arch = load_arch(HARDWARE, variables={"GridX": 2, "GridY": 2})
    flat = flatten(arch, workload.scope("Z"))[0]
    space = GridMapspace(grid_of(flat), workload.einsums[0])
    result = []
    for family in rng.sample(list(space.families()), 10):
        mapping = space.mapping_of(next(iter(space.members(family))))
        try:
            program = program_of(plan_of(space_time(flat, space.einsum, mapping)))
            result.append(Machine(program, load_profile("wse2-sdk-sim")))
        except (InfeasibleMapping, ProgramError):
            continue
    return result


def test_a_walk_with_repeated_maps_is_the_walk_turn_by_turn() -> None:
    repeated = 0
    for machine in [machine for seed in range(2) for machine in machines(seed)]:
        for block in machine.compiled.tables.blocks:
            code = code_of_block(block)
            walker, slow = (ScriptWalker(code, block.layout, MOST_INSTRUCTIONS) for _ in range(2))
            slow.walked = None
            try:
                expected = slow.walk()
            except NotCovered:
                continue
            assert walker.walk() == expected
            assert walker.steps == slow.steps
            assert walker.walked is not None
            repeated += slow.passed > 0 and bool(walker.walked.known)
    assert repeated > 5
