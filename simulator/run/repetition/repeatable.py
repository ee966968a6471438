"""Which programs do the same again when their state is the same again (theory/engines.md §12)."""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt

from tilewright.arch.memo import IdentityCache
from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.compiled_program import CompiledProgram
from tilewright.simulator.compile.table_blocks import CodeBlock, CodeTables

Ids = npt.NDArray[np.int64]
_REPEATS: Final = IdentityCache(256)
"""Compiled codes that have been looked at."""
PLAIN: Final = frozenset({at.I_COMPUTE, at.I_LOAD_REGISTER})
"""Instructions that do what they do, whatever the data, among others that may not."""
COUNTED = (at.I_END_LOOP, at.I_UNLESS_BELOW, at.I_ADD)
"""Instructions on counters that decide what is done."""


def may_repeat(compiled: CompiledProgram) -> bool:
    """Return whether repetitions of a program may be skipped: its state decides what it does next.

    That is not so if words choose its tasks, if it has FIFOs in memory or binds queues again, if
    values of data come into counters that decide what is done, or if a border stream has control
    wavelets.
    """
    if any(port.control for port in compiled.program.edge_inputs):
        return False
    blocks = compiled.tables.blocks
    return all(_REPEATS.of(block, "repeats", partial(_repeats, block)) for block in blocks)


def _repeats(block: CodeBlock) -> bool:
    """Return whether state decides what a code does next."""
    layout, tables = block.layout, block.tables
    if layout.listens or layout.pools or layout.bindings:
        return False
    kinds = set(tables.instruction[:, 0].tolist())
    if not all(kind < at.I_ARGUMENT or kind >= at.I_MAP_START for kind in kinds - PLAIN):
        return False
    if max(tables.operation[:, at.O_RESULT].tolist(), default=-1) >= 0:
        return False
    computes = tables.scalar.size or at.I_MAP_START in kinds
    return not computes or not _data_decide(tables)


def _data_decide(tables: CodeTables) -> bool:
    """Return whether a code has a counter that holds a value of data and decides what is done."""
    computed = set(computed_counters(tables).tolist())
    return bool(computed) and not computed.isdisjoint(_counted(tables) | _placing(tables))


def computed_counters(tables: CodeTables) -> Ids:
    """Return the counters that scalar instructions and maps write, which hold values of data."""
    scalar, instruction = tables.scalar, tables.instruction
    written = scalar[scalar[:, at.U_DEST] == at.COUNTER_VALUE, at.U_DEST_VALUE]
    maps = instruction[instruction[:, 0] == at.I_MAP_START, 1]
    read = tables.operation[maps, at.O_OPERANDS + 1 : at.O_OPERANDS + 3] >= 0
    return np.concatenate([written, tables.operation[maps, at.O_MAP + 1 : at.O_MAP + 3][read]])


def _counted(tables: CodeTables) -> set[int]:
    """Return the counters of loops and tests."""
    return {counter for kind, counter, *_ in tables.instruction.tolist() if kind in COUNTED}


def _placing(tables: CodeTables) -> set[int]:
    """Return the counters that say where operands begin, how long they are or how far they step."""
    operation, operand = tables.operation, tables.operand
    changes = operand[:, [at.D_LENGTH_ROW, at.D_STRIDE_ROW]]
    named = np.concatenate([changes.ravel(), operation[:, at.O_INDEX]])
    places = operand[:, at.D_KIND] == at.MEMORY
    places[named[named >= 0]] = True
    rows = operand[places]
    used = np.arange(at.MAX_TERMS) < rows[:, at.D_TERMS, None]
    return set(rows[:, at.D_VARIABLE : at.D_VARIABLE + at.MAX_TERMS][used].tolist())
