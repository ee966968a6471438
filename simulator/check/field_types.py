"""Fields of programs made by hand: each has a value of the type that its class declares.

The parser gives nothing else; a builder hands on what it got. The checks behind and the printed
text rely on it (a bool is no number here: the text has no word for it).
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from tilewright.simulator.instructions.table import records
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.program.instruction import Instruction

M = TypeVar("M")
LEAVES: Final = (int, float, str, bool, NoneType)
NUMBERS: Final = {int: np.integer, float: np.floating}


def check_fields(value: Any, place: str) -> None:
    """Check that the fields of a dataclass, and of those inside it, have their declared types.

    `place` begins the message. Raises ProgramError.
    """
    pending = [value]  # bodies inside bodies may be deep
    while pending:
        part = pending.pop()
        for name, exact, items, hint in _fields(type(part)):  # type: ignore[arg-type]
            value_of_field = getattr(part, name)
            kind = type(value_of_field)
            if kind in exact or (
                items and kind is tuple and items.issuperset(map(type, value_of_field))
            ):
                continue
            pending += _parts(value_of_field, hint, f"{place}: {_title(part)}.{name}")


def new_record(kind: type[M], place: str, *values: Any, **properties: Any) -> M:
    """Return a new instance of a dataclass from its first fields and further ones by name.

    Raises ProgramError, which begins with `place`, for a name that is no further field.
    """
    if properties:
        names = _names(kind)[len(values) :]  # type: ignore[arg-type]
        for key, given in properties.items():
            if key not in names:
                close = get_close_matches(key, names, n=1)
                raise ProgramError(
                    f"{place}: unknown property {key}",
                    value=given,
                    instead=close[0] if close else "one of " + ", ".join(names),
                )
    return kind(*values, **properties)


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def _title(value: Any) -> str:
    name = getattr(value, "name", None)
    return f"{type(value).__name__} {name}" if isinstance(name, str) else type(value).__name__


@cache
def _fields(kind: Any) -> tuple[tuple[str, frozenset[type], frozenset[type], Any], ...]:
    """Return a row for each field of a dataclass, which says what values it may have.

    A row is (name, types that need no second look, types that items of a tuple may have without
    one, declared type).
    """
    hints = get_type_hints(kind)
    return tuple(
        (field.name, _leaves(_types(hint)), _items_of(_types(hint)), hint)
        for field in fields(kind)
        for hint in [hints[field.name]]
    )


def _leaves(kinds: tuple[Any, ...]) -> frozenset[type]:
    return frozenset(kind for kind in kinds if kind in LEAVES)


def _items_of(kinds: tuple[Any, ...]) -> frozenset[type]:
    """Return the plain types that the items of a tuple of any length may have.

    kinds: types of a field, such as tuple[int, ...]; those of other kinds give nothing.
    """
    item_types = [get_args(kind) for kind in kinds if get_origin(kind) is tuple]
    return frozenset().union(
        *(_leaves(items[:1]) for items in item_types if items[1:] == (Ellipsis,))
    )


def _types(hint: Any) -> tuple[Any, ...]:
    """Return the possible types of a field: those of a union, all instructions, or the one type."""
    return records() if hint is Instruction else _union_members(hint)


@cache
def _union_members(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _parts(value: Any, hint: Any, place: str) -> list[Any]:
    """Return the dataclasses of a field's value, which are to be looked at, too.

    Raises ProgramError, which begins with `place`, for a value of a wrong type.
    """
    kinds = _types(hint)
    if type(value) in kinds and is_dataclass(value):
        return [value]
    for kind in kinds:
        if get_origin(kind) is tuple and isinstance(value, tuple):
            return _items(value, get_args(kind), place)
        if type(value) is kind or (kind in NUMBERS and isinstance(value, NUMBERS[kind])):
            return []
    raise ProgramError(f"{place} has a wrong type", value=value, instead=_shown(hint))


def _items(values: tuple[Any, ...], kinds: tuple[Any, ...], place: str) -> list[Any]:
    if kinds[-1:] == (Ellipsis,):
        kinds = kinds[:1] * len(values)
    if len(values) != len(kinds):
        raise ProgramError(
            f"{place} has another number of values", value=values, instead=_shown(kinds)
        )
    parts = [_parts(item, kind, place) for item, kind in zip(values, kinds, strict=True)]
    return [part for several in parts for part in several]


def _shown(hint: Any) -> str:
    if isinstance(hint, tuple):
        return f"({', '.join(map(_shown, hint))})"
    if get_origin(hint) is tuple:
        return f"a tuple of {_shown(get_args(hint)[0])}"
    names = [getattr(kind, "__name__", str(kind)) for kind in _types(hint)]
    return " or ".join("nothing" if name == "NoneType" else name for name in names)
