"""The builder of a task's instructions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypedDict, Unpack

import numpy as np

from tilewright.simulator.check.field_types import new_record
from tilewright.simulator.instructions.control_flow import Add, If, Loop, Point, Set
from tilewright.simulator.instructions.element_map import Map
from tilewright.simulator.instructions.fifo_length import SetLength
from tilewright.simulator.instructions.queue_changes import BindQueue, BlockMicrothread, Flush
from tilewright.simulator.instructions.router_changes import EndTeardown, Reconfigure
from tilewright.simulator.instructions.scalar_operation import ScalarOperation, Value
from tilewright.simulator.instructions.task_states import Activate, Block, Unblock
from tilewright.simulator.isa.dsd import CounterValue, Element, Immediate, Operand, Ref, Register
from tilewright.simulator.isa.index_expression import Index, as_index, variable
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.program.instruction import (
    DsdOperation,
    Instruction,
    LoadRegister,
    OnControl,
)
from tilewright.simulator.program.routes import CounterFilter, RangeFilter, Switch

OperandLike = Operand | Index | str | int | float
ValueLike = Element | str | int | float
Arguments = Sequence[tuple[str, str]]


def as_operand(value: OperandLike) -> Operand:
    """Return a value as an operand of an operation on descriptors.

    A text is the name of a descriptor, a number (numpy's too) an immediate, an `Index` the value of
    an expression of counters; operands stay. Raises ProgramError for anything else.
    """
    if isinstance(value, str):
        return Ref(value)
    if isinstance(value, Index):
        return CounterValue(value)
    if isinstance(value, np.integer | np.floating):
        return Immediate(value.item())
    if isinstance(value, int | float):
        return Immediate(value)
    if not isinstance(value, Operand):
        raise ProgramError(
            "this is no operand",
            value=value,
            instead="a descriptor, its name, a register, an element or a number",
        )
    return value


def as_value(value: ValueLike) -> Value:
    """Return a value as an operand of a scalar instruction.

    A number (numpy's too) becomes an immediate; a text (name of a counter) or an element stays.
    """
    if isinstance(value, np.integer | np.floating):
        return Immediate(value.item())
    return value if isinstance(value, str | Element) else Immediate(value)


def as_load(register: Register, dsd: str | Ref, settings: dict[str, Any]) -> LoadRegister:
    """Return the instruction that loads a descriptor into a register.

    `dsd`: its name, or the operand, which may be moved by an offset; `settings`: further fields of
    `LoadRegister`. Raises ProgramError for another setting, or an operand changed in another way.
    """
    ref = Ref(dsd) if isinstance(dsd, str) else dsd
    if not isinstance(ref, Ref):
        raise ProgramError(f"load of {register}: this is no descriptor", value=dsd)
    if ref != Ref(ref.dsd, ref.offset):
        raise ProgramError(
            f"load of {register}: only the offset of a descriptor changes here",
            value=ref.dsd,
            instead="a descriptor of its own (dsd_changes.py)",
        )
    given = {**settings, "on_control": as_on_control(settings.get("on_control"))}
    return new_record(LoadRegister, f"load of {register}", register, ref.dsd, ref.offset, **given)


def as_on_control(given: object) -> OnControl | None:
    """Return (action, task) as the record of what a control wavelet does; None stays None.

    Raises ProgramError for anything else.
    """
    if given is None or isinstance(given, OnControl):
        return given
    if not isinstance(given, tuple) or len(given) != 2:
        raise ProgramError(
            "on_control is an action and a task",
            value=given,
            instead='("terminate", None), ("activate", task) or ("unblock", task)',
        )
    return OnControl(*given)


class StartSettings(TypedDict, total=False):
    """Keywords of an asynchronous operation.

    `activate`, `unblock`: task to activate or unblock at its end; `microthread`: number of the one
    it runs on; `label`: word for timelines; `on_control`: (action, task) when a control wavelet
    comes; `index`: for descriptors with wavelet_index_offset; `priority`: of the microthread.
    """

    activate: str | None
    unblock: str | None
    microthread: int | None
    label: str
    on_control: tuple[str, str | None] | None
    index: Index | int | None
    priority: str


class TaskBuilder:
    """Collects the instructions of one task of an element, in the order of the calls.

    Bodies of loops, branches and maps are written as `with` blocks.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._bodies: list[list[Instruction]] = [[]]

    @property
    def body(self) -> tuple[Instruction, ...]:
        """The instructions of the task so far, without a loop or branch that is still open."""
        return tuple(self._bodies[0])

    def add(self, instruction: Instruction) -> None:
        """Append an instruction, a loop with its whole body for example, to the open body."""
        self._bodies[-1].append(instruction)

    def op(
        self,
        operation: str,
        dest: OperandLike,
        *sources: OperandLike,
        label: str = "",
        index: Index | int | None = None,
        result: str | None = None,
    ) -> None:
        """Append a synchronous operation on descriptors: the task waits for its end.

        `operation`: name without @; `dest`, `sources`: descriptors or their names, registers,
        elements, numbers, counters; `label`: word for timelines; `index`: for descriptors with
        wavelet_index_offset; `result`: counter that gets 1 at the end, 0 if a FIFO ended it early.
        Raises ProgramError for a value that is no operand.
        """
        operands = tuple(map(as_operand, sources))
        given = None if index is None else as_index(index)
        self.add(
            DsdOperation(
                operation, as_operand(dest), operands, label=label, index=given, result=result
            )
        )

    def start(
        self,
        operation: str,
        dest: OperandLike,
        *sources: OperandLike,
        **settings: Unpack[StartSettings],
    ) -> None:
        """Append an asynchronous operation on descriptors: it runs beside the task.

        It runs on a microthread. Settings: `activate` or `unblock` (a task, at its end),
        `microthread` (its number), `label`, `index`, `priority`, `on_control`: ("terminate", None),
        ("activate", task) or ("unblock", task) when a control wavelet comes. Raises ProgramError
        for another setting or a value that is no operand.
        """
        index = settings.get("index")
        for key in settings:
            if key not in StartSettings.__annotations__:
                raise ProgramError(
                    f"task {self.name}, @{operation}: unknown property {key}",
                    instead="one of " + ", ".join(StartSettings.__annotations__),
                )
        self.add(
            DsdOperation(
                operation,
                as_operand(dest),
                tuple(map(as_operand, sources)),
                True,
                settings.get("activate"),
                settings.get("unblock"),
                settings.get("microthread"),
                settings.get("label", ""),
                as_on_control(settings.get("on_control")),
                None if index is None else as_index(index),
                settings.get("priority", ""),
            )
        )

    def compute(self, dest: ValueLike, operation: str, *sources: ValueLike, dtype: str) -> None:
        """Append a scalar instruction, `dest = operation(sources)` on values of a dtype.

        `dest`: a counter's name or an element of a buffer; `sources`: those, or numbers. Operations
        are add, mul, sqrt, ... (the table SCALARS); a counter holds a float by its bits.
        """
        self.add(ScalarOperation(as_value(dest), operation, tuple(map(as_value, sources)), dtype))

    @contextmanager
    def map(
        self,
        *inputs: tuple[str, OperandLike],
        output: tuple[str, OperandLike] | None = None,
        label: str = "",
    ) -> Iterator[None]:
        """Open a map (`@map`): what is appended is done for each value, until an operand ends.

        `inputs`: (counter, operand), the counter gets each value; `output`: the counter whose value
        is stored by the operand. The body holds scalar instructions, synchronous operations on
        descriptors, branches and loops. `label`: a word under which its values are counted.
        """
        self._bodies.append([])
        yield
        body = tuple(self._bodies.pop())
        given = tuple((name, as_operand(operand)) for name, operand in inputs)
        result = None if output is None else (output[0], as_operand(output[1]))
        self.add(Map(given, result, body, label))

    def set_read_length(self, fifo: str, length: Index | int) -> None:
        """Append an instruction that sets how many values an operation takes from a FIFO.

        `fifo`: name of its descriptor; `length`: 0 to 65535. Until then each operation that reads
        from it takes as many values as its other operands have.
        """
        self.add(SetLength(fifo, True, as_index(length)))

    def set_write_length(self, fifo: str, length: Index | int) -> None:
        """Append an instruction that sets how many values an operation puts into a FIFO.

        `fifo`: name of its descriptor; `length`: 0 to 65535. Until then each operation that writes
        to it puts as many values as its other operands have.
        """
        self.add(SetLength(fifo, False, as_index(length)))

    def end_teardown(self, color: str, position: int | None = None) -> None:
        """Append an instruction that lets a torn-down color move again at this element's router.

        A teardown, a command of a control wavelet, has stopped it. `position`: the switch position
        to go on at, None for the present one.
        """
        self.add(EndTeardown(color, position))

    def reconfigure(
        self,
        color: str,
        *,
        rx: str,
        tx: str,
        switch: Switch | None = None,
        filter: CounterFilter | RangeFilter | None = None,  # noqa: A002
    ) -> None:
        """Append an instruction that gives a torn-down color another route at this element.

        `rx`, `tx`: letters of the router's ports (N E S W R) to take from and send to; `switch`,
        `filter`: new ones, None removes the old one.
        """
        self.add(Reconfigure(color, tuple(rx), tuple(tx), switch, filter))

    def bind_input(self, queue: int, color: str) -> None:
        """Append an instruction that binds an input queue to another color (virtual channel).

        `queue`: its number; it must be empty when the instruction runs, else the run fails.
        """
        self.add(BindQueue(queue, False, color))

    def bind_output(self, queue: int, color: str) -> None:
        """Append an instruction that binds an output queue to another color (virtual channel).

        `queue`: its number; it must be empty when the instruction runs, else the run fails.
        """
        self.add(BindQueue(queue, True, color))

    def flush_input(self, queue: int) -> None:
        """Append an instruction that activates a task as soon as an input queue is empty (WSE-3).

        `queue`: its number; the task is the one that was declared with this `empty_input`.
        """
        self.add(Flush(queue, False))

    def flush_output(self, queue: int) -> None:
        """Append an instruction that activates a task as soon as an output queue is empty (WSE-3).

        `queue`: its number; the task is the one that was declared with this `empty_output`.
        """
        self.add(Flush(queue, True))

    def block_microthread(self, microthread: int) -> None:
        """Append an instruction that blocks a microthread, by number (WSE-3).

        The asynchronous operation that runs on it waits until the microthread is unblocked.
        """
        self.add(BlockMicrothread(microthread))

    def unblock_microthread(self, microthread: int) -> None:
        """Append an instruction that unblocks a blocked microthread, by number (WSE-3)."""
        self.add(BlockMicrothread(microthread, blocks=False))

    def load(self, register: Register, dsd: str | Ref, **settings: Any) -> None:
        """Append an instruction that loads a descriptor into a data-structure register.

        `dsd`: its name, or the operand, which may be moved by an offset. Settings are the further
        fields of `LoadRegister`, such as xdsr, asynchronous or save_address. Raises ProgramError
        for another setting, or an operand changed in another way.
        """
        self.add(as_load(register, dsd, settings))

    @contextmanager
    def loop(self, name: str, count: int) -> Iterator[Index]:
        """Open a loop of `count` turns; what is appended inside is its body.

        Yields the variable (0 to count-1) as an expression for offsets: `with task.loop("k", 3) as
        k`.
        """
        self._bodies.append([])
        yield variable(name)
        self.add(Loop(name, count, tuple(self._bodies.pop())))

    def extend(self, body: Iterable[Instruction]) -> None:
        """Append instructions that were made elsewhere to the body that is open."""
        self._bodies[-1].extend(body)

    @contextmanager
    def when_below(self, name: str, limit: int) -> Iterator[None]:
        """Open a branch: what is appended in the `with` block runs if a counter is below a limit.

        `name`: of the counter, a 32-bit variable of the element; `limit`: a number.
        """
        self._bodies.append([])
        yield
        self.add(If(name, limit, tuple(self._bodies.pop())))

    @contextmanager
    def otherwise(self) -> Iterator[None]:
        """Open the other branch of the `when_below` that has just been closed.

        Raises ProgramError if something else stands before it.
        """
        last = self._bodies[-1][-1] if self._bodies[-1] else None
        if not isinstance(last, If) or last.otherwise:
            raise ProgramError(f"task {self.name}: otherwise() must follow when_below()")
        self._bodies.append([])
        yield
        body = tuple(self._bodies.pop())
        self._bodies[-1][-1] = If(last.variable, last.below, last.then, body)

    def set(self, name: str, value: int) -> None:
        """Append an instruction that sets a counter, a named 32-bit variable of the element."""
        self.add(Set(name, value))

    def point(self, name: str, buffer: str, first: int = 0) -> None:
        """Append an instruction that gives a counter the address of an element of an array.

        An operand `Ref("d").pointed(name)` begins there, whatever array it is.
        """
        self.add(Point(name, buffer, first))

    def increment(self, name: str, value: int = 1) -> None:
        """Append an instruction that adds a number to a counter.

        A counter is a named 32-bit variable of the element.
        """
        self.add(Add(name, value))

    def activate(self, task: str) -> None:
        """Append an instruction that makes a local task active; it runs once it is not blocked."""
        self.add(Activate(task))

    def block(self, task: str) -> None:
        """Append an instruction that keeps a task from starting until it is unblocked."""
        self.add(Block(task))

    def unblock(self, task: str) -> None:
        """Append an instruction that lets a blocked task start again."""
        self.add(Unblock(task))
