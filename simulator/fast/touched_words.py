"""The words of memory that an operation touches, at most."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tilewright.simulator.compile import columns as at
from tilewright.simulator.fast.plain_code import Code
from tilewright.simulator.fast.script import Span


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
