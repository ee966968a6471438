"""The candidates of one Einsum in the order of their bounds, and the best of those executed.

On a large grid the exact cycles of a candidate often follow from a small grid of the same pattern;
then only the best candidate runs on numbers.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from math import inf
from typing import Literal

from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.grid.grid_mapspace import GridChoice, GridFamily, GridMapspace
from tilewright.mapper.grid.predicted_counts import predict
from tilewright.mapper.grid.space_time import SpaceTime, space_time
from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.execution.action_counts import action_energies, leak_energies
from tilewright.simulator.execution.einsum_execution import (
    LARGE_GRID,
    EinsumExecution,
    ExecutionSettings,
    execute_einsum,
)
from tilewright.simulator.execution.quick_bound import QuickBound
from tilewright.simulator.isa.machine_errors import ProgramError
from tilewright.simulator.lowering.addresses import NOTHING_KEPT, LeftTensors
from tilewright.simulator.lowering.cycle_bound import lower_bound
from tilewright.simulator.lowering.plan import plan_of, program_of
from tilewright.simulator.quotient.pattern_cycles import pattern_cycles

GridObjective = Literal["latency", "energy", "edp"]


def objective_value(objective: GridObjective, latency: float, energy: float) -> float:
    """Return the value of a latency (s) and an energy (J)."""
    if objective == "latency":
        return latency
    return energy if objective == "energy" else energy * latency


@dataclass(frozen=True, slots=True)
class GridCertificate:
    """What a search on a grid has shown of its answer.

    `executed`: candidates that ran on the machine; `timed`: those whose exact cycles follow from a
    smaller grid, the best of which runs at the end; `excluded`: those whose bound is not below the
    best value; `infeasible`: those that the machine cannot hold or run, by reason in `reasons`.
    `bound`: no candidate of the mapspace has a smaller value. `is_optimal`: the bound is the value.
    """

    executed: int
    timed: int
    excluded: int
    infeasible: int
    reasons: tuple[tuple[str, int], ...]
    bound: float
    is_optimal: bool

    def __str__(self) -> str:
        kind = "optimal" if self.is_optimal else "best of those executed"
        timed = f"{self.timed:,} timed by their pattern, " if self.timed else ""
        return f"{kind}: {self.executed:,} executed, {timed}{self.excluded:,} excluded by the bound"


@dataclass(frozen=True, slots=True)
class Candidates:
    """All mappings of one Einsum that a search looks at, in families with their bounds.

    `flat`: path of components to the compute of the grid. `kept`: addresses of tensors that stay
    between Einsums. `families`: with the bound of the objective's value; `infeasible`: members of
    families that do not fit an element, by reason.
    """

    objective: GridObjective
    settings: ExecutionSettings
    flat: FlatArch
    space: GridMapspace
    kept: LeftTensors
    quick: QuickBound
    families: tuple[tuple[float, GridFamily], ...]
    infeasible: Counter[str]

    @staticmethod
    def of(
        objective: GridObjective,
        settings: ExecutionSettings,
        flat: FlatArch,
        space: GridMapspace,
        kept: LeftTensors = NOTHING_KEPT,
    ) -> Candidates:
        """Bound all families of a mapspace.

        Raises InfeasibleMapping if the constraints name no rank variable, or no shares obey them.
        """
        quick = QuickBound(space, flat, settings.profile(space.grid))
        families, infeasible = [], Counter[str]()
        result = Candidates(objective, settings, flat, space, kept, quick, (), infeasible)
        for family in space.families():
            try:
                cycles = quick.cycles(family)
            except InfeasibleMapping as error:
                infeasible[error.what] += len(space.members(family))
                continue
            families.append((result.value_of(cycles, quick.energy(family)), family))
        return replace(result, families=tuple(families))

    def value_of(self, cycles: float, energy: float) -> float:
        """Return the objective's value of cycles and of an energy (J), leakage added to it."""
        latency = cycles / self.quick.profile.clock_hz
        return objective_value(self.objective, latency, energy + self.quick.leak_power * latency)

    def read(self, choice: GridChoice) -> SpaceTime:
        """Return the reading of a choice's mapping."""
        space = self.space
        return space_time(self.flat, space.einsum, space.mapping_of(choice), space.staying)

    def bound(self, choice: GridChoice) -> float:
        """Return the bound of a choice's plan; raises InfeasibleMapping if it has none."""
        read, profile = self.read(choice), self.quick.profile
        plan = plan_of(read, profile.sram_reserved_bytes, self.kept)
        energy = 0.0
        if self.objective != "latency":
            energy = sum(action_energies(read, predict(read)).values())
        return self.value_of(lower_bound(plan, profile), energy)

    def execute(self, choice: GridChoice) -> EinsumExecution:
        """Execute a choice; raises InfeasibleMapping or ProgramError if the machine cannot."""
        return execute_einsum(self.read(choice), self.settings, kept=self.kept)

    def timed_value(self, choice: GridChoice) -> float | None:
        """Return the value of a choice on a large grid by its pattern, None if it is not known so.

        Raises InfeasibleMapping or ProgramError if the machine cannot run it.
        """
        read, profile = self.read(choice), self.quick.profile
        if read.rows * read.columns < LARGE_GRID:
            return None
        plan = plan_of(read, profile.sram_reserved_bytes, self.kept)
        cycles = pattern_cycles(program_of(plan), profile).cycles
        if cycles is None:
            return None
        latency = cycles / profile.clock_hz
        counted = {**action_energies(read, predict(read)), **leak_energies(read, latency)}
        return objective_value(self.objective, latency, float(sum(counted.values())))


@dataclass(frozen=True, slots=True, order=True)
class _Entry:
    """A family with a quick bound, or one choice with the bound of its plan."""

    bound: float
    order: tuple[int, int]
    family: GridFamily = field(compare=False)
    choice: GridChoice | None = field(default=None, compare=False)


class CandidateSearch:
    """A search of families, best first by the bound, that executes one candidate at each step.

    `choice`, `value`: the best candidate so far, None and inf before the first. `executed`:
    candidates that ran; `timed`: those whose cycles follow from a smaller grid; `left`: those that
    are neither of both nor infeasible; `reasons`: why others are infeasible.
    """

    def __init__(
        self, candidates: Candidates, families: Iterable[tuple[float, GridFamily]]
    ) -> None:
        self.candidates = candidates
        self.reasons: Counter[str] = Counter()
        self.executed = self.timed = 0
        self.choice: GridChoice | None = None
        self.value = inf
        self._execution: EinsumExecution | None = None
        self.heap = [_Entry(bound, (n, -1), family) for n, (bound, family) in enumerate(families)]
        self.left = sum(len(candidates.space.members(entry.family)) for entry in self.heap)
        heapq.heapify(self.heap)

    @property
    def looked_at(self) -> int:
        """Candidates whose exact value is known."""
        return self.executed + self.timed

    @property
    def has_run(self) -> bool:
        """Whether the best candidate ran on numbers, and was not only timed."""
        return self._execution is not None

    @property
    def best(self) -> EinsumExecution | None:
        """The execution of the best candidate, which runs now if it was only timed."""
        if self.choice is not None and self._execution is None:
            self._execution = self.candidates.execute(self.choice)
            self.executed += 1
            reached = self._value_of(self._execution)
            assert reached == self.value, (reached, self.value)
        return self._execution

    @property
    def mapping(self) -> Mapping:
        """The mapping of the best candidate; there must be one."""
        assert self.choice is not None
        return self.candidates.space.mapping_of(self.choice)

    @property
    def bound(self) -> float:
        """No candidate has a smaller value; inf if none can be built."""
        return min(self.value, self.heap[0].bound if self.heap else inf)

    @property
    def is_closed(self) -> bool:
        """Whether no candidate that is left may be better than the best."""
        return not self.heap or self.heap[0].bound >= self.value

    def start(self) -> bool:
        """Execute a candidate of the first family with one that runs, for a first answer at once.

        Return False if no candidate is left that runs.
        """
        while self.heap:
            entry = heapq.heappop(self.heap)
            entries = [entry] if entry.choice is not None else sorted(self._members(entry))
            while entries and self.value == inf:
                choice = entries.pop(0).choice
                if choice is not None:
                    self._execute(choice)
            for left in entries:
                heapq.heappush(self.heap, left)
            if self.value < inf:
                return True
        return False

    def step(self) -> bool:
        """Execute the candidate with the least bound; return False if none is left to execute.

        Families with less than its bound are replaced by their choices first.
        """
        while not self.is_closed:
            entry = heapq.heappop(self.heap)
            if entry.choice is None:
                self._expand(entry)
            elif self._execute(entry.choice):
                return True
        return False

    def _execute(self, choice: GridChoice) -> bool:
        """Find the exact value of a choice; return False if the machine cannot run it."""
        self.left -= 1
        run = None
        try:
            reached = self.candidates.timed_value(choice)
            if reached is None:
                run = self.candidates.execute(choice)
                reached = self._value_of(run)
        except (InfeasibleMapping, ProgramError) as error:
            self.reasons[error.what] += 1
            return False
        self.timed += run is None
        self.executed += run is not None
        if reached < self.value:
            self.choice, self.value, self._execution = choice, reached, run
        return True

    def _value_of(self, run: EinsumExecution) -> float:
        return objective_value(self.candidates.objective, run.latency, run.energy)

    def _expand(self, entry: _Entry) -> None:
        """Put the choices of a family with the bounds of their plans in its place."""
        for member in self._members(entry):
            heapq.heappush(self.heap, member)

    def _members(self, entry: _Entry) -> Iterator[_Entry]:
        """Yield the choices of a family with the bounds of their plans; count those without one."""
        for number, choice in enumerate(self.candidates.space.members(entry.family)):
            try:
                bound = self.candidates.bound(choice)
            except (InfeasibleMapping, ProgramError) as error:
                self.reasons[error.what] += 1
                self.left -= 1
                continue
            order = entry.order[0], number
            yield _Entry(bound, order, entry.family, choice)

    def certificate(self) -> GridCertificate:
        """Return what the search has shown so far."""
        reasons = self.reasons + self.candidates.infeasible
        return GridCertificate(
            executed=self.executed,
            timed=self.timed,
            excluded=self.left,
            infeasible=sum(reasons.values()),
            reasons=tuple(reasons.most_common(5)),
            bound=self.bound,
            is_optimal=self.is_closed and self.choice is not None,
        )
