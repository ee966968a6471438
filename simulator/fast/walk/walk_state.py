"""The state of a walk of a main thread: tasks, counters, operations that have not ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.fast.walk.memory_work import TouchedWords
from tilewright.simulator.fast.walk.register_work import HeldVector
from tilewright.simulator.fast.walk.script import ORIGIN, Term


class CodeInstruction(NamedTuple):
    """One instruction of compiled code: its four words.

    `code`: what it does (I_...); `first`, `second`, `target`: its arguments, the last one mostly
    the address to jump to.
    """

    code: int
    first: int
    second: int
    target: int


class CounterValues(dict[int, int]):
    """The values of counters that were set, by slot; a value that depends on data is missing."""

    def __init__(self) -> None:
        super().__init__()
        self.unknown: set[int] = set()

    def get(self, slot: int, default: int = 0) -> int:  # type: ignore[override]
        """Return the value of a counter, `default` if it was not set.

        slot: number of the counter. Raises NotCovered if its value depends on data.
        """
        if slot in self.unknown:
            raise NotCovered("a counter that depends on data")
        return super().get(slot, default)

    def __setitem__(self, slot: int, value: int) -> None:
        self.unknown.discard(slot)
        super().__setitem__(slot, value)


@dataclass(slots=True)
class WalkState:
    """The state of an element between two instructions of its main thread, without times.

    `active`, `blocked`: tasks in these states, one bit each. `variables`: values of counters.
    `pending`: what the ends of operations with queues do, (action, task), until a task has waited
    for them; `touched`: memory words of these operations. `registers`: vectors that data-structure
    registers hold. `terms`: as of `FabricOp`; the main thread is at their maximum.
    """

    active: int = 0
    blocked: int = 0
    variables: CounterValues = field(default_factory=CounterValues)
    pending: dict[int, tuple[int, int]] = field(default_factory=dict)
    touched: dict[int, TouchedWords] = field(default_factory=dict)
    registers: dict[int, HeldVector] = field(default_factory=dict)
    terms: list[Term] = field(default_factory=lambda: [(ORIGIN, 0, 0)])
