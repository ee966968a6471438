"""Search for the best mapping on a grid with the machine in the loop, best first by a lower bound.

Every candidate's bound holds for any execution of it; candidates are executed in the order of their
bounds until no bound is below the best executed value, which is then the optimum of the mapspace
(theory/grid.md §7).
"""

from __future__ import annotations

import heapq
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.grid_constraints import NO_CONSTRAINTS, GridConstraints
from tilewright.mapper.grid.grid_mapspace import GridChoice, GridFamily, GridMapspace
from tilewright.mapper.grid.predicted_counts import predict
from tilewright.mapper.grid.space_time import SpaceTime, space_time
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import InfeasibleMapping, NoFeasibleMapping
from tilewright.simulator.execution.action_counts import action_energies
from tilewright.simulator.execution.einsum_execution import (
    EinsumExecution,
    ExecutionSettings,
    execute_einsum,
)
from tilewright.simulator.execution.quick_bound import QuickBound
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.lowering.cycle_bound import lower_bound
from tilewright.simulator.lowering.plan import plan_of

GridObjective = Literal["latency", "energy", "edp"]


@dataclass(frozen=True, slots=True)
class GridCertificate:
    """What a search on a grid has shown of its answer.

    `executed`: candidates that ran on the machine; `excluded`: those whose bound is not below the
    best value; `infeasible`: those that the machine cannot hold or run, by reason in `reasons`.
    `bound`: no candidate of the mapspace has a smaller value. `is_optimal`: the bound is the value.
    """

    executed: int
    excluded: int
    infeasible: int
    reasons: tuple[tuple[str, int], ...]
    bound: float
    is_optimal: bool

    def __str__(self) -> str:
        kind = "optimal" if self.is_optimal else "best of those executed"
        return f"{kind}: {self.executed} executed, {self.excluded:,} excluded by the bound"


@dataclass(frozen=True, slots=True)
class GridSearchResult:
    """The best mapping of a search on a grid: its execution, its value, and the certificate."""

    execution: EinsumExecution
    value: float
    certificate: GridCertificate
    seconds: float

    @property
    def gap(self) -> float:
        """How far the value may be above the optimum, as a share of the value; 0 if optimal."""
        return (self.value - self.certificate.bound) / self.value if self.value else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GridSearch:
    """A search for one Einsum on the grid of an architecture.

    `objective`: latency (cycles), energy, or edp, of the execution. `settings`: machine and
    operands. `most_executions`, `budget_s`: limits; None for none. `on_progress`: called with
    (executed, best value, bound) after each execution.
    """

    objective: GridObjective = "latency"
    settings: ExecutionSettings = field(default_factory=ExecutionSettings)
    constraints: GridConstraints = NO_CONSTRAINTS
    most_executions: int | None = None
    budget_s: float | None = None
    on_progress: Callable[[int, float, float], None] | None = None

    def run(self, flat: FlatArch, einsum: Einsum) -> GridSearchResult:
        """Return the best mapping.

        Raises NoFeasibleMapping, with the most frequent reasons, if no candidate fits the machine.
        """
        start = time.perf_counter()
        candidates = _Candidates(self, flat, einsum)
        best: EinsumExecution | None = None
        value, executed = float("inf"), 0
        while (entry := candidates.least()) is not None and entry.bound < value:
            if best is not None and self._is_over(executed, start):
                break
            choice = candidates.take().choice
            assert choice is not None
            execution = candidates.execute(choice)
            if execution is None:
                continue
            executed += 1
            reached = self.value(execution.latency, execution.energy)
            if reached < value:
                best, value = execution, reached
            if self.on_progress is not None:
                self.on_progress(executed, value, min(value, entry.bound))
        if best is None:
            raise _no_mapping(einsum, candidates.reasons)
        bound = min(value, entry.bound) if entry is not None else value
        certificate = GridCertificate(
            executed=executed,
            excluded=candidates.left,
            infeasible=sum(candidates.reasons.values()),
            reasons=tuple(candidates.reasons.most_common(5)),
            bound=bound,
            is_optimal=bound >= value,
        )
        return GridSearchResult(best, value, certificate, time.perf_counter() - start)

    def _is_over(self, executed: int, start: float) -> bool:
        if self.most_executions is not None and executed >= self.most_executions:
            return True
        return self.budget_s is not None and time.perf_counter() - start >= self.budget_s

    def value(self, latency: float, energy: float) -> float:
        """Return the objective's value of a latency (s) and an energy (J)."""
        if self.objective == "latency":
            return latency
        return energy if self.objective == "energy" else energy * latency


@dataclass(frozen=True, slots=True, order=True)
class _Entry:
    """A family with a quick bound, or one choice with the bound of its plan."""

    bound: float
    order: tuple[int, int]
    family: GridFamily = field(compare=False)
    choice: GridChoice | None = field(default=None, compare=False)


class _Candidates:
    """All candidates of a search by bound, and why others are none."""

    def __init__(self, search: GridSearch, flat: FlatArch, einsum: Einsum) -> None:
        self.search, self.flat = search, flat
        self.space = GridMapspace(grid_of(flat), einsum, search.constraints)
        self.profile = search.settings.profile(self.space.grid)
        self.quick = QuickBound(self.space, flat, self.profile)
        self.reasons: Counter[str] = Counter()
        self.heap: list[_Entry] = []
        self.left = 0
        for number, family in enumerate(self.space.families()):
            try:
                bound = self._objective(self.quick.cycles(family), self.quick.energy(family))
            except InfeasibleMapping as error:
                self.reasons[error.what] += len(self.space.members(family))
                continue
            self.left += len(self.space.members(family))
            self.heap.append(_Entry(bound, (number, -1), family))
        heapq.heapify(self.heap)

    def _objective(self, cycles: float, energy: float) -> float:
        latency = cycles / self.profile.clock_hz
        return self.search.value(latency, energy + self.quick.leak_power * latency)

    def least(self) -> _Entry | None:
        """Return the choice with the least bound of all that are left, None if there is none."""
        while self.heap and self.heap[0].choice is None:
            self._expand(heapq.heappop(self.heap))
        return self.heap[0] if self.heap else None

    def take(self) -> _Entry:
        """Remove the entry that `least` has returned."""
        self.left -= 1
        return heapq.heappop(self.heap)

    def _expand(self, entry: _Entry) -> None:
        """Put the choices of a family with the bounds of their plans in its place."""
        for number, choice in enumerate(self.space.members(entry.family)):
            try:
                read = self._read(choice)
                plan = plan_of(read, self.profile.sram_reserved_bytes)
                cycles = lower_bound(plan, self.profile)
            except (InfeasibleMapping, ProgramError) as error:
                self.reasons[error.what] += 1
                self.left -= 1
                continue
            bound = self._objective(cycles, self._energy(read))
            order = entry.order[0], number
            heapq.heappush(self.heap, _Entry(bound, order, entry.family, choice))

    def _energy(self, read: SpaceTime) -> float:
        if self.search.objective == "latency":
            return 0.0
        return sum(action_energies(read, predict(read)).values())

    def _read(self, choice: GridChoice) -> SpaceTime:
        return space_time(self.flat, self.space.einsum, self.space.mapping_of(choice))

    def execute(self, choice: GridChoice) -> EinsumExecution | None:
        """Execute a candidate; None, with the reason noted, if the machine cannot run it."""
        try:
            return execute_einsum(self._read(choice), self.search.settings)
        except (InfeasibleMapping, ProgramError) as error:
            self.reasons[error.what] += 1
            return None


def _no_mapping(einsum: Einsum, reasons: Counter[str]) -> NoFeasibleMapping:
    shown = "; ".join(f"{number} x {reason}" for reason, number in reasons.most_common(3))
    return NoFeasibleMapping(
        f"no mapping of {einsum.name} fits the grid: {shown}",
        instead="more elements, smaller sizes, or fewer constraints",
    )
