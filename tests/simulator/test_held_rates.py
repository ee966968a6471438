"""An operation takes what its registers hold when it starts at the rate of just that."""

from __future__ import annotations

import pytest

from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.text.parsing import parse_program

MEMORY = """
program rates 1 x 1
code m
  buffer v f16 [512]
  buffer w f16 [64]
  mem1d near v extent 64
  mem1d far v extent 64 stride 8
  mem1d same v extent 64 stride 0
  mem1d other w extent 64
  task main entry
{body}
place m [0:1, 0:1]
"""
FABRIC = """
program rates 1 x 1
color x
code m
  buffer v i16 [64]
  mem1d all v extent 64
  output_queue 2 x
  fabout plain queue 2 extent 64
  fabout pairs queue 2 extent 64 simd simd_32
  task main entry
{body}
place m [0:1, 0:1]
route x [0:1, 0:1] rx R tx E
edge_output y side E [0:1] color x u32 count 96
"""


def cycles(text: str, lines: list[str], profile: str) -> int:
    body = "\n".join(f"    {line}" for line in lines)
    program = parse_program(text.format(body=body))
    return Machine(program, load_profile(profile)).run().cycles


@pytest.mark.parametrize("profile", ["wse2-sdk-sim", "wse3-sdk-sim"])
def test_a_register_is_as_slow_as_its_descriptor(profile: str) -> None:
    """A stride takes its time in a register, too: for every descriptor the same more or less."""
    more = {
        cycles(MEMORY, [f"@faddh other, other, {name}"], profile)
        - cycles(MEMORY, [f"load %dsr_src1 1 {name}", "@faddh other, other, %dsr_src1 1"], profile)
        for name in ("near", "far", "same")
    }
    assert len(more) == 1


@pytest.mark.parametrize("profile", ["wse2-sdk-sim", "wse3-sdk-sim"])
@pytest.mark.parametrize("order", ["near far same", "far near far", "same near near", "far same"])
def test_strides(profile: str, order: str) -> None:
    """One register for all descriptors takes as long as a register for each."""
    one, own = [], []
    for number, name in enumerate(order.split()):
        one += [f"load %dsr_src1 1 {name}", "@faddh other, other, %dsr_src1 1"]
        own += [f"load %dsr_src1 {number} {name}", f"@faddh other, other, %dsr_src1 {number}"]
    assert cycles(MEMORY, one, profile) == cycles(MEMORY, own, profile)


@pytest.mark.parametrize("profile", ["wse2-sdk-sim", "wse3-sdk-sim"])
@pytest.mark.parametrize("order", ["plain pairs", "pairs plain"])
def test_simd_modes(profile: str, order: str) -> None:
    one, own = [], []
    for number, name in enumerate(order.split()):
        one += [f"load %dsr_dest 1 {name}", "@mov16 %dsr_dest 1, all"]
        own += [f"load %dsr_dest {number} {name}", f"@mov16 %dsr_dest {number}, all"]
    assert cycles(FABRIC, one, profile) == cycles(FABRIC, own, profile)


def test_two_registers_of_one_operation() -> None:
    loads = [("near", "far"), ("far", "near"), ("same", "same"), ("near", "near")]
    one, own = [], []
    for number, (first, second) in enumerate(loads):
        one += [f"load %dsr_src0 1 {first}", f"load %dsr_src1 1 {second}"]
        own += [f"load %dsr_src0 {number} {first}", f"load %dsr_src1 {number} {second}"]
        one.append("@faddh other, %dsr_src0 1, %dsr_src1 1")
        own.append(f"@faddh other, %dsr_src0 {number}, %dsr_src1 {number}")
    for profile in ("wse2-sdk-sim", "wse3-sdk-sim"):
        assert cycles(MEMORY, one, profile) == cycles(MEMORY, own, profile)


def test_too_many_combinations_are_named() -> None:
    lines = [f"load %dsr_{file} 1 near[{n}]" for n in range(33) for file in ("src0", "src1")]
    with pytest.raises(ProgramError, match="loaded with more than 1024 combinations"):
        cycles(MEMORY, [*lines, "@faddh other, %dsr_src0 1, %dsr_src1 1"], "generic")
