"""Traced numbers: formulas, and the conditions under which they hold, against plain integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tilewright.simulator.compile.families.traced_numbers import Formulas, NumberTrace


def branching(a: Any, b: Any) -> list[Any]:
    """Return numbers that depend on which of two paths is taken."""
    if a < b:
        return [a + 2 * b, b // 2, 7]
    return [a - b, a % 3, 7]


def guided(compute: Callable[[Any, Any], list[Any]], first: tuple[int, int]) -> Any:
    trace = NumberTrace(first)
    results = compute(*trace.numbers)
    conditions = trace.guide()
    formulas = Formulas(results, conditions)

    def answer(numbers: tuple[int, int]) -> list[int] | None:
        slots = conditions.slots_for(numbers)
        return None if slots is None else formulas.filled(slots, [len(results)])[0].tolist()

    return answer


@pytest.mark.parametrize("first", [(2, 5), (5, 2), (3, 3)])
def test_formulas_give_what_integers_give_on_the_same_path(first: tuple[int, int]) -> None:
    answer = guided(branching, first)
    below = first[0] < first[1]
    for a in range(8):
        for b in range(8):
            expected = branching(a, b) if (a < b) == below else None
            assert answer((a, b)) == expected


def test_equality_is_a_condition_in_both_directions() -> None:
    answer = guided(lambda a, b: [1 if a == b else 0], (4, 4))
    assert answer((7, 7)) == [1]
    assert answer((7, 6)) is None
    other = guided(lambda a, b: [1 if a == b else 0], (4, 5))
    assert other((1, 2)) == [0]
    assert other((2, 2)) is None


def test_a_division_by_zero_is_another_path() -> None:
    answer = guided(lambda a, b: [a // b], (9, 2))
    assert answer((9, 4)) == [2]
    assert answer((9, 0)) is None


def test_large_numbers_are_refused() -> None:
    answer = guided(lambda a, b: [a * b], (2, 3))
    assert answer((1 << 15, 1 << 15)) == [1 << 30]
    assert answer((1 << 30, 1 << 30)) is None


def test_nothing_gets_lost_in_text_hashes_and_floats() -> None:
    (number,) = NumberTrace([3]).numbers
    for use in (str, hash, lambda n: f"{n}", lambda n: n * 0.5, lambda n: np.zeros(4)[n]):
        with pytest.raises((TypeError, IndexError)):
            use(number)
