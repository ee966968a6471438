"""Work on memory alone: the cycles of operations and loops, and the words that they touch.

Such work has a fixed duration. A loop over memory is one number of cycles in a script, and one
table of runs (`LoopRuns`) in a timeline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.code.bank_costs import BankRead, groups_in, meetings
from tilewright.simulator.fast.plain_code import CodeWords

Ints = npt.NDArray[np.int64]
NONE: Final[Mapping[int, int]] = MappingProxyType({})
Span = tuple[int, int]
"""The first and the last of consecutive words."""


class TouchedWords(NamedTuple):
    """Hold the memory words of an operation: spans that it reads or writes, and those it writes.

    A span is the first and the last of consecutive 16-bit words, by their addresses in the element.
    Two operations may run side by side if neither writes what the other touches.
    """

    touched: list[Span]
    written: list[Span]


class LoopRuns(NamedTuple):
    """Hold all runs of operations in a loop on memory, inner loops included; arrays: (runs,).

    `start`, `end`: cycles from the start of the loop. `row`: address of each run's operation.
    `cycles`: those of the whole loop. `after`: address of the instruction behind the loop.
    """

    start: Ints
    """Cycles from the start of the loop."""
    end: Ints
    row: Ints
    """Addresses of the operations."""
    cycles: int
    """Cycles of the whole loop."""
    after: int
    """The address behind the loop."""


def busy_cycles(code: CodeWords, op: int, variables: Mapping[int, int] = NONE) -> int:
    """Return the cycles for which an operation on memory alone keeps the main thread busy.

    op: address of the operation's row; variables: values of the counters. A group is the values
    that go at once: the cycles are the number of groups times the cycles per group, plus those of
    groups whose two reads meet on a bank, rounded up; at least 1. Example: 10 values in groups of 4
    at 1 cycle each take 3.
    """
    row = code.row(op, at.O_WIDTH)
    extent = row[at.O_EXTENT]
    length = max(1, min(extent, row[at.O_ROW]))
    cycles = groups_in(extent, row[at.O_GROUP], length) * row[at.O_CYCLES]
    if row[at.O_BANKS]:
        first, second = (
            bank_read(code, row[at.O_OPERANDS + source], variables) for source in (1, 2)
        )
        met = meetings((first, second), extent, row[at.O_GROUP], length)
        cycles += met * row[at.O_BANKS]
    return max(1, -(-cycles // row[at.O_DENOMINATOR]))


def free_cycles(row: Sequence[int]) -> int:
    """Return the cycles that an operation on memory alone would take if nothing stalled it.

    row: of the operation, O_WIDTH words.
    """
    extent = row[at.O_EXTENT]
    groups = groups_in(extent, row[at.O_GROUP], max(1, min(extent, row[at.O_ROW])))
    return max(1, -(-groups * row[at.O_FREE] // row[at.O_DENOMINATOR]))


def bank_read(code: CodeWords, operand: int, variables: Mapping[int, int]) -> BankRead:
    """Return how a memory operand is read; operand: address of its row, variables: of counters."""
    words = code.row(operand, at.D_WIDTH)
    position, dimensions = words[at.D_BASE], words[at.D_DIMENSIONS]
    for i in range(words[at.D_TERMS]):
        position += words[at.D_FACTOR + i] * variables.get(words[at.D_VARIABLE + i], 0)
    extents = words[at.D_EXTENT : at.D_EXTENT + dimensions]
    strides = words[at.D_STRIDE : at.D_STRIDE + dimensions]
    return BankRead(position, words[at.D_WIDE], extents, strides)


def loop_runs(code: CodeWords, pc: int) -> LoopRuns:
    """Return all runs of the operations in a loop, with the loop's cycles and its end.

    pc: address of the loop's first instruction. The loop must hold nothing but operations on memory
    and such loops. Times count from the start of the loop, with its own instructions.
    """
    parts: list[tuple[Ints, Ints, Ints]] = []
    now, pc = 0, pc + at.I_WIDTH
    while code[pc] != at.I_END_LOOP:
        if code[pc] == at.I_LOOP:
            inner = loop_runs(code, pc)
            parts.append((inner.start + now, inner.end + now, inner.row))
            now, pc = now + inner.cycles, inner.after
            continue
        op = code[pc + 1]
        now += code[op + at.O_LOAD]
        cycles = busy_cycles(code, op)
        parts.append((np.array([now]), np.array([now + cycles]), np.array([op])))
        now, pc = now + cycles, pc + at.I_WIDTH
    count, header = max(1, code[pc + 2]), code.header
    start, end, row = (np.concatenate(column) for column in zip(*parts, strict=True))
    turn = now + header[at.K_LOOP]
    begins = header[at.K_COUNTER] + turn * np.arange(count, dtype=np.int64)[:, None]
    cycles = header[at.K_COUNTER] + (count - 1) * turn + now + header[at.K_NOT_TAKEN]
    return LoopRuns(
        (begins + start).ravel(),
        (begins + end).ravel(),
        np.tile(row, count),
        cycles,
        pc + at.I_WIDTH,
    )


class OperandReach(NamedTuple):
    """Hold the memory words that an operand touches, as they depend on counters.

    `low`, `high`: first and last 16-bit word in the element while all counters are 0. `terms`:
    (counter, words by which each of its steps moves the operand). `written`: whether it is written.
    """

    low: int
    high: int
    terms: list[tuple[int, int]]
    """(counter, words by which each of its steps moves the operand)."""
    written: bool

    def span(self, variables: Mapping[int, int], ranges: Mapping[int, Span]) -> Span:
        """Return the first and the last 16-bit word that the operand touches.

        variables: values of counters; ranges: (first, last value) of counters that run over a
        range, over all of which the span is taken. A counter in neither is 0.
        """
        low, high = self.low, self.high
        for slot, factor in self.terms:
            value = variables.get(slot, 0)
            first, last = ranges.get(slot, (value, value))
            low += factor * (first if factor > 0 else last)
            high += factor * (last if factor > 0 else first)
        return low, high


def reaches_of(code: CodeWords, op: int) -> list[OperandReach]:
    """Return the memory words that each memory operand of an operation touches.

    op: address of the operation's row. The destination is marked as written, the others as read.
    """
    reaches = []
    for column in range(at.O_OPERANDS, at.O_SCALAR_ROW + 1):
        row = code[op + column]
        if row < 0 or code[row + at.D_KIND] != at.MEMORY:
            continue
        words = code.row(row, at.D_WIDTH)
        low, high = words[at.D_BASE] + words[at.D_LOW], words[at.D_BASE] + words[at.D_HIGH]
        count = words[at.D_TERMS]
        slots = words[at.D_VARIABLE : at.D_VARIABLE + count]
        terms = list(zip(slots, words[at.D_FACTOR : at.D_FACTOR + count], strict=True))
        reaches.append(
            OperandReach(low, high + words[at.D_WIDE] - 1, terms, column == at.O_OPERANDS)
        )
    return reaches


def have_common_word(first: list[Span], second: list[Span]) -> bool:
    """Return whether a span of the first list and one of the second share a memory word.

    A span is (first, last) of consecutive words, both included.
    """
    return any(a[0] <= b[1] and b[0] <= a[1] for a in first for b in second)
