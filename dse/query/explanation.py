"""One design explained: what dominates, what is proven, and what each knob would change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tilewright.arch.quantities import label, quantity
from tilewright.arch.text_table import text_table
from tilewright.dse.models.evaluator import Evaluator, attempt
from tilewright.dse.models.evaluators import make_evaluator
from tilewright.dse.query.open_run import RunTrials
from tilewright.dse.report.conclusion import compare
from tilewright.dse.run.record import Trial
from tilewright.dse.run.rundir import SPEC
from tilewright.dse.run.runner import check_copies
from tilewright.dse.study.design_space import Dimension, canonical_json
from tilewright.dse.study.knobs import knob_text, labels_of
from tilewright.dse.study.study_loading import load_study
from tilewright.mapper.searches.result import gap_text

_WIDEST = 8  # letters of a bar


@dataclass(frozen=True, slots=True)
class KnobStep:
    """What one step of a knob brings.

    `knob`: its label; `value`: after the step; `metrics`: after it, empty if it cannot be built;
    `reason`: why not; `trial`: number of the trial that has it, None if it was evaluated now.
    """

    knob: str
    value: str
    metrics: Mapping[str, float]
    reason: str | None
    trial: int | None


@dataclass(frozen=True, slots=True)
class TrialExplanation:
    """A design of a run explained.

    `trial`: the design; `objectives`: metrics of the study; `knobs`: values by label; `steps`: what
    a step of each knob brings, those with the largest effect on the first objective first;
    `best_in`: what its mapping was chosen for, empty where that is not known; `workloads`: how many
    have a mapping.
    """

    trial: Trial
    objectives: tuple[str, ...]
    knobs: Mapping[str, str]
    steps: tuple[KnobStep, ...]
    best_in: str = ""
    workloads: int = 1

    def document(self) -> dict[str, Any]:
        """Return the explanation as JSON data."""
        return {
            "trial": self.trial.number,
            "status": self.trial.status,
            "reason": self.trial.reason,
            "knobs": dict(self.knobs),
            "metrics": dict(self.trial.metrics),
            "breakdown": {name: dict(parts) for name, parts in self.trial.breakdown.items()},
            "proof": self.trial.proof,
            "gap": self.trial.gap,
            "verified": self.trial.verified,
            "steps": [
                {
                    "knob": step.knob,
                    "value": step.value,
                    "metrics": dict(step.metrics),
                    "reason": step.reason,
                    "trial": step.trial,
                }
                for step in self.steps
            ],
        }

    def text(self) -> str:
        """Return the explanation as text for the terminal."""
        trial = self.trial
        lines = [f"trial {trial.number}: {trial.status}"]
        lines += [f"  {name} {value}" for name, value in self.knobs.items()]
        if trial.reason is not None:
            return "\n".join([*lines, trial.reason])
        lines += ["", *(f"{label(n)}: {quantity(trial.metrics[n], n)}" for n in self.objectives)]
        lines += [_dominant(metric, parts) for metric, parts in trial.breakdown.items()]
        lines.append(self._proof())
        bars = f" (bars: {label(self.objectives[0])})" if self.objectives else ""
        return "\n".join(
            [*lines, "", f"what one step of a knob would change{bars}:", *self._tornado()]
        )

    def _proof(self) -> str:
        if self.trial.proof is None:
            return "nothing is proven of its mapping"
        verified = "; not verified" if self.trial.verified is False else ""
        if self.trial.proof == "optimal":
            metric = f" in {label(self.best_in)}" if self.best_in else ""
            return f"{self._mapping()} is proven optimal{metric}{verified}"
        gap = self.trial.gap
        if gap is None:
            return f"{self._mapping()} has no lower bound above 0{verified}"
        distance = f"within {gap_text(gap)} of" if gap < 1 else f"at most {gap_text(gap)}"
        return f"{self._mapping()} is {distance} a lower bound{verified}"

    def _mapping(self) -> str:
        return "its mapping" if self.workloads == 1 else "its mapping of each workload, by itself,"

    def _tornado(self) -> list[str]:
        rows = [["", *(label(name) for name in self.objectives), "trial", "   lower│higher"]]
        largest = max((abs(self._change(step)) for step in self.steps), default=0.0)
        for step in self.steps:
            name = f"  {step.knob} {step.value}"
            if step.reason is not None:
                more = [""] * (len(self.objectives) + 1)
                rows.append([name, step.reason.splitlines()[0][:60], *more])
                continue
            words = [
                compare(step.metrics[metric], self.trial.metrics[metric], "minimize")[0]
                for metric in self.objectives
            ]
            number = "new" if step.trial is None else str(step.trial)
            rows.append([name, *words, number, _bar(self._change(step), largest)])
        return text_table(rows, "<" + ">" * (len(self.objectives) + 1) + "<")

    def _change(self, step: KnobStep) -> float:
        """Return by how much a step changes the first objective; 0 if it cannot be built."""
        if not self.objectives or not step.metrics:
            return 0.0
        first = self.objectives[0]
        return step.metrics[first] - self.trial.metrics[first]


def _bar(change: float, largest: float) -> str:
    """Return a bar of a tornado, up to 8 wide: to the left of the line for less, else right."""
    width = round(_WIDEST * abs(change) / largest) if largest else 0
    bar = "█" * width or ("▏" if change else "")
    left, right = (bar, "") if change < 0 else ("", bar)
    return f"{left:>{_WIDEST}}│{right}"


def _dominant(metric: str, parts: Mapping[str, float]) -> str:
    """Return in words what dominates a metric; times of components pass side by side."""
    largest = sorted(parts, key=lambda part: (-parts[part], part))[:2]
    if not largest or parts[largest[0]] <= 0:
        return f"{label(metric)}: nothing takes any"
    if metric == "latency":
        times = ", ".join(f"{name} {quantity(parts[name], metric)}" for name in largest)
        return f"{label(metric)}, busiest: {times}"
    total = sum(parts.values())
    within = "" if metric == "cycles" else "in "  # cycles are those of states, such as idle
    shares = ", ".join(f"{100 * parts[name] / total:.0f} % {within}{name}" for name in largest)
    return f"{label(metric)}, most: {shares}"


def explain_trial(
    run: RunTrials, number: int, note: Callable[[str], None] = lambda _: None
) -> TrialExplanation:
    """Explain a trial: what takes most, what is proven, and what one step of each knob changes.

    Steps that the run has not tried are evaluated; `note` is told of each before. Raises RunError
    if there is no such trial, or if a step is to be evaluated and copies of input files changed.
    """
    trial = run.trial(number)
    objectives = tuple(o.metric for o in run.spec.objectives if o.metric in trial.metrics)
    labels = dict(zip(run.spec.space.paths, labels_of(run.spec.space), strict=True))
    knobs = {labels[path]: knob_text(path, value) for path, value in trial.point.items()}
    steps = list(_steps(run, trial, note)) if trial.metrics else []
    if objectives:
        first, value = objectives[0], trial.metrics[objectives[0]]
        steps.sort(key=lambda step: -abs(step.metrics.get(first, value) - value))
    objective = trial.point.get("mapper.objective", run.spec.mapper_objective)
    best_in = {"analytical": objective, "simulated": "latency"}
    words, workloads = str(best_in.get(run.spec.model, "")), len(run.spec.workloads)
    return TrialExplanation(trial, objectives, knobs, tuple(steps), words, workloads)


def _steps(run: RunTrials, trial: Trial, note: Callable[[str], None]) -> Iterator[KnobStep]:
    spec = load_study(run.directory.path / SPEC)
    evaluator: Evaluator = make_evaluator(spec)
    is_ours = "evaluator" not in run.directory.environment()
    if not is_ours:
        note("steps that the run has not tried are left out: a model of the user evaluated it")
    tried = {canonical_json(dict(t.point)): t for t in run.everything if t.same_as is None}
    labels = labels_of(spec.space)
    for position, choice in enumerate(spec.space.choice(trial.point)):
        dimension = spec.space.dimensions[position]
        for index in _near(dimension, choice):
            point = {**trial.point, dimension.path: dimension.values[index]}
            value = knob_text(dimension.path, dimension.values[index])
            recorded = tried.get(canonical_json(point))
            if recorded is not None:
                yield KnobStep(
                    labels[position], value, recorded.metrics, recorded.reason, recorded.number
                )
                continue
            if not is_ours:
                continue
            check_copies(run.directory)
            note(f"evaluating {labels[position]} {value}, which the run has not tried")
            outcome = attempt(evaluator, point).outcome
            metrics = _with_objectives(run, trial, outcome.metrics)
            yield KnobStep(labels[position], value, metrics, outcome.reason, None)


def _near(dimension: Dimension, choice: int) -> list[int]:
    """Return the values one step from a chosen one; all others of a knob without an order."""
    values = range(len(dimension.values))
    if dimension.ordered:
        return [index for index in (choice - 1, choice + 1) if index in values]
    return [index for index in values if index != choice]


def _with_objectives(
    run: RunTrials, trial: Trial, metrics: Mapping[str, float]
) -> Mapping[str, float]:
    """Return the metrics of a design, with the objectives that are formulas over them."""
    missing = [o.metric for o in run.spec.objectives if o.metric not in metrics]
    if not metrics or not missing:
        return metrics
    from tilewright.dse.run.figures import value_of

    names = run.names(_as(trial, metrics))
    return {**metrics, **{name: value_of(name, names) for name in missing}}


def _as(trial: Trial, metrics: Mapping[str, float]) -> Trial:
    from dataclasses import replace

    return replace(trial, metrics=metrics)
