"""The machine's vector operations by Einsum and number type, such as fadds for a sum of f32."""

from __future__ import annotations

import ast
from math import inf
from typing import Any, Final

import numpy as np

from tilewright.mapper.grid.number_types import NumberTypes, values_per_wavelet
from tilewright.mapper.grid.space_time import HeldTensor, SpaceTime
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.formulas.expression import expression, joins_by_max

NUMPY: Final = {"f32": np.float32, "f16": np.float16, "i32": np.int32, "i16": np.int16}
"""Types of arrays."""
_FLOAT = {"f32": "s", "f16": "h"}
_INTEGER = {
    ("fmov", "i16"): "mov16",
    ("fadd", "i16"): "add16",
    ("fsub", "i16"): "sub16",
    ("fmov", "i32"): "mov32",
}
_WIDENING = {"fmov": "fh2s", "fadd": "faddhs", "fmac": "fmachs", "fmul": "fmachs"}
"""From f16 to f32; a first product is added to zeros."""
_CONVERSIONS = {("f16", "f32"): "fh2s", ("f32", "f16"): "fs2h"}
WIDENING_PRODUCT: Final = "fmachs"
"""Multiplies f16 and adds to f32."""
WIDENING_SUM: Final = "faddhs"
"""Adds f32 to f16, in this order of its operands."""
_OF_TWO = {ast.Mult: "fmul", ast.Add: "fadd", ast.Sub: "fsub"}


def number_of(value: float, dtype: np.dtype[Any]) -> np.generic:
    """Return a value of a number type; minus infinity is the least one of integers."""
    least = np.iinfo(dtype).min if dtype.kind in "iu" else -inf
    number: np.generic = dtype.type(max(value, least))
    return number


def simd_of(read: SpaceTime, tensor: HeldTensor) -> str:
    """Return the SIMD mode of the queues by which tiles of a tensor go, empty for none."""
    return "simd_32" if read.values_per_wavelet(tensor) == 2 else ""


def simd_mode(values: int, dtype: str) -> str:
    """Return the SIMD mode of a queue by which so many values of a type go, empty for none."""
    return "simd_32" if values_per_wavelet(values, dtype) == 2 else ""


def port_dtype(read: SpaceTime, tensor: HeldTensor) -> str:
    """Return the number type of a tensor's words at a border: u32 for a pair of values."""
    if read.values_per_wavelet(tensor) == 2:
        return "u32"
    return read.result_dtype if tensor.access.output else read.dtype_of(tensor.name)


def operation_on(base: str, dtype: str) -> str | None:
    """Return an operation on vectors of one type, None if the machine has none.

    `base`: its name without the letter of a float type: fmov, fadd, fsub, fmul, fmac, fmax, fneg.
    """
    if dtype in _FLOAT:
        return base + _FLOAT[dtype]
    return _INTEGER.get((base, dtype))


def move_of(dtype: str) -> str:
    """Return the name of the machine's operation that copies vectors of a number type."""
    name = operation_on("fmov", dtype)
    assert name is not None
    return name


def conversion_of(dtype: str, other: str) -> str:
    """Return the name of the operation that copies vectors of a number type as another one."""
    return move_of(dtype) if dtype == other else _CONVERSIONS[dtype, other]


def _typed_operation(base: str | None, numbers: NumberTypes) -> str | None:
    """Return the machine's name of a kernel's operation for some number types, None if it has none.

    `base`: its name without the letters of a type, such as fmac; `numbers`: types of inputs and
    output. Inputs of f16 and an output of f32 give a mixed operation, other mixtures none.
    """
    if base is None:
        return None
    if numbers.widens:
        return _WIDENING.get(base)
    return operation_on(base, numbers.output) if numbers.is_uniform else None


def own_operation(
    einsum: Einsum, numbers: NumberTypes, *, first: bool, has_scalar: bool
) -> str | None:
    """Return the name of the machine's vector operation for an Einsum, None if it has none.

    `numbers`: the number types of the Einsum. first: whether the output has no value yet, so that
    the operation writes it without reading. `has_scalar`: whether one input is a scalar in the
    register.
    """
    name = _typed_operation(_base_operation(einsum, first=first, has_scalar=has_scalar), numbers)
    if (name == WIDENING_PRODUCT and not has_scalar) or (name == WIDENING_SUM and first):
        return None  # of two vectors of f16
    return name


def _base_operation(einsum: Einsum, *, first: bool, has_scalar: bool) -> str | None:
    """Return an operation without the letter of its type, such as `fmac`; None if there is none.

    first: the output has no values yet. has_scalar: whether one input is a single value.
    """
    tree = expression(einsum)
    match tree:
        case ast.Name():
            return "fmov" if first else "fmax" if joins_by_max(einsum) else "fadd"
        case ast.UnaryOp(operand=ast.Name()) if first:
            return "fneg"
        case ast.Call(func=ast.Name(id="relu"), args=[ast.Name()]) if first:
            return "fmax"
        case ast.Call(func=ast.Name(id="max"), args=[ast.Name(id="_0"), ast.Name(id="_1")]) if (
            first
        ):
            return "fmax"
        case ast.BinOp(left=ast.Name(id="_0"), op=operator, right=ast.Name(id="_1")):
            if first:
                return _OF_TWO.get(type(operator))
            is_product = isinstance(operator, ast.Mult) and not joins_by_max(einsum)
            return "fmac" if is_product and has_scalar else None
    return None
