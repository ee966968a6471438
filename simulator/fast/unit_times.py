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
    X_CHANGES,  # evaluations that changed something
    X_PLAY,  # address of the arbiter, where links are contended
    X_WORK,  # segments written and words played
    X_BUDGET,  # the most of them
    X_READY,  # segments of the readiness that the last evaluation left in work[2]
    X_WIDTH,
) = range(12)
FOREVER: Final = 1 << 50
SOLVED, TOO_LONG, TOO_FINE = range(3)
"""Outcomes, beside UNKNOWN: some units wait for each other."""

PLAY, KEEP = range(2)
"""What the arbiter is to do (arbiter.play_unit)."""
B_ENTRY, B_PIECE, B_DONE, B_LAST, B_NEXT, B_WIDTH = range(6)
"""A rival beside a unit: the entry and the place in its list of its next word, the cycle in which
it was served last, the first cycle in which it can bid."""


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
    ready: Ints
    """(units, room, 3) where links are contended: the cycles from which each word could go."""
    arrived: Ints
    """Segments of it per unit."""
    bid: Ints
    """Room for the rivals on one link (arbiter.py)."""
