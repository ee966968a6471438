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
    """One Einsum as it was simulated: the mapping on the grid of elements, and what it cost.

    `candidate`: the mapping that was built from the design's knobs; `score`: cycles, energy,
    counts and trace of its execution.
    """

    candidate: Candidate
    score: SimulatedScore


@dataclass(frozen=True, slots=True)
class SimulatedEvaluator:
    """The simulated model of a study: each Einsum's mapping is compiled, executed and counted.

    The `mapping.` knobs choose the mappings; the Einsums run one after the other. `arch`,
    `workload`: input files; `machine`: name or path of the machine profile; `shown_elements`: how
    many elements the timeline shows, None for all. Metrics: cycles, latency (s), energy (J), edp,
    hops are sums over the Einsums; sram_bits is the largest need; utilization is the share of
    element-cycles with a multiply-accumulate; elements is the size of the grid.
    """

    arch: StudyInput
    workload: StudyInput
    machine: str
    shown_elements: int | None = MAX_LANES

    def evaluate(self, point: Point) -> Outcome:
        """Execute all Einsums of one design and return its metrics and report details.

        `point`: value of each knob by path. Raises InfeasibleMapping or another TilewrightError
        with the reason if the design cannot be built; LoweringDefect if our program is wrong.
        """
        runs = self.runs(point)
        sections = [describe(run) for run in runs]
        return Outcome(total_metrics(runs), details={"sections": sections})

    def runs(self, point: Point) -> list[EinsumRun]:
        """Execute all Einsums of the workload on one design; return one run per Einsum, in order.

        All mappings are built first, so that an infeasible one costs no simulation. Raises a
        TilewrightError if one cannot be built, LoweringDefect if a program fails or computes
        something else than numpy.einsum.
        """
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
    """A generated program does not run, or computes a wrong result.

    It is a defect of Tilewright, not of the design, so the trial gets the status error.
    """


def _executed(model: SimulatedCostModel, candidate: Candidate) -> SimulatedScore:
    from tilewright.simulator.cost_model import WrongResult
    from tilewright.simulator.isa.machine_errors import MachineError

    try:
        return model.score(candidate)
    except (MachineError, WrongResult) as error:
        raise LoweringDefect(f"{candidate.einsum.name}: {error}") from error


def total_metrics(runs: Sequence[EinsumRun]) -> dict[str, float]:
    """Return the metrics of a workload whose Einsums run one after the other.

    Sums of cycles, latency (s), energy (J) and hops; edp (J s) of the sums; the largest sram_bits
    (per element); utilization weighted by cycles; number of elements of the grid.
    """
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
    """Return the report's section on one Einsum's run, as plain JSON values.

    It has the loop nest, energy (J) by component, mean cycles per element by state, heat maps of
    elements and links, and the timeline.
    """
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
    """Sum energies by component; the keys are `einsum/component/...`, the values joule."""
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
