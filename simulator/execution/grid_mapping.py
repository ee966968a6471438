"""The best mapping of a workload on a grid, found with the machine in the loop."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping as Dict
from dataclasses import dataclass, field

from tilewright.arch.spec.architecture import Arch
from tilewright.mapper.grid.grid_constraints import NO_CONSTRAINTS, GridConstraints
from tilewright.mapper.mapping.mapping import Mapping, Sequential
from tilewright.mapper.workload.workload import Workload
from tilewright.simulator.execution.einsum_execution import ExecutionSettings
from tilewright.simulator.execution.execution import Execution, execute, grid_path
from tilewright.simulator.execution.grid_search import (
    GridObjective,
    GridSearch,
    GridSearchResult,
)

Progress = Callable[[str, int, float, float], None]


@dataclass(frozen=True, slots=True)
class GridMapping:
    """The best mapping of each Einsum of a workload, and their execution as one.

    `results`: by Einsum, the answer of its search with the certificate. `mapping`: of the whole
    workload, a branch for each Einsum. `execution`: of that mapping, results passed on.
    """

    results: Dict[str, GridSearchResult]
    mapping: Mapping
    execution: Execution

    @property
    def is_optimal(self) -> bool:
        """Whether every Einsum's mapping is the best of its mapspace.

        Latencies and energies of Einsums that run one after the other add up, so the whole is, too.
        """
        return all(result.certificate.is_optimal for result in self.results.values())

    @property
    def executed(self) -> int:
        """Candidates that ran on the machine."""
        return sum(result.certificate.executed for result in self.results.values())

    @property
    def excluded(self) -> int:
        """Candidates that the bound excluded."""
        return sum(result.certificate.excluded for result in self.results.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class GridRequest:
    """What is asked of a search of a workload on a grid.

    `objective`: latency, energy, or edp (of each Einsum). `settings`: machine and operands.
    `constraints`: by Einsum. `most_executions`, `budget_s`: limits for each Einsum.
    """

    objective: GridObjective = "latency"
    settings: ExecutionSettings = field(default_factory=ExecutionSettings)
    constraints: Dict[str, GridConstraints] = field(default_factory=dict)
    most_executions: int | None = None
    budget_s: float | None = None


def map_on_grid(
    arch: Arch,
    workload: Workload,
    request: GridRequest | None = None,
    on_progress: Progress | None = None,
) -> GridMapping:
    """Return the best mapping of every Einsum of a workload on the grid of an architecture.

    `on_progress`: called with (Einsum, executed, best value, bound) after each execution. Raises
    NoFeasibleMapping, with the reasons, if an Einsum fits no element.
    """
    request = request or GridRequest()
    results: dict[str, GridSearchResult] = {}
    for einsum in workload.einsums:
        search = GridSearch(
            objective=request.objective,
            settings=request.settings,
            constraints=request.constraints.get(einsum.name, NO_CONSTRAINTS),
            most_executions=request.most_executions,
            budget_s=request.budget_s,
            on_progress=_named(on_progress, einsum.name),
        )
        results[einsum.name] = search.run(grid_path(arch, workload, einsum), einsum)
    mapping = _joined([result.execution.plan.read.mapping for result in results.values()])
    execution = execute(arch, workload, mapping, settings=request.settings)
    return GridMapping(results, mapping, execution)


def _joined(mappings: list[Mapping]) -> Mapping:
    """Return one mapping whose branches are those of single Einsums."""
    if len(mappings) == 1:
        return mappings[0]
    return Mapping((Sequential(tuple(mapping.nodes for mapping in mappings)),))


def _named(on_progress: Progress | None, einsum: str) -> Callable[[int, float, float], None] | None:
    if on_progress is None:
        return None
    return lambda executed, value, bound: on_progress(einsum, executed, value, bound)
