"""The functions and constants that expressions may use."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from tilewright.arch.expressions.operators import (
    MAX_BITS,
    MAX_ITEMS,
    MAX_TEXT,
    Algebra,
    EvaluationError,
    Steps,
    bounded,
    describe,
    finite_int,
    is_number,
    items_of,
)

_SMALL_DIVISOR = 1_000_000
CONSTANTS: dict[str, object] = {
    "inf": math.inf,
    "nan": math.nan,
    "pi": math.pi,
    "e": math.e,
    "tau": math.tau,
    "true": True,
    "false": False,
}


def _numeric(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of numbers as expressions call it: types checked, results limited in size.

    It raises EvaluationError for an argument that is no number; errors of the domain, such as
    sqrt(-1), are left to the caller.
    """

    def apply(_: Steps, *values: Any) -> Any:
        if len(values) == 1 and isinstance(values[0], Algebra):
            return values[0].function(function.__name__)
        for value in values:
            if not is_number(value):
                raise EvaluationError(f"{function.__name__}() takes numbers, not {describe(value)}")
        return bounded(function(*values))

    return apply


def _extreme(name: str, choose: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def apply(steps: Steps, *values: Any) -> Any:
        chosen = list(steps.iterate(values[0])) if len(values) == 1 else list(values)
        if not chosen:
            raise EvaluationError(f"{name}() of nothing")
        best = chosen[0]
        for value in chosen[1:]:
            best = choose(best, value)
        return best

    return apply


def _larger(left: Any, right: Any) -> Any:
    if isinstance(left, Algebra):
        return left.maximum(right)
    if isinstance(right, Algebra):
        return right.maximum(left)
    return right if _before("max", left, right) else left


def _smaller(left: Any, right: Any) -> Any:
    if isinstance(left, Algebra):
        return left.minimum(right)
    if isinstance(right, Algebra):
        return right.minimum(left)
    return right if _before("min", right, left) else left


def _before(name: str, left: Any, right: Any) -> bool:
    comparable = type(left) is type(right) or (is_number(left) and is_number(right))
    if not comparable or isinstance(left, Algebra):
        raise EvaluationError(f"{name}() cannot compare {describe(left)} and {describe(right)}")
    return bool(left < right)


def _sum(steps: Steps, first: Any, *others: Any) -> Any:
    """Return the sum of a list, plus a start if one is given, or the sum of all numbers given.

    EvaluationError for a value that is no number.
    """
    if is_number(first) or isinstance(first, Algebra):
        total, values = first, list(others)
    else:
        _at_most_one_start(others)
        total, values = (others[0] if others else 0), first
    for value in steps.iterate(values):
        if not is_number(value) and not isinstance(value, Algebra):
            raise EvaluationError(f"sum() takes numbers, not {describe(value)}")
        total = bounded(total + value)
    return total


def _at_most_one_start(others: tuple[Any, ...]) -> None:
    if len(others) > 1:
        raise EvaluationError("sum() takes a list and a start, or numbers")


def _product(steps: Steps, values: Any) -> Any:
    total: Any = 1
    for value in steps.iterate(values):
        if not is_number(value):
            raise EvaluationError(f"prod() takes numbers, not {describe(value)}")
        total = bounded(total * value)
    return total


def _length(_: Steps, value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    return len(list(items_of(value)))


def _range(_: Steps, *limits: Any) -> range:
    if not 1 <= len(limits) <= 3:
        raise EvaluationError("range() takes one to three numbers")
    result = range(*[finite_int(value, "a limit of range()") for value in limits])
    if len(result) > MAX_ITEMS:
        raise EvaluationError(f"range() has more than {MAX_ITEMS} items")
    return result


def _int(_: Steps, value: Any) -> int:
    if isinstance(value, str):
        value = _number(value)
    if not is_number(value) or (isinstance(value, float) and not math.isfinite(value)):
        raise EvaluationError(f"int() does not apply to {describe(value)}")
    return int(value)


def _float(_: Steps, value: Any) -> float:
    return float(_number(value) if isinstance(value, str) else _checked(value, "float"))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise EvaluationError(f"{text!r} is not a number") from None


def _checked(value: Any, name: str) -> Any:
    if not is_number(value):
        raise EvaluationError(f"{name}() does not apply to {describe(value)}")
    return value


def _text(_: Steps, value: Any) -> str:
    if not is_number(value) and not isinstance(value, str | None):
        raise EvaluationError(f"str() does not apply to {describe(value)}")
    text = str(value)
    if len(text) > MAX_TEXT:
        raise EvaluationError("the text is too long")
    return text


def _round(_: Steps, value: Any, digits: Any = None) -> Any:
    _checked(value, "round")
    if digits is None:
        if isinstance(value, float) and not math.isfinite(value):
            raise EvaluationError(f"round() does not apply to {value}")
        return round(value)
    return round(value, finite_int(digits, "the number of digits"))


def _power(_: Steps, base: Any, exponent: Any) -> Any:
    import ast

    from tilewright.arch.expressions.operators import BINARY

    return BINARY[ast.Pow](base, exponent)


def _sorted(steps: Steps, values: Any) -> tuple[Any, ...]:
    try:
        return tuple(sorted(steps.iterate(values)))
    except TypeError:
        raise EvaluationError("sorted() takes values of one kind") from None


def _all(steps: Steps, values: Any) -> bool:
    return all(steps.iterate(values))


def _any(steps: Steps, values: Any) -> bool:
    return any(steps.iterate(values))


def _listed(steps: Steps, values: Any = ()) -> tuple[Any, ...]:
    return tuple(steps.iterate(values))


def _enumerated(steps: Steps, values: Any) -> tuple[tuple[int, Any], ...]:
    return tuple(enumerate(steps.iterate(values)))


def _counted(function: Callable[..., int], bits: Callable[..., float]) -> Callable[..., Any]:
    """Return a function of whole numbers that refuses numbers and results that are too long.

    It raises EvaluationError above MAX_BITS, both for an argument and for the bits of a result.
    `bits`: returns about how many bits the result has.
    """

    def apply(_: Steps, *values: Any) -> int:
        whole = [finite_int(value, f"an argument of {function.__name__}()") for value in values]
        if max(map(abs, whole), default=0) > MAX_BITS or bits(*whole) > MAX_BITS:
            raise EvaluationError(f"{function.__name__}() of numbers that large")
        return function(*whole)

    return apply


def _isqrt(_: Steps, value: Any) -> int:
    return math.isqrt(finite_int(value, "the argument of isqrt()"))


def _fsum(steps: Steps, values: Any) -> float:
    return math.fsum(_checked(value, "fsum") for value in steps.iterate(values))


def _dist(steps: Steps, first_point: Any, second_point: Any) -> float:
    ends = [
        [_checked(value, "dist") for value in steps.iterate(end)]
        for end in (first_point, second_point)
    ]
    return math.dist(*ends)


_OF_NUMBERS = (  # functions of Python's math module that take numbers and give a number
    *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "copysign", "cos"),
    *("cosh", "degrees", "erf", "erfc", "exp", "expm1", "fabs", "floor", "fmod", "gamma", "gcd"),
    *("hypot", "isclose", "isfinite", "isinf", "isnan", "lcm", "lgamma", "log", "log10", "log1p"),
    *("log2", "radians", "remainder", "sin", "sinh", "sqrt", "tan", "tanh", "trunc"),
)
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _numeric(getattr(math, name)) for name in _OF_NUMBERS},
    "abs": _numeric(abs),
    "all": _all,
    "any": _any,
    "bool": lambda _, value: bool(value),
    "comb": _counted(math.comb, lambda n, *_: n),
    "dist": _dist,
    "enumerate": _enumerated,
    "factorial": _counted(math.factorial, lambda n: n * math.log2(max(n, 1))),
    "float": _float,
    "fsum": _fsum,
    "int": _int,
    "isqrt": _isqrt,
    "len": _length,
    "list": _listed,
    "max": _extreme("max", _larger),
    "min": _extreme("min", _smaller),
    "perm": _counted(math.perm, lambda n, k=None: (n if k is None else k) * math.log2(max(n, 1))),
    "pow": _power,
    "prod": _product,
    "range": _range,
    "round": _round,
    "sorted": _sorted,
    "str": _text,
    "sum": _sum,
    "tuple": _listed,
}


def exact(value: Any) -> Fraction:
    """Return a finite number as the exact fraction that its writer meant.

    0.1 in a file means one tenth and `1 / 3` one third: a float stands for the short decimal number
    that it prints as, else for the fraction of a small divisor whose nearest float it is.
    """
    if not isinstance(value, float):
        return Fraction(value)
    decimal = Fraction(repr(value))
    if decimal.denominator <= _SMALL_DIVISOR:
        return decimal
    simple = Fraction(value).limit_denominator(_SMALL_DIVISOR)
    return simple if float(simple) == value else decimal
