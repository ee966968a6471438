"""Cycles that the main thread of an element needs for a body of instructions without any waiting.

The costs are those of the machine's profile (theory/wafer.md §4.1), without conflicts of banks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import prod

from tilewright.simulator.compile.code.encode_values import group_pace, load_cycles
from tilewright.simulator.compile.code.registers import as_loaded
from tilewright.simulator.instructions.control_flow import If, Loop
from tilewright.simulator.instructions.element_map import Map, resolve_map
from tilewright.simulator.instructions.scalar_operation import Compute
from tilewright.simulator.isa.dsd import Mem4d
from tilewright.simulator.isa.operands import ResolvedOperation, resolve
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.instruction import DsdOperation, Instruction
from tilewright.simulator.program.program import ElementCode


@dataclass(slots=True)
class BodyCycles:
    """Cycles of a body: `total`; `since[label]`, those behind the last operation of that label.

    `datapath`: cycles in which a word goes through the datapath, those of asynchronous operations
    included.
    """

    total: float = 0.0
    datapath: float = 0.0
    since: dict[str, float] = field(default_factory=dict)

    def add(self, part: BodyCycles, turns: int = 1) -> None:
        """Append a part that runs `turns` times."""
        if turns < 1:
            return
        self.pass_cycles(part.total * turns)
        self.datapath += part.datapath * turns
        self.since.update(part.since)

    def pass_cycles(self, cycles: float) -> None:
        """Append cycles in which no operation ends."""
        self.total += cycles
        for label in self.since:
            self.since[label] += cycles


@dataclass(frozen=True, slots=True)
class TaskCycles:
    """Counts the cycles of bodies of one code on the machine of a profile."""

    code: ElementCode
    profile: Profile

    def of(
        self, task: str, body: Iterable[Instruction], counters: Mapping[str, int] | None = None
    ) -> BodyCycles:
        """Return the cycles of a body; `counters`: values of counters at its start.

        A branch on a counter without a value counts as the shorter of both.
        """
        result, known = BodyCycles(), dict(counters or {})
        for instruction in body:
            self._append(result, task, instruction, known)
        return result

    def _append(
        self, result: BodyCycles, task: str, instruction: Instruction, known: dict[str, int]
    ) -> None:
        profile = self.profile
        match instruction:
            case DsdOperation():
                self._operation(result, resolve(self.code, task, instruction))
            case Compute():
                result.pass_cycles(profile.scalar_operation_cycles)
            case Map():
                self._map(result, task, instruction)
            case Loop(_, count, body):
                back_edges = (count - 1) * profile.loop_back_edge_cycles
                result.pass_cycles(profile.counter_cycles + back_edges)  # before the last turn
                result.add(self.of(task, body, known), count)
                result.pass_cycles(profile.branch_not_taken_cycles)
            case If():
                self._branch(result, task, instruction, known)
            case _:
                self._count(instruction, known)
                result.pass_cycles(min(profile.counter_cycles, profile.task_control_cycles))

    @staticmethod
    def _count(instruction: Instruction, known: dict[str, int]) -> None:
        """Follow a counter that an instruction changes."""
        name, value = getattr(instruction, "variable", None), getattr(instruction, "value", None)
        if name in known and isinstance(value, int):
            known[name] = value + (known[name] if type(instruction).__name__ == "Add" else 0)

    def _operation(self, result: BodyCycles, resolved: ResolvedOperation) -> None:
        working = self._working(self._loaded(resolved))
        result.datapath += working
        if resolved.source.asynchronous:
            result.pass_cycles(load_cycles(resolved, self.profile) + self.profile.issue_cycles)
            return
        result.pass_cycles(load_cycles(resolved, self.profile) + working)
        result.since[resolved.source.label] = 0.0

    def _loaded(self, resolved: ResolvedOperation) -> ResolvedOperation:
        """Return an operation with what its registers hold; all loads of one are as long."""
        if not resolved.has_register:
            return resolved
        loaded = as_loaded(self.code, resolved)
        return replace(loaded, extent=prod(loaded.dest.extents()))

    def _working(self, resolved: ResolvedOperation) -> float:
        """Return the cycles in which an operation moves its values."""
        group, rate = group_pace(resolved, self.profile)
        cycles = float(rate)
        if group == 1:
            return resolved.extent * cycles
        row = min((o.dsd.extents[-1] for o in resolved.operands if isinstance(o.dsd, Mem4d)),
                  default=resolved.extent)  # fmt: skip
        return resolved.extent // row * -(-row // group) * cycles

    def _map(self, result: BodyCycles, task: str, instruction: Map) -> None:
        resolved = resolve_map(self.code, task, instruction)
        extent = min(o.dsd.extent for o in resolved.operands if o.dsd is not None)
        each = self.of(task, instruction.body)
        each.datapath += sum(isinstance(inner, Compute) for inner in instruction.body)
        result.pass_cycles(load_cycles(resolved, self.profile))
        result.pass_cycles(extent * self.profile.map_step_cycles)
        result.add(each, extent)

    def _branch(self, result: BodyCycles, task: str, test: If, known: dict[str, int]) -> None:
        profile = self.profile
        branches = (
            (test.then, profile.branch_not_taken_cycles),
            (test.otherwise, profile.branch_taken_cycles),
        )
        if test.variable in known:
            body, cycles = branches[0 if known[test.variable] < test.below else 1]
            for instruction in body:
                self._append(result, task, instruction, known)
            result.pass_cycles(cycles)
            return
        parts = []
        for body, cycles in branches:
            part = self.of(task, body, known)
            part.pass_cycles(cycles)
            parts.append(part)
        result.add(min(parts, key=lambda part: part.total))
