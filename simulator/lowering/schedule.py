"""Pass 5, schedule: the tasks of an element, single or double buffered.

Single buffers: one task receives a tile, works on it and sends it, one step after the other. Double
buffers: task `work` starts to send the last tile and to receive the next tile on microthreads, then
works on its tile; it runs again when both are done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.mapper.grid.candidate import Candidate, GridTensor
from tilewright.simulator.build.program_builder import CodeBuilder, TaskBuilder
from tilewright.simulator.isa.dsd import Index, Ref, variable
from tilewright.simulator.lowering.emit import OTHER_SLOT, SENT_SLOT, SLOT, STEP, declare_vectors
from tilewright.simulator.lowering.roles import Role
from tilewright.simulator.lowering.route import input_color
from tilewright.simulator.program.instruction import Instruction

FIRST_SUM_QUEUE = 2  # input queues 0 and 1 carry the operands
SEND_QUEUE = 2


@dataclass(frozen=True, slots=True)
class SendOperation:
    """Hold one vector operation on partial sums: add received sums in memory, or send them on.

    dest: descriptor that it writes, the output tile or the output queue; sources: the descriptors
    that it reads: one is moved, two are added.
    """

    dest: str
    sources: tuple[str, ...]


def schedule(
    code: CodeBuilder, candidate: Candidate, role: Role, body: tuple[Instruction, ...]
) -> None:
    """Declare the descriptors, queues and tasks of the elements with one role of the reduction.

    body: the instructions that compute one tile (`tile_body`). With one buffer per tile a single
    task receives a tile, works on it and sends it, in turn; with two, microthreads receive the next
    tile and send the last one during the work. role: which partial sums are received and where the
    sum goes. Changes the code's builder, returns nothing.
    """
    declare_vectors(code, candidate)
    streams = [t for t in candidate.tensors if not t.access.output and not t.resident]
    for queue, tensor in enumerate(streams):
        _declare_stream(code, tensor, queue)
    if role.send is not None:
        _declare_sums(code, candidate.output, role)
    overlapped = candidate.tiles > 1 and candidate.choices.buffers == 2
    plan = _TaskPlan(code, candidate, role, body)
    if overlapped:
        plan.overlapped(streams)
    else:
        plan.in_turn(streams)


def send_operations(output: str, role: Role) -> tuple[SendOperation, ...]:
    """Return the operations that add received partial sums to the own ones and send the result.

    output: name of the output tensor. The last received sum is added while it is sent; each sum
    before it goes through memory. For sums on colors a and b and the tile Z: Z = Z + a, then out =
    Z + b. Nothing to send gives ().
    """
    if role.send is None:
        return ()
    received = [f"{color}_in" for color in role.receives]
    tile, onward = f"{output}_tile", f"{output}_out"
    through = [SendOperation(tile, (tile, source)) for source in received[:-1]]
    return (*through, SendOperation(onward, (tile, *received[-1:])))


def _declare_stream(code: CodeBuilder, tensor: GridTensor, queue: int) -> None:
    code.input_queue(queue, input_color(tensor.name))
    code.fabin(f"{tensor.name}_in", queue, tensor.tile_elements)
    code.mem1d(f"{tensor.name}_tile", tensor.name, extent=tensor.tile_elements)


def _declare_sums(code: CodeBuilder, output: GridTensor, role: Role) -> None:
    code.mem1d(f"{output.name}_tile", output.name, extent=output.tile_elements)
    for at, color in enumerate(role.receives):
        code.input_queue(FIRST_SUM_QUEUE + at, color)
        code.fabin(f"{color}_in", FIRST_SUM_QUEUE + at, output.tile_elements)
    code.output_queue(SEND_QUEUE, str(role.send))
    code.fabout(f"{output.name}_out", SEND_QUEUE, output.tile_elements)


@dataclass(frozen=True, slots=True)
class _TaskPlan:
    code: CodeBuilder
    candidate: Candidate
    role: Role
    body: tuple[Instruction, ...]

    # -- one after the other ---------------------------------------------------------------

    def in_turn(self, streams: Sequence[GridTensor]) -> None:
        """One task: receive, work, send; tile by tile."""
        work = self.code.task("work", entry=True)
        passing = [tensor for tensor in streams if tensor.tiles > 1]
        for tensor in streams:
            if tensor.tiles == 1:
                self._receive(work, tensor)
        out_passes = self.candidate.output.tiles > 1
        with work.loop("tile", self.candidate.tiles):
            for tensor in passing:
                self._receive(work, tensor)
            work.extend(self.body)
            if out_passes:
                self._send_in_turn(work)
            work.increment(STEP)
        if not out_passes:
            self._send_in_turn(work)

    def _receive(self, task: TaskBuilder, tensor: GridTensor) -> None:
        task.op("fmovs", f"{tensor.name}_tile", f"{tensor.name}_in", label=f"receive {tensor.name}")

    def _send_in_turn(self, task: TaskBuilder) -> None:
        for send in send_operations(self.candidate.output.name, self.role):
            name = "fmovs" if len(send.sources) == 1 else "fadds"
            task.op(name, send.dest, *send.sources, label=f"send {self.candidate.output.name}")

    # -- overlapped ------------------------------------------------------------------------

    def overlapped(self, streams: Sequence[GridTensor]) -> None:
        """Tasks start, work and, for two streams, join; sending in steps after work."""
        passing = [tensor for tensor in streams if tensor.tiles > 1]
        start = self.code.task("start", entry=True)
        for tensor in streams:
            if tensor.tiles == 1:
                self._receive(start, tensor)
        start.set(OTHER_SLOT, 1)
        self._fetch(start, passing, Index(0))
        work = self.code.task("work")
        sending = send_operations(self.candidate.output.name, self.role)
        if self.candidate.output.tiles > 1 and sending:
            self._overlap_sending(work, passing, sending)
        else:
            self._step(work, passing)
            with work.when_below(STEP, self.candidate.tiles):
                pass
            with work.otherwise():
                self._send_in_turn(work)
        if len(passing) > 1:
            join = self.code.task("join", blocked=True)
            join.block("join")
            join.activate("work")

    def _fetch(self, task: TaskBuilder, passing: Sequence[GridTensor], slot: Index) -> None:
        """Start to receive the next tile of every stream; `work` runs when all have arrived."""
        if not passing:
            task.activate("work")
            return
        first = "work" if len(passing) == 1 else "join"
        for at, tensor in enumerate(passing):
            task.start(
                "fmovs",
                Ref(f"{tensor.name}_tile").at(slot * tensor.tile_elements),
                f"{tensor.name}_in",
                activate=first if at == 0 else None,
                unblock=first if at == 1 else None,
                label=f"receive {tensor.name}",
            )

    def _step(self, work: TaskBuilder, passing: Sequence[GridTensor]) -> None:
        """Fetch the next tile, work on this tile, exchange the buffers."""
        with work.when_below(STEP, self.candidate.tiles - 1):
            self._fetch(work, passing, variable(OTHER_SLOT))
        work.extend(self.body)
        work.increment(STEP)
        with work.when_below(SLOT, 1):
            work.set(SLOT, 1)
            work.set(OTHER_SLOT, 0)
        with work.otherwise():
            work.set(SLOT, 0)
            work.set(OTHER_SLOT, 1)

    def _overlap_sending(
        self, work: TaskBuilder, passing: Sequence[GridTensor], sending: Sequence[SendOperation]
    ) -> None:
        """Send tile i - 1 on a microthread during the work on tile i; a last run sends the last.

        `work` blocks itself when it starts a send and the end of the send unblocks it.
        """
        with work.when_below(STEP, 1):
            pass
        with work.otherwise():
            work.block("work")
            _copy(
                work, OTHER_SLOT, SENT_SLOT
            )  # `work` exchanges the buffers while later steps still send
            self._start_send(work, sending, 0)
        with work.when_below(STEP, self.candidate.tiles):
            self._step(work, passing)
            with work.when_below(STEP, self.candidate.tiles):
                pass
            with work.otherwise():
                work.activate("work")
        for at in range(1, len(sending)):
            self._start_send(self.code.task(f"send{at}"), sending, at)

    def _start_send(self, task: TaskBuilder, sending: Sequence[SendOperation], at: int) -> None:
        output = self.candidate.output
        name = "fmovs" if len(sending[at].sources) == 1 else "fadds"
        moved = [
            Ref(operand).at(variable(SENT_SLOT) * output.tile_elements)
            if operand == f"{output.name}_tile"
            else Ref(operand)
            for operand in (sending[at].dest, *sending[at].sources)
        ]
        last = at == len(sending) - 1
        task.start(
            name,
            moved[0],
            *moved[1:],
            activate=None if last else f"send{at + 1}",
            unblock="work" if last else None,
            label=f"send {output.name}",
        )


def _copy(task: TaskBuilder, source: str, target: str) -> None:
    """Append target = source for counters that are 0 or 1."""
    with task.when_below(source, 1):
        task.set(target, 0)
    with task.otherwise():
        task.set(target, 1)
