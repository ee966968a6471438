"""Run programs by the fast engine where it can vouch for the result, else by the reference engine.

The result is the same either way; the certificate says which engine found what.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tilewright.simulator.compile import columns as at
from tilewright.simulator.compile.buffer_memory import MemoryInput
from tilewright.simulator.compile.fabric.queue_fusion import restore_pops
from tilewright.simulator.diagnose.final_state import FinalState
from tilewright.simulator.fast.fast_entries import run_values
from tilewright.simulator.fast.final_tables import (
    Solution,
    arrivals,
    end_cycle,
    events,
    fill_store,
    last_arrival,
)
from tilewright.simulator.fast.graph import X_EVALUATIONS
from tilewright.simulator.fast.independent_parts import Division, PartCertificate
from tilewright.simulator.fast.no_certificate import NotCovered
from tilewright.simulator.fast.partition_solve import settle
from tilewright.simulator.fast.plain_code import code_of_store
from tilewright.simulator.fast.script import script_from
from tilewright.simulator.fast.value_state import S_BASE, Flow, check_values, new_flow
from tilewright.simulator.fast.walker import MOST_INSTRUCTIONS, ScriptWalker
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.program.program import Program
from tilewright.simulator.run.machine import Machine
from tilewright.simulator.run.results import collect_result
from tilewright.simulator.run.run_data import (
    MAX_CYCLES,
    RunData,
    TimelineRequest,
    load_data,
    recorded_elements,
    run_data,
    schedule_start,
    step_to_end,
)
from tilewright.simulator.run.trace import RunResult

Run = tuple[at.Table, at.Memory]


@dataclass(frozen=True, slots=True)
class Certificate:
    """Why a result is the machine's.

    granted: every operation's times are known, every queue holds at least latency + 1 words, and
    no arbiter ever had a choice, so the fast engine's result is the reference engine's. Else
    `reason` says what is missing first, and the reference engine runs the parts where it is.
    """

    granted: bool
    reason: str
    units: int
    """Operations and messages that have times of their own."""
    evaluations: int
    segments: int
    """Most segments of a unit."""
    elements: int = 0
    """Elements of the parts that are granted."""


@dataclass(frozen=True, slots=True)
class FastResult:
    """A run's result and which engine vouches for it."""

    result: RunResult
    certificate: Certificate

    @property
    def engine(self) -> str:
        """Name the engine that ran, and why if the reference had a part in it."""
        if self.certificate.granted:
            return "fast, with certificate"
        if self.certificate.elements:
            count = self.certificate.elements
            return f"reference ({self.certificate.reason}); fast for {count} elements"
        return f"reference ({self.certificate.reason})"


class FastMachine:
    """A program on the machine of a profile; times are found once, values in every run.

    Raises ProgramError as `Machine` does.
    """

    def __init__(self, program: Program, profile: Profile) -> None:
        self.machine = Machine(program, profile)
        self._solution, self._division = settle(self.machine)
        self.certificate = _certificate(self._solution, self._division)

    @property
    def cycles(self) -> int | None:
        """Return the cycles of every run, None without a certificate; needs no data."""
        if self._solution is None or not self.certificate.granted:
            return None
        return _end(self.machine, self._solution)[1]

    def parts(self) -> tuple[PartCertificate, ...]:
        """Return the independent parts of the program and which of them are granted."""
        return self._division.certificates()

    def run(
        self,
        *,
        memory: Mapping[str, MemoryInput] | None = None,
        edges: Mapping[str, npt.ArrayLike] | None = None,
        timeline: TimelineRequest = False,
    ) -> FastResult:
        """Run as `Machine.run` does, with the same result and the same errors."""
        certificate = self.certificate
        if self._solution is not None:
            given = run_data(self.machine.program, memory, edges, timeline)
            try:
                return FastResult(
                    _result(self.machine, self._solution, given, timeline), certificate
                )
            except NotCovered as missing:
                certificate = Certificate(False, missing.reason, 0, 0, 0)
        found = self.machine.run(memory=memory, edges=edges, timeline=timeline)
        return FastResult(found, certificate)


def run_fast(
    program: Program,
    profile: Profile,
    memory: Mapping[str, MemoryInput] | None = None,
    edges: Mapping[str, npt.ArrayLike] | None = None,
    timeline: TimelineRequest = False,
) -> FastResult:
    """Run a program once, by the fast engine if it can vouch for the result.

    Raises ProgramError, MachineError and DeadlockError as `Machine` does.
    """
    machine = FastMachine(program, profile)
    return machine.run(memory=memory, edges=edges, timeline=timeline)


def _certificate(solution: Solution | None, division: Division) -> Certificate:
    if solution is None:
        return Certificate(False, division.reason, 0, 0, 0)
    times = solution.times
    return Certificate(
        division.whole,
        division.reason,
        int(times.pieces.size),
        int(times.header[X_EVALUATIONS]),
        int(times.pieces.max(initial=0)),
        int(division.elements.sum()),
    )


def _end(machine: Machine, solution: Solution) -> tuple[int, int]:
    """Return the cycles at which the last operation or task, and anything, has ended."""
    end = end_cycle(solution, int(machine.compiled.tables.header[at.K_EXECUTE]))
    return end, max(end, last_arrival(solution))


def _result(
    machine: Machine, solution: Solution, given: RunData, timeline: TimelineRequest
) -> RunResult:
    """Find the values and return the run's result. Raises NotCovered."""
    end, cycles = _end(machine, solution)
    if cycles >= MAX_CYCLES:
        raise NotCovered("too many cycles")
    parts = machine.compiled.parts
    store, memory = _begun(machine, solution.kept, given)
    flow = _values(machine, solution, (store, memory))
    store[at.S_END] = max(store[at.S_END], end)
    fill_store(solution, parts, flow, arrivals(solution), cycles)
    if not FinalState(machine.compiled, store).is_complete():
        raise NotCovered("the run does not come to its end")
    if timeline:
        rows = _timeline(machine, solution, store, timeline)
        known = parts.end + int(store[at.S_EVENTS]) * at.V_WIDTH
        store = np.concatenate([store[:known], rows.ravel()])
        store[at.S_EVENTS] += rows.shape[0]
    return collect_result(FinalState(machine.compiled, store), memory)


def _begun(machine: Machine, kept: Division, given: RunData) -> Run:
    """Let the reference engine run what is not kept; what is kept has its data and rests.

    Raises NotCovered if anything goes wrong, or does not end: that is told of the whole program.
    """
    compiled = machine.compiled
    if kept.whole:
        return load_data(compiled, compiled.store, given)
    parts = compiled.parts
    before, ends = compiled.store, np.arange(parts.fifo.rows)
    if machine.fuses:
        before, ends = machine.fused_store
    store, memory = load_data(compiled, before, given)
    resting = parts.fifo.address(np.flatnonzero(kept.fifos))
    resting = np.append(resting, parts.element.address(np.flatnonzero(kept.elements)))
    schedule_start(compiled, store, resting)
    store = step_to_end(store, memory)
    if store[at.S_ERROR] != at.OK:
        raise NotCovered("an error in a part without a certificate")
    restore_pops(store, parts, ends)
    queues = slice(at.E_QUEUES, at.E_QUEUES + 16)  # values flow by the queues that were merged
    parts.element.view(store)[:, queues] = parts.element.view(compiled.store)[:, queues]
    return store, memory


def _timeline(
    machine: Machine, solution: Solution, store: at.Table, shown: TimelineRequest
) -> at.Table:
    """Return the timeline's rows of the elements shown; only their codes are walked again."""
    compiled = machine.compiled
    chosen = recorded_elements(machine.program, shown)
    chosen = chosen[solution.kept.elements[chosen]]
    codes = set(machine.program.placement.ravel()[chosen].tolist())
    code = code_of_store(compiled.program_store.code, compiled.parts)
    scripts = {
        number: script_from(
            ScriptWalker(code, compiled.layouts[number], MOST_INSTRUCTIONS, every=True).walk()
        )
        for number in sorted(codes)
    }
    return events(solution, compiled.parts.element, store, scripts, chosen)


def _values(machine: Machine, solution: Solution, begun: Run) -> Flow:
    """Find the values of what is kept. Raises NotCovered."""
    store, kept = begun[0], solution.kept.fifos
    tables = (solution.graph, solution.layout)
    compiled = machine.compiled
    flow = new_flow(begun, compiled.parts, compiled.network, tables, solution.scripts)
    fifo = compiled.parts.fifo.view(store)
    ports = zip(machine.program.edge_inputs, compiled.network.edge_inputs, strict=True)
    for port, fifos in ports:
        mine = fifos[kept[fifos]]
        entries = fifo[mine, at.F_RING][:, None] + 2 * np.arange(port.count)
        places = flow.stream[mine, S_BASE][:, None] + np.arange(port.count)
        flow.data[places] = store[entries + 1].astype(np.uint32)
    recorded = int(store[at.S_EVENTS])
    store[at.S_EVENTS] = 0
    with np.errstate(all="ignore"):
        run_values(flow)
    check_values(flow)
    store[at.S_EVENTS] = recorded
    return flow
