"""Names of the machine's vector operations by number type, such as fadds for f32."""

from __future__ import annotations

from typing import Final

import numpy as np

from tilewright.mapper.grid.number_types import NumberTypes, values_per_wavelet
from tilewright.mapper.grid.space_time import HeldTensor, SpaceTime

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


def kernel_operation(base: str | None, numbers: NumberTypes) -> str | None:
    """Return the machine's name of a kernel's operation for some number types, None if it has none.

    `base`: its name without the letters of a type, such as fmac; `numbers`: types of inputs and
    output. Inputs of f16 and an output of f32 give a mixed operation, other mixtures none.
    """
    if base is None:
        return None
    if numbers.widens:
        return _WIDENING.get(base)
    return operation_on(base, numbers.output) if numbers.is_uniform else None
