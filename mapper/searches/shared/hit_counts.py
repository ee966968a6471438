"""Count how often a search found a structure that an earlier design left in this process."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class HitCount:
    """How many structures searches have `asked` for, and how many were there already (`shared`).

    A structure is the templates of an Einsum with their steps, without energies, speeds and sizes.
    """

    asked: int = 0
    shared: int = 0


STRUCTURES = HitCount()
"""Of this process, since it began."""


@dataclass(slots=True)
class Keeping:
    """Whether structures are kept for later designs.

    Not where a limit of memory would make answers depend on earlier designs.
    """

    enabled: bool = True


KEEPING = Keeping()
"""Of this process."""
