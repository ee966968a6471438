"""Resolve the operands of an operation: look up what they name, and check that they match."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilewright.arch.memo import IdentityCache, ValueCache
from tilewright.simulator.isa.dsd import (
    Buffer,
    Circbuf,
    CounterValue,
    Dsd,
    Element,
    Fabin,
    Fabout,
    Fifo,
    Immediate,
    Operand,
    Ref,
    Register,
)
from tilewright.simulator.isa.dsd_changes import changed_descriptor, offset_in_elements
from tilewright.simulator.isa.index_expression import NO_OFFSET, Index
from tilewright.simulator.isa.machine_errors import ProgramError, close_names
from tilewright.simulator.isa.number_types import DTYPES
from tilewright.simulator.isa.operands import ResolvedOperand, ResolvedOperation
from tilewright.simulator.isa.operations import DROP, OPERATIONS, Operation, variant
from tilewright.simulator.program.instruction import DsdOperation
from tilewright.simulator.program.program import ElementCode

_RESOLVED = IdentityCache(64)
_EQUAL = ValueCache(1024)


def resolve(code: ElementCode, task: str, op: DsdOperation) -> ResolvedOperation:
    """Look up everything that an operation of a task names, and check that the operands match.

    Checked: the operation exists, its combination of descriptors, scalars and pointers is legal,
    the buffers have the right dtypes, the extents are equal. Raises ProgramError. Results are
    cached; equal operations on equal descriptors and buffers give the same object, whatever the
    code (the program of one class of elements).
    """
    cached: tuple[DsdOperation, ResolvedOperation] = _RESOLVED.of(
        code, (task, id(op)), lambda: (op, _interned(code, task, op))
    )
    return cached[1] if cached[0] is op else _interned(code, task, op)


def _interned(code: ElementCode, task: str, op: DsdOperation) -> ResolvedOperation:
    return _EQUAL.of((op, _named(code, op)), lambda: _resolve(code, task, op))


def _named(code: ElementCode, op: DsdOperation) -> tuple[Dsd | Buffer | None, ...]:
    """Return everything of a code that an operation names."""
    parts: list[Dsd | Buffer | None] = []
    for operand in (op.dest, *op.sources):
        if isinstance(operand, Ref):
            dsd = code.dsd(operand.dsd)
            parts.append(dsd)
            if dsd is not None and not isinstance(dsd, Fabin | Fabout):
                parts.append(code.buffer(dsd.buffer))
        elif isinstance(operand, Element):
            parts.append(code.buffer(operand.buffer))
    return tuple(parts)


def _resolve(code: ElementCode, task: str, op: DsdOperation) -> ResolvedOperation:
    place = operation_name(code, task, op)
    operation = OPERATIONS.get(op.operation)
    if operation is None:
        raise ProgramError(
            f"{place}: unknown operation",
            value=op.operation,
            instead=close_names(op.operation, tuple(OPERATIONS)),
        )
    dest = resolve_operand(code, op.dest, place, is_dest=True)
    sources = tuple(resolve_operand(code, source, place) for source in op.sources)
    form = "".join(operand.letter for operand in (dest, *sources))
    if form not in operation.forms:
        raise ProgramError(
            f"{place}: illegal operands (D descriptor, v scalar, p pointer; destination first)",
            value=form,
            instead="one of " + ", ".join(operation.forms),
        )
    if operation.arithmetic == DROP:
        dest, sources = _dropped(op, dest, place)
    check_directions(dest, sources, place)
    dtypes = [o.buffer.dtype if o.buffer is not None else None for o in (dest, *sources)]
    operation = variant(operation, form, dtypes)
    _check_dtypes(operation, (dest, *sources), place)
    return ResolvedOperation(op, operation, dest, sources, _extent(dest, sources, place))


def _dropped(
    op: DsdOperation, operand: ResolvedOperand, place: str
) -> tuple[ResolvedOperand, tuple[ResolvedOperand, ...]]:
    """Return a nameless destination, and the operand of @dfilt as its source.

    Raises ProgramError for another operand, or settings that it cannot have.
    """
    fabric = isinstance(operand.dsd, Fabin)
    register = operand.register is not None and operand.register.file == "src1"
    if not fabric and not register:
        raise ProgramError(f"{place}: needs a fabin DSD or a register of file src1")
    if fabric and not op.asynchronous:
        raise ProgramError(f"{place}: only as an asynchronous operation")
    if op.on_control is not None or op.index is not None:
        raise ProgramError(f"{place}: has no on_control and no index")
    return ResolvedOperand("v"), (operand,)


def operation_name(code: ElementCode, task: str, op: DsdOperation) -> str:
    """Return the words that name an operation in a message: code, task, operation and label."""
    label = f" ({op.label})" if op.label else ""
    return f"code {code.name}, task {task}, @{op.operation}{label}"


def check_bounds(
    operand: ResolvedOperand, counts: Mapping[str, int], place: str, index: Index | None = None
) -> None:
    """Check that a memory operand stays inside its buffer for all values of the loop variables.

    `counts`: loop variable -> count n, it runs over 0..n-1. `place`: the operation, for the
    message. `index`: the operation's index in 16-bit words, which moves only vectors with
    `wavelet_index_offset`. Not checked here: offsets that depend on other counters, and lengths or
    strides known at run time only (the run checks those). Raises ProgramError.
    """
    if operand.buffer is None or operand.is_changed or operand.is_empty or operand.pointer:
        return
    moving = index if operand.moves_by_index else None
    reach = _reached_elements(operand, DTYPES[operand.buffer.dtype], counts, moving)
    if reach is None:
        return
    first, last = reach
    if first >= 0 and last < operand.buffer.elements:
        return
    why = f" (index {index})" if operand.moves_by_index else ""
    raise ProgramError(
        f"{place}: operand {(operand.dsd or operand.buffer).name} leaves buffer "
        f"{operand.buffer.name} of {operand.buffer.elements} elements",
        value=f"elements {first} to {last}{why}",
        instead=f"elements 0 to {operand.buffer.elements - 1}",
    )


def _reached_elements(
    operand: ResolvedOperand, value_words: int, counts: Mapping[str, int], index: Index | None
) -> tuple[int, int] | None:
    """Return the first and the last element of a buffer that an operand reaches.

    None if other counters than those of loops move it. `index`: in 16-bit words, of which a value
    has `value_words`.
    """
    offsets = operand.offset.bounds(counts)
    index_words = (0, 0) if index is None else index.bounds(counts)
    if offsets is None or index_words is None:
        return None
    low, high = operand.span()
    first = low + offsets[0] + index_words[0] // value_words
    return first, high + offsets[1] - -index_words[1] // value_words  # half a value counts as one


def resolve_operand(
    code: ElementCode, operand: Operand, place: str, *, is_dest: bool = False
) -> ResolvedOperand:
    """Look up the descriptor and the buffer that one operand names in a code.

    `place` names the operation in errors; `is_dest`: it is the destination, where an element of a
    buffer is a pointer. Raises ProgramError for an unknown name, or an offset, length or stride
    that the descriptor cannot have.
    """
    if isinstance(operand, Immediate):
        return ResolvedOperand("v", value=operand.value)
    if isinstance(operand, CounterValue):
        return ResolvedOperand("v", offset=operand.index, is_counter=True)
    if isinstance(operand, Register):
        return ResolvedOperand("D", register=operand)
    if isinstance(operand, Element):
        buffer = buffer_of(code, operand.buffer, place)
        return ResolvedOperand("p" if is_dest else "v", buffer=buffer, offset=operand.index)
    return _resolve_ref(code, operand, place)


def _resolve_ref(code: ElementCode, operand: Ref, place: str) -> ResolvedOperand:
    dsd = code.dsd(operand.dsd)
    if dsd is None:
        raise ProgramError(
            f"{place}: unknown DSD",
            value=operand.dsd,
            instead=close_names(operand.dsd, [d.name for d in code.dsds]),
        )
    dsd, length, stride = changed_descriptor(dsd, operand, place)
    if isinstance(dsd, Fabin | Fabout):
        if operand.offset != NO_OFFSET:
            raise ProgramError(f"{place}: a fabric DSD has no offset", value=dsd.name)
        return ResolvedOperand("D", dsd, length=length)
    if isinstance(dsd, Circbuf | Fifo) and operand.offset != NO_OFFSET:
        raise ProgramError(f"{place}: {dsd.name} has no offset", value=str(operand.offset))
    buffer = buffer_of(code, dsd.buffer, place)
    offset = offset_in_elements(operand, buffer, place)
    return ResolvedOperand(
        "D", dsd, buffer, offset, length=length, stride=stride, pointer=operand.pointer
    )


def buffer_of(code: ElementCode, name: str, place: str) -> Buffer:
    """Return a buffer of a code; ProgramError, which begins with `place`, for an unknown one."""
    buffer = code.buffer(name)
    if buffer is None:
        raise ProgramError(
            f"{place}: unknown buffer",
            value=name,
            instead=close_names(name, [b.name for b in code.buffers]),
        )
    return buffer


def check_directions(
    dest: ResolvedOperand, sources: tuple[ResolvedOperand, ...], place: str
) -> None:
    """Check that the destination is no fabric input and no source is a fabric output.

    `place` names the operation in the message. Raises ProgramError.
    """
    if isinstance(dest.dsd, Fabin):
        raise ProgramError(f"{place}: a fabin DSD cannot be a destination", value=dest.dsd.name)
    for source in sources:
        if isinstance(source.dsd, Fabout):
            raise ProgramError(f"{place}: a fabout DSD cannot be a source", value=source.dsd.name)


def _check_dtypes(operation: Operation, operands: tuple[ResolvedOperand, ...], place: str) -> None:
    for number, operand in enumerate(operands):
        legal = operation.legal(number)
        if operand.buffer is not None and operand.buffer.dtype not in legal:
            raise ProgramError(
                f"{place}: buffer {operand.buffer.name} has the wrong dtype",
                value=operand.buffer.dtype,
                instead=" or ".join(legal),
            )


def _extent(dest: ResolvedOperand, sources: tuple[ResolvedOperand, ...], place: str) -> int:
    """Return the elements of an operation, 0 if they are known at run time only.

    Raises ProgramError if they differ from operand to operand.
    """
    operands = (dest, *sources)
    extents = _fixed_extents(operands)
    if not extents:
        return 0 if any(operand.letter == "D" for operand in operands) else 1
    first = next(iter(extents.values()))
    if any(extent != first for extent in extents.values()):  # traced numbers have no hash
        shown = ", ".join(f"{name} {extent}" for name, extent in extents.items())
        raise ProgramError(f"{place}: the extents of the operands differ", value=shown)
    is_late = any(operand.has_late_length for operand in operands)
    return 0 if is_late else first


def _fixed_extents(operands: Sequence[ResolvedOperand]) -> dict[str, int]:
    """Return the elements of each descriptor whose extent the program fixes, by name."""
    fixed = [operand.dsd for operand in operands if operand.length is None]
    return {dsd.name: dsd.extent for dsd in fixed if not isinstance(dsd, Fifo | None)}
