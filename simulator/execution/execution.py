"""A workload executed on a grid: every Einsum's mapping run on numbers, results passed on."""

from __future__ import annotations

from collections.abc import Mapping as Dict
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tilewright.arch.errors import TilewrightError
from tilewright.arch.flattening.flat import FlatArch
from tilewright.arch.flattening.flattening import flatten
from tilewright.arch.html_parts import html_table
from tilewright.arch.names import did_you_mean
from tilewright.arch.quantities import quantity
from tilewright.arch.spec.architecture import Arch
from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.grid.space_time import space_time
from tilewright.mapper.mapping.mapping import Compute, Mapping, Node, Sequential, Storage
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import InfeasibleMapping, MappingError
from tilewright.mapper.workload.workload import Workload
from tilewright.simulator.exchanges.exchange_execution import ExchangeExecution
from tilewright.simulator.execution.einsum_execution import (
    EinsumExecution,
    ExecutionSettings,
    execute_einsum,
)
from tilewright.simulator.execution.exchange import Exchange, staying_tensors
from tilewright.simulator.execution.operands import (
    AnyArray,
    operand_shape,
    with_zeros,
    workload_operands,
)
from tilewright.simulator.lowering.number_operations import NUMPY

_HEAD = ("", "cycles", "at least", "latency", "energy")


def _row(name: str, run: EinsumExecution | ExchangeExecution | Execution) -> tuple[str, ...]:
    cycles = (f"{run.cycles:,}", f"{run.lower_bound_cycles:,}")
    return (name, *cycles, quantity(run.latency, "latency"), quantity(run.energy, "energy"))


@dataclass(frozen=True)
class Execution:
    """The execution of a mapping of a whole workload, Einsum after Einsum.

    `einsums`: one execution each, in the order of the workload; the result of each was compared
    with numpy, on the operands that it had. `exchanges`: of tensors that stay in the elements, each
    before the Einsum that needs it. `values`: all tensors, those that were given or
    drawn and those that the machine computed.
    """

    einsums: tuple[EinsumExecution, ...]
    exchanges: tuple[ExchangeExecution, ...]
    values: Dict[str, AnyArray]

    def __repr__(self) -> str:
        names = ", ".join(run.name for run in self.einsums)
        figures = (quantity(self.latency, "latency"), quantity(self.energy, "energy"))
        return f"<Execution: {names}; {self.cycles:,} cycles, {', '.join(figures)}>"

    def _repr_html_(self) -> str:
        rows = [_row(run.name, run) for run in self.einsums]
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
    def runs(self) -> tuple[EinsumExecution | ExchangeExecution, ...]:
        """All programs that ran: the Einsums', then the exchanges'."""
        return (*self.einsums, *self.exchanges)

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
    through the memory outside. Raises InfeasibleMapping, with the reason, if the mapping is not on
    the grid or does not fit; MappingError if an Einsum is missing; WrongResult if a result or a
    count is wrong, which is a fault of Tilewright.
    """
    settings = settings or ExecutionSettings()
    given = dict(operands or {})
    _check_known(given, workload)
    values = workload_operands(workload, settings.seed, given)
    given.update(values)
    by_einsum = mappings_of(mapping, workload)
    runs: list[EinsumExecution] = []
    exchanges: list[ExchangeExecution] = []
    computed: set[str] = set()
    staying = staying_tensors(by_einsum, workload, _host(arch, workload))
    exchange = Exchange(workload, staying, settings)
    for einsum in workload.einsums:
        path = grid_path(arch, workload, einsum)
        read = space_time(path, einsum, by_einsum[einsum.name], exchange.staying)
        tensors = {access.tensor for access in einsum.inputs}
        known = {tensor: given[tensor] for tensor in tensors & set(given)}
        for tensor in tensors & computed:
            known[tensor] = with_zeros(values[tensor], operand_shape(einsum, tensor))
        ready = exchange.ready_for(read)
        exchanges += ready.exchanges
        run = execute_einsum(read, settings, known, ready.kept, ready.held)
        exchange.finish(run)
        for name, read_values in run.operands.items():
            whole = given.get(name, read_values)
            values.setdefault(name, np.asarray(whole).astype(read_values.dtype, copy=False))
        values[read.output.name] = _kept(run)
        computed.add(read.output.name)
        runs.append(run)
    return Execution(tuple(runs), tuple(exchanges), values)


def _check_known(given: Dict[str, AnyArray], workload: Workload) -> None:
    """Raise TilewrightError for operands of a tensor that the workload does not have."""
    tensors = {name for einsum in workload.einsums for name in einsum.tensors}
    for name in given:
        if name not in tensors:
            raise TilewrightError(
                "the operands have a tensor that no Einsum has",
                value=name,
                instead=did_you_mean(name, tensors) or "one of: " + ", ".join(sorted(tensors)),
            )


def _kept(run: EinsumExecution) -> AnyArray:
    """Return the result of a run in the number type of the elements."""
    return run.output.astype(NUMPY[run.plan.read.dtype])


def _host(arch: Arch, workload: Workload) -> str:
    """Return the name of the memory outside the grid."""
    return grid_of(grid_path(arch, workload, workload.einsums[0])).host.name


def grid_path(arch: Arch, workload: Workload, einsum: Einsum) -> FlatArch:
    """Return the path of components to the compute of the grid, for one Einsum."""
    return flatten(arch, workload.scope(einsum.name))[0]


def mappings_of(mapping: Mapping, workload: Workload) -> dict[str, Mapping]:
    """Return the mapping of each Einsum from one of a workload, whose Einsums share no loops.

    Raises InfeasibleMapping if loops stand above several Einsums, MappingError if one is missing.
    """
    result: dict[str, Mapping] = {}
    _split((), mapping.nodes, workload, result)
    for einsum in workload.einsums:
        if einsum.name not in result:
            raise MappingError(
                f"the mapping computes no Einsum {einsum.name}", instead="a branch for each Einsum"
            )
    return result


def _split(
    above: tuple[Node, ...],
    nodes: tuple[Node, ...],
    workload: Workload,
    result: dict[str, Mapping],
) -> None:
    last = nodes[-1]
    before = (*above, *nodes[:-1])
    if isinstance(last, Sequential):
        if not all(isinstance(node, Storage) for node in before):
            raise InfeasibleMapping(
                "loops stand above several Einsums: the elements run one Einsum after the other",
                instead="loops below the branches of the Sequential",
            )
        for branch in last.branches:
            _split(before, branch, workload, result)
    elif isinstance(last, Compute):
        tensors = set(workload.einsum(last.einsum).tensors)
        kept = [_restricted(node, tensors) for node in before]
        result[last.einsum] = Mapping((*(node for node in kept if node is not None), last))


def _restricted(node: Node, tensors: set[str]) -> Node | None:
    """Return a node with the tensors of one Einsum only; None if it stores none of them."""
    if not isinstance(node, Storage):
        return node
    names = tuple(name for name in node.tensors if name in tensors)
    if not names:
        return None
    return replace(node, tensors=names)
