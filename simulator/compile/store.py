"""One store for a compiled program: every table's rows, with row numbers turned into addresses."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.code.priorities import main_level
from tilewright.simulator.compile.fabric.encode_network import place_bindings, place_network
from tilewright.simulator.compile.fabric.network import FifoNetwork
from tilewright.simulator.compile.store_layout import (
    STORE_TABLES,
    Addresses,
    CodeTablePlaces,
    StoreLayout,
    StoreTable,
)
from tilewright.simulator.compile.table_blocks import CodeLayout, ProgramTables
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.program.program import Program

MOST_STATE: Final = 1 << 30
"""Words of 8 bytes for what elements, queues and memories hold at most: 8 GiB."""
LINE: Final = 8
"""Words of a line of the processor's cache: tables begin with one, busy rows are whole ones."""
Amounts = dict[int, Addresses]


MAPS: Final = (at.I_MAP_START, at.I_MAP_READ, at.I_MAP_WRITE, at.I_MAP_END)
REFERENCES: Final = (
    ("operation", 1, (at.I_OPERATION, *MAPS)),
    ("scalar", 1, (at.I_COMPUTE,)),
    ("load", 1, (at.I_LOAD_REGISTER,)),
    ("instruction", 3, (*(at.I_END_LOOP, at.I_UNLESS_BELOW, at.I_JUMP), *MAPS[1:3])),
)
"""(table, column, codes) of the instructions that name a row."""
ROW_COLUMNS: Final = (
    ("operation", slice(at.O_OPERANDS, at.O_SCALAR_ROW + 1), "operand"),
    ("operation", slice(at.O_INDEX, at.O_INDEX + 1), "operand"),
    ("operation", slice(at.O_HELD, at.O_HELD + 3), "operand"),
    ("operation", slice(at.O_VARIANT, at.O_VARIANT + 1), "operation"),
    ("operand", slice(at.D_LENGTH_ROW, at.D_STRIDE_ROW + 1), "operand"),
    ("load", slice(at.L_ROW, at.L_ROW + 1), "operand"),
)
"""(table, columns, table whose rows they name)."""


def aligned(words: int) -> at.Table:
    """Return an int64 array of `words` zeros whose first word begins a cache line of the host."""
    padded = np.zeros(words + LINE, dtype=np.int64)
    first = -(padded.ctypes.data // 8) % LINE
    return padded[first : first + words]


class ProgramStore:
    """Hold the engine's array (store) of a program at cycle 0, before data are loaded.

    `code` has the header and the tables of the codes at once; elements and network follow when
    `store` is first read. `parts` says where each table is. Raises ProgramError if the state takes
    more than 2^30 words of 8 bytes.
    """

    def __init__(
        self,
        program: Program,
        layouts: tuple[CodeLayout, ...],
        tables: ProgramTables,
        network: FifoNetwork,
    ) -> None:
        self._layouts, self._tables, self._network = layouts, tables, network
        self._codes = program.placement.ravel()
        self._amounts = _amounts(layouts)
        self._complete = False
        self.parts = _layout(self._amounts, tables, network, self._codes)
        self.code = aligned(self.parts.end)
        """The store with the header and the code only."""
        self.code[: at.S_WIDTH] = tables.header
        place_codes(self.code, self.parts, tables)

    @property
    def store(self) -> at.Table:
        """The complete int64 array with codes, elements and network, filled at the first use."""
        if not self._complete:
            self._place()
            self._complete = True
        return self.code

    def _place(self) -> None:
        store, parts = self.code, self.parts
        layouts, tables, network = self._layouts, self._tables, self._network
        store[at.WHEEL_AT : at.WHEEL_AT + at.WHEEL] = -1
        store[at.S_ELEMENTS] = parts.element.start
        store[[at.S_LISTS, at.S_LISTS + 1]] = parts.even.start, parts.odd.start
        store[at.S_EVENT] = parts.end
        store[at.S_SETS] = parts.sets.start - parts.variable.start
        store[at.S_MARGIN] = parts.most_events
        place_network(store, parts, network)
        element = parts.element.view(store)
        element[:, [at.A_WHEN, at.A_NEXT, at.A_PREVIOUS]] = -1
        _place_own_rows(element, parts, self._codes, self._amounts)
        _place_code_columns(element, parts, layouts, self._codes)
        place_bindings(store, parts, network, self._codes)
        place_special(store, parts, layouts, tables)
        queues = parts.fifo.address(network.queue.astype(np.int64))
        element[:, at.E_QUEUES : at.E_QUEUES + 16] = queues


def _amounts(layouts: tuple[CodeLayout, ...]) -> Amounts:
    """Return how much an element of each code needs for itself, by column of its row.

    Such as 16-bit words of memory, counters, threads and registers: an array (codes,) for each.
    """
    per_element = {
        at.E_MEMORY: [layout.code.words + layout.code.words % 2 for layout in layouts],
        at.E_VARIABLES: [len(layout.variables) for layout in layouts],
        at.E_THREADS: [len(layout.threads) + 1 for layout in layouts],
        at.E_RUNS: [3 * len(layout.operations) for layout in layouts],
        at.E_POOLS: [len(layout.pools) for layout in layouts],
        at.E_REGISTERS: [len(layout.registers) for layout in layouts],
        at.E_BOUND: [len(layout.bindings) for layout in layouts],
    }
    return {column: np.array(values, dtype=np.int64) for column, values in per_element.items()}


def _layout(
    amounts: Amounts, tables: ProgramTables, network: FifoNetwork, codes: npt.NDArray[np.int32]
) -> StoreLayout:
    """Return where each table of a program is. Raises ProgramError beyond MOST_STATE words."""
    counts = np.bincount(codes, minlength=amounts[at.E_MEMORY].size)
    total = {column: int(amount @ counts) for column, amount in amounts.items()}
    elements, threads = codes.size, total[at.E_THREADS]
    shapes = tables.shapes()
    sizes = (
        (network.fifo.shape[0], at.F_WIDTH),
        (elements, at.E_WIDTH),
        (threads, at.T_WIDTH),
        *2 * ((total[at.E_VARIABLES], 1),),
        (total[at.E_RUNS], 1),
        *shapes[:4],
        (network.ring_entries, 2),
        (network.links, 2),
        *2 * ((network.fifo.shape[0] + elements, 1),),
        network.steered.way.shape,
        network.steered.state.shape,
        network.steered.change.shape,
        *shapes[4:],
        (total[at.E_POOLS], at.Q_WIDTH),
        (total[at.E_REGISTERS], at.R_WIDTH),
        (total[at.E_BOUND], at.B_WIDTH),
    )
    start = at.WHEEL_AT + at.WHEEL
    store_tables = []
    for rows, width in sizes:
        store_tables.append(StoreTable(start, rows, width))
        start = -(-store_tables[-1].end // LINE) * LINE
    events = 2 * threads + elements * (2 + at.MAX_TASKS)
    named = dict(zip(STORE_TABLES, store_tables, strict=True))
    words = total[at.E_MEMORY]
    if start + events * at.V_WIDTH + words > MOST_STATE:
        raise ProgramError(
            f"the state of {elements} elements takes more than {MOST_STATE} words",
            value=start + events * at.V_WIDTH + words,
            instead="fewer elements, or less memory, fewer tasks and operations in each",
        )
    return StoreLayout(**named, memory_words=words, most_events=events)


def place_codes(store: at.Table, parts: CodeTablePlaces, tables: ProgramTables) -> None:
    """Write the tables of codes into the store, with row numbers turned into addresses.

    store: int64 array, changed; parts: where each table is in it; tables: the rows of all codes.
    """
    for table in ("operation", "operand", "instruction", "scalar", "load"):
        getattr(parts, table).view(store)[:] = getattr(tables.tables, table)
    for table, columns, other in ROW_COLUMNS:
        rows = getattr(parts, table).view(store)
        origin = tables.origin(table, other)[:, None]
        rows[:, columns] = getattr(parts, other).address_from(origin, rows[:, columns])
    instruction = parts.instruction.view(store)
    for table, column, codes in REFERENCES:
        rows_of_kind = np.flatnonzero((instruction[:, :1] == np.array(codes)).any(axis=1))
        origin = tables.origin("instruction", table)[rows_of_kind]
        store_table: StoreTable = getattr(parts, table)
        instruction[rows_of_kind, column] = store_table.address_from(
            origin, instruction[rows_of_kind, column]
        )
    first = parts.instruction.address_from(
        tables.origin("task", "instruction")[:, None], tables.tables.task
    )
    parts.task.view(store)[:] = first
    scalar = parts.scalar.view(store)
    operands = tables.origin("scalar", "operand")
    for column in (at.U_DEST, at.U_LEFT, at.U_RIGHT):
        is_element = scalar[:, column] == at.ELEMENT
        rows = scalar[is_element, column + 1]
        scalar[is_element, column + 1] = parts.operand.address_from(operands[is_element], rows)


def place_special(
    store: at.Table, parts: StoreLayout, layouts: tuple[CodeLayout, ...], tables: ProgramTables
) -> None:
    """Write into the store what few codes have: bindings, contents of registers, FIFOs.

    Bindings name the tasks that wavelets start. FIFOs and registers are written for every element,
    with addresses in its memory. store: int64 array, changed; parts: where each table is in it.
    """
    parts.binding.view(store)[:] = tables.tables.binding
    load = parts.load.view(store)
    element = parts.element.view(store)
    for number, layout in enumerate(layouts):
        elements = element[
            element[:, at.E_BINDINGS] == parts.binding.start + number * at.BIND_WIDTH
        ]
        for i, row in enumerate(layout.pools):
            at_row = elements[:, at.E_POOLS] + i * at.Q_WIDTH
            store[at_row[:, None] + np.arange(at.Q_WIDTH)] = row
            store[at_row + at.Q_BASE] += elements[:, at.E_MEMORY]
        for i, loaded in enumerate(layout.registers):
            at_row = elements[:, at.E_REGISTERS] + i * at.R_WIDTH
            if loaded[0] < 0:
                store[at_row + at.R_ROW] = loaded[1]
                continue
            load_row = load[layout.first["load"] + loaded[0]]
            operand = int(load_row[at.L_ROW])
            store[at_row + at.R_ROW] = operand
            in_memory = store[operand + at.D_KIND] == at.MEMORY
            base = store[operand + at.D_BASE] + elements[:, at.E_MEMORY]
            store[at_row + at.R_POSITION] = base if in_memory else 0
            for j in range(at.R_WIDTH - at.R_ASYNC):
                store[at_row + at.R_ASYNC + j] = load_row[at.L_SETTINGS + j]


def _place_own_rows(
    element: at.Table, parts: StoreLayout, codes: npt.NDArray[np.int32], amounts: Amounts
) -> None:
    """Write where the rows begin that an element has for itself; codes: (elements,) code."""
    tables = {
        at.E_VARIABLES: parts.variable,
        at.E_THREADS: parts.thread,
        at.E_RUNS: parts.runs,
        at.E_POOLS: parts.pool,
        at.E_REGISTERS: parts.register,
        at.E_BOUND: parts.bound,
    }
    for column, per_code in amounts.items():
        amount = per_code[codes]
        first = np.cumsum(amount) - amount
        table = tables.get(column)
        element[:, column] = first if table is None else table.address(first)


def _place_code_columns(
    element: at.Table,
    parts: StoreLayout,
    layouts: tuple[CodeLayout, ...],
    codes: npt.NDArray[np.int32],
) -> None:
    """Write the columns that all elements of a code share; codes: (elements,) code."""
    per_code = {
        at.E_ACTIVE: [_bits(layout, "entry") for layout in layouts],
        at.E_BLOCKED: [_bits(layout, "blocked") for layout in layouts],
        at.E_TASKS: [parts.task.start + layout.first["task"] for layout in layouts],
        at.E_THREAD_COUNT: [len(layout.threads) + 1 for layout in layouts],
        at.E_LISTEN: [layout.listens for layout in layouts],
        at.E_LEVELS: [layout.levels for layout in layouts],
        at.E_MAIN_LEVEL: [main_level(layout.code) for layout in layouts],
        at.E_BINDINGS: [parts.binding.start + i * at.BIND_WIDTH for i in range(len(layouts))],
    }
    for column, values in per_code.items():
        element[:, column] = np.array(values, dtype=np.int64)[codes]


def _bits(layout: CodeLayout, attribute: str) -> int:
    tasks = enumerate(layout.code.tasks)
    return sum(1 << number for number, task in tasks if getattr(task, attribute))
