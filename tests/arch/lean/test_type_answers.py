"""Remembered answers are those that numba gives, for the same types only."""

from __future__ import annotations

from itertools import product

import numpy as np
from numba import njit, types
from numba.core.registry import cpu_target
from numba.core.types import functions

from tilewright.arch.lean.type_answers import ANY_VALUE, remembered_answers


def mixed(a, b):
    return (a + b) * a - (b // 2 if b > a else a**2)


def test_every_combination_of_types_gives_what_python_gives() -> None:
    cases = [(2, 3), (2.5, 3), (3, 2.5), (True, 4), (np.uint32(7), 2), (np.float32(1.5), 2.0)]
    for first, second in [*cases, cases[-1]]:
        with remembered_answers():
            compiled = njit(mixed)
            found = compiled(first, second)
        plain = njit(mixed)(first, second)
        assert found == plain == mixed(first, second)
        assert type(found) is type(plain)


def test_numba_is_as_before() -> None:
    before = functions.BaseFunction.get_call_type
    with remembered_answers():
        assert functions.BaseFunction.get_call_type is not before
    assert functions.BaseFunction.get_call_type is before


def test_a_written_number_has_the_answer_of_its_type() -> None:
    context = cpu_target.typing_context
    context.refresh()
    numbers = [types.int64, types.uint32, types.float32, types.boolean]
    written = [types.literal(value) for value in (0, 7, -3, 1 << 40)]
    for operation in ANY_VALUE:
        function = context.resolve_value_type(operation)
        for first, second in product(numbers, written):
            for pair in ((first, second), (second, first)):
                given = answer(function, context, pair)
                assert answer(function, context, tuple(map(types.unliteral, pair))) == given


def answer(function, context, pair):
    try:
        return function.get_call_type(context, pair, {})
    except Exception:  # no such operation on these types
        return None
