"""Work on memory alone: the cycles of operations and maps, and the words that they touch.

Such work has a fixed duration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Final, NamedTuple

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.code.bank_costs import BankRead, groups_in, meetings
from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.fast.walk.plain_code import CodeWords

NONE: Final[Mapping[int, int]] = MappingProxyType({})
Span = tuple[int, int]
"""The first and the last of consecutive words."""


class TouchedWords(NamedTuple):
    """Hold the memory words that an operation touches.

    `touched`: spans that it reads or writes; `written`: those of them that it writes. A span is the
    first and the last of consecutive 16-bit words, by their addresses in the element. Two
    operations may run side by side if neither writes what the other touches.
    """

    touched: list[Span]
    written: list[Span]


def busy_cycles(code: CodeWords, op: int, variables: Mapping[int, int] = NONE) -> int:
    """Return the cycles for which an operation on memory alone keeps the main thread busy.

    op: address of the operation's row; variables: values of the counters. The values that go at
    once are a group: the cycles are the number of groups times the cycles per group, plus those of
    groups whose two reads are of the same bank, rounded up; at least 1. Example: 10 values in
    groups of 4 at 1 cycle each take 3 cycles.
    """
    row = code.row(op, at.O_WIDTH)
    reads = []
    if row[at.O_BANKS]:
        reads = [bank_read(code, row[at.O_OPERANDS + source], variables) for source in (1, 2)]
    return cycles_of_extent(row, row[at.O_EXTENT], reads)


def cycles_of_extent(row: Sequence[int], extent: int, reads: Sequence[BankRead]) -> int:
    """Return the cycles of an operation on memory of `extent` values, bank conflicts included.

    row: of the operation, O_WIDTH words; reads: how its two sources are read if they may be in one
    bank, else empty.
    """
    length = max(1, min(extent, row[at.O_ROW]))
    cycles = groups_in(extent, row[at.O_GROUP], length) * row[at.O_CYCLES]
    if reads:
        met = meetings(reads[0], reads[1], extent, row[at.O_GROUP], length)
        cycles += met * row[at.O_BANKS]
    return max(1, -(-cycles // row[at.O_DENOMINATOR]))


def free_cycles(row: Sequence[int], extent: int | None = None) -> int:
    """Return the cycles that an operation on memory alone takes without bank conflicts.

    row: of the operation, O_WIDTH words; extent: number of values, None for that of the row.
    """
    if extent is None:
        extent = row[at.O_EXTENT]
    groups = groups_in(extent, row[at.O_GROUP], max(1, min(extent, row[at.O_ROW])))
    return max(1, -(-groups * row[at.O_FREE] // row[at.O_DENOMINATOR]))


def bank_read(code: CodeWords, operand: int, variables: Mapping[int, int]) -> BankRead:
    """Return the words that a memory operand reads, for the count of bank conflicts.

    operand: address of its row; variables: values of counters, by slot.
    """
    return read_from(code, operand, first_word(code, operand, variables))


def first_word(code: CodeWords, operand: int, variables: Mapping[int, int]) -> int:
    """Return the address of a memory operand's first 16-bit word in the element.

    operand: address of its row; variables: values of the counters that the address depends on.
    """
    words = code.row(operand, at.D_WIDTH)
    position = words[at.D_BASE]
    for i in range(words[at.D_TERMS]):
        position += words[at.D_FACTOR + i] * variables.get(words[at.D_VARIABLE + i], 0)
    return position


def read_from(code: CodeWords, operand: int, position: int) -> BankRead:
    """Return the words that a memory operand reads if it begins at word `position`.

    operand: address of its row, which has extents and strides.
    """
    words = code.row(operand, at.D_WIDTH)
    dimensions = words[at.D_DIMENSIONS]
    extents = tuple(words[at.D_EXTENT : at.D_EXTENT + dimensions])
    strides = tuple(words[at.D_STRIDE : at.D_STRIDE + dimensions])
    return BankRead(position, words[at.D_WIDE], extents, strides)


def check_fabric(code: CodeWords, row: Sequence[int]) -> None:
    """Raise NotCovered for an operation with queues whose times the solver does not know.

    row: O_WIDTH words of the operation. Not covered are rates that are no whole number of cycles,
    microthreads slower than one word per cycle, and an operation that takes from one queue twice.
    """
    if row[at.O_DENOMINATOR] != 1 or min(row[at.O_CYCLES], row[at.O_LOAD]) < 1:
        raise NotCovered("a pace that is not a whole number of cycles")
    if row[at.O_ASYNC] and row[at.O_CYCLES] != 1:
        raise NotCovered("a microthread slower than one word per cycle")
    operands = [row[at.O_OPERANDS + operand] for operand in range(3)]
    fabric = [r for r in operands if r >= 0 and code[r + at.D_KIND] != at.MEMORY]
    if len(fabric) != row[at.O_QUEUES].bit_count():
        raise NotCovered("an operation takes from one queue twice")


class OperandReach(NamedTuple):
    """Hold the memory words that an operand touches, as they depend on counters.

    `low`, `high`: first and last 16-bit word in the element while all counters are 0. `terms`:
    (counter, words by which each of its steps moves the operand). `written`: whether it is written.
    """

    low: int
    high: int
    terms: list[tuple[int, int]]
    written: bool

    def span(self, variables: Mapping[int, int], ranges: Mapping[int, Span]) -> Span:
        """Return the first and the last 16-bit word that the operand touches.

        variables: values of counters; ranges: (first, last value) of counters that run over a
        range, over all of which the span is taken. A counter in neither is 0.
        """
        low, high = self.low, self.high
        for slot, factor in self.terms:
            first, last = ranges.get(slot) or (variables.get(slot, 0),) * 2
            low += factor * (first if factor > 0 else last)
            high += factor * (last if factor > 0 else first)
        return low, high


def reaches_of(code: CodeWords, op: int) -> list[OperandReach]:
    """Return the memory words that each memory operand of an operation touches.

    op: address of the operation's row. The destination is marked as written, the others as read.
    """
    columns = range(at.O_OPERANDS, at.O_SCALAR_ROW + 1)
    rows = [(code[op + column], column == at.O_OPERANDS) for column in columns]
    return [
        reach_of(code, row, written=written)
        for row, written in rows
        if row >= 0 and code[row + at.D_KIND] == at.MEMORY
    ]


def reach_of(code: CodeWords, row: int, *, written: bool) -> OperandReach:
    """Return the memory words that an operand in memory touches; row: its address."""
    words = code.row(row, at.D_WIDTH)
    low, high = words[at.D_BASE] + words[at.D_LOW], words[at.D_BASE] + words[at.D_HIGH]
    count = words[at.D_TERMS]
    slots = words[at.D_VARIABLE : at.D_VARIABLE + count]
    terms = list(zip(slots, words[at.D_FACTOR : at.D_FACTOR + count], strict=True))
    return OperandReach(low, high + words[at.D_WIDE] - 1, terms, written)


def have_common_word(first: list[Span], second: list[Span]) -> bool:
    """Return whether a span of the first list and one of the second share a memory word.

    A span is (first, last) of consecutive words, both included.
    """
    return any(a[0] <= b[1] and b[0] <= a[1] for a in first for b in second)


class ScalarWork(NamedTuple):
    """Hold a scalar instruction as work of the main thread.

    `cycles`: for which it is busy. `reaches`: the memory words that it reads or writes. `counters`:
    slots of the counters that it sets, whose values depend on data.
    """

    cycles: int
    reaches: list[OperandReach]
    counters: list[int]


class MapWork(NamedTuple):
    """Hold a whole map as work of the main thread.

    `cycles`: for which it is busy; `reaches`: memory words; `counters`: slots of counters that it
    sets, as of scalar instructions. `recorded`: cycles that the timeline shows. `rows`: addresses
    of its operation rows, each of which has up to two inputs; the first has the output, too.
    `turns`: how often the body runs. `after`: address of the instruction behind the map.
    """

    cycles: int
    reaches: list[OperandReach]
    counters: list[int]
    recorded: int
    rows: list[int]
    turns: int
    after: int


def has_operations(code: CodeWords, pc: int) -> bool:
    """Return whether a map, whose first instruction is at pc, has operations in its body."""
    while code[pc] != at.I_MAP_END:
        if code[pc] == at.I_OPERATION:
            return True
        pc += at.I_WIDTH
    return False


def scalar_work(code: CodeWords, row: int) -> ScalarWork:
    """Return the work of a scalar instruction; row: address of the scalar operation."""
    words = code.scalar(row)
    cycles, reaches = code.header[at.K_SCALAR], []
    for column in (at.U_DEST, at.U_LEFT, at.U_RIGHT):
        if words[column] == at.ELEMENT:
            cycles += code.header[at.K_SCALAR_OPERAND]
            reaches.append(reach_of(code, words[column + 1], written=column == at.U_DEST))
    is_counter = words[at.U_DEST] == at.COUNTER_VALUE
    return ScalarWork(cycles, reaches, [words[at.U_DEST_VALUE]] if is_counter else [])


class MapParts(NamedTuple):
    """Hold a map of scalar instructions.

    `rows`, `after`: as of `MapWork`. `body`: addresses of the scalar operations of a turn.
    `reaches`: memory words; `counters`: slots of counters that it sets.
    """

    rows: list[int]
    body: list[int]
    reaches: list[OperandReach]
    counters: list[int]
    after: int


def map_parts(code: CodeWords, pc: int) -> MapParts:
    """Return the parts of the map whose first instruction is at address pc.

    Raises NotCovered for a body with other than scalar instructions.
    """
    rows, pc = _rows_of(code, pc, at.I_MAP_START)
    _, pc = _rows_of(code, pc, at.I_MAP_READ)
    body, pc = _rows_of(code, pc, at.I_COMPUTE)
    if code[pc] != at.I_MAP_WRITE:
        raise NotCovered("a map with other than scalar instructions")
    _, after = _rows_of(code, pc + at.I_WIDTH, at.I_MAP_END)
    of_rows = [(reaches_of(code, row), _counters_of(code, row)) for row in rows]
    works = [scalar_work(code, row) for row in body]
    of_body = [(work.reaches, work.counters) for work in works]
    reaches, counters = zip(*of_rows, *of_body, strict=True)
    every, slots = list(chain.from_iterable(reaches)), list(chain.from_iterable(counters))
    return MapParts(rows, body, every, slots, after)


def map_work(code: CodeWords, pc: int) -> MapWork:
    """Return the work of the map whose first instruction is at address pc.

    Raises NotCovered for operands that are not in memory, lengths that are known in the run only,
    and a body with other than scalar instructions.
    """
    rows, body, reaches, counters, after = map_parts(code, pc)
    turns, cycles = _map_cycles(code, rows, sum(scalar_work(code, row).cycles for row in body))
    recorded = cycles - code.header[at.K_SCALAR] + 1
    return MapWork(cycles, reaches, counters, recorded, rows, turns, after)


class OperationMap(NamedTuple):
    """Hold a map with operations in its body.

    `rows`: address of its row, a list of one. `turns`: how often the body runs. `start`, `step`,
    `end`: cycles before the first turn, of each turn beside its operations, and behind the last.
    `body`: addresses of the operations of a turn. `reaches`: memory words of the map's operands.
    `counters`: slots of those that it sets. `after`: address of the instruction behind it.
    """

    rows: list[int]
    turns: int
    start: int
    step: int
    end: int
    body: list[int]
    reaches: list[OperandReach]
    counters: list[int]
    after: int


def operation_map(code: CodeWords, pc: int) -> OperationMap:
    """Return the map with operations in its body whose first instruction is at address pc.

    Raises NotCovered for a map with a result or with more than two inputs, for a length that is
    known in the run only, and for a body with anything but operations on memory.
    """
    rows, pc = _rows_of(code, pc, at.I_MAP_START)
    _, pc = _rows_of(code, pc, at.I_MAP_READ)
    body, pc = _rows_of(code, pc, at.I_OPERATION)
    if code[pc] != at.I_MAP_WRITE or code[rows[0] + at.O_OPERANDS] >= 0 or len(rows) > 1:
        raise NotCovered("a map with other than operations, or of several inputs")
    if any(code[op + at.O_FABRIC] for op in body):
        raise NotCovered("an operation on a queue in a map")
    _, after = _rows_of(code, pc + at.I_WIDTH, at.I_MAP_END)
    row, scalar = rows[0], code.header[at.K_SCALAR]
    return OperationMap(
        rows,
        min(_lengths(code, row)),
        max(1, code[row + at.O_LOAD]),
        code.header[at.K_MAP],
        2 * scalar,  # a read that finds no value, and the end
        body,
        reaches_of(code, row),
        _counters_of(code, row),
        after,
    )


def _counters_of(code: CodeWords, row: int) -> list[int]:
    """Return the counters that a map sets to the values of one of its rows."""
    return [code[row + at.O_MAP + n] for n in range(3) if code[row + at.O_OPERANDS + n] >= 0]


def _rows_of(code: CodeWords, pc: int, kind: int) -> tuple[list[int], int]:
    """Return the operations of consecutive instructions of a kind, and the address behind them."""
    rows = []
    while code[pc] == kind:
        rows.append(code[pc + 1])
        pc += at.I_WIDTH
    return rows, pc


def _map_cycles(code: CodeWords, rows: list[int], body: int) -> tuple[int, int]:
    """Return how often a map's body runs, and the map's cycles; body: cycles of its body."""
    step, scalar = code.header[at.K_MAP], code.header[at.K_SCALAR]
    lengths = [_lengths(code, row) for row in rows]
    turns = min(length for part in lengths for length in part)
    writes = scalar if code[rows[0] + at.O_OPERANDS] >= 0 else 0
    loads = sum(max(1, code[row + at.O_LOAD]) for row in rows)
    # a last read finds no value: that of the first row, or that of a later one behind it
    last_read = scalar if turns in lengths[0] else step + scalar
    return turns, loads + turns * (step + body + writes) + last_read + scalar


def _lengths(code: CodeWords, op: int) -> list[int]:
    """Return the lengths of a map's operands that can end it.

    Raises NotCovered for an operand that is a queue or a register.
    """
    lengths = []
    for place, row in enumerate(code.row(op + at.O_OPERANDS, 3)):
        if row < 0:
            continue
        words = code.row(row, at.D_WIDTH)
        if words[at.D_KIND] != at.MEMORY or words[at.D_LENGTH_ROW] >= 0:
            raise NotCovered("a map on a queue or a register")
        if place > 0 or code[op + at.O_POINTER] == 0:
            lengths.append(words[at.D_LENGTH] & 0xFFFF)  # as the engine counts
    return lengths
