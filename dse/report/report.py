"""report.html: one file that opens without network and shows what a study found."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from tilewright.arch.quantities import UNITS, label, some
from tilewright.dse.report.conclusion import (
    caution,
    census,
    highlights,
    published_figures,
    reference_of,
)
from tilewright.dse.report.health import chance_share, health_cards, importance, smallest_changes
from tilewright.dse.report.page import script_safe, templates
from tilewright.dse.report.reasons import group_reasons, limit_text, reason_of
from tilewright.dse.report.report_data import metric_names, report_data
from tilewright.dse.report.sharing import sharing_of, sharing_text
from tilewright.dse.run.record import Trial, front_of, points_of
from tilewright.dse.run.rundir import REPORT, TIMES, RunDirectory
from tilewright.dse.run.study_loop import BOUND, counted, is_complete
from tilewright.dse.store.safe_files import write_atomically
from tilewright.dse.study.knobs import knob_text
from tilewright.dse.study.study import StudySpec
from tilewright.mapper.searches.result import gap_text


def write_report(run: RunDirectory, spec: StudySpec, trials: Sequence[Trial]) -> Path:
    """Write report.html of a run into its directory and return its path."""
    path = run.path / REPORT
    write_atomically(path, render(run, spec, trials))
    return path


def render(run: RunDirectory, spec: StudySpec, trials: Sequence[Trial]) -> str:
    """Return the report of a run as the text of one HTML page that needs no network."""
    pages = templates()
    pages.filters["knob"] = knob_text
    pages.filters["reason"] = reason_of
    pages.filters["limit"] = limit_text
    pages.filters["gap"] = gap_text
    return pages.get_template("report.html").render(_context(run, spec, trials))


def _context(run: RunDirectory, spec: StudySpec, trials: Sequence[Trial]) -> dict[str, Any]:
    from markupsafe import Markup

    front = front_of(trials, spec.objectives)
    data = report_data(run, spec, trials)
    reference = reference_of(trials)
    environment = run.environment()
    shares = importance(spec, trials)
    return {
        "spec": spec,
        "trials": trials,
        "front": front,
        "complete": is_complete(spec, trials),
        "counted": counted(trials),
        "census": census(trials, len(front), points_of(front, spec.objectives)),
        "highlights": highlights(spec, trials),
        "caution": caution(spec, trials),
        "reference": reference,
        "published": published_figures(spec, front),
        "knobs": list(zip(data["knobs"], spec.space.paths, strict=True)),
        "shown": {row["n"]: row["shown"] for row in data["trials"]},
        "metrics": metric_names(spec, trials),
        "units": UNITS,
        "groups": group_reasons(trials),
        "proven": any(trial.proof is not None for trial in trials),
        "fidelity": fidelity_of(spec, trials),
        "health": health_cards(spec, trials),
        "changes": list(smallest_changes(spec, trials)),
        "importance": shares,
        "chance": chance_share(spec, trials),
        "importance_rows": [
            {"name": name, "shares": [values[position] for values in shares.values()]}
            for position, name in enumerate(data["knobs"])
        ],
        "environment": environment,
        "directory": str(run.path),
        "sharing": sharing_text(sharing_of(run.path / TIMES)),
        "command": shlex.join(environment["command"]),
        "extensions": extensions_of(environment, trials, run.path),
        # JSON is safe in a script element once no `<` can end the element.
        "data": Markup(script_safe(data)),  # noqa: S704
    }


def fidelity_of(spec: StudySpec, trials: Sequence[Trial]) -> str:
    """Return in words what stands behind the figures of a study's designs, and for which mapping.

    A design has one mapping of a workload: figures are not those of different mappings for
    different objectives.
    """
    if spec.bounds_first:
        return two_fidelities(spec, trials)
    if spec.model == "simulated":
        return "every design executed on the machine, on numbers, and compared with numpy"
    if spec.model != "analytical":
        return "time of a model of the kernel, not executed"
    metric = "its mapper.objective"
    if "mapper.objective" not in spec.space.paths:
        metric = label(spec.mapper_objective)
    mapping = "its one mapping that is best in"
    if len(spec.workloads) > 1:
        mapping = "one mapping of each workload, which is by itself best in"
    best = f"the analytical model: each design by {mapping} {metric}"
    fronts = sum(len(trial.mappings) > 1 for trial in trials)
    others = "; the Pareto set of each design's mappings is in trials.jsonl" if fronts else ""
    return best + others


def two_fidelities(spec: StudySpec, trials: Sequence[Trial]) -> str:
    """Return a text: how many designs were executed, how many only bounded, and the difference.

    The difference is how far metrics of executed designs are above their lower bounds.
    """
    distinct = [trial for trial in trials if trial.same_as is None]
    excluded = sum(trial.status == "excluded" for trial in distinct)
    executed = [t for t in distinct if t.status in ("feasible", "violates")]
    text = (
        f"{some(len(executed), 'design')} executed on the machine, on numbers, and compared with"
        f" numpy; {excluded} by lower bounds alone, which an executed design beats"
    )
    differences = [_above_bound(objective.metric, executed) for objective in spec.objectives]
    told = ", ".join(filter(None, differences))
    return f"{text}. Executions lie above the bounds: {told}" if told else text


def _above_bound(metric: str, executed: Sequence[Trial]) -> str:
    """Return by how much a metric of executed designs exceeds its bounds; "" without a bound."""
    bounded = [t for t in executed if t.metrics.get(BOUND + metric, 0.0) > 0]
    excess = sorted(100 * (t.metrics[metric] / t.metrics[BOUND + metric] - 1) for t in bounded)
    if not excess:
        return ""
    low, middle, high = excess[0], median(excess), excess[-1]
    return f"{label(metric)} by {low:.3g} to {high:.3g} % (median {middle:.3g} %)"


@dataclass(frozen=True, slots=True)
class Extension:
    """How a run was extended.

    `command`: what did it; `words`: what it changed; `trial`: number of the first trial after it.
    """

    command: str
    words: str
    trial: int


def extensions_of(
    environment: Mapping[str, Any], trials: Sequence[Trial], directory: Path
) -> list[Extension]:
    """Return how a run was extended, in order; `environment`: what env.json holds."""
    extensions = []
    for note in environment.get("extensions", ()):
        changed = dict(note["changed"])
        total = changed.pop("search.trials", None)
        if "search.sampler" in changed and changed.get("search.options") == "{}":
            del changed["search.options"]  # a new sampler begins without options
        words = ["tilewright", "study", "resume", str(directory)]
        words += ["--trials", total] if total is not None else []
        for path, value in changed.items():
            words += ["--add", f"{path}={value}"]
        told = [f"{total} trials"] if total is not None else []
        told += [f"{path.removeprefix('search.')} {value}" for path, value in changed.items()]
        later = [trial.number for trial in trials if trial.batch >= note["batch"]]
        first = min(later, default=len(trials))
        extensions.append(Extension(shlex.join(words), ", ".join(told), first))
    return extensions
