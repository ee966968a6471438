"""What a router takes from its ports: one at a time, and only those of its position."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.simulator.build.program_builder import ProgramBuilder
from tilewright.simulator.isa.machine_errors import DeadlockError, MachineError, ProgramError
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.routes import Area, EdgeInput, EdgeOutput, Position, Switch
from tilewright.simulator.run.machine import Machine

WSE3 = load_profile("wse3-sdk-sim")


def test_two_wavelets_in_one_cycle() -> None:
    b = ProgramBuilder("meeting", 1, 1)
    b.color("x")
    code = b.code("main")
    code.buffer("a", "f32", 2)
    code.mem1d("all", "a", 2)
    code.input_queue(2, "x")
    code.fabin("in", 2, 2)
    code.task("main", entry=True).op("fmovs", "all", "in")
    b.place("main", Area(0, 0))
    b.route("x", Area(0, 0), rx="NW", tx="R")
    b.edge_input(EdgeInput("north", "N", 0, 1, "x", "f32", 1))
    b.edge_input(EdgeInput("west", "W", 0, 1, "x", "f32", 1))
    one = np.ones((1, 1), dtype=np.float32)
    with pytest.raises(MachineError, match=r"cycle 0, element \(0, 0\): two wavelets of color x"):
        Machine(b.build(), WSE3).run(edges={"north": one, "west": one})
    later = ProgramBuilder("passing", 1, 1)
    later.__dict__.update({**b.__dict__, "_edge_inputs": b._edge_inputs[:1]})
    later.edge_input(EdgeInput("west", "W", 0, 1, "x", "f32", 1, start=1))
    result = Machine(later.build(), WSE3).run(edges={"north": one, "west": one * 2})
    assert result.memory["a"].ravel().tolist() == [1, 2]


def test_a_switch_that_does_not_take_from_a_port() -> None:
    b = ProgramBuilder("switch", 1, 1)
    b.color("x")
    code = b.code("main")
    code.buffer("a", "f32", 4)
    code.mem1d("all", "a", 4)
    code.output_queue(3, "x")
    code.fabout("out", 3, 4)
    code.task("main", entry=True).op("fmovs", "out", "all")
    b.place("main", Area(0, 0))
    b.route("x", Area(0, 0), rx="R", tx="E", switch=Switch((Position(rx=("W",)),), current=1))
    b.edge_output(EdgeOutput("y", "E", 0, 1, "x", "f32", 4))
    with pytest.raises(DeadlockError) as caught:
        Machine(b.build(), WSE3).run()
    assert any(
        line.endswith(
            "the router of element (0, 0), color x, from the element: switch position 1 does "
            "not take from there"
        )
        for line in caught.value.waits
    )
    assert "the switch of element (0, 0)" in caught.value.mermaid


def test_neighbour_that_does_not_listen() -> None:
    b = ProgramBuilder("deaf", 1, 2)
    b.color("x")
    code = b.code("main")
    code.task("main")
    b.place("main", Area(0, 0, 1, 2))
    b.route("x", Area(0, 0), rx="W", tx="E")
    with pytest.raises(ProgramError) as caught:
        Machine(b.build(), WSE3)
    assert caught.value.what == (
        "route of color x in [0:1, 0:1]: it leaves element (0, 0) by E, but element (0, 1) does "
        "not take it from W"
    )
