"""A key of frozen values by their content: equal in any process, run and machine."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass
from fractions import Fraction
from hashlib import sha256
from typing import Final

_ATOMS: Final = (str, int, float, Fraction, type(None))


class NoKeyError(TypeError):
    """A value has parts that are not plain data, so that nothing can be said of equal ones."""


def content_key(*values: object) -> str:
    """Return 32 hex digits that tell values apart by all that they hold.

    Values are numbers, texts, None, and tuples, lists, sets, mappings and frozen dataclasses of
    them; a mapping's order counts, a set's does not. Raises NoKeyError for any other type.
    """
    text = ";".join(map(_text, values))
    return sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:32]


def _text(value: object) -> str:
    kind = type(value)
    if kind in _ATOMS or kind is bool:
        return repr(value)
    if isinstance(value, Mapping):
        return f"{{{','.join(f'{_text(key)}:{_text(of)}' for key, of in value.items())}}}"
    if isinstance(value, tuple | list):
        return f"({','.join(map(_text, value))})"
    if isinstance(value, Set):
        return f"<{','.join(sorted(map(_text, value)))}>"
    if is_dataclass(value) and not isinstance(value, type):
        parts = (f"{field.name}={_text(getattr(value, field.name))}" for field in fields(value))
        return f"{kind.__qualname__}({','.join(parts)})"
    raise NoKeyError(f"no key for a {kind.__qualname__}")
