"""The task structure of the SDK's collectives library: broadcast, scatter, gather, reduce.

One `LibraryLine` is the library's instance for the rows or for the columns of a grid (a published
copy of its source: github Elia-Belli/CereGraphs @4792bce, collectives_2d/pe.csl). Its two colors
are torn down between calls. A call blocks the task `lock`, fills in the state of a finite state
machine, clears filter and switch, sets the routes for its root, leaves the teardown and activates
the machine. Each run of the machine's task starts one transfer on a microthread, whose end
activates it again. In its last phase it sends a teardown along the routes and unblocks `lock`; what
the teardown reaches activates `lock`, which activates the caller's callback.

Every statement of the source that assigns a word of state, changes a descriptor or accesses a
register of the router is one scalar instruction on memory. What its compiler makes of address
arithmetic, tests and calls of functions is not known, and is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NamedTuple

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.task_builder import TaskBuilder
from tilewright.simulator.examples.collectives_routes import (
    LinePorts,
    LineRoute,
    broadcast_route,
    gather_route,
    reduce_colors,
    reduce_routes,
    scatter_route,
)
from tilewright.simulator.isa.dsd import Element, Register
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.isa.wavelets import control_wavelet

STATE_WORDS: Final = 10
"""Words of state that a call assigns: network (root, count, type) and machine, then its start."""
REGISTERS: Final = 8
"""Registers of the router that every call writes: filter, switch positions, pop mode."""
KINDS: Final = ("broadcast", "scatter", "gather", "reduce")
Action = Callable[[TaskBuilder], None]


class Call(NamedTuple):
    """A call of the library by one element.

    kind: one of KINDS; root: place on the line; words: f32 per element; send, receive: names of
    buffers (the same for a broadcast); callback: name of the task to activate at the end.
    """

    kind: str
    root: int
    words: int
    send: str
    receive: str
    callback: str


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


class Library:
    """The library's instance of one element on one line, for the calls that it makes in turn."""

    def __init__(self, code: CodeBuilder, line: LibraryLine, calls: Sequence[Call]) -> None:
        """Declare buffers, queues and tasks of the library in a code.

        calls: all that the element makes, in order. Raises ProgramError for a call that cannot be.
        """
        for call in calls:
            if call.kind not in KINDS or not 0 <= call.root < line.size or call.words < 1:
                raise ProgramError("no call of the collectives library", value=tuple(call))
        self.code, self.line, self.calls = code, line, tuple(calls)
        self.streams: set[str] = set()
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
        self.phases = [self._phases(number) for number in range(len(calls))]
        self._declare_machine()
        self._declare_teardown()

    def call(self, task: TaskBuilder, numbers: Sequence[int]) -> None:
        """Append a call of the library to a task of the program.

        numbers: which of the element's calls it is, counted from 0 in the order given to the
        constructor. If there are several, the instructions are shared, and the number of calls made
        so far decides in the run.
        """
        task.block(f"{self.line.name}_lock")
        for word in range(STATE_WORDS):
            task.compute(self._state(word), "mov", 0, dtype="u16")
        self._access_router(task, REGISTERS)
        counter = f"{self.line.name}_calls"
        choose(task, counter, [partial(self._configure, number) for number in numbers], numbers)
        task.activate(f"{self.line.name}_fsm")

    def _state(self, word: int) -> Element:
        return self.code.element(f"{self.line.name}_state", word)

    def _access_router(self, task: TaskBuilder, count: int) -> None:
        for number in range(count):
            register = self.code.element(f"{self.line.name}_router", number)
            task.compute(register, "or", register, 0, dtype="u16")

    def _configure(self, number: int, task: TaskBuilder) -> None:
        """Append the routes of a call: read and write their register, leave the teardown."""
        call, line = self.calls[number], self.line
        if call.kind == "reduce":
            changes = reduce_routes(line.place, line.size, call.root, line.ports)
        elif call.kind == "gather":
            self._access_router(task, 4)  # positions again, one of them, the pop mode
            changes = {0: gather_route(line.place, line.size, call.root, line.ports)}
        elif call.kind == "scatter":
            self._access_router(task, 3)  # the counter of the filter, its limits
            changes = {0: scatter_route(line.place, line.size, call.root, call.words, line.ports)}
        else:
            changes = {0: broadcast_route(line.place, line.size, call.root, line.ports)}
        for color, route in changes.items():
            self._access_router(task, 1)
            _reconfigure(task, line.colors[color], route)

    def _phases(self, number: int) -> list[Action]:
        """Return what the machine does in one call, a list item per run of its task."""
        call = self.calls[number]
        kinds = {"broadcast": self._broadcast, "scatter": self._scatter}
        if call.kind in kinds:
            transfer = kinds[call.kind](number, call)
            return [transfer, self._teardown_from(call.root)]
        return self._gather(number, call) if call.kind == "gather" else self._reduce(number, call)

    def _broadcast(self, number: int, call: Call) -> Action:
        buffer = call.send if call.root == self.line.place else call.receive
        memory = self._vector(f"{number}", buffer, call.words)
        return self._move(number, memory, call.words, sends=call.root == self.line.place)

    def _scatter(self, number: int, call: Call) -> Action:
        line, words = self.line, call.words * self.line.size
        if call.root != line.place:
            memory = self._vector(f"{number}", call.receive, call.words)
            return self._move(number, memory, call.words, sends=False)
        target = self._vector(f"{number}_own", call.receive, call.words)
        source = self._vector(f"{number}_part", call.send, call.words, call.words * line.place)
        send = self._move(number, self._vector(f"{number}", call.send, words), words, sends=True)

        def copy_and_send(task: TaskBuilder) -> None:
            self._change_descriptors(task, 5)
            self._operate(task, "fmovs", target, None, source)
            send(task)

        return copy_and_send

    def _gather(self, number: int, call: Call) -> list[Action]:
        line, count = self.line, call.words
        if line.place == call.root:
            return [*self._gather_at_root(number, call), self._teardown_from(*self._ends(call))]
        forward = line.place > call.root
        offset, stride = (0, 1) if forward else (count - 1, -1)
        memory = self._vector(f"{number}", call.send, count, offset, stride)
        out = self._named(f"{line.name}{number}_adv")
        self.code.fabout(out, line.queues[0], count, advance_switch=True)
        phases: list[Action] = [self._stream(out, memory, 3, sends=True)]
        if line.place == 0 and call.root != line.size - 1:
            phases.append(self._command("switch_adv"))
        if line.place == line.size - 1 and call.root not in (0, line.size - 1):
            return [*phases, self._teardown("teardown", "switch_rst")]
        if line.place == line.size - 1 and call.root == 0:
            return [*phases, self._teardown("teardown", "teardown")]
        return [*phases, self._teardown_from(*self._ends(call))]

    def _ends(self, call: Call) -> tuple[int, ...]:
        """Return the places that send teardowns to a root: the ends of the line, not itself."""
        return tuple(place for place in (0, self.line.size - 1) if place != call.root)

    def _gather_at_root(self, number: int, call: Call) -> list[Action]:
        """Return the root's phases: receive from smaller places, copy, receive from greater."""
        line, root, count = self.line, call.root, call.words
        phases: list[Action] = []
        if root > 0:
            words = count * root
            memory = self._vector(f"{number}_less", call.receive, words, words - 1, -1)
            phases.append(self._move(number, memory, words, sends=False, part="less"))
        target = self._vector(f"{number}_own", call.receive, count, count * root)
        source = self._vector(f"{number}_part", call.send, count)

        def copy(task: TaskBuilder) -> None:
            self._change_descriptors(task, 4)
            self._operate(task, "fmovs", target, None, source)
            task.activate(f"{line.name}_fsm")

        phases.append(copy)
        if root < line.size - 1:
            words = count * (line.size - root - 1)
            memory = self._vector(f"{number}_more", call.receive, words, count * (root + 1))
            phases.append(self._move(number, memory, words, sends=False, part="more"))
        return phases

    def _reduce(self, number: int, call: Call) -> list[Action]:
        line, count = self.line, call.words
        colors = reduce_colors(line.place)
        first, last = line.place == 0, line.place == line.size - 1
        if line.place == call.root:
            phases = self._reduce_at_root(number, call)
        else:
            memory = self._vector(f"{number}", call.send, count)
            to, of = colors if line.place > call.root else colors[::-1]
            out = self._stream_out(number, to, count)
            source = None if first or last else self._stream_in(number, of, count)

            def pass_on(task: TaskBuilder) -> None:
                self._change_descriptors(task, 6)
                self._operate(task, "fadds" if source else "fmovs", out, source, memory)

            phases = [pass_on]
        return [*phases, *self._teardown_of_reduce(call)]

    def _reduce_at_root(self, number: int, call: Call) -> list[Action]:
        """Return the root's phases: receive, add what comes from the other side, add its own."""
        line, count = self.line, call.words
        negative, positive = reduce_colors(line.place)
        total = self._vector(f"{number}", call.receive, count)
        share = self._vector(f"{number}_own", call.send, count)
        ends = line.place in (0, line.size - 1)
        color = negative if line.place == line.size - 1 else positive
        came = self._stream_in(number, color, count)
        other = None if ends else self._stream_in(number, negative, count)

        def receive(task: TaskBuilder) -> None:
            self._change_descriptors(task, 6)
            self._operate(task, "fmovs", total, None, came)

        def add_other(task: TaskBuilder) -> None:
            self._change_descriptors(task, 6)
            if other is None:
                task.activate(f"{line.name}_fsm")
            else:
                self._operate(task, "fadds", total, other, total)

        def add_own(task: TaskBuilder) -> None:
            self._change_descriptors(task, 8)
            self._operate(task, "fadds", total, total, share)
            task.activate(f"{line.name}_fsm")

        return [receive, add_other, add_own]

    def _teardown_of_reduce(self, call: Call) -> list[Action]:
        """Return two phases: the line's ends tear down their outer color, then all the rest."""
        line = self.line
        negative, positive = reduce_colors(line.place)

        def tear_down_outer(task: TaskBuilder) -> None:
            if line.place in (0, line.size - 1):
                color = negative if line.place == 0 else positive
                self._command("teardown", color=color)(task)
            else:
                task.activate(f"{line.name}_fsm")

        color = positive if line.place < call.root else negative
        sends = line.place != call.root
        return [tear_down_outer, self._teardown(*(["teardown"] if sends else []), color=color)]

    def _teardown_from(self, *places: int) -> Action:
        """Return the last phase of a call in which elements at some places send a teardown."""
        return self._teardown(*(["teardown"] if self.line.place in places else []))

    def _teardown(self, *commands: str, color: int = 0) -> Action:
        def tear_down(task: TaskBuilder) -> None:
            if commands:
                self._command(*commands, color=color, activates=False)(task)
            task.unblock(f"{self.line.name}_lock")

        return tear_down

    def _command(self, *commands: str, color: int = 0, activates: bool = True) -> Action:
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

    def _vector(self, name: str, buffer: str, count: int, offset: int = 0, stride: int = 1) -> str:
        full = f"{self.line.name}{name}_mem"
        self.code.mem1d(full, buffer, count, offset=offset, stride=stride)
        return full

    def _stream_in(self, number: int, color: int, count: int) -> str:
        name = self._named(f"{self.line.name}{number}_in{color}")
        self.code.fabin(name, self.line.queues[color], count)
        return name

    def _stream_out(self, number: int, color: int, count: int) -> str:
        name = self._named(f"{self.line.name}{number}_out{color}")
        self.code.fabout(name, self.line.queues[color], count)
        return name

    def _named(self, stream: str) -> str:
        """Note that a descriptor of a queue is used, and return its name."""
        self.streams.add(stream)
        return stream

    def _move(self, number: int, memory: str, words: int, *, sends: bool, part: str = "") -> Action:
        """Return the phase of a call that sends a vector, or receives it, by the first color.

        number: of the call; memory: name of the vector's descriptor; words: its length; part: added
        to the name of the stream, to tell several of a call apart.
        """
        name = self._named(f"{self.line.name}{number}{part}_stream")
        declare = self.code.fabout if sends else self.code.fabin
        declare(name, self.line.queues[0], words)
        return self._stream(name, memory, 3, sends=sends)

    def _stream(self, stream: str, memory: str, changes: int, *, sends: bool) -> Action:
        def transfer(task: TaskBuilder) -> None:
            self._change_descriptors(task, changes)
            pair = (stream, memory) if sends else (memory, stream)
            self._operate(task, "fmovs", pair[0], None, pair[1])

        return transfer

    def _change_descriptors(self, task: TaskBuilder, count: int) -> None:
        """Append the library's changes of lengths, bases and offsets of descriptors in memory."""
        for number in range(count):
            word = 1 + number % (STATE_WORDS - 1)
            task.compute(self._state(word), "mov", self._state(0), dtype="u16")

    def _operate(
        self, task: TaskBuilder, operation: str, dest: str, first: str | None, second: str
    ) -> None:
        """Append loads of registers and an operation on them; one on streams activates the machine.

        Of several streams the destination, or else the first source, carries the activation.
        """
        number = self.line.number
        given = {"dest": dest, "src0": first, "src1": second}
        loads = {Register(file, number): name for file, name in given.items() if name}
        streams = [r for r, name in loads.items() if name in self.streams]
        for register, name in loads.items():
            settings: dict[str, object] = {}
            if register in streams:
                settings = {"asynchronous": True}
            if register in streams[:1]:
                settings["activate"] = f"{self.line.name}_fsm"
            task.load(register, name, **settings)
        (task.start if streams else task.op)(operation, *loads)

    def _declare_machine(self) -> None:
        """Declare the task of the finite state machine: by call and phase it does one step."""
        name = self.line.name
        fsm = self.code.task(f"{name}_fsm")
        fsm.compute(f"{name}_phase", "mov", self._state(0), dtype="u16")
        by_call = [partial(self._do_phase, phases) for phases in self.phases]
        choose(fsm, f"{name}_calls", by_call, range(len(by_call)))

    def _do_phase(self, phases: Sequence[Action], task: TaskBuilder) -> None:
        """Append the phases of a call; each says which comes after it."""

        def step(number: int, task: TaskBuilder) -> None:
            after = (number + 1) % len(phases)
            task.compute(self._state(0), "mov", after, dtype="u16")
            phases[number](task)

        numbers = range(len(phases))
        choose(task, f"{self.line.name}_phase", [partial(step, n) for n in numbers], numbers)

    def _declare_teardown(self) -> None:
        """Declare what teardowns activate, and the lock, which activates the callback."""
        name, code = self.line.name, self.code
        torn = code.element(f"{name}_torn_colors")
        for number, color in enumerate(self.line.colors):
            handler = code.task(f"{name}_torn{number}", teardown=color)
            by_call = [
                partial(self._count_teardown, torn) if call.kind == "reduce" else self._free
                for call in self.calls
            ]
            choose(handler, f"{name}_calls", by_call, range(len(by_call)))
        lock = code.task(f"{name}_lock")
        by_call = [partial(_activate, call.callback) for call in self.calls]
        choose(lock, f"{name}_calls", by_call, range(len(by_call)))
        lock.increment(f"{name}_calls")

    def _free(self, handler: TaskBuilder) -> None:
        handler.activate(f"{self.line.name}_lock")

    def _count_teardown(self, torn: Element, handler: TaskBuilder) -> None:
        """Append the count of torn colors: of a reduction both must be."""
        handler.compute(torn, "add", torn, 1, dtype="u16")
        handler.compute(f"{self.line.name}_torn", "mov", torn, dtype="u16")
        with handler.when_below(f"{self.line.name}_torn", 2):
            pass
        with handler.otherwise():
            handler.compute(torn, "mov", 0, dtype="u16")
            self._free(handler)


def choose(
    task: TaskBuilder, counter: str, actions: Sequence[Action], numbers: Sequence[int]
) -> None:
    """Append instructions that do one of some actions: the one whose number a counter has.

    counter: its name; actions: each appends its instructions to a task; numbers: one per action,
    ascending.
    """
    if len(actions) == 1:
        actions[0](task)
        return
    with task.when_below(counter, numbers[0] + 1):
        actions[0](task)
    with task.otherwise():
        choose(task, counter, actions[1:], numbers[1:])


def _activate(callback: str, task: TaskBuilder) -> None:
    task.activate(callback)


def _reconfigure(task: TaskBuilder, color: str, route: LineRoute) -> None:
    """Append the new route of a color, and the end of its teardown."""
    rx, tx, switch, kept = route
    task.reconfigure(color, rx=rx, tx=tx, switch=switch, filter=kept)
    task.end_teardown(color)
