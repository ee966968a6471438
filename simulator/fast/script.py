"""What the elements of a code do, in order, without times: the outcome of `walker.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from tilewright.simulator.fast.memory_loops import Nest
from tilewright.simulator.fast.op_tables import OpTables, op_rows, tables_of

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
Span = tuple[int, int]


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
