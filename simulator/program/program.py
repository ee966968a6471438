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
    """A task of an element: a body of instructions that runs to its end once it is started.

    It may start when it is runnable and not `blocked`. A local task is runnable when it is active
    (`entry`: from cycle 0 on, else when activated). A data task has a `queue`: it is runnable when
    a data wavelet is first in that input queue. A control task has an entry number `control`
    (0-63): it is runnable when a control wavelet of this number is first in an input queue. The
    wavelet is taken; its bits, from bit 0 on, go to the counters `arguments`, pairs of (name,
    dtype). `teardown`: color whose teardown by a control wavelet activates it; `empty_input`,
    `empty_output`: queue whose emptying after a flush does. Of several runnable tasks the one
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
    empty_input: int | None = None
    empty_output: int | None = None

    @property
    def is_local(self) -> bool:
        """Whether it is started by activation, not by a wavelet."""
        return self.queue is None and self.control is None


@dataclass(frozen=True, slots=True)
class Queue:
    """The binding of an input or output queue to a color, a virtual channel of the network.

    `id`: number of the queue; `color`: name of the color; `priority`: low, medium or high, of the
    microthread of an input queue (WSE-2), empty for none chosen.
    """

    id: int
    color: str
    priority: str = ""


@dataclass(frozen=True, slots=True)
class ElementCode:
    """The program of one class of elements: what each of them holds and runs.

    `buffers`: arrays in SRAM; `dsds`: descriptors of memory vectors and queues; `input_queues` and
    `output_queues`: their colors; `tasks`: in order of precedence; `loads`: registers loaded before
    the start; `main_priority`: of the main thread against microthreads (low, medium_low,
    medium_high, high).
    """

    name: str
    buffers: tuple[Buffer, ...] = ()
    dsds: tuple[Dsd, ...] = ()
    input_queues: tuple[Queue, ...] = ()
    output_queues: tuple[Queue, ...] = ()
    tasks: tuple[Task, ...] = ()
    loads: tuple[LoadRegister, ...] = ()
    main_priority: str = "medium_low"
    """Of the main thread beside microthreads, one of MAIN_PRIORITIES."""

    def buffer(self, name: str) -> Buffer | None:
        """Return the buffer called `name`, None if there is none."""
        return next((b for b in self.buffers if b.name == name), None)

    def dsd(self, name: str) -> Dsd | None:
        """Return the descriptor called `name`, None if there is none."""
        return next((d for d in self.dsds if d.name == name), None)

    @property
    def words(self) -> int:
        """Size of the SRAM in use: 16-bit words from address 0 to the end of the last buffer."""
        return max((b.address + b.words for b in self.buffers), default=0)


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A whole program for a rectangular grid of elements, as a frozen record.

    `codes`: programs by class of elements; `placement[row, column]`: number of the element's code
    (row 0 is north, column 0 west); `colors`: virtual channels; `routes`: what routers do with each
    color; `edge_inputs`, `edge_outputs`: streams over the border of the grid. Programs are equal if
    all their parts are.
    """

    name: str
    codes: tuple[ElementCode, ...]
    placement: npt.NDArray[np.int32]
    colors: tuple[Color, ...] = ()
    routes: tuple[Route, ...] = ()
    edge_inputs: tuple[EdgeInput, ...] = ()
    edge_outputs: tuple[EdgeOutput, ...] = ()

    def __repr__(self) -> str:
        codes, colors = len(self.codes), len(self.colors)
        return (
            f"<Program {self.name}: {self.height} x {self.width} elements,"
            f" {codes} code{'' if codes == 1 else 's'},"
            f" {colors} color{'' if colors == 1 else 's'}>"
        )

    @property
    def height(self) -> int:
        """Rows of the grid."""
        return int(self.placement.shape[0])

    @property
    def width(self) -> int:
        """Columns of the grid."""
        return int(self.placement.shape[1])

    def code(self, name: str) -> ElementCode | None:
        """Return the code called `name`, None if there is none."""
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
