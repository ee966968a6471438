"""How often searches of this process found what an earlier design had left."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class HitCount:
    """How many structures of searches were asked for, and how many of them were there.

    A structure is the templates of an Einsum with their steps, without energies, speeds and sizes.
    """

    asked: int = 0
    shared: int = 0


STRUCTURES = HitCount()
"""Of this process, since it began."""
