"""Run programs by the fast engine where it can vouch for the result, else by the reference engine.

The result is the same either way; the certificate says which engine found it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tilewright.simulator.engine import layout as at
from tilewright.simulator.engine.features import load_features
from tilewright.simulator.fast import subset
from tilewright.simulator.fast.attempts import settled
from tilewright.simulator.fast.checks import check_links, check_threads
from tilewright.simulator.fast.code import Code
from tilewright.simulator.fast.errors import NotCovered
from tilewright.simulator.fast.graph import build_graph
from tilewright.simulator.fast.outcome import (
    Solution,
    arrivals,
    end_cycle,
    events,
    fill_store,
)
from tilewright.simulator.fast.script import Script, ScriptWalker
from tilewright.simulator.fast.solve import X_EVALUATIONS
from tilewright.simulator.fast.values import S_BASE, Flow, check_values, new_flow, run_values
from tilewright.simulator.machine import MAX_CYCLES, Machine, Timeline, elements_shown
from tilewright.simulator.memory import MemoryInput
from tilewright.simulator.profile import Profile
from tilewright.simulator.program import Program
from tilewright.simulator.results import Outcome, collect_result
from tilewright.simulator.trace import RunResult


@dataclass(frozen=True, slots=True)
class Certificate:
    """Why a result is the machine's.

    granted: every operation's times are known, every queue holds at least latency + 1 words, and
    no arbiter ever had a choice, so the fast engine's result is the reference engine's. Else
    `reason` says what is missing, and the result comes from the reference engine.
    """

    granted: bool
    reason: str
    units: int
    """Operations and messages that have times of their own."""
    evaluations: int
    segments: int
    """Most segments of a unit."""


@dataclass(frozen=True, slots=True)
class FastResult:
    """A run's result and which engine vouches for it."""

    result: RunResult
    certificate: Certificate

    @property
    def engine(self) -> str:
        """Name the engine that ran, and why if it is the reference."""
        if self.certificate.granted:
            return "fast, with certificate"
        return f"reference ({self.certificate.reason})"


class FastMachine:
    """A program on the machine of a profile; times are found once, values in every run.

    Raises ProgramError as `Machine` does.
    """

    def __init__(self, program: Program, profile: Profile) -> None:
        self.machine = Machine(program, profile)
        self._solution: Solution | None = None
        try:
            self._solution = _solve(self.machine)
            self.certificate = _granted(self._solution)
        except NotCovered as missing:
            self.certificate = Certificate(False, missing.reason, 0, 0, 0)

    @property
    def cycles(self) -> int | None:
        """Return the cycles of every run, None without a certificate; needs no data."""
        if self._solution is None:
            return None
        came = arrivals(self._solution)
        end = end_cycle(self._solution, int(self.machine._compiled.code[at.K_EXECUTE]))
        return max([end, *(int(times.max()) for times in came.values())])

    def run(
        self,
        *,
        memory: Mapping[str, MemoryInput] | None = None,
        edges: Mapping[str, npt.ArrayLike] | None = None,
        timeline: Timeline = False,
    ) -> FastResult:
        """Run as `Machine.run` does, with the same result and the same errors."""
        if self._solution is not None:
            try:
                result = _result(self.machine, self._solution, (memory, edges), timeline)
                return FastResult(result, self.certificate)
            except NotCovered as missing:
                found = self.machine.run(memory=memory, edges=edges, timeline=timeline)
                return FastResult(found, Certificate(False, missing.reason, 0, 0, 0))
        found = self.machine.run(memory=memory, edges=edges, timeline=timeline)
        return FastResult(found, self.certificate)


def run_fast(
    program: Program,
    profile: Profile,
    memory: Mapping[str, MemoryInput] | None = None,
    edges: Mapping[str, npt.ArrayLike] | None = None,
    timeline: Timeline = False,
) -> FastResult:
    """Run a program once, by the fast engine if it can vouch for the result.

    Raises ProgramError, MachineError and DeadlockError as `Machine` does.
    """
    machine = FastMachine(program, profile)
    return machine.run(memory=memory, edges=edges, timeline=timeline)


def _scripts(machine: Machine, *, every: bool) -> tuple[Script, ...]:
    store, parts = machine._compiled.code, machine._parts
    code = Code(store, parts)
    return tuple(
        ScriptWalker(code, parts, layout, every=every).walk() for layout in machine._layouts
    )


def _solve(machine: Machine) -> Solution:
    """Find all times and check them. Raises NotCovered."""
    subset.check_program(machine.program)
    network, store = machine._network, machine._compiled.code
    scripts = _scripts(machine, every=False)
    graph, layout = build_graph(machine.program, network, scripts)
    cycles = int(store[at.K_ISSUE]), int(store[at.K_COMPLETION])
    times = settled(graph, cycles)
    check_threads(layout, times, scripts)
    check_links(network, graph, layout, times)
    return Solution(network, machine._parts, graph, layout, scripts, times)


def _granted(solution: Solution) -> Certificate:
    times = solution.times
    return Certificate(
        True,
        "",
        int(times.pieces.size),
        int(times.header[X_EVALUATIONS]),
        int(times.pieces.max(initial=0)),
    )


def _result(
    machine: Machine,
    solution: Solution,
    given: tuple[Mapping[str, MemoryInput] | None, Mapping[str, npt.ArrayLike] | None],
    timeline: Timeline,
) -> RunResult:
    """Find the values and return the run's result. Raises NotCovered."""
    flow = _values(machine, solution, given)
    store = flow.store
    came = arrivals(solution)
    end = end_cycle(solution, int(store[at.K_EXECUTE]))
    cycles = max([end, *(int(times.max()) for times in came.values())])
    if cycles >= MAX_CYCLES:
        raise NotCovered("too many cycles")
    store[at.S_END] = end
    fill_store(solution, flow, came, cycles)
    store[at.S_EVENTS] = 0
    if timeline:
        rows = _timeline(machine, solution, store, timeline)
        store = np.concatenate([store, rows.ravel()])
        store[at.S_EVENTS] = rows.shape[0]
    outcome = Outcome(
        machine.program, machine._layouts, machine._network, store, flow.memory, machine._parts
    )
    return collect_result(outcome, machine._buffers)


def _timeline(machine: Machine, solution: Solution, store: at.Table, shown: Timeline) -> at.Table:
    """Return the timeline's rows of the elements shown; only their codes are walked again."""
    codes = machine.program.placement.ravel()
    chosen = elements_shown(machine.program, shown)
    code = Code(machine._compiled.code, machine._parts)
    scripts = {
        number: ScriptWalker(code, machine._parts, machine._layouts[number], every=True).walk()
        for number in sorted(set(codes[chosen].tolist()))
    }
    return events(solution, store, scripts, chosen)


def _values(
    machine: Machine,
    solution: Solution,
    given: tuple[Mapping[str, MemoryInput] | None, Mapping[str, npt.ArrayLike] | None],
) -> Flow:
    memory, edges = given
    store = machine._store.copy()
    load_features(store, machine._parts)
    tables = (solution.graph, solution.layout)
    flow = new_flow(store, machine._parts, machine._network, tables, solution.scripts)
    for name, values in (memory or {}).items():
        machine._buffers.load(flow.memory.view(np.uint16), name, values)
    machine._fill_edges(store, dict(edges or {}))
    fifo = machine._parts.fifo.view(store)
    ports = zip(machine.program.edge_inputs, machine._network.edge_inputs, strict=True)
    for port, fifos in ports:
        entries = fifo[fifos, at.F_RING][:, None] + 2 * np.arange(port.count)
        places = flow.stream[fifos, S_BASE][:, None] + np.arange(port.count)
        flow.data[places] = store[entries + 1].astype(np.uint32)
    with np.errstate(all="ignore"):
        run_values(flow)
    check_values(flow)
    return flow
