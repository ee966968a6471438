"""The lines of the text that a program was read from, for errors found when it is compiled."""

from __future__ import annotations

from collections.abc import Callable

from tilewright.arch.errors import Where
from tilewright.simulator.isa.memo import IdentityCache
from tilewright.simulator.program.program import Program

_READ = IdentityCache(16)


def remember(program: Program, place_of: Callable[[str, object], Where]) -> None:
    """Note how to find the line that an error of a program is about; for the last programs read."""
    _READ.of(program, "text", lambda: place_of)


def place_in_text(program: Program, message: str, part: object = None) -> Where | None:
    """Return the line of a part of a program, or the one that an error's text is about.

    None for a program that nobody read.
    """
    place_of = _READ.of(program, "text", lambda: None)
    return None if place_of is None else place_of(message, part)
