"""The program of a grid: codes by class of elements, their placement, routes and edge ports."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tilewright.simulator.dsd import Buffer, Dsd, Operand
from tilewright.simulator.routes import Color, EdgeInput, EdgeOutput, Route


@dataclass(frozen=True, slots=True)
class DsdOperation:
    """One DSD operation: `@operation(dest, *sources)`.

    Synchronous: the task waits for its end. Asynchronous (at least one fabric operand): it runs
    on a microthread, and its end activates or unblocks a task (at most one of the two).
    """

    operation: str
    dest: Operand
    sources: tuple[Operand, ...]
    asynchronous: bool = False
    activate: str | None = None
    unblock: str | None = None
    microthread: int | None = None
    label: str = ""


@dataclass(frozen=True, slots=True)
class Loop:
    """Run the body for variable = 0..count-1."""

    variable: str
    count: int
    body: tuple[Instruction, ...]


@dataclass(frozen=True, slots=True)
class Set:
    """Set a counter of the element; counters live across tasks and start at 0."""

    variable: str
    value: int


@dataclass(frozen=True, slots=True)
class Add:
    """Add a constant to a counter of the element."""

    variable: str
    value: int


@dataclass(frozen=True, slots=True)
class If:
    """Run `then` when the variable is below the limit, else `otherwise`."""

    variable: str
    below: int
    then: tuple[Instruction, ...]
    otherwise: tuple[Instruction, ...] = ()


@dataclass(frozen=True, slots=True)
class Activate:
    """Make a local task runnable (no counting: active is active)."""

    task: str


@dataclass(frozen=True, slots=True)
class Block:
    """Keep a task from starting until it is unblocked."""

    task: str


@dataclass(frozen=True, slots=True)
class Unblock:
    """Let a blocked task start again."""

    task: str


Instruction = DsdOperation | Loop | Set | Add | If | Activate | Block | Unblock


@dataclass(frozen=True, slots=True)
class Task:
    """A local task: runs to its end once it is active and not blocked.

    Of several runnable tasks the one declared first starts first.
    """

    name: str
    body: tuple[Instruction, ...]
    entry: bool = False
    blocked: bool = False


@dataclass(frozen=True, slots=True)
class Queue:
    """The binding of an input or output queue to a color."""

    id: int
    color: str


@dataclass(frozen=True, slots=True)
class ElementCode:
    """What every element of one class holds and runs."""

    name: str
    buffers: tuple[Buffer, ...] = ()
    dsds: tuple[Dsd, ...] = ()
    input_queues: tuple[Queue, ...] = ()
    output_queues: tuple[Queue, ...] = ()
    tasks: tuple[Task, ...] = ()

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

    Two programs are equal when their text forms (`print_program`) are.
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
