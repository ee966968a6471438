"""Compare two runs, or two designs of a run: which is better, and which costs differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.arch.quantities import label, quantity, some
from tilewright.arch.text_table import text_table
from tilewright.dse.query.open_run import RunTrials
from tilewright.dse.query.study_differences import objectives_text, study_differences
from tilewright.dse.query.trial_details import details_of
from tilewright.dse.report.conclusion import compare
from tilewright.dse.run.pareto import hypervolume, reference_box
from tilewright.dse.run.record import Objective, Trial, costs_of
from tilewright.dse.store.safe_files import RunError
from tilewright.dse.study.knobs import knob_text, labels_of

Note = Callable[[str], None]
_MOST_ROWS = 12


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Two runs with the same objectives, seen together; pairs are (first run, second run).

    `names`: of the runs; `fronts`: number of designs on each front. `shares`: of each run, the
    hypervolume that its front dominates in a box around all feasible designs of both; `beaten`: how
    many designs of each front the other's dominates; `best`: of each objective, the best value in
    each run; `differences`: in which files, options, limits, knobs and values of knobs the studies
    differ, so that their figures stand for different questions.
    """

    names: tuple[str, str]
    fronts: tuple[int, int]
    shares: tuple[float, float]
    beaten: tuple[int, int]
    best: Mapping[str, tuple[float, float]]
    differences: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        """Return the comparison as JSON data."""
        return {
            "runs": list(self.names),
            "front": list(self.fronts),
            "hypervolume": list(self.shares),
            "dominated_by_the_other": list(self.beaten),
            "best": {metric: list(values) for metric, values in self.best.items()},
            "differences": list(self.differences),
        }

    def text(self) -> str:
        """Return the comparison as a table for the terminal."""
        rows = [["", "A", "B"], ["run", *self.names]]
        rows += [["designs on the front", *map(str, self.fronts)]]
        rows += [["of them dominated by the other's", *map(str, self.beaten)]]
        rows += [["hypervolume, common reference", *(f"{share:.4f}" for share in self.shares)]]
        for metric, values in self.best.items():
            rows.append([f"best {label(metric)}", *(quantity(v, metric) for v in values)])
        lines = text_table(rows, "<>>")
        if self.differences:
            lines += ["", "the studies ask different things (A -> B):"]
            lines += [f"  {line}" for line in self.differences]
        return "\n".join(lines)


def compare_runs(first: RunTrials, second: RunTrials) -> RunComparison:
    """Compare two runs whose studies have the same objectives.

    Raises RunError for other objectives, or a run without a feasible design.
    """
    objectives = first.spec.objectives
    if objectives != second.spec.objectives:
        raise RunError(
            f"the runs have other objectives: A {objectives_text(objectives)};"
            f" B {objectives_text(second.spec.objectives)}",
            instead="two runs whose studies name the same objectives in the same order",
        )
    runs = (first, second)
    fronts = [list(run.front()) for run in runs]
    if not all(fronts):
        raise RunError("a run has no feasible design")
    ideal, reference = reference_box(costs_of(_feasible(first) + _feasible(second), objectives))
    costs = [costs_of(front, objectives) for front in fronts]
    best = {each.metric: tuple(_best(front, each) for front in fronts) for each in objectives}
    return RunComparison(
        tuple(str(run.directory.path) for run in runs),  # type: ignore[arg-type]  # two
        tuple(map(len, fronts)),  # type: ignore[arg-type]
        tuple(hypervolume(cost, ideal, reference) for cost in costs),  # type: ignore[arg-type]
        (_beaten(costs[0], costs[1]), _beaten(costs[1], costs[0])),
        best,  # type: ignore[arg-type]
        tuple(study_differences(first, second)),
    )


def _feasible(run: RunTrials) -> list[Trial]:
    return [trial for trial in run.everything if trial.status == "feasible"]


def _best(front: Sequence[Trial], objective: Objective) -> float:
    """Return the best value of an objective on a front."""
    values = [trial.metrics[objective.metric] for trial in front]
    return min(values) if objective.goal == "minimize" else max(values)


def _beaten(costs: np.ndarray[Any, Any], rivals: np.ndarray[Any, Any]) -> int:
    nowhere_worse = np.all(rivals[None] <= costs[:, None], axis=2)
    somewhere_better = np.any(rivals[None] < costs[:, None], axis=2)
    return int(np.any(nowhere_worse & somewhere_better, axis=1).sum())


@dataclass(frozen=True, slots=True)
class Change:
    """One part of a cost in two designs.

    `metric`: energy (J) or latency (s, or cycles); `part`: the component, or component, tensor and
    action; `before`, `after`: its value in the first and in the second design.
    """

    metric: str
    part: str
    before: float
    after: float

    @property
    def difference(self) -> float:
        """The change from the first design to the second."""
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class DesignDifference:
    """Why one design is better than another; pairs are (first design, second design).

    `trials`: their numbers; `knobs`: label to the two values where they differ; `metrics`: name to
    the two values; `parts`: changes by component; `traffic`: changes by component, tensor and
    action, where the model has tensors; each from the largest change to the smallest.
    """

    trials: tuple[int, int]
    knobs: Mapping[str, tuple[str, str]]
    metrics: Mapping[str, tuple[float, float]]
    parts: tuple[Change, ...]
    traffic: tuple[Change, ...]

    def document(self) -> dict[str, Any]:
        """Return the difference as JSON data."""
        return {
            "trials": list(self.trials),
            "knobs": {name: list(values) for name, values in self.knobs.items()},
            "metrics": {name: list(values) for name, values in self.metrics.items()},
            "parts": [_change(each) for each in self.parts],
            "traffic": [_change(each) for each in self.traffic],
        }

    def text(self) -> str:
        """Return the difference as text: knobs, metrics, and a waterfall of each cost."""
        first, second = self.trials
        lines = [f"trial {first} → trial {second}"]
        lines += [f"  {name}: {a} → {b}" for name, (a, b) in self.knobs.items()]
        lines += [""] if self.knobs else ["  the same knobs", ""]
        for name, (a, b) in self.metrics.items():
            words, _ = compare(b, a, "minimize")
            lines.append(f"{label(name)}: {quantity(a, name)} → {quantity(b, name)}, {words}")
        for title, changes in (
            ("by component", self.parts),
            ("by tensor and memory", self.traffic),
        ):
            for metric in dict.fromkeys(change.metric for change in changes):
                by = "by what takes them" if metric == "cycles" else title
                lines += ["", f"{label(metric)} {by}:"]
                lines += _waterfall([c for c in changes if c.metric == metric])
        return "\n".join(lines)


def _change(change: Change) -> dict[str, Any]:
    return {
        "metric": change.metric,
        "part": change.part,
        "before": change.before,
        "after": change.after,
        "difference": change.difference,
    }


def _waterfall(changes: list[Change]) -> list[str]:
    """Return lines with the largest changes, and what the others add up to."""
    largest = max(abs(change.difference) for change in changes)
    rows: list[list[str]] = []
    for change in changes[:_MOST_ROWS]:
        bar = "█" * max(1, round(abs(change.difference) / largest * 16)) if largest else ""
        values = (quantity(value, change.metric) for value in (change.before, change.after))
        amount = _signed(change.difference, change.metric)
        rows.append([f"  {change.part}", amount, " → ".join(values), bar])
    rest = changes[_MOST_ROWS:]
    if rest:
        total = _signed(sum(change.difference for change in rest), rest[0].metric)
        rows.append([f"  {some(len(rest), 'smaller change')}", total, "", ""])
    return text_table([[""] * 4, *rows], "<><<")[1:]  # without a head


def _signed(difference: float, metric: str) -> str:
    return ("+" if difference > 0 else "−") + quantity(abs(difference), metric)


def _compared_metrics(run: RunTrials, a: Trial, b: Trial) -> list[str]:
    """Return the objectives; where a design has no parts of its energy, all that differs, too."""
    names = [objective.metric for objective in run.spec.objectives]
    if "energy" in a.breakdown or "energy" in b.breakdown:
        return names
    others = (name for name in sorted(a.metrics) if a.metrics[name] != b.metrics.get(name))
    return list(dict.fromkeys([*names, *others]))


def diff_trials(
    run: RunTrials, first: int, second: int, note: Note = lambda _: None
) -> DesignDifference:
    """Return what differs between two designs of a run, and which parts of the costs it moves.

    For the traffic of each tensor, designs of an analytical or simulated study whose inside is not
    stored are evaluated again; `note` is told of it. Raises RunError for a trial that does not
    exist or has no metrics.
    """
    pair = (run.trial(first), run.trial(second))
    for trial in pair:
        if not trial.metrics:
            raise RunError(f"trial {trial.number} has no metrics: {trial.reason}")
    a, b = pair
    knobs = _changed_knobs(run, a, b)
    metrics = {
        name: (a.metrics[name], b.metrics[name])
        for name in _compared_metrics(run, a, b)
        if name in a.metrics and name in b.metrics
    }
    costs = ("energy", "latency", "cycles", "area")
    parts = [
        change
        for metric in costs
        for change in _changes(metric, a.breakdown.get(metric, {}), b.breakdown.get(metric, {}))
    ]
    traffic = _traffic(run, pair, note)
    return DesignDifference((first, second), knobs, metrics, tuple(parts), traffic)


def _changed_knobs(run: RunTrials, first: Trial, second: Trial) -> dict[str, tuple[str, str]]:
    """Return the two values of each knob that differs, by its label."""
    labels = zip(labels_of(run.spec.space), run.spec.space.paths, strict=True)
    return {
        name: (knob_text(path, first.point[path]), knob_text(path, second.point[path]))
        for name, path in labels
        if first.point[path] != second.point[path]
    }


def _changes(metric: str, before: Mapping[str, float], after: Mapping[str, float]) -> list[Change]:
    changes = [
        Change(metric, part, before.get(part, 0.0), after.get(part, 0.0))
        for part in sorted({*before, *after})
    ]
    moved = [change for change in changes if change.difference != 0]
    return sorted(moved, key=lambda change: -abs(change.difference))


def _traffic(run: RunTrials, pair: tuple[Trial, Trial], note: Note) -> tuple[Change, ...]:
    """Return the changes of energy by component, tensor and action; none where they are unknown."""
    if run.spec.model not in ("analytical", "simulated") or pair[0].point == pair[1].point:
        return ()
    weights = {source.name: source.weight for source in run.spec.workloads}
    sides: list[dict[str, float]] = []
    for trial in pair:
        energies: dict[str, float] = {}
        for section in details_of(run, trial.number, "traffic", note).get("sections", ()):
            weight = weights.get(section.get("workload"), 1.0)
            for name, energy in section.get("traffic", {}).items():
                energies[name] = energies.get(name, 0.0) + weight * energy
        sides.append(energies)
    return tuple(_changes("energy", *sides)) if all(sides) else ()
