"""Codes to the engine's static tables: operations, operands, instructions, tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import lcm

import numpy as np

from tilewright.simulator.banks import bank_cycles
from tilewright.simulator.dsd import DTYPES, Fabin, Fabout
from tilewright.simulator.engine import layout as at
from tilewright.simulator.errors import ProgramError
from tilewright.simulator.header import header
from tilewright.simulator.operands import Resolved, ResolvedOperation, describe, resolve
from tilewright.simulator.operations import SCALAR_ONLY
from tilewright.simulator.priorities import level
from tilewright.simulator.profile import Profile
from tilewright.simulator.program import (
    Activate,
    Add,
    Block,
    DsdOperation,
    ElementCode,
    If,
    Instruction,
    Loop,
    Map,
    Reconfigure,
    Set,
    Unblock,
)
from tilewright.simulator.row_values import bits_of, load_cycles, pace, queue_slots
from tilewright.simulator.simd import mode_of
from tilewright.simulator.special_rows import SpecialRows, scalar_only

TYPES = {
    "f32": at.TYPE_F32,
    "f16": at.TYPE_F16,
    "i16": at.TYPE_INT16,
    "u16": at.TYPE_INT16,
    "i32": at.TYPE_INT32,
    "u32": at.TYPE_INT32,
}


@dataclass(frozen=True, slots=True)
class CodeLayout:
    """Where one code's rows are, and what an element of it needs."""

    code: ElementCode
    first_operation: int
    operations: tuple[tuple[str, ResolvedOperation], ...]
    """(task, operation) per row of the operation table."""
    first_task: int
    variables: tuple[str, ...]
    threads: tuple[int, ...]
    """Microthread id per thread row after the first."""
    queues: tuple[int, ...]
    """Slots of the queues that operations and tasks use."""
    listens: int
    """Bit per input queue from which wavelets start tasks."""
    pools: tuple[tuple[int, ...], ...]
    """FIFO rows of an element; their base counts from its first word."""
    registers: tuple[tuple[int, ...], ...]
    """Register rows of an element; what was loaded before the start names operand rows."""
    register_names: tuple[str, ...]
    levels: int
    """Bit per priority of the operations on queues and FIFOs."""
    buffers: tuple[tuple[int, str], ...]
    """(operand row, buffer) of the operands that special operations and scalars touch."""
    changes: Mapping[str, Sequence[Reconfigure]]
    """What the routers of its elements may be changed to, by color."""
    bindings: Sequence[tuple[int, str]]
    """(slot, color) of the queues that are bound again while the program runs."""
    rebinds: bool
    """Whether it looks at what is in queues: they are not merged then."""


@dataclass(frozen=True, slots=True)
class CodeTables:
    """The engine's static tables; references between them are row numbers."""

    operation: at.Table
    operand: at.Table
    instruction: at.Table
    task: at.Table
    """First instruction of each task."""
    binding: at.Table
    scalar: at.Table
    load: at.Table
    header: at.Table
    """The store's header with the profile's cycles."""


@dataclass(slots=True)
class _Rows:
    colors: Mapping[str, int]
    operation: list[list[int]] = field(default_factory=list)
    operand: list[list[int]] = field(default_factory=list)
    instruction: list[list[int]] = field(default_factory=list)
    task: list[list[int]] = field(default_factory=list)
    binding: list[list[int]] = field(default_factory=list)
    scalar: list[list[int]] = field(default_factory=list)
    load: list[list[int]] = field(default_factory=list)


def compile_codes(
    codes: tuple[ElementCode, ...], profile: Profile, colors: Mapping[str, int]
) -> tuple[CodeTables, tuple[CodeLayout, ...]]:
    """Return the engine's tables and the layout of each code. Raises ProgramError."""
    rows = _Rows(colors)
    layouts = tuple(_CodeCompiler(code, profile, rows).compile() for code in codes)
    tables = CodeTables(
        _table(rows.operation, at.O_WIDTH),
        _table(rows.operand, at.D_WIDTH),
        _table(rows.instruction, at.I_WIDTH),
        _table(rows.task, 1),
        _table(rows.binding, at.BIND_WIDTH),
        _table(rows.scalar, at.U_WIDTH),
        _table(rows.load, at.L_WIDTH),
        header(profile),
    )
    return tables, layouts


def _table(rows: list[list[int]], width: int) -> at.Table:
    return np.array(rows, dtype=np.int64).reshape(len(rows), width)


class _CodeCompiler:
    """Append the rows of one code to the tables."""

    def __init__(self, code: ElementCode, profile: Profile, rows: _Rows) -> None:
        self.code = code
        self.profile = profile
        self.rows = rows
        self.variables: dict[str, int] = {}
        self.threads: dict[int, int] = {}
        self.queues: set[int] = set()
        self.operations: list[tuple[str, ResolvedOperation]] = []
        self.tasks = {task.name: number for number, task in enumerate(code.tasks)}
        self.colors = dict(rows.colors)
        self.special = SpecialRows(code, profile, self)

    def compile(self) -> CodeLayout:
        first_operation = len(self.rows.operation)
        first_task = len(self.rows.task)
        for task in self.code.tasks:
            self.rows.task.append([len(self.rows.instruction)])
            for slot, shift, bits in self.special.arguments(task):
                self._emit(at.I_ARGUMENT, slot, shift, bits)
            self._body(task.name, task.body)
            self._emit(at.I_END)
        self.rows.binding.append(self.special.bindings())
        registers = self.special.registers()
        self.queues |= self.special.task_queues()
        for row in range(first_operation, len(self.rows.operation)):
            numbered = self.rows.operation[row]
            numbered[at.O_RUNS] = len(self.operations) + numbered[at.O_NUMBER]
        return CodeLayout(
            self.code,
            first_operation,
            tuple(self.operations),
            first_task,
            tuple(self.variables),
            tuple(self.threads),
            tuple(sorted(self.queues)),
            self.special.listens(),
            self.special.pools(),
            registers,
            self.special.register_names(),
            self._levels(first_operation),
            tuple(self.special.buffers.items()),
            self.special.fabric.changes,
            self.special.fabric.bindings,
            bool(self.special.fabric.bindings) or self.special.fabric.flushes,
        )

    def _levels(self, first: int) -> int:
        rows = self.rows.operation[first:]
        return sum(
            {1 << row[at.O_PRIORITY] for row in rows if row[at.O_FABRIC] or row[at.O_SPECIAL]}
        )

    def append_scalar(self, row: list[int]) -> int:
        """Append a scalar instruction's row; return its number."""
        self.rows.scalar.append(row)
        return len(self.rows.scalar) - 1

    def append_load(self, row: list[int]) -> int:
        """Append a register load's row; return its number."""
        self.rows.load.append(row)
        return len(self.rows.load) - 1

    def _emit(self, code: int, *arguments: int) -> int:
        row = [code, *arguments]
        self.rows.instruction.append(row + [0] * (4 - len(row)))
        return len(self.rows.instruction) - 1

    def _body(self, task: str, body: tuple[Instruction, ...]) -> None:
        for instruction in body:
            self._instruction(task, instruction)

    def _instruction(self, task: str, instruction: Instruction) -> None:
        match instruction:
            case DsdOperation():
                self._dsd_operation(task, instruction)
            case Loop(variable, count, body):
                slot = self.variable(variable)
                self._emit(at.I_LOOP, slot, 0)
                start = len(self.rows.instruction)
                self._body(task, body)
                self._emit(at.I_END_LOOP, slot, count, start)
            case Set(variable, value):
                self._emit(at.I_SET, self.variable(variable), value)
            case Add(variable, value):
                self._emit(at.I_ADD, self.variable(variable), value)
            case If():
                self._if(task, instruction)
            case Activate(name):
                self._emit(at.I_ACTIVATE, self.tasks[name])
            case Block(name):
                self._emit(at.I_BLOCK, self.tasks[name])
            case Unblock(name):
                self._emit(at.I_UNBLOCK, self.tasks[name])
            case Map():
                self._map(task, instruction)
            case _:
                self._emit(*self.special.instruction(task, instruction))

    def _dsd_operation(self, task: str, op: DsdOperation) -> None:
        if op.operation in SCALAR_ONLY:
            scalar = scalar_only(resolve(self.code, task, op))
            self._emit(*self.special.instruction(task, scalar))
        else:
            self._emit(at.I_OPERATION, self._operation(task, op))

    def _if(self, task: str, instruction: If) -> None:
        slot = self.variable(instruction.variable)
        test = self._emit(at.I_UNLESS_BELOW, slot, instruction.below)
        self._body(task, instruction.then)
        if instruction.otherwise:
            jump = self._emit(at.I_JUMP)
            self.rows.instruction[test][3] = len(self.rows.instruction)
            self._body(task, instruction.otherwise)
            self.rows.instruction[jump][3] = len(self.rows.instruction)
        else:
            self.rows.instruction[test][3] = len(self.rows.instruction)

    def _map(self, task: str, instruction: Map) -> None:
        """Emit a loop over the elements of a map's operands."""
        first = len(self.rows.operation)
        for row, resolved in self.special.map_rows(task, instruction, len(self.operations)):
            self.queues.update(queue_slots(resolved), self.special.loaded_slots(resolved))
            row[at.O_LOAD] = load_cycles(resolved, self.profile)
            self.rows.operation.append(row)
            self.operations.append((task, resolved))
        parts = range(first, len(self.rows.operation))
        for number in parts:
            self._emit(at.I_MAP_START, number)
        reads = [self._emit(at.I_MAP_READ, number) for number in parts]
        self._body(task, instruction.body)
        self._emit(at.I_MAP_WRITE, first, 0, reads[0])
        end = len(self.rows.instruction)
        for number, read in zip(parts, reads, strict=True):
            self.rows.instruction[read][3] = end
            self._emit(at.I_MAP_END, number)

    def variable(self, name: str) -> int:
        """Return the number of a counter of the element."""
        return self.variables.setdefault(name, len(self.variables))

    def _operation(self, task: str, op: DsdOperation) -> int:
        resolved = resolve(self.code, task, op)
        where = describe(self.code, task, op)
        row = [0] * at.O_WIDTH
        row[at.O_ARITHMETIC] = resolved.operation.arithmetic
        row[at.O_TYPE] = TYPES[self._dtype(resolved)]
        row[at.O_EXTENT] = resolved.extent
        row[at.O_OPERANDS : at.O_OPERANDS + 3] = self._operands(resolved)
        row[at.O_SCALAR_ROW], row[at.O_SCALAR] = self._scalar(resolved, where)
        row[at.O_FABRIC] = int(resolved.is_fabric)
        timed = self.special.as_loaded(resolved)
        asynchronous = op.asynchronous or self.special.loads_async(resolved)
        row[at.O_ASYNC] = int(asynchronous)
        row[at.O_THREAD] = self._thread(timed, where) if asynchronous else 0
        if op.activate or op.unblock:
            row[at.O_ACTION] = at.ACTIVATE if op.activate else at.UNBLOCK
            row[at.O_ACTION_TASK] = self.tasks[op.activate or op.unblock or ""]
        row[at.O_LOAD] = load_cycles(resolved, self.profile)
        row[at.O_GROUP], rate = pace(timed, self.profile)
        rate, more = bank_cycles(timed, self.profile, (row[at.O_GROUP], rate))
        row[at.O_DENOMINATOR] = lcm(rate.denominator, more.denominator)
        row[at.O_CYCLES] = int(rate * row[at.O_DENOMINATOR])
        row[at.O_BANKS] = int(more * row[at.O_DENOMINATOR])
        row[at.O_REDUCTION] = int(resolved.is_reduction)
        row[at.O_NUMBER] = len(self.operations)
        row[at.O_SIMD] = mode_of(timed)
        row[at.O_PRIORITY] = level(self.code, timed, asynchronous)
        self.special.operation(row, resolved)
        for slot in queue_slots(resolved):
            row[at.O_QUEUES] |= 1 << slot
        self.queues.update(queue_slots(resolved), self.special.loaded_slots(resolved))
        self.rows.operation.append(row)
        self.operations.append((task, resolved))
        return len(self.rows.operation) - 1

    def _dtype(self, resolved: ResolvedOperation) -> str:
        found = (o.buffer.dtype for o in resolved.operands if o.buffer is not None)
        return next(found, resolved.operation.dtype)

    def _operands(self, resolved: ResolvedOperation) -> list[int]:
        """Emit operand rows of destination and sources; -1 stands for a scalar or nothing."""
        dest = -1 if resolved.dest.letter == "v" else self.operand(resolved.dest)
        if dest < 0:
            return [-1, self.operand(resolved.sources[0]), -1]
        if resolved.is_reduction:
            return [dest, dest, self.operand(resolved.sources[1])]
        found = [-1 if s.letter == "v" else self.operand(s) for s in resolved.sources[:2]]
        return [dest, *found, *[-1] * (2 - len(found))]

    def operand(self, operand: Resolved) -> int:
        """Append an operand's row; return its number."""
        row = [0] * at.D_WIDTH
        row[at.D_DIMENSIONS] = len(operand.extents())
        if isinstance(operand.dsd, Fabin):
            row[at.D_KIND], row[at.D_BASE] = at.FABRIC_IN, operand.dsd.queue
        elif isinstance(operand.dsd, Fabout):
            row[at.D_KIND] = at.FABRIC_OUT
            row[at.D_BASE] = at.OUTPUT_SLOT + operand.dsd.queue
        elif operand.buffer is not None:
            self._memory_operand(row, operand)
        self.special.operand(row, operand)
        self.rows.operand.append(row)
        number = len(self.rows.operand) - 1
        if operand.buffer is not None:
            self.special.buffers[number] = operand.buffer.name
        return number

    def _memory_operand(self, row: list[int], operand: Resolved) -> None:
        buffer = operand.buffer
        assert buffer is not None
        wide = DTYPES[buffer.dtype]
        first = buffer.address
        row[at.D_KIND], row[at.D_WIDE] = at.MEMORY, wide
        row[at.D_BASE] = first + (operand.base + operand.offset.constant) * wide
        for d, extent in enumerate(reversed(operand.extents())):
            row[at.D_EXTENT + d] = extent
            row[at.D_STRIDE + d] = operand.strides()[d] * wide
        self.terms(row, operand, wide)
        low, high = operand.span()
        row[at.D_LOW], row[at.D_HIGH] = (low - operand.base) * wide, (high - operand.base) * wide
        row[at.D_FIRST], row[at.D_LAST] = first, first + (buffer.elements - 1) * wide

    def terms(self, row: list[int], operand: Resolved, wide: int) -> None:
        """Set the counters that an operand's offset (or value) adds up."""
        if len(operand.offset.terms) > 4:
            raise ProgramError(
                f"code {self.code.name}: an offset has more than four variables",
                value=str(operand.offset),
            )
        row[at.D_TERMS] = len(operand.offset.terms)
        for i, (name, factor) in enumerate(operand.offset.terms):
            row[at.D_VARIABLE + i] = self.variable(name)
            row[at.D_FACTOR + i] = factor * wide

    def _scalar(self, resolved: ResolvedOperation, where: str) -> tuple[int, int]:
        scalar = next((s for s in resolved.sources if s.letter == "v"), None)
        if scalar is None:
            return -1, 0
        if scalar.is_memory or scalar.is_counter:
            return self.operand(scalar), 0
        if self.special.sends_control(resolved):
            return -1, int(scalar.value)
        dtype = self._dtype(resolved)
        if resolved.operation.mixed:
            dtype = resolved.operation.mixed[1 + resolved.sources.index(scalar)][0]
        return -1, bits_of(scalar.value, dtype, where)

    def _thread(self, resolved: ResolvedOperation, where: str) -> int:
        fabric = self.special.first_fabric(resolved, where)
        chosen = self.special.microthread(resolved)
        if chosen is not None and not self.profile.explicit_microthread:
            raise ProgramError(
                f"{where}: {self.profile.name} names the microthread by the queue", value=chosen
            )
        thread = fabric.queue if chosen is None else chosen
        if not 0 <= thread < self.profile.microthreads:
            raise ProgramError(f"{where}: no such microthread", value=thread)
        return self.thread(thread)

    def thread(self, microthread: int) -> int:
        """Return the row of a microthread of the element."""
        return self.threads.setdefault(microthread, len(self.threads) + 1)
