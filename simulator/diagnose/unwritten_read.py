"""A read of memory that nothing has written, as a note: which operation, which element."""

from __future__ import annotations

from tilewright.simulator.compile import columns as at
from tilewright.simulator.diagnose.final_state import FinalState


def unwritten_notes(final: FinalState) -> tuple[str, ...]:
    """Return a note on the reads of a run that was to look for them; none if there were none.

    The note describes the first one and says how many operations read so.
    """
    store, count = final.store, int(final.store[at.S_UNWRITTEN])
    if count == 0:
        return ()
    element = final.parts.element.number(store[at.S_UNWRITTEN_ELEMENT])
    what = final.instruction(element, int(store[at.S_UNWRITTEN_ROW]))
    place = final.memory_place(element, int(store[at.S_UNWRITTEN_WORD]))
    more = f"; {count - 1} more read such memory" if count > 1 else ""
    when = f"cycle {int(store[at.S_UNWRITTEN_CYCLE])}, {final.name(element)}"
    text = f"{when}, {what} reads {place}, which nothing has written: 0 here, anything on a machine"
    return (text + more,)
