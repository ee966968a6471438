"""Which counters, registers and threads of a program decide whether two reads meet on a bank.

Only operations with two vectors in memory, whose distance is not known before the run, ask for
banks (wafer.md §2.1). Addresses of all others decide nothing in a run without values.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd, lcm
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.compiled_program import CompiledProgram
from tilewright.simulator.compile.table_blocks import CodeTables

Flags = npt.NDArray[np.bool_]


class BankPlaces(NamedTuple):
    """What of one code decides on memory banks.

    `vectors`: the operand rows whose first word counts, through the counters of their offsets;
    `registers`: whether the words that its data-structure registers point to count; `operations`:
    for each row of an operation whether the words at which its operands stand count.
    """

    vectors: at.Table
    registers: bool
    operations: Flags

    def modulus(self, counter: int) -> int:
        """Return the least m for which the banks depend only on a counter modulo m."""
        rows = self.vectors
        terms = np.arange(at.MAX_TERMS) < rows[:, at.D_TERMS, None]
        terms &= rows[:, at.D_VARIABLE : at.D_VARIABLE + at.MAX_TERMS] == counter
        factors = rows[:, at.D_FACTOR : at.D_FACTOR + at.MAX_TERMS][terms]
        return lcm(*(at.BANKS // gcd(int(factor), at.BANKS) for factor in factors))


def bank_places(compiled: CompiledProgram) -> Iterator[BankPlaces]:
    """Yield what of each code of a program decides on memory banks."""
    for block in compiled.tables.blocks:
        yield _of_code(block.tables)


def _of_code(tables: CodeTables) -> BankPlaces:
    """Return what of one code decides on banks; tables: its rows."""
    operation, operand, loaded = tables.operation, tables.operand, tables.load[:, at.L_ROW]
    operands = operation[:, at.O_OPERANDS : at.O_OPERANDS + 3]
    kind = np.where(operands >= 0, operand[operands, at.D_KIND], -1)
    may_meet = operation[:, at.O_BANKS] != 0
    sources, kinds = operands[may_meet, 1:], kind[may_meet, 1:]
    registers = bool((kinds == at.REGISTER).any())
    vectors = np.unique([*sources[kinds == at.MEMORY], *(loaded if registers else ())])
    has_register = (kind == at.REGISTER).any(axis=1)
    return BankPlaces(
        operand[vectors.astype(np.int64)], registers, may_meet | (has_register & registers)
    )
