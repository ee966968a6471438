"""The base of every error that a user can cause, and the place in a file where it happened."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from errno import ENOMEM
from typing import Final

_NO_MEMORY = re.compile("failed to map segment|[Cc]annot allocate memory|can't start new thread")
_NOT_GIVEN = object()
_LONGEST = 1200  # a name of ten thousand characters is not read to its end


@dataclass(frozen=True, slots=True)
class Where:
    """A place in a user's file: line and column count from 1 (None: unknown).

    `path` is the path of the field in the data, such as `arch.nodes[2].size`, empty if unknown.
    """

    file: str
    line: int | None = None
    column: int | None = None
    path: str = ""

    def __str__(self) -> str:
        position = "".join(
            f":{number}" for number in (self.line, self.column) if number is not None
        )
        return f"{self.file}{position}" + (f" ({self.path})" if self.path else "")


CATEGORIES: Final = {
    "request": "what a command or a call asks for does not exist or cannot be done",
    "specification": "a file of the user is wrong: architecture, workload, study",
    "profile": "a machine profile is wrong",
    "mapping": "this is no mapping of the workload, or it does not compute the workload",
    "infeasible": "no mapping, or not this one, meets the architecture's limits",
    "program": "a program is refused before it runs",
    "input data": "the data or the settings of a run are wrong",
    "undefined behaviour": "a run did what is undefined on the machine",
    "deadlock": "a run can make no further progress",
    "limit": "a run takes more cycles than it was allowed",
    "run folder": "the folder of a study is missing, damaged or in use",
    "environment": "the machine that a study runs on gives no memory, time or workers",
}
"""What each category of errors means."""


class TilewrightError(Exception):
    """Base of all errors that a user can cause.

    `what` is wrong; `where` it stands in a file; `value` that was found; what to write `instead`.
    The text has one line for each. The command line prints it and ends with `exit_code` (2); a
    study records the design as infeasible with this text as the reason.
    """

    exit_code = 2
    category = "request"
    """The sort of error, one of CATEGORIES (docs/undefined.md)."""

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
        """Whether the error shows a value (which may be None)."""
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
    """A file or a setting of the user is wrong: architecture, workload, mapping, study, profile."""

    category = "specification"


@contextmanager
def placed(where: Where | None, subject: str = "") -> Iterator[None]:
    """Raise errors of the block anew as SpecError, at the place in the file that led to it.

    `where`: None keeps the error's; `subject`: in words, comes before what is wrong.
    """
    try:
        yield
    except TilewrightError as error:
        raise SpecError(
            f"{subject}: {error.what}" if subject else error.what,
            where=where or error.where,
            value=error.value,
            instead=error.instead,
        ) from None


class ExpressionError(SpecError):
    """An expression in a file cannot be evaluated, or asks for what is not allowed."""


def _shorten(text: str, limit: int = 120) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def lacks_memory(error: BaseException | None) -> bool:
    """Return whether an error, or one that it came from, says that the system has no memory left.

    A library that cannot be loaded, or a thread that cannot be started, says so in its text only.
    """
    while error is not None:
        if isinstance(error, MemoryError) or getattr(error, "errno", None) == ENOMEM:
            return True
        if type(error) in (OSError, ImportError, RuntimeError) and _NO_MEMORY.search(str(error)):
            return True
        error = error.__cause__ or error.__context__
    return False
