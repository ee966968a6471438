"""Choices of a kernel as a study makes them: fields of a dataclass, checked by their types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from tilewright.mapper.workload.errors import InfeasibleMapping

Choices = TypeVar("Choices")


def choices_of(kind: type[Choices], choices: Mapping[str, str | int]) -> Choices:
    """Return the choices of a kernel from their values by name; others keep their defaults.

    `kind`: a dataclass whose fields are `int` (1 or more) or a `Literal`. Raises InfeasibleMapping
    for an unknown name and for a value that is none of the field's.
    """
    hints = get_type_hints(kind)
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    for name, value in choices.items():
        if name not in names:
            raise InfeasibleMapping(
                f"unknown mapping choice {name!r}", instead=f"one of {', '.join(names)}"
            )
        _check(name, value, hints[name])
    return kind(**choices)


def _check(name: str, value: str | int, hint: Any) -> None:
    if get_origin(hint) is Literal:
        if value not in get_args(hint):
            allowed = ", ".join(map(str, get_args(hint)))
            raise InfeasibleMapping(f"unknown {name}", value=value, instead=f"one of {allowed}")
    elif not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InfeasibleMapping(f"{name} must be a whole number", value=value, instead="≥ 1")
