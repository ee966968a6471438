"""Execute a design of a finished run again: its metrics, its mapping, its whole timeline."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tilewright.dse.evaluators import make_evaluator
from tilewright.dse.record import Trial, front_of
from tilewright.dse.rundir import SPEC, RunDirectory, RunError, write_atomically
from tilewright.dse.runner import check_unchanged
from tilewright.dse.simulated import Run, SimulatedEvaluator, total_metrics
from tilewright.dse.study import load_study
from tilewright.dse.units import label, quantity


@dataclass(frozen=True, slots=True)
class Answer:
    """A design that was executed again."""

    trial: Trial
    runs: list[Run]
    timeline: Path | None

    def document(self) -> dict[str, Any]:
        """Return the answer as JSON data."""
        return {
            "trial": self.trial.number,
            "point": dict(self.trial.point),
            "metrics": total_metrics(self.runs),
            "einsums": [
                {
                    "einsum": run.score.einsum,
                    "metrics": dict(run.score.metrics),
                    "counts": dict(run.score.counts),
                    "energy_by": dict(run.score.energy_by),
                    "cycles_by": dict(run.score.cycles_by),
                    "checked": run.score.checked,
                    "mapping": str(run.score.mapping),
                }
                for run in self.runs
            ],
            "timeline": None if self.timeline is None else str(self.timeline),
        }

    def text(self) -> str:
        """Return the answer for the terminal."""
        lines = [f"trial {self.trial.number}"]
        lines += [f"  {path} = {value}" for path, value in self.trial.point.items()]
        totals = total_metrics(self.runs)
        lines += ["", *(f"{label(name)}: {quantity(totals[name], name)}" for name in totals)]
        for run in self.runs:
            verdict = "equals" if run.score.checked else "DIFFERS FROM"
            lines += ["", f"{run.score.einsum}: its result {verdict} numpy.einsum"]
            lines += [f"  {line}" for line in str(run.score.mapping).splitlines()]
        if self.timeline is not None:
            lines += ["", f"timeline: {self.timeline} (open it in ui.perfetto.dev)"]
        return "\n".join(lines)


def rerun(directory: Path, number: int | None, out: Path | None) -> Answer:
    """Execute trial `number` (None: the first of the front) of a run again.

    RunError: no such trial, a trial that cannot be built, or a study that is not simulated.
    """
    run = RunDirectory.open(directory)
    spec = load_study(directory / SPEC)
    check_unchanged(run, spec)
    evaluator = make_evaluator(spec)
    if not isinstance(evaluator, SimulatedEvaluator):
        raise RunError(f"the study in {directory} is {spec.model}: nothing was simulated")
    trial = _chosen(run.trials(), number, front_of(run.trials(), spec.objectives))
    shown = None if out is not None else 0
    runs = replace(evaluator, shown_elements=shown).runs(trial.point)
    if out is not None:
        write_atomically(out, json.dumps(perfetto_events(runs)) + "\n")
    return Answer(trial, runs, out)


def perfetto_events(runs: list[Run]) -> dict[str, Any]:
    """Return the timeline of all Einsums as Trace Event data; one cycle is shown as 1 µs."""
    events: list[dict[str, Any]] = []
    offset = 0.0
    for process, run in enumerate(runs):
        meta = {"ph": "M", "pid": process, "tid": 0}
        events.append({**meta, "name": "process_name", "args": {"name": run.score.einsum}})
        threads: dict[tuple[int, int, str], int] = {}
        for entry in run.score.trace.timeline:
            lane = (entry.row, entry.column, entry.thread)
            if lane not in threads:
                threads[lane] = len(threads) + 1
                name = f"({entry.row}, {entry.column}) {entry.thread}"
                events.append({"ph": "M", "pid": process, "tid": threads[lane],
                               "name": "thread_name", "args": {"name": name}})  # fmt: skip
            events.append({"ph": "X", "pid": process, "tid": threads[lane],
                           "name": f"{entry.operation} {entry.label}".strip(), "cat": entry.task,
                           "ts": offset + entry.start, "dur": entry.end - entry.start})  # fmt: skip
        offset += run.score.metrics["cycles"]
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def _chosen(trials: list[Trial], number: int | None, front: list[Trial]) -> Trial:
    if number is None:
        if not front:
            raise RunError("the run has no feasible design", instead="--trial N for another one")
        return front[0]
    if number >= len(trials):
        raise RunError(f"the run has no trial {number}", instead=f"0 to {len(trials) - 1}")
    if trials[number].status not in ("feasible", "violates"):
        raise RunError(f"trial {number} cannot be built: {trials[number].reason}")
    return trials[number]
