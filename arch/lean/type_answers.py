"""Remember numba's answers to questions of types while a kernel is compiled: a fifth of its time.

For each `a + b` numba asks some twenty rules which types the result may have. For numbers, and for
items of arrays, the answer follows from the types alone, and a kernel asks the same question
hundreds of times. To numba each number that is written in a program is a type of its own; but for
a power the answer is that for other numbers of its type.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, cast

from numba.core import types
from numba.core.types import functions

_types: Any = types  # numba's classes have no annotations
_NUMBERS: Final = (_types.Integer, _types.Float, _types.Boolean, _types.IntegerLiteral)
ANY_VALUE: Final = frozenset(
    getattr(operator, name)
    for name in (
        *("add", "sub", "mul", "truediv", "floordiv", "mod", "and_", "or_", "xor"),
        *("iadd", "isub", "imul", "ifloordiv", "imod", "iand", "ior", "ixor"),
        *("lshift", "rshift", "ilshift", "irshift", "lt", "le", "gt", "ge", "eq", "ne"),
    )
)
"""Operations whose type does not depend on the values of numbers."""
_ITEMS: Final = frozenset((operator.getitem, operator.setitem))
_ANSWERS: Final[dict[Any, Any]] = {}


@contextmanager
def remembered_answers() -> Iterator[None]:
    """Remember inside the context which type an operation on numbers or array items has."""
    home: Any = cast(Any, functions).BaseFunction
    ask = home.get_call_type

    def get_call_type(function: Any, context: Any, arguments: Any, keywords: Any) -> Any:
        question = None if keywords else _question(function, arguments)
        if question is None:
            return ask(function, context, arguments, keywords)
        if question not in _ANSWERS:
            _ANSWERS[question] = ask(function, context, arguments, keywords)
        return _ANSWERS[question]

    home.get_call_type = get_call_type
    try:
        yield
    finally:
        home.get_call_type = ask


def _question(function: Any, arguments: Any) -> Any:
    """Return what the answer follows from, or None if that is not known."""
    operation = function.typing_key
    rest = arguments[1:] if operation in _ITEMS else arguments
    if not all(isinstance(argument, _NUMBERS) for argument in rest):
        return None
    if operation in _ITEMS and not isinstance(arguments[0], _types.Array):
        return None
    if operation in _ITEMS or operation in ANY_VALUE:
        return function, tuple(_types.unliteral(argument) for argument in arguments)
    return function, tuple(arguments)
