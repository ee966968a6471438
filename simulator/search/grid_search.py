"""Search for the best mapping on a grid with the machine in the loop, best first by a lower bound.

Every candidate's bound holds for any execution of it; candidates are executed in the order of their
bounds until no bound is below the best executed value, which is then the optimum of the mapspace
(theory/grid.md §7).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.grid.grid import check_host, grid_of
from tilewright.mapper.grid.grid_constraints import NO_CONSTRAINTS, GridConstraints
from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.searches.budget import Budget
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import NoFeasibleMapping, Refusal, RefusalKind
from tilewright.simulator.execution.einsum_execution import EinsumExecution, ExecutionSettings
from tilewright.simulator.search.candidate_search import CandidateSearch
from tilewright.simulator.search.candidates.candidate_runs import budget_of_runs
from tilewright.simulator.search.candidates.candidates import Candidates
from tilewright.simulator.search.grid_certificate import GridCertificate, GridObjective, NotExecuted


@dataclass(frozen=True, slots=True)
class GridSearchResult:
    """The best mapping of a search on a grid.

    `execution`: of the mapping, on data; `value`: of the objective; `certificate`: what the search
    has shown; `seconds`: that it took.
    """

    execution: EinsumExecution
    value: float
    certificate: GridCertificate
    seconds: float

    @property
    def gap(self) -> float:
        """How far the value may be above the optimum: value / bound - 1; inf for a bound of 0."""
        return self.certificate.gap(self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class GridSearch:
    """A search for the best mapping of one Einsum on the grid of an architecture.

    `objective`: latency, energy, or edp, of the execution. `settings`: machine and operands.
    `constraints`: on the mapspace. `most_executions` (candidates executed, or timed by their
    pattern), `budget_s` (seconds): limits; None for none. `on_progress`: called with (candidates,
    best value, bound) after each.
    """

    objective: GridObjective = "latency"
    settings: ExecutionSettings = field(default_factory=ExecutionSettings)
    constraints: GridConstraints = NO_CONSTRAINTS
    most_executions: int | None = None
    budget_s: float | None = None
    on_progress: Callable[[int, float, float], None] | None = None

    def run(self, flat: FlatArch, einsum: Einsum) -> GridSearchResult:
        """Return the best mapping of an Einsum on the grid, with its execution and certificate.

        flat: path of components to the compute of the grid. Raises NoFeasibleMapping, with the most
        frequent reasons, if no candidate fits the machine; NotExecuted if runs take too long.
        """
        start, budget = time.perf_counter(), budget_of_runs(self.budget_s)
        check_host(flat)
        space = GridMapspace(grid_of(flat), einsum, self.constraints)
        candidates = Candidates.of(self.objective, self.settings, flat, space)
        search = CandidateSearch(candidates, candidates.families)
        try:
            self._look(search, budget)
            if search.is_closed and search.widen(budget):
                self._look(search, budget)
        finally:  # an interrupt waits for no run
            search.runs.end()
            candidates.known.save()
        best = search.run_best()
        if best is None and (search.is_too_long or search.long.entries):
            raise NotExecuted(
                "runs of the mappings on so many elements take too long",
                value=f"{space.grid.columns} x {space.grid.rows} elements",
                instead="map_on_grid, whose answer has bounds of the cycles, or a smaller grid",
            )
        if best is None:
            raise no_mapping(einsum, search.reasons + candidates.infeasible)
        certificate = search.certificate()
        seconds = time.perf_counter() - start
        return GridSearchResult(best, search.value, certificate, seconds)

    def _look(self, search: CandidateSearch, budget: Budget) -> None:
        """Look at candidates until none is left that may be better, or a limit is reached."""
        advance = search.start  # the first candidate is no better than others, but at once there
        while not self._is_over(search.looked_at, budget) and advance():
            advance = search.step
            search.runs.budget = budget
            if self.on_progress is not None:
                self.on_progress(search.looked_at, search.value, search.bound)

    def _is_over(self, looked_at: int, budget: Budget) -> bool:
        """Return whether a limit is reached; the first candidate is looked at in any case."""
        if not looked_at:
            return False
        if self.most_executions is not None and looked_at >= self.most_executions:
            return True
        return budget.is_late


_WAYS_OUT = {
    RefusalKind.MEMORY: "more elements or smaller sizes",
    RefusalKind.RULE: "other rules in the architecture (docs/files.md)",
    RefusalKind.INSTRUCTION: "another formula, or another number type (integers, bits_per_value)",
}
"""What to write instead."""


def no_mapping(einsum: Einsum, reasons: Counter[Refusal]) -> NoFeasibleMapping:
    """Return the error for an Einsum without a mapping that fits, with the frequent reasons."""
    shown = "; ".join(
        f"{number:,} cannot be built: {refusal.what}" for refusal, number in reasons.most_common(3)
    )
    kinds = {refusal.kind for refusal in reasons}
    ways = [way for kind, way in _WAYS_OUT.items() if kind in kinds]
    if kinds != {RefusalKind.INSTRUCTION}:  # which is missing whatever the constraints
        ways.append("fewer constraints")
    return NoFeasibleMapping(
        f"no mapping of {einsum.name} fits the grid; {shown}", instead=", or ".join(ways)
    )
