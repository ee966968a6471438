"""The table of operations of scalar instructions; codes are stable numbers."""

from __future__ import annotations

from typing import Final

(
    MOV,
    ADD,
    SUB,
    MUL,
    DIV,
    AND,
    OR,
    XOR,
    SHL,
    SHR,
    LT,
    LE,
    EQ,
    NE,
    MIN,
    MAX,
    SQRT,
    TO_INT,
    FROM_INT,
    NORM,
    SCALE,
    FROM_HALF,
    TO_HALF,
) = range(23)

SCALARS: Final = {
    "mov": (MOV, 1),
    "add": (ADD, 2),
    "sub": (SUB, 2),
    "mul": (MUL, 2),
    "div": (DIV, 2),
    "and": (AND, 2),
    "or": (OR, 2),
    "xor": (XOR, 2),
    "shl": (SHL, 2),
    "shr": (SHR, 2),
    "lt": (LT, 2),
    "le": (LE, 2),
    "eq": (EQ, 2),
    "ne": (NE, 2),
    "min": (MIN, 2),
    "max": (MAX, 2),
    "sqrt": (SQRT, 1),
    "to_int": (TO_INT, 1),
    "from_int": (FROM_INT, 1),
    "norm": (NORM, 1),
    "scale": (SCALE, 2),
    "from_half": (FROM_HALF, 1),
    "to_half": (TO_HALF, 1),
}
"""Code and number of sources of each operation by name."""
INTEGER_ONLY: Final = ("and", "or", "xor", "shl", "shr")
FLOAT_ONLY: Final = ("sqrt", "to_int", "from_int", "norm", "scale", "from_half", "to_half")


_CONVERTED: Final = {"from_int": "i32", "from_half": "f16", "to_half": "f32"}
"""Type of the source of an operation that converts it to its own type."""


def source_dtypes(operation: str, dtype: str) -> tuple[str, ...]:
    """Return the dtype of each source of a scalar operation whose `dtype` is given.

    All sources have that dtype, except that `from_int` takes one i32, `from_half` one f16,
    `to_half` one f32, and `scale` an i16 exponent as its second source. `operation` must be one of
    SCALARS (else KeyError), except for those.
    """
    if operation in _CONVERTED:
        return (_CONVERTED[operation],)
    return (dtype, "i16") if operation == "scale" else (dtype,) * SCALARS[operation][1]
