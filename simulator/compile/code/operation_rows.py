"""The rows of a code's operations and operands, with the numbers of what the code has."""

from __future__ import annotations

from functools import partial
from typing import Protocol

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.code.encode_operation import (
    CompiledFor,
    Row,
    operand_row,
    operation_row,
    type_bits,
)
from tilewright.simulator.compile.code.priorities import priority_level
from tilewright.simulator.compile.code.queue_slots import queue_slots
from tilewright.simulator.compile.code.registers import (
    RATE_COLUMNS,
    HeldLoads,
    as_loaded,
    held_operations,
    loaded_slots,
    loads_asynchronous,
    microthread_of,
)
from tilewright.simulator.instructions.completion import completion_columns, on_control_columns
from tilewright.simulator.instructions.kind import Encoder
from tilewright.simulator.isa.dsd import Fabin, Fabout, Fifo
from tilewright.simulator.isa.machine_errors import ErrorSubject, ProgramError
from tilewright.simulator.isa.number_types import DTYPES
from tilewright.simulator.isa.operands import ResolvedOperand, ResolvedOperation
from tilewright.simulator.isa.resolving import operation_name, resolve
from tilewright.simulator.program.instruction import DsdOperation


class RegisterEncoder(Encoder, Protocol):
    """Describe an encoder of a code that also knows the operand rows of what registers hold."""

    def held_operands(self, loads: HeldLoads) -> list[int]:
        """Return the operand rows of the descriptors that three registers hold.

        The registers are those of an operation's destination and two sources. loads: for each of
        them the load that filled it, None for an operand that is no register. That gives -1, and so
        does an operand that is not there.
        """


class OperationRows:
    """Collect the rows of the operation table and of the operand table of one code.

    encoder: gives the numbers of the code's counters, threads and registers. compiled_for: the
    profile that the rows are made for. The rows are in `rows` and `operand_rows`; `operations` has
    (task, operation) of each row, `buffers` the buffer of an operand row, `queues` the queue slots
    in use (0 to 7 input queues, 8 to 15 output queues).
    """

    def __init__(self, encoder: RegisterEncoder, compiled_for: CompiledFor) -> None:
        self._encoder = encoder
        self._code = encoder.code
        self._compiled_for = compiled_for
        self.rows: list[Row] = []
        self.operand_rows: list[Row] = []
        self.operations: list[tuple[str, ResolvedOperation]] = []
        """(task, operation) per row, without the variants."""
        self.buffers: dict[int, str] = {}
        """The buffer of each operand row that has one."""
        self.queues: set[int] = set()
        """Slots of the queues that operations use."""
        self._on_registers: list[tuple[int, str, DsdOperation]] = []
        """(row, task, operation) of the operations whose rate follows from their registers."""

    def append(self, row: Row, resolved: ResolvedOperation) -> int:
        """Append a finished row to the operation table, and note which queues it uses.

        resolved: the operation with its operands looked up. Returns the number of the row in the
        code.
        """
        self.queues.update(queue_slots(resolved), loaded_slots(self._code, resolved))
        self.rows.append(row)
        self.operations.append((self._encoder.task, resolved))
        return len(self.rows) - 1

    def operation(self, op: DsdOperation) -> int:
        """Append the row of an operation on descriptors, with those of its operands.

        Returns the number of its row in the code. Raises ProgramError for operands, rates, tasks or
        microthreads that the code or the machine does not allow.
        """
        code, task, encoder = self._code, self._encoder.task, self._encoder
        resolved = resolve(code, task, op)
        place = partial(operation_name, code, task, op)
        timed = as_loaded(code, resolved)
        row = operation_row(resolved, timed, self._compiled_for, place)
        row[at.O_OPERANDS : at.O_SCALAR_ROW + 1] = self._operands(resolved)
        row[at.O_NUMBER] = len(self.operations)
        asynchronous = op.asynchronous or loads_asynchronous(code, resolved)
        if asynchronous:
            row[at.O_ASYNC], row[at.O_THREAD] = 1, self._thread(timed, place())
        if op.activate or op.unblock:
            row[at.O_ACTION], row[at.O_ACTION_TASK] = completion_columns(op, encoder)
        row[at.O_PRIORITY] = priority_level(code, timed, asynchronous)
        if op.index is not None:
            row[at.O_INDEX] = self.operand(ResolvedOperand("v", offset=op.index, is_counter=True))
        if op.result is not None:
            row[at.O_RESULT] = encoder.variable(op.result)
        row[at.O_ON_CONTROL], row[at.O_CONTROL_TASK] = on_control_columns(op.on_control, encoder)
        number = self.append(row, resolved)
        if timed is not resolved:
            self._on_registers.append((number, task, op))
        return number

    def append_variants(self) -> None:
        """Append a copy of an operation's row for every other rate that its registers may give it.

        An operation on registers has the rate of the descriptors that they hold at its start. Its
        own row has the rate of the first loads; a variant is added for each other combination of
        loads with another rate. Call it after all operations. Raises ProgramError for more than
        1024 combinations.
        """
        for number, task, op in self._on_registers:
            with ErrorSubject(op):
                self._append_variants(number, task, op)

    def _append_variants(self, number: int, task: str, op: DsdOperation) -> None:
        resolved, base = resolve(self._code, task, op), self.rows[number]
        place = partial(operation_name, self._code, task, op)
        base[at.O_VARIANT] = len(self.rows)
        for timed, loads in held_operations(self._code, resolved, place()):
            timing = operation_row(resolved, timed, self._compiled_for, place)
            if all(timing[column] == base[column] for column in RATE_COLUMNS):
                continue
            row = list(base)
            for column in RATE_COLUMNS:
                row[column] = timing[column]
            row[at.O_HELD : at.O_HELD + 3] = self._encoder.held_operands(loads)
            self.rows.append(row)
        base[at.O_VARIANTS] = len(self.rows) - base[at.O_VARIANT]

    def levels(self) -> int:
        """Return the priorities (0 to 6) of a code's operations on queues and FIFOs, one bit each.

        Example: priorities 0 and 3 give 9. The datapath serves the greatest first.
        """
        special = (row for row in self.rows if row[at.O_FABRIC] or row[at.O_SPECIAL])
        return sum({1 << row[at.O_PRIORITY] for row in special})

    def number_runs(self) -> None:
        """Give every operation the places where an element counts its runs and stalled cycles.

        The places follow those where it counts the values that operations have done. Call it after
        all rows have been appended.
        """
        for row in self.rows:
            row[at.O_RUNS] = len(self.operations) + row[at.O_NUMBER]
            row[at.O_STALLED] = 2 * len(self.operations) + row[at.O_NUMBER]

    def operand(self, operand: ResolvedOperand, *, packed: bool = False) -> int:
        """Append the row of an operand (memory vector, queue, FIFO, counter or register).

        Returns its number in the code's operand table. packed: it is one of a packed operation.
        Raises ProgramError if its offset is a sum of more than four counters.
        """
        row = operand_row(operand, packed=packed)
        if not operand.is_empty:  # what touches nothing leaves no buffer
            if operand.buffer is not None and operand.offset.terms:
                self._set_terms(row, operand, DTYPES[operand.buffer.dtype])
            if operand.pointer:
                self._point(row, operand)
        self._complete(row, operand)
        self.operand_rows.append(row)
        number = len(self.operand_rows) - 1
        if operand.buffer is not None:
            self.buffers[number] = operand.buffer.name
        return number

    def _point(self, row: Row, operand: ResolvedOperand) -> None:
        """Let an operand begin at the address that a counter holds, inside the code's arrays.

        Raises ProgramError if the address is a sum of more than four counters.
        """
        if row[at.D_TERMS] == at.MAX_TERMS:
            raise ProgramError(
                f"code {self._code.name}: an offset and a pointer add up more than four variables",
                value=str(operand.offset),
            )
        number = row[at.D_TERMS]
        row[at.D_VARIABLE + number] = self._encoder.variable(operand.pointer)
        row[at.D_FACTOR + number] = 1
        row[at.D_TERMS] = number + 1
        assert operand.buffer is not None
        row[at.D_BASE] -= operand.buffer.address
        row[at.D_FIRST], row[at.D_LAST] = 0, self._code.words - 1

    def _complete(self, row: Row, operand: ResolvedOperand) -> None:
        """Set what names a register, FIFO or counter in an operand's row."""
        if operand.register is not None:
            row[at.D_KIND] = at.REGISTER
            row[at.D_BASE] = self._encoder.register(operand.register)
            row[at.D_FLAGS] = at.FIFO_TYPED if operand.register.fifo else 0
        elif operand.is_counter:
            row[at.D_KIND], row[at.D_BASE] = at.VARIABLE, operand.offset.constant
            row[at.D_WIDE] = 2
            self._set_terms(row, operand, 1)
        elif isinstance(operand.dsd, Fifo):
            row[at.D_KIND] = at.POOL
            row[at.D_BASE] = self._encoder.fifos.index(operand.dsd)
        for column, index in ((at.D_LENGTH_ROW, operand.length), (at.D_STRIDE_ROW, operand.stride)):
            if index is not None:
                row[column] = self.operand(ResolvedOperand("v", offset=index, is_counter=True))

    def _set_terms(self, row: Row, operand: ResolvedOperand, unit: int) -> None:
        """Set the counters that an operand's offset (or value) adds up, in words of `unit`.

        Raises ProgramError for more than four counters.
        """
        if len(operand.offset.terms) > at.MAX_TERMS:
            raise ProgramError(
                f"code {self._code.name}: an offset has more than four variables",
                value=str(operand.offset),
            )
        row[at.D_TERMS] = len(operand.offset.terms)
        for i, (name, factor) in enumerate(operand.offset.terms):
            row[at.D_VARIABLE + i] = self._encoder.variable(name)
            row[at.D_FACTOR + i] = factor * unit

    def _operands(self, resolved: ResolvedOperation) -> list[int]:
        """Append the operand rows of an operation; return their numbers.

        They are those of destination, first and second source, and scalar; -1 stands for an operand
        that is missing.
        """
        if resolved.dest.letter == "v":
            return [-1, self.operand(resolved.sources[0]), -1, -1]
        if resolved.is_packed:
            rows = [self.operand(operand, packed=True) for operand in resolved.operands]
            return [*rows, *[-1] * (4 - len(rows))]
        rows = [
            -1 if operand.letter == "v" else self._typed(operand, resolved.operation.legal(number))
            for number, operand in enumerate(resolved.operands[:3])
        ]
        if resolved.is_reduction:
            rows[1] = rows[0]
        return [*rows, *[-1] * (3 - len(rows)), self._scalar(resolved)]

    def _scalar(self, resolved: ResolvedOperation) -> int:
        """Append the row of a scalar that stands in memory or in a counter; -1 for none."""
        scalar = next((source for source in resolved.sources if source.letter == "v"), None)
        is_read = scalar is not None and (scalar.is_memory or scalar.is_counter)
        return self.operand(scalar) if scalar is not None and is_read else -1

    def _typed(self, operand: ResolvedOperand, legal: tuple[str, ...]) -> int:
        """Append an operand's row; that of a register says which dtypes it may hold."""
        number = self.operand(operand)
        if operand.register is not None:
            self.operand_rows[number][at.D_TYPES] = type_bits(legal)
        return number

    def _thread(self, resolved: ResolvedOperation, place: str) -> int:
        """Return the thread row of an asynchronous operation.

        Raises ProgramError for a microthread that the machine does not have, or names by the queue.
        """
        profile = self._compiled_for.profile
        queue = _first_queue(resolved, place)
        chosen = microthread_of(self._code, resolved)
        if chosen is not None and not profile.explicit_microthread:
            raise ProgramError(
                f"{place}: {profile.name} names the microthread by the queue", value=chosen
            )
        microthread = queue if chosen is None else chosen
        if not 0 <= microthread < profile.microthreads:
            raise ProgramError(
                f"{place}: no such microthread",
                value=microthread,
                instead=f"0 to {profile.microthreads - 1}",
            )
        return self._encoder.thread(microthread)


def _first_queue(resolved: ResolvedOperation, place: str) -> int:
    """Return the queue of the first fabric operand: it names the microthread on WSE-2.

    Raises ProgramError if there is none.
    """
    for operand in resolved.operands:
        if isinstance(operand.dsd, Fabin | Fabout):
            return operand.dsd.queue
    raise ProgramError(f"{place}: an asynchronous operation needs a fabric operand")
