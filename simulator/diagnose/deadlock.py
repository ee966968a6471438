"""Who waits for whom when nothing moves any more, from the engine's final state."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

import numpy as np

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.fabric.network import EDGE_IN, EDGE_OUT, INPUT, OUTPUT, ROUTER
from tilewright.simulator.diagnose.failed_part import operation_at
from tilewright.simulator.diagnose.final_state import FinalState
from tilewright.simulator.diagnose.wait_graph import End, Reason, Wait
from tilewright.simulator.isa.dsd import Fifo
from tilewright.simulator.text.text_places import place_in_text

MAX_LINES = 40
KINDS = {
    OUTPUT: "an output queue",
    INPUT: "an input queue",
    EDGE_IN: "an edge input",
    EDGE_OUT: "an edge output",
}


def find_waits(final: FinalState) -> tuple[Wait, ...]:
    """Return what waits in a run that stopped: operations, tasks, words in queues, edge outputs.

    `final`: the engine's tables at the end. At most 40 waits and a last one that says that there
    are more; empty if the run is complete.
    """
    connections = Connections(final)
    waits_found = chain(
        _operations(connections), _blocked_tasks(final), _words(connections), _outputs(connections)
    )
    waits = list(islice(waits_found, MAX_LINES + 1))
    return tuple(waits if len(waits) <= MAX_LINES else [*waits[:MAX_LINES], Wait("and more")])


class Connections:
    """The network of queues of a stopped run, to be followed in both directions.

    A queue is an input or output queue of an element, a router's buffer, or an edge port; `fifo` is
    its row in the network's table.
    """

    def __init__(self, final: FinalState) -> None:
        self.final = final
        count = final.fifo[:, at.F_SUCCESSORS]
        used = np.arange(5) < count[:, None]
        targets = final.fifo[:, at.F_NEXT : at.F_NEXT + 5]
        self._targets = (targets - final.parts.fifo.start) // at.F_WIDTH
        sources = np.broadcast_to(np.arange(count.size)[:, None], used.shape)[used]
        order = np.argsort(self._targets[used], kind="stable")
        self._sources = sources[order]
        self._sorted = self._targets[used][order]

    def count(self, fifo: int) -> int:
        """Return how many words (wavelets) are in a queue, given by its row in the network."""
        return int(self.final.fifo[fifo, at.F_COUNT])

    def is_full(self, fifo: int) -> bool:
        """Return whether a queue has no space for another word; `fifo`: its row in the network."""
        return self.count(fifo) >= int(self.final.fifo[fifo, at.F_CAP])

    def kind(self, fifo: int) -> int:
        """Return the kind of a queue as a constant: OUTPUT, ROUTER, INPUT, EDGE_IN or EDGE_OUT.

        OUTPUT and INPUT are queues of an element, ROUTER is a router's buffer, EDGE_IN and EDGE_OUT
        are ports at the border of the grid.
        """
        return int(self.final.network.kind[fifo])

    def feeders(self, fifo: int) -> list[int]:
        """Return the queues, by row in the network's table, that push words into a queue."""
        low, high = np.searchsorted(self._sorted, [fifo, fifo + 1])
        return [int(source) for source in self._sources[low:high]]

    def fed(self, fifo: int) -> list[int]:
        """Return the queues, by row in the network's table, that a queue pushes its words into."""
        count = int(self.final.fifo[fifo, at.F_SUCCESSORS])
        return [int(target) for target in self._targets[fifo, :count]]

    def owner(self, fifo: int) -> str:
        """Return the name of the element that a queue belongs to: `element (row, column)`."""
        return self.final.name(int(self.final.network.element[fifo]))

    def place(self, fifo: int) -> str:
        """Return words that name a queue: kind, number, element and color."""
        final, owner = self.final, self.owner(fifo)
        if self.kind(fifo) == ROUTER:
            return f"the router of {owner}, color {self.color_at(fifo)}{self._ports(fifo)}"
        if self.kind(fifo) == EDGE_IN:
            return f"edge input {self._port(fifo)} at {owner}"
        element = int(final.network.element[fifo])
        slot = final.slot(element, fifo)
        if slot < 0:
            return f"{KINDS[self.kind(fifo)]} of {owner}"
        kind = "input" if slot < at.OUTPUT_SLOT else "output"
        return (
            f"{kind} queue {slot % at.OUTPUT_SLOT} of {owner}, color {final.color(element, slot)}"
        )

    def color_at(self, fifo: int) -> str:
        """Return the name of the color whose words a router's buffer holds."""
        number = int(self.final.fifo[fifo, at.F_COLOR])
        return next(c.name for c in self.final.program.colors if c.id == number)

    def _ports(self, fifo: int) -> str:
        """Return words for where a router's buffer takes its words from: `, from element (0, 1)`.

        fifo: number of the buffer. Empty if the router has only one buffer for the color.
        """
        network, table = self.final.network, self.final.fifo
        twins = (network.element == network.element[fifo]) & (network.kind == ROUTER)
        twins &= table[:, at.F_COLOR] == table[fifo, at.F_COLOR]
        owner = self.owner(fifo)
        sources = sorted({self.owner(source) for source in self.feeders(fifo)})
        if twins.sum() == 1 or not sources:
            return ""
        return ", from " + (" and ".join(s if s != owner else "the element" for s in sources))

    def _port(self, fifo: int) -> str:
        """Return the name of the edge input that a queue at the border belongs to."""
        ports = zip(self.final.program.edge_inputs, self.final.network.edge_inputs, strict=True)
        return next(port.name for port, fifos in ports if fifo in fifos)

    def filters(self, fifo: int) -> bool:
        """Tell whether a queue is a router's buffer, and a filter may keep its words from the ramp.

        The filter is that of the color at the same processing element. False for other queues.
        """
        steered = int(self.final.fifo[fifo, at.F_WAY])
        if self.kind(fifo) != ROUTER or steered < 0:
            return False
        state = int(self.final.store[steered + at.W_STATE])
        return bool(self.final.store[state + at.X_FILTER] != at.NO_FILTER)

    def who_feeds(self, fifo: int, color: str) -> list[End]:
        """Return why an empty queue gets no words, by following the network back to their sources.

        `color`: name, for the message. Each end says, for example, that an element does not send,
        or where words stand and cannot move.
        """
        seen, pending, ends = {fifo}, [fifo], []
        while pending:
            sources = [source for source in self.feeders(pending.pop()) if source not in seen]
            for source in sources:
                seen.add(source)
                end = self._why_empty(source)
                if end is None:
                    pending.append(source)
                else:
                    ends.append(end)
        if not ends:
            return [End(f"nobody sends color {color}", "nobody")]
        if self.kind(fifo) == INPUT and any(map(self.filters, self.feeders(fifo))):
            place = f"the filter of color {color} at {self.owner(fifo)}"
            ends.append(End(f"{place} may have kept words from it", place))
        return sorted(set(ends))

    def _why_empty(self, source: int) -> End | None:
        """Return why a queue feeds nothing; None for an empty one that other queues feed."""
        if self.count(source):
            place = self.place(source)
            holders = "; ".join(end.text for end in self.who_holds(source))
            return End(f"words stand in {place}, {holders}", place)
        if self.kind(source) == EDGE_IN:
            return End(f"{self.place(source)} has no more words", self.place(source))
        if self.kind(source) == OUTPUT:
            return End(f"{self.owner(source)} does not send", self.owner(source))
        return None

    def who_holds(self, fifo: int) -> list[End]:
        """Return what keeps the words of a queue from moving, by following the full queues ahead.

        `fifo`: number of the queue. The result is a list of one `End`, because callers join lists
        of ends: either no operation takes from the last full queue, or no input queue of that
        processing element is bound to the color. Of several full queues ahead the first is
        followed, and a circle of them ends where it closes.
        """
        seen = {fifo}
        current: int | None = fifo
        last = fifo
        while current is not None:
            last = current
            current = next(
                (t for t in self.fed(current) if self.is_full(t) and t not in seen), None
            )
            seen.add(last if current is None else current)
        if int(self.final.fifo[last, at.F_CAP]) == 0:
            owner = self.owner(last)
            return [End(f"no queue of {owner} is bound to its color", owner)]
        return [End(f"nobody takes from {self.place(last)}", self.place(last))]


def _operations(connections: Connections) -> Iterator[Wait]:
    final = connections.final
    for element in np.flatnonzero(final.element[:, at.E_RUNNING]):
        row = final.element[element]
        for i in range(int(row[at.E_THREAD_COUNT])):
            thread = int(row[at.E_THREADS]) + i * at.T_WIDTH
            if final.store[thread + at.T_STATE] in (at.RUNNING, at.MAPPING, at.PAUSED):
                yield _operation(connections, int(element), thread)


def _operation(connections: Connections, element: int, thread: int) -> Wait:
    """Return what an operation waits for; `thread`: the address of its thread row."""
    final = connections.final
    reasons = [*_pools(connections, element, thread)]
    if final.store[thread + at.T_STATE] == at.PAUSED:
        reasons.append(Reason("its microthread is blocked", [End("", final.name(element))]))
    queues = int(final.store[thread + at.T_QUEUES])
    for slot in (slot for slot in range(16) if queues >> slot & 1):
        reasons += _queue_reasons(connections, element, slot)
    return Wait(_progress(final, element, thread), tuple(reasons), final.name(element))


def _progress(final: FinalState, element: int, thread: int) -> str:
    """Name an operation and how many of its elements are done."""
    op = int(final.store[thread + at.T_OP])
    who = f"{final.name(element)}, {final.operation(element, op)}{_line(final, element, op)}"
    if final.store[thread + at.T_STATE] == at.MAPPING:
        return who
    is_special = bool(final.store[op + at.O_SPECIAL])
    if is_special and final.store[thread + at.T_STEP] == 0:
        return f"{who}, endless"
    extent = int(final.store[thread + at.T_EXTENT if is_special else op + at.O_EXTENT])
    remaining = int(final.store[thread + at.T_LEFT])
    if final.store[op + at.O_TYPE] in (at.TYPE_PAIR_F16, at.TYPE_PAIR_INT16):
        extent, remaining = 2 * extent, 2 * remaining
    return f"{who}, {extent - remaining} of {extent} done"


def _line(final: FinalState, element: int, op: int) -> str:
    """Return where an operation stands in the text of its program, in brackets; empty without."""
    part = operation_at(final, element, op)
    where = None if part is None else place_in_text(final.program, "", part)
    return "" if where is None else f" ({where})"


def _queue_reasons(connections: Connections, element: int, slot: int) -> Iterator[Reason]:
    """Say why a queue of an operation stops it: an input queue empty, an output queue full."""
    final = connections.final
    fifo, color = final.queue(element, slot), final.color(element, slot)
    if slot < at.OUTPUT_SLOT and connections.count(fifo) == 0:
        ends = connections.who_feeds(fifo, color)
        yield Reason(f"waits for color {color} in input queue {slot}", ends)
    if slot >= at.OUTPUT_SLOT and connections.is_full(fifo):
        full = f"output queue {slot - at.OUTPUT_SLOT} of color {color} is full"
        yield Reason(full, connections.who_holds(fifo))


def _pools(connections: Connections, element: int, thread: int) -> Iterator[Reason]:
    """Say for which FIFO of its element an operation waits."""
    store = connections.final.store
    if store[store[thread + at.T_OP] + at.O_SPECIAL] == 0:
        return
    for operand in range(3):
        row = int(store[thread + at.T_ROWS + operand])
        if row < 0 or store[row + at.D_KIND] != at.POOL:
            continue
        pool = int(store[thread + at.T_POSITIONS + operand])
        fifo = _fifo(connections.final, element, pool)
        count, capacity = int(store[pool + at.Q_COUNT]), int(store[pool + at.Q_CAP])
        needed = int(store[thread + at.T_GROUP])
        contents = _too_full(count, capacity, needed) if operand == 0 else _too_few(count, needed)
        if contents:
            end = End("", f"FIFO {fifo} of {connections.final.name(element)}")
            yield Reason(f"waits for FIFO {fifo}, which {contents}", [end])


def _too_few(count: int, needed: int) -> str:
    """Say how many elements a FIFO has that is read, if they are fewer than needed."""
    if count >= needed:
        return ""
    return f"has {count}{_at_once(needed)}" if count else "is empty"


def _too_full(count: int, capacity: int, needed: int) -> str:
    """Say how much space a FIFO has that is written, if it is less than needed."""
    if count == capacity:
        return f"is full with {capacity} elements"
    if count + needed > capacity:
        return f"has room for {capacity - count}{_at_once(needed)}"
    return ""


def _at_once(needed: int) -> str:
    return f" of the {needed} that go at once" if needed > 1 else ""


def _fifo(final: FinalState, element: int, pool: int) -> str:
    """Name a FIFO of an element by its row's address."""
    number = (pool - int(final.element[element, at.E_POOLS])) // at.Q_WIDTH
    named = [d.name for d in final.layout(element).code.dsds if isinstance(d, Fifo)]
    return named[number]


def _blocked_tasks(final: FinalState) -> Iterator[Wait]:
    for element in np.flatnonzero(final.element[:, at.E_ACTIVE]):
        row = final.element[element]
        for number, task in enumerate(final.layout(int(element)).code.tasks):
            if int(row[at.E_ACTIVE]) >> number & 1:
                state = "is blocked" if int(row[at.E_BLOCKED]) >> number & 1 else "waits its turn"
                name = final.name(int(element))
                yield Wait(f"{name}, task {task.name} is active but {state}", (), name)


def _words(connections: Connections) -> Iterator[Wait]:
    for fifo in np.flatnonzero(connections.final.fifo[:, at.F_COUNT]).tolist():
        if connections.kind(fifo) != EDGE_OUT:
            switched = _switched(connections, fifo)
            place = connections.place(fifo)
            ends = connections.who_holds(fifo)
            if switched:
                ends = [End(switched, f"the switch of {connections.owner(fifo)}")]
            count = connections.count(fifo)
            who = f"{count} words stand in {place}" if count > 1 else f"1 word stands in {place}"
            if ends[0].node == place:  # itself
                ends = [End(ends[0].text, connections.owner(fifo))]
            yield Wait(who, (Reason("", [*_control(connections, fifo), *ends]),), place)


def _control(connections: Connections, fifo: int) -> list[End]:
    """Name the control wavelet that is first in an input queue and starts no task."""
    store, table = connections.final.store, connections.final.fifo
    if connections.kind(fifo) != INPUT:
        return []
    payload = int(store[table[fifo, at.F_RING] + 2 * table[fifo, at.F_HEAD] + 1])
    if not payload & at.IS_CONTROL:
        return []
    entry, element = payload >> 16 & 63, int(connections.final.network.element[fifo])
    tasks = [
        task.name for task in connections.final.layout(element).code.tasks if task.control == entry
    ]
    bound = f"control task {tasks[0]}" if tasks else "no control task"
    text = f"the first is a control wavelet of entry {entry}, which has {bound} here"
    return [End(text, connections.final.name(element))]


def _switched(connections: Connections, fifo: int) -> str:
    """Say at which position the switch of a router does not take from a buffer."""
    store, steered = connections.final.store, int(connections.final.fifo[fifo, at.F_WAY])
    if steered < 0:
        return ""
    state = int(store[steered + at.W_STATE])
    position = int(store[state + at.X_POSITION])
    if store[state + at.X_TORN]:
        return "the color is torn down"
    if store[steered + at.W_MASKS + position] & at.ACCEPTS:
        return ""
    return f"switch position {position} does not take from there"


def _outputs(connections: Connections) -> Iterator[Wait]:
    final = connections.final
    for port, fifos in zip(final.program.edge_outputs, final.network.edge_outputs, strict=True):
        for position, fifo in enumerate(fifos.tolist()):
            if not connections.is_full(fifo):
                name = f"edge output {port.name}, position {port.first + position}"
                who = f"{name}, has {connections.count(fifo)} of {port.count} words"
                yield Wait(who, (Reason("", connections.who_feeds(fifo, port.color)),), name)
