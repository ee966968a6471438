"""Where an element's cycles went: busy, waiting for input or output, idle.

As the reference engine accounts them: an element whose main thread is busy, or any of its threads
is, is busy; else it waits for output, for input, or is idle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.simulator.fast.certificate import units_of
from tilewright.simulator.fast.fast_entries import held, tally
from tilewright.simulator.fast.graph import Graph, Ints, Layout
from tilewright.simulator.fast.op_tables import Q_ASYNC, Q_GAP, Q_SIZE
from tilewright.simulator.fast.script import ADVANCE, FABRIC, WAIT, Script
from tilewright.simulator.fast.unit_times import X_COMPLETION, X_ISSUE, Times
from tilewright.simulator.run.trace import BUSY, WAIT_INPUT, WAIT_OUTPUT

Marks = npt.NDArray[np.uint8]
MARK_BUSY, MARK_INPUT, MARK_OUTPUT = 4, 1, 2
"""Bits of a cycle."""


class Tally(NamedTuple):
    """Elements whose cycles are counted."""

    first: Ints
    """The first unit of each."""
    marks: Marks
    """Room for one of them."""
    counts: Ints
    """(elements, 8) cycles of each combination of marks."""


def main_ends(layout: Layout, times: Times, number: int, script: Script) -> Ints:
    """Return the cycle at which the main thread of each of a code's elements has ended."""
    last = times.last
    now = np.zeros(layout.elements[number].size, dtype=np.int64)
    for event, value, _ in script.ending:
        if event == ADVANCE:
            now += value
        elif event == WAIT:
            done = last[units_of(layout, number, script, value)]
            now = np.maximum(now, done + times.header[X_COMPLETION])
        elif event == FABRIC:
            units, op = units_of(layout, number, script, value), script.tables.op[value]
            now = times.start[units] + times.header[X_ISSUE]
            if not op[Q_ASYNC]:
                now = last[units] + op[Q_GAP]
    return now


def element_cycles(
    tables: tuple[Graph, Layout], times: Times, scripts: Sequence[Script], cycles: int, found: Ints
) -> None:
    """Write the cycles per state to (elements, 4)."""
    graph, layout = tables
    for number, script in enumerate(scripts):
        mine = layout.elements[number]
        if script.overlaps:
            events = np.array(script.walk.events, dtype=np.int64)
            first = layout.first[number] + script.size * np.arange(mine.size, dtype=np.int64)
            counts = np.zeros((mine.size, 8), dtype=np.int64)
            tally(graph, times, events, Tally(first, np.zeros(cycles, dtype=np.uint8), counts))
            found[mine] = _states(counts)
        else:
            found[mine] = _in_turn(tables, times, (number, script), cycles)


def _states(counts: Ints) -> Ints:
    """Return the cycles per state from those per combination of marks."""
    found = np.empty((counts.shape[0], 4), dtype=np.int64)
    found[:, 0], found[:, WAIT_INPUT] = counts[:, 0], counts[:, MARK_INPUT]
    found[:, WAIT_OUTPUT] = counts[:, MARK_OUTPUT:MARK_BUSY].sum(axis=1)
    found[:, BUSY] = counts[:, MARK_BUSY:].sum(axis=1)
    return found


def _in_turn(
    tables: tuple[Graph, Layout], times: Times, which: tuple[int, Script], cycles: int
) -> Ints:
    """Account elements without microthreads: they are busy unless their operation waits."""
    graph, layout = tables
    number, script = which
    end = main_ends(layout, times, number, script)
    units = layout.first[number] + np.arange(end.size * script.size).reshape(end.size, script.size)
    op = script.tables.op
    waited = times.last[units] - times.start[units] - op[:, Q_GAP] * (op[:, Q_SIZE] - 1)
    full = np.zeros(units.size, dtype=np.int64)
    waiting = np.flatnonzero(waited > 0)
    full[waiting] = _held(graph, times, units.ravel()[waiting])
    found = np.zeros((end.size, 4), dtype=np.int64)
    found[:, WAIT_OUTPUT] = full.reshape(units.shape).sum(axis=1)
    found[:, WAIT_INPUT] = waited.sum(axis=1) - found[:, WAIT_OUTPUT]
    found[:, BUSY] = end - found.sum(axis=1)
    found[:, 0] = cycles - end
    return found


def _held(graph: Graph, times: Times, units: Ints) -> Ints:
    """Return for how many cycles each of some units waits for space."""
    found = np.zeros_like(units)
    held(graph, times, units, found)
    return found
