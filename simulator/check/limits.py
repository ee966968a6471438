"""The greatest numbers that a program may have, and the errors that all checks share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tilewright.simulator.isa.machine_errors import ProgramError

MAX_EXTENT: Final = 65535
"""Extents are u16 in the descriptors' documentation."""
MAX_FABRIC_EXTENT: Final = 0x7FFE
"""0x7fff stands for an endless stream (wafer.md §4.1)."""
MIN_OFFSET, MAX_OFFSET = -(1 << 15), (1 << 15) - 1
"""Offsets are i16 in the descriptors' documentation."""
MAX_NUMBER: Final = (1 << 31) - 1
"""Greatest size of a count, counter or offset."""


def check_number(place: str, number: int) -> None:
    """Raise ProgramError if a number is above 2**31 - 1 in size; `place` begins the message."""
    if abs(number) > MAX_NUMBER:
        raise ProgramError(
            f"{place}: a number is too large", value=number, instead=f"at most {MAX_NUMBER}"
        )


def check_offset(place: str, offset: int) -> None:
    """Raise ProgramError if an offset of a descriptor is no i16; `place` begins the message."""
    if not MIN_OFFSET <= offset <= MAX_OFFSET:
        raise ProgramError(
            f"{place}: an offset is outside {MIN_OFFSET}..{MAX_OFFSET}",
            value=offset,
            instead="a buffer of its own for what lies farther on",
        )


def unknown_name(place: str, kind: str, name: str, names: Iterable[str]) -> ProgramError:
    """Return the error of an unknown name.

    `place` begins the message, `kind` says what is named, `names` are those that exist.
    """
    shown = ", ".join(sorted(names)) or "(none)"
    return ProgramError(f"{place} unknown {kind}", value=name, instead=f"one of {shown}")
