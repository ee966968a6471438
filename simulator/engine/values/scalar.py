"""Scalar instructions on counters and elements of buffers.

A counter holds an integer, or the bits of a float; a result is rounded to the dtype once.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.columns import Memory, Table, Word
from tilewright.simulator.engine.jit import inner_kernel
from tilewright.simulator.engine.operation_steps import fail, start_of
from tilewright.simulator.engine.values.arithmetic import (
    bits_of,
    f16_to_f32,
    f32_of,
    f32_to_f16,
    f64_to_f16,
)
from tilewright.simulator.engine.values.memory_words import read_word, write_word
from tilewright.simulator.isa.scalars import (
    ADD,
    AND,
    DIV,
    EQ,
    FROM_HALF,
    FROM_INT,
    LE,
    LT,
    MAX,
    MIN,
    MOV,
    MUL,
    NE,
    NORM,
    OR,
    SHL,
    SHR,
    SQRT,
    SUB,
    TO_HALF,
    TO_INT,
    XOR,
)

MANTISSA_BITS: Final = 52
EXPONENT: Final = 0x7FF << MANTISSA_BITS
EXPONENT_OF_ONE: Final = 0x3FF << MANTISSA_BITS
"""Fields of the bits of an f64; the functions frexp and ldexp would need numba at run time."""


@inner_kernel
def wrapped(value: int, dtype: int) -> Word:
    """Return an integer as a dtype holds it: cut to 16 or 32 bits, with or without a sign.

    dtype: SCALAR_...; 40000 as i16 gives -25536. Floats keep their bits.
    """
    if dtype == at.SCALAR_I16:
        return ((value + 0x8000) & 0xFFFF) - 0x8000
    if dtype in (at.SCALAR_U16, at.SCALAR_F16):
        return value & 0xFFFF
    if dtype == at.SCALAR_I32:
        return ((value + 0x80000000) & 0xFFFFFFFF) - 0x80000000
    return value & 0xFFFFFFFF


@inner_kernel
def compare(code: int, left: float, right: float) -> Word:
    """Return 1 if a comparison holds, 0 if not, -1 if `code` is no comparison.

    code: LT, LE, EQ or NE, of left with right.
    """
    if code == LT:
        return 1 if left < right else 0
    if code == LE:
        return 1 if left <= right else 0
    if code == EQ:
        return 1 if left == right else 0
    if code == NE:
        return 1 if left != right else 0
    return -1


@inner_kernel
def float_result(code: int, x: Word, y: Word) -> Word:
    """Return the result of an operation on two 32-bit floats, rounded once.

    code: ADD, SUB, MUL, DIV, MIN, MAX, SQRT (of x); anything else gives x.
    """
    if code == ADD:
        return x + y
    if code == SUB:
        return x - y
    if code == MUL:
        return x * y
    if code == DIV:
        return float_quotient(x, y)
    if code in (MIN, MAX):
        return min(x, y) if code == MIN else max(x, y)
    return np.sqrt(x) if code == SQRT else x


@inner_kernel
def float_quotient(x: Word, y: Word) -> Word:
    """Return x / y for floats; a division by zero gives infinity or NaN, as in IEEE 754."""
    if y != 0.0:
        return x / y
    if x == 0.0 or x != x:  # noqa: PLR0124 (true for NaN)
        return np.float32(np.nan)
    # 1 / y is a division by zero in compiled code, the sign of y is not
    signs = np.copysign(np.float32(1.0), x) * np.copysign(np.float32(1.0), y)
    return signs * np.float32(np.inf)


@inner_kernel
def scaled(code: int, x: Word, power_bits: int) -> Word:
    """Return x * 2^power exactly, as a 64-bit float.

    power_bits: a signed 16-bit integer. For code NORM the power is the one with 1 <= |result| < 2;
    zero, infinity and NaN stay.
    """
    wide = np.float64(x)  # every f32 is zero, a normal f64, infinite or NaN
    if code == NORM:
        if not 0.0 < abs(wide) < np.inf:
            return wide
        return np.int64((wide.view(np.int64) & ~EXPONENT) | EXPONENT_OF_ONE).view(np.float64)
    # beyond 400 every f32 is zero or infinite
    power = min(max(((power_bits & 0xFFFF) ^ 0x8000) - 0x8000, -400), 400)
    return wide * np.int64(EXPONENT_OF_ONE + (power << MANTISSA_BITS)).view(np.float64)


@inner_kernel
def to_int32(value: Word) -> Word:
    """Convert a float to a signed 32-bit integer, truncated towards zero.

    Values beyond the range give its end, NaN gives 0: as operations convert to 16 bits.
    """
    if value != value:  # noqa: PLR0124 (true for NaN)
        return 0
    return np.int64(min(max(np.float64(value), -2147483648.0), 2147483647.0))


@inner_kernel
def on_floats(code: int, dtype: int, left: int, right: int) -> Word:
    """Do a scalar operation on two floats given by their bits; return the bits of the result.

    dtype: SCALAR_F32 or SCALAR_F16. A comparison gives 1 or 0, TO_INT an integer; FROM_INT takes
    one, FROM_HALF an f16, and TO_HALF an f32.
    """
    half = dtype == at.SCALAR_F16
    if code == FROM_INT:
        number = np.float32(left)
        return f32_to_f16(number) if half else bits_of(number)
    if code == FROM_HALF:
        return left if half else bits_of(f16_to_f32(left))
    if code == TO_HALF:
        return f32_to_f16(f32_of(left)) if half else left
    x = f16_to_f32(left) if half else f32_of(left)
    y = f16_to_f32(right) if half else f32_of(right)
    if code == TO_INT:
        return to_int32(x)
    if code >= NORM:
        exact = scaled(code, x, right)
        return f64_to_f16(exact) if half else bits_of(np.float32(exact))
    comparison = compare(code, x, y)
    if comparison >= 0:
        return comparison
    result = np.float32(float_result(code, x, y))
    return f32_to_f16(result) if half else bits_of(result)


@inner_kernel
def on_bits(code: int, left: int, right: int) -> Word:
    """Do AND, OR, XOR or a shift (SHL, else right) on two integers; return the result.

    A shift is by the lower five bits of `right`, 0 to 31.
    """
    if code == AND:
        return left & right
    if code == OR:
        return left | right
    if code == XOR:
        return left ^ right
    if code == SHL:
        return left << (right & 31)
    return left >> (right & 31)


@inner_kernel
def on_integers(code: int, left: int, right: int) -> Word:
    """Do a scalar operation on two integers; a comparison gives 1 or 0.

    Division truncates to zero; division by 0, which is refused before, gives 0.
    """
    if code == ADD:
        return left + right
    if code == SUB:
        return left - right
    if code == MUL:
        return left * right
    if code == DIV:
        size = 0 if right == 0 else abs(left) // abs(right)
        return size if (left < 0) == (right < 0) else -size
    if code in (MIN, MAX):
        return min(left, right) if code == MIN else max(left, right)
    comparison = compare(code, left, right)
    return comparison if comparison >= 0 else on_bits(code, left, right)


@inner_kernel
def scalar_value(store: Table, memory: Memory, element: int, column: int, dtype: int) -> Word:
    """Return the value of a source of a scalar instruction: a number, a counter or from memory.

    column: address of the source's kind, which its number follows. A counter counts as the dtype
    holds its bits: -1 as u32 is 4294967295. Floats are given by their bits.
    """
    kind, value = store[column], store[column + 1]
    if kind == at.NUMBER:
        return value
    if kind == at.COUNTER_VALUE:
        return wrapped(store[store[element + at.E_VARIABLES] + value], dtype)
    position = start_of(store, element, value)
    if position < 0:
        return 0
    store[value + at.D_READS] += 1
    return wrapped(read_word(memory, position, store[value + at.D_WIDE]), dtype)


@inner_kernel
def undefined(code: int, dtype: int, right: int) -> Word:
    """Return the run's error of a scalar operation, OK if it is defined.

    right: value of its second source. Undefined are, on integers, a division by zero and a shift by
    less than 0 or by the bits of the dtype or more.
    """
    if dtype in (at.SCALAR_F32, at.SCALAR_F16):
        return at.OK
    if code == DIV and right == 0:
        return at.ERROR_DIVISION
    bits = 16 if dtype in (at.SCALAR_I16, at.SCALAR_U16) else 32
    return at.ERROR_SHIFT if code in (SHL, SHR) and (right < 0 or right >= bits) else at.OK


@inner_kernel
def first_type(code: int, dtype: int) -> Word:
    """Return the dtype of the first source of a scalar operation on a dtype: SCALAR_..."""
    if code == FROM_INT:
        return at.SCALAR_I32
    if code == FROM_HALF:
        return at.SCALAR_F16
    return at.SCALAR_F32 if code == TO_HALF else dtype


@inner_kernel
def result_of(code: int, dtype: int, left: int, right: int) -> Word:
    """Do a scalar operation that is defined on the values of its sources; return the result."""
    if code == MOV:
        return wrapped(left, dtype)
    if dtype in (at.SCALAR_F32, at.SCALAR_F16):
        return on_floats(code, dtype, left, right)
    return wrapped(on_integers(code, left, right), dtype)


@inner_kernel
def compute(store: Table, memory: Memory, element: int, row: int) -> Word:
    """Do a scalar instruction of a processing element: write the result to a counter or memory.

    row: address of the scalar operation. Counters are named integers of the processing element;
    they hold an integer or the bits of a float. An undefined operation is an error of the run.
    Returns the instruction's cycles, more for operands in memory.
    """
    cycles = store[at.K_SCALAR]
    for operand in (at.U_DEST, at.U_LEFT, at.U_RIGHT):
        if store[row + operand] == at.ELEMENT:
            cycles += store[at.K_SCALAR_OPERAND]
            store[element + at.E_INTERLOCK] += max(0, store[at.K_SCALAR_OPERAND] - 1)
    code, dtype = store[row + at.U_CODE], store[row + at.U_TYPE]
    source = first_type(code, dtype)
    left = scalar_value(store, memory, element, row + at.U_LEFT, source)
    right = scalar_value(store, memory, element, row + at.U_RIGHT, dtype)
    error = undefined(code, dtype, right)
    if error != at.OK:
        fail(store, error, element, row, right)
        return cycles
    result = result_of(code, dtype, left, right)
    target = store[row + at.U_DEST_VALUE]
    if store[row + at.U_DEST] == at.COUNTER_VALUE:
        store[store[element + at.E_VARIABLES] + target] = result
        return cycles
    position = start_of(store, element, target)
    if position >= 0:
        store[target + at.D_WRITES] += 1
        wide = store[target + at.D_WIDE]
        write_word(memory, position, wide, result & (0xFFFFFFFF if wide == 2 else 0xFFFF))
    return cycles
