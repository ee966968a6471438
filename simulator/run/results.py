"""Collect the result of a run: from the engine's final tables to a `RunResult`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.buffer_memory import stream_values
from tilewright.simulator.compile.fabric.exit_times import exit_cycles, last_exits
from tilewright.simulator.compile.fabric.network import EDGE_IN, OUTPUT, ROUTER
from tilewright.simulator.compile.store_layout import StoreTable
from tilewright.simulator.compile.table_blocks import CodeLayout
from tilewright.simulator.diagnose.final_state import FinalState
from tilewright.simulator.diagnose.memory_race import race_notes
from tilewright.simulator.diagnose.unwritten_read import unwritten_notes
from tilewright.simulator.program.routes import RAMP
from tilewright.simulator.run.action_sums import ActionSums
from tilewright.simulator.run.stalls import operation_work, stall_cycles, stall_table
from tilewright.simulator.run.trace import Counts, EdgeStream, EntryKind, RunResult, Timeline, Trace


def collect_result(final: FinalState, sram: at.Memory) -> RunResult:
    """Return the result of a finished run: memory, edge streams, cycles, counts and trace.

    `final`: the engine's tables at the end; `sram`: SRAM of all elements in 32-bit words.
    """
    buffers = final.compiled.buffers
    edges = _edges(final)
    cycles = end_cycle(final)
    links = link_words(final)
    states = _element_cycles(final, cycles)
    return RunResult(
        cycles,
        {name: buffers.read(sram.view(np.uint16), name) for name in buffers.names()},
        edges,
        _counts(final, links),
        Trace(
            states,
            stall_cycles(final, states),
            links,
            _macs(final),
            _timeline(final),
            queue_sums(final, final.fifo[:, at.F_WAITED]) if final.store[at.S_QUEUES] else None,
            operation_work=operation_work(final),
            stalls=stall_table(final, cycles),
        ),
        final.compiled.assumed,
        race_notes(final) + unwritten_notes(final),
    )


def queue_sums(final: FinalState, values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Sum a value per queue of the network by element, shape (H, W, 17).

    `values`: one per queue. Last axis: input queues 0-7, output queues 0-7, then all buffers of the
    element's router together.
    """
    sums = np.zeros((final.program.placement.size, 17), dtype=np.int64)
    network = final.network
    bound = network.queue >= 0
    sums[:, :16][bound] = values[network.queue[bound]]
    for layout, bound_fifos in zip(final.layouts, network.bound, strict=True):
        for (slot, _), fifos in zip(layout.bindings, bound_fifos.T, strict=True):
            places = network.element[fifos]
            later = fifos[network.queue[places, slot] != fifos]
            sums[network.element[later], slot] += values[later]
    routers = np.flatnonzero(network.kind == ROUTER)
    np.add.at(sums[:, 16], network.element[routers], values[routers])
    return sums.reshape(*final.program.placement.shape, 17)


def _edges(final: FinalState) -> dict[str, EdgeStream]:
    streams = {}
    ports = zip(final.program.edge_outputs, final.network.edge_outputs, strict=True)
    for port, fifos in ports:
        entries = final.fifo[fifos, at.F_RING][:, None] + 2 * np.arange(port.count)
        values = stream_values(final.store[entries + 1], port.dtype)
        cycles = exit_cycles(final.store[entries], port.interval)
        streams[port.name] = EdgeStream(values, cycles)
    return streams


def end_cycle(final: FinalState) -> int:
    """Return the cycles of a finished run: until its last operation, and its last word outside."""
    cycles = int(final.store[at.S_END])
    for fifos in final.network.edge_outputs:
        last = last_exits(final.store, final.parts, final.network, fifos)
        cycles = max(cycles, int(last.max(initial=0)))
    return cycles


def link_words(final: FinalState) -> npt.NDArray[np.int64]:
    """Return how many wavelets each router sent over each of its ports in the whole run.

    Shape (H, W, 5); ports in the order N, E, S, W, R (the ramp to its own element). Each wavelet is
    32 bits.
    """
    words = np.zeros(final.program.placement.size * 5, dtype=np.int64)
    for port, leaving in enumerate(final.network.leaving):
        plain = leaving[final.network.fifo[leaving, at.F_WAY] < 0]
        links = final.network.element[plain] * 5 + port
        np.add.at(words, links, final.fifo[plain, at.F_POPS])
    steered = np.flatnonzero(final.network.fifo[:, at.F_WAY] >= 0)
    numbers = final.network.fifo[steered, at.F_WAY]
    ports = final.network.steered.ports[numbers]
    sent = final.parts.way.view(final.store)[numbers, at.W_SENT : at.W_SENT + 5]
    links = final.network.element[steered][:, None] * 5 + ports
    np.add.at(words, links[ports >= 0], sent[ports >= 0])
    return words.reshape(*final.program.placement.shape, 5)


def _element_cycles(final: FinalState, cycles: int) -> npt.NDArray[np.int64]:
    """Return (H, W, 4) cycles per state, the time up to the end included."""
    table = final.element
    cycles_by_state = table[:, at.E_CYCLES : at.E_CYCLES + 4].copy()
    rest = cycles - table[:, at.E_SINCE]
    rows = np.arange(table.shape[0])
    cycles_by_state[rows, table[:, at.E_CYCLE_STATE]] += np.maximum(rest, 0)
    cycles_by_state[:, 0] += np.minimum(rest, 0)
    return cycles_by_state.reshape(*final.program.placement.shape, 4)


def _processed(final: FinalState, layout: CodeLayout, number: int) -> npt.NDArray[np.int64]:
    """Return (elements of the code, operations): elements done by each operation."""
    places = np.flatnonzero(final.program.placement.ravel() == number)
    first = final.element[places, at.E_RUNS]
    columns = np.arange(len(layout.operations))
    return np.asarray(final.store[first[:, None] + columns])


def _macs(final: FinalState) -> npt.NDArray[np.int64]:
    macs = np.zeros(final.program.placement.size, dtype=np.int64)
    for number, layout in enumerate(final.layouts):
        is_mac = [r.operation.counts_as == "mac" for _, r in layout.operations]
        places = final.program.placement.ravel() == number
        macs[places] = _processed(final, layout, number)[:, is_mac].sum(axis=1)
    return macs.reshape(final.program.placement.shape)


def _counts(final: FinalState, links: npt.NDArray[np.int64]) -> Counts:
    tally = ActionSums()
    for number, layout in enumerate(final.layouts):
        totals = _processed(final, layout, number).sum(axis=0)
        for (_, resolved), elements in zip(layout.operations, totals, strict=True):
            tally.add(resolved, int(elements))
        for operand, name in layout.buffers:
            row = final.parts.operand.view(final.store)[layout.first["operand"] + operand]
            buffer = layout.code.buffer(name)
            assert buffer is not None
            tally.touch(buffer, int(row[at.D_READS]), int(row[at.D_WRITES]))
    pops = final.fifo[:, at.F_POPS]
    kind = final.network.kind
    edge_out = sum(port.positions * port.count for port in final.program.edge_outputs)
    words = (
        int(links[:, :, :RAMP].sum()) - edge_out,
        int(links[:, :, RAMP].sum()),
        int(pops[kind == OUTPUT].sum()),
    )
    return tally.counts(words, int(pops[kind == EDGE_IN].sum()), edge_out)


def _timeline(final: FinalState) -> Timeline:
    """Return the recorded operations and tasks; each kind of them is named once."""
    count = int(final.store[at.S_EVENTS])
    events = StoreTable(final.parts.end, count, at.V_WIDTH).view(final.store)
    events = events[events[:, at.V_ROW] >= -at.MAX_TASKS]
    element = (events[:, at.V_ELEMENT] - final.parts.element.start) // at.E_WIDTH
    code = final.program.placement.ravel()[element].astype(np.int64)
    # (row, thread, code) as one number; rows are addresses or, of tasks, above -1 - MAX_TASKS
    threads, codes = 1 + int(events[:, at.V_THREAD].max(initial=0)), len(final.layouts)
    kind = (events[:, at.V_ROW] * threads + events[:, at.V_THREAD]) * codes + code
    packed_kinds, number = np.unique(kind, return_inverse=True)
    kinds = []
    for packed in packed_kinds.tolist():
        rest, layout = packed // codes, final.layouts[packed % codes]
        kinds.append(_kind(final, layout, rest // threads, rest % threads))
    row, column = np.divmod(element, final.program.width)
    start, end = events[:, at.V_START], events[:, at.V_END]
    order = np.lexsort((events[:, at.V_THREAD], end, element, start))
    return Timeline(tuple(kinds), np.stack([row, column, number, start, end], axis=1)[order])


def _kind(final: FinalState, layout: CodeLayout, row: int, thread: int) -> EntryKind:
    if row < 0:
        return EntryKind(layout.code.tasks[-1 - row].name, "task", "", "main")
    task, resolved = layout.operations[int(final.store[row + at.O_NUMBER])]
    microthread = layout.threads[thread - 1] if thread else -1
    name = "main" if microthread < 0 else f"ut{microthread}"  # a map may have threads below 0
    return EntryKind(task, resolved.operation.name, resolved.source.label, name)
