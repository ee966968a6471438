"""Cycles that an element's main thread takes at most where nothing else wants the issue slot."""

from __future__ import annotations

from tilewright.simulator.compile.code.encode_values import load_cycles
from tilewright.simulator.instructions.control_flow import If, Loop
from tilewright.simulator.instructions.element_map import Map, map_rows, resolve_map
from tilewright.simulator.instructions.scalar_operation import ScalarOperation
from tilewright.simulator.isa.operands import ResolvedOperation
from tilewright.simulator.lowering.lower_bound.task_cycles import (
    BodyContext,
    BodyCycles,
    TaskCycles,
)
from tilewright.simulator.program.instruction import DsdOperation, Instruction


class MostCycles(TaskCycles):
    """Counts cycles that the main thread needs at most, without waiting and words."""

    __slots__ = ()

    def append(
        self, result: BodyCycles, task: str, instruction: Instruction, context: BodyContext
    ) -> None:
        super().append(result, task, instruction, context)
        if not isinstance(instruction, DsdOperation | ScalarOperation | Map | Loop | If):
            either = self.profile.counter_cycles, self.profile.task_control_cycles
            result.keep_busy(max(either) - min(either))

    def _operation(
        self, result: BodyCycles, resolved: ResolvedOperation, context: BodyContext
    ) -> None:
        super()._operation(result, resolved, context)
        if resolved.source.asynchronous:
            result.until[resolved.source.label] = result.total

    def _unknown_meetings(self, groups: int) -> int:
        return groups

    def _map(self, result: BodyCycles, task: str, instruction: Map, context: BodyContext) -> None:
        """Append a map; operands of other lengths may begin one turn more (engines.md §10).

        Each of its operations has a start and an end of its own.
        """
        super()._map(result, task, instruction, context)
        resolved = resolve_map(self.code, task, instruction)
        rows = map_rows(resolved)
        starts = sum(load_cycles(row, self.profile) for row in rows)
        ends = (len(rows) - 1) * self.profile.scalar_operation_cycles
        result.keep_busy(starts - load_cycles(resolved, self.profile) + ends)
        if len(instruction.operands) > 1:
            result.keep_busy(self.profile.map_step_cycles)

    def _branch(self, result: BodyCycles, task: str, test: If, context: BodyContext) -> None:
        """Append a branch, the longer way where it is not known."""
        if context.value_of(test.variable) is not None:
            super()._branch(result, task, test, context)
            return
        ways = []
        for body, cycles in self.ways(test):
            way = self._body(task, body, context.without(test.variable))
            way.keep_busy(cycles)
            ways.append(way)
        result.add(max(ways, key=lambda way: way.total))
