"""The program of a grid: codes by class of elements, their placement, routes and edge ports."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tilewright.simulator.isa.dsd import Buffer, Dsd
from tilewright.simulator.program.instruction import Instruction, LoadRegister
from tilewright.simulator.program.routes import Color, EdgeInput, EdgeOutput, Route


@dataclass(frozen=True, slots=True)
class Task:
    """A task: runs to its end once it is runnable and not blocked.

    A local task is runnable when it is active, a data task (with a queue) when a data wavelet
    stands at the head of its input queue, a control task (with an entry, 0-63) when a control
    wavelet of this entry stands at the head of an input queue. The wavelet is taken; its bits go
    to the counters `arguments` ((name, dtype), from bit 0 on). Of several runnable tasks the one
    declared first starts first.
    """

    name: str
    body: tuple[Instruction, ...]
    entry: bool = False
    blocked: bool = False
    queue: int | None = None
    control: int | None = None
    arguments: tuple[tuple[str, str], ...] = ()
    teardown: str | None = None
    """The color whose teardown by a control wavelet makes this local task active."""
    empty_input: int | None = None
    """The input queue whose emptying after a `Flush` makes this local task active."""
    empty_output: int | None = None

    @property
    def is_local(self) -> bool:
        return self.queue is None and self.control is None


@dataclass(frozen=True, slots=True)
class Queue:
    """The binding of an input or output queue to a color.

    priority: of the microthread of an input queue (WSE-2), one of PRIORITIES.
    """

    id: int
    color: str
    priority: str = ""


@dataclass(frozen=True, slots=True)
class ElementCode:
    """What every element of one class holds and runs."""

    name: str
    buffers: tuple[Buffer, ...] = ()
    dsds: tuple[Dsd, ...] = ()
    input_queues: tuple[Queue, ...] = ()
    output_queues: tuple[Queue, ...] = ()
    tasks: tuple[Task, ...] = ()
    loads: tuple[LoadRegister, ...] = ()
    """Registers loaded before the program starts."""
    main_priority: str = "medium_low"
    """Of the main thread beside microthreads, one of MAIN_PRIORITIES."""

    def buffer(self, name: str) -> Buffer | None:
        return next((b for b in self.buffers if b.name == name), None)

    def dsd(self, name: str) -> Dsd | None:
        return next((d for d in self.dsds if d.name == name), None)

    @property
    def words(self) -> int:
        """Words of SRAM up to the end of the last buffer."""
        return max((b.address + b.words for b in self.buffers), default=0)


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A whole program. `placement[row, column]` is the number of the element's code.

    Two programs are equal when all their parts are (and so their text forms, `print_program`).
    """

    name: str
    codes: tuple[ElementCode, ...]
    placement: npt.NDArray[np.int32]
    colors: tuple[Color, ...] = ()
    routes: tuple[Route, ...] = ()
    edge_inputs: tuple[EdgeInput, ...] = ()
    edge_outputs: tuple[EdgeOutput, ...] = ()

    @property
    def height(self) -> int:
        return int(self.placement.shape[0])

    @property
    def width(self) -> int:
        return int(self.placement.shape[1])

    def code(self, name: str) -> ElementCode | None:
        return next((c for c in self.codes if c.name == name), None)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Program):
            return NotImplemented
        own_parts, other_parts = (
            (p.name, p.codes, p.colors, p.routes, p.edge_inputs, p.edge_outputs)
            for p in (self, other)
        )
        return own_parts == other_parts and np.array_equal(self.placement, other.placement)

    def __hash__(self) -> int:
        return hash((self.name, self.placement.shape, len(self.routes)))
