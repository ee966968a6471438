"""The course of a task: what it moves over queues, and the cycles of the main thread in between.

Loops around a transfer are unrolled, so that each turn has its own cycles (theory/grid.md §6).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from tilewright.simulator.compile.code.encode_values import load_cycles
from tilewright.simulator.compile.code.simd_modes import wavelets
from tilewright.simulator.compile.columns import BANKS
from tilewright.simulator.instructions.control_flow import If, Loop
from tilewright.simulator.isa.resolving import resolve
from tilewright.simulator.lowering.lower_bound.task_cycles import (
    BodyContext,
    BodyCycles,
    TaskCycles,
)
from tilewright.simulator.program.code_parts import walk
from tilewright.simulator.program.instruction import DsdOperation, Instruction, LoadRegister
from tilewright.simulator.program.program import Task


class Transfer(NamedTuple):
    """An operation on a queue in the course of a task.

    `before`: cycles of the main thread since the transfer before it, or the start of the task,
    loads of its descriptors included. `moving`: cycles in which its words go. `waits`: whether the
    main thread goes on behind it only.
    """

    label: str
    before: float
    moving: float
    waits: bool


class Script(NamedTuple):
    """The transfers of a task in their order; `after`: cycles of the main thread behind them.

    `slot`: cycles in which the issue slot is in use, by the main thread and all words.
    """

    transfers: tuple[Transfer, ...]
    after: float
    slot: float


@dataclass(slots=True)
class ScriptWriter:
    """Write the scripts of tasks of one code.

    `cycles`: counts instructions; `labels`: of the operations that are transfers. Others, also
    those on queues, count as cycles of the main thread.
    """

    cycles: TaskCycles
    labels: frozenset[str]
    _transfers: list[Transfer] = field(default_factory=list)
    _since: float = 0.0
    _slot: float = 0.0
    _known: dict[tuple[int, tuple[tuple[str, int], ...]], BodyCycles] = field(default_factory=dict)
    _moves: dict[int, bool] = field(default_factory=dict)

    def of(self, task: Task, context: BodyContext | None = None) -> Script:
        """Return the script of one run of a task; `context`: what is known of counters there."""
        self._transfers, self._since, self._slot = [], 0.0, 0.0
        self._body(task.name, task.body, context or BodyContext())
        return Script(tuple(self._transfers), self._since, self._slot)

    def _keep_busy(self, cycles: float) -> None:
        self._since += cycles
        self._slot += cycles

    def _body(self, task: str, body: Iterable[Instruction], context: BodyContext) -> None:
        profile = self.cycles.profile
        for instruction in body:
            if not self._has_transfer(instruction):
                part = self._cycles(task, instruction, context)
                self._since += part.total
                self._slot += part.slot
                continue
            match instruction:
                case DsdOperation():
                    self._transfer(task, instruction)
                case Loop(count=count):
                    self._keep_busy(profile.counter_cycles)
                    for turn in range(count):
                        self._keep_busy(profile.loop_back_edge_cycles if turn else 0)
                        self._body(task, instruction.body, context.at(instruction.variable, turn))
                    self._keep_busy(profile.branch_not_taken_cycles)
                case If():
                    self._branch(task, instruction, context)
                case _:
                    raise AssertionError(f"no transfer stands in {type(instruction).__name__}")

    def _has_transfer(self, instruction: Instruction) -> bool:
        if id(instruction) not in self._moves:
            self._moves[id(instruction)] = any(
                isinstance(part, DsdOperation) and part.label in self.labels
                for part in walk((instruction,))
            )
        return self._moves[id(instruction)]

    def _transfer(self, task: str, operation: DsdOperation) -> None:
        resolved = resolve(self.cycles.code, task, operation)
        self._keep_busy(load_cycles(resolved, self.cycles.profile))
        moving, waits = self.cycles.moving(resolved), not operation.asynchronous
        self._slot += min(moving, wavelets(resolved))
        self._transfers.append(Transfer(operation.label, self._since, moving, waits))
        self._since = 0.0 if waits else float(self.cycles.profile.issue_cycles)

    def _branch(self, task: str, test: If, context: BodyContext) -> None:
        """Go the way of a branch; where its counter is not known, that without transfers."""
        value = context.value_of(test.variable)
        assert value is not None, f"{task} moves words in a branch on {test.variable}"
        body, cycles = self.cycles.ways(test)[value >= test.below]
        self._body(task, body, context)
        self._keep_busy(cycles)

    def _cycles(self, task: str, instruction: Instruction, context: BodyContext) -> BodyCycles:
        """Return the cycles of an instruction without transfers.

        In loops that are unrolled they depend on where tiles lie modulo the banks, and on branches.
        """
        if context.known or any(isinstance(p, If | LoadRegister) for p in walk((instruction,))):
            return self._counted(task, instruction, context)
        key = id(instruction), tuple((name, turn % BANKS) for name, turn in context.fixed.items())
        if key not in self._known:
            self._known[key] = self._counted(task, instruction, context)
        return self._known[key]

    def _counted(self, task: str, instruction: Instruction, context: BodyContext) -> BodyCycles:
        result = BodyCycles()
        self.cycles.append(result, task, instruction, context)
        return result
