"""From the engine's final tables to a `RunResult`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.buffer_memory import BufferMap, stream_values
from tilewright.simulator.compile.code.table_blocks import CodeLayout
from tilewright.simulator.compile.fabric.network import EDGE_IN, OUTPUT, ROUTER, Network
from tilewright.simulator.compile.store import Part, Parts
from tilewright.simulator.isa.dsd import DTYPES, Buffer
from tilewright.simulator.isa.operands import ResolvedOperation
from tilewright.simulator.program.program import Program
from tilewright.simulator.program.routes import RAMP
from tilewright.simulator.run.trace import Counts, EdgeStream, Kind, RunResult, Timeline, Trace


@dataclass(frozen=True, slots=True)
class Outcome:
    """Everything a finished run left behind."""

    program: Program
    layouts: tuple[CodeLayout, ...]
    network: Network
    store: at.Table
    memory: at.Memory
    parts: Parts

    @property
    def fifo(self) -> at.Table:
        return self.parts.fifo.view(self.store)

    @property
    def element(self) -> at.Table:
        return self.parts.element.view(self.store)


def collect_result(outcome: Outcome, buffers: BufferMap) -> RunResult:
    """Read memory, streams, counts and the trace of a finished run."""
    edges = _edges(outcome)
    arrivals = [int(stream.cycles.max()) for stream in edges.values()]
    cycles = max([int(outcome.store[at.S_END]), *arrivals])
    links = link_words(outcome)
    return RunResult(
        cycles,
        {name: buffers.read(outcome.memory.view(np.uint16), name) for name in buffers.names()},
        edges,
        _counts(outcome, links),
        Trace(
            _element_cycles(outcome, cycles),
            links,
            _macs(outcome),
            _timeline(outcome),
            queue_sums(outcome, outcome.fifo[:, at.F_WAITED])
            if outcome.store[at.S_QUEUES]
            else None,
        ),
    )


def queue_sums(outcome: Outcome, values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return (H, W, 17): values per FIFO by queue slot, those of all router buffers together."""
    found = np.zeros((outcome.program.placement.size, 17), dtype=np.int64)
    network = outcome.network
    bound = network.queue >= 0
    found[:, :16][bound] = values[network.queue[bound]]
    for layout, others in zip(outcome.layouts, network.bound, strict=True):
        for (slot, _), fifos in zip(layout.bindings, others.T, strict=True):
            places = network.element[fifos]
            later = fifos[network.queue[places, slot] != fifos]
            found[network.element[later], slot] += values[later]
    routers = np.flatnonzero(network.kind == ROUTER)
    np.add.at(found[:, 16], network.element[routers], values[routers])
    return found.reshape(*outcome.program.placement.shape, 17)


def _edges(outcome: Outcome) -> dict[str, EdgeStream]:
    found = {}
    ports = zip(outcome.program.edge_outputs, outcome.network.edge_outputs, strict=True)
    for port, fifos in ports:
        entries = outcome.fifo[fifos, at.F_RING][:, None] + 2 * np.arange(port.count)
        values = stream_values(outcome.store[entries + 1], port.dtype)
        found[port.name] = EdgeStream(values, outcome.store[entries])
    return found


def link_words(outcome: Outcome) -> npt.NDArray[np.int64]:
    """Return (H, W, 5) wavelets per tx port of each router."""
    words = np.zeros(outcome.program.placement.size * 5, dtype=np.int64)
    for port, leaving in enumerate(outcome.network.leaving):
        plain = leaving[outcome.network.fifo[leaving, at.F_WAY] < 0]
        links = outcome.network.element[plain] * 5 + port
        np.add.at(words, links, outcome.fifo[plain, at.F_POPS])
    ways = np.flatnonzero(outcome.network.fifo[:, at.F_WAY] >= 0)
    numbers = outcome.network.fifo[ways, at.F_WAY]
    ports = outcome.network.steered.ports[numbers]
    sent = outcome.parts.way.view(outcome.store)[numbers, at.W_SENT : at.W_SENT + 5]
    links = outcome.network.element[ways][:, None] * 5 + ports
    np.add.at(words, links[ports >= 0], sent[ports >= 0])
    return words.reshape(*outcome.program.placement.shape, 5)


def _element_cycles(outcome: Outcome, cycles: int) -> npt.NDArray[np.int64]:
    """Return (H, W, 4) cycles per state, the time up to the end included."""
    table = outcome.element
    found = table[:, at.E_CYCLES : at.E_CYCLES + 4].copy()
    rest = cycles - table[:, at.E_SINCE]
    rows = np.arange(table.shape[0])
    found[rows, table[:, at.E_MOOD]] += np.maximum(rest, 0)
    found[:, 0] += np.minimum(rest, 0)
    return found.reshape(*outcome.program.placement.shape, 4)


def _processed(outcome: Outcome, layout: CodeLayout, number: int) -> npt.NDArray[np.int64]:
    """Return (elements of the code, operations): elements done by each operation."""
    places = np.flatnonzero(outcome.program.placement.ravel() == number)
    first = outcome.element[places, at.E_RUNS]
    columns = np.arange(len(layout.operations))
    return np.asarray(outcome.store[first[:, None] + columns])


def _macs(outcome: Outcome) -> npt.NDArray[np.int64]:
    macs = np.zeros(outcome.program.placement.size, dtype=np.int64)
    for number, layout in enumerate(outcome.layouts):
        is_mac = [r.operation.counts_as == "mac" for _, r in layout.operations]
        places = outcome.program.placement.ravel() == number
        macs[places] = _processed(outcome, layout, number)[:, is_mac].sum(axis=1)
    return macs.reshape(outcome.program.placement.shape)


def _counts(outcome: Outcome, links: npt.NDArray[np.int64]) -> Counts:
    tally = _Tally()
    for number, layout in enumerate(outcome.layouts):
        totals = _processed(outcome, layout, number).sum(axis=0)
        for (_, resolved), elements in zip(layout.operations, totals, strict=True):
            tally.add(resolved, int(elements))
        for operand, name in layout.buffers:
            row = outcome.parts.operand.view(outcome.store)[layout.first["operand"] + operand]
            buffer = layout.code.buffer(name)
            assert buffer is not None
            tally.touch(buffer, int(row[at.D_READS]), int(row[at.D_WRITES]))
    pops = outcome.fifo[:, at.F_POPS]
    kind = outcome.network.kind
    edge_out = sum(port.positions * port.count for port in outcome.program.edge_outputs)
    return Counts(
        dict(sorted(tally.reads.items())),
        dict(sorted(tally.writes.items())),
        tally.read_words,
        tally.write_words,
        tally.actions["mac"],
        tally.actions["add"],
        tally.actions["multiply"],
        tally.actions["move"],
        int(links[:, :, :RAMP].sum()) - edge_out,
        int(links[:, :, RAMP].sum()),
        int(pops[kind == OUTPUT].sum()),
        int(pops[kind == EDGE_IN].sum()),
        edge_out,
    )


class _Tally:
    """Sums of memory accesses and actions over operations."""

    def __init__(self) -> None:
        self.reads: dict[str, int] = {}
        self.writes: dict[str, int] = {}
        self.read_words = 0
        self.write_words = 0
        self.actions = {"mac": 0, "add": 0, "multiply": 0, "move": 0, "map": 0}

    def touch(self, buffer: Buffer, reads: int, writes: int) -> None:
        """Count accesses of special operations and scalars to a buffer."""
        if reads:
            self.reads[buffer.name] = self.reads.get(buffer.name, 0) + reads
            self.read_words += reads * DTYPES[buffer.dtype]
        if writes:
            self.writes[buffer.name] = self.writes.get(buffer.name, 0) + writes
            self.write_words += writes * DTYPES[buffer.dtype]

    def add(self, resolved: ResolvedOperation, elements: int) -> None:
        """Count an operation that did so many elements in all its runs."""
        self.actions[resolved.operation.counts_as] += elements
        if resolved.is_special:
            return
        for source in resolved.sources:
            if source.buffer is None:
                continue
            times = elements if source.letter == "D" else elements // resolved.extent
            name = source.buffer.name
            self.reads[name] = self.reads.get(name, 0) + times
            self.read_words += times * DTYPES[source.buffer.dtype]
        if resolved.dest.buffer is not None:
            name = resolved.dest.buffer.name
            self.writes[name] = self.writes.get(name, 0) + elements
            self.write_words += elements * DTYPES[resolved.dest.buffer.dtype]


def _timeline(outcome: Outcome) -> Timeline:
    """Return the recorded operations and tasks; each kind of them is named once."""
    count = int(outcome.store[at.S_EVENTS])
    events = Part(outcome.parts.end, count, at.V_WIDTH).view(outcome.store)
    element = (events[:, at.V_ELEMENT] - outcome.parts.element.start) // at.E_WIDTH
    code = outcome.program.placement.ravel()[element].astype(np.int64)
    # (row, thread, code) as one number; rows are addresses or, of tasks, above -1 - MAX_TASKS
    threads, codes = 1 + int(events[:, at.V_THREAD].max(initial=0)), len(outcome.layouts)
    kind = (events[:, at.V_ROW] * threads + events[:, at.V_THREAD]) * codes + code
    known, number = np.unique(kind, return_inverse=True)
    kinds = []
    for one in known.tolist():
        rest, layout = one // codes, outcome.layouts[one % codes]
        kinds.append(_kind(outcome, layout, rest // threads, rest % threads))
    row, column = np.divmod(element, outcome.program.width)
    start, end = events[:, at.V_START], events[:, at.V_END]
    order = np.lexsort((events[:, at.V_THREAD], end, element, start))
    return Timeline(tuple(kinds), np.stack([row, column, number, start, end], axis=1)[order])


def _kind(outcome: Outcome, layout: CodeLayout, row: int, thread: int) -> Kind:
    if row < 0:
        return Kind(layout.code.tasks[-1 - row].name, "task", "", "main")
    task, resolved = layout.operations[int(outcome.store[row + at.O_NUMBER])]
    name = "main" if thread == 0 else f"ut{layout.threads[thread - 1]}"
    return Kind(task, resolved.operation.name, resolved.source.label, name)
