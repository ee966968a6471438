"""One store for a compiled program: every table's rows, with row numbers turned into addresses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tilewright.simulator.engine import layout as at
from tilewright.simulator.network import Network
from tilewright.simulator.program import Program
from tilewright.simulator.tables import CodeLayout, CodeTables

Addresses = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Part:
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

    def number(self, address: int) -> int:
        """Return the number of the row at an address."""
        return (int(address) - self.start) // self.width


PARTS: Final = (
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
    "batch",
)
"""The parts of a store in order."""


@dataclass(frozen=True, slots=True)
class Parts:
    """Where everything is; the timeline's events follow `end`."""

    fifo: Part
    element: Part
    thread: Part
    variable: Part
    runs: Part
    operation: Part
    operand: Part
    instruction: Part
    task: Part
    ring: Part
    bid: Part
    batch: Part
    memory_words: int
    most_events: int
    """Upper bound of the events of one cycle."""

    @property
    def end(self) -> int:
        return self.batch.end


def compile_store(
    program: Program, layouts: tuple[CodeLayout, ...], tables: CodeTables, network: Network
) -> tuple[at.Table, Parts]:
    """Return the store at cycle 0 and its parts."""
    codes = program.placement.ravel()
    per_element = {
        at.E_MEMORY: [layout.code.words + layout.code.words % 2 for layout in layouts],
        at.E_VARIABLES: [len(layout.variables) for layout in layouts],
        at.E_THREADS: [len(layout.threads) + 1 for layout in layouts],
        at.E_RUNS: [len(layout.operations) for layout in layouts],
    }
    amounts = {
        column: np.array(values, dtype=np.int64)[codes] for column, values in per_element.items()
    }
    parts = _parts(amounts, tables, network, codes.size)
    store = np.zeros(parts.end, dtype=np.int64)
    store[at.WHEEL_AT : at.WHEEL_AT + at.WHEEL] = -1
    store[: at.S_WIDTH] = tables.header
    store[at.S_ELEMENTS] = parts.element.start
    store[at.S_BATCH] = parts.batch.start
    store[at.S_EVENT] = parts.end
    store[at.S_MARGIN] = parts.most_events
    _place_codes(store, parts, tables)
    _place_network(store, parts, network)
    _place_elements(store, parts, layouts, codes, amounts)
    queues = parts.fifo.address(network.queue.astype(np.int64))
    parts.element.view(store)[:, at.E_QUEUES : at.E_QUEUES + 16] = queues
    return store, parts


def _parts(
    amounts: dict[int, Addresses], tables: CodeTables, network: Network, elements: int
) -> Parts:
    threads = int(amounts[at.E_THREADS].sum())
    sizes = (
        (network.fifo.shape[0], at.F_WIDTH),
        (elements, at.E_WIDTH),
        (threads, at.T_WIDTH),
        (int(amounts[at.E_VARIABLES].sum()), 1),
        (int(amounts[at.E_RUNS].sum()), 1),
        tables.operation.shape,
        tables.operand.shape,
        tables.instruction.shape,
        tables.task.shape,
        (network.ring_entries, 2),
        (network.links, 2),
        (network.fifo.shape[0] + elements, 1),
    )
    start = at.WHEEL_AT + at.WHEEL
    parts = []
    for rows, width in sizes:
        parts.append(Part(start, rows, width))
        start = parts[-1].end
    events = 2 * threads + elements * (1 + at.MAX_TASKS)
    named = dict(zip(PARTS, parts, strict=True))
    words = int(amounts[at.E_MEMORY].sum())
    return Parts(**named, memory_words=words, most_events=events)


def _place_codes(store: at.Table, parts: Parts, tables: CodeTables) -> None:
    operation = parts.operation.view(store)
    operation[:] = tables.operation
    rows = slice(at.O_OPERANDS, at.O_SCALAR_ROW + 1)
    operation[:, rows] = parts.operand.address(operation[:, rows])
    parts.operand.view(store)[:] = tables.operand
    instruction = parts.instruction.view(store)
    instruction[:] = tables.instruction
    code = instruction[:, 0]
    operations = code == at.I_OPERATION
    instruction[operations, 1] = parts.operation.address(instruction[operations, 1])
    jumps = np.isin(code, [at.I_END_LOOP, at.I_UNLESS_BELOW, at.I_JUMP])
    instruction[jumps, 3] = parts.instruction.address(instruction[jumps, 3])
    parts.task.view(store)[:] = parts.instruction.address(tables.task)


def _place_network(store: at.Table, parts: Parts, network: Network) -> None:
    fifo = parts.fifo.view(store)
    fifo[:] = network.fifo
    fifo[:, [at.A_WHEN, at.A_NEXT, at.A_PREVIOUS]] = -1
    fifo[:, at.F_RING] = parts.ring.address(fifo[:, at.F_RING])
    succeeding = slice(at.F_NEXT, at.F_NEXT + 5)
    fifo[:, succeeding] = parts.fifo.address(fifo[:, succeeding])
    linked = slice(at.F_LINK, at.F_LINK + 5)
    fifo[:, linked] = parts.bid.address(fifo[:, linked])
    user = fifo[:, at.F_USER]
    elements = user <= at.USER_IS_ELEMENT
    user[~elements] = parts.fifo.address(user[~elements])
    user[elements] = parts.element.address(at.USER_IS_ELEMENT - user[elements])
    parts.bid.view(store)[:] = -1


def _place_elements(
    store: at.Table,
    parts: Parts,
    layouts: tuple[CodeLayout, ...],
    codes: npt.NDArray[np.int32],
    amounts: dict[int, Addresses],
) -> None:
    element = parts.element.view(store)
    element[:, [at.A_WHEN, at.A_NEXT, at.A_PREVIOUS]] = -1
    homes = {at.E_VARIABLES: parts.variable, at.E_THREADS: parts.thread, at.E_RUNS: parts.runs}
    for column, amount in amounts.items():
        first = np.cumsum(amount) - amount
        home = homes.get(column)
        element[:, column] = first if home is None else home.address(first)
    fixed = {
        at.E_ACTIVE: [_bits(layout, "entry") for layout in layouts],
        at.E_BLOCKED: [_bits(layout, "blocked") for layout in layouts],
        at.E_TASKS: [parts.task.start + layout.first_task for layout in layouts],
        at.E_THREAD_COUNT: [len(layout.threads) + 1 for layout in layouts],
    }
    for column, values in fixed.items():
        element[:, column] = np.array(values, dtype=np.int64)[codes]


def _bits(layout: CodeLayout, attribute: str) -> int:
    tasks = enumerate(layout.code.tasks)
    return sum(1 << number for number, task in tasks if getattr(task, attribute))
