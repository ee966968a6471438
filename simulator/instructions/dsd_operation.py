"""Operations on descriptors: `@fmacs y, y, column[k], x(k) async activate done`.

`isa/operations.py` has a row per operation, `isa/operands.py` finds what the operands name, and
`compile/code/operation_rows.py` makes the rows of the engine's tables.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from tilewright.arch.memo import ValueCache
from tilewright.simulator.check.limits import check_number, check_offset
from tilewright.simulator.compile import columns as at
from tilewright.simulator.descriptors.memory_vectors import stride_registers
from tilewright.simulator.descriptors.register_use import RegisterUse, register_use
from tilewright.simulator.instructions.completion import (
    COMPLETION_PROPERTIES,
    check_machine_targets,
    check_on_control,
    check_targets,
    check_task_name,
    on_control_text,
    target_text,
)
from tilewright.simulator.instructions.kind import (
    BodyParser,
    CheckContext,
    Counts,
    Encoder,
    Kind,
    ProfileContext,
)
from tilewright.simulator.instructions.scalar_operation import encode_scalar, scalar_only
from tilewright.simulator.isa.dsd import FILES, Fabin, Fabout, Fifo, Mem1d, Mem4d, Register
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.isa.number_types import DTYPES
from tilewright.simulator.isa.operands import ResolvedOperand, ResolvedOperation
from tilewright.simulator.isa.operations import SCALAR_ONLY
from tilewright.simulator.isa.resolving import check_bounds, operation_name, resolve
from tilewright.simulator.profiles.profile import profile_number
from tilewright.simulator.program.code_parts import all_loads
from tilewright.simulator.program.instruction import DsdOperation
from tilewright.simulator.program.program import ElementCode
from tilewright.simulator.text.operand_text import operand_text, parse_bracket, parse_operand
from tilewright.simulator.text.tokens import (
    Line,
    Properties,
    print_index,
    print_name,
    print_settings,
)

OPERATION_PROPERTIES: Final[Properties] = {
    **COMPLETION_PROPERTIES,
    "ut": Line.integer,
    "index": lambda line: parse_bracket(line, "(", ")"),
    "result": Line.name,
    "priority": Line.name,
    "label": Line.name,
}
_FIELDS: Final = {"async": "asynchronous", "ut": "microthread"}
"""Fields of `DsdOperation` whose words are shorter."""
_CHECKED: Final = ValueCache(1024)
_CHECKED_FOR_PROFILE: Final = ValueCache(1024)
"""Operations that have passed; codes have operations in common."""
_REGISTERS: Final = ValueCache(1024)


def _parse(line: Line, parser: BodyParser) -> DsdOperation:
    name = line.marked("@", "an operation")
    operands = [parse_operand(line)]
    while line.has(","):
        operands.append(parse_operand(line))
    settings = line.settings(OPERATION_PROPERTIES, "property of an operation")
    given = {_FIELDS.get(word, word): value for word, value in settings.items()}
    label = f" ({given['label']})" if given.get("label") else ""
    parser.declare(f"@{name}{label}")
    return DsdOperation(name, operands[0], tuple(operands[1:]), **given)


def _text(op: DsdOperation) -> str:
    operands = ", ".join(operand_text(operand) for operand in op.operands)
    text = f"@{op.operation} {operands}"
    text += " async" if op.asynchronous else ""
    text += "" if op.microthread is None else f" ut {op.microthread}"
    text += "" if op.activate is None else f" activate {print_name(op.activate)}"
    text += "" if op.unblock is None else f" unblock {target_text(op.unblock)}"
    text += on_control_text(op.on_control)
    text += "" if op.index is None else f" index ({print_index(op.index)})"
    text += "" if op.result is None else f" result {print_name(op.result)}"
    return text + print_settings(op, ("priority", "label"))


def _check(op: DsdOperation, context: CheckContext) -> None:
    """Check an operation; of its code only the tasks and their queues matter."""
    code = context.code
    resolved = resolve(code, context.task, op)
    tasks = tuple((task.name, task.queue, task.control) for task in code.tasks)
    if resolved.has_register:
        _check_loaded_completion(code, resolved, operation_name(code, context.task, op))
    check = partial(_check_resolved, resolved, context)
    _CHECKED.of((resolved, tasks, code.input_queues, tuple(context.counts.items())), check)


def _check_resolved(resolved: ResolvedOperation, context: CheckContext) -> None:
    code, op = context.code, resolved.source
    place = operation_name(code, context.task, op)
    _check_index(resolved, place)
    _check_operands(resolved, context.counts, place)
    _check_completion(code, op, place)
    _check_fifos(resolved, place)
    if resolved.has_index_offset and op.index is None:
        raise ProgramError(f"{place}: a descriptor with wavelet_index_offset needs an index")
    _check_zero(resolved, place)
    if op.asynchronous and op.result is not None:
        raise ProgramError(f"{place}: an asynchronous operation has no result")
    _check_files(resolved, place)
    if op.asynchronous and not resolved.is_fabric and not resolved.has_register:
        raise ProgramError(f"{place}: an asynchronous operation needs a fabric operand")
    if op.microthread is not None and not op.asynchronous:
        raise ProgramError(f"{place}: a synchronous operation has no microthread")


def _check_completion(code: ElementCode, op: DsdOperation, place: str) -> None:
    if op.activate is not None and op.unblock is not None:
        raise ProgramError(f"{place}: at most one of activate and unblock")
    for name in (op.activate, op.unblock):
        if name is None:
            continue
        check_task_name(code, f"{place}:", name)
        if not op.asynchronous:
            raise ProgramError(f"{place}: only an asynchronous operation can activate a task")
    check_targets(code, op.activate, op.unblock, place)
    check_on_control(code, op.on_control, place)
    if op.on_control is not None and not op.asynchronous:
        raise ProgramError(f"{place}: on_control needs an asynchronous operation")


def _check_loaded_completion(code: ElementCode, resolved: ResolvedOperation, place: str) -> None:
    """Refuse a task for the end of an operation that the load of its register does not name."""
    op = resolved.source
    if resolved.is_fabric or not (op.activate or op.unblock):
        return
    for register in op.registers:
        for load in all_loads(code):
            is_stream = isinstance(code.dsd(load.dsd), Fabin | Fabout)
            differs = (load.activate, load.unblock) != (op.activate, op.unblock)
            if load.register == register and is_stream and differs:
                raise ProgramError(
                    f"{place}: activate and unblock are given where {register} is loaded",
                    value=op.activate or op.unblock,
                    instead=f"the same at the load of {register}",
                )


def _check_operands(resolved: ResolvedOperation, counts: Counts, place: str) -> None:
    for operand in resolved.operands:
        if isinstance(operand.dsd, Mem1d | Mem4d):
            check_offset(place, operand.offset.constant)
        check_number(place, operand.offset.constant)
        for _, factor in operand.offset.terms:
            check_number(place, factor)
        check_bounds(operand, counts, place, resolved.source.index)


def _check_index(resolved: ResolvedOperation, place: str) -> None:
    """Refuse an index that is no u16, is odd for values of two words, or goes into f32 wavelets.

    An output queue puts the index into the upper 16 bits of each wavelet, which f32 values need.
    """
    index = resolved.source.index
    constant = index.constant if index is not None and not index.terms else 0
    if not 0 <= constant <= 0xFFFF:
        raise ProgramError(
            f"{place}: an index is outside 0..65535", value=constant, instead="a u16"
        )
    if constant % 2 and _indexes_two_words(resolved):
        raise ProgramError(
            f"{place}: an index counts words, and values of two words start at even ones",
            value=constant,
            instead="an even index",
        )
    dest = resolved.dest.dsd
    if isinstance(dest, Fabout) and dest.wavelet_index_offset and _is_float32(resolved):
        raise ProgramError(
            f"{place}: the index takes the upper 16 bits of every wavelet of {dest.name}",
            value="f32",
            instead="an operation on 16-bit values",
        )


def _is_float32(resolved: ResolvedOperation) -> bool:
    return resolved.operation.legal(0) == ("f32",)


def _check_fifos(resolved: ResolvedOperation, place: str) -> None:
    are_fifos = [isinstance(source.dsd, Fifo) for source in resolved.sources]
    if sum(are_fifos) > 1:
        raise ProgramError(f"{place}: at most one source may be a FIFO")
    if len(are_fifos) > 1 and are_fifos[0]:
        raise ProgramError(f"{place}: a FIFO may not be the first of several sources")


def _check_zero(resolved: ResolvedOperation, place: str) -> None:
    """Refuse to clear a source that is no vector in memory."""
    dest = resolved.dest.dsd
    if not isinstance(dest, Fabout) or not dest.zero:
        return
    if dest.zero == "first" and len(resolved.sources) == 1:
        raise ProgramError(
            f"{place}: the only source of an operation is cleared as its second one",
            value=dest.zero,
            instead=f"`zero second` at {dest.name}",
        )
    source = resolved.sources[1 if dest.zero == "second" and len(resolved.sources) > 1 else 0]
    if not _is_memory_vector(source):
        raise ProgramError(
            f"{place}: {dest.name} clears its {dest.zero} source, which is no vector in memory",
            value=dest.zero,
            instead="a source that is a memory descriptor",
        )


def _is_memory_vector(source: ResolvedOperand) -> bool:
    if isinstance(source.dsd, Fifo):
        return False
    return source.register is not None or (source.letter == "D" and source.is_memory)


def _indexes_two_words(resolved: ResolvedOperation) -> bool:
    """Return whether the index moves an operand in memory whose values have two words."""
    indexed = [o.buffer for o in resolved.operands if o.has_index_offset and o.buffer is not None]
    return any(DTYPES[buffer.dtype] == 2 for buffer in indexed)


def _check_files(resolved: ResolvedOperation, place: str) -> None:
    """Refuse registers of files that hold no destination, or no source."""
    dest = resolved.dest.register
    if any(o.register is not None and _is_fifo_in_src0(o.register) for o in resolved.operands):
        raise ProgramError(f"{place}: a register of FIFO type is of file dest or src1")
    if dest is not None and dest.file == "src1":
        raise ProgramError(f"{place}: the destination is a register of file dest or src0")
    if any(o.register is not None and o.register.file == "dest" for o in resolved.sources):
        raise ProgramError(f"{place}: a source is a register of file src0 or src1")


def _is_fifo_in_src0(register: Register) -> bool:
    return register.fifo and register.file == "src0"


def _check_profile(op: DsdOperation, context: ProfileContext) -> None:
    resolved = resolve(context.code, context.task, op)
    key = (resolved, profile_number(context.profile))
    _CHECKED_FOR_PROFILE.of(key, partial(_check_counts, resolved, context))
    targets = (op.unblock, op.on_control.task if op.on_control else None)
    check_machine_targets(targets, context.profile, context.place)


def _check_counts(resolved: ResolvedOperation, context: ProfileContext) -> None:
    """Refuse more fabric inputs, extended or stride registers than one operation may have."""
    profile = context.profile
    place = operation_name(context.code, context.task, resolved.source)
    inputs = sum(isinstance(source.dsd, Fabin) for source in resolved.sources)
    if inputs > profile.fabric_inputs_per_operation:
        raise ProgramError(
            f"{place}: too many fabric inputs for {profile.name}",
            value=inputs,
            instead=f"at most {profile.fabric_inputs_per_operation}",
        )
    vectors = [o.dsd for o in resolved.operands if isinstance(o.dsd, Mem4d)]
    strides, extended = sum(map(stride_registers, vectors)), len(vectors)
    if strides > profile.stride_registers or extended > profile.xdsr_registers:
        raise ProgramError(
            f"{place}: needs {strides} stride registers and {extended} extended registers",
            value=(strides, extended),
            instead=f"at most {profile.stride_registers} and {profile.xdsr_registers}",
        )


def _registers(op: DsdOperation, code: ElementCode, task: str) -> RegisterUse:
    resolved = resolve(code, task, op)
    use: RegisterUse = _REGISTERS.of(resolved, partial(_resolved_registers, resolved))
    return use


def _resolved_registers(resolved: ResolvedOperation) -> RegisterUse:
    """Return the registers: a lone source is in file src1, of two the first one is in src0."""
    sources = sum(source.letter == "D" for source in resolved.sources)
    return register_use(resolved, FILES[-sources:] if sources else ())


def _encode(op: DsdOperation, encoder: Encoder) -> None:
    if op.operation in SCALAR_ONLY:
        encode_scalar(scalar_only(resolve(encoder.code, encoder.task, op)), encoder)
    else:
        encoder.emit(at.I_OPERATION, encoder.operation(op))


DSD_OPERATION: Final = Kind(
    record=DsdOperation,
    begins=lambda line: line.peek().startswith("@"),
    parse=_parse,
    text=_text,
    check=_check,
    check_profile=_check_profile,
    registers=_registers,
    encode=_encode,
)
