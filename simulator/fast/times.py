"""The times of all units, as the kernels of `solve.py` take them."""

from __future__ import annotations

from typing import Final, NamedTuple

from tilewright.simulator.fast.graph import Ints

UNKNOWN: Final = -1
(
    X_EVALUATIONS,
    X_LIMIT,  # evaluations after which to give up
    X_OUTCOME,
    X_ISSUE,  # cycles of the profile
    X_COMPLETION,
    X_WINDOW,  # cycles after the earliest start; units that start later wait
    X_WIDTH,
) = range(7)
FOREVER: Final = 1 << 50
SOLVED, TOO_LONG, TOO_FINE = range(3)
"""Outcomes, beside UNKNOWN: some units wait for each other."""


class Times(NamedTuple):
    """The times of all units, and room to work."""

    segment: Ints
    """(units, room, 3)."""
    pieces: Ints
    """Segments per unit; 0: not known."""
    start: Ints
    """Dispatch of each unit, the earliest cycle of its first element."""
    first: Ints
    """Time of each unit's first word, once solved."""
    last: Ints
    """While solving, `first` and `last` hold the start of units that wait, and these units."""
    header: Ints
    queue: Ints
    """Ring of the units to evaluate; its tail is the last number."""
    queued: Ints
    work: Ints
    """(4, room, 3)."""
