"""`@map` on one element, by hand: what the callback takes, gives, and where the loop ends."""

from itertools import product

import numpy as np
import pytest

from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.compile import columns as at
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.text.parsing import parse_program

GENERIC = load_profile("generic")


def mapped(first: int, second: int, operation: str = "add") -> Program:
    """Map x op y over vectors a and b of these lengths to the vector c of four."""
    b = ProgramBuilder("mapped", 1, 1)
    code = b.code("only")
    for name, length in (("a", first), ("b", second), ("c", 4)):
        code.buffer(name, "i16", 4)
        code.mem1d(f"all_{name}", name, length)
    task = code.task("main", entry=True)
    with task.map(("x", "all_a"), ("y", "all_b"), output=("z", "all_c")):
        task.compute("z", operation, "x", "y", dtype="i16")
    b.place("only", Area(0, 0))
    return b.build()


def result(program: Program) -> list[int]:
    memory = {
        "a": np.array([[[1, 2, 3, 4]]], dtype=np.int16),
        "b": np.array([[[10, 20, 30, -40]]], dtype=np.int16),
    }
    values: list[int] = Machine(program, GENERIC).run(memory=memory).memory["c"][0, 0].tolist()
    return values


@pytest.mark.parametrize(
    ("operation", "expected"),
    [("add", [11, 22, 33, -36]), ("sub", [-9, -18, -27, 44]), ("mul", [10, 40, 90, -160])],
)
def test_a_callback_per_element(operation: str, expected: list[int]) -> None:
    assert result(mapped(4, 4, operation)) == expected


@pytest.mark.parametrize(("first", "second", "turns"), [(4, 2, 2), (3, 4, 3), (1, 1, 1)])
def test_the_shortest_operand_ends_the_map(first: int, second: int, turns: int) -> None:
    assert result(mapped(first, second)) == [11, 22, 33, -36][:turns] + [0] * (4 - turns)


def test_a_turn_takes_the_same_cycles_each_time() -> None:
    cycles = [Machine(mapped(n, n), GENERIC).run().cycles for n in (1, 2, 3, 4)]
    steps = np.diff(cycles).tolist()
    assert steps[0] == steps[1] == steps[2] > GENERIC.map_step_cycles


BESIDE = """program beside 1 x 1
color out
code only
  buffer a f32 [40]
  buffer b f32 [40]
  buffer s f32 [30]
  mem1d xs a extent {0}
  mem1d ys a extent {1}
  mem1d zs b extent {2}
  mem1d sent s extent 30
  output_queue 3 out
  fabout east queue 3 extent 30
  task main entry
    @fmovs east, sent async{priority}
    map {inputs}to zs as z
      z = add.f32 x, y
      z = mul.f32 z, {factor}
    activate done
  task done
    @fmovs zs, zs
place only [0:1, 0:1]
route out [0:1, 0:1] rx R tx E
edge_output results side E [0:1] color out f32 count 30
"""
"""A map while a microthread sends, whose words may delay it."""


@pytest.mark.parametrize(
    ("machine", "priority"),
    [("wse3-sdk-sim", ""), *(("wse2-sdk-sim", p) for p in ("", " priority high", " priority low"))],
)
@pytest.mark.parametrize("factor", ["z", "a(3)"])
def test_turns_without_values_take_as_many_cycles(machine: str, priority: str, factor: str) -> None:
    profile, seen = load_profile(machine), set()
    inputs = ("x from xs, y from ys ", "x from xs ", "x from xs, y from ys, w from xs ", "")
    for lengths in product((1, 7, 40), (1, 3, 40), (1, 5, 40)):
        for pairs in inputs:
            text = BESIDE.format(*lengths, priority=priority, inputs=pairs, factor=factor)
            program = parse_program(text)
            cycles = Machine(program, profile).run().cycles
            assert Machine(program, profile).cycles() == cycles, (lengths, pairs)
            seen.add(cycles)
    assert len(seen) > 10


def test_turns_without_values_are_one_step() -> None:
    """A map of many turns visits its element no more often than one of a few."""
    visits = []
    for turns in (2, 4):
        machine = Machine(mapped(turns, turns), GENERIC)
        run = machine._repeating_run()
        assert run.run()
        visits.append(int(run.store[at.S_VISITS]))
        assert int(run.store[at.S_END]) > 0
    assert visits[0] == visits[1]
