"""The run-time error of an operand that leaves its buffer: which operand, which elements, why."""

from __future__ import annotations

from tilewright.simulator.compile import columns as at
from tilewright.simulator.diagnose.failed_part import begun, name_of
from tilewright.simulator.diagnose.final_state import FinalState
from tilewright.simulator.instructions.scalar_operation import ScalarOperation
from tilewright.simulator.isa.dsd import Element
from tilewright.simulator.isa.machine_errors import MachineError
from tilewright.simulator.isa.operands import ResolvedOperand
from tilewright.simulator.program.instruction import DsdOperation, LoadRegister


def bounds_error(final: FinalState, element: int, operand: int, cycle: int) -> MachineError:
    """Return the error of an operand that left its buffer, with the values that it would touch.

    `element`: row * width + column; `operand`: address of its row in the store; `cycle`: of the
    error.
    """
    store, layout = final.store, final.layout(element)
    row = final.element[element]
    pc = int(row[at.E_PC]) - at.I_WIDTH
    thread = -1
    if store[pc] in (at.I_OPERATION, at.I_MAP_START):
        op = int(store[pc + 1])
        operation = final.operation(element, op)
        thread = int(row[at.E_THREADS] + store[op + at.O_THREAD] * at.T_WIDTH)
        name = _operand(final, element, op, thread, operand)
        place = f"cycle {cycle}, {final.name(element)}, {operation}"
    else:
        place = main_thread(final, element, cycle)
        name = _scalar_operand(final, element, operand)
    word = int(store[operand + at.D_FIRST])
    words = int(store[operand + at.D_LAST]) + 1 - word
    buffers = [b for b in layout.code.buffers if b.address == word]
    buffer = next((b for b in buffers if words in (b.words, b.words - 1)), None)
    if buffer is None:  # the base is a pointer that the program has chosen
        return MachineError(
            f"{place}: {name} leaves the arrays of the element",
            value=_elements(final, operand, thread) + _why(final, element, operand, thread),
            instead="a pointer to an array, and elements of it",
        )
    return MachineError(
        f"{place}: {name} leaves buffer {buffer.name} of {buffer.elements} elements",
        value=_elements(final, operand, thread) + _why(final, element, operand, thread),
        instead=f"elements 0 to {buffer.elements - 1}",
    )


def main_thread(final: FinalState, element: int, cycle: int) -> str:
    """Return words that name the instruction that an element's main thread has just begun.

    They say cycle, element, code, task and instruction.
    """
    task, instruction = begun(final, element)
    code = final.layout(element).code.name
    place = f"cycle {cycle}, {final.name(element)}, code {code}, task {task}"
    return f"{place}, {name_of(instruction)}"


def _scalar_operand(final: FinalState, element: int, operand: int) -> str:
    """Name an operand of a load or a scalar instruction by the address of its row."""
    instruction = begun(final, element)[1]
    if isinstance(instruction, LoadRegister):
        return f"descriptor {instruction.dsd}"
    assert isinstance(instruction, ScalarOperation | DsdOperation)
    row = int(final.store[final.element[element, at.E_PC] - at.I_WIDTH + 1])
    for number, value in enumerate((instruction.dest, *instruction.sources)):
        if (
            isinstance(value, Element)
            and final.store[row + at.U_DEST_VALUE + 2 * number] == operand
        ):
            return f"{value.buffer}({value.index})"
    return "an operand"


def _operand(final: FinalState, element: int, op: int, thread: int, operand: int) -> str:
    """Name an operand of an operation; all but the element are addresses of rows."""
    layout = final.layout(element)
    resolved = layout.operations[int(final.store[op + at.O_NUMBER])][1]
    for position in range(3):
        is_held = final.store[thread + at.T_ROWS + position] == operand
        if final.store[op + at.O_OPERANDS + position] == operand or is_held:
            number = 0 if position == 1 and resolved.is_reduction else position
            return _name(resolved.operands[number] if number < len(resolved.operands) else None)
    return "its scalar"


def _name(operand: ResolvedOperand | None) -> str:
    if operand is None:
        return "an operand"
    if operand.register is not None:
        return f"what register {operand.register} holds"
    return "its element" if operand.dsd is None else f"operand {operand.dsd.name}"


def _elements(final: FinalState, operand: int, thread: int) -> str:
    """Return which elements of its buffer an operand would touch: `elements 3 to 9`.

    operand: address of its row; thread: address of the thread.
    """
    row = final.store[operand : operand + at.D_WIDTH]
    base, wide = int(final.store[at.S_ERROR_VALUE]) - int(row[at.D_FIRST]), int(row[at.D_WIDE])
    low, high = base + int(row[at.D_LOW]), base + int(row[at.D_HIGH])
    if row[at.D_LENGTH_ROW] >= 0 or row[at.D_STRIDE_ROW] >= 0:
        number = [int(n) for n in final.store[thread + at.T_ROWS : thread + at.T_ROWS + 3]].index(
            operand
        )
        length = (
            final.store[thread + at.T_CHANGED_LENGTH + number]
            if row[at.D_LENGTH_ROW] >= 0
            else row[at.D_LENGTH]
        )
        step = (
            final.store[thread + at.T_STRIDE + number]
            if row[at.D_STRIDE_ROW] >= 0
            else row[at.D_STRIDE]
        )
        end = base + int(step) * (int(length) - 1)
        low, high = min(base, end), max(base, end)
    low, high = low // wide, high // wide
    return f"element {low}" if low == high else f"elements {low} to {high}"


def _why(final: FinalState, element: int, operand: int, thread: int) -> str:
    """Return words for the counters and the index that an operand's address follows from."""
    layout, row = final.layout(element), final.store[operand : operand + at.D_WIDTH]
    counters = int(final.element[element, at.E_VARIABLES])
    numbers = [int(row[at.D_VARIABLE + i]) for i in range(int(row[at.D_TERMS]))]
    causes = [f"{layout.variables[n]} = {int(final.store[counters + n])}" for n in numbers]
    if row[at.D_FLAGS] & at.INDEXED and thread >= 0:
        causes.append(f"index {int(final.store[thread + at.T_INDEX])}")
    return f" ({', '.join(causes)})" if causes else ""
