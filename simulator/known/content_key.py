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


_AS_WRITTEN: Final[Mapping[str, str]] = {}


def content_key(*values: object, names: Mapping[str, str] = _AS_WRITTEN) -> str:
    """Return 32 hex digits that tell values apart by all that they hold.

    names: texts that stand for others in the values.

    Values are numbers, texts, None, and tuples, lists, sets, mappings and frozen dataclasses of
    them; a mapping's order counts, a set's does not. Raises NoKeyError for any other type.
    """
    text = ";".join(_text(value, names) for value in values)
    return sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:32]


def _text(value: object, names: Mapping[str, str]) -> str:
    kind = type(value)
    if isinstance(value, str) and value in names:
        return repr(names[value])
    if kind in _ATOMS or kind is bool:
        return repr(value)
    if isinstance(value, Mapping):
        pairs = (f"{_text(key, names)}:{_text(of, names)}" for key, of in value.items())
        return f"{{{','.join(pairs)}}}"
    if isinstance(value, tuple | list):
        return f"({','.join(_text(part, names) for part in value)})"
    if isinstance(value, Set):
        return f"<{','.join(sorted(_text(part, names) for part in value))}>"
    if is_dataclass(value) and not isinstance(value, type):
        held = ((field.name, getattr(value, field.name)) for field in fields(value))
        parts = (f"{name}={_text(part, names)}" for name, part in held)
        return f"{kind.__qualname__}({','.join(parts)})"
    raise NoKeyError(f"no key for a {kind.__qualname__}")
