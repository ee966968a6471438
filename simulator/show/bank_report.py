"""Report the bank conflicts of a run by operation, and moves of buffers that would avoid them.

An element's memory has 8 banks, successive 16-bit words in successive banks; the two reads of a
cycle must not touch one bank (wafer.md §2.1).
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.simulator.compile.code.bank_costs import has_known_bank, meetings, read_of, row_of
from tilewright.simulator.compile.columns import BANKS
from tilewright.simulator.isa.operands import ResolvedOperand, ResolvedOperation
from tilewright.simulator.isa.resolving import operation_name
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.run.trace import RunResult


@dataclass(frozen=True, slots=True)
class SourceBank:
    """Say where a source of an operation begins: `buffer`, its `address` in words, and its `bank`.

    All are of the operation's first value with its counters at 0. If the source comes from a
    register, `buffer` is empty and the other two are -1.
    """

    buffer: str
    address: int
    bank: int

    def __str__(self) -> str:
        if not self.buffer:
            return "a register's vector"
        return f"{self.buffer} at word {self.address} (bank {self.bank})"


@dataclass(frozen=True, slots=True)
class OperationConflicts:
    """The bank conflicts of one operation of a code, summed over its elements and runs.

    `operation`: code, task, name and label; `runs`; `cycles`: lost to conflicts; `sources`: its
    vectors in memory; `shift`: the least number of 16-bit words by which the last source's buffer
    must move so that no two reads conflict, None if no move helps or the addresses are known at run
    time only.
    """

    operation: str
    runs: int
    cycles: int
    sources: tuple[SourceBank, ...]
    shift: int | None

    def __str__(self) -> str:
        lines = f"{self.operation}: {self.cycles} cycles lost in {self.runs} runs"
        lines += f"; {' and '.join(map(str, self.sources))}"
        if self.shift:
            lines += f"; {self.sources[-1].buffer} {self.shift} words further on: none"
        return lines


def bank_report(machine: Machine, result: RunResult) -> tuple[OperationConflicts, ...]:
    """Return the operations of a run that lost cycles to bank conflicts, the most first.

    `machine`: what the result is of.
    """
    rows = []
    for layout, work in zip(machine.compiled.layouts, result.trace.operation_work, strict=True):
        for (task, resolved), (runs, stalled) in zip(layout.operations, work.tolist(), strict=True):
            if stalled == 0 or resolved.is_reduction:
                continue
            name = operation_name(layout.code, task, resolved.source)
            sources = tuple(_source(o) for o in resolved.sources if o.is_memory_stream)
            shift = _shift(resolved, machine.profile)
            rows.append(OperationConflicts(name, runs, stalled, sources, shift))
    return tuple(sorted(rows, key=lambda row: (-row.cycles, row.operation)))


def _source(operand: ResolvedOperand) -> SourceBank:
    if operand.buffer is None or operand.register is not None:
        return SourceBank("", -1, -1)
    position = read_of(operand).position
    return SourceBank(operand.buffer.name, position, position % BANKS)


def _shift(resolved: ResolvedOperation, profile: Profile) -> int | None:
    """Return the words by which the second source moves so that no group meets."""
    sources = [o for o in resolved.sources if o.is_memory_stream]
    if len(sources) != 2 or not all(map(has_known_bank, sources)):
        return None
    first, second = sources
    if _memory_of(first) == _memory_of(second):
        return None
    group = profile.operations[resolved.operation.name].group
    row = max(1, min(resolved.extent, row_of(resolved)))
    fixed, moving = read_of(first), read_of(second)
    for shift in range(0, BANKS, moving.wide):
        moved = moving._replace(position=moving.position + shift)
        if meetings(fixed, moved, resolved.extent, group, row) == 0:
            return shift
    return None


def _memory_of(operand: ResolvedOperand) -> str:
    """Return the name of the buffer that has the words of an operand, which may be a view."""
    assert operand.buffer is not None
    return operand.buffer.view_of or operand.buffer.name
