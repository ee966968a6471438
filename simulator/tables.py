"""Codes to the engine's static tables: operations, operands, instructions, tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from math import lcm
from typing import Final

import numpy as np

from tilewright.simulator.banks import bank_cycles
from tilewright.simulator.blocks import (
    TABLES,
    CodeBlock,
    CodeLayout,
    CodeTables,
    ProgramTables,
    joined,
)
from tilewright.simulator.dsd import DTYPES, Fabin, Fabout
from tilewright.simulator.engine import layout as at
from tilewright.simulator.errors import ProgramError
from tilewright.simulator.header import header
from tilewright.simulator.memo import ValueMemo
from tilewright.simulator.operands import Resolved, ResolvedOperation, describe, resolve
from tilewright.simulator.operations import SCALAR_ONLY
from tilewright.simulator.priorities import level
from tilewright.simulator.profile import Profile, profile_number
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


_BLOCKS: Final = ValueMemo(256)
"""Codes that have been compiled, by profile and numbers of colors."""


@dataclass(slots=True)
class _Rows:
    operation: list[list[int]] = field(default_factory=list)
    operand: list[list[int]] = field(default_factory=list)
    instruction: list[list[int]] = field(default_factory=list)
    task: list[list[int]] = field(default_factory=list)
    scalar: list[list[int]] = field(default_factory=list)
    load: list[list[int]] = field(default_factory=list)


def compile_codes(
    codes: tuple[ElementCode, ...], profile: Profile, colors: Mapping[str, int]
) -> tuple[ProgramTables, tuple[CodeLayout, ...]]:
    """Return the engine's tables and the layout of each code. Raises ProgramError."""
    key = profile_number(profile), tuple(colors.items())
    blocks = [_BLOCKS.of((code, *key), partial(_compiled, code, profile, colors)) for code in codes]
    return joined(blocks, header(profile))


def _compiled(code: ElementCode, profile: Profile, colors: Mapping[str, int]) -> CodeBlock:
    return _CodeCompiler(code, profile, colors).compile()


def _table(rows: list[list[int]], width: int) -> at.Table:
    return np.array(rows, dtype=np.int64).reshape(len(rows), width)


class _CodeCompiler:
    """Collects the rows of one code."""

    def __init__(self, code: ElementCode, profile: Profile, colors: Mapping[str, int]) -> None:
        self.code = code
        self.profile = profile
        self.rows = _Rows()
        self.variables: dict[str, int] = {}
        self.threads: dict[int, int] = {}
        self.queues: set[int] = set()
        self.operations: list[tuple[str, ResolvedOperation]] = []
        self.tasks = {task.name: number for number, task in enumerate(code.tasks)}
        self.colors = dict(colors)
        self.special = SpecialRows(code, profile, self)

    def compile(self) -> CodeBlock:
        """Return the code's block of the tables. Raises ProgramError."""
        for task in self.code.tasks:
            self.rows.task.append([len(self.rows.instruction)])
            for slot, shift, bits in self.special.arguments(task):
                self._emit(at.I_ARGUMENT, slot, shift, bits)
            self._body(task.name, task.body)
            self._emit(at.I_END)
        registers = self.special.registers()
        self.queues |= self.special.task_queues()
        for row in self.rows.operation:
            row[at.O_RUNS] = len(self.operations) + row[at.O_NUMBER]
        return CodeBlock(self._layout(registers), self._tables())

    def _layout(self, registers: tuple[tuple[int, ...], ...]) -> CodeLayout:
        return CodeLayout(
            self.code,
            tuple(self.operations),
            tuple(self.variables),
            tuple(self.threads),
            tuple(sorted(self.queues)),
            self.special.listens(),
            self.special.pools(),
            registers,
            self.special.register_names(),
            self._levels(),
            tuple(self.special.buffers.items()),
            self.special.fabric.changes,
            self.special.fabric.bindings,
            bool(self.special.fabric.bindings) or self.special.fabric.flushes,
            dict.fromkeys(TABLES, 0),
        )

    def _tables(self) -> CodeTables:
        return CodeTables(
            _table(self.rows.operation, at.O_WIDTH),
            _table(self.rows.operand, at.D_WIDTH),
            _table(self.rows.instruction, at.I_WIDTH),
            _table(self.rows.task, 1),
            _table([self.special.bindings()], at.BIND_WIDTH),
            _table(self.rows.scalar, at.U_WIDTH),
            _table(self.rows.load, at.L_WIDTH),
        )

    def _levels(self) -> int:
        rows = self.rows.operation
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
