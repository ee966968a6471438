"""What an element of a code does with values: its operations, with the addresses of their operands.

Control depends on counters only, so the list is the same for all elements of the code. Each operand
is a line: a vector in memory of one dimension, or consecutive words of a queue. Codes with other
operands are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.table_blocks import CodeBlock
from tilewright.simulator.fast.no_certificate import Ints, NotCovered
from tilewright.simulator.fast.walk.memory_work import first_word, operation_map
from tilewright.simulator.fast.walk.plain_code import code_of_block
from tilewright.simulator.fast.walk.script import MainThreadWalk
from tilewright.simulator.fast.walk.walker import MOST_INSTRUCTIONS, ScriptWalker
from tilewright.simulator.isa.operations import ADD_CARRY, DROP

(
    N_ARITHMETIC,
    N_TYPE,
    N_EXTENT,
    N_SCALAR,  # bits, or the place of the scalar in memory
    N_SCALAR_WIDE,  # 0: bits
    N_PLACE,  # of destination and sources: 16-bit word of the element, or number in the queue
    _,
    _,
    N_STEP,  # of each, in 16-bit words
    _,
    _,
    N_WIDE,  # of each: 16-bit words per value, 0 for the scalar or nothing
    _,
    _,
    N_SLOT,  # of each: queue slot, -1 for memory
    _,
    _,
    N_WIDTH,
) = range(18)
NO_LINE: Final = (0, 0, 0, -1)
"""(place, step, words per value, slot) of an operand that is the scalar or nothing."""


@dataclass(frozen=True, slots=True)
class ElementLines:
    """All operations that an element of a code does in one run.

    `rows`: (operations, N_WIDTH), in order, loops unrolled. `walk`: the steps of the main thread,
    with numbers of words and of values. `reads`, `writes`: by buffer, how many values operations on
    registers and maps read and write.
    """

    rows: Ints
    walk: MainThreadWalk
    reads: Mapping[str, int]
    writes: Mapping[str, int]


def lines_of(block: CodeBlock) -> ElementLines:
    """Return the operations that each element of a compiled code does, loops unrolled.

    Raises NotCovered for scalar instructions, maps of scalar instructions, operands of several
    dimensions, and what `ScriptWalker.walk` refuses.
    """
    walker = _LineWalker(block)
    walk = walker.walk()
    rows = np.array(walker.rows, dtype=np.int64).reshape(-1, N_WIDTH)
    return ElementLines(rows, walk, walker.reads, walker.writes)


class _LineWalker(ScriptWalker):
    """A walk that runs every turn of each loop and notes the addresses of all operands."""

    def __init__(self, block: CodeBlock) -> None:
        super().__init__(code_of_block(block), block.layout, MOST_INSTRUCTIONS)
        self.walked = None
        self.rows: list[list[int]] = []
        self.reads: dict[str, int] = {}
        self.writes: dict[str, int] = {}
        self._first_operand = block.sizes[0] * at.O_WIDTH
        self._buffers = dict(block.layout.buffers)
        self._map_value: tuple[int, int] | None = None

    def _end_of(self, pc: int) -> int | None:  # noqa: ARG002
        return None  # no loop is taken as a whole

    def _scalar(self, row: int) -> None:  # noqa: ARG002
        raise NotCovered("a scalar instruction")

    def _map(self, pc: int) -> int:
        work = operation_map(self.store, pc)
        (row,) = work.rows
        operand = self.store[row + at.O_OPERANDS + 1]
        if len(work.body) != 1 or self.store[row + at.O_OPERANDS + 2] >= 0:
            raise NotCovered("a map of several operations or inputs")
        self._touch(self.reads, operand, work.turns)
        self._map_value = first_word(self.store, operand, self.state.variables), operand
        after = self._map_of_operations(pc)
        self._map_value = None
        return after

    def _operation(self, op: int) -> None:
        row = self.store.row(op, at.O_WIDTH)
        if row[at.O_ARITHMETIC] in (ADD_CARRY, DROP) or row[at.O_REDUCTION]:
            raise NotCovered("an operation of another kind")
        if not row[at.O_SPECIAL]:
            lines = [self._line(operand) for operand in row[at.O_OPERANDS : at.O_OPERANDS + 3]]
            self._note(row, row[at.O_EXTENT], lines)
        super()._operation(op)

    def _on_registers(self, op: int) -> None:
        row = self.store.row(op, at.O_WIDTH)
        lines, extents = [NO_LINE] * 3, set()
        for number, operand in enumerate(row[at.O_OPERANDS : at.O_OPERANDS + 3]):
            vector = self.state.registers.get(self.store[operand + at.D_BASE])
            if operand < 0 or vector is None:
                continue
            held = self.store.row(vector.row, at.D_WIDTH)
            lines[number] = vector.position, held[at.D_STRIDE], held[at.D_WIDE], -1
            extents.add(held[at.D_LENGTH])
            touched = self.reads if number else self.writes
            self._touch(touched, vector.row, held[at.D_LENGTH])
        super()._on_registers(op)  # refuses other operands
        if len(extents) != 1:
            raise NotCovered("registers of different lengths")
        self._note(row, extents.pop(), lines)

    def _line(self, operand: int) -> tuple[int, int, int, int]:
        if operand < 0:
            return NO_LINE
        row = self.store.row(operand, at.D_WIDTH)
        if row[at.D_KIND] in (at.FABRIC_IN, at.FABRIC_OUT):
            slot = row[at.D_BASE]
            return self.words[slot], 1, 1, slot
        if row[at.D_KIND] != at.MEMORY or row[at.D_DIMENSIONS] != 1 or row[at.D_WRAP]:
            raise NotCovered("an operand that is no line")
        place = first_word(self.store, operand, self.state.variables)
        low, high = place + row[at.D_LOW], place + row[at.D_HIGH]
        if low < row[at.D_FIRST] or high > row[at.D_LAST]:
            raise NotCovered("an operand leaves its buffer")
        return place, row[at.D_STRIDE], row[at.D_WIDE], -1

    def _note(self, row: list[int], extent: int, lines: list[tuple[int, int, int, int]]) -> None:
        columns = zip(*lines, strict=True)
        head = [row[at.O_ARITHMETIC], row[at.O_TYPE], extent, *self._scalar_of(row)]
        self.rows.append(head + [number for column in columns for number in column])

    def _scalar_of(self, row: list[int]) -> tuple[int, int]:
        """Return (bits, 0) of an operation's scalar, or (address in memory, words per value).

        Raises NotCovered for a scalar that is a value of counters.
        """
        operand = row[at.O_SCALAR_ROW]
        if operand < 0:
            return row[at.O_SCALAR], 0
        words = self.store.row(operand, at.D_WIDTH)
        if words[at.D_KIND] == at.MEMORY:
            return first_word(self.store, operand, self.state.variables), words[at.D_WIDE]
        if words[at.D_KIND] != at.VARIABLE or self._map_value is None:
            raise NotCovered("a scalar that is no value in memory")
        place, source = self._map_value  # the value of this turn; the next one has the next
        step, wide = self.store[source + at.D_STRIDE], self.store[source + at.D_WIDE]
        self._map_value = place + step, source
        return place, wide

    def _touch(self, touched: dict[str, int], operand: int, values: int) -> None:
        name = self._buffers[(operand - self._first_operand) // at.D_WIDTH]
        touched[name] = touched.get(name, 0) + values
