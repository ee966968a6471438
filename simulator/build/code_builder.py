"""A builder of the code of a class of elements: buffers, descriptors, queues and tasks."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

from tilewright.simulator.build.task_builder import Arguments, TaskBuilder, as_load
from tilewright.simulator.check.field_types import new_record
from tilewright.simulator.descriptors.fabric_streams import queue_of_color
from tilewright.simulator.isa.dsd import (
    Buffer,
    Circbuf,
    Dsd,
    Element,
    Fabin,
    Fabout,
    Fifo,
    Mem1d,
    Mem4d,
    Ref,
    Register,
    mem4d_access,
    view_of,
)
from tilewright.simulator.isa.index_expression import Index, as_index
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.isa.number_types import DTYPES
from tilewright.simulator.isa.tensor_access import check_alone, check_one_variable, lowered_access
from tilewright.simulator.program.instruction import LoadRegister
from tilewright.simulator.program.program import ElementCode, Queue, Task


def _shape(shape: Sequence[int] | int, place: str) -> tuple[int, ...]:
    try:
        return tuple(map(index, shape)) if isinstance(shape, Sequence) else (index(shape),)
    except TypeError:
        raise ProgramError(
            f"{place}: a shape is an integer or several", value=shape, instead="as in (4, 3)"
        ) from None


class CodeBuilder:
    """Collects what one class of elements holds and runs: buffers, descriptors, queues and tasks.

    Names are only looked up when the whole program is built.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._buffers: list[Buffer] = []
        self._dsds: list[Dsd] = []
        self._input_queues: list[Queue] = []
        self._output_queues: list[Queue] = []
        self._tasks: list[tuple[TaskBuilder, dict[str, Any]]] = []
        self._loads: list[LoadRegister] = []
        self._next_word = 0
        self._main_priority = "medium_low"

    def buffer(
        self, name: str, dtype: str, shape: Sequence[int] | int, address: int | None = None
    ) -> Buffer:
        """Declare an array in the element's SRAM and return it.

        `dtype`: f32, i32, u32, f16, i16 or u16; `shape`: values per dimension; `address`: in 16-bit
        words, None for the next even address behind all buffers so far. Raises ProgramError for a
        wrong shape, dtype or address.
        """
        dims = _shape(shape, f"buffer {self.name}.{name}")
        if not isinstance(dtype, str) or dtype not in DTYPES:
            raise ProgramError(
                f"buffer {self.name}.{name} has an unknown dtype",
                value=dtype,
                instead="one of " + ", ".join(DTYPES),
            )
        if address is not None and not isinstance(address, int):
            raise ProgramError(
                f"buffer {self.name}.{name}: the address is a number of words", value=address
            )
        first_word = self._next_word + self._next_word % 2 if address is None else address
        buffer = Buffer(name, dtype, dims, first_word)
        self._buffers.append(buffer)
        self._next_word = max(self._next_word, first_word + buffer.words)
        return buffer

    def view(self, name: str, of: str, shape: Sequence[int] | int, first: int = 0) -> Buffer:
        """Declare a pointer to an array or into one: a view with a shape of its own; return it.

        `of`: a buffer that is declared above; `first`: the element of it at which the view begins.
        Raises ProgramError for a wrong shape or an unknown buffer.
        """
        dims = _shape(shape, f"buffer {self.name}.{name}")
        dtype = next((b.dtype for b in self._buffers if b.name == of), "u16")
        buffer = view_of(of, self._buffers, Buffer(name, dtype, dims, 0), first)
        self._buffers.append(buffer)
        return buffer

    def mem1d(
        self,
        name: str,
        buffer: str | None = None,
        extent: int | None = None,
        stride: int | None = None,
        offset: int | None = None,
        **properties: Any,
    ) -> Ref:
        """Declare a one-dimensional memory vector (mem1d_dsd) and return it as an operand.

        It has the elements offset + i * stride of the buffer, i in 0..extent-1 (stride 1 and offset
        0 by default). Properties: `wavelet_index_offset`; `tensor_access`, such as "|i|{5} -> A[2*i
        + 1]", in the place of buffer, extent, stride and offset. Raises ProgramError for an unknown
        property or missing, doubled or malformed settings.
        """
        access = properties.pop("tensor_access", None)
        if access is not None:
            self._refuse_both(name, buffer=buffer, extent=extent, stride=stride, offset=offset)
            buffer, loops, offset = self._access(access)
            check_one_variable(f"code {self.name}, DSD {name}", loops, access)
            extent, stride = loops[0]
        if buffer is None or extent is None:
            raise ProgramError(f"code {self.name}, DSD {name}: needs a buffer and an extent")
        stride = 1 if stride is None else stride
        values = (name, buffer, extent, stride, 0 if offset is None else offset)
        return self._dsd(Mem1d, *values, **properties)

    def mem4d(
        self,
        name: str,
        buffer: str | None = None,
        loops: Sequence[tuple[int, int]] | None = None,
        offset: int | None = None,
        **properties: Any,
    ) -> Ref:
        """Declare a memory vector of up to four dimensions (mem4d_dsd) and return it as an operand.

        `loops`: (extent, coefficient) per dimension in elements, outermost first; `offset`: the
        first element. Properties: `wavelet_index_offset`; `tensor_access`, such as "|i, j|{5, 4} ->
        A[i + 2*j]", in the place of buffer, loops and offset. Raises ProgramError for an unknown
        property or missing, doubled or malformed settings.
        """
        access = properties.pop("tensor_access", None)
        if access is not None:
            self._refuse_both(name, buffer=buffer, loops=loops, offset=offset)
            buffer, loops, offset = self._access(access)
        if buffer is None or loops is None:
            raise ProgramError(f"code {self.name}, DSD {name}: needs a buffer and loops")
        plain = mem4d_access(name, buffer, loops, 0 if offset is None else offset)
        values = (name, buffer, plain.extents, plain.strides, plain.offset)
        return self._dsd(Mem4d, *values, **properties)

    def _refuse_both(self, name: str, **given: object) -> None:
        names = [key for key, value in given.items() if value is not None]
        check_alone(f"code {self.name}, DSD {name}", names)

    def _access(self, text: str) -> tuple[str, list[tuple[int, int]], int]:
        """Return (buffer name, loops, offset) of a tensor access expression.

        loops: (turns, stride in values) each; offset: of the first value in the buffer.
        """
        return lowered_access(f"code {self.name}", text, self._buffers)

    def fabin(self, name: str, queue: int | str, extent: int, **properties: Any) -> Ref:
        """Declare a source of `extent` wavelets from an input queue, and return it as an operand.

        `queue`: its number, or the color of a queue that is declared above. Properties are the
        further fields of `Fabin`: control_transform, priority and simd. Raises ProgramError for
        another one.
        """
        number = self._queue(name, queue, self._input_queues)
        return self._dsd(Fabin, name, number, extent, **properties)

    def fabout(self, name: str, queue: int | str, extent: int, **properties: Any) -> Ref:
        """Declare a destination of `extent` wavelets to an output queue; return it as an operand.

        `queue`: its number, or the color of a queue that is declared above. Properties are the
        further fields of `Fabout`: control, advance_switch, wavelet_index_offset,
        control_transform, zero, priority and simd. Raises ProgramError for another one.
        """
        number = self._queue(name, queue, self._output_queues)
        return self._dsd(Fabout, name, number, extent, **properties)

    def _queue(self, name: str, queue: int | str, queues: Sequence[Queue]) -> int:
        """Return the number of a queue that is given by its number or by its color."""
        if not isinstance(queue, str):
            return queue
        return queue_of_color(f"code {self.name}, DSD {name}", queue, queues)

    def circbuf(self, name: str, buffer: str, extent: int, wraparound: int | None = None) -> Ref:
        """Declare a circular memory vector of `extent` elements and return it as an operand.

        It starts again at the first element after `wraparound` elements, None: at the buffer's end.
        """
        return self.declare(Circbuf(name, buffer, extent, wraparound))

    def fifo(self, name: str, buffer: str, **settings: Any) -> Ref:
        """Declare a first-in first-out queue that is kept in a buffer, and return it as an operand.

        Settings are the further fields of `Fifo`: empty_action, full_action, activate_pop,
        activate_push, priority, simd, dest, src and xdsr. Raises ProgramError for another one.
        """
        return self._dsd(Fifo, name, buffer, **settings)

    def load(self, register: Register, dsd: str | Ref, **settings: Any) -> None:
        """Load a descriptor into a data-structure register before the program starts.

        `dsd`: its name, or the operand, which may be moved by an offset. Settings are the further
        fields of `LoadRegister`, such as xdsr or save_address. Raises ProgramError for another
        setting, or an operand that changes more than its offset.
        """
        self._loads.append(as_load(register, dsd, settings))

    def main_priority(self, priority: str) -> None:
        """Set the priority of the main thread (tasks) against microthreads.

        low, medium_low (the default), medium_high or high: below the microthreads of priority low,
        medium, high, or above all.
        """
        self._main_priority = priority

    def element(self, buffer: str, index: Index | int = 0) -> Element:
        """Return one element of a buffer as an operand; `index` counts values in row-major order.

        It is a scalar as a source and a pointer as a destination. Raises ProgramError if the index
        is neither an integer nor an expression of counters.
        """
        return Element(buffer, as_index(index))

    def input_queue(self, queue: int, color: str, priority: str = "") -> None:
        """Bind an input queue, by number, to a color (virtual channel) whose wavelets it receives.

        `priority`: low, medium or high, of the queue's microthread (WSE-2), empty for none chosen.
        """
        self._input_queues.append(Queue(queue, color, priority))

    def output_queue(self, queue: int, color: str) -> None:
        """Bind an output queue, by number, to the color (virtual channel) that it sends on."""
        self._output_queues.append(Queue(queue, color))

    def task(
        self, name: str, *, entry: bool = False, blocked: bool = False, **starts: Any
    ) -> TaskBuilder:
        """Declare a local task, which runs when it is activated; return the builder of its body.

        `entry`: active from cycle 0 on; `blocked`: it must be unblocked first. `starts`:
        `teardown`, a color whose teardown by a control wavelet activates it; `empty_input` or
        `empty_output`, a queue whose emptying after a flush does.
        """
        return self._task(name, entry=entry, blocked=blocked, **starts)

    def data_task(
        self, name: str, queue: int, arguments: Arguments = (), *, blocked: bool = False
    ) -> TaskBuilder:
        """Declare the task that each data wavelet of an input queue starts; return its builder.

        `arguments`: (counter, dtype) pairs that share the 32 bits of the wavelet, from bit 0 on.
        `blocked`: it must be unblocked first.
        """
        return self._task(name, queue=queue, arguments=tuple(arguments), blocked=blocked)

    def control_task(
        self, name: str, entry: int, arguments: Arguments = (), *, blocked: bool = False
    ) -> TaskBuilder:
        """Declare the task that control wavelets of one entry number start; return its builder.

        `entry`: 0 to 63; `arguments`: at most one (counter, dtype) of 16 bits, the wavelet's data;
        `blocked`: it must be unblocked first.
        """
        return self._task(name, control=entry, arguments=tuple(arguments), blocked=blocked)

    def _dsd(self, kind: type[Dsd], name: str, *values: Any, **properties: Any) -> Ref:
        place = f"code {self.name}, DSD {name}"
        return self.declare(new_record(kind, place, name, *values, **properties))

    def _task(self, name: str, **properties: Any) -> TaskBuilder:
        task = TaskBuilder(name)
        self._tasks.append((task, properties))
        return task

    def build(self) -> ElementCode:
        """Return what was declared as a frozen record, unchecked.

        Raises ProgramError for an unknown setting of a task.
        """
        return ElementCode(
            self.name,
            tuple(self._buffers),
            tuple(self._dsds),
            tuple(self._input_queues),
            tuple(self._output_queues),
            tuple(
                new_record(Task, f"code {self.name}, task {t.name}", t.name, t.body, **properties)
                for t, properties in self._tasks
            ),
            tuple(self._loads),
            self._main_priority,
        )

    def declare(self, dsd: Dsd) -> Ref:
        """Declare a descriptor that was made or changed elsewhere; return it as an operand."""
        self._dsds.append(dsd)
        return Ref(dsd.name)
