"""Maps over registers that save their address: the fast engine's run is the reference's."""

import numpy as np
import pytest
from engines import differences
from machine_programs import Case

from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.fast.fast_machine import run_fast
from tilewright.simulator.isa.dsd import Ref, Register
from tilewright.simulator.isa.index_expression import variable
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.routes import Area, EdgeOutput
from tilewright.simulator.run.machine import Machine


def walking(seed: int) -> Case:
    """Draw an element that multiplies and adds in a map, inside a loop, and sends what it has.

    Vectors lie on any banks, so turns differ in their conflicts; two loads of a register hold
    vectors of other strides.
    """
    rng = np.random.default_rng(seed)
    dtype = str(rng.choice(["f32", "f16"]))
    extent, turns, around = (int(n) for n in rng.integers(1, 8, 3))
    shift, saves_output = int(rng.integers(0, 9)), bool(rng.integers(0, 2))
    b = ProgramBuilder("walk", 1, 1)
    b.color("x")
    code = b.code("main")
    room = 3 * extent * turns + around + 16
    for name in ("y", "a", "s"):
        code.buffer(name, dtype, room)
    code.mem1d("y_vector", "y", extent, offset=shift)
    code.mem1d("a_vector", "a", extent, offset=int(rng.integers(0, 9)))
    code.mem1d("a_wide", "a", extent, stride=2)
    code.mem1d("values", "s", turns, stride=int(rng.integers(1, 3)))
    code.mem1d("all", "y", room)
    code.output_queue(2, "x")
    code.fabout("out", 2, room)
    task = code.task("main", entry=True)
    operation = "fmacs" if dtype == "f32" else "fmach"
    dest, left, right = Register("dest", 1), Register("src0", 1), Register("src1", 1)
    with task.loop("turn", around) as turn:
        for vector in ("a_vector", "a_wide")[: int(rng.integers(1, 3))]:
            task.load(dest, Ref("y_vector").at(turn), save_address=saves_output)
            task.load(left, Ref("y_vector").at(turn), save_address=saves_output)
            task.load(right, vector, save_address=bool(rng.integers(0, 2)))
            with task.map(("value", Ref("values"))):
                task.op(operation, dest, left, right, variable("value"), label="compute")
    task.op("fmovs" if dtype == "f32" else "fmovh", "out", "all")
    b.place("main", Area(0, 0))
    b.route("x", Area(0, 0), rx="R", tx="E")
    b.edge_output(EdgeOutput("xs", "E", 0, 1, "x", dtype, room))
    numbers = {
        n: rng.integers(-4, 5, (1, 1, room)).astype(dtype.replace("f", "float")) for n in "yas"
    }
    return Case(b.build(), numbers, {})


@pytest.mark.parametrize("machine", ["wse2-sdk-sim", "wse3-sdk-sim", "generic"])
def test_the_run_is_that_of_the_reference(machine: str) -> None:
    profile, stalled = load_profile(machine), set()
    for seed in range(12):
        case = walking(seed)
        fast = run_fast(case.program, profile, case.memory, timeline=True)
        expected = Machine(case.program, profile).run(memory=case.memory, timeline=True)
        assert fast.certificate.granted, fast.certificate.reason
        assert differences(fast.result, expected) == []
        stalled.add(sum(expected.trace.cycles_by_reason().values()))
    assert len(stalled) > 3
