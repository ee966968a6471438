"""Arithmetic of DSD operations on raw bits, with the rounding of the machine.

f16 and f32 round to nearest even, once per value; a fused multiply-add rounds once (wafer.md §4.1).
f16 runs through wider types, which is exact where double rounding is harmless; where it is not, an
intermediate is rounded to odd (Boldo and Melquiond 2008).
"""

from __future__ import annotations

import numpy as np

from tilewright.simulator.compile.columns import (
    O_ARITHMETIC,
    O_TYPE,
    TYPE_F16,
    TYPE_F32,
    TYPE_INT16,
    TYPE_PAIR_F16,
    TYPE_PAIR_INT16,
    Memory,
    Table,
    Word,
)
from tilewright.simulator.engine.jit import (
    FeatureArguments,
    inline_kernel,
    inner_kernel,
    kernel,
    part_kernel,
)
from tilewright.simulator.engine.values.places import OperandBits
from tilewright.simulator.isa.operations import (
    ABS,
    ADD,
    ADD_HS,
    ADD_SH,
    AND,
    CLZ,
    FMA,
    FMA_HS,
    H2S,
    H2X,
    MAX,
    MOVE,
    MUL,
    NEG,
    OR,
    POPCNT,
    S2H,
    S2X,
    SAR,
    SLL,
    SLR,
    SUB,
    X2H,
    XOR,
)


@inline_kernel
def f32_of(bits: int) -> Word:
    """Return the 32-bit float with these bits, an integer."""
    return np.uint32(bits).view(np.float32)


@inline_kernel
def bits_of(value: Word) -> Word:
    """Return the bits of a number, rounded to a 32-bit float, as a non-negative integer."""
    return np.int64(np.float32(value).view(np.uint32))


@kernel
def f16_to_f32(bits: int) -> Word:
    """Return the 32-bit float with the value of a 16-bit float, given by its bits; exact."""
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
    """Round a 32-bit float to the nearest 16-bit float (ties to even); return its bits."""
    bits = bits_of(value)
    sign = (bits >> 16) & 0x8000
    magnitude = bits & 0x7FFFFFFF
    if magnitude > 0x7F800000:
        return sign | 0x7E00 | ((magnitude >> 13) & 0x1FF)
    if magnitude >= 0x477FF000:
        return sign | 0x7C00
    if magnitude >= 0x38800000:
        magnitude += 0xFFF + ((magnitude >> 13) & 1)
        return sign | ((magnitude - 0x38000000) >> 13)
    shift = 126 - (magnitude >> 23)
    if shift > 24 + 1:
        return sign
    mantissa = (magnitude & 0x7FFFFF) | 0x800000
    rounded = mantissa >> shift
    remainder = mantissa - (rounded << shift)
    half = 1 << (shift - 1)
    if remainder > half or (remainder == half and rounded & 1):
        rounded += 1
    return sign | rounded


@kernel
def f64_to_f16(value: float) -> Word:
    """Round a 64-bit float to the nearest 16-bit float (ties to even), once; return its bits.

    It goes through a 32-bit float that is rounded to odd, so that two roundings give the same as
    one.
    """
    single = np.float32(value)
    widened = np.float64(single)
    if widened != value and value == value:  # noqa: PLR0124 (false for NaN)
        bits = bits_of(single)
        if bits & 1 == 0:
            single = f32_of(bits + 1 if abs(widened) < abs(value) else bits - 1)
    return f32_to_f16(single)


@kernel
def fma_f32(addend: int, left: int, right: int) -> Word:
    """Return the bits of the 32-bit float addend + left * right, rounded once.

    The arguments are bits of 32-bit floats, too.
    """
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
    """Apply an operation to 32-bit floats given by their bits; return the bits of the result.

    arithmetic: FMA (a + b * scalar), ADD, MUL, SUB or MAX; only FMA uses the scalar.
    """
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
    """Apply an operation to 16-bit floats given by their bits; return the bits of the result.

    arithmetic: FMA (a + b * scalar), ADD, MUL, SUB or MAX, rounded once to nearest even; only FMA
    uses the scalar.
    """
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
def count_bits(arithmetic: int, value: int) -> Word:
    """Count bits of a 16-bit value: leading zeros (CLZ), ones (POPCNT), or trailing zeros.

    arithmetic: CLZ, POPCNT, or anything else for trailing zeros. 0 has 16 leading and 16 trailing
    zeros.
    """
    ones = leading = trailing = 0
    for i in range(16):
        ones += value >> i & 1
        if value >> i == 0:
            leading += 1
        if value & ((1 << (i + 1)) - 1) == 0:
            trailing += 1
    if arithmetic == POPCNT:
        return ones
    return leading if arithmetic == CLZ else trailing


@kernel
def combine_bits(arithmetic: int, a: int, b: int) -> Word:
    """Apply AND, OR, XOR or a shift (SLL, SLR, SAR) to 16-bit values; return 16 bits.

    A shift by more than 16 is a shift by 16; SAR keeps the sign.
    """
    if arithmetic == AND:
        return a & b
    if arithmetic == OR:
        return a | b
    if arithmetic == XOR:
        return a ^ b
    shift = min(b, 16)
    if arithmetic == SLL:
        return (a << shift) & 0xFFFF
    if arithmetic == SLR:
        return a >> shift
    return (((a ^ 0x8000) - 0x8000) >> shift) & 0xFFFF


@kernel
def to_int16(value: float) -> Word:
    """Convert a float to the bits of a signed 16-bit integer, truncated towards zero.

    Values beyond the range give its end (40000.0 gives 32767), NaN gives 0.
    """
    if value != value:  # noqa: PLR0124 (true for NaN)
        return 0
    return np.int64(min(max(np.float64(value), -32768.0), 32767.0)) & 0xFFFF


@kernel
def convert(arithmetic: int, a: int) -> Word:
    """Convert one value, given by its bits, between f16, f32 and i16; return the new bits.

    arithmetic: H2S, S2H, H2X, S2X, X2H or X2S, where H is f16, S f32 and X i16.
    """
    if arithmetic == H2S:
        return bits_of(f16_to_f32(a & 0xFFFF))
    if arithmetic == S2H:
        return f32_to_f16(f32_of(a))
    if arithmetic == H2X:
        return to_int16(f16_to_f32(a & 0xFFFF))
    if arithmetic == S2X:
        return to_int16(f32_of(a))
    number = np.float32(((a & 0xFFFF) ^ 0x8000) - 0x8000)
    return f32_to_f16(number) if arithmetic == X2H else bits_of(number)


@kernel
def combine_uncommon(arithmetic: int, a: int, b: int, scalar: int) -> Word:
    """Apply a bit operation, bit count, conversion or sum of mixed floats to one value per source.

    a, b, scalar: bits of the values of both sources and of the scalar. The mixed sums: f16 + f32,
    f32 + f16, and f32 a + f16 b * f16 scalar, where the product is an f32. Returns the bits of the
    result.
    """
    if arithmetic <= SAR:
        return combine_bits(arithmetic, a & 0xFFFF, b & 0xFFFF)
    if arithmetic <= POPCNT:
        return count_bits(arithmetic, a & 0xFFFF)
    if arithmetic < FMA_HS:
        return convert(arithmetic, a)
    if arithmetic == ADD_HS:
        return bits_of(f16_to_f32(a & 0xFFFF) + f32_of(b))
    if arithmetic == ADD_SH:
        return bits_of(f32_of(a) + f16_to_f32(b & 0xFFFF))
    product = f16_to_f32(b & 0xFFFF) * f16_to_f32(scalar & 0xFFFF)
    return bits_of(f32_of(a) + np.float32(product))


@part_kernel
def combine_plain(arithmetic: int, value_type: int, operands: OperandBits) -> Word:
    """Apply a plain operation (`is_plain`) to one value of each source; return the result's bits.

    Plain are moves, f32 operations, and sums and differences of 16-bit integers. operands: bits;
    value_type: one of TYPE_F32, TYPE_INT16, TYPE_INT32, TYPE_F16 and, for a move, of pairs.
    """
    a, b, scalar = operands
    if arithmetic == MOVE:
        return a
    if value_type == TYPE_F32:
        return combine_f32(arithmetic, a, b, scalar)
    return (a + b if arithmetic == ADD else a - b) & 0xFFFF


@inline_kernel
def is_plain(arithmetic: int, value_type: int) -> Word:
    """Return whether an operation is a move, an f32 operation, or a sum or difference of integers.

    These are compiled into the kernels that every program runs; others are called by address.
    """
    if arithmetic <= ADD:
        return value_type < TYPE_F16 or arithmetic == MOVE
    if arithmetic == SUB:
        return value_type < TYPE_F16
    return value_type == TYPE_F32 and arithmetic <= MAX


@kernel
def combine(arithmetic: int, value_type: int, operands: OperandBits) -> Word:
    """Apply an operation to one value, or pair, of each source: `a op b`, for fma a + b * scalar.

    operands: bits of both sources and of the scalar; value_type: of `TYPE_...`. Returns the bits of
    the result.
    """
    if value_type < TYPE_PAIR_INT16:
        return combine_value(arithmetic, value_type, operands)
    each = TYPE_F16 if value_type == TYPE_PAIR_F16 else TYPE_INT16
    a, b, scalar = operands
    low = combine_value(arithmetic, each, OperandBits(a & 0xFFFF, b & 0xFFFF, scalar))
    high = combine_value(arithmetic, each, OperandBits(a >> 16 & 0xFFFF, b >> 16 & 0xFFFF, scalar))
    return low | high << 16


@kernel
def combine_value(arithmetic: int, value_type: int, operands: OperandBits) -> Word:
    """Apply an operation to one value of each source, as `combine` does; no pairs."""
    if is_plain(arithmetic, value_type):
        return combine_plain(arithmetic, value_type, operands)
    a, b, scalar = operands
    if arithmetic in (NEG, ABS):
        sign = 0x80000000 if value_type == TYPE_F32 else 0x8000
        return a ^ sign if arithmetic == NEG else a & (sign - 1)
    if value_type == TYPE_F16 and arithmetic <= MAX:
        return combine_f16(arithmetic, a, b, scalar)
    return combine_uncommon(arithmetic, a & 0xFFFFFFFF, b, scalar)


@inner_kernel
def uncommon_value(store: Table, memory: Memory, arguments: FeatureArguments) -> Word:  # noqa: ARG001
    """Apply an operation that is not plain to one value of each source; return the result's bits.

    `arguments` are (address of the operation, bits of the first source, of the second, of the
    scalar).
    """
    op, a, b, scalar = arguments
    return combine(store[op + O_ARITHMETIC], store[op + O_TYPE], OperandBits(a, b, scalar))
