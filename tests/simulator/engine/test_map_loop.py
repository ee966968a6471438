"""`@map` on one element, by hand: what the callback takes, gives, and where the loop ends."""

import numpy as np
import pytest

from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area
from tilewright.simulator.run.machine import Machine

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
