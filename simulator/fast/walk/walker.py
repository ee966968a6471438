"""Walk the main thread of a code: the order of its operations, without times.

Control depends on counters only, so loops and branches are decided. What a task waits for is
decided if at no point two tasks could be next. Work on memory alone has a fixed duration, so a
whole nest of such loops is one number of cycles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.table_blocks import CodeLayout
from tilewright.simulator.fast.no_certificate import NotCovered, TooManySteps
from tilewright.simulator.fast.walk.memory_in_use import MemoryInUse
from tilewright.simulator.fast.walk.memory_loops import MemoryLoops
from tilewright.simulator.fast.walk.memory_work import (
    LoopRuns,
    MapWork,
    OperationMap,
    Span,
    TouchedWords,
    busy_cycles,
    check_fabric,
    has_operations,
    loop_runs,
    operation_map,
    scalar_work,
)
from tilewright.simulator.fast.walk.plain_code import CodeWords
from tilewright.simulator.fast.walk.register_work import RegisterWork, held_vector
from tilewright.simulator.fast.walk.script import (
    ADVANCE,
    AFTER,
    BEGIN,
    COMPLETE,
    END,
    FABRIC,
    MAP,
    NEST,
    PAUSE,
    STALL,
    WAIT,
    WORK,
    Event,
    FabricOp,
    MainSpan,
    MainThreadWalk,
)
from tilewright.simulator.fast.walk.walk_state import CodeInstruction, WalkState
from tilewright.simulator.fast.walk.walked_maps import (
    Counts,
    MapState,
    Turns,
    WalkedMap,
    WalkedMaps,
)

MOST_INSTRUCTIONS: Final = 200_000
"""Instructions of a code beyond which it is not walked."""
THREAD_KEY: Final = 16
"""Number of microthread 0 among the users of `last_users`, behind the 16 queue slots."""


class ScriptWalker:
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
        self.store = store
        self.layout = layout
        self.every = every
        self.state = WalkState()
        self.ops: list[FabricOp] = []
        self.events: list[Event] = []
        self.tasks: list[int] = []
        self.runs = [0] * len(layout.operations)
        self.dispatches = [0] * len(layout.operations)
        self.worked = [0] * len(layout.operations)
        self.stalled = [0] * len(layout.operations)
        self.words = [0] * 16
        self.last_users: dict[int, int] = {}
        """Last operation on each queue slot and microthread."""
        self.steps = most
        self.nests: list[LoopRuns] = []
        self.spans: list[MainSpan] = []
        self.span_open = False
        """Whether further cycles belong to the last span."""
        self.passed = 0
        """Cycles for which the main thread was busy so far."""
        self.walked: WalkedMaps | None = None if every else WalkedMaps()
        self.loops = MemoryLoops(store)
        self.registers = RegisterWork(store)
        self.memory = MemoryInUse(store, self.state)

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

    def _cycles(self, cycles: int) -> None:
        """Add cycles for which the main thread is busy."""
        self.passed += cycles
        self._hold_slot(cycles)
        self.state.terms = [(kind, op, delta + cycles) for kind, op, delta in self.state.terms]
        if self.every or not self.events or self.events[-1][0] != ADVANCE:
            self.events.append((ADVANCE, cycles, 0))
        else:
            self.events[-1] = (ADVANCE, self.events[-1][1] + cycles, 0)

    def _pause(self, cycles: int) -> None:
        """Add cycles between two tasks, in which microthreads have the issue slot."""
        self.state.terms = [(kind, op, delta + cycles) for kind, op, delta in self.state.terms]
        self.events.append((PAUSE, cycles, 0))
        self.span_open = False

    # -- tasks -----------------------------------------------------------------------------

    def _next_task(self) -> int | None:
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
        if self.tasks:
            self._pause(self.store.header[at.K_END])
        self._wait_for(task)
        self.state.active &= ~(1 << task)
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

    # -- loops over memory -----------------------------------------------------------------

    def _end_of(self, pc: int) -> int | None:
        """Return the end of a loop over memory, None for another loop."""
        return self.loops.end_of(pc)

    def _whole_loop(self, pc: int, end: int) -> int:
        """Count a loop over memory in one step; its counters then have their final values."""
        ranges: dict[int, Span] = {}
        self.state.variables.unknown.update(self.loops.counters_set[pc])
        cycles, _ = self._loop_cycles(pc, 1, ranges)
        if self.every:
            self.state.terms = [(kind, op, delta + cycles) for kind, op, delta in self.state.terms]
            self.events.append((NEST, len(self.nests), cycles))
            self.nests.append(loop_runs(self.store, pc))
        else:
            self._cycles(cycles)
        for slot, (_, last) in ranges.items():
            self.state.variables[slot] = last + 1
        return end + at.I_WIDTH

    def _loop_cycles(self, pc: int, times: int, ranges: dict[int, Span]) -> tuple[int, int]:
        """Return the cycles of a loop that runs `times` times, and the address behind it."""
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
            if store[at_pc] == at.I_MAP_START:
                work = self.loops.map_work(at_pc)
                self._count_map(work, times * count)
                self.memory.check_work(work.reaches, ranges)
                body, at_pc = body + work.cycles, work.after
                continue
            op = store[at_pc + 1]
            if store[at_pc] == at.I_COMPUTE:
                scalar = scalar_work(store, op)
                self.memory.check_work(scalar.reaches, ranges)
                body, at_pc = body + scalar.cycles, at_pc + at.I_WIDTH
                continue
            busy = busy_cycles(store, op)
            body += store[op + at.O_LOAD] + busy
            self._count(op, times * count, busy)
            self.memory.check(self.memory.words_of(op, ranges))
            at_pc += at.I_WIDTH
        turns = (count - 1) * self.store.header[at.K_LOOP] + self.store.header[at.K_NOT_TAKEN]
        return self.store.header[at.K_COUNTER] + count * body + turns, end + at.I_WIDTH

    # -- maps and scalar instructions ------------------------------------------------------

    def _map(self, pc: int) -> int:
        """Walk a whole map; return the address behind it."""
        if has_operations(self.store, pc):
            return self._map_of_operations(pc)
        work = self.loops.map_work(pc)
        self.memory.check_work(work.reaches, {})
        self._count_map(work, 1)
        if self.every:
            self.events.append((MAP, work.rows[0], work.recorded))
        self._cycles(work.cycles)
        self.state.variables.unknown.update(work.counters)
        return work.after

    def _map_of_operations(self, pc: int) -> int:
        """Walk a map whose body has operations; return the address behind it.

        Where its registers begin at the same banks as once before, it takes the same cycles.
        """
        work = operation_map(self.store, pc)
        self.memory.check_work(work.reaches, {})
        walked = self.walked
        key = None if walked is None else walked.key(self.store, work, self.state)
        if walked is None or key is None:
            self._turns_of_map(work)
            return work.after
        counts, registers = self._counts(), self.state.registers
        if key in walked.known:
            self._cycles(walked.known[key].repeat(1, counts, registers))
            self.state.variables.unknown.update(work.counters)
            self.steps -= work.turns
            return work.after
        passed, before = self.passed, MapState.of(counts, registers)
        self._turns_of_map(work, Turns())
        after = MapState.of(counts, registers)
        walked.keep(key, WalkedMap.between(self.passed - passed, before, after))
        return work.after

    def _counts(self) -> Counts:
        return self.runs, self.dispatches, self.worked, self.stalled

    def _turns_of_map(self, work: OperationMap, begun: Turns | None = None) -> None:
        """Walk a map turn by turn; its own event comes before those of its operations.

        begun: notes what turns do, so that those that repeat are counted at once; None: none are.
        """
        begins = len(self.events)
        self.state.variables.unknown.update(work.counters)
        self._cycles(work.start)
        turn = 0
        while turn < work.turns:
            repeated = begun and self._repeated_turns(work, turn, begun)
            if repeated:
                turn, begun = turn + repeated, None
                continue
            self._cycles(work.step)
            for op in work.body:
                self._operation(op)
            turn += 1
        self._cycles(work.end)
        self.steps -= work.turns
        self._count_map(work, 1)
        if self.every:
            passed = sum(
                value if kind == ADVANCE else cycles
                for kind, value, cycles in self.events[begins:]
                if kind in (ADVANCE, WORK)
            )
            recorded = passed - self.store.header[at.K_SCALAR] + 1
            self.events.insert(begins, (MAP, work.rows[0], recorded))

    def _repeated_turns(self, work: OperationMap, turn: int, begun: Turns) -> int:
        """Count all whole periods of the turns that are left; return their number of turns."""
        counts, registers = self._counts(), self.state.registers
        found = begun.period(turn, self.passed, MapState.of(counts, registers))
        if found is None:
            return 0
        period, walked = found
        times = (work.turns - turn) // period
        self._cycles(walked.repeat(times, counts, registers))
        return times * period

    def _scalar(self, row: int) -> None:
        """Walk a scalar instruction; row: address of the scalar operation."""
        work = scalar_work(self.store, row)
        self.memory.check_work(work.reaches, {})
        self._cycles(work.cycles)
        self.state.variables.unknown.update(work.counters)

    def _count_map(self, work: MapWork | OperationMap, times: int) -> None:
        """Count `times` turns of a map's body, and as many runs of each of its operations."""
        self.runs[self.store[work.rows[0] + at.O_NUMBER]] += times * work.turns
        for row in work.rows:
            self.dispatches[self.store[row + at.O_NUMBER]] += times

    # -- operations ------------------------------------------------------------------------

    def _operation(self, op: int) -> None:
        """Walk an operation; op: address. Raises NotCovered."""
        store = self.store
        self._cycles(store[op + at.O_LOAD])
        if store[op + at.O_SPECIAL]:
            self._on_registers(op)
            return
        words = self.memory.words_of(op, {})
        self.memory.check(words)
        if store[op + at.O_FABRIC]:
            self._count(op, 1, 0)
            self._fabric(op, words)
            return
        busy = busy_cycles(store, op, self.state.variables)
        self._count(op, 1, busy)
        if self.every:
            self.events.append((WORK, op, busy))
        else:
            self._cycles(busy)

    def _on_registers(self, op: int) -> None:
        """Walk an operation on registers; op: address. Raises NotCovered."""
        store = self.store
        registers = self.state.registers
        if self.state.touched:
            self.memory.check(self.registers.words(op, registers))
        run = self.registers.run(op, registers)
        self.dispatches[store[op + at.O_NUMBER]] += 1
        number = store[run.row + at.O_NUMBER]
        self.runs[number] += run.extent
        self.stalled[number] += run.busy - run.free
        if self.every:
            self.events.append((WORK, run.row, run.busy))
            self.events.append((STALL, run.busy - run.free, 0))
        else:
            self._cycles(run.busy)

    def _count(self, op: int, times: int, busy: int) -> None:
        """Count runs of an operation, each of which keeps the main thread busy on memory."""
        number = self.store[op + at.O_NUMBER]
        self.runs[number] += times * self.store[op + at.O_EXTENT]
        self.dispatches[number] += times
        self.worked[number] += times * busy

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

    def _hold_slot(self, cycles: int) -> None:
        """Note that the main thread is busy from now on, if a microthread may run beside it.

        What it does without waiting is one span.
        """
        terms, beside = tuple(self.state.terms), tuple(self.state.touched)
        if not beside:
            return
        if self.span_open:
            last = self.spans.pop()
            cycles += terms[0][2] - last.terms[0][2]
            terms = last.terms
        self.spans.append(MainSpan(terms, cycles, beside))
        self.span_open = True

    def _exclusive(self, row: Sequence[int]) -> tuple[int, ...]:
        """Return the last microthread operation on each of the same queues and on the thread."""
        keys = [slot for slot in range(16) if row[at.O_QUEUES] >> slot & 1]
        if row[at.O_ASYNC]:
            keys.append(THREAD_KEY + row[at.O_THREAD])
        last = {self.last_users[key] for key in keys if key in self.last_users}
        if row[at.O_ASYNC]:
            self.last_users.update((key, len(self.ops)) for key in keys)
        return tuple(sorted(last))
