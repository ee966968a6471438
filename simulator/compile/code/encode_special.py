"""Rows of the engine's tables for what goes beyond plain vectors, queues and local tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Protocol

from tilewright.simulator.check.validate_special import has_register
from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.code.encode_fabric_change import CHANGES, FabricRows
from tilewright.simulator.compile.code.encode_operation import Row
from tilewright.simulator.compile.code.encode_values import bits_of
from tilewright.simulator.compile.code.register_rates import Held, holding
from tilewright.simulator.isa.dsd import (
    DTYPES,
    FIFO_ACTIONS,
    Circbuf,
    CounterValue,
    Element,
    Fabin,
    Fabout,
    Fifo,
    Immediate,
    Mem1d,
    Mem4d,
    Ref,
    Register,
)
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.isa.operands import (
    ResolvedOperand,
    ResolvedOperation,
    resolve_map,
    resolve_operand,
)
from tilewright.simulator.isa.operations import SCALAR_ONLY
from tilewright.simulator.isa.scalars import SCALARS, source_dtypes
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.loads import all_loads, loaded_descriptors
from tilewright.simulator.program.program import (
    Compute,
    ElementCode,
    Instruction,
    LoadRegister,
    Map,
    OnControl,
    SetLength,
    Task,
    Value,
)

ON_CONTROL: Final = {
    "terminate": at.CONTROL_ENDS,
    "activate": at.CONTROL_ACTIVATES,
    "unblock": at.CONTROL_UNBLOCKS,
}
SCALAR_TYPES: Final = ("f32", "f16", "i16", "u16", "i32", "u32")
"""In the order of the engine's codes."""


class Compiler(Protocol):
    """What the compiler of a code offers."""

    tasks: dict[str, int]
    colors: dict[str, int]

    def thread(self, microthread: int) -> int: ...
    def variable(self, name: str) -> int: ...
    def operand(self, operand: ResolvedOperand) -> int: ...
    def terms(self, row: Row, operand: ResolvedOperand, wide: int) -> None: ...
    def append_scalar(self, row: list[int]) -> int: ...
    def append_load(self, row: list[int]) -> int: ...


class SpecialRows:
    """The special columns and rows of one code."""

    def __init__(self, code: ElementCode, profile: Profile, compiler: Compiler) -> None:
        self.code = code
        self.profile = profile
        self.compiler = compiler
        self.fabric = FabricRows(code, compiler)
        self.buffers: dict[int, str] = {}
        self._fifos = [dsd for dsd in code.dsds if isinstance(dsd, Fifo)]
        self._registers: dict[Register, int] = {}
        self._held: dict[int, int] = {}
        """By the identity of a load, the row of the operand that it loads."""

    def arguments(self, task: Task) -> list[tuple[int, int, int]]:
        """Return (counter, first bit, bits; negative with a sign) of a task's arguments."""
        found, shift = [], 0
        for name, dtype in task.arguments:
            bits = 16 * DTYPES[dtype]
            signed = -bits if dtype in {"i16", "i32"} else bits
            found.append((self.compiler.variable(name), shift, signed))
            shift += bits
        return found

    def bindings(self) -> list[int]:
        """Return the tasks of input queues and entries."""
        row = [-1] * at.BIND_EMPTY + self.fabric.emptied()
        for number, task in enumerate(self.code.tasks):
            if task.queue is not None:
                row[task.queue] = number
            elif task.control is not None:
                row[at.BIND_CONTROL + task.control] = number
        return row

    def task_queues(self) -> set[int]:
        """Return the input queues from which wavelets start tasks."""
        if any(task.control is not None for task in self.code.tasks):
            return {queue.id for queue in self.code.input_queues}
        return {task.queue for task in self.code.tasks if task.queue is not None}

    def listens(self) -> int:
        """Return the same as bits."""
        return sum(1 << queue for queue in self.task_queues())

    def pools(self) -> tuple[tuple[int, ...], ...]:
        """Return a row per FIFO."""
        rows = []
        for fifo in self._fifos:
            buffer = self.code.buffer(fifo.buffer)
            assert buffer is not None
            row = [0] * at.Q_WIDTH
            row[at.Q_BASE], row[at.Q_CAP] = buffer.address, buffer.elements
            row[at.Q_WIDE] = DTYPES[buffer.dtype]
            row[at.Q_EMPTY_ACTION] = FIFO_ACTIONS.index(fifo.empty_action)
            row[at.Q_FULL_ACTION] = FIFO_ACTIONS.index(fifo.full_action)
            row[at.Q_POP_TASK] = self.compiler.tasks.get(fifo.activate_pop or "", -1)
            row[at.Q_PUSH_TASK] = self.compiler.tasks.get(fifo.activate_push or "", -1)
            rows.append(tuple(row))
        return tuple(rows)

    def registers(self) -> tuple[tuple[int, ...], ...]:
        """Return a row per register; what is loaded before the start is a load row."""
        first = {}
        for load in self.code.loads:
            first[self._register(load.register)] = self._load(load)
        for fifo in self._fifos:
            if fifo.dest is not None:
                first.update(self._fifo_registers(fifo, fifo.dest))
        owners = {
            extra - 1: self._register(load.register) + 1
            for load in self.code.loads
            for extra in self._extras(load)
        }
        return tuple(
            (first.get(number, -1), owners.get(number, 0)) for number in range(len(self._registers))
        )

    def _fifo_registers(self, fifo: Fifo, number: int) -> dict[int, int]:
        """Return the loads of a FIFO's own registers."""
        where = f"code {self.code.name}, DSD {fifo.name}"
        operand = self.compiler.operand(resolve_operand(self.code, Ref(fifo.name), where))
        held = (self._register(Register("dest", number)), self._register(Register("src1", number)))
        settings = [0, at.NO_ACTION, -1, at.CONTROL_IS_DATA, -1, 0, 0, 0, 0, 0, 0]
        return {
            register: self.compiler.append_load([register, operand, *settings]) for register in held
        }

    def register_names(self) -> tuple[str, ...]:
        """Return the names of the registers by number."""
        return tuple(str(register) for register in self._registers)

    def operand(self, row: Row, operand: ResolvedOperand) -> None:
        """Complete an operand's row with numbers of registers, FIFOs and counters."""
        if operand.register is not None:
            row[at.D_KIND] = at.REGISTER
            row[at.D_BASE] = self._register(operand.register)
            row[at.D_FLAGS] = at.FIFO_TYPED if operand.register.fifo else 0
        elif operand.is_counter:
            row[at.D_KIND], row[at.D_BASE] = at.VARIABLE, operand.offset.constant
            row[at.D_WIDE] = 2
            self.compiler.terms(row, operand, 1)
        elif isinstance(operand.dsd, Fifo):
            row[at.D_KIND], row[at.D_BASE] = at.POOL, self._fifos.index(operand.dsd)
        for column, index in ((at.D_LENGTH_ROW, operand.length), (at.D_STRIDE_ROW, operand.stride)):
            if index is not None:
                row[column] = self.compiler.operand(
                    ResolvedOperand("v", offset=index, is_counter=True)
                )

    def operation(self, row: Row, resolved: ResolvedOperation) -> None:
        """Complete an operation's row with counters and tasks."""
        op = resolved.source
        if op.index is not None:
            row[at.O_INDEX] = self.compiler.operand(
                ResolvedOperand("v", offset=op.index, is_counter=True)
            )
        if op.result is not None:
            row[at.O_RESULT] = self.compiler.variable(op.result)
        row[at.O_ON_CONTROL], row[at.O_CONTROL_TASK] = self._on_control(op.on_control)

    def instruction(self, task: str, instruction: Instruction) -> tuple[int, ...]:
        """Return the code and arguments of an instruction."""
        if isinstance(instruction, Compute):
            return at.I_COMPUTE, self._compute(task, instruction)
        if isinstance(instruction, LoadRegister):
            return at.I_LOAD_REGISTER, self._load(instruction)
        if isinstance(instruction, CHANGES):
            return self.fabric.instruction(instruction)
        assert isinstance(instruction, SetLength)
        number = next(i for i, f in enumerate(self._fifos) if f.name == instruction.fifo)
        column = at.Q_READ_LENGTH if instruction.reads else at.Q_WRITE_LENGTH
        return at.I_SET_LENGTH, number, column, instruction.length

    def map_rows(
        self, task: str, instruction: Map, number: int
    ) -> list[tuple[Row, ResolvedOperation]]:
        """Return the rows of a map, each with its operands: the output and at most two inputs."""
        whole = resolve_map(self.code, task, instruction)
        inputs = list(zip(instruction.inputs, whole.sources, strict=True))
        found: list[tuple[Row, ResolvedOperation]] = []
        for first in range(0, max(1, len(inputs)), 2):
            pairs = [(name, operand) for (name, _), operand in inputs[first : first + 2]]
            output = instruction.output[0] if instruction.output and first == 0 else None
            dest = whole.dest if output is not None else ResolvedOperand("v")
            source = replace(whole.source, sources=whole.source.sources[first : first + 2])
            operands = tuple(operand for _, operand in pairs)
            part = replace(whole, source=source, dest=dest, sources=operands)
            row = self._map_row([(output, dest), *pairs], number + len(found))
            row[at.O_THREAD] = self.compiler.thread(-first // 2) if first else 0
            row[at.O_POINTER] = int(dest.letter == "p")
            found.append((row, part))
        return found

    def _map_row(self, pairs: Sequence[tuple[str | None, ResolvedOperand]], number: int) -> Row:
        row = [0] * at.O_WIDTH
        row[at.O_OPERANDS : at.O_OPERANDS + 4] = [-1] * 4
        row[at.O_SPECIAL], row[at.O_NUMBER], row[at.O_INDEX] = 1, number, -1
        row[at.O_RESULT] = row[at.O_CONTROL_TASK] = row[at.O_ACTION_TASK] = -1
        row[at.O_VARIANT :] = [-1] * (at.O_WIDTH - at.O_VARIANT)
        for which, (name, operand) in enumerate(pairs):
            if name is None:
                continue
            row[at.O_OPERANDS + which] = self.compiler.operand(operand)
            row[at.O_MAP + which] = self.compiler.variable(name)
            row[at.O_MAP_BITS + which] = self._bits(operand)
        return row

    def _bits(self, operand: ResolvedOperand) -> int:
        """Return the bits of a map's value; negative when the buffer's integers have a sign."""
        buffers = [operand.buffer] if operand.buffer is not None else []
        held = loaded_descriptors(self.code, operand.register)
        names = [dsd.buffer for dsd in held if isinstance(dsd, Mem1d | Mem4d | Circbuf)]
        found = next(filter(None, (*buffers, *map(self.code.buffer, names))), None)
        if found is None:
            return 32
        size = 16 * DTYPES[found.dtype]
        return -size if found.dtype in {"i16", "i32"} else size

    def first_fabric(self, resolved: ResolvedOperation, where: str) -> Fabin | Fabout:
        """Return the first fabric descriptor."""
        for operand in resolved.operands:
            if isinstance(operand.dsd, Fabin | Fabout):
                return operand.dsd
        raise ProgramError(f"{where}: an asynchronous operation needs a fabric operand")

    def as_loaded(self, resolved: ResolvedOperation) -> ResolvedOperation:
        """Return the operation with what its registers hold: the first fabric load, or the first.

        Rates and microthreads follow from it.
        """
        if not has_register(resolved):
            return resolved

        def shown(operand: ResolvedOperand) -> ResolvedOperand:
            found = loaded_descriptors(self.code, operand.register)
            fabric = [dsd for dsd in found if isinstance(dsd, Fabin | Fabout)]
            chosen = (*fabric, *found)[:1]
            return holding(self.code, operand, chosen[0]) if chosen else operand

        sources = tuple(shown(source) for source in resolved.sources)
        return replace(resolved, dest=shown(resolved.dest), sources=sources)

    def held_rows(self, loads: Held) -> list[int]:
        """Return the operand rows of what registers hold, -1 where there is no register."""
        rows = [-1 if load is None else self._held[id(load)] for load in loads]
        return rows + [-1] * (3 - len(rows))

    def microthread(self, resolved: ResolvedOperation) -> int | None:
        """Return the id that the operation gives, else that of a register's load.

        Of several registers dest counts before src0 before src1 (wafer.md §4.3).
        """
        if resolved.source.microthread is not None:
            return resolved.source.microthread
        used = [o.register for o in resolved.operands if o.register is not None]
        for register in sorted(used, key=lambda r: ("dest", "src0", "src1").index(r.file)):
            for load in all_loads(self.code):
                same = (load.register.file, load.register.id) == (register.file, register.id)
                if same and load.microthread is not None:
                    return load.microthread
        return None

    def loads_async(self, resolved: ResolvedOperation) -> bool:
        """Return whether a register of the operation is loaded as asynchronous."""
        used = {(o.register.file, o.register.id) for o in resolved.operands if o.register}
        return bool(used) and any(
            load.asynchronous and (load.register.file, load.register.id) in used
            for load in all_loads(self.code)
        )

    def loaded_slots(self, resolved: ResolvedOperation) -> set[int]:
        """Return the queue slots of what the operation's registers may hold."""
        found = set()
        for operand in resolved.operands:
            for dsd in loaded_descriptors(self.code, operand.register):
                if isinstance(dsd, Fabin | Fabout):
                    out = at.OUTPUT_SLOT if isinstance(dsd, Fabout) else 0
                    found.add(out + dsd.queue)
        return found

    def _register(self, register: Register) -> int:
        key = Register(register.file, register.id)
        return self._registers.setdefault(key, len(self._registers))

    def _extras(self, load: LoadRegister) -> list[int]:
        """Return the numbers + 1 of the extended and stride registers that a load takes."""
        extended = [] if load.xdsr is None else [Register("xdsr", load.xdsr)]
        strides = [Register("sr", number) for number in load.strides]
        return [self._register(register) + 1 for register in (*extended, *strides)]

    def _on_control(self, chosen: OnControl | None) -> tuple[int, int]:
        if chosen is None:
            return at.CONTROL_IS_DATA, -1
        return ON_CONTROL[chosen.action], self.compiler.tasks.get(chosen.task or "", -1)

    def _load(self, load: LoadRegister) -> int:
        where = f"code {self.code.name}, load of {load.register}"
        operand = resolve_operand(self.code, Ref(load.dsd, load.offset), where)
        action, task = at.NO_ACTION, -1
        if load.activate or load.unblock:
            action = at.ACTIVATE if load.activate else at.UNBLOCK
            task = self.compiler.tasks[load.activate or load.unblock or ""]
        on_control, control_task = self._on_control(load.on_control)
        if id(load) not in self._held:
            self._held[id(load)] = self.compiler.operand(operand)
        row = [self._register(load.register), self._held[id(load)]]
        row += [int(load.asynchronous), action, task, on_control, control_task]
        row += [int(load.save_address), int(load.single_step)]
        extras = self._extras(load)
        row += [*extras, *[0] * (at.R_WIDTH - at.R_EXTRAS - len(extras))]
        return self.compiler.append_load(row)

    def _compute(self, task: str, instruction: Compute) -> int:
        code, sources = SCALARS[instruction.operation]
        where = f"code {self.code.name}, task {task}, {instruction.operation}"
        row = [code, SCALAR_TYPES.index(instruction.dtype)]
        row += self._value(instruction.dest, instruction.dtype, where)
        dtypes = source_dtypes(instruction.operation, instruction.dtype)
        for dtype, value in zip(dtypes, instruction.sources, strict=True):
            row += self._value(value, dtype, where)
        row += [at.NUMBER, 0] * (2 - sources)
        return self.compiler.append_scalar(row)

    def _value(self, value: Value, dtype: str, where: str) -> list[int]:
        if isinstance(value, str):
            return [at.COUNTER_VALUE, self.compiler.variable(value)]
        if isinstance(value, Element):
            return [at.ELEMENT, self.compiler.operand(resolve_operand(self.code, value, where))]
        bits = bits_of(value.value, dtype, where)
        sign = 1 << (16 * DTYPES[dtype] - 1)
        signed = dtype in {"i16", "i32"} and bits & sign
        return [at.NUMBER, bits - 2 * sign if signed else bits]


def scalar_only(resolved: ResolvedOperation) -> Compute:
    """Return the scalar instruction that an operation without descriptors is."""
    operation = resolved.operation
    op = resolved.source
    assert isinstance(op.dest, Element)
    values: list[Value] = []
    for source in op.sources:
        if isinstance(source, CounterValue):
            if source.index.constant or len(source.index.terms) != 1:
                raise ProgramError(
                    f"@{op.operation}: a scalar is a number, an element or a counter",
                    value=str(source.index),
                )
            values.append(source.index.terms[0][0])
        else:
            assert isinstance(source, Element | Immediate)
            values.append(source)
    name = SCALAR_ONLY[op.operation]
    return Compute(op.dest, name, tuple(values), operation.mixed[1][0])
