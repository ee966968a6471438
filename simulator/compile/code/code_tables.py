"""Codes to the engine's static tables: operations, operands, instructions, tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import count
from typing import Any, Final

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.code.code_families import AnswerFiller, family_answer
from tilewright.simulator.compile.code.encode_operation import (
    Row,
    operand_row,
    operation_row,
    type_bits,
)
from tilewright.simulator.compile.code.encode_special import SpecialRows, scalar_only
from tilewright.simulator.compile.code.encode_values import load_cycles, queue_slots
from tilewright.simulator.compile.code.priorities import priority_level
from tilewright.simulator.compile.code.register_rates import RATES, held_operations
from tilewright.simulator.compile.code.table_blocks import (
    TABLES,
    WIDTHS,
    CodeBlock,
    CodeLayout,
    CodeTables,
    CompileTarget,
    ProgramTables,
    Rows,
    join_blocks,
    tables_of,
)
from tilewright.simulator.compile.code.traced_numbers import FamilyConditions, Formulas, Ints
from tilewright.simulator.compile.store_header import store_header
from tilewright.simulator.isa.dsd import DTYPES
from tilewright.simulator.isa.machine_errors import ErrorSubject, ProgramError
from tilewright.simulator.isa.memo import IdentityCache
from tilewright.simulator.isa.operands import (
    ResolvedOperand,
    ResolvedOperation,
    operation_name,
    resolve,
)
from tilewright.simulator.isa.operations import SCALAR_ONLY
from tilewright.simulator.profiles.profile import Profile, profile_number
from tilewright.simulator.program.program import (
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

_BLOCKS: Final = IdentityCache(256)
_NUMBERS: Final = count()
"""Codes that have been compiled, by profile and numbers of colors."""


@dataclass(slots=True)
class _CodeRows:
    operation: list[Row] = field(default_factory=list)
    operand: list[Row] = field(default_factory=list)
    instruction: list[Row] = field(default_factory=list)
    task: list[Row] = field(default_factory=list)
    binding: list[Row] = field(default_factory=list)
    scalar: list[Row] = field(default_factory=list)
    load: list[Row] = field(default_factory=list)


def compile_codes(
    codes: tuple[ElementCode, ...], profile: Profile, colors: Mapping[str, int]
) -> tuple[ProgramTables, tuple[CodeLayout, ...]]:
    """Return the engine's tables and the layout of each code. Raises ProgramError."""
    target = CompileTarget(profile, profile_number(profile), tuple(colors.items()))
    return join_blocks([block_of(code, target) for code in codes], store_header(profile))


def block_of(code: ElementCode, target: CompileTarget) -> CodeBlock:
    """Return the compiled code. Raises ProgramError."""
    block: CodeBlock = _BLOCKS.of(code, target.key, partial(_compiled, code, target))
    return block


def compiled_rows(code: ElementCode, target: CompileTarget) -> tuple[CodeLayout, Rows]:
    """Return the layout of a code and the rows of its tables. Raises ProgramError."""
    return _CodeCompiler(code, target).compile()


def _compiled(code: ElementCode, target: CompileTarget) -> CodeBlock:
    def plain() -> CodeBlock:
        layout, rows = compiled_rows(code, target)
        return CodeBlock(layout, target, tuple(map(len, rows)), partial(tables_of, rows))

    def traced(code: ElementCode) -> Callable[[FamilyConditions], AnswerFiller[CodeBlock]]:
        layout, rows = compiled_rows(code, target)
        return lambda guide: _BlockFiller(layout, target, rows, guide).block

    return family_answer(code, ("tables", target.key), plain, traced)


class _BlockFiller:
    """Makes the blocks of a family of codes."""

    def __init__(
        self, layout: CodeLayout, target: CompileTarget, rows: Rows, guide: FamilyConditions
    ) -> None:
        self._layout = layout
        self._target = target
        self._sizes = tuple(map(len, rows))
        self._formulas = Formulas([n for table in rows for row in table for n in row], guide)

    def block(self, code: ElementCode, slots: Ints) -> CodeBlock:
        """Return the block of a code."""
        alone = cache(partial(compiled_rows, code, self._target))
        layout = replace(
            self._layout,
            code=code,
            number=next(_NUMBERS),
            operations=_DeferredSequence(self._sizes[0], lambda: alone()[0].operations),
            sources=_DeferredSequence(self._sizes[2], lambda: alone()[0].sources),
        )
        return CodeBlock(layout, self._target, self._sizes, partial(self._tables, slots))

    def _tables(self, slots: Ints) -> CodeTables:
        words = [rows * width for rows, width in zip(self._sizes, WIDTHS, strict=True)]
        parts = zip(self._formulas.filled(slots, words), WIDTHS, strict=True)
        return CodeTables(*(part.reshape(-1, width) for part, width in parts))


class _DeferredSequence(Sequence[tuple[str, Any]]):
    """What a layout has for results and messages, found when it is asked for."""

    def __init__(self, size: int, make: Callable[[], Sequence[tuple[str, Any]]]) -> None:
        self._size = size
        self._make = make

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, number: Any) -> Any:
        return self._make()[number]


class _CodeCompiler:
    """Collects the rows of one code."""

    def __init__(self, code: ElementCode, target: CompileTarget) -> None:
        self.code = code
        self.machine = target.profile, target.number
        self.profile = target.profile
        self.rows = _CodeRows()
        self.variables: dict[str, int] = {}
        self.threads: dict[int, int] = {}
        self.queues: set[int] = set()
        self.operations: list[tuple[str, ResolvedOperation]] = []
        self.sources: list[tuple[str, Instruction | None]] = []
        self.by_register: list[tuple[int, str, DsdOperation]] = []
        self.now: tuple[str, Instruction | None] = ("", None)
        """(task, instruction) that is compiled."""
        self.tasks = {task.name: number for number, task in enumerate(code.tasks)}
        self.colors = dict(target.colors)
        self.special = SpecialRows(code, self.profile, self)

    def compile(self) -> tuple[CodeLayout, Rows]:
        """Return the code's layout and rows. Raises ProgramError."""
        for task in self.code.tasks:
            self.now = (task.name, None)
            self.rows.task.append([len(self.rows.instruction)])
            for slot, shift, bits in self.special.arguments(task):
                self._emit(at.I_ARGUMENT, slot, shift, bits)
            self._body(task.name, task.body)
            self.now = (task.name, None)
            self._emit(at.I_END)
        registers = self.special.registers()
        self.queues |= self.special.task_queues()
        for number, name, op in self.by_register:
            with ErrorSubject(op):
                self._variants(number, name, op)
        for row in self.rows.operation:
            row[at.O_RUNS] = len(self.operations) + row[at.O_NUMBER]
        self.rows.binding.append(self.special.bindings())
        return self._layout(registers), tuple(getattr(self.rows, name) for name in TABLES)

    def _layout(self, registers: tuple[tuple[int, ...], ...]) -> CodeLayout:
        return CodeLayout(
            self.code,
            next(_NUMBERS),
            tuple(self.operations),
            tuple(self.sources),
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
        self.sources.append(self.now)
        return len(self.rows.instruction) - 1

    def _body(self, task: str, body: tuple[Instruction, ...]) -> None:
        outer = self.now
        for instruction in body:
            self.now = (task, instruction)
            with ErrorSubject(instruction):
                self._instruction(task, instruction)
        self.now = outer

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
        where = partial(operation_name, self.code, task, op)
        timed = self.special.as_loaded(resolved)
        row = operation_row(resolved, timed, self.machine, where)
        row[at.O_OPERANDS : at.O_SCALAR_ROW + 1] = self._operands(resolved)
        row[at.O_NUMBER] = len(self.operations)
        asynchronous = op.asynchronous or self.special.loads_async(resolved)
        if asynchronous:
            row[at.O_ASYNC], row[at.O_THREAD] = 1, self._thread(timed, where())
        if op.activate or op.unblock:
            row[at.O_ACTION] = at.ACTIVATE if op.activate else at.UNBLOCK
            row[at.O_ACTION_TASK] = self.tasks[op.activate or op.unblock or ""]
        row[at.O_PRIORITY] = priority_level(self.code, timed, asynchronous)
        self.special.operation(row, resolved)
        self.queues.update(queue_slots(resolved), self.special.loaded_slots(resolved))
        self.rows.operation.append(row)
        self.operations.append((task, resolved))
        if timed is not resolved:
            self.by_register.append((len(self.rows.operation) - 1, task, op))
        return len(self.rows.operation) - 1

    def _variants(self, number: int, task: str, op: DsdOperation) -> None:
        """Append rows of an operation for what its registers may hold beside the first loads."""
        resolved, base = resolve(self.code, task, op), self.rows.operation[number]
        where = partial(operation_name, self.code, task, op)
        base[at.O_VARIANT] = len(self.rows.operation)
        for timed, loads in held_operations(self.code, resolved, where()):
            timing = operation_row(resolved, timed, self.machine, where)
            if all(timing[column] == base[column] for column in RATES):
                continue
            row = list(base)
            for column in RATES:
                row[column] = timing[column]
            row[at.O_HELD : at.O_HELD + 3] = self.special.held_rows(loads)
            self.rows.operation.append(row)
        base[at.O_VARIANTS] = len(self.rows.operation) - base[at.O_VARIANT]

    def _operands(self, resolved: ResolvedOperation) -> list[int]:
        """Emit operand rows of destination, sources and scalar; -1 stands for nothing."""
        if resolved.dest.letter == "v":
            return [-1, self.operand(resolved.sources[0]), -1, -1]
        found = [
            -1 if operand.letter == "v" else self._typed(operand, resolved.operation.legal(number))
            for number, operand in enumerate(resolved.operands[:3])
        ]
        if resolved.is_reduction:
            found[1] = found[0]
        scalar = next((s for s in resolved.sources if s.letter == "v"), None)
        row = -1
        if scalar is not None and (scalar.is_memory or scalar.is_counter):
            row = self.operand(scalar)
        return [*found, *[-1] * (3 - len(found)), row]

    def _typed(self, operand: ResolvedOperand, legal: tuple[str, ...]) -> int:
        """Emit an operand's row; that of a register says which dtypes it may hold."""
        number = self.operand(operand)
        if operand.register is not None:
            self.rows.operand[number][at.D_TYPES] = type_bits(legal)
        return number

    def operand(self, operand: ResolvedOperand) -> int:
        """Append an operand's row; return its number."""
        row = operand_row(operand)
        if operand.buffer is not None and operand.offset.terms:
            self.terms(row, operand, DTYPES[operand.buffer.dtype])
        self.special.operand(row, operand)
        self.rows.operand.append(row)
        number = len(self.rows.operand) - 1
        if operand.buffer is not None:
            self.special.buffers[number] = operand.buffer.name
        return number

    def terms(self, row: Row, operand: ResolvedOperand, wide: int) -> None:
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
