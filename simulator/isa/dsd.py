"""Buffers, data-structure descriptors (DSDs) and the operands of operations.

The descriptors follow the public DSD documentation: a memory descriptor walks `extent` elements
of one buffer, a fabric descriptor stands for `extent` wavelets of one queue.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Final

from tilewright.simulator.isa.index_expression import NO_OFFSET, Index, as_index
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.isa.number_types import DTYPES


@dataclass(frozen=True, slots=True)
class Buffer:
    """A named array in the SRAM of each element that runs one code, stored in row-major order.

    `dtype` is one of f32, i32, u32 (two 16-bit words per value), f16, i16, u16 (one word); `shape`
    counts values; `address` is the place of the first value in the SRAM, in 16-bit words. `view_of`
    names the buffer that a view is a piece of, with a shape of its own: a pointer to an array or
    into one. A view has no values of its own in the data and the results of a run.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    address: int
    view_of: str = ""

    @property
    def elements(self) -> int:
        """Number of values in the buffer."""
        return prod(self.shape)

    @property
    def words(self) -> int:
        """Size of the buffer in 16-bit words."""
        return self.elements * DTYPES[self.dtype]


def view_of(name: str, buffers: Sequence[Buffer], view: Buffer, first: int = 0) -> Buffer:
    """Return a view of the buffer called `name`, from its element `first` on.

    `buffers`: those of the code; `view`: name, dtype and shape of the view. Raises ProgramError for
    an unknown buffer.
    """
    for buffer in buffers:
        if buffer.name == name:
            address = buffer.address + first * DTYPES[buffer.dtype]
            return replace(view, address=address, view_of=buffer.view_of or name)
    raise ProgramError(
        f"buffer {view.name}: a view of an unknown buffer",
        value=name,
        instead="one of " + ", ".join(buffer.name for buffer in buffers),
    )


@dataclass(frozen=True, slots=True)
class Mem1d:
    """A one-dimensional memory vector (mem1d_dsd): elements `offset + i * stride` of a buffer.

    i runs over 0..extent-1. `name` is the descriptor's own, `buffer` that of the array it walks;
    extent, stride and offset count values of the buffer. `wavelet_index_offset`: the index that an
    operation is given moves the vector, by 16-bit words.
    """

    name: str
    buffer: str
    extent: int
    stride: int = 1
    offset: int = 0
    wavelet_index_offset: bool = False

    def span(self) -> tuple[int, int]:
        """Return the (least, greatest) element of the buffer that the vector touches."""
        end = self.stride * (self.extent - 1)
        return self.offset + min(end, 0), self.offset + max(end, 0)


@dataclass(frozen=True, slots=True)
class Mem4d:
    """A memory vector of up to four nested dimensions (mem4d_dsd) over the buffer named `buffer`.

    `extents` is outermost first and counts elements per dimension. `strides` is innermost first, in
    elements: stride d is added to the position when dimension d advances, so it also undoes what
    the inner dimensions have moved (theory/wafer.md §6.2). For rows of a 3 x 5 array with 5 values
    each, extents (3, 5) have strides (1, 1), not (1, 5). `offset` is the first element. Use
    `mem4d_access` to get extents and strides from the usual linear coefficients.
    `wavelet_index_offset`: the index that an operation is given moves the vector, by 16-bit words.
    """

    name: str
    buffer: str
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0
    wavelet_index_offset: bool = False

    @property
    def extent(self) -> int:
        """Number of elements of all dimensions together."""
        return prod(self.extents)

    def coefficients(self) -> tuple[int, ...]:
        """Return the linear coefficient of each dimension in elements, outermost first.

        The inverse of `mem4d_access`: element (i, j) lies at offset + c_i * i + c_j * j, where a
        stride counts from the end of the inner dimensions (theory/wafer.md §6.2).
        """
        coefficients: list[int] = []
        inner = self.extents[::-1]
        for stride in self.strides:
            jump = sum((e - 1) * c for e, c in zip(inner, coefficients, strict=False))
            coefficients.append(stride + jump)
        return tuple(reversed(coefficients))

    def span(self) -> tuple[int, int]:
        """Return the (least, greatest) element of the buffer that the vector touches."""
        ends = [c * (e - 1) for c, e in zip(self.coefficients(), self.extents, strict=True)]
        return self.offset + sum(min(e, 0) for e in ends), self.offset + sum(
            max(e, 0) for e in ends
        )


def mem4d_access(
    name: str, buffer: str, loops: Sequence[tuple[int, int]], offset: int = 0
) -> Mem4d:
    """Return the `Mem4d` descriptor of a nest of loops over a buffer.

    `loops` holds an (extent, coefficient) pair per loop, outermost first, both in elements of the
    buffer; `offset` is the first element. The stride of dimension d is c_d minus the sum of
    (E_e - 1) * c_e over the inner dimensions e (theory/wafer.md §6.2). Example: [(3, 5), (5, 1)]
    gives extents (3, 5) and strides (1, 1). Raises ProgramError if `loops` are no integer pairs.
    """
    strides: list[int] = []
    jump = 0
    if not isinstance(loops, Sequence) or not all(
        isinstance(loop, Sequence) and [hasattr(n, "__index__") for n in loop] == [True, True]
        for loop in loops
    ):
        raise ProgramError(
            f"DSD {name}: loops are pairs of integers", value=loops, instead="(extent, coefficient)"
        )
    for extent, coefficient in reversed(loops):
        strides.append(coefficient - jump)
        jump += (extent - 1) * coefficient
    return Mem4d(name, buffer, tuple(e for e, _ in loops), tuple(strides), offset)


@dataclass(frozen=True, slots=True)
class Fabin:
    """A source of an operation (fabin_dsd): `extent` wavelets that arrive in input queue `queue`.

    `name` is the descriptor's; extent ENDLESS (32767) never ends. With `control_transform` the two
    top bits of a received value say that it came as a control wavelet. `priority` is that of the
    microthread that serves it (WSE-3): low, medium or high, empty for none chosen. `simd` names a
    mode of several 16-bit values per wavelet, empty for none; `extent` then counts 16-bit values.
    """

    name: str
    queue: int
    extent: int
    control_transform: bool = False
    priority: str = ""
    simd: str = ""


@dataclass(frozen=True, slots=True)
class Fabout:
    """A destination of an operation (fabout_dsd): `extent` wavelets that leave by an output queue.

    `name` is the descriptor's, `queue` the number of the output queue; extent ENDLESS (32767) never
    ends. `control`: the wavelets are control wavelets (they carry commands to router switches).
    `advance_switch`: behind the last one the element's own router moves its switch to the next
    position. `wavelet_index_offset`: the upper half of each wavelet carries the operation's index.
    `control_transform`: values with both top bits set go as control wavelets. `zero`: `first` or
    `second`, the source that is cleared when the operation is done (`second` also means the only
    source). `priority`: of the microthread (WSE-3), low, medium or high. `simd`: a mode of several
    16-bit values per wavelet; extent then counts 16-bit values.
    """

    name: str
    queue: int
    extent: int
    control: bool = False
    advance_switch: bool = False
    wavelet_index_offset: bool = False
    control_transform: bool = False
    zero: str = ""
    priority: str = ""
    simd: str = ""

    @property
    def commands(self) -> bool:
        """Whether its wavelets may command router switches (control wavelets, an advance)."""
        return self.control or self.advance_switch or self.control_transform

    @property
    def is_plain(self) -> bool:
        """Whether it only sends data wavelets: no commands, no index, no clearing, no SIMD."""
        return not (self.commands or self.wavelet_index_offset or self.zero or self.simd)


@dataclass(frozen=True, slots=True)
class Circbuf:
    """A circular memory vector over the buffer named `buffer` (a circular buffer DSD).

    It walks `extent` elements from the first one on and goes back to the first one after
    `wraparound` elements (None: at the end of the buffer). Example: extent 6 and wraparound 4 give
    elements 0 1 2 3 0 1.
    """

    name: str
    buffer: str
    extent: int
    wraparound: int | None = None


@dataclass(frozen=True, slots=True)
class Fifo:
    """A first-in first-out queue kept in the buffer named `buffer`; empty when the program starts.

    `empty_action` and `full_action` say what an operation does that finds it empty or full: one of
    test_or_suspend, terminate, suspend, fault. `activate_pop` names the task that a pop activates
    when a push had found the FIFO full; `activate_push` the task that a push activates when a pop
    had found it empty. `priority` (of a microthread) and `simd` (several values at once) are as of
    fabric descriptors. `dest` and `src` (of the same number) and `xdsr` are the registers it takes,
    None if the program does not say. Its extent is 0: an operation moves as many elements as its
    other operands have, or as a length set by the program says.
    """

    name: str
    buffer: str
    empty_action: str = "test_or_suspend"
    full_action: str = "test_or_suspend"
    activate_pop: str | None = None
    activate_push: str | None = None
    priority: str = ""
    simd: str = ""
    dest: int | None = None
    """Explicit registers: dsr_dest and dsr_src1 of the same id, and an extended register."""
    src: int | None = None
    xdsr: int | None = None

    @property
    def extent(self) -> int:
        """0: a FIFO has no number of elements of its own."""
        return 0


Dsd = Mem1d | Mem4d | Fabin | Fabout | Circbuf | Fifo
ENDLESS: Final = 0x7FFF
"""The fabric extent of an operation that does not end by itself."""
PRIORITIES: Final = ("low", "medium", "high")
"""Priorities of microthreads; they stand below, between and above those of the main thread."""
MAIN_PRIORITIES: Final = ("low", "medium_low", "medium_high", "high")
"""Priorities of the main thread: below low, below medium, below high, above high microthreads."""
FIFO_ACTIONS: Final = ("test_or_suspend", "terminate", "suspend", "fault")


@dataclass(frozen=True, slots=True)
class Ref:
    """A descriptor used as an operand, with changes that hold for this one operation only.

    `dsd` is the descriptor's name. `offset` moves a memory vector, in elements; `base` puts it on
    another buffer, whose first element replaces the descriptor's own offset; `pointer` names a
    counter that holds the address of an element instead, chosen at run time. `length` (elements or
    wavelets) and `stride` (elements) replace the descriptor's, None keeps them. Offset, length and
    stride may depend on counters. `offset_type`: the dtype whose elements the offset counts, empty
    for that of the buffer. These are the @set_dsd... and @increment_dsd... builtins of CSL.
    """

    dsd: str
    offset: Index = NO_OFFSET
    length: Index | None = None
    stride: Index | None = None
    base: str | None = None
    pointer: str = ""
    offset_type: str = ""

    def at(self, offset: Index | int, dtype: str = "") -> Ref:
        """Return a copy moved by `offset` elements (@increment_dsd_offset); moves add up.

        `dtype`: the type whose elements the whole offset counts, empty for that of the buffer.
        """
        moved = self.offset + as_index(offset)
        kind = dtype or self.offset_type
        return Ref(self.dsd, moved, self.length, self.stride, self.base, self.pointer, kind)

    def pointed(self, counter: str) -> Ref:
        """Return a copy whose base is the address that a counter holds (@set_dsd_base_addr).

        Any `offset` set before is dropped.
        """
        return replace(self, offset=NO_OFFSET, base=None, pointer=counter)

    def of(self, buffer: str) -> Ref:
        """Return a copy on the named buffer, from its first element on (@set_dsd_base_addr).

        Any `offset` set before is dropped.
        """
        return replace(self, offset=NO_OFFSET, base=buffer)

    def with_length(self, length: Index | int) -> Ref:
        """Return a copy with another number of elements or wavelets (@set_dsd_length)."""
        return replace(self, length=as_index(length))

    def with_stride(self, stride: Index | int) -> Ref:
        """Return a copy with another stride, in elements (@set_dsd_stride)."""
        return replace(self, stride=as_index(stride))


@dataclass(frozen=True, slots=True)
class Element:
    """One element of a buffer, `index` counting values in row-major order.

    As the source of an operation it is a scalar that is read once; as the destination it is a
    pointer, which takes the result of a reduction.
    """

    buffer: str
    index: Index = NO_OFFSET


@dataclass(frozen=True, slots=True, eq=False)
class Immediate:
    """A constant number as the scalar source of an operation.

    Two are equal if type and value are, so 0.0 differs from -0.0 and from 0, and a NaN equals a NaN
    (unlike in Python), because equal operands must print as the same text.
    """

    value: float | int

    @property
    def _identity(self) -> tuple[type, float | int, str]:
        if self.value != self.value:
            return type(self.value), 0, "nan"
        return type(self.value), self.value, str(self.value) if self.value == 0 else ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Immediate) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)


@dataclass(frozen=True, slots=True)
class CounterValue:
    """The value of an affine expression of counters, as the scalar source of an operation.

    `index`: the expression. A counter is a named 32-bit variable of the element. For a float
    operation its bits are taken as the float; they are not converted.
    """

    index: Index


FILES: Final = ("dest", "src0", "src1")
"""Files of registers."""


@dataclass(frozen=True, slots=True)
class Register:
    """A data-structure register (DSR) as an operand: it holds a descriptor that was loaded before.

    `file` is the register file (`dest`, `src0` or `src1`), `id` the number in it; `fifo` says that
    the descriptor in it is a FIFO.
    """

    file: str
    id: int
    fifo: bool = False

    def __str__(self) -> str:
        return f"dsr_{'fifo_' if self.fifo else ''}{self.file} {self.id}"


Operand = Ref | Element | Immediate | CounterValue | Register
