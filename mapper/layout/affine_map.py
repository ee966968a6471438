"""Quasi-affine maps of indices: `(d0, d1) -> (d0 * 8 + d1 floordiv 4, d1 mod 4)` (layouts.md §1).

They say how virtual grids map to physical units, and how text forms write the collapse of a tensor.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from tilewright.arch.errors import SpecError

Operator = Literal["dim", "const", "+", "*", "floordiv", "mod"]
Integers = NDArray[np.int64]
_LONGEST: Final = 4000
_DEEPEST: Final = 40
_TOKEN: Final = re.compile(r"\s*(?:(\d+)|(d\d+)|(->|//|floordiv|mod|[()+*%,-])|(\S))")
_SAME: Final = {"//": "floordiv", "%": "mod"}
_APPLIED: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add,
    "*": operator.mul,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
}
"""What each operator that joins two expressions does, to numbers and to arrays."""


@dataclass(frozen=True, slots=True)
class QuasiAffine:
    """Hold one integer expression of indices: sums, constant multiples, floor divisions, moduli.

    `operator` "dim": the index of dimension `number`; "const": the integer `number`; otherwise it
    joins `left` and `right`. One factor of "*" and the right side of "floordiv" and "mod" are
    constants; those divisors are at least 1.
    """

    operator: Operator
    number: int = 0
    left: QuasiAffine | None = None
    right: QuasiAffine | None = None

    def value(self, index: Sequence[int]) -> int:
        """Return the value at an index, which has one entry per dimension."""
        if self.left is None or self.right is None:
            return index[self.number] if self.operator == "dim" else self.number
        return int(_APPLIED[self.operator](self.left.value(index), self.right.value(index)))

    def values(self, index: Sequence[Integers]) -> Integers:
        """Return the values at many indices, given as one array per dimension, of one shape."""
        if self.left is None or self.right is None:
            return index[self.number] if self.operator == "dim" else np.int64(self.number)  # type: ignore[return-value]
        joined: Integers = _APPLIED[self.operator](
            self.left.values(index), self.right.values(index)
        )
        return joined

    def coefficients(self) -> tuple[dict[int, int], int] | None:
        """Return (coefficient of each dimension, constant), or None if a division or modulus is in.

        Every dimension that is written has an entry, in the order in which it is written.
        """
        if self.left is None or self.right is None:
            return ({self.number: 1}, 0) if self.operator == "dim" else ({}, self.number)
        left, right = self.left.coefficients(), self.right.coefficients()
        if left is None or right is None or self.operator in ("floordiv", "mod"):
            return None
        if self.operator == "+":
            total = dict(left[0])
            for dim, factor in right[0].items():
                total[dim] = total.get(dim, 0) + factor
            return total, left[1] + right[1]
        (terms, constant), factor = (left, right[1]) if not right[0] else (right, left[1])
        return {dim: value * factor for dim, value in terms.items()}, constant * factor

    def __str__(self) -> str:
        if self.left is None or self.right is None:
            return f"d{self.number}" if self.operator == "dim" else str(self.number)
        if self.operator == "+":
            return f"{self.left} + {self.right}"
        return f"{_factor(self.left)} {self.operator} {_factor(self.right, right=True)}"


def dim(number: int) -> QuasiAffine:
    """Return the expression that is the index of dimension `number`."""
    return QuasiAffine("dim", number)


def constant(number: int) -> QuasiAffine:
    """Return a constant expression."""
    return QuasiAffine("const", number)


def plus(left: QuasiAffine, right: QuasiAffine) -> QuasiAffine:
    """Return the sum of two expressions; a zero is left out."""
    if right == constant(0):
        return left
    return right if left == constant(0) else QuasiAffine("+", 0, left, right)


def times(left: QuasiAffine, number: int) -> QuasiAffine:
    """Return a constant multiple of an expression; 1 is left out."""
    if number == 1:
        return left
    return constant(0) if number == 0 else QuasiAffine("*", 0, left, constant(number))


def floordiv(left: QuasiAffine, number: int) -> QuasiAffine:
    """Return the floor of an expression divided by a number of 1 or more; 1 is left out."""
    return left if number == 1 else QuasiAffine("floordiv", 0, left, constant(number))


def mod(left: QuasiAffine, number: int) -> QuasiAffine:
    """Return an expression modulo a number of 1 or more."""
    return constant(0) if number == 1 else QuasiAffine("mod", 0, left, constant(number))


@dataclass(frozen=True, slots=True)
class AffineMap:
    """Map an index of `rank` dimensions to one integer per expression of `results`.

    Raises SpecError if an expression names a dimension that the index does not have.
    """

    rank: int
    results: tuple[QuasiAffine, ...]

    def __post_init__(self) -> None:
        highest = max((number for result in self.results for number in _dims(result)), default=-1)
        if highest >= self.rank:
            raise SpecError(
                f"an affine map of {self.rank} dimensions has no d{highest}",
                value=str(self),
                instead=f"d0 to d{self.rank - 1}" if self.rank else "constants",
            )

    @classmethod
    def parse(cls, text: str, rank: int | None = None) -> AffineMap:
        """Read `(d0, d1) -> (d0 * 8 + d1, d1 mod 4)`; `//` and `%` mean floordiv and mod.

        `rank`: number of dimensions of a text without the list on the left. Raises SpecError for
        other text, with the place of the first wrong symbol.
        """
        return _MapReader(text).whole(rank)

    def value(self, index: Sequence[int]) -> tuple[int, ...]:
        """Return the results at one index."""
        return tuple(result.value(index) for result in self.results)

    def values(self, index: Sequence[Integers]) -> tuple[Integers, ...]:
        """Return the results at many indices, given as one array per dimension, of one shape."""
        shape = index[0].shape if index else ()
        return tuple(np.broadcast_to(result.values(index), shape) for result in self.results)

    def __str__(self) -> str:
        dims = ", ".join(f"d{number}" for number in range(self.rank))
        return f"({dims}) -> ({', '.join(map(str, self.results))})"


def _dims(expression: QuasiAffine) -> Iterator[int]:
    if expression.left is not None and expression.right is not None:
        yield from _dims(expression.left)
        yield from _dims(expression.right)
    elif expression.operator == "dim":
        yield expression.number


def _factor(expression: QuasiAffine, right: bool = False) -> str:
    bare = expression.left is None or (expression.operator != "+" and not right)
    return str(expression) if bare else f"({expression})"


class _MapReader:
    """Reads an affine map from text, symbol by symbol (recursive descent)."""

    def __init__(self, text: str) -> None:
        if len(text) > _LONGEST:
            raise SpecError(f"an affine map of more than {_LONGEST} characters", value=text)
        self.text, self.place, self.depth = text, 0, 0
        self.tokens = [(m.group(m.lastindex or 0), m.start()) for m in _TOKEN.finditer(text)]

    def whole(self, rank: int | None) -> AffineMap:
        """Read the map to the end of the text; SpecError if it is no affine map.

        `rank`: dimensions that it must have; None: the text lists them.
        """
        named = self._dimension_list() if "->" in self.text else None
        if named is None and rank is None:
            self._fail("an affine map has dimensions on the left: (d0, d1) -> (...)")
        results = self._results()
        if self.place < len(self.tokens):
            self._fail("text after the end of an affine map")
        if named is not None and rank is not None and named != rank:
            raise SpecError(
                f"an affine map of {named} dimensions for a tensor of rank {rank}",
                value=self.text,
                instead=f"as many dimensions on the left as the tensor has: {rank}",
            )
        return AffineMap(named if named is not None else rank or 0, results)

    def _dimension_list(self) -> int:
        self._take("(")
        count = 0
        while self._peek() != ")":
            if count:
                self._take(",")
            self._take(f"d{count}")
            count += 1
        self._take(")")
        self._take("->")
        return count

    def _results(self) -> tuple[QuasiAffine, ...]:
        self._take("(")
        results: list[QuasiAffine] = []
        while self._peek() != ")":
            if results:
                self._take(",")
            results.append(self._sum())
        self._take(")")
        return tuple(results)

    def _sum(self) -> QuasiAffine:
        left = self._product()
        while self._peek() in ("+", "-"):
            sign = 1 if self._next() == "+" else -1
            right = self._product()
            left = QuasiAffine("+", 0, left, right if sign == 1 else _negated(right))
        return left

    def _product(self) -> QuasiAffine:
        left = self._atom()
        while self._peek() in ("*", "floordiv", "mod", "//", "%"):
            symbol = self._next()
            operator = _SAME.get(symbol, symbol)
            left = self._joined(operator, left, self._atom())
        return left

    def _joined(self, operator: str, left: QuasiAffine, right: QuasiAffine) -> QuasiAffine:
        if operator == "*":
            if "const" not in (left.operator, right.operator):
                self._fail("a product of two indices is not affine")
            return QuasiAffine("*", 0, left, right)
        if right.operator != "const" or right.number < 1:
            self._fail(f"{operator} needs a constant of 1 or more on its right")
        return QuasiAffine("floordiv" if operator == "floordiv" else "mod", 0, left, right)

    def _atom(self) -> QuasiAffine:
        symbol = self._next()
        if symbol == "(":
            self.depth += 1
            if self.depth > _DEEPEST:
                self._fail(f"more than {_DEEPEST} parentheses inside each other")
            inner = self._sum()
            self._take(")")
            self.depth -= 1
            return inner
        if symbol == "-":
            return _negated(self._atom())
        if symbol.isdecimal():
            return constant(int(symbol))
        if symbol[:1] == "d" and symbol[1:].isdecimal():
            return dim(int(symbol[1:]))
        self.place -= 1
        self._fail("an index (d0), a number or a parenthesis is missing")
        raise AssertionError

    def _peek(self) -> str:
        return self.tokens[self.place][0] if self.place < len(self.tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        self.place += 1
        return token

    def _take(self, wanted: str) -> None:
        if self._peek() != wanted:
            self._fail(f"{wanted!r} is missing")
        self.place += 1

    def _fail(self, what: str) -> None:
        column = self.tokens[self.place][1] + 1 if self.place < len(self.tokens) else -1
        place = f"at character {column}" if column > 0 else "at the end"
        raise SpecError(
            f"{what}, {place} of an affine map",
            value=self.text,
            instead="(d0, d1) -> (d0 * 8 + d1, d1 mod 4)",
        )


def _negated(expression: QuasiAffine) -> QuasiAffine:
    if expression.operator == "const":
        return constant(-expression.number)
    return QuasiAffine("*", 0, expression, constant(-1))
