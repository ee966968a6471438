"""Compiled code as blocks of the engine's static tables, one per code, joined for a program.

A block counts its rows from 0, so that it serves in every program that has its code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    """Say what the rows of one compiled code stand for, and what an element of it needs.

    - `code`: the source; `number`: unique for each compiled code.
    - `operations`: (task, operation) per row of the operation table; `sources`: (task, instruction)
      per row of the instruction table, None at a task's ends.
    - `variables`: names of the counters; `threads`: microthread id per thread after the main one.
    - `queues`: slots in use (0 to 7 input, 8 to 15 output queues); `listens`: bits of the input
      queues from which wavelets start tasks.
    - `pools`: a row per FIFO in memory; `registers`, `register_names`: the data-structure
      registers.
    - `levels`: bits of the priorities in use; `buffers`: (operand row, buffer) of operands.
    - `changes`: per color what routers may be changed to; `bindings`: (slot, color) of queues that
      are bound again; `rebinds`: whether it looks at what is in queues.
    - `first`: the code's first row in each table of the program; other row numbers count from
      there.
    """

    code: ElementCode
    number: int
    operations: Sequence[tuple[str, ResolvedOperation]]
    sources: Sequence[tuple[str, Instruction | None]]
    variables: tuple[str, ...]
    threads: tuple[int, ...]
    queues: tuple[int, ...]
    listens: int
    pools: tuple[tuple[int, ...], ...]
    """FIFO rows of an element; their base counts from its first word."""
    registers: tuple[tuple[int, ...], ...]
    """Register rows of an element; what was loaded before the start names load rows."""
    register_names: tuple[str, ...]
    levels: int
    buffers: tuple[tuple[int, str], ...]
    """(operand row, buffer) of the operands that special operations and scalars touch."""
    changes: Mapping[str, Sequence[RouteChange]]
    bindings: Sequence[tuple[int, str]]
    rebinds: bool
    """Whether it looks at what is in queues: they are not merged then."""
    first: Mapping[str, int]


TABLES = ("operation", "operand", "instruction", "task", "binding", "scalar", "load")


@dataclass(frozen=True, slots=True)
class CodeTables:
    """Hold the engine's tables of one code, or of all codes of a program one after the other.

    Each is an int64 array (rows, columns): operations, operands, instructions, first instruction of
    each task, bindings (tasks that wavelets start), scalar operations, register loads. References
    between tables are row numbers that count from the code's first row.
    """

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
    """Turn lists of rows, one list per table of a compiled code, into int64 arrays.

    The tables, in the order of TABLES: operations, operands, instructions, tasks, bindings, scalar
    operations, register loads.
    """
    pairs = zip(rows, WIDTHS, strict=True)
    return CodeTables(*(np.array(r, dtype=np.int64).reshape(len(r), width) for r, width in pairs))


@dataclass(frozen=True, slots=True)
class CompileTarget:
    """Say what codes are compiled for: a profile (a machine's cycles and sizes) and colors.

    number: unique for the profile; colors: (name, number) of the program's colors.
    """

    profile: Profile
    number: int
    colors: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class CodeBlock:
    """Hold one compiled code (what a class of elements runs), for every program that has it.

    - `layout`: what the rows of its tables stand for; they count from 0.
    - `target`: profile and colors that it was compiled for.
    - `sizes`: rows of each table.
    - `make`: makes the tables.
    """

    layout: CodeLayout
    target: CompileTarget
    sizes: tuple[int, ...]
    make: Callable[[], CodeTables]

    @cached_property
    def tables(self) -> CodeTables:
        """The tables of the code, made at the first use: the fast engine may not need them."""
        return self.make()


@dataclass(frozen=True)
class ProgramTables:
    """Hold the tables of all codes of a program, one code after the other.

    - `blocks`: the compiled codes.
    - `rows`: (codes, tables) rows of each code.
    - `first`: (codes, tables) first row of each code in the joined table.
    - `header`: the store's header with the profile's cycles.
    """

    blocks: tuple[CodeBlock, ...]
    rows: npt.NDArray[np.int64]
    first: npt.NDArray[np.int64]
    header: at.Table

    @cached_property
    def tables(self) -> CodeTables:
        """The tables of all codes joined, made at the first use; row references stay per code."""
        parts = [block.tables for block in self.blocks]
        return CodeTables(*(np.concatenate([getattr(p, name) for p in parts]) for name in TABLES))

    def shapes(self) -> list[tuple[int, int]]:
        """Return (rows, columns) of each table of the program's codes, in the order of TABLES."""
        return list(zip(self.rows.sum(axis=0).tolist(), WIDTHS, strict=True))

    def origin(self, table: str, of: str) -> npt.NDArray[np.int64]:
        """Return for each row of `table` the number of its code's first row in the table `of`.

        Adding it to a reference, which counts from the code's first row, gives the row of the
        joined table.
        """
        return np.repeat(self.first[:, TABLES.index(of)], self.rows[:, TABLES.index(table)])


def join_blocks(
    blocks: Sequence[CodeBlock], header: at.Table
) -> tuple[ProgramTables, tuple[CodeLayout, ...]]:
    """Join compiled codes to the tables of a program; return them and the layout of each code.

    The layouts say what the rows stand for and where each code's rows begin. header: the store's
    header with the profile's cycles.
    """
    rows = np.array([block.sizes for block in blocks], dtype=np.int64)
    rows = rows.reshape(len(blocks), len(TABLES))
    first = np.cumsum(rows, axis=0) - rows
    layouts = tuple(
        replace(block.layout, first=dict(zip(TABLES, first_rows, strict=True)))
        for block, first_rows in zip(blocks, first.tolist(), strict=True)
    )
    return ProgramTables(tuple(blocks), rows, first, header), layouts
