"""The steps of which calls of the SDK's collectives library consist, each as instructions.

A step assigns words of state, changes descriptors, accesses registers of the router, or starts a
transfer on registers whose end activates the library's machine (collectives_library.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.task_builder import TaskBuilder
from tilewright.simulator.examples.collectives_routes import LinePorts
from tilewright.simulator.isa.dsd import Element, Register
from tilewright.simulator.isa.wavelets import control_wavelet

STATE_WORDS: Final = 10
"""Words of state that a call assigns: network (root, count, type) and machine, then its start."""
REGISTERS: Final = 8
"""Registers of the router that every call writes: filter, switch positions, pop mode."""
Action = Callable[[TaskBuilder], None]


class LibraryLine(NamedTuple):
    """Where an element stands on its row or column, and what the library uses there.

    name: "x" along a row, "y" along a column; place: from 0 on; size: elements of the line.
    """

    name: str
    place: int
    size: int

    @property
    def ports(self) -> LinePorts:
        """Ports towards smaller and towards greater places."""
        return LinePorts("W", "E") if self.name == "x" else LinePorts("N", "S")

    @property
    def colors(self) -> tuple[str, str]:
        """Names of the two colors that the library uses on this line."""
        return f"{self.name}0", f"{self.name}1"

    @property
    def number(self) -> int:
        """1 along a row, 2 along a column: also that of its registers."""
        return 1 if self.name == "x" else 2

    @property
    def queues(self) -> tuple[int, int]:
        """Numbers of the two colors' queues; a color's input and output queue have the same."""
        return self.number + 1, self.number + 3


class LibrarySteps:
    """Makes the steps of one element's instance of the library on one line, in its code."""

    def __init__(self, code: CodeBuilder, line: LibraryLine) -> None:
        """Declare what the steps work on: state, registers of the router, queues of both colors."""
        self.code, self.line = code, line
        self._streams: set[str] = set()
        name = line.name
        code.buffer(f"{name}_state", "u16", STATE_WORDS)
        code.buffer(f"{name}_router", "u16", REGISTERS)
        code.buffer(f"{name}_torn_colors", "u16", 1)
        code.buffer(f"{name}_ctrl", "u32", 1)
        code.mem1d(f"{name}_ctrl_mem", f"{name}_ctrl", 1)
        for color, queue in zip(line.colors, line.queues, strict=True):
            code.input_queue(queue, color)
            code.output_queue(queue, color)
            code.fabout(f"{color}_ctrl_out", queue, 1, control=True)

    def state(self, word: int) -> Element:
        """Return a word of the library's state."""
        return self.code.element(f"{self.line.name}_state", word)

    def access_router(self, task: TaskBuilder, count: int) -> None:
        """Append reads and writes of the first `count` registers of the router."""
        for number in range(count):
            register = self.code.element(f"{self.line.name}_router", number)
            task.compute(register, "or", register, 0, dtype="u16")

    def change_descriptors(self, task: TaskBuilder, count: int) -> None:
        """Append the library's changes of lengths, bases and offsets of descriptors in memory."""
        for number in range(count):
            word = 1 + number % (STATE_WORDS - 1)
            task.compute(self.state(word), "mov", self.state(0), dtype="u16")

    def vector(self, name: str, buffer: str, count: int, offset: int = 0, stride: int = 1) -> str:
        """Declare a descriptor of f32 values in a buffer; return its name."""
        full = f"{self.line.name}{name}_mem"
        self.code.mem1d(full, buffer, count, offset=offset, stride=stride)
        return full

    def stream_in(self, number: int, color: int, count: int) -> str:
        """Declare a descriptor of what comes by a color (0 or 1) in a call; return its name."""
        name = self.named(f"{self.line.name}{number}_in{color}")
        self.code.fabin(name, self.line.queues[color], count)
        return name

    def stream_out(self, number: int, color: int, count: int) -> str:
        """Declare a descriptor of what leaves by a color (0 or 1) in a call; return its name."""
        name = self.named(f"{self.line.name}{number}_out{color}")
        self.code.fabout(name, self.line.queues[color], count)
        return name

    def named(self, stream: str) -> str:
        """Note that a descriptor of a queue is used, and return its name."""
        self._streams.add(stream)
        return stream

    def move(self, number: int, memory: str, words: int, *, sends: bool, part: str = "") -> Action:
        """Return the phase of a call that sends a vector, or receives it, by the first color.

        number: of the call; memory: name of the vector's descriptor; words: its length; part: added
        to the name of the stream, to tell several of a call apart.
        """
        name = self.named(f"{self.line.name}{number}{part}_stream")
        declare = self.code.fabout if sends else self.code.fabin
        declare(name, self.line.queues[0], words)
        return self.stream(name, memory, sends=sends)

    def stream(self, stream: str, memory: str, *, sends: bool) -> Action:
        """Return the phase that copies a vector to a stream of the fabric, or back."""

        def transfer(task: TaskBuilder) -> None:
            self.change_descriptors(task, 3)
            pair = (stream, memory) if sends else (memory, stream)
            self.operate(task, "fmovs", pair[0], None, pair[1])

        return transfer

    def operate(
        self, task: TaskBuilder, operation: str, dest: str, first: str | None, second: str
    ) -> None:
        """Append loads of registers and an operation on them; one on streams activates the machine.

        Of several streams the destination, or else the first source, carries the activation.
        """
        number = self.line.number
        given = {"dest": dest, "src0": first, "src1": second}
        loads = {Register(file, number): name for file, name in given.items() if name}
        streams = [r for r, name in loads.items() if name in self._streams]
        for register, name in loads.items():
            settings: dict[str, object] = {}
            if register in streams:
                settings = {"asynchronous": True}
            if register in streams[:1]:
                settings["activate"] = f"{self.line.name}_fsm"
            task.load(register, name, **settings)
        (task.start if streams else task.op)(operation, *loads)

    def command(self, *commands: str, color: int = 0, activates: bool = True) -> Action:
        """Return the phase that sends a control wavelet."""
        payload = control_wavelet(*commands, ignore_ce=True)
        ctrl, name = self.code.element(f"{self.line.name}_ctrl"), self.line.colors[color]

        def send(task: TaskBuilder) -> None:
            task.compute(ctrl, "mov", payload, dtype="u32")
            dest, source = Register("dest", self.line.number), Register("src1", self.line.number)
            activated = {"activate": f"{self.line.name}_fsm"} if activates else {}
            task.load(dest, f"{name}_ctrl_out", asynchronous=True, **activated)
            task.load(source, f"{self.line.name}_ctrl_mem")
            task.start("mov32", dest, source)

        return send
