"""The builder of a task's instructions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypedDict, Unpack

import numpy as np

from tilewright.simulator.check.field_types import new_record
from tilewright.simulator.instructions.control_flow import (
    Add,
    If,
    Loop,
    Set,
)
from tilewright.simulator.instructions.element_map import Map
from tilewright.simulator.instructions.fifo_length import SetLength
from tilewright.simulator.instructions.queue_changes import (
    BindQueue,
    BlockMicrothread,
    Flush,
)
from tilewright.simulator.instructions.router_changes import (
    EndTeardown,
    Reconfigure,
)
from tilewright.simulator.instructions.scalar_operation import (
    Compute,
    Value,
)
from tilewright.simulator.instructions.task_states import (
    Activate,
    Block,
    Unblock,
)
from tilewright.simulator.isa.dsd import (
    CounterValue,
    Element,
    Immediate,
    Index,
    Operand,
    Ref,
    Register,
    as_index,
    variable,
)
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
    """Return a descriptor's name as `Ref`, a number as `Immediate`, an `Index` as its value."""
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
    """Return a number as `Immediate`, a counter's name or an element as itself."""
    if isinstance(value, np.integer | np.floating):
        return Immediate(value.item())
    return value if isinstance(value, str | Element) else Immediate(value)


def as_load(register: Register, dsd: str | Ref, settings: dict[str, Any]) -> LoadRegister:
    """Return the loading of a register."""
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
    """Return (action, task) as a value. Raises ProgramError."""
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
    """The configuration of an asynchronous operation."""

    activate: str | None
    unblock: str | None
    microthread: int | None
    label: str
    on_control: tuple[str, str | None] | None
    """(terminate, None), (activate, task) or (unblock, task) at a control wavelet."""
    index: Index | int | None
    priority: str


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

    def op(
        self,
        operation: str,
        dest: OperandLike,
        *sources: OperandLike,
        label: str = "",
        index: Index | int | None = None,
        result: str | None = None,
    ) -> None:
        """Append a synchronous DSD operation."""
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
        """Append an asynchronous DSD operation.

        settings: `activate` or `unblock` (a task, at its end), `microthread`, `label`, `index`,
        `priority`, `on_control`: ("terminate", None), ("activate", task) or ("unblock", task) when
        a control wavelet comes.
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
        """Append a scalar instruction; names are counters."""
        self.add(Compute(as_value(dest), operation, tuple(map(as_value, sources)), dtype))

    @contextmanager
    def map(
        self, *inputs: tuple[str, OperandLike], output: tuple[str, OperandLike] | None = None
    ) -> Iterator[None]:
        """Open a map over descriptors: (counter, operand) pairs; inside is the callback."""
        self._bodies.append([])
        yield
        body = tuple(self._bodies.pop())
        given = tuple((name, as_operand(operand)) for name, operand in inputs)
        result = None if output is None else (output[0], as_operand(output[1]))
        self.add_closed(Map(given, result, body))

    def set_read_length(self, fifo: str, length: int) -> None:
        """Append the setting of a FIFO's length as source."""
        self.add(SetLength(fifo, True, length))

    def set_write_length(self, fifo: str, length: int) -> None:
        """Append the setting of a FIFO's length as destination."""
        self.add(SetLength(fifo, False, length))

    def end_teardown(self, color: str, position: int | None = None) -> None:
        """Append the end of a color's teardown, at another switch position if given."""
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
        """Append another route, switch and filter of a torn-down color at this element."""
        self.add(Reconfigure(color, tuple(rx), tuple(tx), switch, filter))

    def bind_input(self, queue: int, color: str) -> None:
        """Append the binding of an empty input queue to another color."""
        self.add(BindQueue(queue, False, color))

    def bind_output(self, queue: int, color: str) -> None:
        """Append the binding of an empty output queue to another color."""
        self.add(BindQueue(queue, True, color))

    def flush_input(self, queue: int) -> None:
        """Append a request to run the task of an input queue's emptying once it is empty."""
        self.add(Flush(queue, False))

    def flush_output(self, queue: int) -> None:
        """Append a request to run the task of an output queue's emptying once it is empty."""
        self.add(Flush(queue, True))

    def block_microthread(self, microthread: int) -> None:
        """Append the blocking of a microthread: what runs on it waits (WSE-3)."""
        self.add(BlockMicrothread(microthread))

    def unblock_microthread(self, microthread: int) -> None:
        """Append the unblocking of a microthread."""
        self.add(BlockMicrothread(microthread, blocks=False))

    def load(self, register: Register, dsd: str | Ref, **settings: Any) -> None:
        """Append the loading of a register; settings as in `LoadRegister`."""
        self.add(as_load(register, dsd, settings))

    @contextmanager
    def loop(self, name: str, count: int) -> Iterator[Index]:
        """Open a loop; what is appended inside is its body. Yields the variable."""
        self._bodies.append([])
        yield variable(name)
        self.add_closed(Loop(name, count, tuple(self._bodies.pop())))

    def extend(self, body: Iterable[Instruction]) -> None:
        """Append instructions that were made elsewhere."""
        self._bodies[-1].extend(body)

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
