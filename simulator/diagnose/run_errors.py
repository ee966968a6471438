"""Run-time errors of the engine as messages that name operation, element and cycle."""

from __future__ import annotations

from typing import Final

import numpy as np

from tilewright.simulator.compile import columns as at
from tilewright.simulator.diagnose.buffer_overrun import bounds_error, main_thread
from tilewright.simulator.diagnose.failed_part import failed_part
from tilewright.simulator.diagnose.final_state import FinalState
from tilewright.simulator.diagnose.memory_race import race_error
from tilewright.simulator.diagnose.unwritten_read import unwritten_error
from tilewright.simulator.isa.machine_errors import MachineError, RunLimitError
from tilewright.simulator.text.text_places import place_in_text


def run_error(final: FinalState) -> MachineError:
    """Return the error that stopped a run, with its line if the program was read from a text.

    `final`: the engine's tables when the run stopped.
    """
    error = _message(final)
    part = failed_part(final)
    if part is not None:
        error.where = place_in_text(final.program, "", part)
    return error


def _message(final: FinalState) -> MachineError:
    header = final.store
    cycle, error = int(header[at.S_CYCLE]), int(header[at.S_ERROR])
    if error in (at.ERROR_LIMIT, at.ERROR_TWO_ARRIVALS):
        return (_limit if error == at.ERROR_LIMIT else _arrivals)(final, cycle)
    if error == at.ERROR_FEATURE:
        return MachineError("a kernel that the program needs is not loaded: please report this")
    if error in (at.ERROR_RACE, at.ERROR_UNWRITTEN):
        return (race_error if error == at.ERROR_RACE else unwritten_error)(final)
    element = final.parts.element.number(header[at.S_ERROR_ELEMENT])
    if error in (at.ERROR_NO_TEARDOWN, at.ERROR_POSITION, at.ERROR_BIND):
        return _fabric(final, element, cycle)
    row, value = int(header[at.S_ERROR_ROW]), int(header[at.S_ERROR_VALUE])
    make = {
        at.ERROR_BOUNDS: bounds_error,
        at.ERROR_DIVISION: _scalar,
        at.ERROR_SHIFT: _scalar,
        at.ERROR_FIFO_LENGTH: _scalar,
    }.get(error)
    if make is not None:
        return make(final, element, row, cycle)
    place = f"cycle {cycle}, {final.name(element)}, {final.operation(element, row)}"
    if error == at.ERROR_QUEUE_BUSY:
        return MachineError(f"{place}: {_busy_queue(final, element, value)}", instead=AFTER)
    if error == at.ERROR_THREAD_BUSY:
        user = final.operation(element, value)
        return MachineError(f"{place}: its microthread is in use by {user}", instead=AFTER)
    problem, instead = _special(final, element, error, value)
    return MachineError(f"{place}: {problem}", instead=instead)


def _busy_queue(final: FinalState, element: int, queues: int) -> str:
    """Return words for what uses the first of some queues of an element; queues: one bit each."""
    slot = (queues & -queues).bit_length() - 1
    kind = "input" if slot < at.OUTPUT_SLOT else "output"
    user = _user(final, element, 1 << slot)
    return f"{kind} queue {slot % at.OUTPUT_SLOT} is in use by {user}"


def _user(final: FinalState, element: int, queue: int) -> str:
    """Name the operation of an element that uses a queue (a bit)."""
    row, width = final.element[element], at.T_WIDTH
    first, count = int(row[at.E_THREADS]), int(row[at.E_THREAD_COUNT])
    for thread in range(first, first + count * width, width):
        state, used = final.store[thread + at.T_STATE], final.store[thread + at.T_QUEUES]
        if state != at.FREE and used & queue:
            return final.operation(element, int(final.store[thread + at.T_OP]))
    return "another operation"


def _limit(final: FinalState, cycle: int) -> MachineError:
    """Name the first element whose main thread still runs, or whose operations do."""
    table = final.element
    state, running = table[:, at.E_STATE] != at.M_IDLE, table[:, at.E_RUNNING] > 0
    elements = next((np.flatnonzero(mask) for mask in (state, running) if mask.any()), None)
    who = "wavelets are under way"
    if elements is not None:
        first = int(elements[0])
        task = final.layout(first).code.tasks[int(table[first, at.E_TASK])].name
        doing = (
            f"task {task} runs"
            if state[first]
            else f"{int(table[first, at.E_RUNNING])} operations run"
        )
        more = f", and {elements.size - 1} more elements" if elements.size > 1 else ""
        who = f"{final.name(first)}, {doing}{more}"
    return RunLimitError(
        f"the run takes more cycles than allowed: {who}",
        value=cycle,
        instead="an end of its loops and tasks, or run(max_cycles=...)",
    )


def _scalar(final: FinalState, element: int, _: int, cycle: int) -> MachineError:
    """Say which instruction on a counter has no result."""
    place = main_thread(final, element, cycle)
    value = int(final.store[at.S_ERROR_VALUE])
    if final.store[at.S_ERROR] == at.ERROR_DIVISION:
        return MachineError(
            f"{place}: a division by zero", value=value, instead="a divisor that is not 0"
        )
    if final.store[at.S_ERROR] == at.ERROR_FIFO_LENGTH:
        return MachineError(
            f"{place}: a length is outside 0..65535", value=value, instead="a counter that is a u16"
        )
    bits = 16 if place.endswith("16") else 32
    return MachineError(
        f"{place}: a shift by a number of bits that the value does not have",
        value=value,
        instead=f"0 to {bits - 1}",
    )


def _fabric(final: FinalState, element: int, cycle: int) -> MachineError:
    """Say what is wrong with a change of a router or a queue."""
    row, value = (int(final.store[column]) for column in (at.S_ERROR_ROW, at.S_ERROR_VALUE))
    place = main_thread(final, element, cycle)
    if final.store[at.S_ERROR] == at.ERROR_NO_TEARDOWN:
        color = next(c.name for c in final.program.colors if c.id == value)
        return MachineError(
            f"{place}: color {color} is not torn down at this router",
            instead="a teardown before it: a control wavelet, or a route that starts torn down",
        )
    if final.store[at.S_ERROR] == at.ERROR_POSITION:
        return MachineError(
            f"{place}: the switch of this router has no such position, or it is invalid",
            value=value,
            instead="0, or a position that the route here gives",
        )
    kind = "input" if row < at.OUTPUT_SLOT else "output"
    words, are = ("1 word", "is") if value == 1 else (f"{value} words", "are")
    contents = f"{words} of color {final.color(element, row)} {are} inside"
    return MachineError(
        f"{place}: {kind} queue {row % at.OUTPUT_SLOT} gets another color, but "
        f"{contents if value else 'an operation uses it'}",
        instead="the change when the queue is empty; a flush tells (WSE-3)",
    )


def _special(final: FinalState, element: int, error: int, value: int) -> tuple[str, str | None]:
    """Say what an operation did that is undefined, and what to write instead."""
    if error in OF_REGISTERS:
        problem, instead = OF_REGISTERS[error]
        return f"register {final.layout(element).register_names[value]} {problem}", instead
    high, low = value >> 16 & 0xFFFF, value & 0xFFFF
    if error == at.ERROR_FIFO:
        event = "a pop found the FIFO empty" if value else "a push found the FIFO full"
        return f"{event}, whose action is fault", "the action suspend"
    problem, instead = OF_OPERATIONS[error]
    return problem.format(high=high, low=low, value=value), instead.format(low=low)


AFTER: Final = "the start of this operation in a task that the end of the other one activates"
OF_REGISTERS: Final = {
    at.ERROR_NO_FIFO: ("is of FIFO type, but holds no FIFO", "a register that is not of FIFO type"),
    at.ERROR_NOT_LOADED: ("is not loaded", "a load before the operation"),
    at.ERROR_SINGLE_STEP: (
        "is loaded with single_step, which is for @map only",
        "a load without single_step",
    ),
    at.ERROR_NO_SINGLE_STEP: (
        "is not loaded with single_step, which @map needs",
        "a load with single_step",
    ),
    at.ERROR_NOT_ASYNC: ("is not loaded as asynchronous", "a load with async"),
    at.ERROR_EXTENDED: (
        "has lost its extended or stride register to the load of another register",
        "an extended register, or stride registers, of its own",
    ),
    at.ERROR_DTYPE: (
        "holds values of another dtype than the operation's",
        "a load of a descriptor of the operation's dtype",
    ),
}
OF_OPERATIONS: Final = {
    at.ERROR_FIFO_REGISTER: (
        "a register that is not of FIFO type holds a FIFO that is full or empty",
        "a register of FIFO type",
    ),
    at.ERROR_EXTENTS: ("the lengths of its operands differ: {high} and {low}", "one length"),
    at.ERROR_NO_LENGTH: (
        "no operand has a length; set_read_length or set_write_length gives a FIFO one",
        "a length before the operation",
    ),
    at.ERROR_CHANGE: ("an operand's length is outside 0..65535: {value}", "a u16"),
    at.ERROR_STRIDE: ("an operand's stride is outside -128..127: {value}", "an i8"),
    at.ERROR_INDEX: (
        "an operand has wavelet_index_offset, but the operation gives no index",
        "an index",
    ),
    at.ERROR_FAR_INDEX: ("its index is outside 0..65535: {value}", "a u16"),
    at.ERROR_ODD: (
        "its index or pointer counts words, and values of two words start at even ones: {value}",
        "an even index or address",
    ),
    at.ERROR_LONG: (
        "it takes {value} cycles, more cycles than allowed in a run",
        "a shorter operation, or run(max_cycles=...)",
    ),
    at.ERROR_TOP_BITS: (
        "a wavelet of a queue with control_transform uses its two top bits: {value:#010x}",
        "values below 0x40000000: control_transform leaves 14 bits of the index",
    ),
    at.ERROR_GROUP: (
        "{low} values go at once, its length is no multiple of that: {high}",
        "a length that is a multiple of {low}",
    ),
    at.ERROR_HALF: (
        "it ends early after {value} values, with half a SIMD wavelet in its hands",
        "an even number of values before its end",
    ),
    at.ERROR_ENDLESS: (
        "it is endless (length 0x7fff of a queue), but an operand is a vector of memory that ends",
        "a circular buffer",
    ),
}


def _arrivals(final: FinalState, cycle: int) -> MachineError:
    fifo = final.parts.fifo.number(final.store[at.S_ERROR_ROW])
    place = final.name(int(final.network.element[fifo]))
    number = int(final.fifo[fifo, at.F_COLOR])
    color = next(c.name for c in final.program.colors if c.id == number)
    return MachineError(
        f"cycle {cycle}, {place}: two wavelets of color {color} arrive in the same cycle from "
        "two rx ports of its router",
        instead="one rx port at a time, or two colors",
    )
