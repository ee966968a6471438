"""What the report shows of an executed Einsum: mapping, energy, cycles, heat maps, timeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.arch.quantities import quantity
from tilewright.dse.report.details import LaneSpans, section, timeline, traffic
from tilewright.mapper.mapping.nest_lines import nest_lines, nest_text

if TYPE_CHECKING:
    from tilewright.simulator.exchanges.exchange_execution import ExchangeExecution
    from tilewright.simulator.execution.einsum_execution import EinsumExecution
    from tilewright.simulator.execution.execution import Execution
    from tilewright.simulator.execution.pipeline_execution import PipelineExecution
    from tilewright.simulator.run.trace import RunResult, Trace

_DIRECTIONS = ("north", "east", "south", "west")  # the order of Trace.link_words


def execution_sections(execution: Execution, certificate: str = "") -> list[dict[str, Any]]:
    """Return the report's sections on an execution, one for each Einsum, as plain JSON values.

    They have the loop nest, energy (J) by component, mean cycles per element by state, heat maps of
    elements and links, and the timeline. `certificate`: what a search has shown.
    """
    return [
        _einsum_section(
            run, [done for done in execution.exchanges if done.einsum == run.name], certificate
        )
        for run in execution.einsums
    ] + [_pipeline_section(run) for run in execution.pipelines]


def _pipeline_section(run: PipelineExecution) -> dict[str, Any]:
    """Return the section on several Einsums that ran as one program."""
    reads = [part.read for part in run.plan.plans]
    facts = {
        "results equal numpy": "yes",
        "largest error": f"{100 * run.error_share:.3g} % of the rounding bound",
        "counts equal the model's": "yes",
        "turns": float(run.plan.turns),
        "cycles": float(run.cycles),
        **_instances(run),
        "lower bound of the cycles": float(run.lower_bound_cycles),
        "grid, columns × rows": f"{reads[0].columns:,} × {reads[0].rows:,} elements",
        "SRAM per element": f"{run.sram_bits / 8:,.0f} bytes",
    }
    nests = [
        nest_text(nest_lines(read.mapping.nodes, {read.einsum.name: read.einsum.bounds}))
        for read in reads
    ]
    states, energy_by = _cycles_by_state(run.trace), by_component(run.energy_by)
    details = section(run.name, "\n\n".join(nests), energy_by, states, facts)
    moved = {"traffic": traffic(run.energy_by)}
    return {**details, **moved, **_machine_parts(run.trace, run.instance_cycles)}


def _instances(run: EinsumExecution | PipelineExecution) -> dict[str, str]:
    """Return how often an Einsum runs, as a fact; none for a single instance."""
    if run.instances == 1:
        return {}
    return {"instances": f"{run.instances:,} of {run.instance_cycles:,} cycles each, one ran"}


def _einsum_section(
    run: EinsumExecution, exchanges: Sequence[ExchangeExecution], certificate: str
) -> dict[str, Any]:
    read = run.plan.read
    facts = {
        "result equals numpy": "yes",
        "largest error": f"{100 * run.error_share:.3g} % of the rounding bound",
        "counts equal the model's": "yes",
        "cycles": float(run.cycles),
        **_instances(run),
        "lower bound of the cycles": float(run.lower_bound_cycles),
        "utilization": f"{100 * run.utilization:.3g} %",
        "padding": f"{100 * read.padding_share:.3g} % of the points computed",
        "grid, columns × rows": f"{read.columns:,} × {read.rows:,} elements",
        "engine": run.engine,
        "SRAM per element": f"{run.sram_bits / 8:,.0f} bytes",
        **{
            f"{done.kind} of {done.exchange.tensor}, before it": f"{done.cycles:,} cycles, "
            f"{quantity(done.energy, 'energy')}"
            for done in exchanges
        },
        **({"search": certificate} if certificate else {}),
    }
    energy_by = by_component(run.energy_by)
    nest = nest_text(nest_lines(read.mapping.nodes, {run.name: read.einsum.bounds}))
    details = section(run.name, nest, energy_by, _cycles_by_state(run.trace), facts)
    moved = traffic(run.energy_by)
    for done in exchanges:
        name = f"{done.kind} of {done.exchange.tensor}"
        moved[name] = moved.get(name, 0.0) + done.energy
    return {**details, "traffic": moved, **_machine_parts(run.trace, run.instance_cycles)}


def program_section(name: str, text: str, result: RunResult) -> dict[str, Any]:
    """Return the page's section on one run of a program, as plain JSON values.

    `name`: of the program; `text`: what is shown in the place of a loop nest.
    """
    facts = {"cycles": float(result.cycles), **_facts(result)}
    details = section(name, text, {}, _cycles_by_state(result.trace), facts)
    return {
        **details,
        "text_title": "Program and addresses",
        **_machine_parts(result.trace, result.cycles),
    }


def _facts(result: RunResult) -> dict[str, float]:
    counts = result.counts
    return {
        "multiply-accumulates": float(counts.macs),
        "words read": float(counts.memory_read_words),
        "words written": float(counts.memory_write_words),
        "wavelets times links": float(counts.wavelet_hops),
        "words in over the border": float(counts.edge_in_words),
        "words out over the border": float(counts.edge_out_words),
    }


def _machine_parts(trace: Trace, cycles: int) -> dict[str, Any]:
    return {
        "time_unit": "cycles",
        "time_title": "What an element does, on average",
        "maps": _maps(trace),
        "timeline": _timeline(trace, cycles),
    }


def by_component(energy_by: Mapping[str, float]) -> dict[str, float]:
    """Sum energies by component; the keys are `einsum/component/...`, the values joule."""
    totals: dict[str, float] = {}
    for key, energy in energy_by.items():
        component = key.split("/")[1] if "/" in key else key
        totals[component] = totals.get(component, 0.0) + energy
    return totals


def _cycles_by_state(trace: Trace) -> dict[str, float]:
    elements = trace.element_macs.size
    return {name: n / elements for name, n in trace.cycles_by_reason().items() if n}


def _maps(trace: Trace) -> dict[str, Any]:
    from tilewright.simulator.run.trace import IDLE

    cycles, links = trace.element_cycles, trace.link_words
    stalled = trace.stall_cycles.sum(axis=2)
    busy = cycles.sum(axis=2) - cycles[:, :, IDLE] - stalled
    maps = {
        "busy": {"unit": "cycles", "values": busy.tolist()},
        "stalled": {"unit": "cycles", "values": stalled.tolist()},
    }
    for port, direction in enumerate(_DIRECTIONS):
        if links[:, :, port].any():
            values = links[:, :, port].tolist()
            maps[f"words on the links to the {direction}"] = {"unit": "words", "values": values}
    return maps


def _timeline(trace: Trace, cycles: int) -> dict[str, Any]:
    kinds, table = trace.timeline.kinds, trace.timeline.table
    names = [
        (" ".join(filter(None, (k.operation, k.label, f"({k.task})"))), k.operation) for k in kinds
    ]
    threads = sorted({kind.thread for kind in kinds})
    thread = np.array([threads.index(kind.thread) for kind in kinds], dtype=np.int64)
    width = trace.element_macs.shape[1]
    lane = (table[:, 0] * width + table[:, 1]) * len(threads) + thread[table[:, 2]]
    lanes = []
    for number in np.unique(lane).tolist():
        row, column = divmod(number // len(threads), width)
        rows = table[lane == number]
        spans = LaneSpans(rows[:, 3], rows[:, 4], rows[:, 2], names)
        lanes.append((f"({row}, {column}) {threads[number % len(threads)]}", spans))
    return {**timeline("cycles", float(cycles), lanes), "rows": "rows: (row, column) of an element"}
