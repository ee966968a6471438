"""Scalar arithmetic on bits against Python's integers and exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.simulator.compile import columns as at
from tilewright.simulator.engine.values.arithmetic import bits_of, f32_of
from tilewright.simulator.engine.values.scalar import (
    on_bits,
    on_floats,
    on_integers,
    scaled,
    wrapped,
)
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.isa.scalars import (
    ADD,
    AND,
    DIV,
    EQ,
    LE,
    LT,
    MAX,
    MIN,
    MUL,
    NE,
    NORM,
    OR,
    SCALE,
    SHL,
    SHR,
    SUB,
    XOR,
)
from tilewright.simulator.profiles.profile import load_profile
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.text.parsing import parse_program

I16 = st.integers(-(1 << 15), (1 << 15) - 1)
I32 = st.integers(-(1 << 31), (1 << 31) - 1)


@numba.njit
def integers(code, left, right):
    return on_integers(code, left, right)


@numba.njit
def wrap(value, dtype):
    return wrapped(value, dtype)


@numba.njit
def floats(code, left, right):
    """Return an f32 operation on f32 values, its bits as an f32."""
    return f32_of(on_floats(code, at.SCALAR_F32, bits_of(left), bits_of(right)))


@numba.njit
def comparison(code, left, right):
    return on_floats(code, at.SCALAR_F32, bits_of(left), bits_of(right))


@numba.njit
def scale(code, value, power):
    return scaled(code, value, power)


@given(I32, I32)
def test_integer_operations(left: int, right: int) -> None:
    expected = {
        ADD: left + right,
        SUB: left - right,
        MUL: left * right,
        MIN: min(left, right),
        MAX: max(left, right),
        LT: int(left < right),
        LE: int(left <= right),
        EQ: int(left == right),
        NE: int(left != right),
        AND: left & right,
        OR: left | right,
        XOR: left ^ right,
        SHL: left << (right & 31),
        SHR: left >> (right & 31),
    }
    for code, value in expected.items():
        assert int(integers(code, left, right)) == value, code
    if right:
        assert int(integers(DIV, left, right)) == math.trunc(Fraction(left, right))


@given(st.integers(-(1 << 40), 1 << 40))
def test_integers_wrap_to_their_dtype(value: int) -> None:
    assert wrap(value, at.SCALAR_I16) == np.int64(value).astype(np.int16)
    assert wrap(value, at.SCALAR_U16) == value % (1 << 16)
    assert wrap(value, at.SCALAR_I32) == np.int64(value).astype(np.int32)
    assert wrap(value, at.SCALAR_U32) == value % (1 << 32)


@given(st.floats(width=32, allow_nan=False), st.floats(width=32, allow_nan=False))
def test_float_operations_are_those_of_ieee(left: float, right: float) -> None:
    a, b = np.float32(left), np.float32(right)
    with np.errstate(all="ignore"):
        for code, expected in ((ADD, a + b), (SUB, a - b), (MUL, a * b), (DIV, a / b)):
            result = floats(code, a, b)
            assert np.isnan(expected) if np.isnan(result) else result == expected
    for code, holds in ((LT, a < b), (LE, a <= b), (EQ, a == b), (NE, a != b)):
        assert comparison(code, a, b) == int(holds)


@pytest.mark.parametrize(("value", "power"), [(1.0, 3), (1.5, -4), (-0.75, 10), (0.0, 7)])
def test_scale_multiplies_by_a_power_of_two(value: float, power: int) -> None:
    assert scale(SCALE, np.float32(value), power & 0xFFFF) == value * 2.0**power
    normed = scale(NORM, np.float32(value), 0)
    assert normed == 0 if value == 0 else 1 <= abs(normed) < 2
    assert math.copysign(1, normed) == math.copysign(1, value)


def test_bits_are_shifted_by_31_at_most() -> None:
    assert on_bits.py_func(SHL, 1, 33) == 2
    assert on_bits.py_func(SHR, -8, 1) == -4


COUNTERS = """program p 1 x 1
code main
  buffer m i32 [1]
  buffer f f32 [1]
  buffer r i32 [6]
  task main entry
    f(0) = from_int.f32 m(0)
    r(0) = to_int.f32 f(0)
    r(1) = to_int.f32 #3e9
    r(2) = to_int.f32 #-inf
    r(3) = to_int.f32 #nan
    k = sub.u32 #0, #1
    r(4) = lt.i32 k, #0
    set k -1
    r(5) = lt.u32 k, #5
place main [0:1, 0:1]
"""


HALVES = """program p 1 x 1
code main
  buffer h f16 [6]
  buffer s f32 [6]
  mem1d hs h extent 6
  mem1d ss s extent 6
  task main entry
    map x from hs to ss as y
      y = from_half.f32 x
place main [0:1, 0:1]
"""


def test_halves_become_floats_exactly() -> None:
    halves = np.array([1.5, -0.0, 6e-8, 65504, np.inf, -np.inf], dtype=np.float16)
    machine = Machine(parse_program(HALVES), load_profile("wse3-sdk-sim"))
    s = machine.run(memory={"h": halves.reshape(1, 1, 6)}).memory["s"][0, 0]
    assert np.array_equal(s, halves.astype(np.float32))
    assert np.signbit(s).tolist() == np.signbit(halves).tolist()
    wrong = HALVES.replace("from_half.f32 x", "add.f32 x, x")
    with pytest.raises(ProgramError, match="argument x is no f32"):
        Machine(parse_program(wrong), load_profile("wse3-sdk-sim"))


def test_floats_become_halves_as_in_numpy() -> None:
    text = HALVES.replace("x from hs to ss", "x from ss to hs").replace(
        "from_half.f32", "to_half.f16"
    )
    singles = np.array([1.0005, -0.0, 1e-9, 65519, 65520, -np.inf], dtype=np.float32)
    machine = Machine(parse_program(text), load_profile("wse3-sdk-sim"))
    h = machine.run(memory={"s": singles.reshape(1, 1, 6)}).memory["h"][0, 0]
    with np.errstate(over="ignore"):
        assert np.array_equal(h, singles.astype(np.float16))


def test_sources_are_read_as_their_dtype_and_conversions_end_at_the_range() -> None:
    machine = Machine(parse_program(COUNTERS), load_profile("wse3-sdk-sim"))
    r = machine.run(memory={"m": np.full((1, 1, 1), -7)}).memory["r"][0, 0]
    assert r.tolist() == [-7, 2**31 - 1, -(2**31), 0, 1, 0]
