"""A read of memory that nothing has written, as a note or an error: which operation and element."""

from __future__ import annotations

from typing import Final

from tilewright.simulator.compile import columns as at
from tilewright.simulator.diagnose.final_state import FinalState
from tilewright.simulator.isa.machine_errors import UnwrittenReadError

INSTEAD: Final = (
    "a value for the buffer, run(memory={...}), an operation before it that writes it, or a "
    "machine without refuse"
)


def unwritten_notes(final: FinalState) -> tuple[str, ...]:
    """Return a note on a run's reads of memory that nothing had written; none without such reads.

    The run must have been asked to note them. The note describes the first one and says how many
    operations read so.
    """
    count = int(final.store[at.S_UNWRITTEN])
    if count == 0:
        return ()
    more = f"; {count - 1} more read such memory" if count > 1 else ""
    return (f"{_text(final)}: 0 here, anything on a machine{more}",)


def unwritten_error(final: FinalState) -> UnwrittenReadError:
    """Return the error of a run's first read of memory that nothing had written.

    `final`: its tables when it stopped.
    """
    return UnwrittenReadError(_text(final), instead=INSTEAD)


def _text(final: FinalState) -> str:
    store = final.store
    element = final.parts.element.number(store[at.S_UNWRITTEN_ELEMENT])
    what = final.instruction(element, int(store[at.S_UNWRITTEN_ROW]))
    place = final.memory_place(element, int(store[at.S_UNWRITTEN_WORD]))
    when = f"cycle {int(store[at.S_UNWRITTEN_CYCLE])}, {final.name(element)}"
    return f"{when}, {what} reads {place}, which nothing has written"
