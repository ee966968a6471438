"""The instruction `@map`: a body of instructions for every value of its operands.

The engine runs it as a loop. Each of its operation rows has the output or two inputs: the first row
the output and the first two inputs, each further row (on a thread of its own) two more. The body
has scalar instructions and operations on descriptors, which the main thread does: then the first
row, too, has a thread of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from tilewright.simulator.check.counter_types import check_value_types, differ, result_dtype
from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.code.encode_values import load_cycles, load_stalls
from tilewright.simulator.compile.code.registers import loads_asynchronous
from tilewright.simulator.descriptors.fabric_streams import paired_values_error
from tilewright.simulator.descriptors.register_use import RegisterUse, register_use
from tilewright.simulator.instructions.control_flow import Add, If, Loop, Set
from tilewright.simulator.instructions.kind import BodyParser, CheckContext, Encoder, Kind
from tilewright.simulator.instructions.scalar_operation import ScalarOperation
from tilewright.simulator.isa.dsd import (
    Buffer,
    Circbuf,
    Fabin,
    Fabout,
    Fifo,
    Immediate,
    Mem1d,
    Mem4d,
    Operand,
    Register,
)
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.isa.number_types import DTYPES
from tilewright.simulator.isa.operands import ResolvedOperand, ResolvedOperation
from tilewright.simulator.isa.operations import MAP as MAP_OPERATION
from tilewright.simulator.isa.resolving import (
    check_bounds,
    check_directions,
    resolve,
    resolve_operand,
)
from tilewright.simulator.isa.scalars import SCALARS
from tilewright.simulator.program.code_parts import loaded_descriptors, walk
from tilewright.simulator.program.instruction import DsdOperation, Instruction
from tilewright.simulator.program.program import ElementCode
from tilewright.simulator.text.operand_text import operand_text, parse_operand
from tilewright.simulator.text.tokens import Line, print_name, print_settings

MAX_INPUTS: Final = 16
"""Inputs of a map: as many as there are registers of file src1 (wafer.md §4.3)."""
INPUTS_PER_ROW: Final = 2
MAP_THREAD: Final = -2
"""Whose registers a map takes that has operations in its body: neither the main thread's nor a
microthread's."""


@dataclass(frozen=True, slots=True)
class Map(Instruction):
    """The builtin `@map`: run a body of instructions for each value of its operands.

    `inputs`: (counter, operand), the counter gets each value before the body; `output`: (counter,
    operand), the operand takes the counter's value after it, None for no output. It ends when one
    operand has no values left. The body has scalar instructions, synchronous operations on
    descriptors, conditions and loops. `label`: a word under which its values are counted.
    """

    inputs: tuple[tuple[str, Operand], ...]
    output: tuple[str, Operand] | None
    body: tuple[Instruction, ...]
    label: str = ""

    @property
    def bodies(self) -> tuple[tuple[Instruction, ...], ...]:
        """Its one body."""
        return (self.body,)

    @property
    def operands(self) -> tuple[Operand, ...]:
        """The operands of the inputs, then that of the output."""
        return tuple(operand for _, operand in self._pairs)

    @property
    def counters_set(self) -> tuple[str, ...]:
        """The counters of the inputs and of the output."""
        return tuple(name for name, _ in self._pairs)

    @property
    def _pairs(self) -> tuple[tuple[str, Operand], ...]:
        return self.inputs if self.output is None else (*self.inputs, self.output)


def _parse(line: Line, parser: BodyParser) -> Map:
    parser.declare("@map")
    inputs = []
    output = None
    while line.more and line.peek() != "to":
        name = line.name("a counter")
        line.expect("from")
        inputs.append((name, parse_operand(line)))
        if not line.has(","):
            break
    if line.has("to"):
        operand = parse_operand(line)
        line.expect("as")
        output = (line.name("a counter"), operand)
    label = line.name("a label") if line.has("label") else ""
    return Map(tuple(inputs), output, parser.body(line), label)


def _text(instruction: Map) -> str:
    pairs = (f"{print_name(name)} from {operand_text(o)}" for name, o in instruction.inputs)
    text, label = ("map " + ", ".join(pairs)).rstrip(), print_settings(instruction, ("label",))
    if instruction.output is None:
        return text + label
    name, operand = instruction.output
    return f"{text} to {operand_text(operand)} as {print_name(name)}{label}"


def resolve_map(code: ElementCode, task: str, instruction: Map) -> ResolvedOperation:
    """Look up the operands of a map in its code, and check that they are legal.

    Without an output the destination is a nameless scalar. Raises ProgramError for an unknown name,
    no descriptor at all, too many inputs, a FIFO, or a wrong direction of a queue.
    """
    place = f"code {code.name}, task {task}, @map"
    inputs = tuple(operand for _, operand in instruction.inputs)
    output = Immediate(0) if instruction.output is None else instruction.output[1]
    sources = tuple(resolve_operand(code, operand, place) for operand in inputs)
    dest = ResolvedOperand("v")
    if instruction.output is not None:
        dest = resolve_operand(code, output, place, is_dest=True)
    if len(sources) > MAX_INPUTS or not any(o.letter == "D" for o in (dest, *sources)):
        raise ProgramError(
            f"{place}: needs a descriptor or register, and at most {MAX_INPUTS} inputs",
            value=len(sources),
        )
    _check_letters(sources if instruction.output is None else (*sources, dest), place)
    _check_input_files(sources, place)
    check_directions(dest, sources, place)
    op = DsdOperation("map", output, inputs, label=instruction.label)
    return ResolvedOperation(op, MAP_OPERATION, dest, sources, 0)


def _check_input_files(sources: Sequence[ResolvedOperand], place: str) -> None:
    for source in sources:
        if source.register is not None and source.register.file != "src1":
            raise ProgramError(f"{place}: a register as input is of file src1")


def _check_letters(operands: Sequence[ResolvedOperand], place: str) -> None:
    for operand in operands:
        if operand.letter not in "Dp" or isinstance(operand.dsd, Fifo):
            raise ProgramError(f"{place}: an operand is no descriptor, or a FIFO")


def _check(instruction: Map, context: CheckContext) -> None:
    place = f"{context.place}, @map"
    for operand in resolve_map(context.code, context.task, instruction).operands:
        check_bounds(operand, context.counts, place)
        if operand.has_index_offset:
            raise ProgramError(f"{place}: wavelet_index_offset needs an index")
        if isinstance(operand.dsd, Fabin | Fabout) and operand.dsd.simd:
            raise paired_values_error(place, operand.dsd)
    _check_types(context.code, instruction, place)
    _check_operations(context.code, context.task, instruction, place)
    context.check_body(instruction.body, context.counts)


def _check_operations(code: ElementCode, task: str, instruction: Map, place: str) -> None:
    """Refuse a body with other instructions, and values that its operations take for others."""
    given = {name: _dtype(code, operand, place) for name, operand in instruction.inputs}
    for inner in walk(instruction.body):
        if not isinstance(inner, ScalarOperation | Set | Add | DsdOperation | Loop | If):
            raise ProgramError(
                f"{place}: the body has scalar instructions and operations on descriptors only"
            )
        if not isinstance(inner, DsdOperation):
            continue
        resolved = resolve(code, task, inner)
        if inner.asynchronous or loads_asynchronous(code, resolved):
            raise ProgramError(
                f"{place}, @{inner.operation}: an operation in the body is asynchronous",
                value=inner.label or None,
                instead="the same without async: the next element would find it under way",
            )
        _check_arguments(resolved, given, place)


def _check_arguments(
    resolved: ResolvedOperation, given: Mapping[str, str | None], place: str
) -> None:
    """Refuse arguments of an operation whose types it does not take; `given`: types by name."""
    for number, operand in enumerate(resolved.operands):
        names = [name for name, _ in operand.offset.terms] if operand.is_counter else []
        dtype = given.get(names[0]) if len(names) == 1 else None
        legal = resolved.operation.legal(number)
        if dtype and all(differ(dtype, other) for other in legal):
            raise ProgramError(
                f"{place}, @{resolved.operation.name}: argument {names[0]} is no "
                f"{' or '.join(legal)}",
                value=dtype,
                instead=f"an operation on {dtype}",
            )


def _has_operations(instruction: Map) -> bool:
    return any(isinstance(inner, DsdOperation) for inner in walk(instruction.body))


def _check_types(code: ElementCode, instruction: Map, place: str) -> None:
    """Refuse a body that takes its values for floats of another size."""
    given = {name: _dtype(code, operand, place) for name, operand in instruction.inputs}
    dtypes = {name: dtype for name, dtype in given.items() if dtype}
    check_value_types(dtypes, instruction.body, place)
    if instruction.output is None:
        return
    name, operand = instruction.output
    dtype = _dtype(code, operand, place)
    results = [result_dtype(inner) for inner in _scalar_operations(instruction, name)]
    if dtype and results and all(differ(dtype, result) for result in results):
        raise ProgramError(
            f"{place}: the output takes {dtype}, but its counter {name} holds a value of another "
            "dtype",
            value=results[0],
            instead=f"instructions on {dtype}",
        )


def _scalar_operations(instruction: Map, dest: str) -> list[ScalarOperation]:
    """Return the scalar instructions of the body that give a counter its value."""
    computes = [inner for inner in walk(instruction.body) if isinstance(inner, ScalarOperation)]
    return [inner for inner in computes if inner.dest == dest and inner.operation in SCALARS]


def _dtype(code: ElementCode, operand: Operand, place: str) -> str | None:
    """Return the dtype of an operand's buffer, None for a queue.

    Raises ProgramError for a register that holds several dtypes.
    """
    if not isinstance(operand, Register):
        buffer = resolve_operand(code, operand, place).buffer
        return None if buffer is None else buffer.dtype
    buffers = _loaded_buffers(code, operand)
    dtypes = sorted({buffer.dtype for buffer in buffers if buffer is not None})
    if len(dtypes) > 1:
        raise ProgramError(
            f"{place}: register {operand} is loaded with values of several dtypes",
            value=", ".join(dtypes),
            instead="a register for each dtype",
        )
    return dtypes[0] if dtypes else None


def _loaded_buffers(code: ElementCode, register: Register | None) -> list[Buffer | None]:
    """Return the buffers of the memory descriptors that are loaded into a register."""
    loaded = loaded_descriptors(code, register)
    memory = [dsd for dsd in loaded if isinstance(dsd, Mem1d | Mem4d | Circbuf)]
    return [code.buffer(dsd.buffer) for dsd in memory]


def _registers(instruction: Map, code: ElementCode, task: str) -> RegisterUse:
    """Return the registers: every input has one of file src1."""
    resolved = resolve_map(code, task, instruction)
    inputs = sum(source.letter == "D" for source in resolved.sources)
    use = register_use(resolved, ("src1",) * inputs)
    # operations in the body take registers beside the map's
    return use._replace(thread=MAP_THREAD) if _has_operations(instruction) else use


class _CounterOperand(NamedTuple):
    """A counter of a map's body, and the operand whose values it takes or gives.

    `counter`: None stands for a map without output.
    """

    counter: str | None
    operand: ResolvedOperand


def _encode(instruction: Map, encoder: Encoder) -> None:
    """Emit a loop over the elements of a map's operands."""
    first = encoder.operation_count
    resolved = resolve_map(encoder.code, encoder.task, instruction)
    for number, part in enumerate(map_rows(resolved)):
        _append_row(instruction, part, number * INPUTS_PER_ROW, encoder)
    parts = range(first, encoder.operation_count)
    for number in parts:
        encoder.emit(at.I_MAP_START, number)
    reads = [encoder.emit(at.I_MAP_READ, number) for number in parts]
    encoder.body(instruction.body)
    encoder.emit(at.I_MAP_WRITE, first, 0, reads[0])
    for read in reads:
        encoder.jump_here(read)
    for number in parts:
        encoder.emit(at.I_MAP_END, number)


def map_rows(resolved: ResolvedOperation) -> list[ResolvedOperation]:
    """Return the operations that a map starts, reads and ends one by one; `resolved`: all of it.

    One has up to two inputs; the first one has the output, too.
    """
    return [
        replace(
            resolved,
            source=replace(
                resolved.source, sources=resolved.source.sources[first : first + INPUTS_PER_ROW]
            ),
            dest=ResolvedOperand("v") if first else resolved.dest,
            sources=resolved.sources[first : first + INPUTS_PER_ROW],
        )
        for first in range(0, max(1, len(resolved.sources)), INPUTS_PER_ROW)
    ]


def _append_row(
    instruction: Map, part: ResolvedOperation, first_input: int, encoder: Encoder
) -> None:
    """Append one row of a map's operations, for the inputs from number `first_input` on."""
    names = [name for name, _ in instruction.inputs[first_input : first_input + INPUTS_PER_ROW]]
    output = instruction.output[0] if instruction.output and first_input == 0 else None
    pairs = [_CounterOperand(output, part.dest), *map(_CounterOperand, names, part.sources)]
    row = _row(pairs, encoder)
    number = first_input // INPUTS_PER_ROW + int(_has_operations(instruction))
    row[at.O_THREAD] = encoder.thread(-number) if number else 0
    row[at.O_LEADS] = int(first_input == 0)
    row[at.O_POINTER] = int(part.dest.letter == "p")
    row[at.O_LOAD] = load_cycles(part, encoder.profile)
    row[at.O_DEPENDENT] = load_stalls(part, encoder.profile)
    encoder.append_operation(row, part)


def _row(pairs: Sequence[_CounterOperand], encoder: Encoder) -> list[int]:
    row = [0] * at.O_WIDTH
    row[at.O_OPERANDS : at.O_OPERANDS + 4] = [-1] * 4
    row[at.O_SPECIAL], row[at.O_NUMBER], row[at.O_INDEX] = 1, encoder.operation_count, -1
    row[at.O_RESULT] = row[at.O_CONTROL_TASK] = row[at.O_ACTION_TASK] = -1
    row[at.O_VARIANT : at.O_STALLED] = [-1] * (at.O_STALLED - at.O_VARIANT)
    for place, (counter, operand) in enumerate(pairs):
        if counter is None:
            continue
        row[at.O_OPERANDS + place] = encoder.operand(operand)
        row[at.O_MAP + place] = encoder.variable(counter)
        row[at.O_MAP_BITS + place] = _bits(encoder.code, operand)
    return row


def _bits(code: ElementCode, operand: ResolvedOperand) -> int:
    """Return the bits of a map's value, 16 or 32; negative if the buffer has signed integers."""
    buffers = [operand.buffer, *_loaded_buffers(code, operand.register)]
    buffer = next((buffer for buffer in buffers if buffer is not None), None)
    if buffer is None:
        return 32
    bits = 16 * DTYPES[buffer.dtype]
    return -bits if buffer.dtype in {"i16", "i32"} else bits


MAP: Final = Kind(
    record=Map,
    words={"map": _parse},
    text=_text,
    has_bodies=True,
    check=_check,
    registers=_registers,
    encode=_encode,
)
