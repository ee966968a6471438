"""Execute a design of a finished run again: its metrics, its mapping, its whole timeline."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.arch.names import did_you_mean
from tilewright.arch.quantities import label, quantity
from tilewright.dse.command.console import check_writable
from tilewright.dse.models.evaluators import make_evaluator
from tilewright.dse.models.simulated import SimulatedEvaluator, total_metrics
from tilewright.dse.report.execution_page import execution_document
from tilewright.dse.run.record import Trial, front_of
from tilewright.dse.run.rundir import SPEC, RunDirectory
from tilewright.dse.run.runner import check_model, check_unchanged
from tilewright.dse.store.safe_files import RunError, write_atomically
from tilewright.dse.study.design_space import Value
from tilewright.dse.study.study_loading import load_study

if TYPE_CHECKING:
    from tilewright.simulator.execution.einsum_execution import EinsumExecution
    from tilewright.simulator.search.grid_mapping import GridMapping


@dataclass(frozen=True, slots=True)
class Answer:
    """A design of a simulated study that was executed again.

    `trial`: the trial, with changed knobs if any; `answer`: its mappings and their execution;
    `timeline`: the file that its timeline was written to, None without one.
    """

    trial: Trial
    answer: GridMapping
    timeline: Path | None

    def document(self) -> dict[str, Any]:
        """Return the answer as JSON data: knobs, total metrics, counts and mapping per Einsum."""
        return {
            "trial": self.trial.number,
            "point": dict(self.trial.point),
            "metrics": total_metrics(self.answer),
            "einsums": [
                {
                    **execution_document(run),
                    "certificate": str(self.answer.results[run.name].certificate),
                }
                for run in self.answer.execution.einsums
            ],
            "timeline": None if self.timeline is None else str(self.timeline),
        }

    def text(self) -> str:
        """Return the answer as text for the terminal: knobs, metrics with units, mappings."""
        lines = [f"trial {self.trial.number}"]
        lines += [f"  {path} = {value}" for path, value in self.trial.point.items()]
        totals = total_metrics(self.answer)
        lines += ["", *(f"{label(name)}: {quantity(totals[name], name)}" for name in totals)]
        for run in self.answer.execution.einsums:
            certificate = self.answer.results[run.name].certificate
            lines += ["", f"{run.name}: its result equals numpy; {certificate}"]
            lines += [f"  {line}" for line in str(run.plan.read.mapping).splitlines()]
        if self.timeline is not None:
            lines += ["", f"timeline: {self.timeline} (open it in ui.perfetto.dev)"]
        return "\n".join(lines)


def replay_design(
    directory: Path,
    number: int | None,
    out: Path | None,
    changes: Mapping[str, Value] | None = None,
) -> Answer:
    """Execute one design of a simulated study's run again; write its timeline to `out` if given.

    `number`: of the trial, None for the first of the Pareto front. `changes`: other values for
    knobs of the trial. Raises RunError if there is no run, trial or knob of that name, the study's
    files have changed, the trial cannot be built, or the study is not simulated; another
    TilewrightError if the changed design cannot be built; OSError if `out` cannot be written.
    """
    if out is not None:
        check_writable(out)
    run = RunDirectory.open(directory)
    check_unchanged(run)
    check_model(run)
    spec = load_study(directory / SPEC)
    evaluator = make_evaluator(spec)
    if not isinstance(evaluator, SimulatedEvaluator):
        raise RunError(f"the study in {directory} is {spec.model}: nothing was simulated")
    changes = changes or {}
    trials = run.trials(spec)
    trial = _chosen(trials, number, front_of(trials, spec.objectives))
    if trial.status not in ("feasible", "violates") and not changes:
        raise RunError(f"trial {trial.number} cannot be built: {trial.reason}")
    trial = replace(trial, point=_changed(trial, changes))
    shown = None if out is not None else 0
    answer = replace(evaluator, shown_elements=shown).run(trial.point)
    if out is not None:
        write_atomically(out, json.dumps(perfetto_events(answer.execution.einsums)) + "\n")
    return Answer(trial, answer, out)


def perfetto_events(runs: Sequence[EinsumExecution]) -> dict[str, Any]:
    """Return the timeline of all Einsums in the Trace Event format, which Perfetto opens.

    One cycle is shown as 1 µs; the Einsums stand one behind the other, each as a process.
    """
    events: list[dict[str, Any]] = []
    offset = 0.0
    for process, run in enumerate(runs):
        meta = {"ph": "M", "pid": process, "tid": 0}
        events.append({**meta, "name": "process_name", "args": {"name": run.name}})
        threads: dict[tuple[int, int, str], int] = {}
        for entry in run.trace.timeline:
            lane = (entry.row, entry.column, entry.thread)
            if lane not in threads:
                threads[lane] = len(threads) + 1
                name = f"({entry.row}, {entry.column}) {entry.thread}"
                events.append({"ph": "M", "pid": process, "tid": threads[lane],
                               "name": "thread_name", "args": {"name": name}})  # fmt: skip
            events.append({"ph": "X", "pid": process, "tid": threads[lane],
                           "name": f"{entry.operation} {entry.label}".strip(), "cat": entry.task,
                           "ts": offset + entry.start, "dur": entry.end - entry.start})  # fmt: skip
        offset += run.cycles
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def _changed(trial: Trial, changes: Mapping[str, Value]) -> dict[str, Value]:
    for key in changes:
        if key not in trial.point:
            raise RunError(
                f"--set {key}: trial {trial.number} has no such knob",
                instead=did_you_mean(key, trial.point) or f"one of: {', '.join(trial.point)}",
            )
    return {**trial.point, **changes}


def _chosen(trials: list[Trial], number: int | None, front: list[Trial]) -> Trial:
    if number is None:
        if not front:
            raise RunError("the run has no feasible design", instead="--trial N for another one")
        return front[0]
    if number >= len(trials):
        raise RunError(f"the run has no trial {number}", instead=f"0 to {len(trials) - 1}")
    return trials[number]
