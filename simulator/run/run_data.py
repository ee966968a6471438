"""What a run begins with beside its program: memory, edge streams, which operations to record."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.buffer_memory import MemoryInput, element_place, stream_bits
from tilewright.simulator.compile.compiled_program import CompiledProgram
from tilewright.simulator.compile.fabric.queue_fusion import Ids
from tilewright.simulator.compile.store import aligned
from tilewright.simulator.engine.features import load_features
from tilewright.simulator.isa.machine_errors import InputDataError
from tilewright.simulator.program.program import Program

MAX_CYCLES: Final = 100_000_000
FIRST_EVENTS: Final = 4096
"""Events of the timeline that a recorded run has space for at its start."""
TimelineRequest = bool | Collection[tuple[int, int]]
"""All elements' operations, none, or those of the elements (row, column) listed."""

NOTES: Final = {"races": at.S_NOTES_RACES, "unwritten": at.S_WRITTEN}
"""What a run may note in its result: the columns of the store's header."""


def noted(notes: Collection[str]) -> dict[int, int]:
    """Return the values to set in the engine's header for what a run is to note: {column: value}.

    `notes`: names of NOTES. Raises InputDataError for another one.
    """
    if isinstance(notes, str):
        raise InputDataError("the notes of a run are a list", value=notes, instead=str([notes]))
    unknown = sorted(set(notes) - set(NOTES))
    if unknown:
        raise InputDataError(
            "the notes of a run: unknown", value=unknown[0], instead="one of " + ", ".join(NOTES)
        )
    return {column: int(name in notes) for name, column in NOTES.items()}


def refused(refuse: Collection[str]) -> dict[int, int]:
    """Return the values to set in the engine's header for what is to be an error: {column: value}.

    `refuse`: "unwritten", the reads of memory that nothing has written, or nothing. Raises
    InputDataError for another name.
    """
    unknown = sorted(set(refuse) - {"unwritten"})
    if unknown:
        raise InputDataError("what a run refuses: unknown", value=unknown[0], instead="unwritten")
    return {at.S_WRITTEN: 1, at.S_REFUSES_UNWRITTEN: 1} if refuse else {}


@dataclass(frozen=True, slots=True)
class RunData:
    """What a run begins with, beside its program.

    `header`: values of the header of the engine's table, by column number; `recorded`: numbers of
    the elements whose operations go to the timeline; `memory` and `edges`: the data by buffer and
    by edge input name.
    """

    header: dict[int, int]
    recorded: Ids
    memory: Mapping[str, MemoryInput]
    edges: Mapping[str, npt.ArrayLike]


def run_data(
    program: Program,
    memory: Mapping[str, MemoryInput] | None,
    edges: Mapping[str, npt.ArrayLike] | None,
    timeline: TimelineRequest,
    *,
    counts_queues: bool = False,
) -> RunData:
    """Return the start data of a run, with the default limit of 100 million cycles.

    `memory`: start values by buffer name; `edges`: wavelets by edge input name; `timeline`: True,
    False, or the elements (row, column) to record. `counts_queues`: count the cycles that words
    spend in queues. Raises InputDataError for an element outside of the grid.
    """
    header = {
        at.S_LIMIT: MAX_CYCLES,
        at.S_MOST: MAX_CYCLES,
        at.S_RECORD: int(bool(timeline)),
        at.S_QUEUES: int(counts_queues),
    }
    for name, given in (("memory", memory), ("edges", edges)):
        if not isinstance(given, Mapping | None):
            raise InputDataError(
                f"the {name} of a run: no arrays by name", value=given, instead='{"NAME": array}'
            )
    return RunData(header, recorded_elements(program, timeline), memory or {}, edges or {})


def no_values(program: Program, left_out: int) -> RunData:
    """Return the start data of a run for its cycles only, in which all words that enter are 0.

    left_out: what computes no values, NO_VECTORS or NO_SCALARS (`columns.py`).
    """
    data = run_data(program, None, None, timeline=False)
    data.header[at.S_TIMES_ONLY] = left_out
    return data


def recorded_elements(program: Program, timeline: TimelineRequest) -> Ids:
    """Return the numbers (row * width + column) of the elements whose operations are recorded.

    `timeline`: True for all, False for none, or (row, column) pairs. Raises InputDataError for an
    element outside of the grid.
    """
    if isinstance(timeline, bool):
        return np.arange(program.placement.size if timeline else 0, dtype=np.int64)
    height, width = program.placement.shape
    numbers = set()
    for place in timeline:
        row, column = element_place(place, "the timeline")
        if not (0 <= row < height and 0 <= column < width):
            raise InputDataError("the timeline: no such element", value=(row, column))
        numbers.add(row * width + column)
    return np.array(sorted(numbers), dtype=np.int64)


def load_data(
    compiled: CompiledProgram, store: at.Table, data: RunData
) -> tuple[at.Table, at.Memory]:
    """Return a copy of the engine's table with the run's data, and the SRAM of all elements.

    `store`: the table of the compiled program, or that with merged queues. The SRAM is in 32-bit
    words. No event is scheduled yet. Raises InputDataError for data of an unknown buffer or edge
    input, missing data, or a wrong shape.
    """
    parts = compiled.parts
    events = FIRST_EVENTS + 2 * parts.most_events if data.header[at.S_RECORD] else 0
    store = with_events(store, events)
    for column, value in data.header.items():
        store[column] = value
    parts.element.view(store)[data.recorded, at.E_RECORD] = 1
    words = parts.memory_words // 2
    keeps_written = bool(store[at.S_WRITTEN])
    sram = np.zeros(words + keeps_written * (words // 16 + 1), dtype=np.uint32)
    for name, values in data.memory.items():
        compiled.buffers.load(sram.view(np.uint16), name, values)
    if keeps_written:
        store[at.S_WRITTEN] = words
        _mark_data(compiled, sram[words:], data.memory)
    _fill_edges(compiled, store, dict(data.edges))
    load_features(store, parts)
    return store, sram


def _mark_data(
    compiled: CompiledProgram, written: at.Memory, memory: Mapping[str, MemoryInput]
) -> None:
    """Set the bits of the words that the run's data gives; `written`: the bits of all words."""
    placement = compiled.program.placement
    first = compiled.parts.element.view(compiled.store)[:, at.E_MEMORY]
    marks = np.zeros(written.size * 32, dtype=np.uint8)
    for name, values in memory.items():
        given = np.ones(placement.shape, dtype=bool)
        if isinstance(values, Mapping):
            given[:] = False
            for place in values:
                given[place] = True
        for element in np.flatnonzero(given):
            buffer = compiled.program.codes[int(placement.ravel()[element])].buffer(name)
            if buffer is not None:
                start = int(first[element]) + buffer.address
                marks[start : start + buffer.words] = 1
    written[:] = np.packbits(marks, bitorder="little").view(np.uint32)


def _fill_edges(
    compiled: CompiledProgram, store: at.Table, edges: dict[str, npt.ArrayLike]
) -> None:
    """Write the wavelets of the edge inputs with the cycles from which on they may enter.

    Without values they are 0. Raises InputDataError for an unknown edge input, and for one without
    data.
    """
    program, fifo = compiled.program, compiled.parts.fifo.view(store)
    for port, fifos in zip(program.edge_inputs, compiled.network.edge_inputs, strict=True):
        bits: at.Table | int = 0
        if not store[at.S_TIMES_ONLY]:
            if port.name not in edges:
                raise InputDataError("an edge input has no data", value=port.name)
            bits = stream_bits(port, edges.pop(port.name))
        entries = fifo[fifos, at.F_RING][:, None] + 2 * np.arange(port.count)
        store[entries] = port.start + port.interval * np.arange(port.count)
        store[entries + 1] = bits | at.IS_CONTROL if port.control else bits
        fifo[fifos, at.F_COUNT] = port.count
    if edges:
        names = ", ".join(port.name for port in program.edge_inputs)
        instead = f"one of {names}" if names else "no edges: the program has no edge inputs"
        raise InputDataError("data for an unknown edge input", value=min(edges), instead=instead)


def schedule_start(compiled: CompiledProgram, store: at.Table, resting: Ids) -> None:
    """Schedule the first events: the edge inputs, and every element with an active task.

    Changes `store`, the engine's table. `resting`: addresses in it of queues and elements that are
    left out, because another engine simulates them.
    """
    from tilewright.simulator.engine.engine_entries import schedule_all

    parts = compiled.parts
    entry = np.flatnonzero(parts.element.view(store)[:, at.E_ACTIVE]).astype(np.int64)
    agents = [parts.element.address(entry)]
    cycles = [np.zeros_like(entry)]
    ports = zip(compiled.program.edge_inputs, compiled.network.edge_inputs, strict=True)
    for port, fifos in ports:
        agents.append(parts.fifo.address(fifos))
        cycles.append(np.full_like(fifos, port.start))
    all_agents, when = np.concatenate(agents), np.concatenate(cycles)
    if resting.size:
        due = np.isin(all_agents, resting, invert=True)
        all_agents, when = all_agents[due], when[due]
    schedule_all(store, all_agents, when)


def step_to_end(store: at.Table, sram: at.Memory) -> at.Table:
    """Simulate until nothing is left to do, an error, or the table's limit of cycles.

    `store`: the engine's table, `sram`: the memory of all elements; both are changed. Returns the
    table, which is a longer copy if the timeline needed more space.
    """
    from tilewright.simulator.engine.engine_entries import run

    with np.errstate(all="ignore"):
        run(store, sram)
        while store[at.S_ERROR] == at.EVENTS_FULL:
            store[at.S_ERROR] = at.OK
            store = with_events(store, FIRST_EVENTS + int(store[at.S_EVENTS] + store[at.S_MARGIN]))
            run(store, sram)
    return store


def step_by_intervals(
    store: at.Table, sram: at.Memory, interval: int, after: Callable[[at.Table, int], None]
) -> at.Table:
    """Simulate as `step_to_end`; call `after` (table, cycle reached) after every interval."""
    limit, cycle = int(store[at.S_LIMIT]), 0
    while True:
        cycle += interval
        store[at.S_LIMIT] = min(limit, cycle - 1)
        store = step_to_end(store, sram)
        after(store, cycle)
        if store[at.S_ERROR] != at.ERROR_LIMIT or store[at.S_LIMIT] == limit:
            return store
        store[at.S_ERROR] = at.OK


def with_events(store: at.Table, events: int) -> at.Table:
    """Return a copy of the engine's table with space for `events` more entries of the timeline."""
    longer = aligned(store.size + events * at.V_WIDTH)
    longer[: store.size] = store
    return longer
