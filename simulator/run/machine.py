"""A machine: a program compiled for a profile, run as often as wanted on fresh memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.buffer_memory import MemoryInput
from tilewright.simulator.compile.compiled_program import CompiledProgram, compile_program
from tilewright.simulator.compile.fabric.queue_fusion import Ids, restore_pops
from tilewright.simulator.compile.store_header import NEVER
from tilewright.simulator.diagnose.deadlock import find_waits
from tilewright.simulator.diagnose.final_state import FinalState
from tilewright.simulator.diagnose.run_errors import run_error
from tilewright.simulator.engine.features import compile_needed, is_loaded
from tilewright.simulator.isa.machine_errors import DeadlockError, InputDataError, RunStoppedError
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.run.occupancy import IntervalRecorder
from tilewright.simulator.run.repetition.repeatable import may_repeat
from tilewright.simulator.run.repetition.repeats import RepeatingRun
from tilewright.simulator.run.results import collect_result, end_cycle
from tilewright.simulator.run.run_data import (
    MAX_CYCLES,
    RunData,
    TimelineRequest,
    load_data,
    no_values,
    noted,
    refused,
    run_data,
    schedule_start,
    step_by_intervals,
    step_to_end,
)
from tilewright.simulator.run.trace import RunResult

MOST_CYCLES: Final = 1 << 60
"""Greatest number of cycles that the engine's words hold, with space for sums."""
CYCLES_ASKED: Final = 1 << 20
"""Cycles of one element between two questions whether a run is to end: some 0.1 s of work."""
Stop = Callable[[int], bool]
"""Says whether a run is to end, from a number of cycles that it takes at least."""


class Machine:
    """A simulator of one program on the machine that a profile describes, cycle by cycle.

    A profile holds the numbers of a machine: cycles, SRAM, queues. `fuse`: simulate chains of
    queues as one where that changes no result; False is slower. `queues`: also count how long
    words wait in queues. `interval` (cycles, 0 for none): also record what links carried and queues
    held in each interval. `refuse`: what is to be an error that is none otherwise, "unwritten":
    reads of memory that neither the program nor the data has written. Raises ProgramError if the
    program is inconsistent or does not fit the machine, InputDataError for a negative interval.
    """

    def __init__(  # noqa: PLR0913 (the options of a machine)
        self,
        program: Program,
        profile: Profile,
        *,
        fuse: bool = True,
        queues: bool = False,
        interval: int = 0,
        refuse: Collection[str] = (),
    ) -> None:
        if interval < 0:
            raise InputDataError("the interval of looks is negative", value=interval)
        self.program = program
        self._refused = refused(refuse)
        self.stop: Stop | None = None
        """Asked from time to time; a run ends with RunStoppedError where it says so."""
        self.profile = profile
        self.compiled = compile_program(program, profile)
        """The program as the engines read it."""
        self.fuses = fuse and not self.compiled.rebinds_queues
        """Whether queues are merged where that changes no result."""
        self._counts_queues = queues or interval > 0
        self._interval = interval
        self._paused: RepeatingRun | None = None

    @property
    def fused_store(self) -> tuple[at.Table, Ids]:
        """The engine's table of the program in which chains of queues are merged, and the merging.

        The second value gives, for each queue of the network, the queue that it became part of.
        """
        if not is_loaded():
            compile_needed(self.compiled.store, self.compiled.parts)  # merging has a kernel, too
        store, ends = self.compiled.merged
        return store.store, ends

    def run(  # noqa: PLR0913 (the options of a run)
        self,
        *,
        memory: Mapping[str, MemoryInput] | None = None,
        edges: Mapping[str, npt.ArrayLike] | None = None,
        timeline: TimelineRequest = False,
        max_cycles: int = MAX_CYCLES,
        shuffle: int = 0,
        notes: Collection[str] = (),
    ) -> RunResult:
        """Run the program to its end, from an SRAM of zeros, and return what it computed and cost.

        `memory`: start values by buffer name, an array (H, W, *shape) of the grid, or of the
        smallest area that holds all elements with the buffer, or {(row, column): array}.
        `edges`: values by edge input name, arrays (positions, count). `timeline`: record the
        operations of all elements, or of the (row, column) listed. `max_cycles`: limit. `shuffle`:
        a seed above 0 permutes the order in which a cycle's events are simulated, which must change
        nothing (a test). `notes`: what the result is to note: "races" (else an error), "unwritten",
        the reads of memory that neither the program nor the run's data has written.
        Raises DeadlockError if nothing can move but work is left; MachineError for wrong data, a
        passed limit or what is undefined on the machine, such as a race for memory.
        """
        for name, number in (("max_cycles", max_cycles), ("shuffle", shuffle)):
            whole = isinstance(number, int) and not isinstance(number, bool)
            if not whole or not 0 <= number <= MOST_CYCLES:
                raise InputDataError(
                    f"{name} is not a whole number from 0 to {MOST_CYCLES}", value=number
                )
        counts = self._counts_queues
        data = run_data(self.program, memory, edges, timeline, counts_queues=counts)
        data.header.update({at.S_LIMIT: max_cycles, at.S_MOST: max_cycles, at.S_SHUFFLE: shuffle})
        data.header.update(noted(notes) | self._refused)
        recorder = IntervalRecorder(self._interval) if self._interval else None
        store, sram = self._finish(data, recorder)
        result = collect_result(FinalState(self.compiled, store), sram)
        if recorder is None:
            return result
        return replace(result, trace=replace(result.trace, occupancy=recorder.occupancy()))

    def cycles(self) -> int:
        """Return the cycles of a run without its values: quicker, and the same cycles.

        Operations and maps on memory alone take their cycles and compute nothing, and what enters
        at the border is 0. So no branch may depend on values of the data, as none does in the
        program of a mapping. Raises what `run` raises.
        """
        cycles = self.repeating_cycles()
        if cycles is not None:
            return cycles
        store, _ = self._finish(no_values(self.program, at.NO_VECTORS), None)
        return end_cycle(FinalState(self.compiled, store))

    def repeating_cycles(self, visits: int = NEVER) -> int | None:
        """Return what `cycles` returns if a run ends after so many visits, repetitions skipped.

        visits: of elements and queues in a cycle. None if it does not end, or if repetitions of the
        program are never skipped; the next call, of `cycles` too, goes on with the run.
        """
        if not self.fuses or not may_repeat(self.compiled):
            return None
        run, self._paused = self._paused or self._repeating_run(), None
        if not run.run(None if self.stop is None else partial(_ask, self.stop), visits):
            self._paused = run
            return None
        final = FinalState(self.compiled, run.store)
        is_right = run.store[at.S_ERROR] == at.OK and final.is_complete()
        return end_cycle(final) if is_right else None

    def _repeating_run(self) -> RepeatingRun:
        # no counter of data decides: `may_repeat`
        data = no_values(self.program, at.NO_SCALARS)
        store, sram = self._begin(self.fused_store[0], data)
        return RepeatingRun(self.compiled, store, sram)

    def _finish(
        self, data: RunData, recorder: IntervalRecorder | None
    ) -> tuple[at.Table, at.Memory]:
        """Run with merged queues; after an error, run again without merging to describe it."""
        if self.fuses and not self._counts_queues:
            fused_store, ends = self.fused_store
            store, sram = self._begin(fused_store, data)
            store = self._step(store, sram)
            if store[at.S_ERROR] == at.OK and FinalState(self.compiled, store).is_complete():
                restore_pops(store, self.compiled.parts, ends)
                return store, sram
        else:
            compile_needed(self.compiled.store, self.compiled.parts)
        store, sram = self._begin(self.compiled.store, data)
        if recorder is None:
            store = self._step(store, sram)
        else:
            record = partial(_record, self.compiled, recorder)
            store = step_by_intervals(store, sram, recorder.interval, record)
        if store[at.S_ERROR] not in (at.OK, at.ERROR_LIMIT):
            store = self._repeat_to_error(data, int(store[at.S_CYCLE]))
        self._check_end(store)
        return store, sram

    def _begin(self, store: at.Table, data: RunData) -> tuple[at.Table, at.Memory]:
        """Return a copy of a store with its data, ready to run."""
        store, sram = load_data(self.compiled, store, data)
        schedule_start(self.compiled, store, np.zeros(0, dtype=np.int64))
        return store, sram

    def _repeat_to_error(self, data: RunData, cycle: int) -> at.Table:
        """Run again to an error, with the visits of its cycle in order: the first element's."""
        store, sram = self._begin(self.compiled.store, data)
        store[at.S_LIMIT] = cycle - 1
        store = step_to_end(store, sram)
        store[at.S_ERROR], store[at.S_LIMIT], store[at.S_SHUFFLE] = at.OK, cycle, -1
        return step_to_end(store, sram)

    def _step(self, store: at.Table, sram: at.Memory) -> at.Table:
        """Run to the end, or to where `stop` says so."""
        if self.stop is None:
            return step_to_end(store, sram)
        interval = max(1, CYCLES_ASKED // self.program.placement.size)
        return step_by_intervals(store, sram, interval, partial(_ask, self.stop))

    def _check_end(self, store: at.Table) -> None:
        """Raise MachineError or DeadlockError unless the run is complete."""
        final = FinalState(self.compiled, store)
        if store[at.S_ERROR] != at.OK:
            raise run_error(final)
        if final.is_complete():
            return
        cycle = int(store[at.S_CYCLE])
        raise DeadlockError(
            f"deadlock: nothing moves from cycle {cycle} on in program {self.program.name}",
            cycle=cycle,
            waits=find_waits(final),
        )


def _record(
    compiled: CompiledProgram, recorder: IntervalRecorder, store: at.Table, cycle: int
) -> None:
    """Record links and queues at the end of an interval."""
    recorder.record(FinalState(compiled, store), cycle)


def _ask(stop: Stop, store: at.Table, cycle: int) -> None:
    """Raise RunStoppedError if the caller wants the run to end at this cycle."""
    if store[at.S_ERROR] == at.ERROR_LIMIT and stop(int(store[at.S_END])):
        raise RunStoppedError("the run was stopped", value=f"cycle {cycle}")
