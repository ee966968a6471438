"""Who waits for whom when nothing moves any more, from the engine's final state."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.simulator.engine import layout as at
from tilewright.simulator.network import EDGE_IN, EDGE_OUT, INPUT, OUTPUT, ROUTER, Network
from tilewright.simulator.operands import describe
from tilewright.simulator.program import Program
from tilewright.simulator.store import Parts
from tilewright.simulator.tables import CodeLayout

MAX_LINES = 40
KINDS = {
    OUTPUT: "an output queue",
    ROUTER: "a router",
    INPUT: "an input queue",
    EDGE_IN: "an edge input",
    EDGE_OUT: "an edge output",
}


@dataclass(frozen=True, slots=True)
class FinalState:
    """The engine's state at the end of a run, with what its rows mean."""

    program: Program
    layouts: tuple[CodeLayout, ...]
    network: Network
    store: at.Table
    parts: Parts

    @property
    def fifo(self) -> at.Table:
        return self.parts.fifo.view(self.store)

    @property
    def element(self) -> at.Table:
        return self.parts.element.view(self.store)

    def name(self, element: int) -> str:
        width = self.program.width
        return f"element ({element // width}, {element % width})"

    def layout(self, element: int) -> CodeLayout:
        return self.layouts[int(self.program.placement.ravel()[element])]

    def operation(self, element: int, address: int) -> str:
        """Name an operation of an element by its row's address."""
        layout = self.layout(element)
        number = int(self.store[address + at.O_NUMBER])
        task, resolved = layout.operations[number]
        return describe(layout.code, task, resolved.source)

    def color(self, element: int, slot: int) -> str:
        """Return the color of a queue slot."""
        code = self.layout(element).code
        queues = code.output_queues if slot >= at.OUTPUT_SLOT else code.input_queues
        return next((q.color for q in queues if q.id == slot % at.OUTPUT_SLOT), "?")


def find_waits(final: FinalState) -> tuple[str, ...]:
    """Return one line per thing that waits; empty if the run is complete."""
    lines = [*_operations(final), *_blocked_tasks(final), *_words(final), *_outputs(final)]
    if len(lines) > MAX_LINES:
        lines = [*lines[:MAX_LINES], f"and {len(lines) - MAX_LINES} more"]
    return tuple(lines)


def _operations(final: FinalState) -> list[str]:
    lines = []
    for element in range(final.program.placement.size):
        row = final.element[element]
        if row[at.E_RUNNING] == 0:
            continue
        for i in range(int(row[at.E_THREAD_COUNT])):
            thread = int(row[at.E_THREADS]) + i * at.T_WIDTH
            if final.store[thread + at.T_STATE] == at.RUNNING:
                lines.append(_operation(final, element, thread))
    return lines


def _operation(final: FinalState, element: int, thread: int) -> str:
    op = int(final.store[thread + at.T_OP])
    left, extent = int(final.store[thread + at.T_LEFT]), int(final.store[op + at.O_EXTENT])
    queues = int(final.store[op + at.O_QUEUES])
    text = (
        f"{final.name(element)}, {final.operation(element, op)}, {extent - left} of {extent} done"
    )
    for slot in range(16):
        if not queues >> slot & 1:
            continue
        fifo = int(final.network.queue[element, slot])
        color = final.color(element, slot)
        if slot < at.OUTPUT_SLOT and final.fifo[fifo, at.F_COUNT] == 0:
            who = _who_feeds(final, fifo, color)
            text += f", waits for color {color} in input queue {slot}: {who}"
        if slot >= at.OUTPUT_SLOT and final.fifo[fifo, at.F_COUNT] == final.fifo[fifo, at.F_CAP]:
            who = _who_holds(final, fifo)
            text += f", output queue {slot - at.OUTPUT_SLOT} of color {color} is full: {who}"
    return text


def _who_feeds(final: FinalState, fifo: int, color: str) -> str:
    """Follow an empty queue's ways back to where its words come from."""
    seen, ends = {fifo}, []
    todo = [fifo]
    while todo:
        here = todo.pop()
        for source in _feeders(final, here):
            if source in seen:
                continue
            seen.add(source)
            if final.fifo[source, at.F_COUNT]:
                ends.append(f"words stand in {_place(final, source)}, {_who_holds(final, source)}")
            elif final.network.kind[source] == EDGE_IN:
                ends.append(f"{_place(final, source)} has no more words")
            elif final.network.kind[source] == OUTPUT:
                ends.append(f"{final.name(int(final.network.element[source]))} does not send")
            else:
                todo.append(source)
    return "; ".join(sorted(ends)) if ends else f"nobody sends color {color}"


def _feeders(final: FinalState, fifo: int) -> list[int]:
    address = final.parts.fifo.start + fifo * at.F_WIDTH
    columns = final.fifo[:, at.F_NEXT : at.F_NEXT + 5] == address
    used = final.fifo[:, [at.F_SUCCESSORS]] > [[0, 1, 2, 3, 4]]
    return [int(i) for i in (columns & used).any(axis=1).nonzero()[0]]


def _who_holds(final: FinalState, fifo: int) -> str:
    """Follow a queue that cannot move to the full queue that is not taken from."""
    here = fifo
    for _ in range(final.fifo.shape[0]):
        last = at.F_NEXT + int(final.fifo[here, at.F_SUCCESSORS])
        targets = [final.parts.fifo.number(t) for t in final.fifo[here, at.F_NEXT : last]]
        full = [t for t in targets if final.fifo[t, at.F_COUNT] >= final.fifo[t, at.F_CAP]]
        if not full:
            break
        here = full[0]
    return f"nobody takes from {_place(final, here)}"


def _place(final: FinalState, fifo: int) -> str:
    kind = KINDS[int(final.network.kind[fifo])]
    return f"{kind} of {final.name(int(final.network.element[fifo]))}"


def _blocked_tasks(final: FinalState) -> list[str]:
    lines = []
    for element in range(final.program.placement.size):
        row = final.element[element]
        for number, task in enumerate(final.layout(element).code.tasks):
            if int(row[at.E_ACTIVE]) >> number & 1:
                state = "is blocked" if int(row[at.E_BLOCKED]) >> number & 1 else "waits its turn"
                lines.append(f"{final.name(element)}, task {task.name} is active but {state}")
    return lines


def _words(final: FinalState) -> list[str]:
    lines = []
    for fifo in (final.fifo[:, at.F_COUNT] > 0).nonzero()[0]:
        kind = int(final.network.kind[fifo])
        if kind == EDGE_OUT:
            continue
        count = int(final.fifo[fifo, at.F_COUNT])
        where = _place(final, int(fifo))
        lines.append(f"{count} words stand in {where}, {_who_holds(final, int(fifo))}")
    return lines


def _outputs(final: FinalState) -> list[str]:
    lines = []
    for port, fifos in zip(final.program.edge_outputs, final.network.edge_outputs, strict=True):
        for position, fifo in enumerate(fifos):
            count = int(final.fifo[fifo, at.F_COUNT])
            if count < port.count:
                who = _who_feeds(final, int(fifo), port.color)
                lines.append(
                    f"edge output {port.name}, position {port.first + position}, has {count} of "
                    f"{port.count} words: {who}"
                )
    return lines
