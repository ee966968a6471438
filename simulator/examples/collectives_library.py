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

from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.task_builder import TaskBuilder
from tilewright.simulator.examples.collectives_routes import (
    LineRoute,
    broadcast_route,
    gather_route,
    reduce_colors,
    reduce_routes,
    scatter_route,
)
from tilewright.simulator.examples.collectives_steps import (
    REGISTERS,
    STATE_WORDS,
    Action,
    LibraryLine,
    LibrarySteps,
)
from tilewright.simulator.isa.dsd import Element
from tilewright.simulator.isa.machine_errors import ProgramError

KINDS: Final = ("broadcast", "scatter", "gather", "reduce")


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
        self._steps = LibrarySteps(code, line)
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
            task.compute(self._steps.state(word), "mov", 0, dtype="u16")
        self._steps.access_router(task, REGISTERS)
        counter = f"{self.line.name}_calls"
        choose(task, counter, [partial(self._configure, number) for number in numbers], numbers)
        task.activate(f"{self.line.name}_fsm")

    def _configure(self, number: int, task: TaskBuilder) -> None:
        """Append the routes of a call: read and write their register, leave the teardown."""
        call, line = self.calls[number], self.line
        if call.kind == "reduce":
            changes = reduce_routes(line.place, line.size, call.root, line.ports)
        elif call.kind == "gather":
            self._steps.access_router(task, 4)  # positions again, one of them, the pop mode
            changes = {0: gather_route(line.place, line.size, call.root, line.ports)}
        elif call.kind == "scatter":
            self._steps.access_router(task, 3)  # the counter of the filter, its limits
            changes = {0: scatter_route(line.place, line.size, call.root, call.words, line.ports)}
        else:
            changes = {0: broadcast_route(line.place, line.size, call.root, line.ports)}
        for color, route in changes.items():
            self._steps.access_router(task, 1)
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
        memory = self._steps.vector(f"{number}", buffer, call.words)
        return self._steps.move(number, memory, call.words, sends=call.root == self.line.place)

    def _scatter(self, number: int, call: Call) -> Action:
        line, steps, words = self.line, self._steps, call.words * self.line.size
        if call.root != line.place:
            memory = steps.vector(f"{number}", call.receive, call.words)
            return steps.move(number, memory, call.words, sends=False)
        target = steps.vector(f"{number}_own", call.receive, call.words)
        source = steps.vector(f"{number}_part", call.send, call.words, call.words * line.place)
        send = steps.move(number, steps.vector(f"{number}", call.send, words), words, sends=True)

        def copy_and_send(task: TaskBuilder) -> None:
            steps.change_descriptors(task, 5)
            steps.operate(task, "fmovs", target, None, source)
            send(task)

        return copy_and_send

    def _gather(self, number: int, call: Call) -> list[Action]:
        line, count = self.line, call.words
        if line.place == call.root:
            return [*self._gather_at_root(number, call), self._teardown_from(*self._ends(call))]
        forward = line.place > call.root
        offset, stride = (0, 1) if forward else (count - 1, -1)
        memory = self._steps.vector(f"{number}", call.send, count, offset, stride)
        out = self._steps.named(f"{line.name}{number}_adv")
        self.code.fabout(out, line.queues[0], count, advance_switch=True)
        phases: list[Action] = [self._steps.stream(out, memory, sends=True)]
        if line.place == 0 and call.root != line.size - 1:
            phases.append(self._steps.command("switch_adv"))
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
            memory = self._steps.vector(f"{number}_less", call.receive, words, words - 1, -1)
            phases.append(self._steps.move(number, memory, words, sends=False, part="less"))
        target = self._steps.vector(f"{number}_own", call.receive, count, count * root)
        source = self._steps.vector(f"{number}_part", call.send, count)

        def copy(task: TaskBuilder) -> None:
            self._steps.change_descriptors(task, 4)
            self._steps.operate(task, "fmovs", target, None, source)
            task.activate(f"{line.name}_fsm")

        phases.append(copy)
        if root < line.size - 1:
            words = count * (line.size - root - 1)
            memory = self._steps.vector(f"{number}_more", call.receive, words, count * (root + 1))
            phases.append(self._steps.move(number, memory, words, sends=False, part="more"))
        return phases

    def _reduce(self, number: int, call: Call) -> list[Action]:
        line, count = self.line, call.words
        colors = reduce_colors(line.place)
        first, last = line.place == 0, line.place == line.size - 1
        if line.place == call.root:
            phases = self._reduce_at_root(number, call)
        else:
            memory = self._steps.vector(f"{number}", call.send, count)
            to, of = colors if line.place > call.root else colors[::-1]
            out = self._steps.stream_out(number, to, count)
            source = None if first or last else self._steps.stream_in(number, of, count)

            def pass_on(task: TaskBuilder) -> None:
                self._steps.change_descriptors(task, 6)
                self._steps.operate(task, "fadds" if source else "fmovs", out, source, memory)

            phases = [pass_on]
        return [*phases, *self._teardown_of_reduce(call)]

    def _reduce_at_root(self, number: int, call: Call) -> list[Action]:
        """Return the root's phases: receive, add what comes from the other side, add its own."""
        line, count = self.line, call.words
        negative, positive = reduce_colors(line.place)
        total = self._steps.vector(f"{number}", call.receive, count)
        share = self._steps.vector(f"{number}_own", call.send, count)
        ends = line.place in (0, line.size - 1)
        color = negative if line.place == line.size - 1 else positive
        came = self._steps.stream_in(number, color, count)
        other = None if ends else self._steps.stream_in(number, negative, count)

        def receive(task: TaskBuilder) -> None:
            self._steps.change_descriptors(task, 6)
            self._steps.operate(task, "fmovs", total, None, came)

        def add_other(task: TaskBuilder) -> None:
            self._steps.change_descriptors(task, 6)
            if other is None:
                task.activate(f"{line.name}_fsm")
            else:
                self._steps.operate(task, "fadds", total, other, total)

        def add_own(task: TaskBuilder) -> None:
            self._steps.change_descriptors(task, 8)
            self._steps.operate(task, "fadds", total, total, share)
            task.activate(f"{line.name}_fsm")

        return [receive, add_other, add_own]

    def _teardown_of_reduce(self, call: Call) -> list[Action]:
        """Return two phases: the line's ends tear down their outer color, then all the rest."""
        line = self.line
        negative, positive = reduce_colors(line.place)

        def tear_down_outer(task: TaskBuilder) -> None:
            if line.place in (0, line.size - 1):
                color = negative if line.place == 0 else positive
                self._steps.command("teardown", color=color)(task)
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
                self._steps.command(*commands, color=color, activates=False)(task)
            task.unblock(f"{self.line.name}_lock")

        return tear_down

    def _declare_machine(self) -> None:
        """Declare the task of the finite state machine: by call and phase it does one step."""
        name = self.line.name
        fsm = self.code.task(f"{name}_fsm")
        fsm.compute(f"{name}_phase", "mov", self._steps.state(0), dtype="u16")
        by_call = [partial(self._do_phase, phases) for phases in self.phases]
        choose(fsm, f"{name}_calls", by_call, range(len(by_call)))

    def _do_phase(self, phases: Sequence[Action], task: TaskBuilder) -> None:
        """Append the phases of a call; each says which comes after it."""

        def step(number: int, task: TaskBuilder) -> None:
            after = (number + 1) % len(phases)
            task.compute(self._steps.state(0), "mov", after, dtype="u16")
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
