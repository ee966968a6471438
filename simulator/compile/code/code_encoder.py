"""Encode one code as rows of the engine's tables, with the help of the kinds of instructions.

The rows of an instruction are made by its kind (`instructions/`), which calls this encoder.
"""

from __future__ import annotations

from itertools import count
from typing import Final

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.code.encode_operation import CompiledFor, Row
from tilewright.simulator.compile.code.operation_rows import OperationRows
from tilewright.simulator.compile.code.queue_slots import slot_of
from tilewright.simulator.compile.code.registers import HeldLoads, RegisterRows
from tilewright.simulator.compile.table_blocks import TABLES, CodeLayout, CompileTarget, Rows
from tilewright.simulator.instructions.kind import Body, FabricChanges
from tilewright.simulator.instructions.table import kind_of
from tilewright.simulator.isa.dsd import FIFO_ACTIONS, Fifo, Register
from tilewright.simulator.isa.machine_errors import ErrorSubject
from tilewright.simulator.isa.number_types import DTYPES
from tilewright.simulator.isa.operands import ResolvedOperand, ResolvedOperation
from tilewright.simulator.program.instruction import DsdOperation, Instruction, LoadRegister
from tilewright.simulator.program.program import ElementCode, Task

_LAYOUT_NUMBERS: Final = count()


def next_layout_number() -> int:
    """Hand out the next unused number, to tell compiled codes (`CodeLayout.number`) apart.

    Each call returns another number; numbers are unique in this process only.
    """
    return next(_LAYOUT_NUMBERS)


class CodeEncoder:
    """Turn one code (what a class of elements holds and runs) into rows of the engine's tables.

    The kinds of instructions call its methods to append rows to the tables of instructions,
    operations on descriptors, operands, scalar operations and register loads, and to get numbers
    for the code's counters, threads and registers. Row numbers count from the code's first row of a
    table.
    """

    def __init__(self, code: ElementCode, target: CompileTarget) -> None:
        self.code = code
        self.profile = target.profile
        self.task = ""
        self.tasks = {task.name: number for number, task in enumerate(code.tasks)}
        self.colors = dict(target.colors)
        self.fifos = [dsd for dsd in code.dsds if isinstance(dsd, Fifo)]
        self.fabric = FabricChanges()
        self._instruction: Instruction | None = None
        """The instruction that is encoded, None at a task's ends."""
        self._variables: dict[str, int] = {}
        self._threads: dict[int, int] = {}
        self._instruction_rows: list[Row] = []
        self._sources: list[tuple[str, Instruction | None]] = []
        self._scalar_rows: list[Row] = []
        self._load_rows: list[Row] = []
        self._registers = RegisterRows(code, self)
        self._operations = OperationRows(self, CompiledFor(target.profile, target.number))

    def encode(self) -> tuple[CodeLayout, Rows]:
        """Compile the code, once: return its layout and the rows of each of its tables.

        The layout says what the rows stand for and what an element of the code needs. Raises
        ProgramError for what the code, or the profile that it is compiled for, does not allow.
        """
        first_rows = [[self._task(task)] for task in self.code.tasks]
        registers = self._registers.rows()
        operations = self._operations
        operations.append_variants()
        operations.number_runs()
        rows: dict[str, list[Row]] = {
            "operation": operations.rows,
            "operand": operations.operand_rows,
            "instruction": self._instruction_rows,
            "task": first_rows,
            "binding": [self._bindings()],
            "scalar": self._scalar_rows,
            "load": self._load_rows,
        }
        return self._layout(registers), tuple(rows[table] for table in TABLES)

    def _task(self, task: Task) -> int:
        """Encode a task; return its first row of the instruction table."""
        self.task, self._instruction = task.name, None
        first_row = self.next_row
        first_bit = 0
        for name, dtype in task.arguments:
            bits = 16 * DTYPES[dtype]
            signed_bits = -bits if dtype in {"i16", "i32"} else bits
            self.emit(at.I_ARGUMENT, self.variable(name), first_bit, signed_bits)
            first_bit += bits
        self.body(task.body)
        self.emit(at.I_END)
        return first_row

    def body(self, body: Body) -> None:
        """Append the rows of the instructions of a body (of a task, loop or branch), in order.

        Raises ProgramError, which names the instruction.
        """
        outer = self._instruction
        for instruction in body:
            self._instruction = instruction
            with ErrorSubject(instruction):
                kind_of(instruction).encode(instruction, self)
        self._instruction = outer

    @property
    def next_row(self) -> int:
        """The number that the next row of the code's instruction table will get."""
        return len(self._instruction_rows)

    def emit(self, opcode: int, *arguments: int) -> int:
        """Append a row (opcode, up to three arguments, else 0) to the instruction table.

        Returns its number in the code. The row is noted as part of the task and instruction being
        encoded.
        """
        row = [opcode, *arguments]
        self._instruction_rows.append(row + [0] * (at.I_WIDTH - len(row)))
        self._sources.append((self.task, self._instruction))
        return len(self._instruction_rows) - 1

    def jump_here(self, row: int) -> None:
        """Set the jump target of an earlier row of the instruction table to the next row.

        row: number of a branch or jump that was appended before its target was known.
        """
        self._instruction_rows[row][at.I_TARGET] = self.next_row

    def variable(self, name: str) -> int:
        """Return the number of a counter: a named integer that an element keeps across tasks.

        A new name gets the next number; the same name always gives the same one.
        """
        return self._variables.setdefault(name, len(self._variables))

    def thread(self, microthread: int) -> int:
        """Return the thread number of a microthread id in the code's thread table, from 1 on.

        A thread runs one asynchronous operation at a time; number 0 is the main thread. A new id
        gets the next number.
        """
        return self._threads.setdefault(microthread, len(self._threads) + 1)

    @property
    def operation_count(self) -> int:
        """The rows of the operation table so far, which is the number of the next row."""
        return len(self._operations.rows)

    def operation(self, op: DsdOperation) -> int:
        """Append the row of an operation on descriptors, with those of its operands.

        Returns the number of its row in the code's operation table. Raises ProgramError for
        operands, rates or microthreads that the machine does not allow.
        """
        return self._operations.operation(op)

    def append_operation(self, row: Row, resolved: ResolvedOperation) -> int:
        """Append a finished row to the operation table, and note which queues the operation uses.

        resolved: the operation with its operands looked up. Returns the number of the row.
        """
        return self._operations.append(row, resolved)

    def operand(self, operand: ResolvedOperand) -> int:
        """Append the row of an operand (memory vector, queue, FIFO, counter or register).

        Returns its number in the code's operand table. Raises ProgramError if its offset is a sum
        of more than four counters.
        """
        return self._operations.operand(operand)

    def append_scalar(self, row: Row) -> int:
        """Append a finished row to the code's table of scalar operations; return its number.

        A row holds operation, dtype, and (kind, value) of destination and two sources.
        """
        self._scalar_rows.append(row)
        return len(self._scalar_rows) - 1

    def append_load(self, row: Row) -> int:
        """Append a finished row to the code's table of register loads; return its number.

        A row says which register gets which operand (descriptor), with the settings of the load.
        """
        self._load_rows.append(row)
        return len(self._load_rows) - 1

    def register(self, register: Register) -> int:
        """Return the number of a data-structure register (a register that holds a descriptor).

        A register that is new to the code gets the next number.
        """
        return self._registers.number(register)

    def loaded_operand(self, load: LoadRegister) -> int:
        """Return the operand row of the descriptor that a load puts into its register.

        The row is appended at the first call for this load. Raises ProgramError if the descriptor
        or its offset is not valid.
        """
        return self._registers.loaded_operand(load)

    def held_operands(self, loads: HeldLoads) -> list[int]:
        """Return the operand rows of the descriptors that three registers hold.

        The registers are those of an operation's destination and two sources. loads: for each of
        them the load that filled it, None for an operand that is no register. That gives -1, and so
        does an operand that is not there. Each load must have its row already.
        """
        return self._registers.held_operands(loads)

    def _layout(self, registers: tuple[tuple[int, ...], ...]) -> CodeLayout:
        operations, fabric = self._operations, self.fabric
        return CodeLayout(
            self.code,
            next_layout_number(),
            tuple(operations.operations),
            tuple(self._sources),
            tuple(self._variables),
            tuple(self._threads),
            tuple(sorted(operations.queues | self._task_queues())),
            sum(1 << queue for queue in self._task_queues()),
            self._fifo_rows(),
            registers,
            self._registers.names(),
            operations.levels(),
            tuple(operations.buffers.items()),
            fabric.routes,
            fabric.bindings,
            bool(fabric.bindings) or fabric.flushes,
            dict.fromkeys(TABLES, 0),
        )

    def _task_queues(self) -> set[int]:
        """Return the input queues from which wavelets start tasks."""
        if any(task.control is not None for task in self.code.tasks):
            return {queue.id for queue in self.code.input_queues}
        return {task.queue for task in self.code.tasks if task.queue is not None}

    def _bindings(self) -> Row:
        """Return the tasks of input queues, control entries and emptied queues, -1 for none."""
        row = [-1] * at.BIND_WIDTH
        for number, task in enumerate(self.code.tasks):
            if task.queue is not None:
                row[task.queue] = number
            elif task.control is not None:
                row[at.BIND_CONTROL + task.control] = number
            for queue, output in ((task.empty_input, False), (task.empty_output, True)):
                if queue is not None:
                    row[at.BIND_EMPTY + slot_of(queue, output)] = number
        return row

    def _fifo_rows(self) -> tuple[tuple[int, ...], ...]:
        """Return a row per FIFO; its base counts from the element's first word."""
        rows = []
        for fifo in self.fifos:
            buffer = self.code.buffer(fifo.buffer)
            assert buffer is not None
            row = [0] * at.Q_WIDTH
            row[at.Q_BASE], row[at.Q_CAP] = buffer.address, buffer.elements
            row[at.Q_WIDE] = DTYPES[buffer.dtype]
            row[at.Q_EMPTY_ACTION] = FIFO_ACTIONS.index(fifo.empty_action)
            row[at.Q_FULL_ACTION] = FIFO_ACTIONS.index(fifo.full_action)
            row[at.Q_POP_TASK] = self.tasks.get(fifo.activate_pop or "", -1)
            row[at.Q_PUSH_TASK] = self.tasks.get(fifo.activate_push or "", -1)
            rows.append(tuple(row))
        return tuple(rows)
