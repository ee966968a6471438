"""Loops of a code that hold only loops and work on memory: where they end, what they set."""

from __future__ import annotations

from typing import NamedTuple

from tilewright.simulator.compile import columns as at
from tilewright.simulator.fast.walk.memory_work import (
    MapWork,
    has_operations,
    map_work,
    scalar_work,
)
from tilewright.simulator.fast.walk.plain_code import CodeWords


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
