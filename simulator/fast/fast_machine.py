"""Run programs by the fast engine where it has a certificate, else by the reference engine.

The result is the same either way (engines.md); the certificate says which engine computed it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.buffer_memory import MemoryInput
from tilewright.simulator.compile.fabric.queue_fusion import restore_pops
from tilewright.simulator.diagnose.final_state import FinalState
from tilewright.simulator.fast.fast_entries import run_values
from tilewright.simulator.fast.independent_parts import Division, PartCertificate
from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.fast.partition_solve import USUAL, ProofEffort, solve_parts
from tilewright.simulator.fast.times.timed_program import (
    TimedProgram,
    arrivals,
    end_cycle,
    last_timed_exit,
)
from tilewright.simulator.fast.units.graph import X_EVALUATIONS
from tilewright.simulator.fast.values.final_tables import events, fill_store
from tilewright.simulator.fast.values.run_counters import fill_counters, wait_events
from tilewright.simulator.fast.values.value_state import (
    S_BASE,
    ValueState,
    check_values,
    new_value_state,
)
from tilewright.simulator.fast.walk.plain_code import code_of_store
from tilewright.simulator.fast.walk.script import script_from
from tilewright.simulator.fast.walk.walker import MOST_INSTRUCTIONS, ScriptWalker
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.run.results import collect_result
from tilewright.simulator.run.run_data import (
    MAX_CYCLES,
    RunData,
    TimelineRequest,
    load_data,
    noted,
    recorded_elements,
    run_data,
    schedule_start,
    step_to_end,
)
from tilewright.simulator.run.trace import RunResult


@dataclass(frozen=True, slots=True)
class RunCertificate:
    """Say whether the fast engine proved that its result is the reference engine's.

    - `granted`: all of the program is proved: the times of all operations are known, every queue
      holds at least latency + 1 words, and no arbiter had a choice that was not decided by the
      machine's rule.
    - `reason`: what is missing first, if not granted; the reference engine runs the parts
      concerned.
    - `units`: runs of operations on queues, and messages, whose times were found.
    - `evaluations`: evaluations of units until no time changed.
    - `segments`: most segments (runs of equally spaced cycles) that the times of one unit need.
    - `elements`: elements whose parts of the program are proved.
    """

    granted: bool
    reason: str
    units: int
    evaluations: int
    segments: int
    elements: int = 0


@dataclass(frozen=True, slots=True)
class FastResult:
    """Hold the result of a run (`result`: cycles, memories, edges, counts) and its certificate.

    The certificate says which parts the fast engine proved; the result is that of the reference
    engine either way.
    """

    result: RunResult
    certificate: RunCertificate

    @property
    def engine(self) -> str:
        """Name the engine that ran: `fast, with certificate`, or `reference (reason)`.

        If the fast engine ran some parts, the number of their elements follows.
        """
        if self.certificate.granted:
            return "fast, with certificate"
        if self.certificate.elements:
            count = self.certificate.elements
            return f"reference ({self.certificate.reason}); fast for {count} elements"
        return f"reference ({self.certificate.reason})"


class FastMachine:
    """Run a program on the machine of a profile by the fast engine where its times can be proved.

    The constructor finds the times once, without data; each run computes values only. Parts of the
    program without a certificate are stepped by the reference engine. `timed` has the times, None
    if no part has any; `division` says which parts have them; `certificate` sums it up. Raises
    ProgramError if the program is not valid or does not fit the machine. `refuse`: what counts as
    an error in a run, as in `Machine`; if reads of memory that nothing has written are refused, the
    reference engine runs all. `effort`: how much is done to find the times.
    """

    def __init__(
        self,
        program: Program,
        profile: Profile,
        *,
        refuse: Collection[str] = (),
        effort: ProofEffort = USUAL,
    ) -> None:
        self.machine = Machine(program, profile, refuse=refuse)
        self._refuse = refuse
        self.timed, self.division = solve_parts(self.machine, effort=effort)
        self.certificate = _certificate(self.timed, self.division)

    @property
    def cycles(self) -> int | None:
        """The cycles of any run, whatever its data; None unless the whole program is proved."""
        if self.timed is None or not self.certificate.granted:
            return None
        return _end(self.machine, self.timed)[1]

    def parts(self) -> tuple[PartCertificate, ...]:
        """Return the certificate of each independent part of the program, or why it has none.

        Parts share no queue, link or element, so each can be run by another engine.
        """
        return self.division.certificates()

    def run(
        self,
        *,
        memory: Mapping[str, MemoryInput] | None = None,
        edges: Mapping[str, npt.ArrayLike] | None = None,
        timeline: TimelineRequest = False,
        notes: Collection[str] = (),
    ) -> FastResult:
        """Run the program once; parts without a certificate are run by the reference engine.

        - memory: values of named buffers before the run, for all elements or by (row, column).
        - edges: values that enter, by edge port: (positions, count).
        - timeline: False records no operations, True those of all elements, a list of (row, column)
          those of these.
        - notes: what is noted in the result, as in `Machine.run`; "unwritten" needs the reference
          engine.

        The result is that of the reference engine (`Machine.run` with the same arguments), with a
        certificate that says what was proved. If the values show what is not covered (an operand
        outside its buffer), the reference engine runs all again. Raises MachineError for wrong data
        or an undefined operation, DeadlockError if nothing can move any more.
        """
        certificate = self.certificate
        if self.timed is not None and "unwritten" not in {*notes, *self._refuse}:
            data = run_data(self.machine.program, memory, edges, timeline)
            data.header.update(noted(notes))
            try:
                return FastResult(_result(self.machine, self.timed, data, timeline), certificate)
            except NotCovered as missing:
                certificate = RunCertificate(False, missing.reason, 0, 0, 0)
        result = self.machine.run(memory=memory, edges=edges, timeline=timeline, notes=notes)
        return FastResult(result, certificate)


def run_fast(
    program: Program,
    profile: Profile,
    memory: Mapping[str, MemoryInput] | None = None,
    edges: Mapping[str, npt.ArrayLike] | None = None,
    timeline: TimelineRequest = False,
) -> FastResult:
    """Run a program once on a machine, by the fast engine where its times are proved.

    - profile: cycles and sizes of the machine.
    - memory: values of named buffers before the run, for all elements or by (row, column).
    - edges: values that enter, by edge port: (positions, count).
    - timeline: False records no operations, True those of all elements, a list of (row, column)
      those of these.

    Returns the result of the reference engine with a certificate. Raises ProgramError if the
    program is not valid or does not fit, MachineError for wrong data or an undefined operation,
    DeadlockError if nothing can move any more.
    """
    machine = FastMachine(program, profile)
    return machine.run(memory=memory, edges=edges, timeline=timeline)


def _certificate(timed: TimedProgram | None, division: Division) -> RunCertificate:
    if timed is None:
        return RunCertificate(False, division.reason, 0, 0, 0)
    times = timed.times
    return RunCertificate(
        division.whole,
        division.reason,
        int(times.pieces.size),
        int(times.header[X_EVALUATIONS]),
        int(times.pieces.max(initial=0)),
        int(division.elements.sum()),
    )


def _end(machine: Machine, timed: TimedProgram) -> tuple[int, int]:
    """Return the end of the last operation or task, and the end of the run, in cycles."""
    end = end_cycle(timed, int(machine.compiled.tables.header[at.K_EXECUTE]))
    return end, max(end, last_timed_exit(timed))


def _result(
    machine: Machine, timed: TimedProgram, data: RunData, timeline: TimelineRequest
) -> RunResult:
    """Return the result of a run. Raises NotCovered if its values need the reference engine."""
    end, cycles = _end(machine, timed)
    if cycles >= MAX_CYCLES:
        raise NotCovered("too many cycles")
    parts = machine.compiled.parts
    store, memory = _run_refused_parts(machine, timed.division, data)
    state = _values(machine, timed, store, memory)
    store[at.S_END] = max(store[at.S_END], end)
    fill_store(timed, parts, state, arrivals(timed), cycles)
    fill_counters(timed, machine.compiled, store)
    if not FinalState(machine.compiled, store).is_complete():
        raise NotCovered("the run does not come to its end")
    if timeline:
        rows = _timeline(machine, timed, store, timeline)
        events_end = parts.end + int(store[at.S_EVENTS]) * at.V_WIDTH
        store = np.concatenate([store[:events_end], rows.ravel()])
        store[at.S_EVENTS] += rows.shape[0]
    return collect_result(FinalState(machine.compiled, store), memory)


def _run_refused_parts(
    machine: Machine, division: Division, data: RunData
) -> tuple[at.Table, at.Memory]:
    """Run the refused parts by the reference engine; granted parts have their data and rest.

    Raises NotCovered for an error or a deadlock, which is reported for the whole program.
    """
    compiled = machine.compiled
    if division.whole:
        return load_data(compiled, compiled.store, data)
    parts = compiled.parts
    before, ends = compiled.store, np.arange(parts.fifo.rows)
    if machine.fuses:
        before, ends = machine.fused_store
    store, memory = load_data(compiled, before, data)
    resting = parts.fifo.address(np.flatnonzero(division.fifos))
    resting = np.append(resting, parts.element.address(np.flatnonzero(division.elements)))
    schedule_start(compiled, store, resting)
    store = step_to_end(store, memory)
    if store[at.S_ERROR] != at.OK:
        raise NotCovered("an error in a part without a certificate")
    restore_pops(store, parts, ends)
    queues = slice(at.E_QUEUES, at.E_QUEUES + 16)  # values use the queues before their merging
    parts.element.view(store)[:, queues] = parts.element.view(compiled.store)[:, queues]
    return store, memory


def _timeline(
    machine: Machine, timed: TimedProgram, store: at.Table, timeline: TimelineRequest
) -> at.Table:
    """Return the timeline of recorded elements; only their codes are walked again."""
    compiled = machine.compiled
    recorded = recorded_elements(machine.program, timeline)
    recorded = recorded[timed.division.elements[recorded]]
    codes = set(machine.program.placement.ravel()[recorded].tolist())
    code = code_of_store(compiled.program_store.code, compiled.parts)
    scripts = {
        number: script_from(
            ScriptWalker(code, compiled.layouts[number], MOST_INSTRUCTIONS, every=True).walk()
        )
        for number in sorted(codes)
    }
    waits = wait_events(timed, compiled, recorded, _end(machine, timed)[1])
    return np.concatenate([events(timed, compiled.parts.element, store, scripts, recorded), waits])


def _values(
    machine: Machine, timed: TimedProgram, store: at.Table, memory: at.Memory
) -> ValueState:
    """Compute the values of granted parts in store and memory. Raises NotCovered."""
    granted, compiled = timed.division.fifos, machine.compiled
    state = new_value_state(timed, store, memory, compiled.parts)
    fifo = compiled.parts.fifo.view(store)
    ports = zip(machine.program.edge_inputs, compiled.network.edge_inputs, strict=True)
    for port, fifos in ports:
        entering = fifos[granted[fifos]]
        entries = fifo[entering, at.F_RING][:, None] + 2 * np.arange(port.count)
        places = state.stream[entering, S_BASE][:, None] + np.arange(port.count)
        state.data[places] = store[entries + 1].astype(np.uint32)
    event_count = int(store[at.S_EVENTS])
    store[at.S_EVENTS] = 0
    element, covered = compiled.parts.element.view(store), timed.division.elements
    recorded = element[covered, at.E_RECORD]
    element[covered, at.E_RECORD] = 0  # the timeline is written from the times
    with np.errstate(all="ignore"):
        run_values(state)
    check_values(state)
    element[covered, at.E_RECORD], element[covered, at.E_STATE] = recorded, at.M_IDLE
    store[at.S_EVENTS] = event_count
    return state
