"""The tasks of an element: receive tiles, work on them, add and send results.

With one buffer per tile a single task does one step after the other. With two, microthreads receive
the next tile and send the last result during the work on a tile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.mapper.grid.partial_sums import partial_sums
from tilewright.mapper.grid.space_time import HeldTensor, SpaceTime
from tilewright.simulator.build.code_builder import CodeBuilder
from tilewright.simulator.build.task_builder import TaskBuilder
from tilewright.simulator.isa.dsd import Ref
from tilewright.simulator.isa.index_expression import Index, variable
from tilewright.simulator.lowering.kernel import ElementKernel, Point, declare_vectors, emit_kernel
from tilewright.simulator.lowering.number_operations import move_of, simd_of
from tilewright.simulator.lowering.padding_writes import declare_fills, fill_padding
from tilewright.simulator.lowering.rings.ring_sums import RingProgram, ring_program
from tilewright.simulator.lowering.rings.shift_program import (
    declare_shifts,
    free_queues,
    start_shifts,
)
from tilewright.simulator.lowering.routes import input_color
from tilewright.simulator.lowering.sums.sum_operations import (
    PASSED_LAST,
    SumOperation,
    append_step,
    machine_operation,
    passed_parts,
    sends_beside_work,
    sum_operations,
)
from tilewright.simulator.lowering.sums.sum_roles import SHARE, Role

STEP, SLOT, OTHER_SLOT, SENT_SLOT = "step", "slot", "other", "sent"
"""Counters of an element: tiles done; the buffer in use, the other one, the one that is sent."""
JOIN = "join"
"""Begin of the names of the tasks that wait for several streams."""
BEFORE, FIRST, TURN, AFTER = "before", "first", "turn", "after"
"""Names of the parts of a task with one loop around; that of a turn is also the loop's counter."""
MAIN_SLOT = -1
"""Key of the buffer in use in the points of a kernel."""


def write_element(code: CodeBuilder, kernel: ElementKernel, role: Role) -> None:
    """Declare the descriptors, queues and tasks of the elements of one role; changes `code`."""
    read = kernel.read
    _declare(code, kernel, role)
    program = _ElementProgram(code, kernel, role)
    if read.shifted:
        program.shifting()
    elif any(tensor.buffers == 2 for tensor in read.tensors):
        program.overlapped()
    else:
        program.in_turn()


def write_turn(
    code: CodeBuilder, kernel: ElementKernel, role: Role, turns: int, *, peeled: bool
) -> None:
    """Declare what `write_element` does, its one task in parts, of which others make a task.

    They are the tasks BEFORE the turns, FIRST turn, TURN of the counter of that name, and AFTER.
    `turns`: number of loops in time that are left out, 0 or 1. `peeled`: the first turn is not one
    of the loop, so that the counter is one behind. Changes `code`.
    """
    _declare(code, kernel, role)
    _ElementProgram(code, kernel, role).in_parts(turns, peeled=peeled)


def _declare(code: CodeBuilder, kernel: ElementKernel, role: Role) -> None:
    """Declare the descriptors and queues of the elements of one role."""
    read = kernel.read
    declare_vectors(code, kernel)
    queues = free_queues(read)
    for queue, tensor in zip(queues, read.streams, strict=False):
        code.input_queue(queue, input_color(tensor.name))
        code.fabin(f"{tensor.name}_in", queue, tensor.values, simd=simd_of(read, tensor))
        code.mem1d(f"{tensor.name}_tile", tensor.name, extent=tensor.values)
    declare_shifts(code, read, role)
    declare_fills(code, read, role)
    if role.ring is not None:
        _ring(read, role).declare(code)
    else:
        _declare_sums(code, read, role, queues[len(read.streams) :])


def _ring(read: SpaceTime, role: Role) -> RingProgram:
    ring = partial_sums(read).ring
    assert ring is not None
    return ring_program(read, role, ring)


def _declare_sums(code: CodeBuilder, read: SpaceTime, role: Role, free: Sequence[int]) -> None:
    """Declare the queues and descriptors of the sums that a role receives and sends.

    free: numbers of input queues that nothing else takes. A queue's number is that of its
    microthread, so the output queue gets a number that no stream has. If tiles shift, it is one on
    which no shift sends; their microthreads have ended when sums go.
    """
    output, queues = read.output, iter(free)
    simd = simd_of(read, output)
    sending = 1 if read.shifted else free[0]
    if role.receives or role.send or role.share != "none":
        code.mem1d(f"{output.name}_tile", output.name, extent=output.values)
    for color in role.receives:
        queue = next(queues)
        code.input_queue(queue, color)
        code.fabin(f"{color}_in", queue, output.values, simd=simd)
    if role.send is not None:
        code.output_queue(sending, role.send)
        code.fabout(f"{output.name}_out", sending, output.values, simd=simd)
    if role.share == "receive":
        queue = next(queues)
        code.input_queue(queue, SHARE)
        code.fabin(f"{SHARE}_in", queue, output.values, simd=simd)
    if role.share == "send":
        code.output_queue(sending, SHARE)
        code.fabout(f"{SHARE}_out", sending, output.values, simd=simd)
    if role.passes is not None:
        queue = next(queues)
        code.input_queue(queue, role.passes)
        parts = passed_parts(output.values, role.passed)
        for end, part in {"" if p == parts[0] else PASSED_LAST: p for p in parts}.items():
            code.fabin(f"{role.passes}_in{end}", queue, part, simd=simd)
            code.fabout(f"{output.name}_pass{end}", sending, part, simd=simd)


@dataclass(frozen=True, slots=True)
class _ElementProgram:
    code: CodeBuilder
    kernel: ElementKernel
    role: Role

    @property
    def read(self) -> SpaceTime:
        return self.kernel.read

    @property
    def sums(self) -> tuple[SumOperation, ...]:
        output = self.read.output
        return sum_operations(output.name, self.role, output.values)

    # -- one step after the other ----------------------------------------------------------

    def in_turn(self) -> None:
        """Declare the one task: loops over tiles, in them receives, work and sends."""
        work = self.code.task("work", entry=True)
        fill_padding(work, self.read, self.role)
        self._level(work, 0, {}, first=True)

    def in_parts(self, turns: int, *, peeled: bool) -> None:
        """Declare the one task in parts: those before, inside and behind its outermost loop."""
        before, first, turn, after = (self.code.task(part) for part in (BEFORE, FIRST, TURN, AFTER))
        read = self.read
        fill_padding(before, read, self.role)
        if not turns:
            self._level(turn, 0, {}, first=True)
            return
        for tensor in read.streams:
            if not tensor.depth:
                self._receive(before, tensor)
        is_first = not read.is_reduced(read.time[0].variable)
        self._level(first, 1, {0: Index(0)}, first=True)
        self._level(turn, 1, {0: variable(TURN) + int(peeled)}, first=is_first)
        if not read.output.depth:
            self._send(after)

    def _level(self, task: TaskBuilder, level: int, point: Point, *, first: bool) -> None:
        read = self.read
        for tensor in read.streams:
            if tensor.depth == level:
                self._receive(task, tensor)
        if level == read.kernel:
            emit_kernel(task, self.kernel, point, first=first)
        else:
            self._loop(task, level, point, first=first)
        if read.output.depth == level:
            self._send(task)

    def _send(self, task: TaskBuilder, slot: str | None = None) -> None:
        """Append what the element does with the sums and results of one output tile.

        `slot`: counter with the number of the tile's buffer, None if there is one.
        """
        read = self.read
        if self.role.ring is not None:
            _ring(read, self.role).add_up(task, read)
            return
        for step in self.sums:
            dest, *sources = self._placed(step, slot)
            append_step(task, read, step, dest, tuple(sources))

    def _placed(self, step: SumOperation, slot: str | None) -> list[Ref]:
        """Return the operands of a step, those of the tile in a buffer if there are two.

        slot: counter with the number of the buffer, None if there is one.
        """
        output = self.read.output
        moved = Index(0) if slot is None else variable(slot) * output.values
        operands = (step.dest, *step.sources)
        return [Ref(o).at(moved) if o == f"{output.name}_tile" else Ref(o) for o in operands]

    def _loop(self, task: TaskBuilder, level: int, point: Point, *, first: bool) -> None:
        loop = self.read.time[level]
        name = f"{loop.variable}_{level}"
        if not (first and self.read.is_reduced(loop.variable)):
            with task.loop(name if not first else f"{name}f", loop.count) as turn:
                self._level(task, level + 1, {**point, level: turn}, first=first)
            return
        self._level(task, level + 1, {**point, level: Index(0)}, first=True)
        with task.loop(f"{name}r", loop.count - 1) as turn:
            self._level(task, level + 1, {**point, level: turn + 1}, first=False)

    def _receive(self, task: TaskBuilder, tensor: HeldTensor) -> None:
        name = tensor.name
        task.op(
            move_of(self.read.dtype_of(name)), f"{name}_tile", f"{name}_in", label=f"receive {name}"
        )

    # -- tiles go round rings --------------------------------------------------------------

    def shifting(self) -> None:
        """Declare the tasks for tiles that go round rings.

        The first one receives what enters once; the others work and move tiles on.
        """
        read = self.read
        start = self.code.task("start", entry=True)
        fill_padding(start, read, self.role)
        for tensor in read.streams:
            self._receive(start, tensor)
        start.set(OTHER_SLOT, 1)
        start.activate("work")
        work = self.code.task("work")
        with work.when_below(STEP, read.time[0].count - 1):
            start_shifts(work, read, SLOT, OTHER_SLOT, JOIN)
        self._work_on_tile(work)
        self._send_at_end(work)
        self.code.main_priority("low")
        self._joins(2 * len(read.shifted))

    # -- overlapped ------------------------------------------------------------------------

    def overlapped(self) -> None:
        """Declare the tasks that start transfers, work meanwhile, and wait for several streams.

        The words of several streams go before the work: one stream that waits for it would hold up
        the other one in all elements of the line.
        """
        read = self.read
        passing = [tensor for tensor in read.streams if tensor.depth]
        start = self.code.task("start", entry=True)
        fill_padding(start, read, self.role)
        for tensor in read.streams:
            if not tensor.depth:
                self._receive(start, tensor)
        start.set(OTHER_SLOT, 1)
        self._fetch(start, passing, Index(0))
        work = self.code.task("work")
        if self.sums and sends_beside_work(read):
            self._overlap_sending(work, passing)
        elif self.sums and read.output.depth:
            self._step(work, passing, sends=True)
        else:
            self._step(work, passing)
            self._send_at_end(work)
        if len(passing) > 1:
            self.code.main_priority("low")
            self._joins(len(passing))

    def _send_at_end(self, work: TaskBuilder) -> None:
        """Add and send the one tile of the output behind the last step."""
        with work.when_below(STEP, self.read.time[0].count):
            pass
        with work.otherwise():
            self._send(work)

    def _joins(self, transfers: int) -> None:
        """Declare the tasks that wait for all transfers.

        Task n waits for transfer n + 1, then starts task n + 1; the last one starts the work.
        """
        for number in range(1, transfers):
            join = self.code.task(_join_name(number), blocked=True)
            join.block(_join_name(number))
            join.activate("work" if number == transfers - 1 else _join_name(number + 1))

    def _fetch(self, task: TaskBuilder, passing: Sequence[HeldTensor], slot: Index) -> None:
        """Start to receive the next tile of every stream; `work` runs when all have arrived."""
        if not passing:
            task.activate("work")
            return
        for place, tensor in enumerate(passing):
            starts = "work" if len(passing) == 1 else _join_name(1)
            task.start(
                move_of(self.read.dtype_of(tensor.name)),
                Ref(f"{tensor.name}_tile").at(slot * tensor.values),
                f"{tensor.name}_in",
                activate=starts if place == 0 else None,
                unblock=_join_name(place) if place else None,
                label=f"receive {tensor.name}",
            )

    def _step(
        self, work: TaskBuilder, passing: Sequence[HeldTensor], *, sends: bool = False
    ) -> None:
        """Fetch the next tile, work on this tile, exchange the buffers.

        `sends`: the result of each tile is added up and sent before.
        """
        with work.when_below(STEP, self.read.time[0].count - 1):
            self._fetch(work, passing, variable(OTHER_SLOT))
        self._work_on_tile(work, sends=sends)

    def _work_on_tile(self, work: TaskBuilder, *, sends: bool = False) -> None:
        """Work on the tile in use, send its result (`sends`), count it, exchange the buffers."""
        loop, read = self.read.time[0], self.read
        point = {0: variable(STEP), MAIN_SLOT: variable(SLOT)}
        if read.is_reduced(loop.variable):
            with work.when_below(STEP, 1):
                emit_kernel(work, self.kernel, point, first=True)
            with work.otherwise():
                emit_kernel(work, self.kernel, point, first=False)
        else:
            emit_kernel(work, self.kernel, point, first=True)
        if sends:
            self._send(work, SLOT)
        work.increment(STEP)
        with work.when_below(SLOT, 1):
            work.set(SLOT, 1)
            work.set(OTHER_SLOT, 0)
        with work.otherwise():
            work.set(SLOT, 0)
            work.set(OTHER_SLOT, 1)

    def _overlap_sending(self, work: TaskBuilder, passing: Sequence[HeldTensor]) -> None:
        """Send tile i - 1 on a microthread during the work on tile i; a last run sends the last.

        `work` blocks itself when it starts a send and the end of the send unblocks it.
        """
        count = self.read.time[0].count
        with work.when_below(STEP, 1):
            pass
        with work.otherwise():
            work.block("work")
            _copy(work, OTHER_SLOT, SENT_SLOT)  # `work` exchanges buffers while a send goes on
            self._start_send(work, 0)
        with work.when_below(STEP, count):
            self._step(work, passing)
            with work.when_below(STEP, count):
                pass
            with work.otherwise():
                work.activate("work")
        for number in range(1, len(self.sums)):
            self._start_send(self.code.task(f"send{number}"), number)

    def _start_send(self, task: TaskBuilder, number: int) -> None:
        step = self.sums[number]
        dest, *sources = self._placed(step, SENT_SLOT)
        is_last = number == len(self.sums) - 1
        name = machine_operation(self.read, step)
        assert name is not None  # sends_beside_work
        task.start(
            name,
            dest,
            *sources,
            activate=None if is_last else f"send{number + 1}",
            unblock="work" if is_last else None,
            label=step.label(self.read.output.name),
        )


def _join_name(number: int) -> str:
    return f"{JOIN}{number}"


def _copy(task: TaskBuilder, source: str, target: str) -> None:
    """Append target = source for counters that are 0 or 1."""
    with task.when_below(source, 1):
        task.set(target, 0)
    with task.otherwise():
        task.set(target, 1)
