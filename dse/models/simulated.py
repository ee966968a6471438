"""The simulated model: each Einsum's candidate is lowered, executed, checked, and counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.dse.models.evaluator import Outcome
from tilewright.dse.models.inputs import architecture, knobs, mapping_choices, workload
from tilewright.dse.report.details import MAX_LANES, Spans, section, timeline
from tilewright.dse.study.design_space import Point
from tilewright.dse.study.study import StudyInput

if TYPE_CHECKING:
    from tilewright.mapper.grid.candidate import Candidate
    from tilewright.simulator.cost_model import SimulatedCostModel, SimulatedScore


@dataclass(frozen=True, slots=True)
class EinsumRun:
    """One Einsum's candidate and what its execution cost."""

    candidate: Candidate
    score: SimulatedScore


@dataclass(frozen=True, slots=True)
class SimulatedEvaluator:
    """Builds a candidate per Einsum from the `mapping.` knobs and runs them one after the other.

    Cycles, latency, energy and hops are summed over the Einsums, SRAM is the largest need of any;
    utilization is the share of all element-cycles that do a multiply-accumulate.
    """

    arch: StudyInput
    workload: StudyInput
    machine: str
    shown_elements: int | None = MAX_LANES

    def evaluate(self, point: Point) -> Outcome:
        """Score a design; raises InfeasibleMapping (or another error of ours) with the reason."""
        runs = self.runs(point)
        sections = [describe(run) for run in runs]
        return Outcome(total_metrics(runs), details={"sections": sections})

    def runs(self, point: Point) -> list[EinsumRun]:
        """Execute all Einsums of the workload."""
        from tilewright.arch.flattening.flattening import flatten
        from tilewright.mapper.grid.candidate import grid_candidate
        from tilewright.simulator.cost_model import SimulatedCostModel

        arch, work = architecture(self.arch, point), workload(self.workload, point)
        overrides = knobs(point, "machine.")
        model = SimulatedCostModel(
            machine=self.machine, shown_elements=self.shown_elements, overrides=overrides
        )
        # All candidates first: building one is cheap, and one that cannot be built ends the design.
        candidates = [
            grid_candidate(
                flatten(arch, work.scope(einsum))[0], einsum, mapping_choices(point, einsum.name)
            )
            for einsum in work.einsums
        ]
        return [EinsumRun(candidate, _executed(model, candidate)) for candidate in candidates]


class LoweringDefect(RuntimeError):  # noqa: N818 (says what it is)
    """A program of ours does not run, or computes something else: not the design's fault."""


def _executed(model: SimulatedCostModel, candidate: Candidate) -> SimulatedScore:
    from tilewright.simulator.cost_model import WrongResult
    from tilewright.simulator.isa.machine_errors import MachineError

    try:
        return model.score(candidate)
    except (MachineError, WrongResult) as error:
        raise LoweringDefect(f"{candidate.einsum.name}: {error}") from error


def total_metrics(runs: Sequence[EinsumRun]) -> dict[str, float]:
    """Return the metrics of a workload whose Einsums run one after the other."""
    metrics = [run.score.metrics for run in runs]
    totals = {
        name: float(sum(einsum_metrics[name] for einsum_metrics in metrics))
        for name in ("cycles", "latency", "energy", "hops")
    }
    worked = sum(
        einsum_metrics["utilization"] * einsum_metrics["cycles"] for einsum_metrics in metrics
    )
    grid = runs[0].candidate.grid
    return {
        **totals,
        "edp": totals["energy"] * totals["latency"],
        "sram_bits": max(einsum_metrics["sram_bits"] for einsum_metrics in metrics),
        "utilization": worked / totals["cycles"],
        "elements": float(grid.columns * grid.rows),
    }


def describe(run: EinsumRun) -> dict[str, Any]:
    """Return the report's section of one execution."""
    score, grid = run.score, run.candidate.grid
    elements = grid.columns * grid.rows
    facts = {
        "result equals numpy.einsum": "yes" if score.checked else "no",
        "largest error, share of the rounding bound": score.error_bound_used,
        "cycles": score.metrics["cycles"],
        "utilization": score.metrics["utilization"],
        "grid": f"{grid.columns} × {grid.rows} elements",
        "engine": score.engine,
        "SRAM per element": f"{score.metrics['sram_bits'] / 8:,.0f} bytes",
    }
    details = section(
        score.einsum,
        str(score.mapping),
        by_component(score.energy_by),
        {_STATES.get(name, name): cycles / elements for name, cycles in score.cycles_by.items()},
        facts,
    )
    details["time_unit"] = "cycles"
    details["time_title"] = "What an element does, on average"
    details["maps"] = _maps(score)
    details["timeline"] = _timeline(score)
    return details


def by_component(energy_by: Mapping[str, float]) -> dict[str, float]:
    """Sum energies with keys `einsum/component/…` by component."""
    totals: dict[str, float] = {}
    for key, energy in energy_by.items():
        component = key.split("/")[1] if "/" in key else key
        totals[component] = totals.get(component, 0.0) + energy
    return totals


_DIRECTIONS = ("north", "east", "south", "west")  # the order of Trace.link_words
_STATES = {"wait_input": "waiting for input", "wait_output": "waiting for output"}


def _maps(score: SimulatedScore) -> dict[str, Any]:
    from tilewright.simulator.run.trace import BUSY, WAIT_INPUT, WAIT_OUTPUT

    cycles, links = score.trace.element_cycles, score.trace.link_words
    stalled = cycles[:, :, WAIT_INPUT] + cycles[:, :, WAIT_OUTPUT]
    maps = {
        "busy": {"unit": "cycles", "values": cycles[:, :, BUSY].tolist()},
        "stalled": {"unit": "cycles", "values": stalled.tolist()},
    }
    for port, direction in enumerate(_DIRECTIONS):
        if links[:, :, port].any():
            values = links[:, :, port].tolist()
            maps[f"words on the links to the {direction}"] = {"unit": "words", "values": values}
    return maps


def _timeline(score: SimulatedScore) -> dict[str, Any]:
    kinds, table = score.trace.timeline.kinds, score.trace.timeline.table
    names = [(" ".join(filter(None, (k.operation, k.label, f"({k.task})"))), k.operation)
             for k in kinds]  # fmt: skip
    threads = sorted({kind.thread for kind in kinds})
    thread = np.array([threads.index(kind.thread) for kind in kinds], dtype=np.int64)
    width = score.trace.element_macs.shape[1]
    lane = (table[:, 0] * width + table[:, 1]) * len(threads) + thread[table[:, 2]]
    lanes = []
    for number in np.unique(lane).tolist():
        row, column = divmod(number // len(threads), width)
        lane_rows = table[lane == number]
        spans = Spans(lane_rows[:, 3], lane_rows[:, 4], lane_rows[:, 2], names)
        lanes.append((f"({row}, {column}) {threads[number % len(threads)]}", spans))
    return timeline("cycles", float(score.metrics["cycles"]), lanes)
