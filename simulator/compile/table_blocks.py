"""Blocks of the engine's static tables, one per code, and the tables of a program of such blocks.

A block counts its rows from 0, so that it serves in every program that has its code.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as at
from tilewright.simulator.isa.operands import ResolvedOperation
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.instruction import Instruction
from tilewright.simulator.program.program import ElementCode
from tilewright.simulator.program.routes import RouteChange


@dataclass(frozen=True, slots=True)
class CodeLayout:
    """Where one code's rows are, and what an element of it needs.

    References from row to row count from the code's first row of that table.
    """

    code: ElementCode
    number: int
    """Another one for every block that was ever compiled."""
    operations: Sequence[tuple[str, ResolvedOperation]]
    """(task, operation) per row of the operation table."""
    sources: Sequence[tuple[str, Instruction | None]]
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
    changes: Mapping[str, Sequence[RouteChange]]
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


Rows = tuple[list[list[int]], ...]
"""The rows of each of TABLES."""
WIDTHS = (at.O_WIDTH, at.D_WIDTH, at.I_WIDTH, 1, at.BIND_WIDTH, at.U_WIDTH, at.L_WIDTH)


def tables_of(rows: Rows) -> CodeTables:
    """Return rows as tables."""
    pairs = zip(rows, WIDTHS, strict=True)
    return CodeTables(*(np.array(r, dtype=np.int64).reshape(len(r), width) for r, width in pairs))


@dataclass(frozen=True, slots=True)
class CompileTarget:
    """What codes are compiled for: a profile with its number, and (name, id) of the colors."""

    profile: Profile
    number: int
    colors: tuple[tuple[str, int], ...]

    @property
    def key(self) -> Hashable:
        """Targets of the same key give the same tables."""
        return self.number, self.colors


@dataclass(frozen=True)
class CodeBlock:
    """The tables of one code; its layout's rows begin at 0."""

    layout: CodeLayout
    target: CompileTarget
    sizes: tuple[int, ...]
    """Rows of each table."""
    make: Callable[[], CodeTables]

    @cached_property
    def tables(self) -> CodeTables:
        """The tables, made when they are asked for: times alone need none."""
        return self.make()


@dataclass(frozen=True)
class ProgramTables:
    """The blocks of a program one after the other."""

    blocks: tuple[CodeBlock, ...]
    rows: npt.NDArray[np.int64]
    """(codes, TABLES) rows of each code."""
    first: npt.NDArray[np.int64]
    """(codes, TABLES) first row of each code."""
    header: at.Table
    """The store's header with the profile's cycles."""

    @cached_property
    def tables(self) -> CodeTables:
        """All blocks as one."""
        parts = [block.tables for block in self.blocks]
        return CodeTables(*(np.concatenate([getattr(p, name) for p in parts]) for name in TABLES))

    def shapes(self) -> list[tuple[int, int]]:
        """Return the rows and columns of each table."""
        return list(zip(self.rows.sum(axis=0).tolist(), WIDTHS, strict=True))

    def origin(self, table: str, of: str) -> npt.NDArray[np.int64]:
        """Return, per row of one table, its code's first row in another."""
        return np.repeat(self.first[:, TABLES.index(of)], self.rows[:, TABLES.index(table)])


def join_blocks(
    blocks: Sequence[CodeBlock], header: at.Table
) -> tuple[ProgramTables, tuple[CodeLayout, ...]]:
    """Return the tables of a program with these blocks, and where each code is in them."""
    rows = np.array([block.sizes for block in blocks], dtype=np.int64)
    rows = rows.reshape(len(blocks), len(TABLES))
    first = np.cumsum(rows, axis=0) - rows
    layouts = tuple(
        replace(block.layout, first=dict(zip(TABLES, first_rows, strict=True)))
        for block, first_rows in zip(blocks, first.tolist(), strict=True)
    )
    return ProgramTables(tuple(blocks), rows, first, header), layouts
