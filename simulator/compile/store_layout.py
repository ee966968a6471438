"""Where each table is in a store: its first word, its rows, the width of a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as at

Addresses = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class StoreTable:
    """Say where a table is in the store, the engine's int64 array.

    start: address (index) of its first word; rows: how many; width: words per row.
    """

    start: int
    rows: int
    width: int

    @property
    def end(self) -> int:
        """The address behind the table's last word."""
        return self.start + self.rows * self.width

    def view(self, store: at.Table) -> at.Table:
        """Return the table as an array (rows, width) that shares memory with the store.

        store: the engine's int64 array, in which the table is.
        """
        return store[self.start : self.end].reshape(self.rows, self.width)

    def address(self, number: Addresses) -> Addresses:
        """Turn row numbers of the table into addresses in the store; negative numbers stay.

        An address is the index of a row's first word in the engine's int64 array.
        """
        return np.where(number < 0, number, self.start + number * self.width)

    def address_from(self, origin: Addresses, number: Addresses) -> Addresses:
        """Turn row numbers that count from given rows into addresses in the store.

        origin: number of the row from which each counts; number: a negative one stays as it is. An
        address is the index of a row's first word in the engine's int64 array.
        """
        return np.where(number < 0, number, self.start + (origin + number) * self.width)

    def number(self, address: int) -> int:
        """Return the number of the row that begins at (or holds) an address in the store."""
        return (int(address) - self.start) // self.width


STORE_TABLES: Final = (
    "fifo",
    "element",
    "thread",
    "variable",
    "sets",
    "runs",
    "operation",
    "operand",
    "instruction",
    "task",
    "ring",
    "bid",
    "even",
    "odd",
    "way",
    "state",
    "change",
    "binding",
    "scalar",
    "load",
    "pool",
    "register",
    "bound",
)
"""The parts of a store in order."""


class CodeTablePlaces(Protocol):
    """Say where each table of compiled code is in an array: first word, rows, width of a row.

    The tables: operations on descriptors, their operands, instructions, tasks (the first
    instruction of each), scalar operations, register loads.
    """

    @property
    def operation(self) -> StoreTable: ...
    @property
    def operand(self) -> StoreTable: ...
    @property
    def instruction(self) -> StoreTable: ...
    @property
    def task(self) -> StoreTable: ...
    @property
    def scalar(self) -> StoreTable: ...
    @property
    def load(self) -> StoreTable: ...


@dataclass(frozen=True, slots=True)
class StoreLayout:
    """Say where each table of a program is in the store, the engine's int64 array.

    Code: `operation`, `operand`, `instruction`, `task`, `binding` (tasks that wavelets start),
    `scalar`, `load`. Elements: `element`, and for each its `thread`, `variable` (counters), `sets`
    (how often each was set), `runs` (counts of work), `pool` (FIFOs in memory), `register`, `bound`
    (FIFOs that queues may be bound to). Fabric: `fifo`, `ring` (words in FIFOs), `bid` (links),
    `way`, `state`, `change` (routers that choose). Work lists: `even`, `odd` (agents due in the
    next even or odd cycle).
    `memory_words`: 16-bit words of all elements' memories. `most_events`: most timeline events in
    one cycle. The events of a recorded timeline follow `end`.
    """

    fifo: StoreTable
    element: StoreTable
    thread: StoreTable
    variable: StoreTable
    sets: StoreTable
    runs: StoreTable
    operation: StoreTable
    operand: StoreTable
    instruction: StoreTable
    task: StoreTable
    ring: StoreTable
    bid: StoreTable
    even: StoreTable
    odd: StoreTable
    way: StoreTable
    state: StoreTable
    change: StoreTable
    binding: StoreTable
    scalar: StoreTable
    load: StoreTable
    pool: StoreTable
    register: StoreTable
    bound: StoreTable
    memory_words: int
    most_events: int

    @property
    def end(self) -> int:
        """The address behind the last table."""
        return self.bound.end
