"""What memory banks and strides cost: pure functions on addresses, used by tables and tests.

An element's SRAM has 8 banks, successive 16-bit words in successive banks; a bank gives one word
per cycle, so the two reads of one cycle must not touch one bank (wafer.md §2.1). Strides limit the
values per cycle (wafer.md §2.2).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Final, NamedTuple

from tilewright.simulator.compile.columns import BANKS
from tilewright.simulator.isa.dsd import Mem4d
from tilewright.simulator.isa.number_types import DTYPES
from tilewright.simulator.isa.operands import ResolvedOperand, ResolvedOperation
from tilewright.simulator.profiles.profile import Profile

LONGEST: Final = 1 << 16
"""More elements than a vector may have."""


class BankRead(NamedTuple):
    """Hold how an operation reads one memory source: the 16-bit words that it touches.

    `position`: word of the first value; `wide`: words per value (1 or 2); `extents` and `strides`:
    innermost dimension first. A stride is the words from one value to the next; that of an outer
    dimension includes the jump back over the inner ones.
    """

    position: int
    wide: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]

    def moved(self, words: int) -> BankRead:
        """Return the same read from `words` words further on."""
        return self._replace(position=self.position + words)

    def word_of(self, element: int) -> int:
        """Return the word at which a value begins; element: number of the value in the vector."""
        position, passed = self.position, element
        for extent, stride in zip(self.extents[:-1], self.strides, strict=False):
            position += stride * (passed - passed // extent)
            passed //= extent
        return position + self.strides[len(self.extents) - 1] * passed

    def span(self, elements: int) -> tuple[int, int]:
        """Return which words `elements` values along the innermost dimension cover.

        As (16-bit words in front of the first value's word, words in all, gaps of a stride
        included). Two f32 with a stride of -4 words: (4, 6).
        """
        reach = (elements - 1) * self.strides[0]
        return (-reach, self.wide - reach) if reach < 0 else (0, self.wide + reach)


def meet(first: BankRead, second: BankRead, distance: int, elements: int) -> bool:
    """Return whether the reads of a group of values touch one memory bank (wafer.md §2.1).

    distance: words from the second source's first word to the first source's; elements: values of a
    full group, which is read also where the last one of a row needs fewer. Example: f32 begin at
    even words; two reads of one f32 (2 words each) meet at distances 0, 8, 16, ..., two reads of
    two f32 (4 words each) at all but 4, 12, ...
    """
    before, words = first.span(elements)
    other_before, other_words = second.span(elements)
    apart = (distance - before + other_before) % BANKS
    return apart < other_words or apart > BANKS - words


def groups_in(extent: int, group: int, row: int) -> int:
    """Return the number of groups of an operation: values that go at once, at most to a row's end.

    extent: values; group: most values of a group; row: values after which a group ends. Example: 12
    values in rows of 6 make 4 groups of up to 4.
    """
    return extent // row * -(-row // group) + -(-(extent % row) // group)


def stride_limit(stride: int, wide: int, rule: str) -> Fraction | None:
    """Return how many values per cycle a strided memory operand allows at most; None: no limit.

    stride: distance of successive values, in values; wide: 16-bit words per value (1 or 2); rule:
    `none`, `documentation` (the vendor's table by stride modulo 8) or `inverse` (8 words divided by
    stride * wide, at least 1). Strides 0, 1 and -1 have no limit (wafer.md §2.2).
    """
    size = abs(stride)
    if rule == "none" or size <= 1:
        return None
    if rule == "inverse":
        return max(Fraction(1), Fraction(8, wide * size))
    return {1: Fraction(2), 7: Fraction(2), 0: Fraction(1), 4: Fraction(2)}.get(size % 8)


def strided(
    resolved: ResolvedOperation, profile: Profile, cycles: Fraction, group: int
) -> Fraction:
    """Return the cycles of one group of an operation, lengthened by the strides of memory operands.

    A group is the values that go at once. cycles: those of the group with strides 1; group: number
    of its values; profile: says by its `stride_limits` how many values per cycle a stride allows.
    The result is the greatest of `cycles` and group / limit over the operands (wafer.md §2.2).
    """
    limits = [
        stride_limit(o.strides()[0], DTYPES[o.buffer.dtype], profile.stride_limits)
        for o in resolved.operands
        if o.is_memory_stream and o.buffer is not None and o.dsd is not None
    ]
    return max([cycles, *(group / limit for limit in limits if limit is not None)])


def meetings(first: BankRead, second: BankRead, extent: int, group: int, row: int) -> int:
    """Count the bank conflicts of an operation: groups whose two reads are of the same memory bank.

    first, second: how both sources are read; extent, group, row: as of `groups_in`. Where the
    distance of the sources stays the same modulo the banks, a row is counted at once.
    """
    regular = all(len(r.extents) == 1 or r.extents[0] % row == 0 for r in (first, second))
    regular = regular and group * (first.strides[0] - second.strides[0]) % BANKS == 0
    count, start = 0, 0
    while start < extent:
        end = min(start + row, extent)
        if regular:
            distance = first.word_of(start) - second.word_of(start)
            count += -(-(end - start) // group) * meet(first, second, distance, group)
        else:
            for k in range(start, end, group):
                count += meet(first, second, first.word_of(k) - second.word_of(k), group)
        start = end
    return count


@lru_cache(1 << 14)
def known_meetings(first: BankRead, second: BankRead, extent: int, group: int, row: int) -> int:
    """Return what `meetings` counts, and keep it for equal questions.

    For plain numbers: code that is compiled for a family of codes must not compare its numbers.
    """
    return meetings(first, second, extent, group, row)


def displacements(moves: Iterable[tuple[int, int]]) -> dict[int, Fraction]:
    """Return how often each displacement of two sources, modulo the banks, occurs in nested loops.

    moves: for each loop (words by which a turn moves one source away from the other one, number of
    turns). The result maps displacements to shares that add up to 1. Example: one loop of 3 turns
    that moves by 4 words gives the displacements 0, 4 and 8, which is 0 modulo 8: {0: 2/3, 4: 1/3}.
    """
    ways = {0: 1}
    for move, turns in moves:
        after = dict.fromkeys(range(BANKS), 0)
        for displacement, number in ways.items():
            for turn in range(min(turns, BANKS)):
                alike = -(-(turns - turn) // BANKS)  # turns that differ by multiples of the banks
                after[(displacement + turn * move) % BANKS] += number * alike
        ways = after
    total = sum(ways.values())
    return {
        displacement: Fraction(number, total) for displacement, number in ways.items() if number
    }


def row_of(resolved: ResolvedOperation) -> int:
    """Return after how many values a group of an operation always ends: a row of its operands.

    That is the least innermost extent of its multi-dimensional descriptors (wafer.md §3.2), or
    LONGEST where all are vectors of one dimension.
    """
    rows = [o.extents()[-1] for o in resolved.operands if isinstance(o.dsd, Mem4d)]
    return min(rows, default=LONGEST)


def bank_cycles(
    resolved: ResolvedOperation, profile: Profile, group: int, cycles: Fraction
) -> tuple[Fraction, Fraction]:
    """Return (cycles per group, further cycles per group with a bank conflict) of an operation.

    A group is the values of the operation that go at once; `cycles` are those of a group without
    conflicts. A conflict is two reads of one memory bank; only operations with two vectors in
    memory and no queue have them. If it is known before the run that all groups conflict or that
    none does, the first number holds the result and the second is 0; else the engine adds the
    second number for each group that does (wafer.md §2.1).
    """
    sources = [o for o in resolved.sources if o.is_memory_stream]
    if not _may_meet(sources, resolved, profile):
        return cycles, Fraction(0)
    timing = profile.operations[resolved.operation.name]
    met = max(cycles, timing.cycles[1] * profile.bank_conflict_factor)
    if met == cycles:
        return cycles, Fraction(0)
    if not all(map(has_known_bank, sources)):
        return cycles, met - cycles
    row = max(1, min(resolved.extent, row_of(resolved)))
    first, second = (read_of(source) for source in sources)
    count = meetings(first, second, resolved.extent, group, row)
    if count == 0:
        return cycles, Fraction(0)
    if count == groups_in(resolved.extent, group, row):
        return met, Fraction(0)
    return cycles, met - cycles


def _may_meet(
    sources: Sequence[ResolvedOperand], resolved: ResolvedOperation, profile: Profile
) -> bool:
    """Return whether an operation may lose cycles as it reads two vectors from one memory bank.

    sources: its vectors in memory. False for an operation with a queue, and for a machine without
    such a cost.
    """
    return len(sources) == 2 and profile.bank_conflict_factor != 1 and not resolved.is_fabric


def read_of(operand: ResolvedOperand) -> BankRead:
    """Return the words that an operation reads of a vector in memory, if its counters are 0."""
    assert operand.buffer is not None
    wide = DTYPES[operand.buffer.dtype]
    position = operand.buffer.address + (operand.base + operand.offset.constant) * wide
    strides = tuple(stride * wide for stride in operand.strides())
    return BankRead(position, wide, operand.extents()[::-1], strides)


def has_known_bank(operand: ResolvedOperand) -> bool:
    """Return whether the memory bank of an operand's first word is known before the run.

    It is not if it comes from a register, or if a counter moves it by other than whole rounds of
    banks.
    """
    if operand.buffer is None or operand.register is not None or operand.is_special:
        return False
    wide = DTYPES[operand.buffer.dtype]
    factors: Iterable[int] = (factor * wide for _, factor in operand.offset.terms)
    return all(factor % BANKS == 0 for factor in factors)
