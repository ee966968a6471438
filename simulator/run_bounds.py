"""The run-time error of an operand that leaves its buffer: which operand, which elements, why."""

from __future__ import annotations

from tilewright.simulator.deadlock import FinalState
from tilewright.simulator.engine import layout as at
from tilewright.simulator.errors import MachineError
from tilewright.simulator.operands import Resolved
from tilewright.simulator.scalars import SCALARS
from tilewright.simulator.special_rows import SCALAR_TYPES


def bounds_error(final: FinalState, element: int, operand: int, cycle: int) -> MachineError:
    """Return the error of an operand, given by the address of its row."""
    store, layout = final.store, final.layout(element)
    row = final.element[element]
    pc = int(row[at.E_PC]) - at.I_WIDTH
    what, name, thread = "", "an operand", -1
    if store[pc] in (at.I_OPERATION, at.I_MAP_START):
        op = int(store[pc + 1])
        what = final.operation(element, op)
        thread = int(row[at.E_THREADS] + store[op + at.O_THREAD] * at.T_WIDTH)
        name = _operand(final, element, (op, thread), operand)
    else:
        task = layout.code.tasks[int(row[at.E_TASK])].name
        what = f"code {layout.code.name}, task {task}, {_instruction(final, element, pc)}"
    word = int(store[operand + at.D_FIRST])
    buffer = next(b for b in layout.code.buffers if b.address == word)
    return MachineError(
        f"cycle {cycle}, {final.name(element)}, {what}: {name} leaves buffer {buffer.name} "
        f"of {buffer.elements} elements",
        value=_elements(final, operand, thread) + _why(final, element, operand, thread),
        instead=f"elements 0 to {buffer.elements - 1}",
    )


def _instruction(final: FinalState, element: int, pc: int) -> str:
    """Name a scalar instruction or the load of a register."""
    row, code = int(final.store[pc + 1]), int(final.store[pc])
    if code == at.I_LOAD_REGISTER:
        names = final.layout(element).register_names
        return f"load of {names[int(final.store[row + at.L_REGISTER])]}"
    return scalar_name(final, row)


def scalar_name(final: FinalState, row: int) -> str:
    """Name a scalar instruction by its row's address."""
    code, dtype = final.store[row + at.U_CODE], final.store[row + at.U_TYPE]
    name = next(name for name, (number, _) in SCALARS.items() if number == code)
    return f"{name}.{SCALAR_TYPES[int(dtype)]}"


def _operand(final: FinalState, element: int, rows: tuple[int, int], operand: int) -> str:
    """Name an operand of an operation: rows = (operation, thread)."""
    op, thread = rows
    layout = final.layout(element)
    resolved = layout.operations[int(final.store[op + at.O_NUMBER])][1]
    for which in range(3):
        held = final.store[thread + at.T_ROWS + which] == operand
        if final.store[op + at.O_OPERANDS + which] == operand or held:
            number = 0 if which == 1 and resolved.is_reduction else which
            return _name(resolved.operands[number] if number < len(resolved.operands) else None)
    return "its scalar"


def _name(operand: Resolved | None) -> str:
    if operand is None:
        return "an operand"
    if operand.register is not None:
        return f"what register {operand.register} holds"
    return "its element" if operand.dsd is None else f"operand {operand.dsd.name}"


def _elements(final: FinalState, operand: int, thread: int) -> str:
    """Return the first and last element that an operand would touch."""
    row = final.store[operand : operand + at.D_WIDTH]
    base, wide = int(final.store[at.S_ERROR_VALUE]) - int(row[at.D_FIRST]), int(row[at.D_WIDE])
    low, high = base + int(row[at.D_LOW]), base + int(row[at.D_HIGH])
    if row[at.D_LENGTH_ROW] >= 0 or row[at.D_STRIDE_ROW] >= 0:
        which = [int(n) for n in final.store[thread + at.T_ROWS : thread + at.T_ROWS + 3]].index(
            operand
        )
        own = (
            final.store[thread + at.T_OWN + which]
            if row[at.D_LENGTH_ROW] >= 0
            else row[at.D_LENGTH]
        )
        step = (
            final.store[thread + at.T_STRIDE + which]
            if row[at.D_STRIDE_ROW] >= 0
            else row[at.D_STRIDE]
        )
        end = base + int(step) * (int(own) - 1)
        low, high = min(base, end), max(base, end)
    low, high = low // wide, high // wide
    return f"element {low}" if low == high else f"elements {low} to {high}"


def _why(final: FinalState, element: int, operand: int, thread: int) -> str:
    """Return the counters and the index that the operand's place follows from."""
    layout, row = final.layout(element), final.store[operand : operand + at.D_WIDTH]
    counters = int(final.element[element, at.E_VARIABLES])
    numbers = [int(row[at.D_VARIABLE + i]) for i in range(int(row[at.D_TERMS]))]
    found = [f"{layout.variables[n]} = {int(final.store[counters + n])}" for n in numbers]
    if row[at.D_FLAGS] & at.INDEXED and thread >= 0:
        found.append(f"index {int(final.store[thread + at.T_INDEX])}")
    return f" ({', '.join(found)})" if found else ""
