"""Compiled code as plain Python numbers, which Python reads faster than numbers of an array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final, NamedTuple

import numpy as np

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.families.traced_numbers import TracedNumber, value_of
from tilewright.simulator.compile.store import place_codes
from tilewright.simulator.compile.store_header import store_header
from tilewright.simulator.compile.store_layout import StoreLayout, StoreTable
from tilewright.simulator.compile.table_blocks import (
    TABLES,
    WIDTHS,
    CodeBlock,
    CodeLayout,
    CompileTarget,
    ProgramTables,
    Rows,
    join_blocks,
    tables_of,
)


class WordBlock(NamedTuple):
    """Hold consecutive words, the first of them at the address `first`."""

    first: int
    words: list[int]


class CodeWords:
    """Hold compiled code as Python integers by address, which Python reads faster than arrays.

    `header`: the header of the store, with the profile's cycles. `words`: the tables of operations,
    operands, instructions and tasks. `task`: address of the first task. `scalars`: the table of
    scalar operations with its address; `loads`: that of register loads. `code[address]` is one
    word.
    """

    def __init__(
        self, header: list[int], words: WordBlock, task: int, scalars: WordBlock, loads: WordBlock
    ) -> None:
        self.header: Final = header
        self._first, self.words = words
        self.task: Final = task
        """Address of the first task."""
        self._first_scalar, self._scalars = scalars
        self._first_load, self._loads = loads

    def __getitem__(self, address: int) -> int:
        return self.words[address - self._first]

    def row(self, address: int, width: int) -> list[int]:
        """Return `width` words from an address on, such as a row of a table."""
        return self.words[address - self._first : address - self._first + width]

    def scalar(self, address: int) -> list[int]:
        """Return the words of a row of the table of scalar operations; address: that of the row."""
        first = address - self._first_scalar
        return self._scalars[first : first + at.U_WIDTH]

    def load(self, address: int) -> list[int]:
        """Return the words of a row of the table of register loads; address: that of the row."""
        first = address - self._first_load
        return self._loads[first : first + at.L_WIDTH]


def code_of_store(store: at.Table, parts: StoreLayout) -> CodeWords:
    """Return the compiled code of a whole program, as Python integers by address in the store.

    store: the engine's int64 array; parts: where each table is in it.
    """
    first, end = parts.operation.start, parts.task.end
    return CodeWords(
        store[: at.S_WIDTH].tolist(),
        WordBlock(first, store[first:end].tolist()),
        parts.task.start,
        _block(store, parts.scalar),
        _block(store, parts.load),
    )


def _block(words: at.Table, table: StoreTable) -> WordBlock:
    return WordBlock(table.start, words[table.start : table.end].tolist())


@dataclass(frozen=True, slots=True)
class _BlockLayout:
    """The tables of codes, consecutive from address 0."""

    operation: StoreTable
    operand: StoreTable
    instruction: StoreTable
    task: StoreTable
    binding: StoreTable
    scalar: StoreTable
    load: StoreTable


def code_of_block(block: CodeBlock) -> CodeWords:
    """Return one compiled code alone, as Python integers by addresses that begin at 0.

    The header has the cycles of the profile that it was compiled for.
    """
    tables, _ = join_blocks([block], store_header(block.target.profile))
    return code_of_tables(tables)


def code_of_tables(tables: ProgramTables) -> CodeWords:
    """Return the compiled codes of a program, as Python integers by addresses that begin at 0.

    The layouts of the program's codes say where the rows of each begin.
    """
    shapes = tables.shapes()
    firsts = accumulate((rows * width for rows, width in shapes), initial=0)
    places = [StoreTable(first, *shape) for first, shape in zip(firsts, shapes, strict=False)]
    parts = _BlockLayout(*places)
    words = np.zeros(places[-1].end, dtype=np.int64)
    place_codes(words, parts, tables)
    return CodeWords(
        tables.header.tolist(),
        WordBlock(0, words.tolist()),
        parts.task.start,
        _block(words, parts.scalar),
        _block(words, parts.load),
    )


def code_of_rows(layout: CodeLayout, rows: Rows, target: CompileTarget) -> CodeWords:
    """Return the words of the compiled code of one kind of element, the first word at address 0.

    layout: which tables the code has; rows: the rows of each table, whose numbers the words are;
    target: the profile and the colors that it was compiled for. Elements of one kind differ in some
    numbers only, such as lengths. Where a row has a traced number, an integer that remembers how it
    follows from these numbers, the word is that traced number, so that what is computed from one
    element's code holds for all.
    """
    plain = tuple([list(map(value_of, row)) for row in table] for table in rows)
    sizes = tuple(map(len, rows))
    code = code_of_block(CodeBlock(layout, target, sizes, lambda: tables_of(plain)))
    flat: Sequence[Any] = [n for table in rows for row in table for n in row]
    for address, number in enumerate(flat):
        if isinstance(
            number, TracedNumber
        ):  # never one that names a row: these do not depend on numbers
            code.words[address] = number  # type: ignore[call-overload]
    return code


assert len(WIDTHS) == len(TABLES)
