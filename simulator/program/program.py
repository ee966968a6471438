"""The program of a grid: codes by class of elements, their placement, routes and edge ports."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tilewright.simulator.isa.dsd import (
    NO_OFFSET,
    Buffer,
    Dsd,
    Element,
    Immediate,
    Index,
    Operand,
    Register,
)
from tilewright.simulator.program.routes import (
    Color,
    CounterFilter,
    EdgeInput,
    EdgeOutput,
    RangeFilter,
    Route,
    Switch,
)


@dataclass(frozen=True, slots=True)
class OnControl:
    """A control wavelet ends an asynchronous operation: terminate, activate or unblock a task."""

    action: str
    task: str | None = None


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
    on_control: OnControl | None = None
    index: Index | None = None
    """The explicit index of descriptors with `wavelet_index_offset`."""
    priority: str = ""
    """Of its microthread (WSE-2), one of PRIORITIES; empty: the queue's or the descriptor's."""
    result: str | None = None
    """Counter that gets 1 at the end, 0 when a FIFO ended the operation (test_or_suspend)."""


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


Value = str | Element | Immediate
"""A scalar: a counter by name, an element of a buffer, a number."""


@dataclass(frozen=True, slots=True)
class Compute:
    """`dest = operation(sources)` on scalars of a dtype; a counter holds a float by its bits."""

    dest: Value
    operation: str
    sources: tuple[Value, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class SetLength:
    """Set the length of a FIFO for operations that read from it or write to it, in place."""

    fifo: str
    reads: bool
    length: int


@dataclass(frozen=True, slots=True)
class LoadRegister:
    """Load a descriptor into a register, with extended and stride registers where it needs them.

    Asynchronous settings hold for fabric descriptors, `save_address` for memory descriptors.
    """

    register: Register
    dsd: str
    offset: Index = NO_OFFSET
    xdsr: int | None = None
    strides: tuple[int, ...] = ()
    asynchronous: bool = False
    activate: str | None = None
    unblock: str | None = None
    on_control: OnControl | None = None
    save_address: bool = False
    single_step: bool = False
    microthread: int | None = None


@dataclass(frozen=True, slots=True)
class EndTeardown:
    """Let a color move again at this element's router, at another switch position if given."""

    color: str
    position: int | None = None


@dataclass(frozen=True, slots=True)
class Reconfigure:
    """Give a torn-down color at this element's router another route, switch and filter.

    What is not given is not there afterwards; words that wait at the router go by the new route.
    """

    color: str
    rx: tuple[str, ...]
    tx: tuple[str, ...]
    switch: Switch | None = None
    filter: CounterFilter | RangeFilter | None = None

    def route(self, before: Route) -> Route:
        """Return the route of an area after the change."""
        changed = {"rx": self.rx, "tx": self.tx, "switch": self.switch, "filter": self.filter}
        return replace(before, **changed)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class BindQueue:
    """Bind an input or output queue of this element to another color; the queue must be empty."""

    queue: int
    output: bool
    color: str


@dataclass(frozen=True, slots=True)
class Flush:
    """Make the task of a queue's emptying active as soon as the queue is empty (WSE-3)."""

    queue: int
    output: bool


@dataclass(frozen=True, slots=True)
class BlockMicrothread:
    """Let a microthread do nothing until it is unblocked; `blocks` false: unblock it (WSE-3)."""

    microthread: int
    blocks: bool = True


@dataclass(frozen=True, slots=True)
class Map:
    """`@map`: run the body per element of its operands, until one has no elements left.

    Every input (counter, operand) gives its counter a value before the body; the output (counter,
    operand) takes its counter's value behind it. The body has scalar
    instructions, conditions and loops only.
    """

    inputs: tuple[tuple[str, Operand], ...]
    output: tuple[str, Operand] | None
    body: tuple[Instruction, ...]


Instruction = (
    DsdOperation
    | Loop
    | Set
    | Add
    | If
    | Activate
    | Block
    | Unblock
    | Compute
    | SetLength
    | LoadRegister
    | EndTeardown
    | Reconfigure
    | BindQueue
    | Flush
    | BlockMicrothread
    | Map
)


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
        mine, theirs = (
            (p.name, p.codes, p.colors, p.routes, p.edge_inputs, p.edge_outputs)
            for p in (self, other)
        )
        return mine == theirs and np.array_equal(self.placement, other.placement)

    def __hash__(self) -> int:
        return hash((self.name, self.placement.shape, len(self.routes)))
