"""Count the cycles that an element's main thread needs for instructions, without any waiting.

The costs are those of the machine's profile (theory/wafer.md §4.1). Bank conflicts count in the
total with their mean over all turns of the loops around an operation (§2.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import floor, prod
from typing import Final, NamedTuple

from tilewright.simulator.compile.code.bank_costs import (
    BankRead,
    displacements,
    known_meetings,
    read_of,
    row_of,
)
from tilewright.simulator.compile.code.encode_values import group_pace, load_cycles
from tilewright.simulator.compile.code.registers import as_loaded
from tilewright.simulator.compile.code.simd_modes import wavelets
from tilewright.simulator.compile.columns import BANKS
from tilewright.simulator.instructions.control_flow import If, Loop
from tilewright.simulator.instructions.element_map import Map, resolve_map
from tilewright.simulator.instructions.scalar_operation import ScalarOperation
from tilewright.simulator.isa.dsd import Element, Ref, Register
from tilewright.simulator.isa.number_types import DTYPES
from tilewright.simulator.isa.operands import ResolvedOperand, ResolvedOperation
from tilewright.simulator.isa.resolving import resolve, resolve_operand
from tilewright.simulator.lowering.elementary import COMPUTE
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.instruction import DsdOperation, Instruction, LoadRegister
from tilewright.simulator.program.program import ElementCode, Task


@dataclass(slots=True)
class BodyCycles:
    """Cycles of a body of instructions, without waiting.

    `total`: all cycles. `since[label]`: cycles from the end of the last operation with this label
    to the end of the body; a map without a label counts as one of a kernel. `until[label]`: cycles
    from the start of the body to the end of the first such operation. `slot`: cycles in which the
    issue slot is in use, by the main thread and by the words of asynchronous operations (wafer.md
    §4.2). Bank conflicts count in `total` and `slot` by their mean over all turns of the loops
    around; behind a label they are those of the last turn of its loops, up to one those of the
    first. `meetings`: the cycles of bank conflicts in `total`.
    """

    total: float = 0.0
    slot: float = 0.0
    meetings: float = 0.0
    since: dict[str, float] = field(default_factory=dict)
    until: dict[str, float] = field(default_factory=dict)

    def add(self, part: BodyCycles, turns: int = 1) -> None:
        """Append the cycles of another body that runs `turns` times; self is changed."""
        if turns < 1:
            return
        for label, cycles in part.until.items():
            self.until.setdefault(label, self.total + cycles)
        self.pass_cycles(part.total * turns)
        self.slot += part.slot * turns
        self.meetings += part.meetings * turns
        self.since.update(part.since)

    def keep_busy(self, cycles: float) -> None:
        """Append cycles in which the main thread has the issue slot and no operation ends.

        They count in `total`, in `slot` and in each `since`.
        """
        self.slot += cycles
        self.pass_cycles(cycles)

    def pass_cycles(self, cycles: float) -> None:
        """Append cycles in which nothing has the issue slot and no operation ends.

        They count in `total` and in each `since`.
        """
        self.total += cycles
        for label in self.since:
            self.since[label] += cycles


class AlikeRuns(NamedTuple):
    """Runs of a task whose counters have the same values modulo the memory banks at the start.

    `counters`: these values; `number`: how many runs.
    """

    counters: Mapping[str, int]
    number: int


@dataclass(frozen=True, slots=True)
class BodyContext:
    """What is known of counters, loops and registers at an instruction.

    `known`: values of counters. `turns`: of the loops and maps around it, by counter; `fixed`: the
    turn of those of which one turn counts. `runs`: of the task for which it stands. `loads`: the
    last load of each register.
    """

    known: dict[str, int] = field(default_factory=dict)
    turns: Mapping[str, int] = field(default_factory=dict)
    fixed: Mapping[str, int] = field(default_factory=dict)
    runs: Sequence[AlikeRuns] = ()
    loads: dict[Register, LoadRegister] = field(default_factory=dict)

    def inside(self, counter: str, turns: int) -> BodyContext:
        """Return the context of the body of a loop that has this counter and so many turns."""
        return replace(self, known=dict(self.known), turns={**self.turns, counter: turns})

    def at(self, counter: str, turn: int) -> BodyContext:
        """Return the context of one turn of the loop that has this counter."""
        return replace(self, known=dict(self.known), fixed={**self.fixed, counter: turn})

    def value_of(self, counter: str) -> int | None:
        """Return the value of a counter, None if it is not known."""
        return self.known.get(counter, self.fixed.get(counter))

    def displacements(self, moves: Mapping[str, int]) -> dict[int, Fraction] | None:
        """Return the shares of displacements modulo the banks in all turns and runs.

        `moves`: words by which each counter moves one source away from the other. None if one of
        the counters is neither that of a loop nor known in each run.
        """
        begun = sum(moves[name] * turn for name, turn in self.fixed.items() if name in moves)
        moves = {name: move for name, move in moves.items() if name not in self.fixed}
        tied = {name: move for name, move in moves.items() if name not in self.turns}
        in_loops = {
            (begun + words) % BANKS: share
            for words, share in displacements(
                (moves[name], self.turns[name]) for name in moves if name not in tied
            ).items()
        }
        if not tied:
            return in_loops
        if not self.runs or not tied.keys() <= self.runs[0].counters.keys():
            return None
        shares: dict[int, Fraction] = {}
        runs = sum(run.number for run in self.runs)
        for run in self.runs:
            begun = sum(move * run.counters[name] for name, move in tied.items())
            for words, share in in_loops.items():
                place = (begun + words) % BANKS
                shares[place] = shares.get(place, Fraction(0)) + share * run.number / runs
        return shares

    def without(self, counter: str) -> BodyContext:
        """Return the context of a branch that runs in some turns of a counter's loop only."""
        turns = {name: count for name, count in self.turns.items() if name != counter}
        return replace(self, known=dict(self.known), turns=turns, runs=())


MAP_TURN: Final = ""
"""Stands for the counter of a map's turns, by which registers move that save their address."""


@dataclass(frozen=True, slots=True)
class TaskCycles:
    """Counts the cycles of bodies of one code on the machine of a profile."""

    code: ElementCode
    profile: Profile

    def of(
        self, task: str, body: Iterable[Instruction], counters: Mapping[str, int] | None = None
    ) -> BodyCycles:
        """Return the cycles of a body of instructions; `counters`: values of counters at its start.

        task: name of the task that has the body. Of a branch on a counter without a known value the
        shorter way counts.
        """
        return self._body(task, body, BodyContext(dict(counters or {})))

    def of_task(
        self, task: Task, counters: Mapping[str, int] | None = None, runs: Sequence[AlikeRuns] = ()
    ) -> BodyCycles:
        """Return the cycles of one run of a task, from the end of the task before it on.

        counters: values at its start. `runs`: the runs for which it stands, which differ in nothing
        but the memory banks of what they read; bank conflicts count with their mean over these
        runs.
        """
        result = self._body(task.name, task.body, BodyContext(dict(counters or {}), runs=runs))
        result.slot -= 1  # it may begin in the cycle of the word that starts it
        result.keep_busy(self.profile.task_switch_cycles)
        result.pass_cycles(self.profile.task_end_cycles)
        return result

    def _body(self, task: str, body: Iterable[Instruction], context: BodyContext) -> BodyCycles:
        result = BodyCycles()
        for instruction in body:
            self.append(result, task, instruction, context)
        return result

    def append(
        self, result: BodyCycles, task: str, instruction: Instruction, context: BodyContext
    ) -> None:
        """Append the cycles of an instruction of a task to those of a body."""
        profile = self.profile
        match instruction:
            case DsdOperation():
                self._operation(result, resolve(self.code, task, instruction), context)
            case ScalarOperation():
                operands = (instruction.dest, *instruction.sources)
                in_memory = sum(isinstance(operand, Element) for operand in operands)
                result.keep_busy(
                    profile.scalar_operation_cycles + in_memory * profile.scalar_operand_cycles
                )
            case Map():
                self._map(result, task, instruction, context)
            case Loop(count=count):
                back_edges = (count - 1) * profile.loop_back_edge_cycles
                result.keep_busy(profile.counter_cycles + back_edges)  # before the last turn
                result.add(self._turn(task, instruction, context), count)
                result.keep_busy(profile.branch_not_taken_cycles)
            case If():
                self._branch(result, task, instruction, context)
            case _:
                if isinstance(instruction, LoadRegister):
                    context.loads[instruction.register] = instruction
                self._count(instruction, context.known)
                result.keep_busy(min(profile.counter_cycles, profile.task_control_cycles))

    def _turn(self, task: str, loop: Loop, context: BodyContext) -> BodyCycles:
        """Return the mean cycles of a turn of a loop; `until` is of the first, `since` of the last.

        Turns differ in bank conflicts only; without any, or without a transfer, one counts for all.
        """
        mean = self._body(task, loop.body, context.inside(loop.variable, loop.count))
        if loop.count == 1 or not mean.meetings or mean.since.keys() <= {COMPUTE}:
            return mean
        first, last = (
            self._body(task, loop.body, context.at(loop.variable, turn))
            for turn in (0, loop.count - 1)
        )
        return replace(mean, since=last.since, until=first.until)

    @staticmethod
    def _count(instruction: Instruction, known: dict[str, int]) -> None:
        """Follow a counter that an instruction changes."""
        name, value = getattr(instruction, "variable", None), getattr(instruction, "value", None)
        if name in known and isinstance(value, int):
            known[name] = value + (known[name] if type(instruction).__name__ == "Add" else 0)

    def _operation(
        self, result: BodyCycles, resolved: ResolvedOperation, context: BodyContext
    ) -> None:
        loaded = self._loaded(resolved)
        working = self.moving(loaded)
        result.keep_busy(load_cycles(resolved, self.profile))
        if loaded.is_fabric:
            # a word takes a cycle, however slow they are
            result.slot += min(working, wavelets(loaded))
        if resolved.source.asynchronous:
            result.pass_cycles(self.profile.issue_cycles)
            return
        if loaded.is_fabric:
            result.pass_cycles(working)
        else:
            meeting = self._meeting(resolved, loaded, context)
            result.keep_busy(working)
            result.slot += meeting
            result.total += meeting
            result.meetings += meeting
        result.since[resolved.source.label] = 0.0
        result.until.setdefault(resolved.source.label, result.total)

    def _loaded(self, resolved: ResolvedOperation) -> ResolvedOperation:
        """Return an operation with the descriptors that its registers hold.

        All loads of one register must be of equal length.
        """
        if not resolved.has_register:
            return resolved
        loaded = as_loaded(self.code, resolved)
        return replace(loaded, extent=prod(loaded.dest.extents()))

    def moving(self, resolved: ResolvedOperation) -> float:
        """Return the cycles in which an operation moves its values."""
        group, rate = group_pace(resolved, self.profile)
        cycles = float(rate)
        if resolved.is_fabric:
            return float(floor(resolved.extent * rate))
        if group == 1:
            return resolved.extent * cycles
        row = min(row_of(resolved), resolved.extent)
        return resolved.extent // row * -(-row // group) * cycles

    def _meeting(
        self, resolved: ResolvedOperation, loaded: ResolvedOperation, context: BodyContext
    ) -> float:
        """Return the further cycles of an operation whose two reads meet on a bank, by their mean.

        0 where that depends on more than loops.
        """
        reads = (_read(self.code, operand, context.loads) for operand in resolved.sources)
        moving = list(filter(None, reads))
        factor = self.profile.bank_conflict_factor
        if len(moving) != 2 or loaded.is_fabric or factor == 1:
            return 0.0
        group, rate = group_pace(loaded, self.profile)
        further = self.profile.operations[loaded.operation.name].cycles[1] * factor - rate
        shares = context.displacements(_apart(moving[0].moves, moving[1].moves))
        if further <= 0:
            return 0.0
        row = max(1, min(loaded.extent, row_of(loaded)))
        if shares is None:
            groups = loaded.extent // row * -(-row // group)
            return float(self._unknown_meetings(groups) * further)
        first, second = moving[0].read, moving[1].read
        apart = first.position - second.position
        second = second.moved(-second.position)  # only the distance modulo the banks counts
        mean = sum(
            share
            * known_meetings(
                first._replace(position=(apart + words) % BANKS), second, loaded.extent, group, row
            )
            for words, share in shares.items()
        )
        return float(mean * further)

    def _unknown_meetings(self, groups: int) -> int:  # noqa: ARG002
        """Return how many of an operation's groups of values meet where that is not known."""
        return 0

    def _map(self, result: BodyCycles, task: str, instruction: Map, context: BodyContext) -> None:
        """Append a map: loads, turns of read, body and write, and its end (engines.md §10)."""
        resolved = resolve_map(self.code, task, instruction)
        extent = min(o.dsd.extent for o in resolved.operands if o.dsd is not None)
        each = self._body(task, instruction.body, context.inside(MAP_TURN, extent))
        scalar = self.profile.scalar_operation_cycles
        write = 0 if instruction.output is None else scalar
        result.keep_busy(load_cycles(resolved, self.profile))
        result.keep_busy(extent * (self.profile.map_step_cycles + write))
        result.add(each, extent)
        result.keep_busy(2 * scalar)
        label = instruction.label or COMPUTE
        result.since[label] = 0.0
        result.until.setdefault(label, result.total)

    def ways(self, test: If) -> tuple[tuple[Sequence[Instruction], int], ...]:
        """Return the two ways of a branch, each with its cycles: below the number, and not.

        The first way ends with a jump over the second one, if there is one.
        """
        profile = self.profile
        jump = profile.branch_taken_cycles if test.otherwise else 0
        return (
            (test.then, profile.branch_not_taken_cycles + jump),
            (test.otherwise, profile.branch_taken_cycles),
        )

    def _branch(self, result: BodyCycles, task: str, test: If, context: BodyContext) -> None:
        """Append a branch, the shorter way where it is not known."""
        branches = self.ways(test)
        value = context.value_of(test.variable)
        if value is not None:
            body, cycles = branches[0 if value < test.below else 1]
            for instruction in body:
                self.append(result, task, instruction, context)
            result.keep_busy(cycles)
            return
        parts = []
        for body, cycles in branches:
            part = self._body(task, body, context.without(test.variable))
            part.keep_busy(cycles)
            parts.append(part)
        least = min(parts, key=lambda part: part.total)
        result.add(replace(least, slot=min(part.slot for part in parts)))


class _MovingRead(NamedTuple):
    """How an operation reads a source in memory.

    `read`: its words while all counters are 0. `moves`: 16-bit words by which a step of each
    counter moves them; what counts is this number modulo the banks.
    """

    read: BankRead
    moves: Mapping[str, int]


def _read(
    code: ElementCode, operand: ResolvedOperand, loads: Mapping[Register, LoadRegister]
) -> _MovingRead | None:
    """Return how an operand is read; None if it is no vector in memory.

    `loads`: by register. A register that saves its address moves behind its values at each turn of
    the map around it.
    """
    load = None if operand.register is None else loads.get(operand.register)
    if load is not None:
        operand = resolve_operand(code, Ref(load.dsd, load.offset), "a load")
    if not operand.is_memory_stream or operand.is_special or operand.buffer is None:
        return None
    wide = DTYPES[operand.buffer.dtype]
    moves = {name: factor * wide for name, factor in operand.offset.terms}
    if load is not None and load.save_address:
        moves[MAP_TURN] = prod(operand.extents()) * operand.strides()[0] * wide
    return _MovingRead(read_of(operand), moves)


def _apart(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    """Return the words by which one step of each counter moves two sources apart.

    Counters that do not change the distance modulo the memory banks are left out.
    """
    names = sorted({*first, *second})
    moves = {name: first.get(name, 0) - second.get(name, 0) for name in names}
    return {name: move for name, move in moves.items() if move % BANKS}
