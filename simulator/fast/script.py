"""What the elements of a code do, in order, without times: the outcome of `walker.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as at
from tilewright.simulator.fast.memory_work import Nest, Span

ADVANCE, WAIT, FABRIC, WORK, BEGIN, END, NEST = range(7)
"""Events of a script: (ADVANCE, cycles, 0), (WAIT, fabric operation, 0),
(FABRIC, fabric operation, operation row), (WORK, operation row, cycles),
(BEGIN or END, task, 0), (NEST, loop over memory, cycles); rows are addresses in a program's store,
0 unless asked for."""
ORIGIN, AFTER, COMPLETE = range(3)
"""What a start refers to: cycle 0, the main thread after an operation, an operation's end."""

Event = tuple[int, int, int]
Term = tuple[int, int, int]
"""(ORIGIN, AFTER or COMPLETE; fabric operation; cycles after it)."""


@dataclass(frozen=True, slots=True)
class FabricOp:
    """One run of an operation with a queue; `terms`: it is dispatched at their maximum."""

    extent: int
    gap: int
    asynchronous: bool
    thread: int
    queues: tuple[Span, ...]
    """(queue slot, index of its first word in the slot's stream)."""
    terms: tuple[Term, ...]
    together: tuple[int, ...]
    """Earlier operations that may still run at its dispatch."""
    exclusive: tuple[int, ...]
    """Earlier ones that must have ended, for they have its queue or thread."""


@dataclass(frozen=True, slots=True)
class Walk:
    """What every element of a code does, step by step."""

    ops: tuple[FabricOp, ...]
    events: tuple[Event, ...]
    runs: tuple[int, ...]
    """Elements that each operation of the code does, in all its runs."""
    tasks: tuple[int, ...]
    """Tasks in the order in which they run."""
    words: tuple[int, ...]
    """Words that pass each of the 16 queue slots."""
    nests: tuple[Nest, ...] = ()

    @property
    def ending(self) -> tuple[Event, ...]:
        """The last operation with a queue and what follows: nothing before it delays the end."""
        last = max((i for i, event in enumerate(self.events) if event[0] == FABRIC), default=0)
        return self.events[last:]


@dataclass(frozen=True)
class Script:
    """What the times of a code's elements need, and its walk when that is asked for."""

    tables: OpTables
    """The operations."""
    ending: tuple[Event, ...]
    tasks: tuple[int, ...]
    overlaps: bool
    """Whether something runs on a microthread."""
    walked: Callable[[], Walk]

    @property
    def size(self) -> int:
        """Return how many runs of operations with queues there are."""
        return len(self.tables.op)

    @cached_property
    def walk(self) -> Walk:
        """The walk that it comes from."""
        return self.walked()


def overlapping(ops: Sequence[FabricOp]) -> bool:
    """Return whether something runs on a microthread."""
    return any(op.asynchronous for op in ops)


def script_from(walk: Walk) -> Script:
    """Return the script of a walk."""
    tables = tables_of(op_rows(walk.ops, walk.words, AFTER))
    return Script(tables, walk.ending, walk.tasks, overlapping(walk.ops), lambda: walk)


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
