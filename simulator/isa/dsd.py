"""Buffers, data-structure descriptors (DSDs) and the operands of operations.

The descriptors follow the public DSD documentation: a memory descriptor walks `extent` elements
of one buffer, a fabric descriptor stands for `extent` wavelets of one queue.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from operator import index
from typing import Final

from tilewright.simulator.isa.machine_errors import ProgramError

DTYPES: Final[dict[str, int]] = {"f32": 2, "i32": 2, "u32": 2, "f16": 1, "i16": 1, "u16": 1}
"""16-bit machine words of one value of each dtype."""


@dataclass(frozen=True, slots=True)
class Index:
    """An affine expression: `constant + sum(coefficient * variable)`.

    The variables are loop variables or counters of the element. Build it with `variable("k")`,
    `+`, `-` and `*`.
    """

    constant: int = 0
    terms: tuple[tuple[str, int], ...] = ()

    def __add__(self, other: Index | int) -> Index:
        other = as_index(other)
        merged = dict(self.terms)
        for name, coefficient in other.terms:
            merged[name] = merged.get(name, 0) + coefficient
        terms = tuple((name, value) for name, value in sorted(merged.items()) if value)
        return Index(self.constant + other.constant, terms)

    __radd__ = __add__

    def __mul__(self, factor: int) -> Index:
        terms = tuple((name, value * factor) for name, value in self.terms if factor)
        return Index(self.constant * factor, terms)

    __rmul__ = __mul__

    def __sub__(self, other: Index | int) -> Index:
        return self + as_index(other) * -1

    def bounds(self, counts: Mapping[str, int]) -> tuple[int, int] | None:
        """Return the least and greatest value for variables in 0..count-1, None if unknown."""
        low = high = self.constant
        for name, coefficient in self.terms:
            if name not in counts:
                return None
            end = coefficient * (counts[name] - 1)
            low, high = low + min(end, 0), high + max(end, 0)
        return low, high

    def __str__(self) -> str:
        parts = [f"{value}*{name}" if value != 1 else name for name, value in self.terms]
        if self.constant or not parts:
            parts.append(str(self.constant))
        return " + ".join(parts)


NO_OFFSET: Final = Index()


def variable(name: str) -> Index:
    """Return the affine expression that is the variable itself."""
    return Index(0, ((name, 1),))


def as_index(value: Index | int) -> Index:
    """Return an integer as a constant expression, an expression as itself."""
    if isinstance(value, Index):
        return value
    try:
        return Index(index(value))
    except TypeError:
        raise ProgramError(
            "an index is an integer or an expression of variables",
            value=value,
            instead='variable("k"), for a counter',
        ) from None


@dataclass(frozen=True, slots=True)
class Buffer:
    """A named array in an element's SRAM; `address` counts 16-bit words, row-major order."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    address: int

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def words(self) -> int:
        return self.elements * DTYPES[self.dtype]


@dataclass(frozen=True, slots=True)
class Mem1d:
    """A memory vector: elements `offset + i * stride` of a buffer, i in 0..extent-1."""

    name: str
    buffer: str
    extent: int
    stride: int = 1
    offset: int = 0
    wavelet_index_offset: bool = False

    def span(self) -> tuple[int, int]:
        """Return the least and greatest element that is touched."""
        end = self.stride * (self.extent - 1)
        return self.offset + min(end, 0), self.offset + max(end, 0)


@dataclass(frozen=True, slots=True)
class Mem4d:
    """A memory vector of up to four dimensions.

    `extents` is outermost first, `strides` innermost first (as the documentation writes them):
    stride d is added when dimension d advances, so it holds the jump back of the inner ones.
    Use `mem4d_access` to get both from the coefficients of an affine access.
    """

    name: str
    buffer: str
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0
    wavelet_index_offset: bool = False

    @property
    def extent(self) -> int:
        return prod(self.extents)

    def coefficients(self) -> tuple[int, ...]:
        """Return the linear coefficient per dimension, outermost first (wafer.md §6.2)."""
        coefficients: list[int] = []
        inner = self.extents[::-1]
        for stride in self.strides:
            jump = sum((e - 1) * c for e, c in zip(inner, coefficients, strict=False))
            coefficients.append(stride + jump)
        return tuple(reversed(coefficients))

    def span(self) -> tuple[int, int]:
        """Return the least and greatest element that is touched."""
        ends = [c * (e - 1) for c, e in zip(self.coefficients(), self.extents, strict=True)]
        return self.offset + sum(min(e, 0) for e in ends), self.offset + sum(
            max(e, 0) for e in ends
        )


def mem4d_access(
    name: str, buffer: str, loops: Sequence[tuple[int, int]], offset: int = 0
) -> Mem4d:
    """Build a descriptor from `(extent, coefficient)` per induction variable, outermost first.

    Stride of dimension d = c_d - sum over inner e of (E_e - 1) * c_e (wafer.md §6.2).
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
    """`extent` wavelets that arrive in an input queue; extent ENDLESS never ends.

    With `control_transform` the two top bits of a value say that it came as a control wavelet.
    priority: of a microthread that serves it (WSE-3), one of PRIORITIES. simd: a mode of
    simd_modes.py; the extent counts values of 16 bits then.
    """

    name: str
    queue: int
    extent: int
    control_transform: bool = False
    priority: str = ""
    simd: str = ""


@dataclass(frozen=True, slots=True)
class Fabout:
    """`extent` wavelets that leave by an output queue; extent ENDLESS never ends.

    control: they are control wavelets. advance_switch: the router of the element moves its
    switch behind the last one. wavelet_index_offset: they carry the operation's index in their
    upper half. control_transform: values with both top bits set go as control wavelets. zero:
    `first` or `second` source is cleared when the operation is done (`second`: of a single one).
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
        """Whether it may send what acts on switches."""
        return self.control or self.advance_switch or self.control_transform

    @property
    def is_plain(self) -> bool:
        return not (self.commands or self.wavelet_index_offset or self.zero or self.simd)


@dataclass(frozen=True, slots=True)
class Circbuf:
    """`extent` elements of a buffer from its start, around the end after `wraparound` of them."""

    name: str
    buffer: str
    extent: int
    wraparound: int | None = None


@dataclass(frozen=True, slots=True)
class Fifo:
    """A first-in first-out buffer in memory, one of the element, at the start of the program empty.

    Actions: test_or_suspend, terminate, suspend, fault. `activate_pop` (`activate_push`) names the
    task that a pop (push) activates when a push (pop) had found the FIFO full (empty). It has no
    length of its own (0) until one is set.
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
    """A descriptor as operand, changed for this operation (the builtins that change descriptors).

    A memory descriptor may be moved by `offset` elements, start at the first element of another
    buffer (`base`, which replaces its own offset), and have another length or stride.
    """

    dsd: str
    offset: Index = NO_OFFSET
    length: Index | None = None
    stride: Index | None = None
    base: str | None = None

    def at(self, offset: Index | int) -> Ref:
        """Return it moved by elements (@increment_dsd_offset)."""
        return replace(self, offset=self.offset + as_index(offset))

    def of(self, buffer: str) -> Ref:
        """Return it on another buffer, from its first element on (@set_dsd_base_addr)."""
        return replace(self, offset=NO_OFFSET, base=buffer)

    def with_length(self, length: Index | int) -> Ref:
        """Return it with another number of elements or wavelets (@set_dsd_length)."""
        return replace(self, length=as_index(length))

    def with_stride(self, stride: Index | int) -> Ref:
        """Return it with another stride in elements (@set_dsd_stride)."""
        return replace(self, stride=as_index(stride))


@dataclass(frozen=True, slots=True)
class Element:
    """One element of a buffer (flat index): a scalar as source, a pointer as destination."""

    buffer: str
    index: Index = NO_OFFSET


@dataclass(frozen=True, slots=True, eq=False)
class Immediate:
    """A number of the program as scalar source; equal if type and value are, 0.0 is not -0.0.

    A NaN is equal to itself, as its text is.
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
    """The value of an affine expression of counters as scalar source (floats: their bits)."""

    index: Index


FILES: Final = ("dest", "src0", "src1")
"""Files of registers."""


@dataclass(frozen=True, slots=True)
class Register:
    """A data-structure register as operand: file `dest`, `src0` or `src1`, and its id.

    `fifo` says that it holds a FIFO (dsr_fifo_dest, dsr_fifo_src1).
    """

    file: str
    id: int
    fifo: bool = False

    def __str__(self) -> str:
        return f"dsr_{'fifo_' if self.fifo else ''}{self.file} {self.id}"


Operand = Ref | Element | Immediate | CounterValue | Register
