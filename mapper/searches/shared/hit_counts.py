"""Count how often a search found what an earlier design, or an earlier run, had left."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class HitCount:
    """How many things searches have `asked` for, and how many were there already (`shared`)."""

    asked: int = 0
    shared: int = 0


STRUCTURES = HitCount()
"""Templates of an Einsum with their steps, without energies, speeds and sizes: of this process."""
EXECUTIONS = HitCount()
"""Designs whose mappings were to be executed on the machine: of this process."""
EINSUMS = HitCount()
"""Einsums on a grid whose mappings were to be bounded: of this process."""
SIMULATIONS = HitCount()
"""Programs whose cycles a search on a grid asked for: of this process."""
SEARCHES = HitCount()
"""Designs with a search that answers others like them, too; those found one made: as above."""


@dataclass(slots=True)
class Keeping:
    """Whether structures are kept for later designs.

    Not where a limit of memory would make answers depend on earlier designs. `answers`: whether
    whole answers of other processes and runs are looked up, too; not where time is measured.
    """

    enabled: bool = True
    answers: bool = True


KEEPING = Keeping()
"""Of this process."""
