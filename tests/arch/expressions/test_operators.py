"""Operators of expressions: each guarded by type and by size."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.arch.expressions.operators import (
    BINARY,
    COMPARE,
    MAX_BITS,
    UNARY,
    EvaluationError,
    Steps,
    attribute,
    bounded,
    describe,
    finite_int,
    item,
    items_of,
)

PLAIN: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
NUMBERS = st.integers(-1000, 1000) | st.fractions(-100, 100, max_denominator=99)


@given(st.sampled_from(sorted(PLAIN, key=str)), NUMBERS, NUMBERS)
def test_arithmetic_is_that_of_python(kind: type[ast.operator], left: Any, right: Any) -> None:
    if right == 0 and kind in (ast.Div, ast.FloorDiv, ast.Mod):
        with pytest.raises(EvaluationError, match="has no value"):
            BINARY[kind](left, right)
    else:
        assert BINARY[kind](left, right) == PLAIN[kind](left, right)


@pytest.mark.parametrize(
    ("kind", "left", "right", "words"),
    [
        (ast.Add, "a", 1, "+ does not apply to the text 'a' and the number 1"),
        (ast.Mult, [1], 2, "* does not apply to a list and the number 2"),
        (ast.Pow, 2, MAX_BITS + 1, "2 ** 1024 has more than 1023 bits"),
        (ast.Pow, 0, -1, "0 ** -1 has no value"),
        (ast.BitAnd, 1.5, 1, "& does not apply to the number 1.5 and the number 1"),
        (ast.LShift, 1, MAX_BITS + 1, "<< 1024 is out of range"),
        (ast.LShift, 1, -1, "<< -1 is out of range"),
        (ast.RShift, 1.0, 1, ">> takes whole numbers"),
    ],
)
def test_binary_operators_refuse(
    kind: type[ast.operator], left: Any, right: Any, words: str
) -> None:
    with pytest.raises(EvaluationError) as caught:
        BINARY[kind](left, right)
    assert str(caught.value) == words


def test_numbers_of_1023_bits_are_the_largest() -> None:
    largest = 2**MAX_BITS - 1
    assert bounded(largest) == largest
    with pytest.raises(EvaluationError, match="more than 1023 bits"):
        bounded(largest + 1)
    with pytest.raises(EvaluationError, match="not a real number"):
        BINARY[ast.Pow](-1, 0.5)
    assert BINARY[ast.Pow](-1, 10**9) == 1  # no bits are added by a power of -1, 0 or 1


def test_signs_and_inversion() -> None:
    assert (UNARY[ast.USub](3), UNARY[ast.Invert](3), UNARY[ast.Not](3)) == (-3, -4, False)
    with pytest.raises(EvaluationError, match="~ does not apply to True"):
        UNARY[ast.Invert](True)
    with pytest.raises(EvaluationError, match="- does not apply to the text 'a'"):
        UNARY[ast.USub]("a")


def test_only_values_of_one_kind_are_ordered() -> None:
    assert COMPARE[ast.Lt](Fraction(1, 3), 0.5)
    assert not COMPARE[ast.GtE]("a", "b")
    with pytest.raises(EvaluationError, match="< does not apply to the number 1 and the text 'a'"):
        COMPARE[ast.Lt](1, "a")
    assert COMPARE[ast.In](2, range(3))
    assert COMPARE[ast.NotIn]("z", "abc")


def test_steps_are_counted() -> None:
    steps = Steps(3)
    assert list(steps.iterate((1, 2))) == [1, 2]
    assert steps.left == 1
    with pytest.raises(EvaluationError, match="too many steps"):
        list(steps.iterate((1, 2)))
    assert Steps(4).charge([(1, 2)]) == [(1, 2)]  # the list, the tuple, two numbers
    with pytest.raises(EvaluationError, match="too many steps"):
        Steps(3).charge([(1, 2)])


def test_items_and_attributes() -> None:
    table = {"size": 8, 1: "one"}
    assert (attribute(table, "size"), item(table, 1), item([4, 5], -1)) == (8, "one", 5)
    with pytest.raises(EvaluationError) as caught:
        attribute(table, "sise")
    assert (str(caught.value), caught.value.instead) == (
        "there is no sise in it",
        "did you mean size?",
    )
    with pytest.raises(EvaluationError, match="the list has 2 items, there is no item 2"):
        item([4, 5], 2)
    with pytest.raises(EvaluationError, match=r"\[0\] does not apply to the number 3"):
        item(3, 0)
    assert items_of({"b", "a"}) == ["a", "b"]
    with pytest.raises(EvaluationError, match="the number 3 is not a list"):
        items_of(3)


def test_whole_numbers() -> None:
    assert finite_int(4.0, "a limit") == 4
    for value in (4.5, float("inf"), "4"):
        with pytest.raises(EvaluationError, match="a limit must be a whole number, not"):
            finite_int(value, "a limit")
    assert [describe(value) for value in (None, 1, "a", [])] == [
        "None",
        "the number 1",
        "the text 'a'",
        "a list",
    ]
