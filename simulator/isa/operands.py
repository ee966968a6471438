"""The operands of one operation of a code, resolved: what each stands for, its form and extents.

The checks ask for errors, the encoder of a code asks for the rows of the engine.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilewright.simulator.isa.dsd import (
    ENDLESS,
    Buffer,
    Circbuf,
    Dsd,
    Fabin,
    Fabout,
    Fifo,
    Mem1d,
    Mem4d,
    Register,
)
from tilewright.simulator.isa.index_expression import NO_OFFSET, Index
from tilewright.simulator.isa.operations import ADD_CARRY, DROP, MAP, Operation
from tilewright.simulator.program.instruction import DsdOperation


def _carries_pairs(dsd: Fabin | Fabout) -> bool:
    """Return whether a queue is plain, but for the mode simd_32."""
    if dsd.simd != "simd_32" or dsd.extent == ENDLESS:
        return False
    return not dsd.control_transform if isinstance(dsd, Fabin) else replace(dsd, simd="").is_plain


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
    def has_whole_pairs(self) -> bool:
        """Whether its 16-bit values go two by two: in wavelets, or in 32-bit words of memory.

        So for a plain queue in the mode simd_32, and for a vector in memory whose rows have an even
        number of neighbouring values and begin at even addresses, whatever its counters hold.
        """
        dsd = self.dsd
        if isinstance(dsd, Fabin | Fabout):
            return _carries_pairs(dsd)
        if not isinstance(dsd, Mem1d | Mem4d) or self.buffer is None or self.is_special:
            return False
        *steps, innermost = dsd.coefficients() if isinstance(dsd, Mem4d) else (dsd.stride,)
        steps += [factor for _, factor in self.offset.terms]
        first = self.buffer.address + self.base + self.offset.constant
        even = all(number % 2 == 0 for number in (first, self.extents()[-1], *steps))
        return innermost == 1 and even

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
        """Whether it is a vector in memory by a descriptor, or a data-structure register."""
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

    @property
    def is_special(self) -> bool:
        """Whether it needs the general, slower path of the simulator's engine.

        So for maps, add with carry, dropping of wavelets, an index, a result counter, an action on
        control wavelets, or any operand that needs that path.
        """
        if self.operation is MAP or self.operation.arithmetic in (ADD_CARRY, DROP):
            return True
        return self._is_chosen or (any(o.is_special for o in self.operands) and not self.is_packed)

    @property
    def _is_chosen(self) -> bool:
        """Whether it has an index, a counter for its result, or acts on control wavelets."""
        source = self.source
        chosen = source.on_control is not None or source.index is not None
        return chosen or source.result is not None

    @property
    def is_packed(self) -> bool:
        """Whether the engine takes the two values of each wavelet for one of 32 bits.

        So for an operation on queues in the mode simd_32 whose vectors in memory are pairs, too. It
        is the general path's way of a wavelet at a time, without its detours.
        """
        if self._is_chosen or self.extent < 1 or self.operation.arithmetic in (ADD_CARRY, DROP):
            return False
        return self.is_fabric and all(operand.has_whole_pairs for operand in self.operands)

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
        """Number of sources that are vectors in memory, on which the cycles per value depend."""
        return sum(operand.is_memory_stream for operand in self.sources)
