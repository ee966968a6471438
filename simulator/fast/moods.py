"""Where an element's cycles went: busy, waiting for input or output, idle.

As the reference engine accounts them: an element whose main thread is busy, or any of its threads
is, is busy; else it waits for output, for input, or is idle.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tilewright.simulator.fast.checks import units_of
from tilewright.simulator.fast.entries import held, paint
from tilewright.simulator.fast.graph import Graph, Ints, Layout
from tilewright.simulator.fast.op_tables import Q_ASYNC, Q_GAP
from tilewright.simulator.fast.script import ADVANCE, FABRIC, WAIT, Script
from tilewright.simulator.fast.times import X_COMPLETION, X_ISSUE, Times
from tilewright.simulator.trace import BUSY, WAIT_INPUT, WAIT_OUTPUT

Marks = npt.NDArray[np.uint8]
MARK_BUSY, MARK_INPUT, MARK_OUTPUT = 4, 1, 2
"""Bits of a cycle."""


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
            for i, element in enumerate(mine.tolist()):
                marks = np.zeros(cycles, dtype=np.uint8)
                paint(graph, times, events, layout.first[number] + i * script.size, marks)
                found[element] = _tally(marks)
        else:
            found[mine] = _in_turn(tables, times, (number, script), cycles)


def _tally(marks: Marks) -> Ints:
    counts = np.bincount(marks, minlength=8)
    busy = int(counts[MARK_BUSY:].sum())
    out = int(counts[MARK_OUTPUT:MARK_BUSY].sum())
    return np.array([counts[0], busy, counts[MARK_INPUT], out], dtype=np.int64)


def _in_turn(
    tables: tuple[Graph, Layout], times: Times, which: tuple[int, Script], cycles: int
) -> Ints:
    """Account elements without microthreads: they are busy unless their operation waits."""
    graph, layout = tables
    number, script = which
    end = main_ends(layout, times, number, script)
    found = np.zeros((end.size, 4), dtype=np.int64)
    last = times.last
    for k, op in enumerate(script.walk.ops):
        units = units_of(layout, number, script, k)
        waited = last[units] - times.start[units] - op.gap * (op.extent - 1)
        out = np.zeros_like(waited)
        held(graph, times, units[waited > 0], out)
        full = np.zeros_like(waited)
        full[waited > 0] = out[: int((waited > 0).sum())]
        found[:, WAIT_OUTPUT] += full
        found[:, WAIT_INPUT] += waited - full
    found[:, BUSY] = end - found.sum(axis=1)
    found[:, 0] = cycles - end
    return found
