"""The certificate's check of the issue slot: no word of a microthread goes while main has it.

The solver finds times as if the main thread and microthreads had issue slots of their own. If no
word goes in a cycle in which the main thread is busy, it never waits and never holds a word back,
so the times are those of the machine (engines.md §5).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.fast.proofs.certificate import units_of
from tilewright.simulator.fast.times.segments import M, R, T
from tilewright.simulator.fast.units import graph as at
from tilewright.simulator.fast.units.graph import (
    X_COMPLETION,
    X_ISSUE,
    Ints,
    Times,
    UnitGraph,
    UnitLayout,
)
from tilewright.simulator.fast.walk.script import AFTER, COMPLETE, Script

Bools = npt.NDArray[np.bool_]


def check_slots(
    graph: UnitGraph, layout: UnitLayout, times: Times, scripts: Sequence[Script]
) -> None:
    """Check that no word of a microthread goes while its element's main thread is busy.

    graph, times: solved; scripts: per code its runs of operations. Raises NotCovered with the
    elements.
    """
    bad = [
        layout.elements[number][_held_up(graph, times, script, units_of(layout, number, script, 0))]
        for number, script in enumerate(scripts)
        if len(script.tables.span)
    ]
    if any(elements.size for elements in bad):
        raise NotCovered(
            "a microthread wants the issue slot that the main thread has",
            elements=np.concatenate(bad),
        )


def _held_up(graph: UnitGraph, times: Times, script: Script, first_units: Ints) -> Bools:
    """Return the elements in which a word of a microthread goes while main has the issue slot."""
    has_word = np.zeros(first_units.size, dtype=bool)
    starts: dict[int, Ints] = {}
    for first, count, cycles, op in script.tables.span.tolist():
        if first not in starts:
            terms = script.tables.span_term[first : first + count].tolist()
            starts[first] = np.max(
                [_base(graph, times, first_units, kind, before) + c for kind, before, c in terms],
                axis=0,
            )
        has_word |= _has_word(times, first_units + op, starts[first], cycles)
    return has_word


def _base(graph: UnitGraph, times: Times, first_units: Ints, kind: int, before: int) -> Ints:
    """Return for each element of a code the cycle from which a term of a script counts.

    `kind`, `before`: kind of the term and the earlier operation that it names.
    """
    if kind < AFTER:
        return np.zeros(first_units.size, dtype=np.int64)
    units = first_units + before
    if kind == COMPLETE:
        return np.asarray(times.last[units] + times.header[X_COMPLETION])
    issued = times.start[units] + times.header[X_ISSUE]
    passed = times.last[units] + graph.unit[units, at.U_GAP]
    return np.asarray(np.where(graph.unit[units, at.U_ASYNC] == 1, issued, passed))


def _has_word(times: Times, units: Ints, start: Ints, cycles: int) -> Bools:
    """Return for each unit whether one of its words goes in the `cycles` cycles from `start` on."""
    has_word = np.zeros(units.size, dtype=bool)
    near = np.flatnonzero((times.first[units] < start + cycles) & (times.last[units] >= start))
    for piece in range(int(times.pieces[units[near]].max(initial=0))):
        rows = times.segment[units[near], piece]
        begins, paces = rows[:, T], np.maximum(rows[:, R], 1)
        skipped = np.maximum(0, -((begins - start[near]) // paces))
        word = begins + rows[:, R] * skipped
        inside = (skipped < rows[:, M]) & (word >= start[near]) & (word < start[near] + cycles)
        has_word[near] |= inside & (piece < times.pieces[units[near]])
    return has_word
