"""A machine: a program compiled for a profile, run as often as wanted on fresh memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from tilewright.simulator.check.resources import check_resources
from tilewright.simulator.check.validate import check_program
from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.buffer_memory import BufferMap, MemoryInput, stream_bits
from tilewright.simulator.compile.code.code_tables import compile_codes
from tilewright.simulator.compile.fabric.network import EDGE_OUT
from tilewright.simulator.compile.fabric.queue_fusion import Ids, fused, unfuse
from tilewright.simulator.compile.fabric.topology import network_of
from tilewright.simulator.compile.store import Parts, ProgramStore, aligned
from tilewright.simulator.diagnose.deadlock import FinalState, find_waits
from tilewright.simulator.diagnose.run_errors import run_error
from tilewright.simulator.engine.features import load_features
from tilewright.simulator.isa.machine_errors import DeadlockError, MachineError, ProgramError
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.run.occupancy import Looks
from tilewright.simulator.run.results import Outcome, collect_result
from tilewright.simulator.run.trace import RunResult
from tilewright.simulator.text.text_places import place_in_text

MAX_CYCLES: Final = 100_000_000
MOST: Final = 1 << 60
"""Greatest number of cycles that the engine's words hold, with room for sums."""
FIRST_EVENTS: Final = 4096
Timeline = bool | Collection[tuple[int, int]]
"""All elements' operations, none, or those of the elements (row, column) listed."""


@dataclass(frozen=True, slots=True)
class Given:
    """What a run begins with, beside its program."""

    header: dict[int, int]
    shown: Ids
    """Elements whose operations are recorded."""
    memory: Mapping[str, MemoryInput]
    edges: Mapping[str, npt.ArrayLike]


class Machine:
    """A program on the machine of a profile.

    Without `fuse` every queue is an agent of its own, which is slower and gives the same results;
    with `queues` that is so too, and runs say what waited in them, with an `interval` (cycles,
    above 0) also what links and queues held in every interval.
    Raises ProgramError when the program does not hold or does not fit.
    """

    def __init__(
        self,
        program: Program,
        profile: Profile,
        *,
        fuse: bool = True,
        queues: bool = False,
        interval: int = 0,
    ) -> None:
        if interval < 0:
            raise MachineError("the interval of looks is negative", value=interval)
        self.program = program
        self.profile = profile
        try:
            self._compile()
        except ProgramError as error:
            error.where = error.where or place_in_text(program, error.what, error.about)
            raise
        self._fuse = fuse and not any(layout.rebinds for layout in self._layouts)
        self._queues = queues or interval > 0
        self._interval = interval
        self._fused: tuple[at.Table, Ids] | None = None

    def _compile(self) -> None:
        program, profile = self.program, self.profile
        check_program(program)
        check_resources(program, profile)
        colors = {color.name: color.id for color in program.colors}
        self._tables, self._layouts = compile_codes(program.codes, profile, colors)
        self._network = network_of(program, self._layouts, profile)

    @cached_property
    def _compiled(self) -> ProgramStore:
        """The program's store, laid out when it is asked for: times alone need none."""
        return ProgramStore(self.program, self._layouts, self._tables, self._network)

    @property
    def _parts(self) -> Parts:
        return self._compiled.parts

    @property
    def _store(self) -> at.Table:
        return self._compiled.store

    @property
    def _buffers(self) -> BufferMap:
        return BufferMap(self.program, self._parts.element.view(self._store)[:, at.E_MEMORY])

    def run(
        self,
        *,
        memory: Mapping[str, MemoryInput] | None = None,
        edges: Mapping[str, npt.ArrayLike] | None = None,
        timeline: Timeline = False,
        max_cycles: int = MAX_CYCLES,
        shuffle: int = 0,
    ) -> RunResult:
        """Run to the end from zeroed memory.

        memory: buffer name -> (H, W, *shape) or {(row, column): array}; edges: edge input name ->
        (positions, count). timeline: record all elements' operations, or those of the elements
        (row, column) listed. A shuffle seed above 0 permutes the order of visits within a cycle;
        nothing may depend on it. Raises MachineError and DeadlockError.
        """
        for what, number in (("max_cycles", max_cycles), ("shuffle", shuffle)):
            if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= MOST:
                raise MachineError(f"{what} is not a whole number from 0 to {MOST}", value=number)
        given = self._given(memory or {}, edges or {}, timeline)
        given.header.update({at.S_LIMIT: max_cycles, at.S_MOST: max_cycles, at.S_SHUFFLE: shuffle})
        looks = Looks(self._interval) if self._interval else None
        store, sram = self._finished(given, looks)
        result = collect_result(self._outcome(store, sram), self._buffers)
        if looks is None:
            return result
        return replace(result, trace=replace(result.trace, occupancy=looks.occupancy()))

    def _given(
        self,
        memory: Mapping[str, MemoryInput],
        edges: Mapping[str, npt.ArrayLike],
        timeline: Timeline,
    ) -> Given:
        header = {
            at.S_LIMIT: MAX_CYCLES,
            at.S_MOST: MAX_CYCLES,
            at.S_RECORD: int(bool(timeline)),
            at.S_QUEUES: int(self._queues),
        }
        return Given(header, elements_shown(self.program, timeline), memory, edges)

    def _outcome(self, store: at.Table, sram: at.Memory) -> Outcome:
        return Outcome(self.program, self._layouts, self._network, store, sram, self._parts)

    def _finished(self, given: Given, looks: Looks | None) -> tuple[at.Table, at.Memory]:
        """Run with merged queues; what goes wrong is found again, and told, without."""
        if self._fuse and not self._queues:
            if self._fused is None:
                self._fused = fused(self._store, self._parts, self._network)
            store, sram = self._started(self._fused[0], given)
            store = step_to_end(store, sram)
            if store[at.S_ERROR] == at.OK and self._is_complete(self._final(store)):
                unfuse(store, self._parts, self._fused[1])
                return store, sram
        store, sram = self._started(self._store, given)
        store = step_to_end(store, sram) if looks is None else self._looked(store, sram, looks)
        if store[at.S_ERROR] not in (at.OK, at.ERROR_LIMIT):
            store = self._failed(given, int(store[at.S_CYCLE]))
        self._check_end(store)
        return store, sram

    def _failed(self, given: Given, cycle: int) -> at.Table:
        """Run again to an error, with the visits of its cycle in order: the first element's."""
        store, sram = self._started(self._store, given)
        store[at.S_LIMIT] = cycle - 1
        store = step_to_end(store, sram)
        store[at.S_ERROR], store[at.S_LIMIT], store[at.S_SHUFFLE] = at.OK, cycle, -1
        return step_to_end(store, sram)

    def _looked(self, store: at.Table, sram: at.Memory, looks: Looks) -> at.Table:
        """Run to the end with a look after every interval."""
        limit, cycle = int(store[at.S_LIMIT]), 0
        while True:
            cycle += looks.interval
            store[at.S_LIMIT] = min(limit, cycle - 1)
            store = step_to_end(store, sram)
            looks.look(self._outcome(store, sram), cycle)
            if store[at.S_ERROR] != at.ERROR_LIMIT or store[at.S_LIMIT] == limit:
                return store
            store[at.S_ERROR] = at.OK

    def _started(self, store: at.Table, given: Given) -> tuple[at.Table, at.Memory]:
        """Return a copy of a store with its data, ready to run."""
        store, sram = self._loaded(store, given)
        self._start(store, np.zeros(0, dtype=np.int64))
        return store, sram

    def _loaded(self, store: at.Table, given: Given) -> tuple[at.Table, at.Memory]:
        """Return a copy of a store with its data, in which nothing is due."""
        events = FIRST_EVENTS + 2 * self._parts.most_events if given.header[at.S_RECORD] else 0
        store = _grown(store, events)
        for column, value in given.header.items():
            store[column] = value
        self._parts.element.view(store)[given.shown, at.E_RECORD] = 1
        sram = np.zeros(self._parts.memory_words // 2, dtype=np.uint32)
        for name, values in given.memory.items():
            self._buffers.load(sram.view(np.uint16), name, values)
        self._fill_edges(store, dict(given.edges))
        load_features(store, self._parts)
        return store, sram

    def _fill_edges(self, store: at.Table, edges: dict[str, npt.ArrayLike]) -> None:
        fifo = self._parts.fifo.view(store)
        for port, fifos in zip(self.program.edge_inputs, self._network.edge_inputs, strict=True):
            if port.name not in edges:
                raise MachineError("an edge input has no data", value=port.name)
            shape = (port.positions, port.count)
            bits = stream_bits(edges.pop(port.name), port.dtype, shape, port.name)
            entries = fifo[fifos, at.F_RING][:, None] + 2 * np.arange(port.count)
            store[entries] = port.start + port.interval * np.arange(port.count)
            store[entries + 1] = bits | at.IS_CONTROL if port.control else bits
            fifo[fifos, at.F_COUNT] = port.count
        if edges:
            known = ", ".join(port.name for port in self.program.edge_inputs)
            instead = f"one of {known}" if known else "no edges: the program has no edge inputs"
            raise MachineError("data for an unknown edge input", value=min(edges), instead=instead)

    def _start(self, store: at.Table, resting: Ids) -> None:
        """Schedule the edge inputs and every element with an active task, unless they rest."""
        from tilewright.simulator.engine.engine_entries import schedule_all

        entry = np.flatnonzero(self._parts.element.view(store)[:, at.E_ACTIVE]).astype(np.int64)
        agents = [self._parts.element.address(entry)]
        cycles = [np.zeros_like(entry)]
        for port, fifos in zip(self.program.edge_inputs, self._network.edge_inputs, strict=True):
            agents.append(self._parts.fifo.address(fifos))
            cycles.append(np.full_like(fifos, port.start))
        due = np.isin(np.concatenate(agents), resting, invert=True)
        schedule_all(store, np.concatenate(agents)[due], np.concatenate(cycles)[due])

    def _check_end(self, store: at.Table) -> None:
        final = self._final(store)
        if store[at.S_ERROR] != at.OK:
            raise run_error(final)
        if self._is_complete(final):
            return
        cycle = int(store[at.S_CYCLE])
        raise DeadlockError(
            f"deadlock: nothing moves from cycle {cycle} on in program {self.program.name}",
            cycle=cycle,
            waits=find_waits(final),
        )

    def _final(self, store: at.Table) -> FinalState:
        return FinalState(self.program, self._layouts, self._network, store, self._parts)

    def _is_complete(self, final: FinalState) -> bool:
        sinks = self._network.kind == EDGE_OUT
        counts = final.fifo[:, at.F_COUNT]
        return bool(
            not final.element[:, at.E_ACTIVE].any()
            and _running(final) == _endless(final)
            and (final.element[:, at.E_STATE] == at.M_IDLE).all()
            and not counts[~sinks].any()
            and (counts[sinks] == final.fifo[sinks, at.F_CAP]).all()
        )


def elements_shown(program: Program, timeline: Timeline) -> Ids:
    """Return the numbers of the elements whose operations a run records."""
    if isinstance(timeline, bool):
        return np.arange(program.placement.size if timeline else 0, dtype=np.int64)
    height, width = program.placement.shape
    for row, column in timeline:
        if not (0 <= row < height and 0 <= column < width):
            raise MachineError("the timeline: no such element", value=(row, column))
    return np.array(sorted({row * width + column for row, column in timeline}), dtype=np.int64)


def _running(final: FinalState) -> int:
    return int(final.element[:, at.E_RUNNING].sum())


def _endless(final: FinalState) -> int:
    """Return how many operations wait that are not meant to end."""
    thread = final.parts.thread.view(final.store)
    running = thread[thread[:, at.T_STATE] == at.RUNNING]
    special = final.store[running[:, at.T_OP] + at.O_SPECIAL] == 1
    return int((special & (running[:, at.T_STEP] == 0)).sum())


def step_to_end(store: at.Table, sram: at.Memory) -> at.Table:
    """Run the kernel; give it a longer timeline whenever that is full."""
    from tilewright.simulator.engine.engine_entries import run

    with np.errstate(all="ignore"):
        run(store, sram)
        while store[at.S_ERROR] == at.EVENTS_FULL:
            store[at.S_ERROR] = at.OK
            store = _grown(store, FIRST_EVENTS + int(store[at.S_EVENTS] + store[at.S_MARGIN]))
            run(store, sram)
    return store


def _grown(store: at.Table, events: int) -> at.Table:
    """Return a copy of the store with room for more events."""
    grown = aligned(store.size + events * at.V_WIDTH)
    grown[: store.size] = store
    return grown
