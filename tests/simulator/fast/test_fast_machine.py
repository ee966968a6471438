"""Whichever engine runs, in whatever order: the same error, of the same element and cycle."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tilewright.simulator.fast.fast_machine import FastMachine
from tilewright.simulator.isa.machine_errors import MachineError
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.text.parsing import parse_program

GRID = """
program grid 3 x 4
color x
color y
code late
  buffer v f32 [8]
  mem1d four v extent 4
  task main entry
    loop i 3
      add k 1
    add k 4
    @fmovs four[k], #0.0
code soon
  buffer v f32 [8]
  mem1d four v extent 4
  task main entry
    {body}
code well
  buffer v f32 [8]
  mem1d four v extent 4
  input_queue 2 x
  fabin in queue 2 extent 4
  task main entry
    @fadds four, four, in
place late [0:1, 0:4]
place soon [1:2, 0:4]
place well [2:3, 0:4]
route x [2:3, 0:3] rx W tx RE
route x [2:3, 3:4] rx W tx R
edge_input xs side W [2:3] color x f32 count {count}
"""
BODIES = {
    "set k 5\n    @fmovs four[k], #0.0": ("(1, 0)", "@fmovs: operand four leaves buffer v"),
    "set k 1\n    k = div.i32 k, j": ("(1, 0)", "div.i32: a division by zero"),
    "load %dsr_src1 1 four single_step\n    @fmovs four, %dsr_src1 1": (
        "(1, 0)",
        "@fmovs: register dsr_src1 1 is loaded with single_step",
    ),
    "@fmovs four, #0.0": ("(0, 0)", "@fmovs: operand four leaves buffer v"),
}


def errors(program: Program, edges: dict[str, object]) -> list[MachineError]:
    """Return the error of every way to run a program."""
    profile = load_profile("wse3-sdk-sim")
    forms = ({}, {"fuse": False}, {"queues": True}, {"interval": 3})
    runs: list[Callable[[], object]] = [
        lambda settings=settings, seed=seed: Machine(program, profile, **settings).run(
            edges=edges, shuffle=seed
        )
        for settings in forms
        for seed in (0, 1, 7)
    ]
    runs.append(lambda: FastMachine(program, profile).run(edges=edges))
    found = []
    for run in runs:
        with pytest.raises(MachineError) as caught:
            run()
        found.append(caught.value)
    return found


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("count", [4, 3])
def test_elements_that_fail(body: str, count: int) -> None:
    """Rows of elements fail together, a part of the grid is well (or waits for a word)."""
    program = parse_program(GRID.format(body=body, count=count), "grid.txt")
    found = errors(program, {"xs": np.zeros((1, count))})
    assert len({str(error) for error in found}) == 1
    element, text = BODIES[body]
    assert f"element {element}, code " in found[0].what
    assert text in found[0].what
    assert found[0].where is not None


DEADLOCK = """
program waiting 2 x 2
color x
code m
  buffer v f32 [4]
  mem1d four v extent 4
  input_queue 2 x
  fabin in queue 2 extent 4
  task main entry
    @fadds four, four, in
place m [0:2, 0:2]
route x [0:2, 0:1] rx W tx RE
route x [0:2, 1:2] rx W tx R
edge_input xs side W [0:2] color x f32 count 3
"""


def test_a_deadlock() -> None:
    found = errors(parse_program(DEADLOCK), {"xs": np.zeros((2, 3))})
    assert len({str(error) for error in found}) == 1


def test_two_wavelets_in_one_cycle() -> None:
    """Both rows of routers have two arrivals in the same cycle: the upper left one is named."""
    text = """
program meeting 2 x 1
color x
code m
  task main
place m [0:2, 0:1]
route x [0:1, 0:1] rx WE tx N
route x [1:2, 0:1] rx WE tx S
edge_input w side W [0:2] color x f32 count 2
edge_input e side E [0:2] color x f32 count 2
edge_output n side N [0:1] color x f32 count 4
edge_output s side S [0:1] color x f32 count 4
"""
    zeros = np.zeros((2, 2))
    found = errors(parse_program(text, "m.txt"), {"w": zeros, "e": zeros})
    text = (
        "cycle 0, element (0, 0): two wavelets of color x arrive in the same cycle from two rx "
        "ports of its router\n  at:      m.txt:7:1\n"
        "  instead: one rx port at a time, or two colors"
    )
    assert {str(error) for error in found} == {text}
