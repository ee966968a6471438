"""Why elements stall: cycles by reason, and when, from the engine's final tables.

The reasons have the names of the public trace viewer of the vendor's simulator (machine.md).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.store_layout import StoreTable
from tilewright.simulator.compile.table_blocks import CodeLayout
from tilewright.simulator.diagnose.final_state import FinalState
from tilewright.simulator.run.trace import (
    ACCUMULATOR,
    BACKPRESSURE,
    CONFLICT,
    DEPENDENT,
    INTERLOCK,
    STALLS,
    WAIT_INPUT,
    WAIT_OUTPUT,
    WAVELETS,
)

Ints = npt.NDArray[np.int64]


def stall_cycles(final: FinalState, element_cycles: Ints) -> Ints:
    """Return the cycles for which each element stalls, by reason: (H, W, reasons of STALLS).

    `element_cycles`: (H, W, 4) by state; its waits are two of the reasons.
    """
    stalls = np.zeros((final.program.placement.size, len(STALLS)), dtype=np.int64)
    states = element_cycles.reshape(-1, 4)
    stalls[:, WAVELETS], stalls[:, BACKPRESSURE] = states[:, WAIT_INPUT], states[:, WAIT_OUTPUT]
    stalls[:, INTERLOCK] = final.element[:, at.E_INTERLOCK]
    for number, layout in enumerate(final.layouts):
        places = np.flatnonzero(final.program.placement.ravel() == number)
        runs, stalled = counters(final, layout, places)
        rows = operation_rows(final, layout)
        stalls[places, DEPENDENT] = runs @ rows[:, at.O_DEPENDENT]
        stalls[places, ACCUMULATOR] = sums = stalled @ rows[:, at.O_REDUCTION]
        stalls[places, CONFLICT] = stalled.sum(axis=1) - sums
    return stalls.reshape(*final.program.placement.shape, len(STALLS))


def operation_work(final: FinalState) -> tuple[Ints, ...]:
    """Return for each code (operations, 2): runs and cycles stalled on memory, of all elements."""
    work = []
    for number, layout in enumerate(final.layouts):
        places = np.flatnonzero(final.program.placement.ravel() == number)
        work.append(np.stack([c.sum(axis=0) for c in counters(final, layout, places)], axis=1))
    return tuple(work)


def operation_rows(final: FinalState, layout: CodeLayout) -> at.Table:
    """Return the rows of a code's operations in the final store, a row per operation.

    Further rows, for other rates of operations on registers, are left out.
    """
    first = layout.first["operation"]
    table = final.parts.operation.view(final.store)[first:]
    return table[: len(layout.operations)]


def counters(final: FinalState, layout: CodeLayout, places: Ints) -> tuple[Ints, Ints]:
    """Return (runs, cycles stalled on memory) of each operation: (elements, operations) each.

    `places`: numbers of elements of one code; `layout`: that code's.
    """
    count = len(layout.operations)
    first = final.element[places, at.E_RUNS][:, None] + np.arange(count)
    return final.store[first + count], final.store[first + 2 * count]


def stall_table(final: FinalState, cycles: int) -> Ints:
    """Return when recorded elements stall: rows (row, column, reason, start, end) by start.

    `cycles`: of the run. An operation on memory counts as stalled in its last cycles, as many as it
    lost. The reason of a sum of a vector is its accumulator, that of other operations the memory
    banks. Waits of scalar instructions are not recorded.
    """
    count = int(final.store[at.S_EVENTS])
    if final.store[at.S_RECORD] == 0:
        return np.zeros((0, 5), dtype=np.int64)
    events = StoreTable(final.parts.end, count, at.V_WIDTH).view(final.store)
    is_wait = events[:, at.V_ROW] < at.V_WAITS + len(STALLS)
    waits = np.concatenate([events[is_wait], _last_waits(final, cycles)])
    blocks = [_merged(waits), _of_operations(final, events[events[:, at.V_ROW] >= 0])]
    rows = np.concatenate(blocks)
    element = (rows[:, 0] - final.parts.element.start) // at.E_WIDTH
    row, column = np.divmod(element, final.program.width)
    order = np.lexsort((rows[:, 1], element, rows[:, 2]))
    return np.stack([row, column, rows[:, 1], rows[:, 2], rows[:, 3]], axis=1)[order]


def _last_waits(final: FinalState, cycles: int) -> Ints:
    """Return a wait up to the end of the run for each recorded element that waits there."""
    table = final.element
    waiting = (table[:, at.E_RECORD] == 1) & (table[:, at.E_CYCLE_STATE] >= WAIT_INPUT)
    chosen = np.flatnonzero(waiting & (table[:, at.E_SINCE] < cycles))
    rows = np.zeros((chosen.size, at.V_WIDTH), dtype=np.int64)
    rows[:, at.V_ELEMENT] = final.parts.element.address(chosen)
    rows[:, at.V_ROW] = at.V_WAITS + table[chosen, at.E_CYCLE_STATE]
    rows[:, at.V_START], rows[:, at.V_END] = table[chosen, at.E_SINCE], cycles
    return rows


def _merged(waits: at.Table) -> Ints:
    """Return (element, reason, start, end) of waits; consecutive waits of one kind become one."""
    rows = waits[np.lexsort((waits[:, at.V_START], waits[:, at.V_ELEMENT]))]
    same = np.zeros(rows.shape[0], dtype=bool)
    same[1:] = (rows[1:, :2] == rows[:-1, :2]).all(axis=1)  # V_ELEMENT and V_ROW
    same[1:] &= rows[1:, at.V_START] == rows[:-1, at.V_END]
    begins = np.flatnonzero(~same)
    ends = np.append(begins[1:], rows.shape[0]) - 1
    reason = np.where(rows[:, at.V_ROW] == at.V_WAITS + WAIT_INPUT, WAVELETS, BACKPRESSURE)
    columns = (rows[:, at.V_ELEMENT], reason, rows[:, at.V_START])
    kept = [column[begins] for column in columns] + [rows[ends[: begins.size], at.V_END]]
    return np.stack(kept, axis=1)


def _of_operations(final: FinalState, events: at.Table) -> Ints:
    """Return (element, reason, start, end) of the stalls of recorded operations."""
    addresses = events[:, at.V_ROW]
    loads, dependent = final.store[addresses + at.O_LOAD], final.store[addresses + at.O_DEPENDENT]
    behind = events[:, at.V_START] + np.where(_are_maps(final, addresses), loads, 0)
    completion = int(final.store[at.K_MEMORY_COMPLETION])
    stalled, end = events[:, at.V_STALLED], events[:, at.V_END] - completion
    reduces = final.store[addresses + at.O_REDUCTION] == 1
    reason = np.where(reduces, ACCUMULATOR, CONFLICT)
    element = events[:, at.V_ELEMENT]
    first = np.stack(
        [element, np.full_like(element, DEPENDENT), behind - dependent, behind], axis=1
    )
    second = np.stack([element, reason, end - stalled, end], axis=1)
    return np.concatenate([first[dependent > 0], second[stalled > 0]])


def _are_maps(final: FinalState, addresses: Ints) -> npt.NDArray[np.bool_]:
    """Return which operations are maps, whose entries begin with the loads of descriptors."""
    rows = final.parts.instruction.view(final.store)
    maps = rows[rows[:, 0] == at.I_MAP_START, 1]
    return np.isin(addresses, maps)
