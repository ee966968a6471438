"""The operations of a script as tables: what every element of its code has in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as at

if TYPE_CHECKING:
    from tilewright.simulator.fast.script import FabricOp

Ints = npt.NDArray[np.int64]
# A row of `op`; a slot is -1 where there is no such queue.
Q_SIZE, Q_GAP, Q_ASYNC, Q_IN, Q_IN_AT, Q_IN2, Q_IN2_AT, Q_OUT, Q_OUT_AT, Q_WIDTH = range(10)
# A row of `lane`: a queue slot in use, its words, its first passing operation and their number.
L_SLOT, L_WORDS, L_FIRST, L_COUNT, L_WIDTH = range(5)


class OpTables(NamedTuple):
    """References count from the script's first row."""

    op: Ints
    start: Ints
    """(operations, 4): first term, terms, first follower, followers."""
    term: Ints
    """(kind, operation, cycles)."""
    follower: Ints
    """Operations whose start depends on one, in order."""
    lane: Ints
    passing: Ints
    """(operation, first word) of everything that passes a queue, lane by lane."""
    exclusive: Ints
    """(operation, earlier one that must have ended)."""
    together: Ints
    """(operation, earlier one that may still run)."""


Rows = tuple[Sequence[Sequence[int]], ...]
"""The rows of each of the tables."""
WIDTHS = (Q_WIDTH, 4, 3, 1, L_WIDTH, 2, 2, 2)


def op_rows(ops: Sequence[FabricOp], words: Sequence[int], after: int) -> Rows:
    """Return the rows of a script; terms of the kind `after` and above name an operation."""
    followers: list[list[int]] = [[] for _ in ops]
    for k, op in enumerate(ops):
        for other in sorted({other for kind, other, _ in op.terms if kind >= after}):
            followers[other].append(k)
    lane, passing = _lanes(ops, words)
    return (
        [_row(op) for op in ops],
        _starts([len(op.terms) for op in ops], [len(mine) for mine in followers]),
        [term for op in ops for term in op.terms],
        [(k,) for mine in followers for k in mine],
        lane,
        passing,
        [(k, j) for k, op in enumerate(ops) for j in op.exclusive],
        [(k, j) for k, op in enumerate(ops) for j in op.together],
    )


def tables_of(rows: Rows) -> OpTables:
    """Return rows as tables."""
    arrays = (np.array(table, dtype=np.int64).ravel() for table in rows)
    return shaped(arrays)


def shaped(arrays: Iterable[Ints]) -> OpTables:
    """Return the numbers of each table as tables."""
    pairs = zip(arrays, WIDTHS, strict=True)
    return OpTables(*(a if width == 1 else a.reshape(-1, width) for a, width in pairs))


def _row(op: FabricOp) -> tuple[int, ...]:
    out = next(((s, i) for s, i in op.queues if s >= at.OUTPUT_SLOT), (-1, -1))
    came = [queue for queue in op.queues if queue[0] < at.OUTPUT_SLOT]
    came += [(-1, -1)] * (2 - len(came))
    return (op.extent, op.gap, int(op.asynchronous), *came[0], *came[1], *out)


def _starts(terms: list[int], followers: list[int]) -> list[tuple[int, int, int, int]]:
    ends = accumulate(terms), accumulate(followers)
    pairs = zip(terms, followers, *ends, strict=True)
    return [(to - n, n, before - m, m) for n, m, to, before in pairs]


def _lanes(
    ops: Sequence[FabricOp], words: Sequence[int]
) -> tuple[list[tuple[int, int, int, int]], list[tuple[int, int]]]:
    passes: dict[int, list[tuple[int, int]]] = {}
    for k, op in enumerate(ops):
        for slot, index in op.queues:
            passes.setdefault(slot, []).append((k, index))
    lanes: list[tuple[int, int, int, int]] = []
    passing: list[tuple[int, int]] = []
    for slot, mine in sorted(passes.items()):
        lanes.append((slot, words[slot], len(passing), len(mine)))
        passing += mine
    return lanes, passing
