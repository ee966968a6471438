"""The cycle loop: no order of visits matters, errors are the first of their cycle, limits hold."""

from itertools import pairwise

import numpy as np
import pytest

from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.examples.known_costs import chain_reduce, two_phase_reduce
from tilewright.simulator.isa.dsd import Ref
from tilewright.simulator.isa.index_expression import variable
from tilewright.simulator.isa.machine_errors import MachineError
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import Area
from tilewright.simulator.run.machine import Machine

WSE2 = load_profile("wse2-sdk-sim")


@pytest.mark.parametrize(
    "program", [chain_reduce(9, 30), two_phase_reduce(8, 20, 4)], ids=lambda p: p.name
)
@pytest.mark.parametrize("seed", [1, 12345, 999])
def test_the_order_of_visits_has_no_effect(program: Program, seed: int) -> None:
    machine = Machine(program, WSE2)
    plain, shuffled = machine.run(timeline=True), machine.run(timeline=True, shuffle=seed)
    assert shuffled.cycles == plain.cycles
    assert np.array_equal(shuffled.trace.element_cycles, plain.trace.element_cycles)
    assert np.array_equal(shuffled.trace.link_words, plain.trace.link_words)
    key = lambda event: (event.row, event.column, event.start, event.end, event.operation)  # noqa: E731
    assert sorted(shuffled.trace.timeline, key=key) == sorted(plain.trace.timeline, key=key)


def failing(width: int) -> Program:
    """Every element reads beyond its buffer in the same cycle."""
    b = ProgramBuilder("failing", 1, width)
    code = b.code("only")
    code.buffer("v", "f32", 4)
    code.mem1d("all", "v", 4)
    task = code.task("main", entry=True)
    task.set("k", 2)
    task.op("fmovs", "all", Ref("all").at(variable("k")))
    b.place("only", Area(0, 0, 1, width))
    return b.build()


@pytest.mark.parametrize("shuffle", [0, 5, 77])
def test_of_several_errors_in_a_cycle_the_first_elements_is_told(shuffle: int) -> None:
    with pytest.raises(MachineError, match=r"element \(0, 0\)"):
        Machine(failing(12), WSE2).run(shuffle=shuffle)


def test_a_run_ends_at_its_limit_of_cycles() -> None:
    machine = Machine(chain_reduce(5, 40), WSE2)
    needed = machine.run().cycles
    assert machine.run(max_cycles=needed).cycles == needed
    with pytest.raises(MachineError):
        machine.run(max_cycles=needed // 2)


def test_a_timeline_longer_than_the_space_at_its_start_is_complete() -> None:
    """More events than 4,096: the kernel returns when the space is full and is called again."""
    turns = 5000
    b = ProgramBuilder("long", 1, 1)
    code = b.code("only")
    code.buffer("v", "f32", 1)
    code.mem1d("all", "v", 1)
    task = code.task("main", entry=True)
    with task.loop("i", turns):
        task.op("fmovs", "all", "all")
    b.place("only", Area(0, 0))
    timeline = Machine(b.build(), WSE2).run(timeline=True).trace.timeline
    moves = [event for event in timeline if event.operation == "fmovs"]
    assert len(moves) == turns
    assert all(first.end < second.end for first, second in pairwise(moves))
