"""Remember numba's answers to questions of types while a kernel is compiled: a tenth of its time.

For each `a + b` numba asks some twenty rules which types the result may have. For numbers the
answer follows from their types alone, and a kernel asks the same question hundreds of times.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, cast

from numba.core import types
from numba.core.types import functions

_types: Any = types  # numba's classes have no annotations
_NUMBERS: Final = (_types.Integer, _types.Float, _types.Boolean, _types.IntegerLiteral)
_ANSWERS: Final[dict[Any, Any]] = {}


@contextmanager
def remembered_answers() -> Iterator[None]:
    """Remember inside the context which type a numeric operation on given types has."""
    home: Any = cast(Any, functions).BaseFunction
    ask = home.get_call_type

    def get_call_type(function: Any, context: Any, arguments: Any, keywords: Any) -> Any:
        if keywords or not all(isinstance(argument, _NUMBERS) for argument in arguments):
            return ask(function, context, arguments, keywords)
        question = function, tuple(arguments)
        if question not in _ANSWERS:
            _ANSWERS[question] = ask(function, context, arguments, keywords)
        return _ANSWERS[question]

    home.get_call_type = get_call_type
    try:
        yield
    finally:
        home.get_call_type = ask
