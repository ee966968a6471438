"""Affine expressions of loop variables and counters: offsets, lengths and strides of operands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import index
from typing import Final

from tilewright.simulator.isa.machine_errors import ProgramError


@dataclass(frozen=True, slots=True)
class Index:
    """An affine integer expression of variables: `constant + sum(coefficient * variable)`.

    Used for offsets, lengths and indices of operands that change while a program runs. A variable
    is a loop variable or a counter, that is a named 32-bit variable of the element that lives
    across tasks. `terms` holds (variable, coefficient) pairs. Build it with operators:
    `2 * variable("k") + 1`.
    """

    constant: int = 0
    terms: tuple[tuple[str, int], ...] = ()

    def __add__(self, other: Index | int) -> Index:
        other = as_index(other)
        merged = dict(self.terms)
        for name, coefficient in other.terms:
            merged[name] = merged.get(name, 0) + coefficient
        terms = tuple((name, value) for name, value in sorted(merged.items()) if value)
        return Index(self.constant + other.constant, terms)

    __radd__ = __add__

    def __mul__(self, factor: int) -> Index:
        terms = tuple((name, value * factor) for name, value in self.terms if factor)
        return Index(self.constant * factor, terms)

    __rmul__ = __mul__

    def __sub__(self, other: Index | int) -> Index:
        return self + as_index(other) * -1

    def bounds(self, counts: Mapping[str, int]) -> tuple[int, int] | None:
        """Return the (least, greatest) value that the expression takes over a box of variables.

        `counts` maps a variable's name to its count n; the variable runs over 0..n-1. None if a
        variable of the expression is not in `counts`. Example: 2*k + 1 with k: 4 gives (1, 7).
        """
        low = high = self.constant
        for name, coefficient in self.terms:
            if name not in counts:
                return None
            end = coefficient * (counts[name] - 1)
            low, high = low + min(end, 0), high + max(end, 0)
        return low, high

    def __str__(self) -> str:
        parts = [f"{value}*{name}" if value != 1 else name for name, value in self.terms]
        if self.constant or not parts:
            parts.append(str(self.constant))
        return " + ".join(parts)


NO_OFFSET: Final = Index()


def variable(name: str) -> Index:
    """Return the affine expression that is one variable: a loop variable or a counter."""
    return Index(0, ((name, 1),))


def as_index(value: Index | int) -> Index:
    """Return an affine expression: an integer as a constant one, an `Index` unchanged.

    Raises ProgramError for any other type.
    """
    if isinstance(value, Index):
        return value
    try:
        return Index(index(value))
    except TypeError:
        raise ProgramError(
            "an index is an integer or an expression of variables",
            value=value,
            instead='variable("k"), for a counter',
        ) from None
