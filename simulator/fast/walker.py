"""The main thread of a code as a script: what an element does, in order, without times.

The main thread is walked once per code. Control depends on counters only, so loops and branches
are resolved; what a task waits for is resolved as long as never two tasks could be next. Work on
memory alone has a fixed duration, so a whole nest of such loops is one number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.code.table_blocks import CodeLayout
from tilewright.simulator.fast.memory_work import (
    Nest,
    Reach,
    Span,
    busy_cycles,
    meet,
    nest_of,
    reaches_of,
)
from tilewright.simulator.fast.no_certificate import NotCovered, TooManySteps
from tilewright.simulator.fast.plain_code import Code
from tilewright.simulator.fast.script import (
    ADVANCE,
    AFTER,
    BEGIN,
    COMPLETE,
    END,
    FABRIC,
    NEST,
    ORIGIN,
    WAIT,
    WORK,
    Event,
    FabricOp,
    Term,
    Walk,
)

MOST_INSTRUCTIONS: Final = 200_000
"""Instructions of a code beyond which it is not walked."""
THREAD_KEY: Final = 16
"""Behind the queue slots: microthreads."""


@dataclass(slots=True)
class _State:
    active: int = 0
    blocked: int = 0
    variables: dict[int, int] = field(default_factory=dict)
    pending: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Fabric operations whose end has not been waited for: (action, task)."""
    touched: dict[int, tuple[list[Span], list[Span]]] = field(default_factory=dict)
    """Words that these read and write."""
    terms: list[Term] = field(default_factory=lambda: [(ORIGIN, 0, 0)])


class ScriptWalker:
    """Walks the main thread of one compiled code."""

    def __init__(self, store: Code, layout: CodeLayout, most: int, *, every: bool = False) -> None:
        """With `every`, each operation on memory is an event of its own; `most` instructions."""
        self.store = store
        self.layout = layout
        self.every = every
        self.state = _State()
        self.ops: list[FabricOp] = []
        self.events: list[Event] = []
        self.tasks: list[int] = []
        self.runs = [0] * len(layout.operations)
        self.words = [0] * 16
        self.held: dict[int, int] = {}
        self.steps = most
        self.nests: list[Nest] = []
        self.reaches: dict[int, list[Reach]] = {}
        self.ends: dict[int, int | None] = {}
        """Ends of loops over memory, by their beginning."""

    def walk(self) -> Walk:
        """Return the walk. Raises NotCovered."""
        for number, task in enumerate(self.layout.code.tasks):
            self.state.active |= int(task.entry) << number
            self.state.blocked |= int(task.blocked) << number
        while (task_number := self._next_task()) is not None:
            self._task(task_number)
        return Walk(
            tuple(self.ops),
            tuple(self.events),
            tuple(self.runs),
            tuple(self.tasks),
            tuple(self.words),
            tuple(self.nests),
        )

    def _cycles(self, cycles: int) -> None:
        """Let the main thread be busy."""
        self.state.terms = [(kind, op, delta + cycles) for kind, op, delta in self.state.terms]
        if self.every or not self.events or self.events[-1][0] != ADVANCE:
            self.events.append((ADVANCE, cycles, 0))
        else:
            self.events[-1] = (ADVANCE, self.events[-1][1] + cycles, 0)

    # -- tasks -----------------------------------------------------------------------------

    def _next_task(self) -> int | None:
        """Return the only task that can be next, after waiting for what makes it runnable."""
        state = self.state
        activating = [task for action, task in state.pending.values() if action == at.ACTIVATE]
        unblocking = [task for action, task in state.pending.values() if action == at.UNBLOCK]
        able = [
            number
            for number in range(len(self.layout.code.tasks))
            if (state.active >> number & 1 or number in activating)
            and (not state.blocked >> number & 1 or number in unblocking)
        ]
        if not able:
            if state.active or activating:
                raise NotCovered("a task stays active and blocked")
            return None
        if len(able) > 1 and (activating or unblocking):
            raise NotCovered("the order of the tasks depends on time")
        task = able[0]
        if activating.count(task) + (state.active >> task & 1) > 1:
            raise NotCovered("a task is activated twice")
        if state.blocked >> task & 1 and unblocking.count(task) > 1:
            raise NotCovered("a task is unblocked twice")
        self._wait_for(task)
        state.active &= ~(1 << task)
        return task

    def _wait_for(self, task: int) -> None:
        state = self.state
        needed = set()
        if not state.active >> task & 1:
            needed.add((at.ACTIVATE, task))
        if state.blocked >> task & 1:
            needed.add((at.UNBLOCK, task))
        for op in [op for op, action in state.pending.items() if action in needed]:
            self.events.append((WAIT, op, 0))
            state.terms.append((COMPLETE, op, 0))
            del state.pending[op]
            del state.touched[op]
        state.blocked &= ~(1 << task)

    def _task(self, task: int) -> None:
        self.tasks.append(task)
        self._cycles(
            self.store.header[at.K_SWITCH]
        )  # before the task's start (engine/shared_state.py)
        if self.every:
            self.events.append((BEGIN, task, 0))
        first = self.store.task + self.layout.first["task"] + task
        pc = self.store[first]
        while self.store[pc] != at.I_END:
            self.steps -= 1
            if self.steps < 0:
                raise TooManySteps
            pc = self._instruction(pc)
        if self.every:
            self.events.append((END, task, 0))

    # -- instructions ----------------------------------------------------------------------

    def _instruction(self, pc: int) -> int:
        """Walk one instruction, or a whole loop over memory; return the next one's address."""
        store = self.store
        code, first, second, target = store.row(pc, at.I_WIDTH)
        after = pc + at.I_WIDTH
        if code == at.I_OPERATION:
            self._operation(first)
            return after
        if code == at.I_LOOP:
            end = self._end_of(pc)
            if end is not None:
                return self._whole_loop(pc, end)
        if code in (at.I_LOOP, at.I_SET, at.I_ADD):
            old = self.state.variables.get(first, 0)
            self.state.variables[first] = old + second if code == at.I_ADD else second
            self._cycles(self.store.header[at.K_COUNTER])
            return after
        if code in (at.I_END_LOOP, at.I_UNLESS_BELOW, at.I_JUMP):
            return self._branch(pc, (code, first, second, target))
        if code not in (at.I_ACTIVATE, at.I_BLOCK, at.I_UNBLOCK):
            raise NotCovered("an instruction of another kind")
        self._control(code, first)
        return after

    def _branch(self, pc: int, words: tuple[int, int, int, int]) -> int:
        code, slot, limit, target = words
        if code == at.I_JUMP:
            self._cycles(self.store.header[at.K_TAKEN])
            return target
        variables = self.state.variables
        if code == at.I_END_LOOP:
            variables[slot] = variables.get(slot, 0) + 1
        below = variables.get(slot, 0) < limit
        if below == (code == at.I_END_LOOP):
            self._cycles(self.store.header[at.K_LOOP if below else at.K_TAKEN])
            return target
        self._cycles(self.store.header[at.K_NOT_TAKEN])
        return pc + at.I_WIDTH

    def _control(self, code: int, task: int) -> None:
        state = self.state
        actions = list(state.pending.values())
        if code == at.I_ACTIVATE:
            if (at.ACTIVATE, task) in actions:
                raise NotCovered("a task is activated twice")
            state.active |= 1 << task
        elif code == at.I_BLOCK:
            if (at.UNBLOCK, task) in actions:
                raise NotCovered("a task is blocked while an operation is to unblock it")
            state.blocked |= 1 << task
        else:
            state.blocked &= ~(1 << task)
        self._cycles(self.store.header[at.K_CONTROL])

    # -- loops over memory -----------------------------------------------------------------

    def _end_of(self, pc: int) -> int | None:
        if pc not in self.ends:
            self.ends[pc] = self._memory_loop(pc)
        return self.ends[pc]

    def _memory_loop(self, pc: int) -> int | None:
        """Return the address of a loop's end if there are only loops and memory work inside."""
        open_loops = [(pc + at.I_WIDTH, self.store[pc + 1])]
        while open_loops:
            pc += at.I_WIDTH
            code, first, second, target = self.store.row(pc, at.I_WIDTH)
            if code == at.I_OPERATION:
                if self.store[first + at.O_FABRIC] or self.store[first + at.O_SPECIAL]:
                    return None
            elif code == at.I_LOOP:
                if first in [slot for _, slot in open_loops] or second != 0:
                    return None
                open_loops.append((pc + at.I_WIDTH, first))
            elif code == at.I_END_LOOP:
                if (target, first) != open_loops.pop():
                    return None
            else:
                return None
        return pc

    def _whole_loop(self, pc: int, end: int) -> int:
        """Count a loop over memory at once; its variables stand at their counts afterwards."""
        ranges: dict[int, Span] = {}
        cycles, _ = self._loop_cycles(pc, 1, ranges)
        if self.every:
            self.state.terms = [(kind, op, delta + cycles) for kind, op, delta in self.state.terms]
            self.events.append((NEST, len(self.nests), cycles))
            self.nests.append(nest_of(self.store, pc))
        else:
            self._cycles(cycles)
        for slot, (_, last) in ranges.items():
            self.state.variables[slot] = last + 1
        return end + at.I_WIDTH

    def _loop_cycles(self, pc: int, times: int, ranges: dict[int, Span]) -> tuple[int, int]:
        """Return a loop's cycles and the address after it; `times` it runs as a whole."""
        store = self.store
        slot = store[pc + 1]
        end = self._end_of(pc)
        assert end is not None
        count = max(1, store[end + 2])
        ranges[slot] = (0, count - 1)
        body, at_pc = 0, pc + at.I_WIDTH
        while at_pc != end:
            if store[at_pc] == at.I_LOOP:
                inner, at_pc = self._loop_cycles(at_pc, times * count, ranges)
                body += inner
                continue
            op = store[at_pc + 1]
            body += store[op + at.O_LOAD] + busy_cycles(store, op)
            self.runs[store[op + at.O_NUMBER]] += times * count * store[op + at.O_EXTENT]
            self._check_races(self._words_of(op, ranges))
            at_pc += at.I_WIDTH
        turns = (count - 1) * self.store.header[at.K_LOOP] + self.store.header[at.K_NOT_TAKEN]
        return self.store.header[at.K_COUNTER] + count * body + turns, end + at.I_WIDTH

    # -- operations ------------------------------------------------------------------------

    def _operation(self, op: int) -> None:
        store = self.store
        self._cycles(store[op + at.O_LOAD])
        words = self._words_of(op, {})
        self._check_races(words)
        self.runs[store[op + at.O_NUMBER]] += store[op + at.O_EXTENT]
        if store[op + at.O_SPECIAL]:
            raise NotCovered("an operation of the general part of the engine")
        if store[op + at.O_BANKS]:
            raise NotCovered("bank conflicts that depend on counters")
        if store[op + at.O_FABRIC]:
            self._fabric(op, words)
        elif self.every:
            self.events.append((WORK, op, busy_cycles(store, op)))
        else:
            self._cycles(busy_cycles(store, op))

    def _fabric(self, op: int, words: tuple[list[Span], list[Span]]) -> None:
        row = self.store.row(op, at.O_WIDTH)
        asynchronous = bool(row[at.O_ASYNC])
        if row[at.O_DENOMINATOR] != 1 or row[at.O_CYCLES] < 1 or row[at.O_LOAD] < 1:
            raise NotCovered("a pace that is not a whole number of cycles")
        if asynchronous and row[at.O_CYCLES] != 1:
            raise NotCovered("a microthread slower than one word per cycle")
        operands = [row[at.O_OPERANDS + which] for which in range(3)]
        fabric = [r for r in operands if r >= 0 and self.store[r + at.D_KIND] != at.MEMORY]
        if len(fabric) != row[at.O_QUEUES].bit_count():
            raise NotCovered("an operation takes from one queue twice")
        number, state = len(self.ops), self.state
        queues = []
        for slot in range(16):
            if row[at.O_QUEUES] >> slot & 1:
                queues.append((slot, self.words[slot]))
                self.words[slot] += row[at.O_EXTENT]
        self.ops.append(
            FabricOp(
                row[at.O_EXTENT],
                row[at.O_CYCLES],
                asynchronous,
                row[at.O_THREAD],
                tuple(queues),
                tuple(state.terms),
                tuple(state.touched),
                self._exclusive(row),
            )
        )
        self.events.append((FABRIC, number, op if self.every else 0))
        state.terms = [(AFTER, number, 0)]
        if asynchronous:
            state.pending[number] = (row[at.O_ACTION], row[at.O_ACTION_TASK])
            state.touched[number] = words

    def _exclusive(self, row: Sequence[int]) -> tuple[int, ...]:
        """Return the last microthread operation on each of the same queues and on the thread."""
        keys = [slot for slot in range(16) if row[at.O_QUEUES] >> slot & 1]
        if row[at.O_ASYNC]:
            keys.append(THREAD_KEY + row[at.O_THREAD])
        last = {self.held[key] for key in keys if key in self.held}
        if row[at.O_ASYNC]:
            self.held.update((key, len(self.ops)) for key in keys)
        return tuple(sorted(last))

    # -- memory ----------------------------------------------------------------------------

    def _words_of(self, op: int, ranges: dict[int, Span]) -> tuple[list[Span], list[Span]]:
        """Return the words that an operation reads and writes, as (first, last) at most."""
        if not self.state.touched and not self.store[op + at.O_ASYNC]:
            return [], []
        if op not in self.reaches:
            self.reaches[op] = reaches_of(self.store, op)
        mine, variables = self.reaches[op], self.state.variables
        spans = [(reach.written, reach.span(variables, ranges)) for reach in mine]
        return [span for _, span in spans], [span for written, span in spans if written]

    def _check_races(self, words: tuple[list[Span], list[Span]]) -> None:
        """Refuse work on words that an operation on a microthread may touch at the same time."""
        reads, writes = words
        for other_reads, other_writes in self.state.touched.values():
            if meet(writes, other_reads) or meet(reads, other_writes):
                raise NotCovered("a microthread shares memory with what runs beside it")
