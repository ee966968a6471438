"""What an element of a code does with values: its operations, with the addresses of their operands.

Control depends on counters only, so the list is the same for all elements of the code. Each operand
is a vector in memory, of one dimension or several, or consecutive words of a queue. Where a counter
that holds a value of data decides a place or a branch, the code is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.table_blocks import CodeBlock
from tilewright.simulator.fast.no_certificate import Ints, NotCovered
from tilewright.simulator.fast.values.line_rows import (
    A_MAP,
    A_MORE,
    A_SCALAR,
    M_WIDTH,
    N_WIDTH,
    NOTHING,
    S_KIND,
    S_WIDTH,
    Operand,
    Paths,
    Scalars,
    read_counters,
    written_counters,
)
from tilewright.simulator.fast.walk.memory_work import (
    MapParts,
    first_word,
    has_operations,
    map_parts,
    operation_map,
)
from tilewright.simulator.fast.walk.plain_code import code_of_block
from tilewright.simulator.fast.walk.script import MainThreadWalk
from tilewright.simulator.fast.walk.walker import MOST_INSTRUCTIONS, ScriptWalker
from tilewright.simulator.isa.operations import ADD_CARRY, DROP
from tilewright.simulator.isa.scalars import MOV


class _MapValue(NamedTuple):
    """The value that a map of operations takes in a turn.

    `place`: its word in memory; `step`: words to that of the next turn; `wide`: words of a value;
    `counter`: which gets it.
    """

    place: int
    step: int
    wide: int
    counter: int


@dataclass(frozen=True, slots=True)
class ElementLines:
    """All operations that an element of a code does in one run.

    `rows`: (operations, N_WIDTH), in order, loops unrolled. `maps`: (rows of maps, M_WIDTH);
    `scalars`: (instructions, S_WIDTH); `paths`: of operands with several dimensions the 16-bit
    words of all values from the first one on. `counters`: how many there are. `walk`: the steps of
    the main thread, with numbers of words and of values. `reads`, `writes`: by buffer, how many
    values operations on registers, maps and scalar instructions read and write.
    """

    rows: Ints
    maps: Ints
    scalars: Ints
    paths: Ints
    counters: int
    walk: MainThreadWalk
    reads: Mapping[str, int]
    writes: Mapping[str, int]


def lines_of(block: CodeBlock) -> ElementLines:
    """Return the operations that each element of a compiled code does, loops unrolled.

    Raises NotCovered for operands that a circular buffer or a changed stride moves, and what
    `ScriptWalker.walk` refuses: among others counters of data that decide what is done.
    """
    walker = _LineWalker(block)
    walk = walker.walk()
    return ElementLines(
        _table(walker.rows, N_WIDTH),
        _table(walker.maps, M_WIDTH),
        _table(walker.scalars.rows, S_WIDTH),
        np.array(walker.paths.words, dtype=np.int64),
        len(block.layout.variables),
        walk,
        walker.reads,
        walker.writes,
    )


def _table(rows: Sequence[Sequence[int]], width: int) -> Ints:
    return np.array(rows, dtype=np.int64).reshape(-1, width)


class _LineWalker(ScriptWalker):
    """A walk that runs every turn of each loop and notes the addresses of all operands."""

    def __init__(self, block: CodeBlock) -> None:
        super().__init__(code_of_block(block), block.layout, MOST_INSTRUCTIONS)
        self.walked = None
        self.rows: list[list[int]] = []
        self.maps: list[list[int]] = []
        self.paths, self.scalars = Paths(), Scalars()
        self.reads: dict[str, int] = {}
        self.writes: dict[str, int] = {}
        self._first_operand = block.sizes[0] * at.O_WIDTH
        self._buffers = dict(block.layout.buffers)
        self._parts: dict[int, MapParts] = {}
        """Maps of scalar instructions, by their addresses."""
        self._bodies: dict[int, list[list[int]]] = {}
        """Their instructions if they work on counters only, by the address behind the map."""
        self._map_value: _MapValue | None = None
        self._lost: set[int] = set()
        """Counters that maps of operations set, whose values are not kept."""

    def _end_of(self, pc: int) -> int | None:  # noqa: ARG002
        return None  # no loop is taken as a whole

    # -- maps and scalar instructions ------------------------------------------------------

    def _scalar(self, row: int) -> None:
        instruction = self._instruction_row(row, 1)
        self._set_known([instruction])
        self._note(A_SCALAR, self.scalars.of([instruction]), 1)
        self._lost.difference_update(written_counters([instruction]))
        super()._scalar(row)

    def _map(self, pc: int) -> int:
        if has_operations(self.store, pc):
            return self._map_with_operation(pc)
        if pc not in self._parts:
            self._parts[pc] = map_parts(self.store, pc)
        parts = self._parts[pc]
        self.memory.check_work(parts.reaches, {})
        turns = self._note_map(parts)
        self.runs[self.store[parts.rows[0] + at.O_NUMBER]] += turns
        self.state.variables.unknown.update(parts.counters)
        self._lost.difference_update(parts.counters)
        return parts.after

    def _map_with_operation(self, pc: int) -> int:
        work = operation_map(self.store, pc)
        (row,) = work.rows
        operand = self.store[row + at.O_OPERANDS + 1]
        if len(work.body) != 1 or self.store[row + at.O_OPERANDS + 2] >= 0:
            raise NotCovered("a map of several operations or inputs")
        place, step, wide, _, path = self._operand(operand, work.turns)
        if path >= 0:
            raise NotCovered("a map of operations over a vector of several dimensions")
        self._touch(self.reads, operand, work.turns)
        self._map_value = _MapValue(place, step, wide, self.store[row + at.O_MAP + 1])
        after = self._map_of_operations(pc)
        self._map_value = None
        self._lost.update(work.counters)
        return after

    def _note_map(self, parts: MapParts) -> int:
        """Append the rows of a map of scalar instructions, and count accesses; return its turns."""
        if any(self.store[row + at.O_POINTER] for row in parts.rows):
            raise NotCovered("a map that writes behind a pointer")
        named = self._in_order(parts.rows)
        turns = min(self._length(operand) for _, operand in named)
        taken = list(self._taken(named, turns))
        rest = sum(times - turns for _, _, times in taken)
        body = self._body(parts, turns)
        self._set_known(body)
        head = [turns, self.scalars.of(body), len(body), len(parts.rows), rest]
        for number, row in enumerate(parts.rows):
            words = self.store.row(row, at.O_WIDTH)
            operands = [
                self._operand(operand, turns + 1)
                for operand in words[at.O_OPERANDS : at.O_OPERANDS + 3]
            ]
            self._note(A_MORE if number else A_MAP, len(self.maps), turns, operands)
            counters = words[at.O_MAP : at.O_MAP + 3]
            self.maps.append(head + counters + words[at.O_MAP_BITS : at.O_MAP_BITS + 3])
        for place, operand, times in taken:
            self._access(place, operand, times)
        return turns

    def _in_order(self, rows: list[int]) -> list[tuple[int, int]]:
        """Return (place, operand) of a map's operands, in the order in which a turn looks at them.

        place: 0 for the output, which is looked at behind the inputs of its row.
        """
        named = [
            (place, self.store[row + at.O_OPERANDS + place]) for row in rows for place in (1, 2, 0)
        ]
        return [(place, operand) for place, operand in named if operand >= 0]

    def _length(self, operand: int) -> int:
        """Return the values of an operand of a map; raises NotCovered if only the run knows."""
        row = self.store.row(operand, at.D_WIDTH)
        length = row[at.D_LENGTH] & 0xFFFF  # as the engine counts
        is_memory = row[at.D_KIND] == at.MEMORY
        if not is_memory and row[at.D_KIND] not in (at.FABRIC_IN, at.FABRIC_OUT):
            raise NotCovered("a map on a register or a FIFO")
        if row[at.D_LENGTH_ROW] >= 0 or (length == at.ENDLESS and not is_memory):
            raise NotCovered("a map of a length that is known in the run only")
        return length

    def _taken(self, named: list[tuple[int, int]], turns: int) -> Iterator[tuple[int, int, int]]:
        """Yield a map's operands, each with the number of its values that are taken or given.

        An input that comes before one that is at its end is taken once more.
        """
        is_over = False
        for place, operand in named:
            is_over = is_over or self._length(operand) == turns
            yield place, operand, turns + (place > 0 and not is_over)

    def _access(self, place: int, operand: int, times: int) -> None:
        """Count the values that an operand of a map or scalar instruction takes or gives.

        place: 0 for a destination.
        """
        row = self.store.row(operand, at.D_WIDTH)
        if row[at.D_KIND] == at.MEMORY:
            self._touch(self.reads if place else self.writes, operand, times)
        else:
            self.words[row[at.D_BASE]] += times

    def _body(self, parts: MapParts, times: int) -> list[list[int]]:
        """Return the instructions of a map, which are always the same if they touch no memory."""
        key = parts.after
        if key in self._bodies:
            return self._bodies[key]
        body = [self._instruction_row(row, times) for row in parts.body]
        if not any(at.ELEMENT in row[S_KIND : S_KIND + 3] for row in body):
            self._bodies[key] = body
        return body

    def _instruction_row(self, row: int, times: int) -> list[int]:
        """Return a scalar instruction with the places of its operands; count their accesses."""
        words = self.store.scalar(row)
        columns = []
        for place in (at.U_DEST, at.U_LEFT, at.U_RIGHT):
            kind, value, wide = words[place], words[place + 1], 0
            if kind == at.ELEMENT:
                self._access(place - at.U_DEST, value, times)
                value, _, wide, _, _ = self._operand(value, 1)
            columns.append((kind, value, wide))
        by_column = zip(*columns, strict=True)
        return [*words[: at.U_DEST], *(number for column in by_column for number in column)]

    def _set_known(self, body: list[list[int]]) -> None:
        """Append instructions that set the counters that a body reads and the walk knows.

        Raises NotCovered for a counter whose value is not kept.
        """
        unknown = self.state.variables.unknown
        for slot in sorted(read_counters(body)):
            if slot in self._lost:
                raise NotCovered("a scalar instruction reads the value of a map of operations")
            if slot in unknown:
                continue
            value = self.state.variables.get(slot)
            if not -(1 << 31) <= value < 1 << 31:
                raise NotCovered("a counter of more than 32 bits")
            row = [MOV, at.SCALAR_I32, at.COUNTER_VALUE, *[at.NUMBER] * 2, slot, value, *[0] * 4]
            self._note(A_SCALAR, self.scalars.of([row]), 1)

    # -- operations ------------------------------------------------------------------------

    def _operation(self, op: int) -> None:
        row = self.store.row(op, at.O_WIDTH)
        if row[at.O_ARITHMETIC] in (ADD_CARRY, DROP) or row[at.O_REDUCTION]:
            raise NotCovered("an operation of another kind")
        if not row[at.O_SPECIAL]:
            extent = row[at.O_EXTENT]
            named = row[at.O_OPERANDS : at.O_OPERANDS + 3]
            operands = [self._operand(operand, extent) for operand in named]
            scalar = self._scalar_of(row)
            self._note(row[at.O_ARITHMETIC], row[at.O_TYPE], extent, operands, scalar)
        super()._operation(op)

    def _on_registers(self, op: int) -> None:
        row = self.store.row(op, at.O_WIDTH)
        operands, extents = [NOTHING] * 3, set()
        for number, operand in enumerate(row[at.O_OPERANDS : at.O_OPERANDS + 3]):
            vector = self.state.registers.get(self.store[operand + at.D_BASE])
            if operand < 0 or vector is None:
                continue
            held = self.store.row(vector.row, at.D_WIDTH)
            operands[number] = Operand(vector.position, held[at.D_STRIDE], held[at.D_WIDE])
            extents.add(held[at.D_LENGTH])
            touched = self.reads if number else self.writes
            self._touch(touched, vector.row, held[at.D_LENGTH])
        super()._on_registers(op)  # refuses other operands
        if len(extents) != 1:
            raise NotCovered("registers of different lengths")
        scalar = self._scalar_of(row)
        self._note(row[at.O_ARITHMETIC], row[at.O_TYPE], extents.pop(), operands, scalar)

    def _operand(self, operand: int, values: int) -> Operand:
        """Return the columns of an operand, of which at most so many values are taken."""
        if operand < 0:
            return NOTHING
        row = self.store.row(operand, at.D_WIDTH)
        if row[at.D_KIND] in (at.FABRIC_IN, at.FABRIC_OUT):
            slot = row[at.D_BASE]
            return Operand(self.words[slot], 1, 1, slot)
        if row[at.D_KIND] != at.MEMORY or row[at.D_WRAP] or row[at.D_STRIDE_ROW] >= 0:
            raise NotCovered("an operand that a circular buffer or a changed stride moves")
        place = first_word(self.store, operand, self.state.variables)
        low, high = place + row[at.D_LOW], place + row[at.D_HIGH]
        if low < row[at.D_FIRST] or high > row[at.D_LAST]:
            raise NotCovered("an operand leaves its buffer")
        path = self.paths.of(row, values)
        return Operand(place, row[at.D_STRIDE], row[at.D_WIDE], -1, path)

    def _note(
        self,
        arithmetic: int,
        value_type: int,
        extent: int,
        operands: Sequence[Operand] = (NOTHING,) * 3,
        scalar: tuple[int, int] = (0, 0),
    ) -> None:
        columns = zip(*operands, strict=True)
        head = [arithmetic, value_type, extent, *scalar]
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
        value, term = self._map_value, (words[at.D_BASE], words[at.D_TERMS], words[at.D_FACTOR])
        is_value = words[at.D_KIND] == at.VARIABLE and term == (0, 1, 1)
        if value is None or not is_value or words[at.D_VARIABLE] != value.counter:
            raise NotCovered("a scalar that is no value in memory")
        self._map_value = value._replace(place=value.place + value.step)  # of the next turn
        return value.place, value.wide

    def _touch(self, touched: dict[str, int], operand: int, values: int) -> None:
        name = self._buffers[(operand - self._first_operand) // at.D_WIDTH]
        touched[name] = touched.get(name, 0) + values
