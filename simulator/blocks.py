"""Blocks of the engine's static tables, one per code, and the tables of a program of such blocks.

A block counts its rows from 0, so that it serves in every program that has its code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tilewright.simulator.engine import layout as at
from tilewright.simulator.operands import ResolvedOperation
from tilewright.simulator.program import ElementCode, Instruction, Reconfigure


@dataclass(frozen=True, slots=True)
class CodeLayout:
    """Where one code's rows are, and what an element of it needs.

    References from row to row count from the code's first row of that table.
    """

    code: ElementCode
    number: int
    """Another one for every block that was ever compiled."""
    operations: tuple[tuple[str, ResolvedOperation], ...]
    """(task, operation) per row of the operation table."""
    sources: tuple[tuple[str, Instruction | None], ...]
    """(task, instruction) that each row of the instruction table is for; None at a task's ends."""
    variables: tuple[str, ...]
    threads: tuple[int, ...]
    """Microthread id per thread row after the first."""
    queues: tuple[int, ...]
    """Slots of the queues that operations and tasks use."""
    listens: int
    """Bit per input queue from which wavelets start tasks."""
    pools: tuple[tuple[int, ...], ...]
    """FIFO rows of an element; their base counts from its first word."""
    registers: tuple[tuple[int, ...], ...]
    """Register rows of an element; what was loaded before the start names load rows."""
    register_names: tuple[str, ...]
    levels: int
    """Bit per priority of the operations on queues and FIFOs."""
    buffers: tuple[tuple[int, str], ...]
    """(operand row, buffer) of the operands that special operations and scalars touch."""
    changes: Mapping[str, Sequence[Reconfigure]]
    """What the routers of its elements may be changed to, by color."""
    bindings: Sequence[tuple[int, str]]
    """(slot, color) of the queues that are bound again while the program runs."""
    rebinds: bool
    """Whether it looks at what is in queues: they are not merged then."""
    first: Mapping[str, int]
    """The code's first row in each of TABLES."""


TABLES = ("operation", "operand", "instruction", "task", "binding", "scalar", "load")


@dataclass(frozen=True, slots=True)
class CodeTables:
    """The engine's static tables, of one code or of all; references count from a code's rows."""

    operation: at.Table
    operand: at.Table
    instruction: at.Table
    task: at.Table
    """First instruction of each task."""
    binding: at.Table
    scalar: at.Table
    load: at.Table

    def sizes(self) -> tuple[int, ...]:
        """Return the rows of each table."""
        return tuple(getattr(self, name).shape[0] for name in TABLES)


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """The tables of one code; its layout's rows begin at 0."""

    layout: CodeLayout
    tables: CodeTables


@dataclass(frozen=True, slots=True)
class ProgramTables:
    """The blocks of a program one after the other."""

    tables: CodeTables
    rows: npt.NDArray[np.int64]
    """(codes, TABLES) rows of each code."""
    first: npt.NDArray[np.int64]
    """(codes, TABLES) first row of each code."""
    header: at.Table
    """The store's header with the profile's cycles."""

    def origin(self, table: str, of: str) -> npt.NDArray[np.int64]:
        """Return, per row of one table, its code's first row in another."""
        return np.repeat(self.first[:, TABLES.index(of)], self.rows[:, TABLES.index(table)])


def joined(
    blocks: Sequence[CodeBlock], header: at.Table
) -> tuple[ProgramTables, tuple[CodeLayout, ...]]:
    """Return the tables of a program with these blocks, and where each code is in them."""
    rows = np.array([block.tables.sizes() for block in blocks], dtype=np.int64)
    rows = rows.reshape(len(blocks), len(TABLES))
    first = np.cumsum(rows, axis=0) - rows
    tables = (np.concatenate([getattr(b.tables, name) for b in blocks]) for name in TABLES)
    layouts = tuple(
        replace(block.layout, first=dict(zip(TABLES, mine, strict=True)))
        for block, mine in zip(blocks, first.tolist(), strict=True)
    )
    return ProgramTables(CodeTables(*tables), rows, first, header), layouts
