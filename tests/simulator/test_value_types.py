"""Values are taken as what they are: dtypes of registers, of arguments, and in `@map`."""

from __future__ import annotations

import itertools

import pytest

from tilewright.simulator.isa.machine_errors import MachineError, ProgramError
from tilewright.simulator.isa.number_types import DTYPES
from tilewright.simulator.isa.operations import OPERATIONS
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.text.parsing import parse_program

WSE3 = load_profile("wse3-sdk-sim")
REGISTER = """
program held 1 x 1
code m
  buffer a {dtype} [8]
  buffer b {other} [8]
  mem1d A a extent 4
  mem1d B b extent 4
  task main entry
    load %dsr_dest 1 {first}
    load %dsr_dest 1 {second}
    @{operation} %dsr_dest 1, #2
place m [0:1, 0:1]
"""


@pytest.mark.parametrize("operation", ["fmovs", "fmovh", "mov16", "mov32"])
def test_a_register_holds_what_the_operation_takes(operation: str) -> None:
    """Refused when no load fits; a run-time error when the one that is in force does not."""
    legal = OPERATIONS[operation].dtypes
    for dtype, other in itertools.product(DTYPES, DTYPES):
        names = {"dtype": dtype, "other": other, "operation": operation}
        text = REGISTER.format(first="B", second="A", **names)
        if dtype in legal:
            Machine(parse_program(text), WSE3).run()
            continue
        expected = MachineError if other in legal else ProgramError
        with pytest.raises(expected, match=rf"@{operation}: register dsr_dest 1 holds") as caught:
            Machine(parse_program(text), WSE3).run()
        assert "dtype" in caught.value.what


MAPPED = """
program mapped 1 x 1
code m
  buffer a {taken} [4]
  buffer b {given} [4]
  mem1d A a extent 4
  mem1d B b extent 4
  task main entry
    map x from A to B as y
      y = add.{dtype} x, #1
place m [0:1, 0:1]
"""


def test_a_map_takes_no_value_for_a_float_of_another_size() -> None:
    floats = {"f32", "f16"}
    for taken, given, dtype in itertools.product(DTYPES, repeat=3):
        pairs = [(taken, dtype), (given, dtype)]
        bad = any(DTYPES[a] != DTYPES[b] and floats & {a, b} for a, b in pairs)
        text = MAPPED.format(taken=taken, given=given, dtype=dtype)
        if not bad:
            Machine(parse_program(text), WSE3).run()
            continue
        with pytest.raises(ProgramError, match=r"@map.*(argument x is no|the output takes)"):
            Machine(parse_program(text), WSE3)


SIMD_MAP = """
program simd_map 1 x 1
color x
code m
  buffer o u16 [4]
  mem1d O o extent 4
  input_queue 2 x
  fabin in queue 2 extent 4 simd simd_32
  task main entry
    {body}
      c = mov.u16 a
place m [0:1, 0:1]
route x [0:1, 0:1] rx N tx R
edge_input xs side N [0:1] color x u32 count 2
"""


@pytest.mark.parametrize(
    "body",
    [
        "map a from in to O as c",
        "load %dsr_src1 1 in single_step\n    map a from %dsr_src1 1 to O as c",
    ],
)
def test_a_map_over_simd_wavelets_is_refused(body: str) -> None:
    with pytest.raises(ProgramError, match="the callback of a map takes one value, a wavelet of"):
        Machine(parse_program(SIMD_MAP.format(body=body)), WSE3)


def test_an_argument_of_a_task_is_what_it_says() -> None:
    text = """
program arguments 1 x 1
color x
code m
  buffer o f32 [4]
  input_queue 2 x
  task t queue 2 a:f16 b:i16
    o(0) = add.f32 a, #1.0
place m [0:1, 0:1]
route x [0:1, 0:1] rx N tx R
edge_input xs side N [0:1] color x u32 count 1
"""
    with pytest.raises(ProgramError, match="task t, add: argument a is no f32"):
        Machine(parse_program(text), WSE3)
