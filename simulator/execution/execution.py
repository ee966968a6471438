"""A workload executed on a grid: every Einsum's mapping run on numbers, results passed on."""

from __future__ import annotations

from collections.abc import Mapping as Dict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from tilewright.arch.errors import TilewrightError
from tilewright.arch.html_parts import html_table
from tilewright.arch.names import did_you_mean
from tilewright.arch.quantities import quantity
from tilewright.arch.spec.architecture import Arch
from tilewright.mapper.grid.pipelines.einsum_groups import EinsumGroup
from tilewright.mapper.grid.space_time import SpaceTime
from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.model.evaluation import check_mapping
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.workload import Workload
from tilewright.simulator.exchanges.exchange_execution import ExchangeExecution, execute_exchange
from tilewright.simulator.execution.drawn_operands import (
    AnyArray,
    operand_shape,
    with_zeros,
    workload_operands,
)
from tilewright.simulator.execution.einsum_execution import (
    EinsumExecution,
    ExecutionSettings,
    execute_einsum,
)
from tilewright.simulator.execution.exchange import Exchange, ReadyMemories
from tilewright.simulator.execution.mapped_workload import mapped_workload
from tilewright.simulator.execution.pipeline_execution import PipelineExecution, execute_pipeline
from tilewright.simulator.execution.values.compared_chain import compared_chain, in_turn, read_by
from tilewright.simulator.execution.values.einsum_data import Comparison
from tilewright.simulator.lowering.number_operations import NUMPY
from tilewright.simulator.lowering.plan import Plan

_Ready = ReadyMemories[ExchangeExecution]
_HEAD = ("", "cycles", "at least", "latency", "energy")


def _row(
    name: str, run: EinsumExecution | PipelineExecution | ExchangeExecution | Execution
) -> tuple[str, ...]:
    cycles = (f"{run.cycles:,}", f"{run.lower_bound_cycles:,}")
    return (name, *cycles, quantity(run.latency, "latency"), quantity(run.energy, "energy"))


@dataclass(frozen=True)
class Execution:
    """The execution of a mapping of a whole workload, Einsum after Einsum.

    `einsums`: one execution each, in the order of the workload; the result of each was compared
    with numpy, on the operands that it had; `whole_result` compares the last ones with numpy's from
    the inputs alone. `exchanges`: of tensors that stay in the elements, each
    before the Einsum that needs it. `values`: all tensors, those that were given or
    drawn and those that the machine computed, but for those that a pipeline passed on.
    `pipelines`: of Einsums that ran as one program, which are not among `einsums`.
    """

    einsums: tuple[EinsumExecution, ...]
    exchanges: tuple[ExchangeExecution, ...]
    values: Dict[str, AnyArray]
    pipelines: tuple[PipelineExecution, ...] = ()

    def __repr__(self) -> str:
        names = ", ".join(run.name for run in self.computed)
        figures = (quantity(self.latency, "latency"), quantity(self.energy, "energy"))
        return f"<Execution: {names}; {self.cycles:,} cycles, {', '.join(figures)}>"

    def _repr_html_(self) -> str:
        rows = [_row(run.name, run) for run in self.computed]
        rows += [_row(f"{done.kind} of {done.exchange.tensor}", done) for done in self.exchanges]
        total = [_row("together", self)] if len(rows) > 1 else []
        return html_table(
            [_HEAD, *rows, *total], "<" + ">" * (len(_HEAD) - 1), "each result equals numpy"
        )

    @staticmethod
    def of_one(run: EinsumExecution) -> Execution:
        """Return the execution of a workload of one Einsum."""
        output = run.plan.read.output
        return Execution((run,), (), {**run.operands, output.name: _kept(run)})

    @property
    def computed(self) -> tuple[EinsumExecution | PipelineExecution, ...]:
        """The programs that computed something: Einsums, then pipelines of them."""
        return (*self.einsums, *self.pipelines)

    @property
    def runs(self) -> tuple[EinsumExecution | PipelineExecution | ExchangeExecution, ...]:
        """All programs that ran: the Einsums', then the pipelines' and the exchanges'."""
        return (*self.computed, *self.exchanges)

    @cached_property
    def whole_result(self) -> dict[str, Comparison]:
        """How far each tensor that no Einsum reads is from numpy's, from the inputs alone.

        numpy computes all Einsums one after the other; the bound has what the rounding of each one
        leads to in those behind it. Empty for one Einsum, whose result is the whole. At the first
        use WrongResult is raised for a result beyond its bound.
        """
        plans = tuple(in_turn([plan for run in self.computed for plan in _plans(run)]))
        if len(plans) == 1:
            return {}
        computed = {plan.read.output.name for plan in plans}
        read = {name for plan in plans for name in read_by(plan)}
        inputs = {name: self.values[name] for name in read - computed}
        return compared_chain(plans, inputs, {n: self.values[n] for n in sorted(computed - read)})

    @property
    def cycles(self) -> int:
        """Cycles of all programs, one after the other."""
        return sum(run.cycles for run in self.runs)

    @property
    def lower_bound_cycles(self) -> int:
        """A number of cycles that no run of these programs goes below."""
        return sum(run.lower_bound_cycles for run in self.runs)

    @property
    def latency(self) -> float:
        """Seconds of all programs, one after the other."""
        return sum(run.latency for run in self.runs)

    @property
    def energy(self) -> float:
        """Joules of all programs, leakage included."""
        return sum(run.energy for run in self.runs)

    @property
    def hops(self) -> int:
        """Number of wavelets times the links that each one crosses."""
        return sum(run.hops for run in self.runs)

    @cached_property
    def counts(self) -> dict[str, int]:
        """Numbers of actions by `einsum/component/tensor/action`, as the machine counted them."""
        return {key: n for run in self.runs for key, n in run.counts.items()}

    @cached_property
    def predicted(self) -> dict[str, int]:
        """The same numbers as the model predicts them without an execution."""
        return {key: n for run in self.runs for key, n in run.predicted.items()}

    @property
    def assumed(self) -> tuple[str, ...]:
        """The figures of the machine that are assumed and that Einsums rest on, each once."""
        return tuple(dict.fromkeys(figure for run in self.computed for figure in run.assumed))

    @cached_property
    def energy_by(self) -> dict[str, float]:
        """Joules by `einsum/component`, leakage included."""
        totals: dict[str, float] = {}
        for run in self.runs:
            for key, energy in run.energy_by.items():
                component = key.split("/")[1]
                totals[component] = totals.get(component, 0.0) + energy
        return totals


def execute(
    arch: Arch,
    workload: Workload,
    mapping: Mapping,
    *,
    settings: ExecutionSettings | None = None,
    operands: Dict[str, AnyArray] | None = None,
) -> Execution:
    """Execute a mapping of a workload on the grid of an architecture.

    `operands`: arrays by input tensor, in the shape of its ranks; those that are missing are drawn
    from the seed of `settings`. The Einsums run one after the other, and what an Einsum computed is
    an operand of the next: it stays in the elements if the mapping stores it nowhere else, or goes
    through the memory outside. Those of a Pipeline run as one program, turn after turn. Raises
    MappingError if it is no mapping of this workload and architecture; InfeasibleMapping, with the
    reason, if it is not on the grid or does not fit; WrongResult if a result or a count is wrong,
    which is a fault of Tilewright.
    """
    settings = settings or ExecutionSettings()
    given = dict(operands or {})
    _check_known(given, workload)
    check_mapping(arch, workload, mapping)
    values = workload_operands(workload, settings.seed, given)
    given.update(values)
    mapped = mapped_workload(arch, workload, mapping, settings, execute_exchange)
    run = _WorkloadRun(mapped.reads, settings, given, values, mapped.exchange)
    for group in mapped.groups:
        run.take(group)
    return Execution(tuple(run.einsums), tuple(run.exchanges), values, tuple(run.pipelines))


@dataclass(slots=True)
class _WorkloadRun:
    """The programs of a workload that have run so far; `take` runs those of the next Einsums.

    `reads`: by Einsum, its mapping on the grid; `given`: tensors that were given or drawn;
    `values`: those and all that were computed.
    """

    reads: Dict[str, SpaceTime]
    settings: ExecutionSettings
    given: dict[str, AnyArray]
    values: dict[str, AnyArray]
    exchange: Exchange[ExchangeExecution]
    einsums: list[EinsumExecution] = field(default_factory=list)
    pipelines: list[PipelineExecution] = field(default_factory=list)
    exchanges: list[ExchangeExecution] = field(default_factory=list)
    computed: set[str] = field(default_factory=set)

    def take(self, group: EinsumGroup) -> None:
        """Run a group of Einsums, or one, with the exchanges before it."""
        reads = [self.reads[name] for name in group.mappings]
        ready = self.exchange.ready_for(*reads)
        self.exchanges += ready.exchanges
        if group.is_pipeline:
            self._pipeline(group, reads, ready)
        else:
            self._einsum(reads[0], ready)

    def _inputs(self, einsum: Einsum) -> dict[str, AnyArray]:
        """Return the inputs of an Einsum that were given, drawn or computed before."""
        tensors = {access.values_of for access in einsum.inputs}
        values = {tensor: self.given[tensor] for tensor in tensors & set(self.given)}
        for tensor in tensors & self.computed:
            values[tensor] = with_zeros(self.values[tensor], operand_shape(einsum, tensor))
        return values

    def _einsum(self, read: SpaceTime, ready: _Ready) -> None:
        inputs = self._inputs(read.workload_einsum)
        run = execute_einsum(read, self.settings, inputs, ready.kept, ready.held)
        self.exchange.finish(run.plan, run.memory)
        self._keep_operands(run.operands)
        self.values[read.output.name] = _kept(run)
        self.computed.add(read.output.name)
        self.einsums.append(run)

    def _pipeline(self, group: EinsumGroup, reads: Sequence[SpaceTime], ready: _Ready) -> None:
        inputs = {n: v for read in reads for n, v in self._inputs(read.workload_einsum).items()}
        run = execute_pipeline(group, reads, self.settings, inputs, ready)
        self._keep_operands(run.operands)
        for part in run.plan.plans:
            self.exchange.finish(part, run.memory)
            name = part.read.output.name
            if name in run.outputs:
                self.values[name] = run.outputs[name].astype(NUMPY[part.read.result_dtype])
                self.computed.add(name)
        self.pipelines.append(run)

    def _keep_operands(self, operands: Dict[str, AnyArray]) -> None:
        for name, read_values in operands.items():
            whole = self.given.get(name, read_values)
            dtype = read_values.dtype
            self.values.setdefault(name, np.asarray(whole).astype(dtype, copy=False))


def _check_known(given: Dict[str, AnyArray], workload: Workload) -> None:
    """Raise TilewrightError for operands that the workload does not have, or computes itself."""
    computed = {access.tensor for einsum in workload.einsums for access in einsum.outputs}
    tensors = {access.values_of for einsum in workload.einsums for access in einsum.accesses}
    for name in given:
        if name not in tensors:
            raise TilewrightError(
                "the operands have a tensor that no Einsum has",
                value=name,
                instead=did_you_mean(name, tensors) or "one of: " + ", ".join(sorted(tensors)),
            )
        if name in computed:
            raise TilewrightError(
                "the operands have a tensor that an Einsum computes",
                value=name,
                instead="one of: " + ", ".join(sorted(tensors - computed)),
            )


def _plans(run: EinsumExecution | PipelineExecution) -> tuple[Plan, ...]:
    return run.plan.plans if isinstance(run, PipelineExecution) else (run.plan,)


def _kept(run: EinsumExecution) -> AnyArray:
    """Return the result of a run in its number type."""
    return run.output.astype(NUMPY[run.plan.read.result_dtype])
