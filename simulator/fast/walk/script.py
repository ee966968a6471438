"""The script of a code: what each of its elements does, in order, without times.

`walker.py` makes it. A script lists the code's runs of operations on queues (`FabricOp`), each with
the terms of its dispatch: it is dispatched at the maximum of its terms, which are cycles after an
earlier operation. `OpTables` hold the same as arrays, from which `graph_tables.py` builds the units
of all elements of the code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as at
from tilewright.simulator.fast.walk.memory_loops import LoopRuns
from tilewright.simulator.fast.walk.memory_work import Span

Ints = npt.NDArray[np.int64]
ADVANCE, WAIT, FABRIC, WORK, BEGIN, END, NEST, PAUSE, MAP, STALL = range(10)
"""Events of a script: (ADVANCE, cycles, 0), (WAIT, fabric operation, 0),
(FABRIC, fabric operation, operation row), (WORK, operation row, cycles),
(BEGIN or END, task, 0), (NEST, loop over memory, cycles), (PAUSE, cycles, 0) between tasks,
(MAP, operation row, cycles in a timeline), before the cycles that it takes, (STALL, cycles, 0) of
the work before it on registers. Rows are addresses in a program's store, 0 in scripts without
events of work on memory."""
ORIGIN, AFTER, COMPLETE = range(3)
"""What a term counts from: cycle 0, the main thread after an operation, an operation's end."""

Event = tuple[int, int, int]
Term = tuple[int, int, int]
"""(ORIGIN, AFTER or COMPLETE; fabric operation; cycles after it)."""


@dataclass(frozen=True, slots=True)
class FabricOp:
    """Describe one run of an operation on queues in an element, without times.

    - `extent`: number of values, one word each; `gap`: cycles per value.
    - `asynchronous`: whether it runs on a microthread; `thread`: its number, 0 for the main thread.
    - `queues`: (queue slot, number of its first word in the slot's stream).
    - `terms`: (kind, earlier operation, cycles). Each is a cycle: 0 for ORIGIN, that in which the
      main thread goes on behind the earlier operation for AFTER, that of its end for COMPLETE, plus
      `cycles`. The operation is dispatched at the maximum of its terms.
    - `together`: earlier operations that may still run at its dispatch.
    - `exclusive`: earlier operations on the same queue or thread, which must have ended.
    """

    extent: int
    gap: int
    asynchronous: bool
    thread: int
    queues: tuple[Span, ...]
    terms: tuple[Term, ...]
    together: tuple[int, ...]
    exclusive: tuple[int, ...]


class MainSpan(NamedTuple):
    """Hold a stretch of cycles in which the main thread has the issue slot beside microthreads.

    `terms`: as of `FabricOp`, it begins at their maximum; `cycles`: its length; `beside`: earlier
    operations on microthreads that may still run.
    """

    terms: tuple[Term, ...]
    cycles: int
    beside: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MainThreadWalk:
    """Hold what every element of a code does, step by step, as far as no time is needed.

    - `ops`: runs of operations on queues, in order.
    - `events`: (kind, value, cycles) of all steps: busy cycles, waits, operations, tasks.
    - `runs`: number of values that each operation of the code does, in all its runs.
    - `tasks`: numbers of the tasks in the order in which they run.
    - `words`: words that pass each of the 16 queue slots.
    - `nests`: loops of operations on memory alone.
    - `spans`: instructions and work on memory beside operations on microthreads.
    - `dispatches`: number of runs of each operation; `worked`: cycles of these runs if they are on
      memory alone, 0 for those on registers; `stalled`: cycles that runs on registers lost to bank
      conflicts.
    """

    ops: tuple[FabricOp, ...]
    events: tuple[Event, ...]
    runs: tuple[int, ...]
    tasks: tuple[int, ...]
    words: tuple[int, ...]
    nests: tuple[LoopRuns, ...] = ()
    spans: tuple[MainSpan, ...] = ()
    dispatches: tuple[int, ...] = ()
    worked: tuple[int, ...] = ()
    stalled: tuple[int, ...] = ()

    @property
    def ending(self) -> tuple[Event, ...]:
        """The last operation on queues and the events after it, which decide the element's end."""
        last = max((i for i, event in enumerate(self.events) if event[0] == FABRIC), default=0)
        return self.events[last:]


# A row of `op`; a slot is -1 if the operation has no such queue.
Q_SIZE, Q_GAP, Q_ASYNC, Q_IN, Q_IN_AT, Q_IN2, Q_IN2_AT, Q_OUT, Q_OUT_AT, Q_WIDTH = range(10)
# A row of `slot`: a queue slot in use, its words, its first passing operation and their number.
SLOT_NUMBER, SLOT_WORDS, SLOT_FIRST, SLOT_COUNT, SLOT_WIDTH = range(5)


class OpTables(NamedTuple):
    """Hold the runs of operations on queues of one code as tables; operations count from 0.

    - `op`: (operations, Q_WIDTH) size in words, gap in cycles, queue slots and first words.
    - `start`: (operations, 4) first term and number of terms, first follower and number of
      followers.
    - `term`: (terms, 3) kind, earlier operation, cycles; an operation starts at the maximum of its
      terms.
    - `follower`: operations whose start depends on an operation, in order.
    - `slot`: (queue slots in use, SLOT_WIDTH); `passing`: (passes, 2) operation and first word of
      every pass through a queue, slot by slot.
    - `exclusive`: (pairs, 2) operation, earlier one that must have ended; `together`: (pairs, 2)
      operation, earlier one that may still run.
    - `span`: (pairs, 4) first term, number of terms, cycles of the main thread, and an operation
      that may run beside it; `span_term`: like `term`.
    """

    op: Ints
    start: Ints
    term: Ints
    follower: Ints
    slot: Ints
    passing: Ints
    exclusive: Ints
    together: Ints
    span: Ints
    span_term: Ints


TableRows = tuple[Sequence[Sequence[int]], ...]
"""The rows of each of the tables."""
WIDTHS = (Q_WIDTH, 4, 3, 1, SLOT_WIDTH, 2, 2, 2, 4, 3)


@dataclass(frozen=True)
class Script:
    """Hold what the solver reads of a code: one element's runs of operations on queues.

    `tables`: these runs; `ending`: the last one and the events after it; `tasks`: numbers in the
    order in which they run; `overlaps`: whether an operation runs on a microthread; `find_walk`:
    finds all steps of the main thread, which are needed for timelines and counts only.
    """

    tables: OpTables
    ending: tuple[Event, ...]
    tasks: tuple[int, ...]
    overlaps: bool
    find_walk: Callable[[], MainThreadWalk]

    @property
    def size(self) -> int:
        """The number of runs of operations on queues in one element."""
        return len(self.tables.op)

    @cached_property
    def walk(self) -> MainThreadWalk:
        """All steps of the main thread of a code, found at the first use."""
        return self.find_walk()


def script_from(walk: MainThreadWalk) -> Script:
    """Turn all steps of a code's main thread into the script that the solver of times reads.

    A script has the runs of operations on queues of one element, with what each waits for.
    """
    tables = tables_of(op_rows(walk))
    return Script(tables, walk.ending, walk.tasks, overlapping(walk.ops), lambda: walk)


def overlapping(ops: Sequence[FabricOp]) -> bool:
    """Return whether any of the operations runs on a microthread, beside the main thread."""
    return any(op.asynchronous for op in ops)


def op_rows(walk: MainThreadWalk) -> TableRows:
    """Return the rows of each table of `OpTables` for a code's runs of operations on queues."""
    ops = walk.ops
    followers = _followers(walk)
    slot, passing = _slots(ops, walk.words)
    return (
        [_row(op) for op in ops],
        _starts([len(op.terms) for op in ops], [len(after) for after in followers]),
        [term for op in ops for term in op.terms],
        [(k,) for after in followers for k in after],
        slot,
        passing,
        _pairs([op.exclusive for op in ops]),
        _pairs([op.together for op in ops]),
        _spans(walk.spans),
        [term for span in walk.spans for term in span.terms],
    )


def _spans(spans: Sequence[MainSpan]) -> list[tuple[int, ...]]:
    """Return rows of the table `span`: one for each span and operation beside it.

    A row is (first term, number of terms, cycles of the main thread, operation).
    """
    rows: list[tuple[int, ...]] = []
    first = 0
    for span in spans:
        rows += [(first, len(span.terms), span.cycles, op) for op in span.beside]
        first += len(span.terms)
    return rows


def _followers(walk: MainThreadWalk) -> list[list[int]]:
    """Return for each operation the later ones that have to be timed again when its times change.

    Those are the operations with a term that names it, and the ones beside such a span.
    """
    followers: list[list[int]] = [[] for _ in walk.ops]
    dependent: list[tuple[tuple[int, ...], tuple[Term, ...]]] = []
    dependent += [((k,), op.terms) for k, op in enumerate(walk.ops)]
    dependent += [(span.beside, span.terms) for span in walk.spans]
    for numbers, terms in dependent:
        for before in sorted({before for kind, before, _ in terms if kind >= AFTER}):
            new = [k for k in numbers if k != before and k not in followers[before]]
            followers[before].extend(new)
    return followers


def _pairs(earlier: Sequence[tuple[int, ...]]) -> list[tuple[int, int]]:
    """Return (operation, earlier operation) for all earlier operations of each."""
    return [(k, j) for k, before in enumerate(earlier) for j in before]


def tables_of(rows: TableRows) -> OpTables:
    """Turn rows, one list per table of `OpTables`, into int64 arrays.

    They describe the runs of operations on queues of one code.
    """
    arrays = (np.array(table, dtype=np.int64).ravel() for table in rows)
    return shaped(arrays)


def shaped(arrays: Iterable[Ints]) -> OpTables:
    """Turn flat int64 arrays, one per table of `OpTables`, into tables of the right widths."""
    pairs = zip(arrays, WIDTHS, strict=True)
    return OpTables(*(a if width == 1 else a.reshape(-1, width) for a, width in pairs))


def _row(op: FabricOp) -> tuple[int, ...]:
    out = next(((s, i) for s, i in op.queues if s >= at.OUTPUT_SLOT), (-1, -1))
    inputs = [queue for queue in op.queues if queue[0] < at.OUTPUT_SLOT]
    inputs += [(-1, -1)] * (2 - len(inputs))
    return (op.extent, op.gap, int(op.asynchronous), *inputs[0], *inputs[1], *out)


def _starts(terms: list[int], followers: list[int]) -> list[tuple[int, int, int, int]]:
    """Return for each operation (first term, terms, first follower, followers).

    terms, followers: how many each operation has; the firsts are places in the tables of all of
    them.
    """
    ends = accumulate(terms), accumulate(followers)
    counts = zip(terms, followers, *ends, strict=True)
    return [(term_end - n, n, end - m, m) for n, m, term_end, end in counts]


def _slots(
    ops: Sequence[FabricOp], words: Sequence[int]
) -> tuple[list[tuple[int, int, int, int]], list[tuple[int, int]]]:
    """Return the rows of the tables `slot` and `passing`.

    A row of `slot`: (slot, words, first row of `passing`, rows); of `passing`: (operation, its
    first word). words: how many pass each slot.
    """
    passes: dict[int, list[tuple[int, int]]] = {}
    for k, op in enumerate(ops):
        for slot, index in op.queues:
            passes.setdefault(slot, []).append((k, index))
    slots: list[tuple[int, int, int, int]] = []
    passing: list[tuple[int, int]] = []
    for slot, through_slot in sorted(passes.items()):
        slots.append((slot, words[slot], len(passing), len(through_slot)))
        passing += through_slot
    return slots, passing
