"""The text of an error: what, where, value, instead."""

from __future__ import annotations

import pytest

from tilewright.arch.errors import (
    CATEGORIES,
    ExpressionError,
    SpecError,
    TilewrightError,
    Where,
    placed,
)


def all_errors(base: type[TilewrightError]) -> list[type[TilewrightError]]:
    return [base, *(error for child in base.__subclasses__() for error in all_errors(child))]


def test_one_line_for_each_thing_to_say() -> None:
    error = TilewrightError("it is wrong", where=Where("a.yaml", 3, 7, "arch.nodes[0]"), value=[1],
                            instead="something right")  # fmt: skip
    assert str(error).splitlines() == [
        "it is wrong",
        "  at:      a.yaml:3:7 (arch.nodes[0])",
        "  value:   [1]",
        "  instead: something right",
    ]


def test_what_is_not_known_is_left_out() -> None:
    assert str(TilewrightError("it is wrong")) == "it is wrong"
    assert str(Where("a.yaml")) == "a.yaml"
    assert str(Where("a.yaml", 3)) == "a.yaml:3"


def test_none_is_a_value() -> None:
    assert TilewrightError("x", value=None).has_value
    assert str(TilewrightError("x", value=None)).endswith("  value:   None")
    assert not TilewrightError("x").has_value


def test_long_texts_are_cut() -> None:
    lines = str(TilewrightError("w" * 5000, value="v" * 5000, instead="i" * 5000)).splitlines()
    assert max(map(len, lines)) < 1300
    assert len(lines[1]) < 140
    assert all(line.endswith("…") for line in lines)


def test_a_block_gives_its_errors_a_place() -> None:
    place = Where("study.yaml", 4)
    with pytest.raises(SpecError) as caught, placed(place, "objective 2"):
        raise ExpressionError("no such name", value="x", instead="y", where=Where("inner.yaml"))
    error = caught.value
    assert (error.what, error.where) == ("objective 2: no such name", place)
    assert (error.value, error.instead) == ("x", "y")


def test_a_block_without_a_place_keeps_that_of_the_error() -> None:
    with pytest.raises(SpecError) as caught, placed(None):
        raise ExpressionError("no such name", where=Where("inner.yaml"))
    assert caught.value.where == Where("inner.yaml")
    assert not caught.value.has_value


def test_other_errors_pass_a_block() -> None:
    with pytest.raises(ZeroDivisionError), placed(Where("study.yaml")):
        raise ZeroDivisionError


def test_every_error_has_a_category_that_is_explained() -> None:
    """`all_errors` are those of the modules imported so far, in whatever order tests run."""
    assert {error.category for error in all_errors(TilewrightError)} <= set(CATEGORIES)
