"""Bounds as plain data: numbers of any kind, and refusals in the words of whoever asks."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, cast

import pytest

from tilewright.mapper.grid.grid_mapspace import GridFamily
from tilewright.mapper.workload.errors import InfeasibleMapping, OverfilledMemory, Refusal
from tilewright.simulator.execution.known.known_bounds import Bound, KnownBounds

VALUES = [
    7,
    2.5,
    Fraction(1, 3),
    OverfilledMemory("no room for A"),
    OverfilledMemory("no room for A"),
]
FAMILIES = [GridFamily((), None, frozenset(), str(number), 1) for number in range(len(VALUES))]


def bound_of(family: GridFamily, name: str = "A") -> float:
    value = VALUES[FAMILIES.index(family)]
    if isinstance(value, InfeasibleMapping):
        raise type(value)(value.what.replace("A", name))
    return cast(float, value)


def all_of(bounds: KnownBounds) -> list[Bound]:
    return [bounds.of(number) for number in range(len(FAMILIES))]


def test_plain_data_give_the_same_bounds() -> None:
    first = KnownBounds(FAMILIES, bound_of, {})
    assert not first.are_whole
    bounds = all_of(first)
    assert bounds[:3] == VALUES[:3]
    assert [type(bound) for bound in bounds[:3]] == [int, float, Fraction]
    assert first.are_whole
    assert first.plain()[3:] == [{"as": 3}, {"as": 3}]
    again = KnownBounds(FAMILIES, bound_of, {})
    again.read({"bounds": first.plain()})
    assert again.are_whole
    assert all_of(again) == bounds


def test_refusals_have_the_names_of_who_asks() -> None:
    known: dict[int, Any] = {}
    all_of(KnownBounds(FAMILIES, bound_of, known))
    other = KnownBounds(FAMILIES, lambda family: bound_of(family, "K"), known)
    assert {*map(str, all_of(other)[3:])} == {str(Refusal.of(OverfilledMemory("no room for K")))}


def test_what_is_known_of_some_is_not_asked_again() -> None:
    known: dict[int, Any] = {}
    KnownBounds(FAMILIES, bound_of, known).of(1)
    asked = []

    def ask(family: GridFamily) -> float:
        asked.append(FAMILIES.index(family))
        return bound_of(family)

    assert all_of(KnownBounds(FAMILIES, ask, known))[1] == 2.5
    assert asked == [0, 2, 3, 4]


@pytest.mark.parametrize(
    "damage", [None, {}, {"bounds": [1]}, {"bounds": ["a"] * 5}, {"bounds": [{"as": 9}] * 5},
               {"bounds": [[1, 0]] * 5}, {"bounds": [[1]] * 5}, {"bounds": [{}] * 5}]
)  # fmt: skip
def test_data_of_another_shape_are_not_read(damage: object) -> None:
    bounds = KnownBounds(FAMILIES, bound_of, {})
    bounds.read(damage)
    assert all_of(bounds) == all_of(KnownBounds(FAMILIES, bound_of, {}))


def test_a_family_that_is_no_refusal_is_bounded_by_itself() -> None:
    bounds = KnownBounds(FAMILIES, bound_of, {0: {"as": 1}})
    assert bounds.of(0) == 7
