"""What expressions can do to values, each operation guarded by type and by size."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any, ClassVar, Literal

ComparisonOperator = Literal[
    "==", "<=", ">=", "<", ">", "product==", "product<=", "product>=", "product<", "product>"
]
"""How a constraint on loops or tiles compares: each number, or the product of all."""
MAX_BITS = 1023  # every whole number fits a float
MAX_ITEMS = 10_000
MAX_TEXT = 10_000


class EvaluationError(Exception):
    """An operation of an expression does not apply to its values.

    The evaluator turns it into an ExpressionError with place and text. `instead`: what to write.
    """

    def __init__(self, what: str, instead: str | None = None) -> None:
        super().__init__(what)
        self.instead = instead


class Steps:
    """The budget of one evaluation: how many iterations and list items it may still use."""

    __slots__ = ("left",)

    def __init__(self, budget: int) -> None:
        self.left = budget

    def iterate(self, values: object) -> Iterator[Any]:
        """Yield the items of a list or set, or the keys of a mapping, and count them.

        Raises EvaluationError when the budget is used up, or if the value cannot be iterated.
        """
        for value in items_of(values):
            self.left -= 1
            if self.left < 0:
                raise EvaluationError("the expression takes too many steps")
            yield value

    def charge(self, value: Any) -> Any:
        """Count all parts of a new list or mapping, nested ones included, and return it.

        A part that is shared counts each time, as comparing or printing would visit it. Raises
        EvaluationError when the budget is used up.
        """
        queue = [value]
        while queue:
            part = queue.pop()
            self.left -= 1
            if self.left < 0:
                raise EvaluationError("the expression takes too many steps")
            if isinstance(part, Mapping):
                queue.extend(part.values())
            elif isinstance(part, list | tuple):
                queue.extend(part)
        return value


class Algebra:
    """Base of values of expressions with operators of their own: sets of names, symbolic numbers.

    `fields`: names that expressions may use behind a dot; `described_as`: words for messages. Each
    method here raises EvaluationError; a subclass overrides those that apply to it.
    """

    __slots__ = ()
    fields: ClassVar[frozenset[str]] = frozenset()
    described_as: ClassVar[str] = "a value"

    def elements(self) -> Iterable[Any]:
        """Return the items that a loop in an expression (`... for x in value`) visits.

        The base class raises EvaluationError.
        """
        raise EvaluationError(f"{self.described_as} is not a list")

    def item(self, key: object) -> object:
        """Return what `value[key]` is in an expression; the base class raises EvaluationError."""
        raise EvaluationError(f"[{key!r}] does not apply to {self.described_as}")

    def maximum(self, other: object) -> object:
        """Return what max(value, other) is in an expression.

        The base class raises EvaluationError.
        """
        raise EvaluationError(f"max() does not compare {self.described_as} and {describe(other)}")

    def minimum(self, other: object) -> object:
        """Return what min(value, other) is in an expression.

        The base class raises EvaluationError.
        """
        raise EvaluationError(f"min() cannot compare {self.described_as} and {describe(other)}")

    def power(self, exponent: object) -> object:
        """Return what value ** exponent is in an expression.

        The base class raises EvaluationError.
        """
        raise EvaluationError(f"** does not apply to {describe(self)} and {describe(exponent)}")

    def function(self, name: str) -> object:
        """Return what a function of numbers, such as sqrt, gives for this value.

        `name`: of the function. The base class raises EvaluationError.
        """
        raise EvaluationError(f"{name}() takes numbers, not {describe(self)}")


def items_of(values: object) -> Iterable[Any]:
    """Return what a loop over a value of an expression visits: items, or the keys of a mapping.

    Sets are sorted. Raises EvaluationError for a value that is no list, set or mapping.
    """
    if isinstance(values, Algebra):
        return values.elements()
    if isinstance(values, Mapping):
        return list(values)
    if isinstance(values, list | tuple | range):
        return values
    if isinstance(values, frozenset | set):
        return sorted(values)
    raise EvaluationError(f"{describe(values)} is not a list")


def describe(value: object) -> str:
    """Return words for a value in an error message: `the number 3`, `a set`."""
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, int | float | Fraction):
        return f"the number {value}"
    if isinstance(value, str):
        return f"the text {value!r}"
    kind = getattr(type(value), "described_as", None)
    return str(kind) if kind else f"a {type(value).__name__}"


def is_number(value: object) -> bool:
    """Return whether a value is an int, float or Fraction (bool included)."""
    return isinstance(value, int | float | Fraction)


def bounded(value: Any) -> Any:
    """Return a number unchanged.

    Raises EvaluationError for an integer of more than 1023 bits or a complex number.
    """
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise EvaluationError(f"a number of more than {MAX_BITS} bits")
    if isinstance(value, complex):
        raise EvaluationError("the result is not a real number")
    return value


def _arithmetic(symbol: str, function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def apply(left: Any, right: Any) -> Any:
        if is_number(left) and is_number(right):
            if symbol in ("/", "//", "%") and right == 0:
                raise EvaluationError(f"{left} {symbol} 0 has no value")
            return bounded(function(left, right))
        if isinstance(left, Algebra) or isinstance(right, Algebra):
            return function(left, right)
        raise EvaluationError(f"{symbol} does not apply to {describe(left)} and {describe(right)}")

    return apply


def _power(left: Any, right: Any) -> Any:
    if isinstance(left, Algebra):
        return left.power(right)
    if not is_number(left) or not is_number(right):
        raise EvaluationError(f"** does not apply to {describe(left)} and {describe(right)}")
    exact = isinstance(left, int | Fraction) and isinstance(right, int)
    if exact and _size(left) * abs(right) > MAX_BITS:
        raise EvaluationError(f"{left} ** {right} has more than {MAX_BITS} bits")
    if left == 0 and right < 0:
        raise EvaluationError(f"0 ** {right} has no value")
    return bounded(left**right)


def _size(value: int | Fraction) -> int:
    """Return by how many bits one multiplication by `value` can lengthen a number.

    0 for -1, 0 and 1.
    """
    largest = max(abs(value.numerator), value.denominator)
    return 0 if largest <= 1 else largest.bit_length()


def _set_or_bits(symbol: str, function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def apply(left: Any, right: Any) -> Any:
        if isinstance(left, int) and isinstance(right, int):
            return function(left, right)
        if isinstance(left, Algebra) or isinstance(right, Algebra):
            return function(left, right)
        raise EvaluationError(f"{symbol} does not apply to {describe(left)} and {describe(right)}")

    return apply


def _shift(symbol: str, function: Callable[[int, int], int]) -> Callable[[Any, Any], Any]:
    def apply(left: Any, right: Any) -> Any:
        if not isinstance(left, int) or not isinstance(right, int):
            raise EvaluationError(f"{symbol} takes whole numbers")
        if not 0 <= right <= MAX_BITS:
            raise EvaluationError(f"{symbol} {right} is out of range")
        return bounded(function(left, right))

    return apply


def _invert(value: Any) -> Any:
    if isinstance(value, Algebra) or (isinstance(value, int) and not isinstance(value, bool)):
        return ~value  # type: ignore[operator]  # Algebra types define it
    raise EvaluationError(f"~ does not apply to {describe(value)}")


def _sign(symbol: str, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def apply(value: Any) -> Any:
        if is_number(value) or isinstance(value, Algebra):
            return function(value)
        raise EvaluationError(f"{symbol} does not apply to {describe(value)}")

    return apply


def _ordered(symbol: str, function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def apply(left: Any, right: Any) -> Any:
        if isinstance(left, Algebra) or isinstance(right, Algebra):
            return function(left, right)
        if type(left) is type(right) or (is_number(left) and is_number(right)):
            return function(left, right)
        raise EvaluationError(f"{symbol} does not apply to {describe(left)} and {describe(right)}")

    return apply


def _contains(left: Any, right: Any) -> bool:
    return left in items_of(right) if not isinstance(right, str) else str(left) in right


BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: _arithmetic("+", operator.add),
    ast.Sub: _arithmetic("-", operator.sub),
    ast.Mult: _arithmetic("*", operator.mul),
    ast.Div: _arithmetic("/", operator.truediv),
    ast.FloorDiv: _arithmetic("//", operator.floordiv),
    ast.Mod: _arithmetic("%", operator.mod),
    ast.Pow: _power,
    ast.BitAnd: _set_or_bits("&", operator.and_),
    ast.BitOr: _set_or_bits("|", operator.or_),
    ast.BitXor: _set_or_bits("^", operator.xor),
    ast.LShift: _shift("<<", operator.lshift),
    ast.RShift: _shift(">>", operator.rshift),
}
UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: _sign("+", operator.pos),
    ast.USub: _sign("-", operator.neg),
    ast.Invert: _invert,
    ast.Not: operator.not_,
}
COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: _ordered("<", operator.lt),
    ast.LtE: _ordered("<=", operator.le),
    ast.Gt: _ordered(">", operator.gt),
    ast.GtE: _ordered(">=", operator.ge),
    ast.In: _contains,
    ast.NotIn: lambda left, right: not _contains(left, right),
    ast.Is: lambda left, right: left is right,
    ast.IsNot: lambda left, right: left is not right,
}


def attribute(owner: object, name: str) -> object:
    """Return `owner.name` of an expression: an item of a mapping, or a field of a set or action.

    Raises EvaluationError if there is none.
    """
    if isinstance(owner, Mapping):
        return item(owner, name)
    fields: frozenset[str] = getattr(type(owner), "fields", frozenset())
    if isinstance(owner, Algebra) and name in fields:
        return getattr(owner, name)
    from tilewright.arch.names import did_you_mean

    raise EvaluationError(f"{describe(owner)} has no .{name}", did_you_mean(name, fields) or None)


def item(owner: object, key: Any) -> object:
    """Return `owner[key]` of an expression, for a mapping, a list or an `Algebra`.

    Raises EvaluationError if there is no such item.
    """
    if isinstance(owner, Algebra):
        return owner.item(key)
    if isinstance(owner, Mapping) and isinstance(key, str | int):
        if key in owner:
            value: object = owner[key]
            return value
        from tilewright.arch.names import did_you_mean

        raise EvaluationError(
            f"there is no {key} in it", did_you_mean(str(key), map(str, owner)) or None
        )
    if isinstance(owner, list | tuple | range) and isinstance(key, int):
        if -len(owner) <= key < len(owner):
            return owner[key]
        raise EvaluationError(f"the list has {len(owner)} items, there is no item {key}")
    raise EvaluationError(f"[{key!r}] does not apply to {describe(owner)}")


def finite_int(value: Any, what: str) -> int:
    """Return a whole number as an int; EvaluationError otherwise, which calls the value `what`."""
    if isinstance(value, int):
        return value
    if is_number(value) and math.isfinite(value) and value == int(value):
        return int(value)
    raise EvaluationError(f"{what} must be a whole number, not {describe(value)}")
