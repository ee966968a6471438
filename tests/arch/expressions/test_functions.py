"""The functions of expressions, and numbers as exact fractions."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tilewright.arch.errors import ExpressionError
from tilewright.arch.expressions.expressions import evaluate
from tilewright.arch.expressions.functions import exact


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("factorial(5) + comb(5, 2) + perm(4, 2)", 142),
        ("hypot(3, 4) + dist([0, 0], [3, 4])", 10),
        ("isqrt(17) + trunc(2.9) + fabs(-1)", 7),
        ("list(map(abs, [-4, 3]))[0] + fsum([0.1] * 0)", None),
        ("sum(map(abs, [-4, 3])) + fsum([0.5, 0.5])", 8),
        ("round(degrees(tau))", 360),
        ("factorial(10**9)", None),
        ("comb(10**9, 5)", None),
        ("perm(1000, 900)", None),
        ("map(lambda, [1])", None),
    ],
)
def test_the_functions_of_the_reference(text: str, value: float | None) -> None:
    if value is None:
        with pytest.raises(ExpressionError):
            evaluate(text, {})
    else:
        assert evaluate(text, {}) == value


@pytest.mark.parametrize(
    ("text", "fraction"),
    [
        ("1 / 3", Fraction(1, 3)),
        ("0.1", Fraction(1, 10)),
        ("3 * 1.5 / 7", Fraction(9, 14)),
        ("0.1234567891", Fraction("0.1234567891")),
        ("1e-9", Fraction(1, 10**9)),
        ("1e300", Fraction(10**300)),
        ("2**70", Fraction(2**70)),
    ],
)
def test_a_number_stands_for_the_fraction_that_was_meant(text: str, fraction: Fraction) -> None:
    assert exact(evaluate(text, {})) == fraction
