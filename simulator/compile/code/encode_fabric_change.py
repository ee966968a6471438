"""Rows of the instructions that change queues, routers and microthreads at run time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from tilewright.simulator.compile import columns as at
from tilewright.simulator.program.program import (
    BindQueue,
    BlockMicrothread,
    ElementCode,
    EndTeardown,
    Flush,
    Reconfigure,
)

if TYPE_CHECKING:
    from tilewright.simulator.compile.code.table_blocks import CodeLayout

Change = EndTeardown | Reconfigure | BindQueue | Flush | BlockMicrothread
CHANGES: Final = (EndTeardown, Reconfigure, BindQueue, Flush, BlockMicrothread)


class Compiler(Protocol):
    """What the compiler of a code offers."""

    @property
    def colors(self) -> dict[str, int]: ...
    def thread(self, microthread: int) -> int: ...


class FabricRows:
    """Collect what one code does to routers and queues; give its instructions."""

    def __init__(self, code: ElementCode, compiler: Compiler) -> None:
        self._code = code
        self._compiler = compiler
        self.changes: dict[str, list[Reconfigure]] = {}
        """By color, what its router may be changed to, in the order of the engine's rows."""
        self.bindings: list[tuple[int, str]] = []
        """(slot, color) of the queues that are bound again, their first color included."""
        self.flushes = False

    def instruction(self, change: Change) -> tuple[int, ...]:
        """Return the code and arguments of an instruction."""
        if isinstance(change, BlockMicrothread):
            return at.I_PAUSE, self._compiler.thread(change.microthread), int(change.blocks)
        if isinstance(change, Flush):
            self.flushes = True
            return at.I_FLUSH, slot_of(change.queue, change.output)
        if isinstance(change, BindQueue):
            return self._bind(change)
        color = self._compiler.colors[change.color]
        if isinstance(change, EndTeardown):
            return at.I_END_TEARDOWN, color, -1 if change.position is None else change.position
        known = self.changes.setdefault(change.color, [])
        if change not in known:
            known.append(change)
        return at.I_RECONFIGURE, color, known.index(change)

    def _bind(self, change: BindQueue) -> tuple[int, ...]:
        slot = slot_of(change.queue, change.output)
        for pair in ((slot, first_color(self._code, slot)), (slot, change.color)):
            if pair not in self.bindings:
                self.bindings.append(pair)
        return at.I_BIND, slot, self.bindings.index((slot, change.color))

    def emptied(self) -> list[int]:
        """Return the task of each queue slot's emptying, or -1."""
        row = [-1] * 16
        for number, task in enumerate(self._code.tasks):
            for queue, output in ((task.empty_input, False), (task.empty_output, True)):
                if queue is not None:
                    row[slot_of(queue, output)] = number
        return row


def slot_of(queue: int, output: bool) -> int:
    """Return the slot of a queue."""
    return at.OUTPUT_SLOT + queue if output else queue


def first_color(code: ElementCode, slot: int) -> str:
    """Return the color of a queue at the start, empty for none."""
    queues = code.output_queues if slot >= at.OUTPUT_SLOT else code.input_queues
    found = (queue.color for queue in queues if queue.id == slot % at.OUTPUT_SLOT)
    return next(found, "")


def slots_of(layout: CodeLayout, color: str, *, output: bool) -> list[int]:
    """Return the slots of the queues that a color is bound to at the start or later."""
    queues = layout.code.output_queues if output else layout.code.input_queues
    found = [slot_of(queue.id, output) for queue in queues if queue.color == color]
    later = (slot for slot, name in layout.bindings if name == color)
    found += [slot for slot in later if (slot >= at.OUTPUT_SLOT) == output]
    return list(dict.fromkeys(found))
