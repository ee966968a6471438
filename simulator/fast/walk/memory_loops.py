"""Loops of a code on memory alone, inner ones included: where they end, what they set, their runs.

A loop over memory is one number of cycles in a script, and one table of runs in a timeline.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as at
from tilewright.simulator.fast.walk.memory_work import (
    MapWork,
    busy_cycles,
    free_cycles,
    has_operations,
    map_work,
    scalar_work,
)
from tilewright.simulator.fast.walk.plain_code import CodeWords

Ints = npt.NDArray[np.int64]


class LoopRuns(NamedTuple):
    """Hold all runs of operations in a loop on memory, inner loops included; arrays: (runs,).

    `start`, `end`: cycles of each run, from the start of the loop. `stalled`: cycles that each run
    lost to bank conflicts. `row`: address of each run's operation. `cycles`: those of the whole
    loop. `after`: address of the instruction behind the loop.
    """

    start: Ints
    end: Ints
    stalled: Ints
    row: Ints
    cycles: int
    after: int


class _TurnPart(NamedTuple):
    """One instruction, map or inner loop of a turn.

    `runs`: (start, end, stalled, row) of each run in it, from its own start; `cycles`, `after`: as
    in `LoopRuns`.
    """

    runs: Ints
    cycles: int
    after: int


_NO_RUNS = np.zeros((0, 4), dtype=np.int64)


def loop_runs(code: CodeWords, pc: int) -> LoopRuns:
    """Return all runs of the operations in a loop, with the loop's cycles and its end.

    pc: address of the loop's first instruction. The loop must hold nothing but operations on
    memory, scalar instructions, maps and loops of these. Times count from the start of the loop,
    its own control instructions included.
    """
    parts, now, pc = [_NO_RUNS], 0, pc + at.I_WIDTH
    while code[pc] != at.I_END_LOOP:
        part = _part_at(code, pc)
        parts.append(part.runs + np.array([now, now, 0, 0]))
        now, pc = now + part.cycles, part.after
    count, header = max(1, code[pc + 2]), code.header
    start, end, stalled, row = np.concatenate(parts).T
    turn = now + header[at.K_LOOP]
    begins = header[at.K_COUNTER] + turn * np.arange(count, dtype=np.int64)[:, None]
    return LoopRuns(
        (begins + start).ravel(),
        (begins + end).ravel(),
        np.tile(stalled, count),
        np.tile(row, count),
        header[at.K_COUNTER] + (count - 1) * turn + now + header[at.K_NOT_TAKEN],
        pc + at.I_WIDTH,
    )


def _part_at(code: CodeWords, pc: int) -> _TurnPart:
    """Return what stands at an address inside a loop."""
    if code[pc] == at.I_LOOP:
        inner = loop_runs(code, pc)
        return _TurnPart(np.stack(inner[:4], axis=1), inner.cycles, inner.after)
    if code[pc] == at.I_MAP_START:
        work = map_work(code, pc)
        return _TurnPart(np.array([[0, work.recorded, 0, work.rows[0]]]), work.cycles, work.after)
    after, op = pc + at.I_WIDTH, code[pc + 1]
    if code[pc] == at.I_COMPUTE:
        return _TurnPart(_NO_RUNS, scalar_work(code, op).cycles, after)
    load, cycles = code[op + at.O_LOAD], busy_cycles(code, op)
    stalled = cycles - free_cycles(code.row(op, at.O_WIDTH))
    end = load + cycles + code.header[at.K_MEMORY_COMPLETION]
    return _TurnPart(np.array([[load, end, stalled, op]]), load + cycles, after)


class MemoryLoops:
    """The loops over memory of a compiled code, and its maps, each looked at once.

    `counters_set`: by the address of such a loop, the counters that its scalar instructions and
    maps set.
    """

    def __init__(self, store: CodeWords) -> None:
        self._store = store
        self._ends: dict[int, int | None] = {}
        self._maps: dict[int, MapWork] = {}
        self.counters_set: dict[int, set[int]] = {}

    def end_of(self, pc: int) -> int | None:
        """Return the end of the loop that begins at an address; None unless it is over memory."""
        if pc not in self._ends:
            self._ends[pc] = self._end_of(pc)
        return self._ends[pc]

    def map_work(self, pc: int) -> MapWork:
        """Return the work of the map whose first instruction is at an address."""
        if pc not in self._maps:
            self._maps[pc] = map_work(self._store, pc)
        return self._maps[pc]

    def _end_of(self, pc: int) -> int | None:
        store, first_pc = self._store, pc
        open_loops = [(pc + at.I_WIDTH, store[pc + 1])]
        counters, slots = set[int](), {store[pc + 1]}
        while open_loops:
            pc += at.I_WIDTH
            code, first, second, target = store.row(pc, at.I_WIDTH)
            work = self._work_at(pc)
            if work is not None:
                counters.update(work.counters)
                pc = work.after - at.I_WIDTH
            elif code == at.I_LOOP and second == 0 and first not in [s for _, s in open_loops]:
                open_loops.append((pc + at.I_WIDTH, first))
                slots.add(first)
            elif code != at.I_END_LOOP or (target, first) != open_loops.pop():
                return None
        self.counters_set[first_pc] = counters
        return None if counters & slots else pc

    def _work_at(self, pc: int) -> _FixedWork | None:
        """Return the work on memory at an address, None for anything else.

        It is an operation that takes always as many cycles, a scalar instruction, or a map without
        operations.
        """
        store, code = self._store, self._store[pc]
        if code == at.I_OPERATION and self._is_plain(store[pc + 1]):
            return _FixedWork(pc + at.I_WIDTH, [])
        if code == at.I_COMPUTE:
            return _FixedWork(pc + at.I_WIDTH, scalar_work(store, store[pc + 1]).counters)
        if code == at.I_MAP_START and not has_operations(store, pc):
            work = self.map_work(pc)
            return _FixedWork(work.after, work.counters)
        return None

    def _is_plain(self, op: int) -> bool:
        """Return whether an operation works on memory alone, always in as many cycles.

        op: address. Those that are special, or whose bank conflicts depend on counters, do not.
        """
        row = self._store.row(op, at.O_WIDTH)
        return not (row[at.O_FABRIC] or row[at.O_SPECIAL] or row[at.O_BANKS])


class _FixedWork(NamedTuple):
    """Work that takes always as many cycles: the address behind it, the counters that it sets."""

    after: int
    counters: list[int]
