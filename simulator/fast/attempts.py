"""Attempts at a solution: plain and quick first, then with order and room."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tilewright.simulator.fast.fast_entries import arbiter_address, solve
from tilewright.simulator.fast.graph import (
    B_WIDTH,
    C_RIVALS,
    FOREVER,
    SOLVED,
    TOO_LONG,
    U_IN,
    U_OUT,
    UNKNOWN,
    X_COMPLETION,
    X_ISSUE,
    X_LIMIT,
    X_OUTCOME,
    X_PLAY,
    X_WIDTH,
    X_WINDOW,
    Graph,
    Times,
)
from tilewright.simulator.fast.no_certificate import Ints, NotCovered

MOST_SEGMENTS: Final = 1 << 26
MOST_IN_ORDER: Final = 1 << 17
"""Units beyond which finding an order for them takes as long as running the program."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """How far to go for a solution."""

    room: int
    """Segments per unit."""
    window: int
    """Cycles; see X_WINDOW."""
    eighths: int
    """Evaluations per unit, in eighths."""
    spare: int
    """Evaluations beside."""


ATTEMPTS: Final = (
    *(Attempt(room, FOREVER, 9, 1024) for room in (2, 4)),
    *(Attempt(room, 16, 8 * 8, 1 << 16) for room in (4, 16, 64)),
)
"""The next one is for what was too long in any order, or too fine, for those before."""
PLAYED: Final = (
    Attempt(4, FOREVER, 9, 1024),
    *(Attempt(room, 16, 8 * 2, 1 << 14) for room in (16, 64)),
)
"""Where arbiters decide: guesses may go up and down, each evaluation plays the words of a link."""


def settled(graph: Graph, cycles: tuple[int, int]) -> Times:
    """Return the times of all units; cycles: issue and completion. Raises NotCovered."""
    units, hopeless = graph.unit.shape[0], -1
    for attempt in PLAYED if graph.rival.size else ATTEMPTS:
        if attempt.window == hopeless:
            continue
        if units * attempt.room > MOST_SEGMENTS:
            raise NotCovered("too many operations")
        if units > MOST_IN_ORDER and attempt.window < FOREVER:
            break
        times = new_times(graph, attempt, cycles)
        solve(graph, times)
        if times.header[X_OUTCOME] == SOLVED:
            return times
        if times.header[X_OUTCOME] == UNKNOWN:
            waiting = ports_of(graph, times.pieces == 0)
            raise NotCovered("operations wait for each other", fifos=waiting)
        if times.header[X_OUTCOME] == TOO_LONG:
            hopeless = attempt.window  # room for finer times changes nothing
    if units > MOST_IN_ORDER:
        raise NotCovered("the times do not settle in a few segments")
    restless = ports_of(graph, times.queued == 1)
    raise NotCovered("the times do not settle in a few segments", fifos=restless)


def ports_of(graph: Graph, units: npt.NDArray[np.bool_]) -> Ints:
    """Return a FIFO of each of some units."""
    port = graph.unit[units]
    return np.unique(np.where(port[:, U_IN] >= 0, port[:, U_IN], port[:, U_OUT]))


def new_times(graph: Graph, attempt: Attempt, cycles: tuple[int, int]) -> Times:
    """Return room for the times of a graph; cycles: issue and completion."""
    units = graph.unit.shape[0]
    played = units if graph.rival.size else 0
    header = np.zeros(X_WIDTH, dtype=np.int64)
    header[X_LIMIT] = attempt.eighths * units // 8 + attempt.spare
    header[X_WINDOW] = attempt.window
    header[X_ISSUE], header[X_COMPLETION] = cycles
    header[X_PLAY] = arbiter_address() if played else 0
    return Times(
        np.empty((units, attempt.room, 3), dtype=np.int64),
        np.zeros(units, dtype=np.int64),
        np.zeros(units, dtype=np.int64),
        np.zeros(units, dtype=np.int64),
        np.zeros(units, dtype=np.int64),
        header,
        np.zeros(units + 4, dtype=np.int64),
        np.zeros(units, dtype=np.int64),
        np.empty((4, attempt.room, 3), dtype=np.int64),
        np.empty((played, attempt.room, 3), dtype=np.int64),
        np.zeros(units, dtype=np.int64),
        np.zeros((int(graph.contest[:, C_RIVALS].max(initial=0)), B_WIDTH), dtype=np.int64),
    )
