"""The instruction, or the route, that a run ended at with an error."""

from __future__ import annotations

from typing import Final

import numpy as np

from tilewright.simulator.compile import columns as at
from tilewright.simulator.diagnose.final_state import FinalState
from tilewright.simulator.instructions.queue_changes import BindQueue
from tilewright.simulator.instructions.router_changes import EndTeardown, Reconfigure
from tilewright.simulator.instructions.scalar_operation import ScalarOperation
from tilewright.simulator.program.instruction import DsdOperation, Instruction, LoadRegister
from tilewright.simulator.program.routes import Route

OF_MAIN_THREAD: Final = (
    at.ERROR_NO_TEARDOWN,
    at.ERROR_POSITION,
    at.ERROR_BIND,
    at.ERROR_BOUNDS,
    at.ERROR_DIVISION,
    at.ERROR_SHIFT,
)
"""Errors of the instruction that the main thread has just begun; others name an operation's row."""
OF_NO_ELEMENT: Final = (at.ERROR_LIMIT, at.ERROR_FEATURE)


def failed_part(final: FinalState) -> Instruction | Route | None:
    """Return the instruction or route that a run's error is about; None if there is none.

    `final`: the engine's tables when the run stopped with an error.
    """
    error = int(final.store[at.S_ERROR])
    if error in OF_NO_ELEMENT:
        return None
    if error == at.ERROR_TWO_ARRIVALS:
        return _route(final)
    element = final.parts.element.number(final.store[at.S_ERROR_ELEMENT])
    if error in OF_MAIN_THREAD or final.store[at.S_ERROR_ROW] < 0:
        return begun(final, element)[1]
    return operation_at(final, element, int(final.store[at.S_ERROR_ROW]))


def begun(final: FinalState, element: int) -> tuple[str, Instruction | None]:
    """Return the name of the task and the instruction that an element's main thread has just begun.

    `element`: row * width + column. The instruction is None if the row stands for none.
    """
    layout = final.layout(element)
    pc = int(final.element[element, at.E_PC]) - at.I_WIDTH
    return layout.sources[final.parts.instruction.number(pc) - layout.first["instruction"]]


def name_of(instruction: Instruction | None) -> str:
    """Return words that name an instruction in a message, such as `load of dsr_dest 1`.

    An instruction without words of its own, and None, are `an instruction`.
    """
    match instruction:
        case LoadRegister():
            return f"load of {instruction.register}"
        case EndTeardown(color):
            return f"end_teardown {color}"
        case Reconfigure(color):
            return f"reconfigure {color}"
        case BindQueue(queue, output, color):
            return f"bind_{'output' if output else 'input'} {queue} {color}"
        case ScalarOperation(_, operation, _, dtype):
            return f"{operation}.{dtype}"
        case DsdOperation(operation):
            return f"@{operation}"
        case _:
            return "an instruction"


def operation_at(final: FinalState, element: int, row: int) -> Instruction | None:
    """Return the instruction of an operation of an element, which a microthread may run later.

    `element`: row * width + column; `row`: address of the operation's row in the store. None if no
    instruction has the row.
    """
    layout, parts = final.layout(element), final.parts
    first = layout.first["instruction"]
    rows = parts.instruction.view(final.store)[first : first + len(layout.sources)]
    starts = np.flatnonzero(np.isin(rows[:, 0], (at.I_OPERATION, at.I_MAP_START)))
    numbers = final.store[rows[starts, 1] + at.O_NUMBER]
    matching = starts[numbers == final.store[row + at.O_NUMBER]]
    return layout.sources[int(matching[0])][1] if matching.size else None


def _route(final: FinalState) -> Route | None:
    """Return the route by which two wavelets arrive in one cycle."""
    fifo = final.parts.fifo.number(final.store[at.S_ERROR_ROW])
    row, column = divmod(int(final.network.element[fifo]), final.program.width)
    number = int(final.fifo[fifo, at.F_COLOR])
    names = {color.name for color in final.program.colors if color.id == number}
    routes = (route for route in final.program.routes if route.color in names)
    return next((route for route in routes if route.area.holds(row, column)), None)
