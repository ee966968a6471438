"""A builder of programs: names in, one frozen validated `Program` out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from tilewright.simulator.dsd import (
    DTYPES,
    Buffer,
    Dsd,
    Element,
    Fabin,
    Fabout,
    Immediate,
    Index,
    Mem1d,
    Operand,
    Ref,
    as_index,
    mem4d_access,
    variable,
)
from tilewright.simulator.errors import ProgramError
from tilewright.simulator.program import (
    Activate,
    Add,
    Block,
    DsdOperation,
    ElementCode,
    If,
    Instruction,
    Loop,
    Program,
    Queue,
    Set,
    Task,
    Unblock,
)
from tilewright.simulator.routes import Area, Color, EdgeInput, EdgeOutput, Route
from tilewright.simulator.validate import check_program

OperandLike = Operand | str | int | float


def as_operand(value: OperandLike) -> Operand:
    """Return a descriptor's name as `Ref`, a number as `Immediate`, an operand as itself."""
    if isinstance(value, str):
        return Ref(value)
    return Immediate(value) if isinstance(value, int | float) else value


class TaskBuilder:
    """Instructions of one task, in order."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._bodies: list[list[Instruction]] = [[]]

    @property
    def body(self) -> tuple[Instruction, ...]:
        return tuple(self._bodies[0])

    def add(self, instruction: Instruction) -> None:
        self._bodies[-1].append(instruction)

    def op(self, operation: str, dest: OperandLike, *sources: OperandLike, label: str = "") -> None:
        """Append a synchronous DSD operation."""
        self.add(
            DsdOperation(operation, as_operand(dest), tuple(map(as_operand, sources)), label=label)
        )

    def start(  # noqa: PLR0913 (the keywords of the operation's configuration)
        self,
        operation: str,
        dest: OperandLike,
        *sources: OperandLike,
        activate: str | None = None,
        unblock: str | None = None,
        microthread: int | None = None,
        label: str = "",
    ) -> None:
        """Append an asynchronous DSD operation."""
        operands = tuple(map(as_operand, sources))
        self.add(
            DsdOperation(
                operation, as_operand(dest), operands, True, activate, unblock, microthread, label
            )
        )

    @contextmanager
    def loop(self, name: str, count: int) -> Iterator[Index]:
        """Open a loop; what is appended inside is its body. Yields the variable."""
        self._bodies.append([])
        yield variable(name)
        self.add_closed(Loop(name, count, tuple(self._bodies.pop())))

    def add_closed(self, instruction: Instruction) -> None:
        """Append an instruction to the body that is open now."""
        self._bodies[-1].append(instruction)

    @contextmanager
    def when_below(self, name: str, limit: int) -> Iterator[None]:
        """Open a body that runs only when the counter is below the limit."""
        self._bodies.append([])
        yield
        self.add_closed(If(name, limit, tuple(self._bodies.pop())))

    @contextmanager
    def otherwise(self) -> Iterator[None]:
        """Open the other branch of the `when_below` just closed."""
        last = self._bodies[-1][-1] if self._bodies[-1] else None
        if not isinstance(last, If) or last.otherwise:
            raise ProgramError(f"task {self.name}: otherwise() must follow when_below()")
        self._bodies.append([])
        yield
        body = tuple(self._bodies.pop())
        self._bodies[-1][-1] = If(last.variable, last.below, last.then, body)

    def set(self, name: str, value: int) -> None:
        """Append the setting of a counter."""
        self.add(Set(name, value))

    def increment(self, name: str, value: int = 1) -> None:
        """Append the addition of a constant to a counter."""
        self.add(Add(name, value))

    def activate(self, task: str) -> None:
        """Append the activation of a task."""
        self.add(Activate(task))

    def block(self, task: str) -> None:
        """Append the blocking of a task."""
        self.add(Block(task))

    def unblock(self, task: str) -> None:
        """Append the unblocking of a task."""
        self.add(Unblock(task))


class CodeBuilder:
    """Buffers, descriptors, queues and tasks of one class of elements."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._buffers: list[Buffer] = []
        self._dsds: list[Dsd] = []
        self._input_queues: list[Queue] = []
        self._output_queues: list[Queue] = []
        self._tasks: list[tuple[TaskBuilder, bool, bool]] = []
        self._next_word = 0

    def buffer(
        self, name: str, dtype: str, shape: Sequence[int] | int, address: int | None = None
    ) -> Buffer:
        """Declare a buffer; without an address (16-bit words) it follows the highest one."""
        dims = (shape,) if isinstance(shape, int) else tuple(int(n) for n in shape)
        if dtype not in DTYPES:
            raise ProgramError(
                f"buffer {self.name}.{name} has an unknown dtype",
                value=dtype,
                instead="one of " + ", ".join(DTYPES),
            )
        at = self._next_word + self._next_word % 2 if address is None else address
        made = Buffer(name, dtype, dims, at)
        self._buffers.append(made)
        self._next_word = max(self._next_word, at + made.words)
        return made

    def mem1d(self, name: str, buffer: str, extent: int, stride: int = 1, offset: int = 0) -> Ref:
        """Declare a one-dimensional memory vector (elements of the buffer)."""
        return self._declare(Mem1d(name, buffer, extent, stride, offset))

    def mem4d(
        self, name: str, buffer: str, loops: Sequence[tuple[int, int]], offset: int = 0
    ) -> Ref:
        """Declare a vector of up to four (extent, coefficient) loops, outermost first."""
        return self._declare(mem4d_access(name, buffer, loops, offset))

    def fabin(self, name: str, queue: int, extent: int) -> Ref:
        """Declare `extent` wavelets of an input queue."""
        return self._declare(Fabin(name, queue, extent))

    def fabout(self, name: str, queue: int, extent: int) -> Ref:
        """Declare `extent` wavelets of an output queue."""
        return self._declare(Fabout(name, queue, extent))

    def element(self, buffer: str, index: Index | int = 0) -> Element:
        """Return one element of a buffer as scalar source or as destination pointer."""
        return Element(buffer, as_index(index))

    def input_queue(self, queue: int, color: str) -> None:
        """Bind an input queue to a color."""
        self._input_queues.append(Queue(queue, color))

    def output_queue(self, queue: int, color: str) -> None:
        """Bind an output queue to a color."""
        self._output_queues.append(Queue(queue, color))

    def task(self, name: str, *, entry: bool = False, blocked: bool = False) -> TaskBuilder:
        """Declare a local task; entry tasks are active at cycle 0."""
        made = TaskBuilder(name)
        self._tasks.append((made, entry, blocked))
        return made

    def build(self) -> ElementCode:
        """Freeze what was declared."""
        return ElementCode(
            self.name,
            tuple(self._buffers),
            tuple(self._dsds),
            tuple(self._input_queues),
            tuple(self._output_queues),
            tuple(Task(t.name, t.body, entry, blocked) for t, entry, blocked in self._tasks),
        )

    def _declare(self, dsd: Dsd) -> Ref:
        self._dsds.append(dsd)
        return Ref(dsd.name)


class ProgramBuilder:
    """Collect codes, placement, colors, routes and edge ports; `build` validates."""

    def __init__(self, name: str, height: int, width: int) -> None:
        self.name = name
        self._codes: list[CodeBuilder] = []
        self._placement = np.full((height, width), -1, dtype=np.int32)
        self._colors: list[Color] = []
        self._routes: list[Route] = []
        self._edge_inputs: list[EdgeInput] = []
        self._edge_outputs: list[EdgeOutput] = []

    def code(self, name: str) -> CodeBuilder:
        """Declare a class of elements."""
        made = CodeBuilder(name)
        self._codes.append(made)
        return made

    def color(self, name: str, id: int | None = None) -> str:  # noqa: A002
        """Declare a color; without an id it takes the lowest unused one. Returns the name."""
        used = {color.id for color in self._colors}
        free = next(i for i in range(len(used) + 1) if i not in used)
        self._colors.append(Color(name, free if id is None else id))
        return name

    def place(self, code: str, area: Area) -> None:
        """Give every element of the area this code (later calls win)."""
        names = [c.name for c in self._codes]
        if code not in names:
            raise ProgramError("placement of an unknown code", value=code, instead=str(names))
        rows = slice(area.row, area.row + area.height)
        self._placement[rows, area.column : area.column + area.width] = names.index(code)

    def placement(self, codes: npt.NDArray[np.integer]) -> None:
        """Set the whole placement: code numbers in order of declaration, shape (H, W)."""
        self._placement[:, :] = codes

    def route(self, color: str, area: Area, *, rx: str, tx: str) -> None:
        """Route a color in an area; ports as letters, as in rx="W", tx="ER"."""
        self._routes.append(Route(color, area, tuple(rx), tuple(tx)))

    def edge_input(self, port: EdgeInput) -> None:
        """Add streams that enter at the border."""
        self._edge_inputs.append(port)

    def edge_output(self, port: EdgeOutput) -> None:
        """Add streams that leave at the border."""
        self._edge_outputs.append(port)

    def build(self) -> Program:
        """Return the program, checked for everything that needs no profile.

        Raises ProgramError.
        """
        program = Program(
            self.name,
            tuple(code.build() for code in self._codes),
            self._placement.copy(),
            tuple(self._colors),
            tuple(self._routes),
            tuple(self._edge_inputs),
            tuple(self._edge_outputs),
        )
        check_program(program)
        return program
