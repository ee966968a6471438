"""The DSD operations: types, legal operand forms and what each counts as.

One row per operation (wafer.md §6.1). Codes are stable numbers: the engine's tables hold them.
Forms are strings, destination first: D a descriptor, v a scalar, p a pointer to a scalar.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

(
    MOVE,
    ADD,
    SUB,
    MUL,
    FMA,
    MAX,
    NEG,
    ABS,
    AND,
    OR,
    XOR,
    SLL,
    SLR,
    SAR,
    CLZ,
    CTZ,
    POPCNT,
    H2S,
    S2H,
    H2X,
    S2X,
    X2H,
    X2S,
    FMA_HS,
    ADD_HS,
    ADD_SH,
    ADD_CARRY,
    DROP,
) = range(28)
"""Arithmetic of an operation, the second key of the engine's dispatch."""

UNARY: Final = ("DD", "pD", "Dv")
BINARY: Final = ("DDD", "DvD", "DDv", "pvD")
BINARY_INT: Final = ("DDD", "DvD", "DDv")


@dataclass(frozen=True, slots=True)
class Operation:
    """One row of the table of DSD operations, such as fmacs or add16 (theory/wafer.md §6.1).

    `name`: without the @. `code`: its stable number in the engine's tables. `arithmetic`: the
    number of the function (add, multiply, ...). `dtypes`: what a buffer operand may hold. `forms`:
    legal operands as letters, destination first (D descriptor, v scalar, p pointer to a scalar).
    `counts_as`: the kind of action that each value counts as, such as mac. `mixed`: where operands
    differ in type, the dtypes of each, destination first.
    """

    name: str
    code: int
    arithmetic: int
    dtypes: tuple[str, ...]
    forms: tuple[str, ...]
    counts_as: str
    """The action that one element counts as: move, add, multiply or mac."""
    mixed: tuple[tuple[str, ...], ...] = ()

    @property
    def dtype(self) -> str:
        """The first of its dtypes, that of the destination."""
        return self.dtypes[0]

    def legal(self, number: int) -> tuple[str, ...]:
        """Return the dtypes that an operand may have; number 0 is the destination."""
        return self.mixed[number] if self.mixed else self.dtypes


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
    table.append(("addc16", ADD_CARRY, int16, BINARY_INT, "add"))
    table.append(("dfilt", DROP, ("u32",), ("D",), "move"))
    bits = (("and16", AND), ("or16", OR), ("xor16", XOR))
    shifts = (("sll16", SLL), ("slr16", SLR), ("sar16", SAR))
    table += [(name, code, int16, BINARY_INT, "add") for name, code in (*bits, *shifts)]
    counting = (("clz", CLZ), ("ctz", CTZ), ("popcnt", POPCNT))
    table += [(name, code, int16, ("DD", "Dv"), "add") for name, code in counting]
    plain = tuple(
        Operation(name, code, arithmetic, dtypes, forms, counts)
        for code, (name, arithmetic, dtypes, forms, counts) in enumerate(table)
    )
    return plain + _mixed_rows(len(plain))


def _mixed_rows(first: int) -> tuple[Operation, ...]:
    """Return the operations whose operands differ in type (wafer.md §6.1).

    first: code of the first one. Conversions to integers truncate towards zero, as @as does.
    """
    h, s, x = ("f16",), ("f32",), ("i16", "u16")
    unary: tuple[str, ...] = ("DD", "Dv")
    to_int = (*unary, "pv")
    rows = [
        ("fh2s", H2S, (s, h), unary, "move"),
        ("fs2h", S2H, (h, s), unary, "move"),
        ("fh2xp16", H2X, (x, h), to_int, "move"),
        ("fs2xp16", S2X, (x, s), to_int, "move"),
        ("xp162fh", X2H, (h, x), unary, "move"),
        ("xp162fs", X2S, (s, x), unary, "move"),
        ("fmachs", FMA_HS, (s, s, h, h), ("DDDv",), "mac"),
        ("faddhs", ADD_HS, (s, h, s), BINARY, "add"),
        ("fnorms", MOVE, (s, s), ("pv",), "move"),
        ("fnormh", MOVE, (h, h), ("pv",), "move"),
        ("fscales", MOVE, (s, s, x), ("pvv",), "move"),
        ("fscaleh", MOVE, (h, h, x), ("pvv",), "move"),
    ]
    return tuple(
        Operation(name, first + i, arithmetic, mixed[0], forms, counts, mixed)
        for i, (name, arithmetic, mixed, forms, counts) in enumerate(rows)
    )


MAP: Final = Operation("map", -1, MOVE, ("u32",), (), "map")
"""The operation that `@map` stands for in tables and traces."""
SCALAR_ONLY: Final = {"fnorms": "norm", "fnormh": "norm", "fscales": "scale", "fscaleh": "scale"}
"""Operations without a descriptor: the scalar instruction (scalars.py) that does each."""
OPERATIONS: Final[dict[str, Operation]] = {row.name: row for row in _rows()}
"""Every operation by name (without the leading @)."""


def variant(operation: Operation, form: str, dtypes: Sequence[str | None]) -> Operation:
    """Return the operation with its mixed operand types in the order in which they are given.

    Only `faddhs` (f32 = f16 + f32) has a choice: its f16 operand may stand on either side. It is
    the scalar in the forms DvD and DDv, the vector in pvD, and in DDD the buffer whose dtype is
    f16. `dtypes`: of the operands' buffers, destination first, None without a buffer. Any other
    operation is returned unchanged.
    """
    if operation.arithmetic != ADD_HS:
        return operation
    right = form in ("DDv", "pvD")
    if form == "DDD":
        right = dtypes[1] == "f32" or dtypes[2] == "f16"
    if not right:
        return operation
    wide, half = operation.mixed[0], operation.mixed[1]
    return replace(operation, arithmetic=ADD_SH, mixed=(wide, wide, half))
