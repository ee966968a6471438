"""Describe a race for memory: both operations, the words, and what to write instead."""

from __future__ import annotations

from typing import Final

from tilewright.simulator.compile import columns as at
from tilewright.simulator.diagnose.final_state import FinalState
from tilewright.simulator.isa.machine_errors import MemoryRaceError

INSTEAD: Final = (
    "this work in a task that the end of the other operation activates or unblocks, the other one "
    'without async, or run(notes=["races"])'
)


def race_error(final: FinalState) -> MemoryRaceError:
    """Return the error of the first race of a run; `final`: its tables when it stopped."""
    return MemoryRaceError(_text(final), instead=INSTEAD)


def race_notes(final: FinalState) -> tuple[str, ...]:
    """Return a note on the races of a run that was to go on; none if there were none.

    The note describes the first one and says how many operations met in a race.
    """
    count = int(final.store[at.S_RACES])
    if count == 0:
        return ()
    more = f"; {count - 1} more begin in a race" if count > 1 else ""
    return (f"the values depend on chance: {_text(final)}{more}",)


def _text(final: FinalState) -> str:
    store = final.store
    element = final.parts.element.number(store[at.S_RACE_ELEMENT])
    row, other = int(store[at.S_RACE_ROW]), int(store[at.S_RACE_OTHER])
    operand, other_operand = int(store[at.S_RACE_OPERAND]), int(store[at.S_RACE_OTHER_OPERAND])
    table = final.parts.instruction
    is_scalar = table.start <= row < table.end
    is_written = operand == at.U_DEST if is_scalar else _is_written(final, row, operand)
    verb = "writes" if is_written else "reads"
    does = "writes" if _is_written(final, other, other_operand) else "reads"
    first = int(final.element[element, at.E_THREADS])
    thread = (int(store[at.S_RACE_THREAD]) - first) // at.T_WIDTH
    place = final.memory_place(element, int(store[at.S_RACE_WORD]))
    who = f"thread {thread}" if thread else "the main thread"
    begun = f"cycle {int(store[at.S_RACE_CYCLE])}, {final.name(element)}"
    return (
        f"{begun}, {final.instruction(element, row)}: it {verb} {place}, which "
        f"{final.operation(element, other)} still {does} "
        f"({who}, since cycle {int(store[at.S_RACE_START])})"
    )


def _is_written(final: FinalState, op: int, operand: int) -> bool:
    return operand == 0 or int(final.store[op + at.O_ZERO]) == operand
