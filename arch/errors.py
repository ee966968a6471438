"""The base of every error that a user can cause, and the place in a file where it happened."""

from __future__ import annotations

from dataclasses import dataclass

_NOT_GIVEN = object()
_LONGEST = 1200  # a name of ten thousand characters is not read to its end


@dataclass(frozen=True, slots=True)
class Where:
    """A place in a user's file: 1-based line and column, and the path of the field."""

    file: str
    line: int | None = None
    column: int | None = None
    path: str = ""

    def __str__(self) -> str:
        position = "".join(
            f":{number}" for number in (self.line, self.column) if number is not None
        )
        return f"{self.file}{position}" + (f" ({self.path})" if self.path else "")


class TilewrightError(Exception):
    """Say what is wrong, where, with which value, and what to write instead.

    The command line prints it and ends with `exit_code`; nothing catches it to go on, except a
    study, which records the candidate as infeasible with this text as the reason.
    """

    exit_code = 2

    def __init__(
        self,
        what: str,
        *,
        where: Where | None = None,
        value: object = _NOT_GIVEN,
        instead: str | None = None,
    ) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.value = value
        self.instead = instead

    @property
    def has_value(self) -> bool:
        return self.value is not _NOT_GIVEN

    def __str__(self) -> str:
        lines = [_shorten(self.what, _LONGEST)]
        if self.where is not None:
            lines.append(f"  at:      {self.where}")
        if self.has_value:
            lines.append(f"  value:   {_shorten(repr(self.value))}")
        if self.instead:
            lines.append(f"  instead: {_shorten(self.instead, _LONGEST)}")
        return "\n".join(lines)


class SpecError(TilewrightError):
    """A file of the user (architecture, workload, mapping, study, profile) does not hold."""


class ExpressionError(SpecError):
    """An expression in a file cannot be evaluated, or asks for what is not allowed."""


def _shorten(text: str, limit: int = 120) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
