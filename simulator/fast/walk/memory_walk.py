"""The work on memory in a walk of a main thread: loops, maps, scalar instructions, operations.

It has a fixed duration, so a whole nest of such loops is one number of cycles.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.table_blocks import CodeLayout
from tilewright.simulator.fast.walk.memory_in_use import MemoryInUse
from tilewright.simulator.fast.walk.memory_loops import LoopRuns, MemoryLoops, loop_runs
from tilewright.simulator.fast.walk.memory_work import (
    MapWork,
    OperationMap,
    Span,
    TouchedWords,
    busy_cycles,
    has_operations,
    operation_map,
    scalar_work,
)
from tilewright.simulator.fast.walk.plain_code import CodeWords
from tilewright.simulator.fast.walk.register_work import RegisterWork
from tilewright.simulator.fast.walk.script import ADVANCE, MAP, NEST, STALL, WORK, Event, MainSpan
from tilewright.simulator.fast.walk.walk_state import WalkState
from tilewright.simulator.fast.walk.walked_maps import (
    Counts,
    MapState,
    Turns,
    WalkedMap,
    WalkedMaps,
)


class MemoryWalk(ABC):
    """Count the cycles of a main thread's work on memory, and how often each operation runs.

    `events`: what happened so far; `runs`, `dispatches`, `worked`, `stalled`: four counts of each
    operation; `spans`: stretches of cycles in which the main thread has the issue slot.
    """

    def __init__(
        self, store: CodeWords, layout: CodeLayout, most: int, *, every: bool = False
    ) -> None:
        """Prepare a walk of at most `most` instructions; arguments as of `ScriptWalker`."""
        self.store = store
        self.layout = layout
        self.every = every
        self.state = WalkState()
        self.events: list[Event] = []
        self.runs = [0] * len(layout.operations)
        self.dispatches = [0] * len(layout.operations)
        self.worked = [0] * len(layout.operations)
        self.stalled = [0] * len(layout.operations)
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

    @abstractmethod
    def _fabric(self, op: int, words: TouchedWords) -> None:
        """Note an operation with queues; op: address, words: of memory that it touches."""

    def _cycles(self, cycles: int) -> None:
        """Add cycles for which the main thread is busy."""
        self.passed += cycles
        self._hold_slot(cycles)
        self.state.terms = [(kind, op, delta + cycles) for kind, op, delta in self.state.terms]
        if self.every or not self.events or self.events[-1][0] != ADVANCE:
            self.events.append((ADVANCE, cycles, 0))
        else:
            self.events[-1] = (ADVANCE, self.events[-1][1] + cycles, 0)

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
        repeated = begun.period(turn, self.passed, MapState.of(counts, registers))
        if repeated is None:
            return 0
        period, walked = repeated
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
