"""The operations of a script as tables: what every element of its code has in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.simulator.engine import layout as at

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


def tabled(ops: Sequence[FabricOp], words: Sequence[int], after: int) -> OpTables:
    """Return the tables of a script; terms of the kind `after` and above name an operation."""
    followers: list[list[int]] = [[] for _ in ops]
    for k, op in enumerate(ops):
        for other in sorted({other for kind, other, _ in op.terms if kind >= after}):
            followers[other].append(k)
    lane, passing = _lanes(ops, words)
    return OpTables(
        _table([_row(op) for op in ops], Q_WIDTH),
        _starts([len(op.terms) for op in ops], [len(mine) for mine in followers]),
        _table([term for op in ops for term in op.terms], 3),
        np.array([k for mine in followers for k in mine], dtype=np.int64),
        lane,
        passing,
        _table([(k, j) for k, op in enumerate(ops) for j in op.exclusive], 2),
        _table([(k, j) for k, op in enumerate(ops) for j in op.together], 2),
    )


def _table(rows: Sequence[Sequence[int]], width: int) -> Ints:
    return np.array(rows, dtype=np.int64).reshape(len(rows), width)


def _row(op: FabricOp) -> tuple[int, ...]:
    out = next(((s, i) for s, i in op.queues if s >= at.OUTPUT_SLOT), (-1, -1))
    came = [queue for queue in op.queues if queue[0] < at.OUTPUT_SLOT]
    came += [(-1, -1)] * (2 - len(came))
    return (op.extent, op.gap, int(op.asynchronous), *came[0], *came[1], *out)


def _starts(terms: list[int], followers: list[int]) -> Ints:
    found = np.zeros((len(terms), 4), dtype=np.int64)
    found[:, 1], found[:, 3] = terms, followers
    found[:, 0], found[:, 2] = (np.cumsum(found[:, c]) - found[:, c] for c in (1, 3))
    return found


def _lanes(ops: Sequence[FabricOp], words: Sequence[int]) -> tuple[Ints, Ints]:
    passes: dict[int, list[tuple[int, int]]] = {}
    for k, op in enumerate(ops):
        for slot, index in op.queues:
            passes.setdefault(slot, []).append((k, index))
    lanes: list[tuple[int, int, int, int]] = []
    passing: list[tuple[int, int]] = []
    for slot, mine in sorted(passes.items()):
        lanes.append((slot, words[slot], len(passing), len(mine)))
        passing += mine
    return _table(lanes, L_WIDTH), _table(passing, 2)
