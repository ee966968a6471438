"""The DSD operations: types, legal operand forms and what each counts as.

One row per operation (wse.md §2.1). Codes are stable numbers: the engine's tables hold them.
Forms are strings, destination first: D a descriptor, v a scalar, p a pointer to a scalar.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MOVE, ADD, SUB, MUL, FMA, MAX, NEG, ABS = range(8)
"""Arithmetic of an operation, the second key of the engine's dispatch."""

UNARY: Final = ("DD", "pD", "Dv")
BINARY: Final = ("DDD", "DvD", "DDv", "pvD")
BINARY_INT: Final = ("DDD", "DvD", "DDv")


@dataclass(frozen=True, slots=True)
class Operation:
    """One DSD operation: its arithmetic on one dtype, and its legal operand forms."""

    name: str
    code: int
    arithmetic: int
    dtypes: tuple[str, ...]
    forms: tuple[str, ...]
    counts_as: str
    """The action that one element counts as: move, add, multiply or mac."""

    @property
    def dtype(self) -> str:
        return self.dtypes[0]


def _rows() -> tuple[Operation, ...]:
    int16, int32 = ("i16", "u16"), ("i32", "u32")
    table = [
        ("fmovs", MOVE, ("f32",), UNARY, "move"),
        ("fmovh", MOVE, ("f16",), UNARY, "move"),
        ("mov16", MOVE, (*int16, "f16"), UNARY, "move"),
        ("mov32", MOVE, (*int32, "f32"), UNARY, "move"),
        ("fadds", ADD, ("f32",), BINARY, "add"),
        ("faddh", ADD, ("f16",), BINARY, "add"),
        ("fsubs", SUB, ("f32",), BINARY, "add"),
        ("fsubh", SUB, ("f16",), BINARY, "add"),
        ("fmuls", MUL, ("f32",), BINARY, "multiply"),
        ("fmulh", MUL, ("f16",), BINARY, "multiply"),
        ("fmaxs", MAX, ("f32",), BINARY, "add"),
        ("fmaxh", MAX, ("f16",), BINARY, "add"),
        ("add16", ADD, int16, BINARY_INT, "add"),
        ("sub16", SUB, int16, ("DDD", "DDv"), "add"),
        ("fnegs", NEG, ("f32",), ("DD", "Dv"), "add"),
        ("fnegh", NEG, ("f16",), ("DD", "Dv"), "add"),
        ("fabss", ABS, ("f32",), ("DD", "Dv"), "add"),
        ("fabsh", ABS, ("f16",), ("DD", "Dv"), "add"),
        ("fmacs", FMA, ("f32",), ("DDDv",), "mac"),
        ("fmach", FMA, ("f16",), ("DDDv",), "mac"),
    ]
    return tuple(
        Operation(name, code, arithmetic, dtypes, forms, counts)
        for code, (name, arithmetic, dtypes, forms, counts) in enumerate(table)
    )


MAP: Final = Operation("map", -1, MOVE, ("u32",), (), "map")
"""The operation that `@map` stands for in tables and traces."""
OPERATIONS: Final[dict[str, Operation]] = {row.name: row for row in _rows()}
"""Every operation by name (without the leading @)."""
