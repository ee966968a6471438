"""Attempts to solve the times: quick ones first, then in order of starts and with more segments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from tilewright.simulator.fast.fast_entries import arbiter_addresses, solve
from tilewright.simulator.fast.no_certificate import Ints, NotCovered
from tilewright.simulator.fast.units.graph import (
    B_WIDTH,
    C_RIVALS,
    FOREVER,
    SOLVED,
    TOO_LONG,
    U_IN,
    U_OUT,
    UNKNOWN,
    X_ARBITRATE,
    X_COMPLETION,
    X_ISSUE,
    X_LIMIT,
    X_OUTCOME,
    X_STORE_READINESS,
    X_WIDTH,
    X_WINDOW,
    Times,
    UnitGraph,
)

UNSETTLED: Final = "the times do not settle in a few segments"
MOST_SEGMENTS: Final = 1 << 26
MOST_IN_ORDER: Final = 1 << 20
"""Units beyond which finding an order for them takes as long as running the program."""
PATIENCE: Final = 1 << 20
"""Evaluations of some 0.1 µs; in a column of 128 elements each one waits for space behind it."""


@dataclass(frozen=True, slots=True)
class SolverAttempt:
    """Hold the limits of one attempt to find the times of all units.

    A unit is one run of an operation on queues, or one message; its times are a list of segments,
    each of equally spaced cycles. `capacity`: most segments per unit. `window`: units that start
    later than this many cycles after the earliest one are evaluated later; FOREVER: units are
    evaluated in the order in which they became due. An attempt ends after eighths / 8 * units +
    spare evaluations.
    """

    capacity: int
    window: int
    eighths: int
    """Most evaluations per unit, in eighths."""
    spare: int
    """Evaluations beyond these."""


ATTEMPTS: Final = (
    *(SolverAttempt(capacity, FOREVER, 9, 1024) for capacity in (2, 4)),
    *(SolverAttempt(capacity, 16, 8 * 8, PATIENCE) for capacity in (4, 16, 64)),
)
"""An attempt follows where the last one took too many evaluations or too many segments."""
SPAN_ATTEMPTS: Final = (
    *(SolverAttempt(capacity, FOREVER, 8 * 4, 1024) for capacity in (4, 16)),
    *(SolverAttempt(capacity, 16, 8 * 8, PATIENCE) for capacity in (16, 64)),
)
"""With words that wait for the main thread, which cuts their segments, and a last pass over all."""
CONTENDED_ATTEMPTS: Final = (
    *(SolverAttempt(capacity, 16, 8 * 20, 1 << 12) for capacity in (16, 64)),
)
"""With an arbiter: guesses go up and down, and each evaluation simulates the words of a link.

With 64 segments one takes some 3 µs; times that settle mostly do after 10 to 50 per unit.
"""


def solved_times(
    graph: UnitGraph, issue: int, completion: int, patience: int | None = None
) -> Times:
    """Find the cycles of all words of a program's units, in attempts with growing limits.

    graph: units (runs of operations on queues, and messages) with their channels. issue: cycles
    from a dispatch to the main thread's next instruction; completion: from an operation's last
    value to its end. patience: most evaluations of the last attempt with contended links, None
    for 20 per unit. Raises NotCovered, with FIFOs of the units concerned, if units wait for each
    other, or if no attempt finds the times in its segments and evaluations.
    """
    units, failed_window, times = graph.unit.shape[0], -1, None
    for attempt in _attempts(graph, patience):
        if attempt.window == failed_window:
            continue
        times = new_times(graph, attempt, issue, completion)
        solve(graph, times)
        if times.header[X_OUTCOME] == SOLVED:
            return times
        if times.header[X_OUTCOME] == UNKNOWN:
            waiting = fifos_of(graph, times.pieces == 0)
            raise NotCovered("operations wait for each other", fifos=waiting)
        if times.header[X_OUTCOME] == TOO_LONG:
            failed_window = attempt.window  # more segments change nothing
    if times is None or units > MOST_IN_ORDER:
        raise NotCovered(UNSETTLED)
    unsolved = fifos_of(graph, times.queued == 1)
    raise NotCovered(UNSETTLED, fifos=unsolved)


def _attempts(graph: UnitGraph, patience: int | None) -> Iterator[SolverAttempt]:
    """Return the attempts in order; raise NotCovered where the segments take too much memory.

    A graph of many units is only worth the attempts without a window.
    """
    units = graph.unit.shape[0]
    attempts = SPAN_ATTEMPTS if graph.span.size else ATTEMPTS
    if graph.rival.size:
        attempts = _contended_attempts(units, patience)
    for attempt in attempts:
        if units * attempt.capacity > MOST_SEGMENTS:
            raise NotCovered("too many operations")
        if units > MOST_IN_ORDER and attempt.window < FOREVER:
            return
        yield attempt


def _contended_attempts(units: int, patience: int | None) -> tuple[SolverAttempt, ...]:
    """Return the attempts with contended links.

    patience: most evaluations of the last one. Those of the first one take an eighth of the time,
    so it may have eight times as many; where units alone are more, there is no attempt.
    """
    first, last = CONTENDED_ATTEMPTS
    if patience is None:
        return CONTENDED_ATTEMPTS
    most = min(first.eighths * units // 8 + first.spare, 8 * patience)
    if units > most:
        return ()
    return replace(first, eighths=0, spare=most), replace(last, eighths=0, spare=patience)


def fifos_of(graph: UnitGraph, units: npt.NDArray[np.bool_]) -> Ints:
    """Return the numbers of the FIFOs that chosen units use, one per unit, each once, sorted.

    A unit is one run of an operation on queues, or one message. units: (units,) mask of those
    chosen. A unit stands for its first input FIFO, or for its output FIFO if it has no input. The
    FIFOs tell which parts of a program a failure concerns.
    """
    port = graph.unit[units]
    return np.unique(np.where(port[:, U_IN] >= 0, port[:, U_IN], port[:, U_OUT]))


def new_times(graph: UnitGraph, attempt: SolverAttempt, issue: int, completion: int) -> Times:
    """Return empty times of all units of a graph, with the working space of the solver.

    A unit is one run of an operation on queues, or one message. attempt: limits of the solver, such
    as segments per unit; issue, completion: cycles of the profile from a dispatch to the main
    thread's next instruction, and from an operation's last value to its end.
    """
    units = graph.unit.shape[0]
    contended = units if graph.rival.size else 0
    header = np.zeros(X_WIDTH, dtype=np.int64)
    header[X_LIMIT] = attempt.eighths * units // 8 + attempt.spare
    header[X_WINDOW] = attempt.window
    header[X_ISSUE], header[X_COMPLETION] = issue, completion
    if contended:
        header[X_ARBITRATE], header[X_STORE_READINESS] = arbiter_addresses()
    return Times(
        np.empty((units, attempt.capacity, 3), dtype=np.int64),
        np.zeros(units, dtype=np.int64),
        np.zeros(units, dtype=np.int64),
        np.zeros(units, dtype=np.int64),
        np.zeros(units, dtype=np.int64),
        header,
        np.zeros(units + 4, dtype=np.int64),
        np.zeros(units, dtype=np.int64),
        np.empty((4, attempt.capacity, 3), dtype=np.int64),
        np.empty((contended, attempt.capacity, 3), dtype=np.int64),
        np.zeros(units, dtype=np.int64),
        np.zeros((int(graph.contest[:, C_RIVALS].max(initial=0)) + 1, B_WIDTH), dtype=np.int64),
    )
