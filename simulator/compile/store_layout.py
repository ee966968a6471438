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
    """A table inside the store."""

    start: int
    rows: int
    width: int

    @property
    def end(self) -> int:
        return self.start + self.rows * self.width

    def view(self, store: at.Table) -> at.Table:
        """Return the table, writing through to the store."""
        return store[self.start : self.end].reshape(self.rows, self.width)

    def address(self, number: Addresses) -> Addresses:
        """Return the address of rows by number; negative numbers stay."""
        return np.where(number < 0, number, self.start + number * self.width)

    def address_from(self, origin: Addresses, number: Addresses) -> Addresses:
        """Return the address of rows that count from a row each; negative numbers stay."""
        return self.address(np.where(number < 0, number, origin + number))

    def number(self, address: int) -> int:
        """Return the number of the row at an address."""
        return (int(address) - self.start) // self.width


STORE_TABLES: Final = (
    "fifo",
    "element",
    "thread",
    "variable",
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
    """Where code is in a store."""

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
    """Where everything is; the timeline's events follow `end`."""

    fifo: StoreTable
    element: StoreTable
    thread: StoreTable
    variable: StoreTable
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
    """Upper bound of the events of one cycle."""

    @property
    def end(self) -> int:
        return self.bound.end
