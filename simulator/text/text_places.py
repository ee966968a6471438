"""The lines of the text that a program was read from, for errors found when it is compiled."""

from __future__ import annotations

from collections.abc import Callable

from tilewright.arch.errors import Where
from tilewright.arch.memo import IdentityCache
from tilewright.simulator.program.program import Program

_READ = IdentityCache(16)


def remember(program: Program, place_of: Callable[[str, object], Where]) -> None:
    """Remember, for a program read from a text, the function that finds the place of an error.

    `place_of(message, part)` gives the place. Only the last 16 programs are remembered.
    """
    _READ.of(program, "text", lambda: place_of)


def place_in_text(program: Program, message: str, part: object = None) -> Where | None:
    """Return where a part of a program stands in the text that the program was read from.

    Without a known part, the declaration that the error's `message` begins with. None for a program
    that was not read from a text.
    """
    place_of = _READ.of(program, "text", lambda: None)
    return None if place_of is None else place_of(message, part)
