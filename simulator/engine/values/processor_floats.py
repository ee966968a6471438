"""Arithmetic of f32 and f16 by instructions of the processor on which the kernels run.

They round as `arithmetic.py` does, which is their slow twin: IEEE 754, to nearest even, once. Which
NaN comes of two is left to the processor. One without the instructions, and kernels as plain
Python, take the twin.
"""

from __future__ import annotations

from typing import Any, Final, cast

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils, config
from numba.extending import intrinsic

from tilewright.simulator.compile.columns import Memory, Word
from tilewright.simulator.engine.jit import ARGUMENTS, UNJITTED, inline_kernel
from tilewright.simulator.engine.values.arithmetic import (
    bits_of,
    f16_to_f32,
    f32_of,
    f32_to_f16,
    fma_f32,
)
from tilewright.simulator.engine.values.memory_words import read_word, write_word
from tilewright.simulator.isa.operations import ADD, FMA, MUL, SUB

_types: Any = types  # numba's classes have no annotations
_FEATURES: Final = llvm.get_host_cpu_features()
_config: Any = config
_IS_FOR_HOST: Final = _config.CPU_NAME in (None, "host") and _config.CPU_FEATURES is None
IS_NATIVE: Final = not UNJITTED and _IS_FOR_HOST and all(map(_FEATURES.get, ("f16c", "fma")))
"""Whether the processor's own instructions are used; NUMBA_CPU_NAME may ask for none."""
STICKY: Final = 29
"""Bits by which a 64-bit float is more precise than a 32-bit one."""


def _widen(typing: Any, bits: Any) -> Any:  # noqa: ARG001
    """Return the 32-bit float with the value of a 16-bit float, given by its bits."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        half = builder.bitcast(builder.trunc(arguments[0], ir.IntType(16)), ir.HalfType())
        return builder.fpext(half, ir.FloatType())

    return types.float32(types.int64), generate


def _narrow(typing: Any, value: Any) -> Any:  # noqa: ARG001
    """Return the bits of a 32-bit float, rounded to a 16-bit float."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        half = builder.fptrunc(arguments[0], ir.HalfType())
        return builder.zext(builder.bitcast(half, ir.IntType(16)), ir.IntType(64))

    return types.int64(types.float32), generate


def _fuse(typing: Any, left: Any, right: Any, addend: Any) -> Any:  # noqa: ARG001
    """Return left * right + addend of 32-bit floats, rounded once."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    single = types.float32
    return single(single, single, single), generate


def _half_word(context: Any, builder: Any, memory: Any, position: Any) -> Any:
    """Return a pointer to a 16-bit word of the memory of all elements."""
    array = context.make_array(ARGUMENTS[1])(context, builder, memory)
    words = builder.bitcast(array.data, ir.IntType(16).as_pointer())
    return cast(Any, cgutils).gep_inbounds(builder, words, position)


def _load(typing: Any, memory: Any, position: Any) -> Any:  # noqa: ARG001
    """Return a 16-bit word of the memory of all elements."""

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        word = builder.load(_half_word(context, builder, *arguments))
        return builder.zext(word, ir.IntType(64))

    return types.int64(ARGUMENTS[1], types.int64), generate


def _store(typing: Any, memory: Any, position: Any, bits: Any) -> Any:  # noqa: ARG001
    """Write a 16-bit word of the memory of all elements."""

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        memory, position, bits = arguments
        word = builder.trunc(bits, ir.IntType(16))
        builder.store(word, _half_word(context, builder, memory, position))
        return context.get_dummy_value()

    return types.void(ARGUMENTS[1], types.int64, types.int64), generate


def _plain_load(memory: Memory, position: int) -> Word:
    return read_word(memory, position, 1)


def _plain_store(memory: Memory, position: int, bits: int) -> None:
    write_word(memory, position, 1, bits)


def _plain_fuse(left: Word, right: Word, addend: Word) -> Word:
    return f32_of(fma_f32(bits_of(addend), bits_of(left), bits_of(right)))


_load_native: Any = intrinsic(_load)
_store_native: Any = intrinsic(_store)
_widen_native: Any = intrinsic(_widen)
_narrow_native: Any = intrinsic(_narrow)
_fuse_native: Any = intrinsic(_fuse)

load_half: Any = _load_native if IS_NATIVE else inline_kernel(_plain_load)
store_half: Any = _store_native if IS_NATIVE else inline_kernel(_plain_store)
half_value: Any = _widen_native if IS_NATIVE else f16_to_f32
half_bits: Any = _narrow_native if IS_NATIVE else f32_to_f16
fused: Any = _fuse_native if IS_NATIVE else inline_kernel(_plain_fuse)


@inline_kernel
def fused_bits(addend: int, left: int, right: int) -> Word:
    """Return the bits of the 32-bit float addend + left * right, given by bits, rounded once."""
    return bits_of(fused(f32_of(left), f32_of(right), f32_of(addend)))


@inline_kernel
def sum_bits(value: float) -> Word:
    """Return the bits of a sum of f16 values and products, rounded once to a 16-bit float.

    `value`: exact, or 0 or at least 2**-48. It is rounded to odd on the way to 24 bits, so that two
    roundings give the same as one.
    """
    bits = np.float64(value).view(np.int64)
    rest = bits & ((1 << STICKY) - 1)
    odd = np.int64((bits - rest) | (np.int64(rest != 0) << STICKY)).view(np.float64)
    return half_bits(np.float32(odd))


@inline_kernel
def combine_half(arithmetic: int, a: int, b: int, scalar: int) -> Word:
    """Apply an operation to 16-bit floats given by their bits; return the bits of the result.

    The result is that of `combine_f16`: arithmetic is FMA (a + b * scalar), ADD, MUL, SUB or MAX,
    rounded once.
    """
    x, y = half_value(a), half_value(b)
    if arithmetic == FMA:
        return sum_bits(np.float64(y) * np.float64(half_value(scalar)) + np.float64(x))
    if arithmetic == ADD:
        return half_bits(x + y)
    if arithmetic == MUL:
        return half_bits(x * y)
    if arithmetic == SUB:
        return half_bits(x - y)
    return half_bits(max(x, y))
