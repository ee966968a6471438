"""Arithmetic of DSD operations on raw bits, with the rounding of the machine.

f16 and f32 round to nearest even, once per element; a fused multiply-add rounds once
(wse.md §1.5). f16 runs through wider types, which is exact where double rounding is harmless;
where it is not, an intermediate is rounded to odd (Boldo and Melquiond 2008).
"""

from __future__ import annotations

import numpy as np

from tilewright.simulator.engine.jit import inline_kernel, kernel
from tilewright.simulator.engine.layout import TYPE_F16, TYPE_F32, Word
from tilewright.simulator.operations import ABS, ADD, FMA, MOVE, MUL, NEG, SUB


@inline_kernel
def f32_of(bits: int) -> Word:
    """Return the f32 with these bits."""
    return np.uint32(bits).view(np.float32)


@inline_kernel
def bits_of(value: Word) -> Word:
    """Return the bits of an f32."""
    return np.int64(np.float32(value).view(np.uint32))


@kernel
def f16_to_f32(bits: int) -> Word:
    """Widen f16 bits, exactly."""
    sign = (bits & 0x8000) << 16
    exponent = (bits >> 10) & 0x1F
    fraction = bits & 0x3FF
    if exponent == 0x1F:
        return f32_of(sign | 0x7F800000 | (fraction << 13))
    if exponent == 0:
        small = np.float32(fraction) * np.float32(2.0**-24)
        return np.float32(-small) if sign else small
    return f32_of(sign | ((exponent + 112) << 23) | (fraction << 13))


@kernel
def f32_to_f16(value: Word) -> Word:
    """Round an f32 to f16 bits, to nearest even."""
    bits = bits_of(value)
    sign = (bits >> 16) & 0x8000
    rest = bits & 0x7FFFFFFF
    if rest > 0x7F800000:
        return sign | 0x7E00 | ((rest >> 13) & 0x1FF)
    if rest >= 0x477FF000:
        return sign | 0x7C00
    if rest >= 0x38800000:
        rest += 0xFFF + ((rest >> 13) & 1)
        return sign | ((rest - 0x38000000) >> 13)
    shift = 126 - (rest >> 23)
    if shift > 24 + 1:
        return sign
    mantissa = (rest & 0x7FFFFF) | 0x800000
    kept = mantissa >> shift
    lost = mantissa - (kept << shift)
    half = 1 << (shift - 1)
    if lost > half or (lost == half and kept & 1):
        kept += 1
    return sign | kept


@kernel
def f64_to_f16(value: float) -> Word:
    """Round an f64 to f16 bits once: through an f32 rounded to odd."""
    near = np.float32(value)
    wide = np.float64(near)
    if wide != value and value == value:  # noqa: PLR0124 (false for NaN)
        bits = bits_of(near)
        if bits & 1 == 0:
            near = f32_of(bits + 1 if abs(wide) < abs(value) else bits - 1)
    return f32_to_f16(near)


@kernel
def fma_f32(addend: int, left: int, right: int) -> Word:
    """Return the bits of addend + left * right, rounded once."""
    product = np.float64(f32_of(left)) * np.float64(f32_of(right))
    base = np.float64(f32_of(addend))
    total = product + base
    back = total - product
    error = (product - (total - back)) + (base - back)
    if error != 0.0 and abs(error) < abs(total):
        bits = np.float64(total).view(np.int64)
        if bits & 1 == 0:
            outward = (error > 0.0) == (total > 0.0)
            total = np.int64(bits + 1 if outward else bits - 1).view(np.float64)
    return bits_of(np.float32(total))


@kernel
def combine_f32(arithmetic: int, a: int, b: int, scalar: int) -> Word:
    """Return the bits of one f32 element."""
    if arithmetic == FMA:
        return fma_f32(a, b, scalar)
    x = f32_of(a)
    y = f32_of(b)
    if arithmetic == ADD:
        return bits_of(x + y)
    if arithmetic == MUL:
        return bits_of(x * y)
    if arithmetic == SUB:
        return bits_of(x - y)
    return bits_of(max(x, y))


@kernel
def combine_f16(arithmetic: int, a: int, b: int, scalar: int) -> Word:
    """Return the bits of one f16 element."""
    x = f16_to_f32(a)
    y = f16_to_f32(b)
    if arithmetic == FMA:
        product = np.float64(y) * np.float64(f16_to_f32(scalar))
        return f64_to_f16(product + np.float64(x))
    if arithmetic == ADD:
        return f32_to_f16(x + y)
    if arithmetic == MUL:
        return f32_to_f16(x * y)
    if arithmetic == SUB:
        return f32_to_f16(x - y)
    return f32_to_f16(max(x, y))


@kernel
def combine(arithmetic: int, kind: int, operands: tuple[int, int, int]) -> Word:
    """Return the bits of `a op b` (fma: a + b * scalar) for one element."""
    a, b, scalar = operands
    if arithmetic == MOVE:
        return a
    if arithmetic in (NEG, ABS):
        sign = 0x80000000 if kind == TYPE_F32 else 0x8000
        return a ^ sign if arithmetic == NEG else a & (sign - 1)
    if kind == TYPE_F32:
        return combine_f32(arithmetic, a, b, scalar)
    if kind == TYPE_F16:
        return combine_f16(arithmetic, a, b, scalar)
    return (a + b if arithmetic == ADD else a - b) & 0xFFFF
