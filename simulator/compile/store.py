"""One store for a compiled program: every table's rows, with row numbers turned into addresses."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt

from tilewright.arch.memo import IdentityCache
from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.code.priorities import main_level
from tilewright.simulator.compile.fabric.encode_network import place_bindings, place_network
from tilewright.simulator.compile.fabric.network import FifoNetwork
from tilewright.simulator.compile.store_layout import (
    STORE_TABLES,
    CodeTablePlaces,
    StoreLayout,
    StoreTable,
)
from tilewright.simulator.compile.table_blocks import CodeLayout, ProgramTables
from tilewright.simulator.isa.machine_errors import ProgramError

MOST_STATE: Final = 1 << 30
"""Words of 8 bytes for what elements, queues and memories hold at most: 8 GiB."""
LINE: Final = 8
"""Words of a line of the processor's cache: tables begin with one, busy rows are whole ones."""
Amounts = npt.NDArray[np.int64]
"""(columns of AMOUNTS, codes) how much an element of each code needs for itself."""
AMOUNTS: Final = (
    *(at.E_MEMORY, at.E_VARIABLES, at.E_THREADS, at.E_RUNS),
    *(at.E_POOLS, at.E_REGISTERS, at.E_BOUND),
)
"""Columns of an element's row that say where the rows begin that it has for itself."""
OF_CODE: Final = (
    *(at.E_ACTIVE, at.E_BLOCKED, at.E_THREAD_COUNT),
    *(at.E_LISTEN, at.E_LEVELS, at.E_MAIN_LEVEL),
)
"""Columns of an element's row that all elements of a code share, but for addresses."""
_OF_CODE: Final = IdentityCache(256)
"""Values of both, by compiled code."""
MAPS: Final = (at.I_MAP_START, at.I_MAP_READ, at.I_MAP_WRITE, at.I_MAP_END)
REFERENCES: Final = (
    ("operation", 1, (at.I_OPERATION, *MAPS)),
    ("scalar", 1, (at.I_COMPUTE,)),
    ("load", 1, (at.I_LOAD_REGISTER,)),
    ("instruction", 3, (*(at.I_END_LOOP, at.I_UNLESS_BELOW, at.I_JUMP), *MAPS[1:3])),
)
"""(table, column, codes) of the instructions that name a row."""
ROW_COLUMNS: Final = (
    (
        "operation",
        "operand",
        [*range(at.O_OPERANDS, at.O_SCALAR_ROW + 1), at.O_INDEX, *range(at.O_HELD, at.O_HELD + 3)],
    ),
    ("operation", "operation", [at.O_VARIANT]),
    ("operand", "operand", [at.D_LENGTH_ROW, at.D_STRIDE_ROW]),
    ("load", "operand", [at.L_ROW]),
)
"""(table, table whose rows it names, columns)."""


def aligned(words: int) -> at.Table:
    """Return an int64 array of `words` zeros whose first word begins a cache line of the host."""
    padded = np.zeros(words + LINE, dtype=np.int64)
    first = -(padded.ctypes.data // 8) % LINE
    return padded[first : first + words]


class ProgramStore:
    """Hold the engine's array (store) of a program at cycle 0, before data are loaded.

    `code` has the header and the tables of the codes at once; elements and network follow when
    `store` is first read. parts: where each table is (`store_layout`).
    """

    def __init__(
        self,
        codes: npt.NDArray[np.int32],
        layouts: tuple[CodeLayout, ...],
        tables: ProgramTables,
        network: FifoNetwork,
        parts: StoreLayout,
    ) -> None:
        self._codes, self._layouts, self._tables = codes, layouts, tables
        self._network, self.parts = network, parts
        self._complete = False
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
        _place_own_rows(element, parts, self._codes, _of_codes(tables, "amounts", _amounts))
        element[:, OF_CODE] = _of_codes(tables, "columns", _columns)[:, self._codes].T
        first_task = np.array([layout.first["task"] for layout in layouts], dtype=np.int64)
        element[:, at.E_TASKS] = parts.task.address(first_task)[self._codes]
        element[:, at.E_BINDINGS] = parts.binding.address(self._codes.astype(np.int64))
        place_bindings(store, parts, network, self._codes)
        place_special(store, parts, layouts, tables)
        queues = parts.fifo.address(network.queue.astype(np.int64))
        element[:, at.E_QUEUES : at.E_QUEUES + 16] = queues


def _of_codes(
    tables: ProgramTables, name: str, of: Callable[[CodeLayout], list[int]]
) -> npt.NDArray[np.int64]:
    """Return some numbers of each code of a program: (numbers, codes).

    `of` gives those of a code; they are kept under `name`.
    """
    values = [_OF_CODE.of(block, name, partial(of, block.layout)) for block in tables.blocks]
    return np.array(values, dtype=np.int64).T


def _amounts(layout: CodeLayout) -> list[int]:
    """Return how much an element of a code needs for itself, in the order of AMOUNTS.

    Such as 16-bit words of memory, counters, threads and registers.
    """
    words = layout.code.words
    return [
        words + words % 2,
        len(layout.variables),
        len(layout.threads) + 1,
        3 * len(layout.operations),
        len(layout.pools),
        len(layout.registers),
        len(layout.bindings),
    ]


def _columns(layout: CodeLayout) -> list[int]:
    """Return what all elements of a code have in their rows, in the order of OF_CODE."""
    return [
        _bits(layout, "entry"),
        _bits(layout, "blocked"),
        len(layout.threads) + 1,
        layout.listens,
        layout.levels,
        main_level(layout.code),
    ]


def store_layout(
    tables: ProgramTables, network: FifoNetwork, codes: npt.NDArray[np.int32]
) -> StoreLayout:
    """Return where each table of a program is in its store.

    codes: (elements,) number of each element's code. Raises ProgramError if the state takes more
    than 2^30 words of 8 bytes.
    """
    amounts = _of_codes(tables, "amounts", _amounts)
    counts = np.bincount(codes, minlength=amounts.shape[1])
    total = dict(zip(AMOUNTS, (amounts @ counts).tolist(), strict=True))
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
    for table, other, columns in ROW_COLUMNS:
        rows = getattr(parts, table).view(store)
        if rows.size:
            origin = tables.origin(table, other)[:, None]
            rows[:, columns] = getattr(parts, other).address_from(origin, rows[:, columns])
    _place_references(store, parts, tables)
    first = parts.instruction.address_from(
        tables.origin("task", "instruction")[:, None], tables.tables.task
    )
    parts.task.view(store)[:] = first
    if parts.scalar.rows:
        _place_scalars(store, parts, tables)


def _place_references(store: at.Table, parts: CodeTablePlaces, tables: ProgramTables) -> None:
    """Write the addresses of rows that instructions name; arguments as of `place_codes`."""
    instruction = parts.instruction.view(store)
    codes = instruction[:, 0]
    for table, column, kinds in REFERENCES:
        store_table: StoreTable = getattr(parts, table)
        if not store_table.rows:
            continue
        names_row = np.zeros(at.I_MAP_END + 1, dtype=bool)
        names_row[list(kinds)] = True
        rows = np.flatnonzero(names_row[codes])
        origin = tables.origin("instruction", table)[rows]
        instruction[rows, column] = store_table.address_from(origin, instruction[rows, column])


def _place_scalars(store: at.Table, parts: CodeTablePlaces, tables: ProgramTables) -> None:
    """Write the addresses of operands of scalar instructions; arguments as of `place_codes`."""
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
        if not layout.pools and not layout.registers:
            continue
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
            settings = np.arange(at.R_WIDTH - at.R_ASYNC)
            store[at_row[:, None] + at.R_ASYNC + settings] = load_row[at.L_SETTINGS + settings]


def _place_own_rows(
    element: at.Table, parts: StoreLayout, codes: npt.NDArray[np.int32], amounts: Amounts
) -> None:
    """Write where the rows begin that an element has for itself; codes: (elements,) code."""
    tables = (parts.variable, parts.thread, parts.runs, parts.pool, parts.register, parts.bound)
    start = np.array([0, *(table.start for table in tables)], dtype=np.int64)
    width = np.array([1, *(table.width for table in tables)], dtype=np.int64)
    amount = amounts[:, codes]
    first = np.cumsum(amount, axis=1) - amount
    element[:, AMOUNTS] = (start[:, None] + first * width[:, None]).T


def _bits(layout: CodeLayout, attribute: str) -> int:
    tasks = enumerate(layout.code.tasks)
    return sum(1 << number for number, task in tasks if getattr(task, attribute))
