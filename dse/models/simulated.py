"""The simulated model: each Einsum's mapping is searched with the machine in the loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

from tilewright.arch.errors import TilewrightError
from tilewright.dse.models.evaluator import DETAILED, FIDELITY, Outcome, is_check
from tilewright.dse.models.inputs import architecture, knobs, mapping_choices, workload
from tilewright.dse.report.details import MAX_LANES
from tilewright.dse.report.execution_details import by_component, execution_sections
from tilewright.dse.store.known_executions import ExecutionQuestion, KnownExecution, known_execution
from tilewright.dse.study.design_space import Point
from tilewright.dse.study.study import StudyInput
from tilewright.mapper.searches.shared.hit_counts import EXECUTIONS as EXECUTED
from tilewright.mapper.searches.shared.hit_counts import KEEPING
from tilewright.mapper.workload.errors import InfeasibleMapping

if TYPE_CHECKING:
    from tilewright.arch.compiled import Kernel
    from tilewright.arch.spec.architecture import Arch
    from tilewright.mapper.workload.workload import Workload
    from tilewright.simulator.search.grid_mapping import GridMapping, GridRequest

EXECUTIONS = 4
"""Candidates of each Einsum that a design executes; the certificate says what is left."""
_ROUNDING = 1e-9  # relative: bounds and executions add up the same numbers in another order


@dataclass(frozen=True, slots=True)
class SimulatedEvaluator:
    """The simulated model of a study: the best mappings of a design, found by executing them.

    The `mapping.` knobs are constraints on the mapspace of each Einsum (GridConstraints); the
    search executes the candidates with the least lower bounds. The Einsums run one after the other,
    on each other's results. `arch`, `workload`: input files; `machine`: name or path of the machine
    profile; `shown_elements`: how many elements the timeline shows, None for all. Metrics: cycles,
    latency (s), energy (J), edp, hops are sums over the Einsums; sram_bits is the largest need;
    utilization is points of the iteration space per element and cycle; elements is the size of the
    grid.
    """

    arch: StudyInput
    workload: StudyInput
    machine: str
    shown_elements: int | None = MAX_LANES

    @property
    def leaves_out_details(self) -> bool:
        """Whether a design whose execution is known has details only when asked for."""
        return True

    @property
    def has_check(self) -> bool:
        """Whether a design may be found too large for the elements before it is searched."""
        return True

    def kernels(self) -> Sequence[Kernel]:
        """Return the compiled functions that a design may call."""
        from tilewright.simulator.search.search_kernels import search_kernels

        return search_kernels()

    def evaluate(self, point: Point) -> Outcome:
        """Search and execute one design; return its metrics and report details.

        `point`: value of each knob by path. A design whose execution is known from another one is
        not searched, and has no details unless asked for. Raises InfeasibleMapping or another
        TilewrightError with the reason if the design cannot be built; LoweringDefect if our program
        is wrong.
        """
        if is_check(point):
            self.check({name: value for name, value in point.items() if name != FIDELITY})
            return Outcome()
        if FIDELITY in point:
            return Outcome(self.bounds(point))
        design = {name: value for name, value in point.items() if name != DETAILED}
        question = self._question(design)
        execution = question.find()
        if DETAILED in point and execution is not None and execution.infeasible is None:
            return _outcome(
                execution, execution_sections(question.execute(execution), execution.certificate)
            )
        EXECUTED.asked += 1
        EXECUTED.shared += execution is not None
        return self._searched(design, question) if execution is None else _outcome(execution)

    def _searched(self, point: Point, question: ExecutionQuestion) -> Outcome:
        """Search and execute one design, and answer the question of others by the result."""
        try:
            mapped = self.run(point)
        except TilewrightError as error:
            question.keep_error(error)
            raise
        sections = execution_sections(mapped.execution, str(mapped.certificate))
        execution = known_execution(mapped, [section["time_by"] for section in sections])
        question.keep(execution)
        return _outcome(execution, sections)

    def _question(self, point: Point) -> ExecutionQuestion:
        """Return what one design asks of the machine."""
        arch, work = architecture(self.arch, point), workload(self.workload, point)
        return ExecutionQuestion(arch, work, self._request(point, work))

    def run(self, point: Point) -> GridMapping:
        """Return the best mappings of one design and their execution.

        Raises a TilewrightError if a design has none; LoweringDefect if a program fails or computes
        something else than numpy.
        """
        from tilewright.simulator.execution.drawn_operands import WrongResult
        from tilewright.simulator.isa.machine_errors import MachineError, ProgramError
        from tilewright.simulator.search.grid_mapping import map_on_grid

        arch, work = architecture(self.arch, point), workload(self.workload, point)
        try:
            return map_on_grid(arch, work, self._request(point, work))
        except ProgramError:
            raise
        except (MachineError, WrongResult) as error:
            raise LoweringDefect(str(error)) from error

    def check(self, point: Point) -> None:
        """Raise NoFeasibleMapping if no mapping of one design fits the memory of its elements.

        Other errors as of `run`; without an error it may still have no mapping.
        """
        from tilewright.simulator.search.memory_check import check_memory

        arch, work = architecture(self.arch, point), workload(self.workload, point)
        check_memory(arch, work, self._request(point, work))

    def bounds(self, point: Point) -> dict[str, float]:
        """Return lower bounds of the metrics of one design, before anything is executed.

        Cycles, latency (s), energy (J) and edp (J s) that no mapping goes below, and the number of
        elements; 0 where no mapping fits. Errors as of `run`.
        """
        arch, work = architecture(self.arch, point), workload(self.workload, point)
        make = partial(_bounds, arch, work, self._request(point, work))
        return self._question(point).bounds(make)

    def _request(self, point: Point, work: Workload) -> GridRequest:
        """Return what is asked of the search for one design."""
        from tilewright.mapper.grid.grid_constraints import GridConstraints
        from tilewright.simulator.execution.einsum_execution import ExecutionSettings
        from tilewright.simulator.known.content_store import NOTHING_KEPT, known_answers
        from tilewright.simulator.search.grid_mapping import GridRequest

        overrides = knobs(point, "machine.")
        _check_times(self.machine, overrides)
        settings = ExecutionSettings(
            machine=self.machine,
            overrides=overrides,
            shown_elements=self.shown_elements,
            known=known_answers() if KEEPING.enabled and KEEPING.answers else NOTHING_KEPT,
        )
        constraints = {
            einsum.name: GridConstraints.of(mapping_choices(point, einsum.name))
            for einsum in work.einsums
        }
        return GridRequest(settings=settings, constraints=constraints, most_executions=EXECUTIONS)


def _check_times(machine: str, overrides: Mapping[str, object]) -> None:
    """Raise InfeasibleMapping for a machine that runs no program: else each mapping is tried."""
    from tilewright.simulator.profiles.profile import load_profile

    profile = load_profile(machine).with_values(overrides)
    if profile.dispatch_to_link_cycles <= profile.hop_cycles:
        raise InfeasibleMapping(
            "dispatch_to_link_cycles must exceed hop_cycles: the hop is a part of them",
            value=(profile.dispatch_to_link_cycles, profile.hop_cycles),
        )


class LoweringDefect(RuntimeError):  # noqa: N818 (says what it is)
    """A generated program does not run, or computes a wrong result.

    It is a defect of Tilewright, not of the design, so the trial gets the status error.
    """


def _bounds(arch: Arch, work: Workload, request: GridRequest) -> dict[str, float]:
    """Return the least sums over the Einsums of the bounds of their families of mappings."""
    from tilewright.simulator.search.grid_mapping import cascade_of

    cascade = cascade_of(arch, work, request)
    latency = cascade.least_bound
    if latency == inf:
        return dict.fromkeys(("cycles", "latency", "energy", "edp", "elements"), 0.0)
    candidates = cascade.options[0][0].candidates
    quick, grid, joules = candidates.quick, candidates.space.grid, cascade.least_energy
    latency *= 1 - _ROUNDING
    energy = (joules + quick.leak_power * latency) * (1 - _ROUNDING)
    return {
        "cycles": latency * quick.profile.clock_hz,
        "latency": latency,
        "energy": energy,
        "edp": energy * latency,
        "elements": float(grid.columns * grid.rows),
    }


def total_metrics(mapped: GridMapping) -> dict[str, float]:
    """Return the metrics of a workload whose Einsums run one after the other.

    Sums of cycles, latency (s), energy (J) and hops; edp (J s) of the sums; the largest sram_bits
    (per element); utilization weighted by cycles; number of elements of the grid.
    """
    return _metrics(known_execution(mapped))


def _metrics(execution: KnownExecution) -> dict[str, float]:
    runs = execution.runs
    cycles = float(sum(run.cycles for run in runs))
    latency, energy = sum(run.latency for run in runs), sum(run.energy for run in runs)
    return {
        "cycles": cycles,
        "latency": latency,
        "energy": energy,
        "hops": float(sum(run.hops for run in runs)),
        "edp": energy * latency,
        "sram_bits": float(max(run.sram_bits for run in runs)),
        "utilization": sum(run.utilization * run.cycles for run in runs) / cycles,
        "elements": float(execution.elements),
    }


def _outcome(execution: KnownExecution, sections: list[dict[str, Any]] | None = None) -> Outcome:
    """Return the outcome of a design from what is known of its execution."""
    if execution.infeasible is not None:
        return Outcome(reason=execution.infeasible, status="infeasible")
    return Outcome(
        _metrics(execution),
        details={} if sections is None else {"sections": sections},
        proof="optimal" if execution.is_optimal else "bounded",
        gap=execution.gap,
        breakdown=_breakdown(execution),
    )


def _breakdown(execution: KnownExecution) -> dict[str, dict[str, float]]:
    """Return energy (J) by component and cycles of an element by state, over the Einsums."""
    energy: dict[str, float] = {}
    cycles: dict[str, float] = {}
    for run in execution.runs:
        by = {"exchanges": run.cycles} if run.cycles_by is None else run.cycles_by
        for into, shares in ((energy, by_component(run.energy_by or {})), (cycles, by)):
            for name, value in shares.items():
                into[name] = into.get(name, 0.0) + float(value)
    return {"energy": energy, "cycles": cycles}
