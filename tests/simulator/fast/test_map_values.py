"""Maps and scalar instructions for values alone, beside the reference engine, bit by bit."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from explore import at_night
from loop_programs import loop_program
from map_programs import map_program

from tilewright.simulator.compile.buffer_memory import NUMPY
from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.fast.values.grid_values import grid_values
from tilewright.simulator.isa.machine_errors import MachineError, ProgramError
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.run.gathered_tiles import GatheredTiles
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.text.parsing import parse_program

PROFILES = tuple(map(load_profile, ("wse2-sdk-sim", "wse3-sdk-sim")))


def drawn(program: Program, seed: int) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return random values of the buffers, (rows, columns, values), and words for the border."""
    rng = np.random.default_rng(seed)
    memory = {}
    for buffer in program.codes[0].buffers:
        numbers = rng.integers(0, 9, (*program.placement.shape, *buffer.shape))
        is_float = buffer.dtype.startswith("f")
        memory[buffer.name] = (numbers / (4 if is_float else 1)).astype(NUMPY[buffer.dtype])
    bits = np.float32(rng.standard_normal(999)).view(np.uint32)
    words = {p.name: np.resize(bits, (p.positions, p.count)) for p in program.edge_inputs}
    return memory, words


def tiles_of(values: np.ndarray) -> GatheredTiles:
    """Return the values of all elements as places in an array."""
    flat = np.ascontiguousarray(values).reshape(values.shape[0] * values.shape[1], -1)
    first = flat.shape[1] * np.arange(flat.shape[0])
    return GatheredTiles(flat, first, np.arange(flat.shape[1]), flat[:0])


def compare(program: Program, seed: int) -> str:
    """Compare all results of a program; return what became of it."""
    profile = PROFILES[seed % 2]
    machine = Machine(program, profile)
    memory, edges = drawn(program, seed)
    tiles = {name: tiles_of(values) for name, values in memory.items()}
    try:
        whole = machine.run(memory=memory, edges=edges)
    except MachineError:
        with pytest.raises(NotCovered):
            grid_values(program, profile, tiles, edges, list(memory))
        return "undefined"
    try:
        values = grid_values(program, profile, tiles, edges, list(memory))
    except NotCovered as missing:
        return missing.reason
    assert values.counts == whole.counts, seed
    for name in memory:
        assert values.memory[name].tobytes() == whole.memory[name].tobytes(), (seed, name)
    for name, stream in whole.edges.items():
        assert values.edges[name].tobytes() == stream.values.tobytes(), (seed, name)
    return "equal"


@pytest.mark.parametrize("part", [0, *at_night(*range(1, 16))])
def test_random_maps(part: int) -> None:
    seen = Counter[str]()
    for seed in range(120 * part, 120 * (part + 1)):
        seen[compare(map_program(seed), seed)] += 1
    assert seen["equal"] > 60, seen
    assert seen["undefined"] > 5, seen
    assert set(seen) == {"equal", "undefined"}, seen


@pytest.mark.parametrize("part", [0, *at_night(*range(1, 8))])
def test_random_loops(part: int) -> None:
    seen = Counter[str]()
    for seed in range(60 * part, 60 * (part + 1)):
        try:
            program = loop_program(seed)
            seen[compare(program, seed)] += 1
        except ProgramError:  # an operand that leaves its buffer
            continue
    assert seen["equal"] > 5, seen


DECIDED = """program decided 1 x 1
code only
  buffer i32 i32 [24]
  mem1d all i32 extent 24
  task main entry
    map x from all
      n = add.i32 n, x
    {then}
place only [0:1, 0:1]
"""
"""A sum of data in a counter, and what is done with it."""


@pytest.mark.parametrize(
    ("then", "outcome"),
    [
        ("i32(3) = add.i32 n, #1", "equal"),
        ("if n < 3\n      i32(3) = add.i32 n, #1", "a counter that depends on data"),
        ("n = min.i32 n, #5\n    i32(n) = add.i32 n, #1", "a counter that depends on data"),
        ("set n 2\n    if n < 3\n      i32(n) = add.i32 n, #1", "equal"),
        ("loop m 4\n      i32(m) = add.i32 m, n", "equal"),
    ],
)
def test_data_that_decide_are_left_to_the_engines(then: str, outcome: str) -> None:
    assert compare(parse_program(DECIDED.format(then=then)), 1) == outcome
