"""Walk the main thread of a code: the order of its operations, without times.

Control depends on counters only, so loops and branches are decided. What a task waits for is
decided if at no point two tasks could be next. Work on memory alone: `memory_walk.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.table_blocks import CodeLayout
from tilewright.simulator.fast.no_certificate import NotCovered, TooManySteps
from tilewright.simulator.fast.walk.memory_walk import MemoryWalk
from tilewright.simulator.fast.walk.memory_work import Span, TouchedWords, check_fabric
from tilewright.simulator.fast.walk.plain_code import CodeWords
from tilewright.simulator.fast.walk.register_work import held_vector
from tilewright.simulator.fast.walk.script import (
    AFTER,
    BEGIN,
    COMPLETE,
    END,
    FABRIC,
    PAUSE,
    WAIT,
    FabricOp,
    MainThreadWalk,
)
from tilewright.simulator.fast.walk.walk_state import CodeInstruction

MOST_INSTRUCTIONS: Final = 200_000
"""Instructions of a code beyond which it is not walked."""
THREAD_KEY: Final = 16
"""Number of microthread 0 among the users of `last_users`, behind the 16 queue slots."""


class ScriptWalker(MemoryWalk):
    """Follow the main thread of one compiled code, to find the order of its operations.

    Control depends on counters only, so it is the same for all elements of the code and needs no
    data. Times are left open: they depend on when words arrive in the queues.
    """

    def __init__(
        self, store: CodeWords, layout: CodeLayout, most: int, *, every: bool = False
    ) -> None:
        """Prepare a walk of at most `most` instructions; a longer one raises TooManySteps.

        store: the compiled code; layout: what its rows stand for. With `every`, each operation on
        memory is an event of its own; without it, a loop of them is one event.
        """
        super().__init__(store, layout, most, every=every)
        self.ops: list[FabricOp] = []
        self.tasks: list[int] = []
        self.words = [0] * 16
        self.last_users: dict[int, int] = {}
        """Last operation on each queue slot and microthread."""

    def walk(self) -> MainThreadWalk:
        """Return all steps of the main thread, from the first task to the last, in order.

        Raises NotCovered if the order of the tasks depends on times; if a task stays blocked or is
        started twice; if there are too many instructions (TooManySteps); for special instructions
        and operations; for a rate that is no whole number of cycles, or that is slower than one
        word per cycle on a microthread; for an operation that takes from one queue twice; and if a
        microthread may touch memory that is in use beside it.
        """
        for number, task in enumerate(self.layout.code.tasks):
            self.state.active |= int(task.entry) << number
            self.state.blocked |= int(task.blocked) << number
        while (task_number := self._next_task()) is not None:
            self._task(task_number)
        return MainThreadWalk(
            tuple(self.ops),
            tuple(self.events),
            tuple(self.runs),
            tuple(self.tasks),
            tuple(self.words),
            tuple(self.nests),
            tuple(self.spans),
            tuple(self.dispatches),
            tuple(self.worked),
            tuple(self.stalled),
        )

    def _pause(self, cycles: int) -> None:
        """Add cycles between two tasks, in which microthreads have the issue slot."""
        self.state.terms = [(kind, op, delta + cycles) for kind, op, delta in self.state.terms]
        self.events.append((PAUSE, cycles, 0))
        self.span_open = False

    # -- tasks -----------------------------------------------------------------------------

    def _next_task(self) -> int | None:
        """Begin the next task and return it, None if there is none."""
        task = self._only_task()
        if task is None:
            return None
        if self.tasks:
            self._pause(self.store.header[at.K_END])
        self._wait_for(task)
        self.state.active &= ~(1 << task)
        return task

    def _only_task(self) -> int | None:
        """Return the only task that can be next, or None; NotCovered if that depends on times."""
        activating = self._tasks_with(at.ACTIVATE)
        unblocking = self._tasks_with(at.UNBLOCK)
        able = self._able_tasks(activating, unblocking)
        if not able:
            if self.state.active or activating:
                raise NotCovered("a task stays active and blocked")
            return None
        if len(able) > 1 and (activating or unblocking):
            raise NotCovered("the order of the tasks depends on time")
        task = able[0]
        if activating.count(task) + (self.state.active >> task & 1) > 1:
            raise NotCovered("a task is activated twice")
        if self.state.blocked >> task & 1 and unblocking.count(task) > 1:
            raise NotCovered("a task is unblocked twice")
        return task

    def _tasks_with(self, action: int) -> list[int]:
        """Return the tasks that operations in flight activate, or unblock, when they end."""
        return [task for kind, task in self.state.pending.values() if kind == action]

    def _able_tasks(self, activating: list[int], unblocking: list[int]) -> list[int]:
        """Return the tasks that are active and not blocked, now or after operations in flight."""
        state = self.state
        return [
            number
            for number in range(len(self.layout.code.tasks))
            if (state.active >> number & 1 or number in activating)
            and (not state.blocked >> number & 1 or number in unblocking)
        ]

    def _wait_for(self, task: int) -> None:
        """Wait for the operations whose ends activate or unblock a task."""
        state = self.state
        needed = set()
        if not state.active >> task & 1:
            needed.add((at.ACTIVATE, task))
        if state.blocked >> task & 1:
            needed.add((at.UNBLOCK, task))
        for op in [op for op, action in state.pending.items() if action in needed]:
            self.span_open = False
            self.events.append((WAIT, op, 0))
            state.terms.append((COMPLETE, op, 0))
            del state.pending[op]
            del state.touched[op]
        state.blocked &= ~(1 << task)

    def _task(self, task: int) -> None:
        """Walk the instructions of a task; raises TooManySteps."""
        self.tasks.append(task)
        self._cycles(self.store.header[at.K_SWITCH])  # before the task's start
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
        """Walk an instruction or a whole loop over memory; return the next address; NotCovered."""
        store = self.store
        instruction = CodeInstruction(*store.row(pc, at.I_WIDTH))
        code, first, second, _ = instruction
        after = pc + at.I_WIDTH
        if code == at.I_OPERATION:
            self._operation(first)
            return after
        if code == at.I_LOOP:
            end = self._end_of(pc)
            if end is not None:
                return self._whole_loop(pc, end)
        if code == at.I_MAP_START:
            return self._map(pc)
        if code == at.I_COMPUTE:
            self._scalar(first)
            return after
        if code == at.I_LOAD_REGISTER:
            number = store.load(first)[at.L_REGISTER]
            self.state.registers[number] = held_vector(store, first, self.state.variables)
            self._cycles(store.header[at.K_DESCRIPTOR])
            return after
        if code in (at.I_LOOP, at.I_SET, at.I_ADD):
            old = self.state.variables.get(first) if code == at.I_ADD else 0
            self.state.variables[first] = old + second
            self._cycles(self.store.header[at.K_COUNTER])
            return after
        if code in (at.I_END_LOOP, at.I_UNLESS_BELOW, at.I_JUMP):
            return self._branch(pc, instruction)
        if code not in (at.I_ACTIVATE, at.I_BLOCK, at.I_UNBLOCK):
            raise NotCovered("an instruction of another kind")
        self._control(code, first)
        return after

    def _branch(self, pc: int, instruction: CodeInstruction) -> int:
        """Walk a jump, the end of a loop or a test of a counter; return the next address."""
        code, slot, limit, target = instruction
        if code == at.I_JUMP:
            self._cycles(self.store.header[at.K_TAKEN])
            return target
        variables = self.state.variables
        if code == at.I_END_LOOP:
            variables[slot] = variables.get(slot) + 1
        below = variables.get(slot) < limit
        if below == (code == at.I_END_LOOP):
            self._cycles(self.store.header[at.K_LOOP if below else at.K_TAKEN])
            return target
        self._cycles(self.store.header[at.K_NOT_TAKEN])
        return pc + at.I_WIDTH

    def _control(self, code: int, task: int) -> None:
        """Activate, block or unblock a task; NotCovered if the effect depends on times."""
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

    # -- operations ------------------------------------------------------------------------

    def _pass_queues(self, row: Sequence[int]) -> tuple[Span, ...]:
        """Return the queue slots of an operation with its first word in each; count its words."""
        queues = []
        for slot in range(16):
            if row[at.O_QUEUES] >> slot & 1:
                queues.append((slot, self.words[slot]))
                self.words[slot] += row[at.O_EXTENT]
        return tuple(queues)

    def _fabric(self, op: int, words: TouchedWords) -> None:
        """Append an operation with queues; op: address."""
        row, state = self.store.row(op, at.O_WIDTH), self.state
        check_fabric(self.store, row)
        number, asynchronous = len(self.ops), bool(row[at.O_ASYNC])
        fabric_op = FabricOp(
            row[at.O_EXTENT],
            row[at.O_CYCLES],
            asynchronous,
            row[at.O_THREAD],
            self._pass_queues(row),
            tuple(state.terms),
            tuple(state.touched),
            self._exclusive(row),
        )
        self.ops.append(fabric_op)
        self.events.append((FABRIC, number, op if self.every else 0))
        state.terms = [(AFTER, number, 0)]
        self.span_open = False
        if asynchronous:
            state.pending[number] = (row[at.O_ACTION], row[at.O_ACTION_TASK])
            state.touched[number] = words

    def _exclusive(self, row: Sequence[int]) -> tuple[int, ...]:
        """Return the last microthread operation on each of the same queues and on the thread."""
        keys = [slot for slot in range(16) if row[at.O_QUEUES] >> slot & 1]
        if row[at.O_ASYNC]:
            keys.append(THREAD_KEY + row[at.O_THREAD])
        last = {self.last_users[key] for key in keys if key in self.last_users}
        if row[at.O_ASYNC]:
            self.last_users.update((key, len(self.ops)) for key in keys)
        return tuple(sorted(last))
