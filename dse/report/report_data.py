"""What the report knows: one JSON document, drawn by the scripts of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.arch.quantities import label, unit_of_metric
from tilewright.dse.report.conclusion import highlights, reference_of
from tilewright.dse.report.reasons import reason_of
from tilewright.dse.report.sharing import sharing_of
from tilewright.dse.run.figures import Constraint, is_plain_name
from tilewright.dse.run.front_file import hypervolume_by_batch
from tilewright.dse.run.record import Trial, front_of
from tilewright.dse.run.rundir import TIMES, RunDirectory
from tilewright.dse.run.study_loop import shown_in_detail
from tilewright.dse.study.design_space import Value
from tilewright.dse.study.knobs import knob_text, labels_of
from tilewright.dse.study.study import StudySpec

MAX_BREAKDOWNS = 2_000
"""Trials up to which each has its breakdown in a page; beyond, only the designs shown."""
MAX_MAPPINGS = 200
"""Mappings of a design's own front in a page."""
MAX_DETAILS = 16_000_000
"""Bytes of details in a page; a large front would make it slow to open."""


def report_data(run: RunDirectory, spec: StudySpec, trials: Sequence[Trial]) -> dict[str, Any]:
    """Return what the report's page knows, as JSON data for its scripts.

    It has objectives, limits, metrics with units, knobs, trials, front, details of the designs
    shown (at most 16 MB), and hypervolume by batch.
    """
    front = front_of(trials, spec.objectives)
    reference = reference_of(trials)
    outlined = trials if len(trials) <= MAX_BREAKDOWNS else shown_in_detail(trials, spec)
    with_breakdown = {trial.number for trial in outlined if trial.same_as is None}
    return {
        "objectives": [{"metric": o.metric, "goal": o.goal} for o in spec.objectives],
        "limits": list(filter(None, map(_plain_limit, spec.constraints))),
        "metrics": [
            {"name": name, "label": label(name), "unit": unit_of_metric(name)}
            for name in metric_names(spec, trials)
        ],
        "knobs": labels_of(spec.space),
        "values": _tried_values(spec, trials),
        "trials": [_row(trial, spec, trial.number in with_breakdown) for trial in trials],
        "front": [trial.number for trial in front],
        "reference": None if reference is None else reference.number,
        "details": _details(run, spec, trials),
        "own_fronts": _own_fronts(trials, spec),
        "hypervolume": hypervolume_by_batch(spec, trials),
        "sharing": sharing_of(run.path / TIMES)._asdict(),
    }


def _tried_values(spec: StudySpec, trials: Sequence[Trial]) -> list[list[Value]]:
    """Return for each knob the values that were tried, in the order of the space."""
    choices = [spec.space.choice(trial.point) for trial in trials]
    return [
        [dimension.values[index] for index in sorted({choice[position] for choice in choices})]
        for position, dimension in enumerate(spec.space.dimensions)
    ]


def _plain_limit(constraint: Constraint) -> dict[str, Any] | None:
    """Return a limit of a metric by a number, which the charts can draw; None for another one."""
    try:
        value = float(constraint.right)
    except ValueError:
        return None
    if not is_plain_name(constraint.left):
        return None
    upper = constraint.sign == "<="
    return {
        "metric": constraint.left,
        "max": value if upper else None,
        "min": None if upper else value,
    }


def _own_fronts(trials: Sequence[Trial], spec: StudySpec) -> dict[str, list[dict[str, float]]]:
    """Return the fronts of the designs shown that have more than one mapping, by trial number."""
    fronts = {
        str(trial.number): own_front(trial, spec.mapper.get("front", ()))
        for trial in shown_in_detail(trials, spec)
    }
    return {number: rows for number, rows in fronts.items() if len(rows) > 1}


def own_front(trial: Trial, asked: Sequence[str]) -> list[dict[str, float]]:
    """Return metrics of the mappings on a design's own front, at most 200, spread evenly.

    `asked`: the metrics of that front; `usage` stands for that of all memories.
    """
    rows = trial.mappings
    if len(rows) > MAX_MAPPINGS:
        rows = [rows[n * (len(rows) - 1) // (MAX_MAPPINGS - 1)] for n in range(MAX_MAPPINGS)]
    return [
        {name: value for name, value in row.items() if {name, name.partition(".")[0]} & set(asked)}
        for row in rows
    ]


def metric_names(spec: StudySpec, trials: Sequence[Trial]) -> list[str]:
    """Return the names of the objectives, then of the other metrics that are not always zero."""
    first = [objective.metric for objective in spec.objectives]
    nonzero_names = {
        name for trial in trials for name, value in trial.metrics.items() if value != 0
    }
    return first + sorted(nonzero_names - set(first))


def _row(trial: Trial, spec: StudySpec, with_breakdown: bool) -> dict[str, Any]:
    return {
        "n": trial.number,
        "batch": trial.batch,
        "status": trial.status,
        "baseline": trial.baseline,
        "same": trial.same_as,
        "point": [trial.point[path] for path in spec.space.paths],
        "shown": [knob_text(path, trial.point[path]) for path in spec.space.paths],
        "metrics": dict(trial.metrics),
        "reason": reason_of(trial),
        **({"breakdown": trial.breakdown} if with_breakdown and trial.breakdown else {}),
    }


def _details(
    run: RunDirectory, spec: StudySpec, trials: Sequence[Trial]
) -> Mapping[str, Mapping[str, Any]]:
    """Return the details of the designs shown, the outstanding ones first, up to MAX_DETAILS."""
    outstanding = {best.trial.number for best in highlights(spec, trials)}
    ranked = sorted(
        shown_in_detail(trials, spec),
        key=lambda t: t.number not in outstanding and t.baseline is None,
    )
    details_by_name: dict[str, Mapping[str, Any]] = {}
    remaining_bytes = MAX_DETAILS
    for trial in ranked:
        remaining_bytes -= run.size_of_details(trial.number)
        details = run.details(trial.number) if remaining_bytes >= 0 else None
        if details is not None:
            details_by_name[str(trial.number)] = details
    return details_by_name
