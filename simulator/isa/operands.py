"""The operands of one operation of a code, resolved: forms, extents, dtypes, bounds.

The checks ask for errors, the encoder of a code asks for the rows of the engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilewright.simulator.isa.dsd import (
    ENDLESS,
    Buffer,
    Circbuf,
    CounterValue,
    Dsd,
    Element,
    Fabin,
    Fabout,
    Fifo,
    Immediate,
    Mem1d,
    Mem4d,
    Operand,
    Ref,
    Register,
)
from tilewright.simulator.isa.dsd_changes import changed_descriptor, offset_in_elements
from tilewright.simulator.isa.index_expression import NO_OFFSET, Index
from tilewright.simulator.isa.machine_errors import ProgramError, close_names
from tilewright.simulator.isa.memo import IdentityCache, ValueCache
from tilewright.simulator.isa.number_types import DTYPES
from tilewright.simulator.isa.operations import (
    ADD_CARRY,
    DROP,
    MAP,
    OPERATIONS,
    Operation,
    variant,
)
from tilewright.simulator.program.instruction import DsdOperation
from tilewright.simulator.program.program import ElementCode

_RESOLVED = IdentityCache(64)
_EQUAL = ValueCache(1024)


@dataclass(frozen=True, slots=True, eq=False)
class ResolvedOperand:
    """One operand of an operation with the records that its names stand for.

    `letter`: D a descriptor, v a scalar, p a pointer to a scalar. `dsd`: the descriptor; `buffer`:
    the array it walks, both None where there is none. `offset`: elements that the operand adds to
    the descriptor's own. `value`: the number of an immediate. `register`: the data-structure
    register that holds the descriptor. `is_counter`: the value is `offset`, an expression of
    counters. `length` (elements or wavelets) and `stride` (elements): only those that depend on
    counters and are known at run time; otherwise None, and the descriptor has them.
    """

    letter: str
    dsd: Dsd | None = None
    buffer: Buffer | None = None
    offset: Index = NO_OFFSET
    value: float | int = 0
    register: Register | None = None
    is_counter: bool = False
    length: Index | None = None
    """Known at run time only, as the stride."""
    stride: Index | None = None
    pointer: str = ""
    """The counter that holds the address of the vector's base."""

    @property
    def is_special(self) -> bool:
        """Whether only the general, slower path of the simulator's engine can serve this operand.

        True for registers, counters, circular buffers and FIFOs, endless or SIMD streams, fabric
        descriptors with control or index settings, descriptors without elements, and lengths or
        strides known at run time only.
        """
        dsd = self.dsd
        if self.is_changed or self.is_empty or self.pointer:
            return True
        if isinstance(dsd, Fabout):
            return not dsd.is_plain or dsd.extent == ENDLESS
        if isinstance(dsd, Fabin):
            return dsd.control_transform or dsd.extent == ENDLESS or bool(dsd.simd)
        if isinstance(dsd, Mem1d | Mem4d):
            return dsd.wavelet_index_offset
        return dsd is not None or self.register is not None or self.is_counter

    @property
    def is_changed(self) -> bool:
        """Whether counters of the program give its length or stride, known at run time only."""
        return self.length is not None or self.stride is not None

    @property
    def is_empty(self) -> bool:
        """Whether its descriptor has no elements: the operation does nothing and completes."""
        return self.dsd is not None and not isinstance(self.dsd, Fifo) and self.dsd.extent == 0

    @property
    def has_late_length(self) -> bool:
        """Whether its number of elements is known at run time only.

        So for a register, a FIFO, and a descriptor whose length or stride counters give.
        """
        return self.register is not None or self.is_changed or isinstance(self.dsd, Fifo)

    @property
    def is_fabric(self) -> bool:
        """Whether it is a stream of wavelets: an input or output queue by a fabric descriptor."""
        return isinstance(self.dsd, Fabin | Fabout)

    @property
    def has_index_offset(self) -> bool:
        """Whether the operation's index moves it in memory, or is sent in its wavelets."""
        return isinstance(self.dsd, Mem1d | Mem4d | Fabout) and self.dsd.wavelet_index_offset

    @property
    def moves_by_index(self) -> bool:
        """Whether the operation's index moves it in memory.

        So for a memory vector with `wavelet_index_offset`; the index counts 16-bit words.
        """
        return isinstance(self.dsd, Mem1d | Mem4d) and self.dsd.wavelet_index_offset

    @property
    def is_memory_stream(self) -> bool:
        """Whether it streams from or to memory by a descriptor, or by any register."""
        return self.letter == "D" and not self.is_fabric

    @property
    def is_memory(self) -> bool:
        """Whether it names a buffer: a memory descriptor, or one element of a buffer."""
        return self.buffer is not None

    def span(self) -> tuple[int, int]:
        """Return the (least, greatest) element of the buffer touched, without the operand's offset.

        (0, 0) for an operand without a memory descriptor.
        """
        if self.dsd is None or isinstance(self.dsd, Fabin | Fabout):
            return 0, 0
        if isinstance(self.dsd, Circbuf | Fifo):
            return 0, self.wraparound - 1
        return self.dsd.span()

    @property
    def wraparound(self) -> int:
        """Elements after which a circular buffer or FIFO goes back to its first element."""
        assert self.buffer is not None
        chosen = self.dsd.wraparound if isinstance(self.dsd, Circbuf) else None
        return self.buffer.elements if chosen is None else chosen

    def extents(self) -> tuple[int, ...]:
        """Return the number of elements of each dimension, outermost first; (1,) for a scalar."""
        if isinstance(self.dsd, Mem4d):
            return self.dsd.extents
        return (self.dsd.extent,) if self.dsd is not None else (1,)

    def strides(self) -> tuple[int, ...]:
        """Return the strides in elements, innermost first, as a `Mem4d` descriptor holds them.

        The stride of an outer dimension undoes what the inner ones have moved (theory/wafer.md
        §6.2). (0,) for a scalar or a stream of wavelets.
        """
        if isinstance(self.dsd, Mem4d):
            return self.dsd.strides
        if self.dsd is None or isinstance(self.dsd, Fabin | Fabout):
            return (0,)
        return (self.dsd.stride,) if isinstance(self.dsd, Mem1d) else (1,)

    @property
    def base(self) -> int:
        """First element of the buffer that the descriptor walks, without the operand's offset."""
        return self.dsd.offset if isinstance(self.dsd, Mem1d | Mem4d) else 0


@dataclass(frozen=True, slots=True, eq=False)
class ResolvedOperation:
    """An operation on descriptors together with what its names stand for, checked for consistency.

    `source`: the instruction of the program; `operation`: the row of the operation table (its
    arithmetic, dtypes and legal operands); `dest` and `sources`: the resolved operands; `extent`:
    elements it works on, 0 if known only when it starts.
    """

    source: DsdOperation
    operation: Operation
    dest: ResolvedOperand
    sources: tuple[ResolvedOperand, ...]
    extent: int
    """0 when it is known only at the start of a run of the operation."""

    @property
    def is_special(self) -> bool:
        """Whether it needs the general, slower path of the simulator's engine.

        So for maps, add with carry, dropping of wavelets, an index, a result counter, an action on
        control wavelets, or any operand that needs that path.
        """
        source = self.source
        if self.operation is MAP or self.operation.arithmetic in (ADD_CARRY, DROP):
            return True
        chosen = source.on_control is not None or source.index is not None
        return chosen or source.result is not None or any(o.is_special for o in self.operands)

    @property
    def operands(self) -> tuple[ResolvedOperand, ...]:
        """The resolved operands of the operation: the destination, then the sources."""
        return (self.dest, *self.sources)

    @property
    def form(self) -> str:
        """The operands' letters, destination first: `DDDv` of an fmacs.

        D stands for a descriptor, v for a scalar, p for a pointer to a scalar.
        """
        return "".join(operand.letter for operand in self.operands)

    @property
    def is_reduction(self) -> bool:
        """Whether it reduces a vector and a scalar into one scalar (form pvD)."""
        return self.form == "pvD"

    @property
    def is_fabric(self) -> bool:
        """Whether any operand is a stream of wavelets."""
        return any(operand.is_fabric for operand in self.operands)

    @property
    def has_register(self) -> bool:
        """Whether any operand is a data-structure register."""
        return any(operand.register is not None for operand in self.operands)

    @property
    def has_index_offset(self) -> bool:
        """Whether any operand uses the operation's index, to move in memory or to send it along."""
        return any(operand.has_index_offset for operand in self.operands)

    @property
    def memory_sources(self) -> int:
        """Number of sources that stream from memory, on which the cycles per element depend."""
        return sum(operand.is_memory_stream for operand in self.sources)


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
    """Return a nameless destination, and the operand of @dfilt as its source."""
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
    indexed = operand.moves_by_index
    offsets = operand.offset.bounds(counts)
    index_words = index.bounds(counts) if indexed and index is not None else (0, 0)
    if offsets is None or index_words is None:
        return
    low, high = operand.span()
    value_words = DTYPES[operand.buffer.dtype]
    first = low + offsets[0] + index_words[0] // value_words
    last = high + offsets[1] - -index_words[1] // value_words  # half a value counts as one
    if first >= 0 and last < operand.buffer.elements:
        return
    why = f" (index {index})" if indexed else ""
    raise ProgramError(
        f"{place}: operand {(operand.dsd or operand.buffer).name} leaves buffer "
        f"{operand.buffer.name} of {operand.buffer.elements} elements",
        value=f"elements {first} to {last}{why}",
        instead=f"elements 0 to {operand.buffer.elements - 1}",
    )


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
    """Return the elements of an operation, 0 if they are known at run time only."""
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
