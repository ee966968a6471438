"""execution.html and the JSON document of an execution: predicted beside simulated."""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.arch.quantities import quantity
from tilewright.dse.report.execution_details import by_component, execution_sections
from tilewright.dse.report.execution_table import HEAD, ProgramRow, program_lines, program_rows
from tilewright.dse.report.page import script_safe, templates
from tilewright.dse.run.environment import version
from tilewright.dse.store.safe_files import write_atomically
from tilewright.simulator.known.code_hash import code_hash

if TYPE_CHECKING:
    from tilewright.mapper.mapping.nest_lines import NestLine
    from tilewright.simulator.exchanges.exchange_execution import ExchangeExecution
    from tilewright.simulator.execution.einsum_execution import EinsumExecution
    from tilewright.simulator.execution.execution import Execution
    from tilewright.simulator.execution.pipeline_execution import PipelineExecution
    from tilewright.simulator.execution.values.einsum_data import Comparison


def execution_document(run: EinsumExecution) -> dict[str, Any]:
    """Return one executed Einsum as JSON data: cycles, energy, counts, comparison, mapping."""
    return {
        "einsum": run.name,
        **_costs(run),
        "utilization": run.utilization,
        "padding_share": run.plan.read.padding_share,
        **_checks(run),
        "cycles_by_state": None if run.busy_share is None else run.trace.cycles_by_reason(),
        "engine": run.engine,
        "mapping": str(run.plan.read.mapping),
    }


def pipeline_document(run: PipelineExecution) -> dict[str, Any]:
    """Return several Einsums in one program as JSON data: what `execution_document` has of one."""
    reads = [part.read for part in run.plan.plans]
    return {
        "einsums": [read.einsum.name for read in reads],
        "turns": run.plan.turns,
        **_costs(run),
        **_checks(run),
        "cycles_by_state": run.trace.cycles_by_reason(),
        "mapping": {read.einsum.name: str(read.mapping) for read in reads},
    }


def _costs(run: EinsumExecution | PipelineExecution) -> dict[str, Any]:
    return {
        "cycles": run.cycles,
        "lower_bound_cycles": run.lower_bound_cycles,
        "instances": run.instances,
        "instance_cycles": run.instance_cycles,
        "latency": run.latency,
        "energy": run.energy,
        "energy_by": by_component(run.energy_by),
        "sram_bits": run.sram_bits,
    }


def _checks(run: EinsumExecution | PipelineExecution) -> dict[str, Any]:
    return {
        "hops": run.hops,
        "counts": dict(run.counts),
        "counts_equal": dict(run.counts) == dict(run.predicted),
        "equal_to_reference": run.error_share <= 1,
        "error_share": run.error_share,
    }


def whole_document(execution: Execution) -> dict[str, Any]:
    """Return the execution of a workload as JSON data: totals, and each Einsum."""
    einsums = [execution_document(run) for run in execution.einsums]
    pipelines = [pipeline_document(run) for run in execution.pipelines]
    checked = (*einsums, *pipelines)
    return {
        "cycles": execution.cycles,
        "lower_bound_cycles": execution.lower_bound_cycles,
        "latency": execution.latency,
        "energy": execution.energy,
        "energy_by": execution.energy_by,
        "counts_equal": all(document["counts_equal"] for document in checked),
        "equal_to_reference": all(document["equal_to_reference"] for document in checked),
        "whole_result": {
            tensor: {
                "difference": whole.difference,
                "bound": whole.bound if math.isfinite(whole.bound) else None,
                "largest_value": whole.largest,
                "error_share": whole.share,
            }
            for tensor, whole in execution.whole_result.items()
        },
        "einsums": einsums,
        **({"pipelines": pipelines} if pipelines else {}),
        "exchanges": [exchange_document(done) for done in execution.exchanges],
        "assumed": list(execution.assumed),
    }


def exchange_document(done: ExchangeExecution) -> dict[str, Any]:
    """Return an exchange between elements as JSON data: tensor, Einsum, cycles, energy, counts."""
    return {
        "tensor": done.exchange.tensor,
        "einsum": done.einsum,
        "kind": done.kind,
        "cycles": done.cycles,
        "lower_bound_cycles": done.lower_bound_cycles,
        "latency": done.latency,
        "energy": done.energy,
        "hops": done.hops,
        "counts": dict(done.counts),
        "counts_equal": dict(done.counts) == dict(done.predicted),
    }


def execution_lines(execution: Execution) -> list[str]:
    """Return the execution of a workload as lines for the terminal."""
    lines: list[str] = []
    for run in execution.einsums:
        for done in execution.exchanges:
            lines += _exchange_lines(done) if done.einsum == run.name else []
        share = _rounded_down(run.lower_bound_cycles / run.cycles)
        lines += [
            f"{run.name}: the result equals numpy, {len(run.counts)} counts equal the model's",
            f"  cycles    {run.cycles:>14,}  lower bound {run.lower_bound_cycles:,} ({share})",
            *_instance_lines(run),
            f"  energy    {quantity(run.energy, 'energy'):>14}  predicted but for leakage exactly",
            f"  SRAM      {run.sram_bits // 8:>8,} bytes  of an element",
            f"  elements  {run.elements:>14,}{_busy(run)}",
        ]
        if run.plan.read.padding_share:
            lines.append(
                f"  padding   {run.plan.read.padding_share:>14.1%}  of the points computed"
            )
        lines += [f"    {line}" for line in count_lines(run.counts)]
    for pipeline in execution.pipelines:
        names = {part.read.einsum.name for part in pipeline.plan.plans}
        for done in execution.exchanges:
            lines += _exchange_lines(done) if done.einsum in names else []
        lines += _pipeline_lines(pipeline)
    total = f"{execution.cycles:,} cycles, {quantity(execution.latency, 'latency')}, "
    lines += [*program_lines(execution), *([""] if execution.whole_result else [])]
    lines += whole_result_lines(execution)
    return [*lines, "", total + quantity(execution.energy, "energy")]


def whole_result_lines(execution: Execution) -> list[str]:
    """Return how far the last results are from numpy's of all Einsums in turn, a line for each.

    None for one Einsum.
    """
    return [
        f"{tensor} differs from numpy's, of all Einsums in turn, by at most {whole.difference:.2g} "
        f"(largest value {whole.largest:.2g}); {_allowed(whole)}"
        for tensor, whole in execution.whole_result.items()
    ]


def _allowed(whole: Comparison) -> str:
    if not math.isfinite(whole.bound):
        return "a value has no bound: rounding may make a divisor 0"
    if whole.bound > whole.largest:
        return f"the bound of all roundings together, {whole.bound:.2g}, says nothing"
    return f"rounding allows {whole.bound:.2g}" if whole.bound else "exact"


def _instance_lines(run: EinsumExecution | PipelineExecution) -> list[str]:
    """Return how often an Einsum runs, as a line; none for a single instance."""
    if run.instances == 1:
        return []
    return [f"  instances {run.instances:>14,}  of {run.instance_cycles:,} cycles each, one ran"]


def _pipeline_lines(run: PipelineExecution) -> list[str]:
    """Return several Einsums in one program as lines for the terminal."""
    names = [part.read.einsum.name for part in run.plan.plans]
    share, turns = _rounded_down(run.lower_bound_cycles / run.cycles), run.plan.turns
    title = f"{', '.join(names)} in a pipeline of {turns} turn{'s' if turns > 1 else ''}"
    return [
        f"{title}: the results equal numpy, {len(run.counts)} counts equal the model's",
        f"  cycles    {run.cycles:>14,}  lower bound {run.lower_bound_cycles:,} ({share})",
        *_instance_lines(run),
        f"  energy    {quantity(run.energy, 'energy'):>14}  predicted but for leakage exactly",
        f"  SRAM      {run.sram_bits // 8:>8,} bytes  of an element",
        f"  elements  {run.elements:>14,}",
        *(f"    {line}" for line in count_lines(run.counts)),
    ]


def _exchange_lines(done: ExchangeExecution) -> list[str]:
    """Return an exchange between elements as lines for the terminal."""
    held, needed = (
        " x ".join(map(str, part.extents)) or "1"
        for part in (done.exchange.held, done.exchange.needed)
    )
    name, bound = done.exchange.tensor, done.lower_bound_cycles
    share, moved = _rounded_down(bound / done.cycles), _EXCHANGED[done.kind]
    return [
        f"{name}: {moved} for {done.einsum}, {held} -> {needed} values of an element",
        f"  cycles    {done.cycles:>14,}  lower bound {bound:,} ({share})",
        f"  energy    {quantity(done.energy, 'energy'):>14}",
        *(f"    {line}" for line in count_lines(done.counts)),
    ]


_EXCHANGED = {"halos": "halos exchanged", "reshard": "resharded between elements"}


def _rounded_down(share: float) -> str:
    """Return a share as a percentage that says 100 % for nothing less."""
    return f"{math.floor(share * 1000) / 10:g} %"


def _busy(run: EinsumExecution) -> str:
    share = run.busy_share
    return "" if share is None else f"  busy {100 * share:.0f} % of the time"


def count_lines(counts: Mapping[str, int]) -> list[str]:
    """Return one line for each component and tensor: its actions.

    counts: numbers of actions by `name/component/tensor/action`. An addition of partial sums is
    priced as a compute action (`action_energies`), and the line says so.
    """
    rows: dict[tuple[str, str], list[str]] = {}
    for key, number in counts.items():
        _, component, tensor, action = key.split("/")
        name = component if tensor == "None" else f"{component} {tensor}"
        action = f"{action} (priced as compute)" if action == "add" else action
        rows.setdefault((component, name), []).append(f"{number:,} {action}")
    width = max((len(name) for _, name in rows), default=0)
    return [f"{name:<{width}}  {', '.join(actions)}" for (_, name), actions in rows.items()]


@dataclass(frozen=True, slots=True)
class ExecutionPage:
    """What a page on an execution says.

    `eyebrow`, `title`, `lead`: its first lines; `cards`: (name, value) of the figures below;
    `notes`: further lines; `rows`: of the table of programs, none where one ran; `sections`: one of
    each Einsum or program (execution_details); `nest`:
    (text, kind) of the lines of a loop nest, where there are no sections; `assumed`: figures of
    the machine profile that are assumed; `front`: the table of a Pareto set, its head first.
    """

    eyebrow: str
    title: str
    lead: str
    cards: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    rows: tuple[ProgramRow, ...] = ()
    sections: tuple[dict[str, Any], ...] = ()
    nest: tuple[tuple[str, str], ...] = ()
    assumed: tuple[str, ...] = ()
    front: tuple[tuple[str, ...], ...] = ()


def page_of(
    execution: Execution,
    subject: str,
    notes: Sequence[str] = (),
    front: Sequence[Sequence[str]] = (),
) -> ExecutionPage:
    """Return the page on the execution of a workload.

    `subject`: workload and architecture in words; `notes`: what a search has shown; `front`: the
    table of its Pareto set, the first row the names of the columns.
    """
    bound = execution.lower_bound_cycles
    return ExecutionPage(
        eyebrow=f"Execution · {subject}",
        title=f"{execution.cycles:,} cycles, executed on numbers",
        lead="Every result equals numpy, and every count of reads, writes, hops and operations "
        "equals the model's. No program of these mappings takes fewer cycles than the bound, "
        f"{_rounded_down(bound / execution.cycles)} of these.",
        cards=(
            ("Cycles", f"{execution.cycles:,}"),
            ("Latency", quantity(execution.latency, "latency")),
            ("Energy", quantity(execution.energy, "energy")),
            ("Lower bound of the cycles", f"{bound:,}"),
        ),
        notes=(*whole_result_lines(execution), *notes),
        rows=tuple(program_rows(execution)),
        sections=tuple(execution_sections(execution)),
        front=tuple(map(tuple, front)),
        assumed=execution.assumed,
    )


def page_of_mapping(
    nest: Sequence[NestLine],
    subject: str,
    reason: str,
    cards: tuple[tuple[str, str], ...],
    notes: Sequence[str],
) -> ExecutionPage:
    """Return the page on a mapping that was not executed.

    nest: its loops; subject: workload and architecture in words; reason: why it was not executed;
    cards: (name, value) of what is known of it; notes: what the search has done.
    """
    from tilewright.mapper.mapping.nest_lines import nest_text

    return ExecutionPage(
        eyebrow=f"Mapping · {subject}",
        title="A mapping, not executed",
        lead=reason,
        cards=cards,
        notes=tuple(notes),
        nest=tuple(zip(nest_text(nest).splitlines(), (line.kind for line in nest), strict=True)),
    )


def write_execution_page(path: Path, page: ExecutionPage) -> None:
    """Write the HTML page on an execution; raises OSError if the file cannot be written."""
    from markupsafe import Markup

    empty: dict[str, list[object]] = {"trials": [], "front": [], "metrics": [], "objectives": []}
    data = {**empty, "sections": list(page.sections)}
    text = (
        templates()
        .get_template("execution.html")
        .render(
            {
                "page": page,
                "head": HEAD,
                "command": shlex.join(["tilewright", *sys.argv[1:]]),
                "version": version(),
                "code": code_hash(),
                "data": Markup(script_safe(data)),  # noqa: S704
            }
        )
    )
    write_atomically(path, text)
