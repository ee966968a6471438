"""Run-time errors of the engine as messages that name operation, element and cycle."""

from __future__ import annotations

from tilewright.simulator.deadlock import FinalState
from tilewright.simulator.engine import layout as at
from tilewright.simulator.errors import MachineError


def run_error(final: FinalState) -> MachineError:
    """Return the error that stopped a run."""
    header = final.store
    cycle, error = int(header[at.S_CYCLE]), int(header[at.S_ERROR])
    if error == at.ERROR_LIMIT:
        return MachineError("the run takes more cycles than allowed", value=cycle)
    if error == at.ERROR_TWO_ARRIVALS:
        return _arrivals(final, cycle)
    element = final.parts.element.number(header[at.S_ERROR_ELEMENT])
    row, value = int(header[at.S_ERROR_ROW]), int(header[at.S_ERROR_VALUE])
    if error == at.ERROR_BOUNDS:
        return _bounds(final, element, row, cycle)
    where = f"cycle {cycle}, {final.name(element)}, {final.operation(element, row)}"
    if error == at.ERROR_QUEUE_BUSY:
        slot = (value & -value).bit_length() - 1
        kind = "input" if slot < at.OUTPUT_SLOT else "output"
        return MachineError(
            f"{where}: {kind} queue {slot % at.OUTPUT_SLOT} is in use by another operation"
        )
    return MachineError(f"{where}: its microthread is in use by {final.operation(element, value)}")


def _arrivals(final: FinalState, cycle: int) -> MachineError:
    fifo = final.parts.fifo.number(final.store[at.S_ERROR_ROW])
    where = final.name(int(final.network.element[fifo]))
    number = int(final.fifo[fifo, at.F_COLOR])
    color = next(c.name for c in final.program.colors if c.id == number)
    return MachineError(
        f"cycle {cycle}, {where}: two wavelets of color {color} arrive in the same cycle from "
        "two rx ports of its router",
        instead="one rx port at a time, or two colors",
    )


def _bounds(final: FinalState, element: int, operand: int, cycle: int) -> MachineError:
    layout = final.layout(element)
    operations = final.parts.operation.view(final.store)
    columns = slice(at.O_OPERANDS, at.O_SCALAR_ROW + 1)
    first = layout.first_operation
    number = next(
        n for n in range(len(layout.operations)) if operand in operations[first + n, columns]
    )
    word = int(final.store[operand + at.D_FIRST])
    buffer = next(b.name for b in layout.code.buffers if b.address == word)
    where = final.operation(element, final.parts.operation.start + (first + number) * at.O_WIDTH)
    counters = int(final.element[element, at.E_VARIABLES])
    values = ", ".join(
        f"{name} = {int(final.store[counters + i])}" for i, name in enumerate(layout.variables)
    )
    return MachineError(
        f"cycle {cycle}, {final.name(element)}, {where}: an operand leaves buffer {buffer}",
        value=values,
    )
