"""Arithmetic on bits against exact rational arithmetic and numpy."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.simulator.engine.layout import TYPE_F16, TYPE_F32, TYPE_INT16
from tilewright.simulator.engine.values import combine, f16_to_f32, f32_to_f16, fma_f32
from tilewright.simulator.operations import ADD, FMA, MUL, SUB

F32 = st.floats(width=32, allow_nan=False, allow_infinity=False)
F16 = st.floats(width=16, allow_nan=False, allow_infinity=False)


def bits32(value: float) -> int:
    return int(np.float32(value).view(np.uint32))


def bits16(value: float) -> int:
    return int(np.float16(value).view(np.uint16))


def round_to(value: Fraction, precision: int, lowest: int, largest: Fraction) -> Fraction | None:
    """Round to nearest even with `precision` bits and exponents from `lowest`; None: overflow."""
    if value == 0:
        return value
    sign, size = (-1, -value) if value < 0 else (1, value)
    exponent = lowest
    while size >= Fraction(2) ** (exponent + precision):
        exponent += 1
    unit = Fraction(2) ** exponent
    steps = size / unit
    whole = steps.numerator // steps.denominator
    rest = steps - whole
    whole += rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1)
    rounded = whole * unit
    return None if rounded > largest else sign * rounded


@given(F32, F32, F32)
def test_fma_f32_rounds_once(a: float, b: float, c: float) -> None:
    largest = Fraction(float(np.finfo(np.float32).max))
    exact = Fraction(a) + Fraction(b) * Fraction(c)
    expected = round_to(exact, 24, -149, largest)
    found = np.uint32(fma_f32(bits32(a), bits32(b), bits32(c))).view(np.float32)
    if expected is None:
        assert np.isinf(found)
    else:
        assert Fraction(float(found)) == expected


def test_fma_f32_where_two_roundings_differ() -> None:
    """1 + 2^-24 + 2^-60: rounding to f64 first loses what decides the tie."""
    left, right = np.float32(1 + 2**-12), np.float32(1 - 2**-12)
    addend = np.float32(2**-24 + 2**-47)
    exact = Fraction(float(addend)) + Fraction(float(left)) * Fraction(float(right))
    found = np.uint32(fma_f32(bits32(addend), bits32(left), bits32(right))).view(np.float32)
    assert Fraction(float(found)) == round_to(exact, 24, -149, Fraction(2) ** 127)
    tiny = fma_f32(bits32(2.0**-60), bits32(1 + 2**-23), bits32(0.5 + 2**-23))
    product = (1 + Fraction(2) ** -23) * (Fraction(1, 2) + Fraction(2) ** -23)
    expected = round_to(product + Fraction(2) ** -60, 24, -149, Fraction(2) ** 127)
    assert Fraction(float(np.uint32(tiny).view(np.float32))) == expected


@given(F16, F16, F16)
def test_fma_f16_rounds_once(a: float, b: float, c: float) -> None:
    exact = Fraction(a) + Fraction(b) * Fraction(c)
    expected = round_to(exact, 11, -24, Fraction(65504))
    found = np.uint16(combine(FMA, TYPE_F16, (bits16(a), bits16(b), bits16(c)))).view(np.float16)
    if expected is None:
        assert np.isinf(found)
    else:
        assert Fraction(float(found)) == expected


@pytest.mark.parametrize("bits", [0, 1, 0x3FF, 0x400, 0x3C00, 0x7BFF, 0x7C00, 0x8001, 0xFC00])
def test_f16_to_f32_edges(bits: int) -> None:
    assert f16_to_f32(bits) == np.uint16(bits).view(np.float16).astype(np.float32)


def test_every_finite_f16_survives_the_way_through_f32() -> None:
    patterns = [b for b in range(1 << 16) if b & 0x7C00 != 0x7C00]
    assert [f32_to_f16(f16_to_f32(bits)) for bits in patterns] == patterns


@given(F32)
def test_f32_to_f16_rounds_like_numpy(value: float) -> None:
    with np.errstate(over="ignore", under="ignore"):
        expected = int(np.float32(value).astype(np.float16).view(np.uint16))
    assert f32_to_f16(np.float32(value)) == expected


@pytest.mark.parametrize(("code", "ufunc"), [(ADD, np.add), (SUB, np.subtract), (MUL, np.multiply)])
@given(pair=st.tuples(F32, F32), half=st.tuples(F16, F16))
def test_two_operand_arithmetic_equals_numpy(
    code: int, ufunc: np.ufunc, pair: tuple[float, float], half: tuple[float, float]
) -> None:
    with np.errstate(all="ignore"):
        expected = bits32(ufunc(np.float32(pair[0]), np.float32(pair[1])))
        small = bits16(ufunc(np.float16(half[0]), np.float16(half[1])))
    assert combine(code, TYPE_F32, (bits32(pair[0]), bits32(pair[1]), 0)) == expected
    assert combine(code, TYPE_F16, (bits16(half[0]), bits16(half[1]), 0)) == small


@given(st.integers(0, 65535), st.integers(0, 65535))
def test_int16_wraps(a: int, b: int) -> None:
    assert combine(ADD, TYPE_INT16, (a, b, 0)) == (a + b) % 65536
    assert combine(SUB, TYPE_INT16, (a, b, 0)) == (a - b) % 65536
