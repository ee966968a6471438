"""What decides how a simulated machine goes on: the words of its store, relative to the cycle.

Two states with the same key go on alike, but for tests of counters (theory/engines.md §12).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.compiled_program import CompiledProgram
from tilewright.simulator.compile.fabric.network import EDGE_IN, EDGE_OUT
from tilewright.simulator.compile.store_layout import StoreTable
from tilewright.simulator.run.repetition.bank_places import BankPlaces, bank_places
from tilewright.simulator.run.repetition.repeatable import computed_counters

Ids = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
_NONE: Ids = np.zeros(0, dtype=np.int64)

FIFO_STATE = (at.F_COUNT, at.F_WAITER)
THREAD_PLACES = (
    *range(at.T_POSITIONS, at.T_POSITIONS + 3),
    *range(at.T_ORIGIN, at.T_ORIGIN + 3),
)
"""Columns of threads that are words in memory."""
NO_ELEMENT_STATE = (
    *(at.A_WHEN, at.A_NEXT, at.A_PREVIOUS, at.E_UNTIL, at.E_SINCE, at.E_CYCLE_STATE),
    *range(at.E_CYCLES, at.E_CYCLES + 4),
    *(at.E_TASK_START, at.E_INTERLOCK),
)
"""Columns of elements that are times, or that only statistics and the timeline use."""
NO_THREAD_STATE = (
    *(at.T_NEXT, at.T_SCALAR, at.T_CYCLE_STATE, at.T_SAVED, at.T_CARRY, at.T_START),
    *THREAD_PLACES,
    *range(at.T_HALF_VALUE, at.T_HALF_VALUE + 3),
    *(at.T_LEFT, at.T_STALLED),
)
"""Columns of threads that are times, places, counts or values, or that only statistics use."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A state of the machine at the beginning of a cycle: a key, and what the key does not hold.

    Two states with one `key` do the same next, until a counter or a stream ends. `counters`: their
    values, 0 for those that hold data; `sets`: how often each was set; `runs`: statistics of
    operations; `places`: addresses in memory; `left`: values that each thread has before it;
    `stocks`: words in each edge port; `filters`: counts of filters; `pops`: words that left each
    FIFO; `passed`: words that left the buffers of each router that chooses; `popped`: cycles in
    which FIFOs that share links were served last; `end`: cycle at which everything so far has
    ended.
    """

    cycle: int
    key: bytes
    counters: Ids
    sets: Ids
    runs: Ids
    places: Ids
    left: Ids
    stocks: Ids
    filters: Ids
    pops: Ids
    passed: Ids
    popped: Ids
    end: int


class MachineState:
    """Where the state of a compiled program is in its store, and how to take a snapshot of it.

    `store`: with queues that are merged or not; only what never changes is read from it here.
    """

    def __init__(self, compiled: CompiledProgram, store: at.Table) -> None:
        parts, kind = compiled.parts, compiled.network.kind
        self.parts = parts
        fifo = parts.fifo.address(np.arange(parts.fifo.rows, dtype=np.int64))
        self.sources, self.sinks = fifo[kind == EDGE_IN], fifo[kind == EDGE_OUT]
        self.starts, self.intervals = _streams(compiled)
        self.ports = np.concatenate([self.sources, self.sinks])
        self.queues = fifo[(kind != EDGE_IN) & (kind != EDGE_OUT)]
        self.shared = fifo[store[fifo + at.F_SHARED] & at.SHARES != 0]
        element = parts.element.address(np.arange(parts.element.rows, dtype=np.int64))
        thread = parts.thread.address(np.arange(parts.thread.rows, dtype=np.int64))
        register = parts.register.address(np.arange(parts.register.rows, dtype=np.int64))
        router = parts.state.address(np.arange(parts.state.rows, dtype=np.int64))
        self._fifo = fifo
        self.agents = np.concatenate([fifo, element])
        self.times = _cells(
            (self.agents, (at.A_WHEN,)),
            (element, (at.E_UNTIL,)),
            (thread, (at.T_NEXT,)),
            (router, (at.X_SINCE,)),
        )
        self.places = _cells(
            (thread, THREAD_PLACES),
            (register, (at.R_POSITION,)),
        )
        self.same = _cells(
            (self.queues, FIFO_STATE),
            (element, _without(at.E_WIDTH, NO_ELEMENT_STATE)),
            (thread, _without(at.T_WIDTH, NO_THREAD_STATE)),
            (register, _without(at.R_WIDTH, (at.R_POSITION,))),
            (router, _without(at.X_WIDTH, (at.X_SINCE, at.X_COUNT))),
        )
        self.threads, self.routers = thread, router
        self.runs = np.repeat(store[element + at.E_RUNS], store[element + at.E_THREAD_COUNT])
        """Of each thread: address of the counts of its element's operations."""
        steered = fifo[store[fifo + at.F_WAY] >= 0]
        router_of = store[store[steered + at.F_WAY] + at.W_STATE] - parts.state.start
        self._filters_words = (store[router + at.X_FILTER] == at.RANGE).any()
        self._steered, self._router_of = steered, router_of // at.X_WIDTH
        banks = tuple(bank_places(compiled))
        self._operations = np.concatenate([of_code.operations for of_code in banks])
        """Of each row of an operation: whether the words at which its operands stand count."""
        self._registers = _of_registers(compiled, banks)
        self.counters = _counter_groups(compiled, banks)
        self._data = np.concatenate([_NONE, *(g.places for g in self.counters if g.holds_data)])
        self._moduli = np.ones(parts.variable.rows, dtype=np.int64)
        for group in self.counters:
            self._moduli[group.places] = group.modulus
        capacity = store[self.queues + at.F_CAP]
        self._queue = np.repeat(self.queues, capacity)
        first = np.cumsum(capacity) - capacity
        self._number = np.arange(self._queue.size) - np.repeat(first, capacity)
        self._ring = store[self._queue + at.F_RING]
        self._capacity = np.repeat(capacity, capacity)

    def kept(self, numbers: int, least: int) -> int:
        """Return how many snapshots can be kept in `numbers` int64, but at least `least`."""
        parts = self.parts
        of_state = self.places.size + self._fifo.size + 2 * parts.variable.rows + parts.runs.rows
        return max(least, numbers // max(1, of_state))

    def words(self, store: at.Table) -> tuple[Ids, Ids, Ids]:
        """Return all places of all queues as three arrays: address, cycle and word of each.

        The places of a queue are together, that of its oldest word first. A place with a word has
        the cycle from which on the word may move; a free place has the cycle from which on it may
        be used, and the word 0.
        """
        turn = (store[self._queue + at.F_HEAD] + self._number) % self._capacity
        entry = self._ring + 2 * turn
        is_free = self._number >= store[self._queue + at.F_COUNT]
        cycles = store[entry] + np.where(is_free, store[self._queue + at.F_CREDIT], 0)
        return entry, cycles, np.where(is_free, 0, store[entry + 1])

    def snapshot(self, store: at.Table) -> Snapshot:
        """Return the state at the beginning of the cycle that a run has reached."""
        cycle, parts = int(store[at.S_CYCLE]), self.parts
        counters = _all(parts.variable, store)
        counters[self._data] = 0
        places = store[self.places]
        digest = blake2b(digest_size=16)
        _, word_cycles, words = self.words(store)
        digest.update(store[self.same].tobytes())
        digest.update(self._deciding(words).tobytes())
        for cycles in (store[self.times], word_cycles):
            digest.update(np.maximum(cycles - cycle, -1).tobytes())
        digest.update((places % at.BANKS * self._decide_banks(store)).tobytes())
        digest.update((counters % self._moduli).tobytes())
        return Snapshot(
            cycle=cycle,
            key=digest.digest(),
            counters=counters,
            sets=_all(parts.sets, store),
            runs=_all(parts.runs, store),
            places=places,
            left=store[self.threads + at.T_LEFT],
            filters=store[self.routers + at.X_COUNT],
            pops=store[self._fifo + at.F_POPS],
            passed=self._passed(store),
            stocks=store[self.ports + at.F_COUNT],
            popped=store[self.shared + at.F_POPPED],
            end=int(store[at.S_END]),
        )

    def _deciding(self, words: Ids) -> Ids:
        """Return what words in queues decide: controls, and indices where a filter reads them.

        The values of others decide nothing, and are those of the data where scalars send them.
        """
        return words if self._filters_words else np.where(words & at.IS_CONTROL, words, 0)

    def _decide_banks(self, store: at.Table) -> Flags:
        """Return for each of `places` whether what the machine does next may depend on its bank."""
        first = self.parts.operation.start
        rows = np.maximum(0, store[self.threads + at.T_OP] - first) // at.O_WIDTH
        of_threads = np.repeat(self._operations[rows], len(THREAD_PLACES))
        return np.concatenate([of_threads, self._registers])

    def count_pops(self, store: at.Table, words: Ids) -> None:
        """Add to the count of words that left each FIFO; words: (FIFOs,)."""
        store[self._fifo + at.F_POPS] += words

    def _passed(self, store: at.Table) -> Ids:
        """Return the words that have left the buffers of each router that chooses."""
        passed = np.zeros(self.routers.size, dtype=np.int64)
        np.add.at(passed, self._router_of, store[self._steered + at.F_POPS])
        return passed


def _streams(compiled: CompiledProgram) -> tuple[Ids, Ids]:
    """Return (first cycle, cycles per word) of the words that enter at each edge input's FIFO."""
    network = compiled.network
    given = np.zeros((2, network.kind.size), dtype=np.int64)
    for port, fifos in zip(compiled.program.edge_inputs, network.edge_inputs, strict=True):
        given[0, fifos], given[1, fifos] = port.start, port.interval
    starts, intervals = given[:, network.kind == EDGE_IN]
    return starts, intervals


def _of_registers(compiled: CompiledProgram, banks: Sequence[BankPlaces]) -> Flags:
    """Return for each data-structure register of all elements whether its bank counts."""
    amount = np.array([len(layout.registers) for layout in compiled.layouts], dtype=np.int64)
    counts = np.array([of_code.registers for of_code in banks])
    codes = compiled.program.placement.ravel()
    return np.repeat(counts[codes], amount[codes])


def _all(table: StoreTable, store: at.Table) -> Ids:
    return store[table.start : table.end].copy()


def _cells(*rows: tuple[Ids, Iterable[int]]) -> Ids:
    """Return the addresses of some columns in some rows of the store, as one array.

    rows: (addresses of the rows' first words, numbers of the columns) each.
    """
    cells = [
        (first[:, None] + np.array(tuple(columns), dtype=np.int64)).ravel()
        for first, columns in rows
    ]
    return np.concatenate(cells)


def _without(width: int, columns: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted({*range(width)} - {*columns}))


class CounterGroup(NamedTuple):
    """One counter in all elements of a code.

    `places`: where it is in the store's table of counters, by element. `modulus`: the memory banks
    that operands use depend on the counter modulo this. `limits`: numbers that it is compared with,
    ascending. `rises`: whether it only becomes smaller when it is set. `holds_data`: whether it
    holds values of data, which decide nothing.
    """

    places: Ids
    modulus: int
    limits: Ids
    rises: bool
    holds_data: bool


def _counter_groups(compiled: CompiledProgram, banks: Sequence[BankPlaces]) -> list[CounterGroup]:
    """Return each counter of each code; banks: what of each code decides on memory banks."""
    layouts, blocks = compiled.layouts, compiled.tables.blocks
    codes = compiled.program.placement.ravel()
    amount = np.array([len(layout.variables) for layout in layouts], dtype=np.int64)[codes]
    first = np.cumsum(amount) - amount
    groups = []
    for number, layout in enumerate(layouts):
        instruction = blocks[number].tables.instruction
        computed = set(computed_counters(blocks[number].tables).tolist())
        for counter in range(len(layout.variables)):
            of_counter = instruction[instruction[:, 1] == counter]
            compared = np.isin(of_counter[:, 0], (at.I_END_LOOP, at.I_UNLESS_BELOW))
            added = of_counter[of_counter[:, 0] == at.I_ADD, 2]
            groups.append(
                CounterGroup(
                    first[codes == number] + counter,
                    banks[number].modulus(counter),
                    np.unique(of_counter[compared, 2]),
                    bool((added >= 0).all()),
                    counter in computed,
                )
            )
    return groups
