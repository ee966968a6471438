"""What loops over memory do, operation by operation: for timelines, all turns at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as at
from tilewright.simulator.fast.plain_code import Code

Ints = npt.NDArray[np.int64]


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
