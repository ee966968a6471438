"""What loops over memory do, operation by operation: for timelines, all turns at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as at
from tilewright.simulator.fast.plain_code import Code

Ints = npt.NDArray[np.int64]
Span = tuple[int, int]
"""The first and the last of consecutive words."""


class Nest(NamedTuple):
    """The runs of operations in a loop, with those in loops inside it."""

    start: Ints
    """Cycles from the loop's beginning."""
    end: Ints
    row: Ints
    """The operation's address."""
    cycles: int
    """The whole loop."""
    after: int
    """The address behind it."""


def busy_cycles(code: Code, op: int) -> int:
    """Return the cycles for which an operation on memory keeps the main thread."""
    row = code.row(op, at.O_WIDTH)
    groups = -(-row[at.O_EXTENT] // row[at.O_GROUP])
    return max(1, -(-groups * row[at.O_CYCLES] // row[at.O_DENOMINATOR]))


def nest_of(code: Code, pc: int) -> Nest:
    """Return a loop that holds operations on memory and such loops only; pc: its address."""
    parts: list[tuple[Ints, Ints, Ints]] = []
    now, pc = 0, pc + at.I_WIDTH
    while code[pc] != at.I_END_LOOP:
        if code[pc] == at.I_LOOP:
            inner = nest_of(code, pc)
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
    return Nest(
        (begins + start).ravel(),
        (begins + end).ravel(),
        np.tile(row, count),
        cycles,
        pc + at.I_WIDTH,
    )


class Reach(NamedTuple):
    """The first and last word of an operand; counters (slot, words each) move them."""

    low: int
    high: int
    terms: list[tuple[int, int]]
    written: bool

    def span(self, variables: Mapping[int, int], ranges: Mapping[int, Span]) -> Span:
        """Return the first and the last word, for all values of counters that have a range."""
        low, high = self.low, self.high
        for slot, factor in self.terms:
            value = variables.get(slot, 0)
            first, last = ranges.get(slot, (value, value))
            low += factor * (first if factor > 0 else last)
            high += factor * (last if factor > 0 else first)
        return low, high


def reaches_of(store: Code, op: int) -> list[Reach]:
    """Return what the operands of an operation (its address) touch; only the first is written."""
    found = []
    for column in range(at.O_OPERANDS, at.O_SCALAR_ROW + 1):
        row = store[op + column]
        if row < 0 or store[row + at.D_KIND] != at.MEMORY:
            continue
        words = store.row(row, at.D_WIDTH)
        low, high = words[at.D_BASE] + words[at.D_LOW], words[at.D_BASE] + words[at.D_HIGH]
        count = words[at.D_TERMS]
        slots = words[at.D_VARIABLE : at.D_VARIABLE + count]
        terms = list(zip(slots, words[at.D_FACTOR : at.D_FACTOR + count], strict=True))
        found.append(Reach(low, high + words[at.D_WIDE] - 1, terms, column == at.O_OPERANDS))
    return found


def meet(some: list[Span], others: list[Span]) -> bool:
    """Return whether any two spans have a word in common."""
    return any(a[0] <= b[1] and b[0] <= a[1] for a in some for b in others)
