"""Rows of operations and operands, as far as the code around them does not matter.

Equal operations on equal descriptors are one object (`operands.resolve`), so each is asked about
once; the compiler of a code copies the row and adds the numbers of what the code has.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from fractions import Fraction
from functools import partial
from math import lcm
from typing import Final, NamedTuple

from tilewright.arch.memo import ValueCache
from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.code.bank_costs import bank_cycles, row_of
from tilewright.simulator.compile.code.encode_values import (
    bits_of,
    free_cycles,
    group_pace,
    load_cycles,
    load_stalls,
)
from tilewright.simulator.compile.code.queue_slots import queue_slots
from tilewright.simulator.compile.code.simd_modes import mode_of
from tilewright.simulator.descriptors.table import descriptor_kind
from tilewright.simulator.isa.dsd import Fabin, Fabout
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.isa.number_types import DTYPES
from tilewright.simulator.isa.operands import ResolvedOperand, ResolvedOperation
from tilewright.simulator.profiles.profile import Profile

TYPES: Final = {
    "f32": at.TYPE_F32,
    "f16": at.TYPE_F16,
    "i16": at.TYPE_INT16,
    "u16": at.TYPE_INT16,
    "i32": at.TYPE_INT32,
    "u32": at.TYPE_INT32,
}
PAIRS: Final = {at.TYPE_F16: at.TYPE_PAIR_F16, at.TYPE_INT16: at.TYPE_PAIR_INT16}
Row = list[int]
MOST: Final = 1 << 30
"""Greatest numerator and denominator of a rate: times the elements it fits the engine's words."""
_OPERATIONS: Final = ValueCache(1024)
_OPERANDS: Final = ValueCache(4096)


class CompiledFor(NamedTuple):
    """Hold the machine that rows of the engine's tables are made for.

    profile: its cycles and sizes; number: unique for equal profiles, a cheap key for caches.
    """

    profile: Profile
    number: int


def operation_row(
    resolved: ResolvedOperation,
    timed: ResolvedOperation,
    compiled_for: CompiledFor,
    place: Callable[[], str],
) -> Row:
    """Return a new row of the operation table with all that does not depend on the code around it.

    - resolved: the operation with its operands looked up.
    - timed: the same, with registers replaced by what they hold, which decides the rate; else equal
      to `resolved`.
    - compiled_for: the profile, and its number.
    - place: gives the text that names the operation in an error.

    Columns for operand rows, threads and tasks are left for the caller. Raises ProgramError for a
    number that the dtype cannot hold, and for a rate that the engine's words cannot hold.
    """
    profile, number = compiled_for
    make = partial(_operation_row, resolved, timed, profile, place)
    if timed is not resolved:
        return make()
    row: Row = _OPERATIONS.of((resolved, number), make)
    return row.copy()


def _operation_row(
    resolved: ResolvedOperation,
    timed: ResolvedOperation,
    profile: Profile,
    place: Callable[[], str],
) -> Row:
    row = [0] * at.O_WIDTH
    row[at.O_ARITHMETIC] = resolved.operation.arithmetic
    row[at.O_TYPE] = TYPES[_dtype(resolved)]
    row[at.O_EXTENT] = resolved.extent
    row[at.O_OPERANDS : at.O_SCALAR_ROW + 1] = [-1] * (at.O_SCALAR_ROW + 1 - at.O_OPERANDS)
    row[at.O_SCALAR] = _immediate(resolved, place)
    row[at.O_FABRIC] = int(resolved.is_fabric)
    row[at.O_LOAD] = load_cycles(resolved, profile)
    row[at.O_DEPENDENT] = load_stalls(resolved, profile)
    together = 1 + resolved.is_packed
    free = together * free_cycles(timed, profile)
    row[at.O_GROUP], rate = group_pace(timed, profile)
    rate, bank_rate = bank_cycles(timed, profile, row[at.O_GROUP], together * rate)
    denominator = lcm(rate.denominator, bank_rate.denominator, free.denominator)
    if max(Fraction(denominator), rate * denominator, bank_rate * denominator) > MOST:
        raise ProgramError(
            f"{place()}: {profile.name} gives it cycles per element that are too large, or too "
            "fine a fraction",
            value=str(rate),
            instead=f"numerators and denominators up to {MOST}",
        )
    row[at.O_DENOMINATOR] = denominator
    row[at.O_CYCLES], row[at.O_BANKS] = int(rate * denominator), int(bank_rate * denominator)
    row[at.O_FREE] = int(free * denominator)
    row[at.O_ROW] = row_of(timed)
    row[at.O_REDUCTION] = int(resolved.is_reduction)
    row[at.O_SIMD] = mode_of(timed)
    if resolved.is_packed:  # the two values of a pair go together as one of 32 bits
        row[at.O_TYPE], row[at.O_SIMD] = PAIRS[row[at.O_TYPE]], at.SIMD_NONE
        row[at.O_EXTENT] //= 2
    row[at.O_SPECIAL] = int(resolved.is_special)
    row[at.O_INDEX] = row[at.O_RESULT] = row[at.O_CONTROL_TASK] = -1
    row[at.O_VARIANT : at.O_STALLED] = [-1] * (at.O_STALLED - at.O_VARIANT)
    row[at.O_ON_CONTROL] = at.CONTROL_IS_DATA
    row[at.O_POINTER] = int(resolved.dest.letter == "p")
    zero = resolved.dest.dsd.zero if isinstance(resolved.dest.dsd, Fabout) else ""
    if zero:
        row[at.O_ZERO] = 2 if zero == "second" and len(resolved.sources) > 1 else 1
    row[at.O_QUEUES] = sum({1 << slot for slot in queue_slots(resolved)})
    return row


def _dtype(resolved: ResolvedOperation) -> str:
    dtypes = (o.buffer.dtype for o in resolved.operands if o.buffer is not None)
    return next(dtypes, resolved.operation.dtype)


def _immediate(resolved: ResolvedOperation, place: Callable[[], str]) -> int:
    """Return the bits of an operation's scalar if it is a number; 0 for another scalar or none."""
    scalar = next((s for s in resolved.sources if s.letter == "v"), None)
    if scalar is None or scalar.is_memory or scalar.is_counter:
        return 0
    if sends_control(resolved):
        return int(scalar.value)
    dtype = _dtype(resolved)
    if resolved.operation.mixed:
        dtype = resolved.operation.mixed[1 + resolved.sources.index(scalar)][0]
    return bits_of(scalar.value, dtype, place())


def sends_control(resolved: ResolvedOperation) -> bool:
    """Return whether an operation sends control wavelets: its destination is a control fabout.

    A fabout is the descriptor of a stream of wavelets to the fabric.
    """
    dsd = resolved.dest.dsd
    return isinstance(dsd, Fabout) and dsd.control


def operand_row(operand: ResolvedOperand, *, packed: bool = False) -> Row:
    """Return a new row of the operand table with all that does not depend on the code around it.

    The row holds kind, address, extents and strides in 16-bit words. Columns for registers, FIFOs
    and counters are left for the caller. packed: its values are pairs of 16 bits.
    """
    row: Row = _OPERANDS.of((operand, packed), partial(_operand_row, operand, packed))
    return row.copy()


def _operand_row(operand: ResolvedOperand, packed: bool) -> Row:
    row = [0] * at.D_WIDTH
    dsd = operand.dsd
    row[at.D_DIMENSIONS] = len(operand.extents())
    row[at.D_LENGTH_ROW] = row[at.D_STRIDE_ROW] = -1
    if operand.buffer is not None:
        _memory_operand(row, operand)
    if dsd is not None:
        row[at.D_LENGTH] = at.EMPTY if operand.is_empty else dsd.extent
        descriptor_kind(dsd).columns(operand, row)
    row[at.D_TYPES] = _value_types(operand)
    if (operand.is_changed or operand.is_empty) and row[at.D_WRAP] == 0:
        row[at.D_LOW] = row[at.D_HIGH] = 0
    if operand.is_empty and operand.buffer is not None:
        row[at.D_BASE] = operand.buffer.address  # what touches nothing leaves no buffer
    if packed:
        _pack_operand(row)
    return row


def _pack_operand(row: Row) -> None:
    """Let an operand's values be pairs of two 16-bit values each."""
    row[at.D_SIMD], row[at.D_FLAGS] = at.SIMD_NONE, row[at.D_FLAGS] & ~at.PAIRS
    row[at.D_LENGTH] //= 2
    if row[at.D_KIND] == at.MEMORY:
        row[at.D_WIDE] = row[at.D_STRIDE] = 2
        row[at.D_EXTENT] //= 2
        for d in range(1, row[at.D_DIMENSIONS]):  # the last pair of a row begins a value earlier
            row[at.D_STRIDE + d] += 1
        row[at.D_HIGH] -= 1  # where the last pair begins
        row[at.D_LAST] -= 1


def type_bits(dtypes: Collection[str]) -> int:
    """Return a set of dtype names as an integer with one bit per dtype, in the order of DTYPES.

    It says which dtypes the values of an operand may have.
    """
    return sum(1 << number for number, dtype in enumerate(DTYPES) if dtype in dtypes)


def _value_types(operand: ResolvedOperand) -> int:
    """Return the dtypes that an operand's values may have, as an integer with a bit for each."""
    if operand.buffer is not None:
        return type_bits([operand.buffer.dtype])
    paired = isinstance(operand.dsd, Fabin | Fabout) and operand.dsd.simd
    return type_bits([dtype for dtype, words in DTYPES.items() if words == 1 or not paired])


def _memory_operand(row: Row, operand: ResolvedOperand) -> None:
    buffer = operand.buffer
    assert buffer is not None
    wide, first = DTYPES[buffer.dtype], buffer.address
    row[at.D_KIND], row[at.D_WIDE] = at.MEMORY, wide
    row[at.D_BASE] = first + (operand.base + operand.offset.constant) * wide
    for d, extent in enumerate(reversed(operand.extents())):
        row[at.D_EXTENT + d] = extent
        row[at.D_STRIDE + d] = operand.strides()[d] * wide
    low, high = operand.span()
    row[at.D_LOW], row[at.D_HIGH] = (low - operand.base) * wide, (high - operand.base) * wide
    row[at.D_FIRST], row[at.D_LAST] = first, first + (buffer.elements - 1) * wide
