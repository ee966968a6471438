"""What a mapping of a workload costs on a grid without a run: counts, energy, bounds of cycles."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping as Dict
from dataclasses import dataclass

import numpy as np

from tilewright.arch.spec.architecture import Arch
from tilewright.mapper.grid.pipelines.einsum_groups import EinsumGroup
from tilewright.mapper.grid.predicted_counts import predict
from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.model.evaluation import check_mapping
from tilewright.mapper.workload.workload import Workload
from tilewright.simulator.exchanges.exchange_execution import ExchangePrice, price_exchange
from tilewright.simulator.execution.action_counts import run_energies
from tilewright.simulator.execution.einsum_execution import ExecutionSettings
from tilewright.simulator.execution.mapped_workload import MappedWorkload, mapped_workload
from tilewright.simulator.execution.pipeline_execution import counts_together, pipeline_energies
from tilewright.simulator.lowering.lower_bound.cycle_bound import lower_bound
from tilewright.simulator.lowering.pipelines.pipeline_bound import pipeline_bound
from tilewright.simulator.lowering.pipelines.pipeline_plan import PipelinePlan, pipeline_plan
from tilewright.simulator.lowering.plan import Plan, plan_of
from tilewright.simulator.lowering.upper_bound.most_cycles import most_cycles
from tilewright.simulator.profiles.profile import Profile


@dataclass(frozen=True, slots=True)
class ProgramPrediction:
    """What one program of a mapping costs: an Einsum, a pipeline of Einsums, or an exchange.

    `name`: of the Einsums, or the tensor and the Einsum that needs it. `lower_bound_cycles`: no run
    goes below; `cycles_at_most`: no run goes above, None where no such number is known
    (theory/grid.md §12). `counts`: numbers of actions by `name/component/tensor/action`, exact.
    `energy_by`: joules of the actions, exact, and of the leakage in the cycles of the lower bound.
    `sram_bits`: of the tiles in an element, 0 for an exchange.
    """

    name: str
    lower_bound_cycles: int
    counts: Dict[str, int]
    energy_by: Dict[str, float]
    sram_bits: int = 0
    cycles_at_most: int | None = None

    @property
    def energy(self) -> float:
        """Joules, with the leakage in the cycles of the lower bound."""
        return float(sum(self.energy_by.values()))


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a mapping of a workload costs on a machine at least, by program, in their order.

    `machine`: name of the profile; `clock_hz`: its clock.
    """

    programs: tuple[ProgramPrediction, ...]
    machine: str
    clock_hz: float

    @property
    def lower_bound_cycles(self) -> int:
        """Cycles that no execution of the mapping goes below."""
        return sum(program.lower_bound_cycles for program in self.programs)

    @property
    def cycles_at_most(self) -> int | None:
        """Cycles that no execution of the mapping goes above; None where none are known."""
        most = [program.cycles_at_most for program in self.programs]
        return None if None in most else sum(filter(None, most))

    @property
    def latency(self) -> float:
        """Seconds of the cycles of the lower bound."""
        return self.lower_bound_cycles / self.clock_hz

    @property
    def energy(self) -> float:
        """Joules of all actions, exact, and of the leakage in the cycles of the lower bound."""
        return sum(program.energy for program in self.programs)

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of actions by `name/component/tensor/action`, those of each execution."""
        return {key: n for program in self.programs for key, n in program.counts.items()}


def predict_execution(
    arch: Arch, workload: Workload, mapping: Mapping, settings: ExecutionSettings | None = None
) -> Prediction:
    """Return what an execution of a mapping counts, and the least that it takes, without a run.

    Counts and the energy of actions are those of `execute`; cycles are a lower bound
    (theory/grid.md §6). Raises MappingError if it is no mapping of this workload and architecture;
    InfeasibleMapping, with the reason, if it is not on the grid or does not fit.
    """
    settings = settings or ExecutionSettings()
    check_mapping(arch, workload, mapping)
    mapped = mapped_workload(arch, workload, mapping, settings, price_exchange)
    profile = settings.profile(next(iter(mapped.reads.values())).grid)
    programs: list[ProgramPrediction] = []
    for group in mapped.groups:
        programs += _of_group(group, mapped, profile)
    return Prediction(tuple(programs), profile.name, float(profile.clock_hz))


def _of_group(
    group: EinsumGroup, mapped: MappedWorkload[ExchangePrice], profile: Profile
) -> Iterator[ProgramPrediction]:
    """Yield the programs of a group of Einsums, the exchanges before it first."""
    reads = [mapped.reads[name] for name in group.mappings]
    ready = mapped.exchange.ready_for(*reads)
    for done in ready.exchanges:
        yield ProgramPrediction(done.name, done.lower_bound_cycles, done.counts, done.energy_by)
    if group.is_pipeline:
        pipeline = pipeline_plan(
            group, reads, profile.sram_reserved_bytes, ready.kept, profile.border_channels
        )
        yield _of_pipeline(pipeline, profile)
        plans, passed = pipeline.plans, pipeline.passed
    else:
        plan = plan_of(reads[0], profile.sram_reserved_bytes, ready.kept, profile.border_channels)
        yield _of_einsum(plan, profile)
        plans, passed = (plan,), frozenset()
    for plan in plans:
        _leave(mapped, plan, passed)


def _of_pipeline(plan: PipelinePlan, profile: Profile) -> ProgramPrediction:
    cycles = pipeline_bound(plan, profile) * plan.instances
    counts = [predict(part.read) for part in plan.plans]
    energies = pipeline_energies(plan, counts, cycles / profile.clock_hz)
    return ProgramPrediction(
        plan.name, cycles, counts_together(plan, counts), energies, plan.words * 16
    )


def _of_einsum(plan: Plan, profile: Profile) -> ProgramPrediction:
    read = plan.read
    cycles = lower_bound(plan, profile) * read.einsum.n_instances
    counts = predict(read)
    energies = run_energies(read, counts, cycles / profile.clock_hz)
    bits, most = plan.addresses.words * 16, most_cycles(plan, profile)
    most = None if most is None else most * read.einsum.n_instances
    return ProgramPrediction(read.einsum.name, cycles, counts, energies, bits, most)


def _leave(mapped: MappedWorkload[ExchangePrice], plan: Plan, passed: frozenset[str]) -> None:
    """Note that the result of an Einsum is in the elements, unless a pipeline passed it on."""
    name = plan.read.output.name
    nothing = np.zeros((plan.read.rows, plan.read.columns, 1, 0))
    mapped.exchange.finish(plan, {} if name in passed else {name: nothing})
