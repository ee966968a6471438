"""One trial as a line of `trials.jsonl`: what was tried and what came out, without any clock."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from tilewright.dse.run.pareto import Goal, non_dominated, oriented
from tilewright.dse.study.design_space import Value, canonical_json

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TrialStatus = Literal["feasible", "infeasible", "violates", "excluded", "failed", "error"]
"""`violates`: it can be built and has metrics, but a constraint of the study does not hold.
`excluded`: its metrics are lower bounds, which an executed design beats; it was not executed.
`failed`: the evaluation ended for want of time, memory or a worker; `error`: by a defect of the
model. Neither says anything about the design."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One design that a study tried, and its result: a line of trials.jsonl.

    `number`: from 0; `batch`, `batch_size`: number of its batch, and how many trials that has;
    `key`: hash of the design and all that its result depends on; `point`: value of each knob by
    path; `status`: feasible, infeasible (cannot be built), violates (a constraint does not hold),
    excluded (not executed, by its lower bounds), failed or error (not evaluated);
    `baseline`: name, of a baseline; `metrics`: values in SI units;
    `violations`: text of each broken constraint and by how much it is exceeded; `reason`: why it is
    no answer; `same_as`: number of the earlier trial with the same design, whose result this one
    copies, and which counts in its place; `verified`: the mapping is proven to
    compute the workload and to fit, None where the model proves nothing; `proof`: optimal, or
    bounded with the relative distance `gap` to a lower bound (None: no bound above 0); `mappings`:
    metrics of each mapping of the design's own Pareto front, where one was asked for; `breakdown`:
    of energy (J), latency (s or cycles) and area (m²) by component; `sampler`:
    notes that the sampler needs when the run is resumed; `refused`: the `point`s that it drew
    before in the place of this one, which cannot be built, each with the `reason`.
    """

    number: int
    batch: int
    batch_size: int
    key: str
    point: Mapping[str, Value]
    status: TrialStatus
    baseline: str | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    violations: Mapping[str, float] = field(default_factory=dict)
    reason: str | None = None
    same_as: int | None = None
    verified: bool | None = None
    proof: Literal["optimal", "bounded"] | None = None
    gap: float | None = None
    mappings: Sequence[Mapping[str, float]] = ()
    breakdown: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    sampler: Mapping[str, object] = field(default_factory=dict)
    refused: Sequence[Mapping[str, Any]] = ()

    def __repr__(self) -> str:
        point = ", ".join(f"{label}={text}" for label, text in self._knobs())
        return f"<Trial {self.number}: {self.status}; {point}>"

    def _repr_html_(self) -> str:
        """Return the trial as a table for a notebook: status, knobs, metrics, what is proven."""
        from tilewright.arch.html_parts import html_table
        from tilewright.arch.quantities import label, quantity

        rows = [["", f"trial {self.number}"], ["status", self.status], ["", self.reason or ""]]
        rows += self._knobs()
        rows += [[label(name), quantity(value, name)] for name, value in self.metrics.items()]
        gap = "" if self.gap is None else f"{100 * self.gap:.3g} %"
        rows += [["proof", self.proof or ""], ["gap", gap if self.proof == "bounded" else ""]]
        return html_table([row for row in rows if row[1]], "<>")

    def _knobs(self) -> list[list[str]]:
        """Return the short label and the value, with its unit, of each knob."""
        from tilewright.dse.study.knobs import knob_labels, knob_text

        labels = zip(knob_labels(list(self.point)), self.point.items(), strict=True)
        return [[label, knob_text(path, value)] for label, (path, value) in labels]


def refused_in(trials: Iterable[Trial]) -> Iterator[Mapping[str, Any]]:
    """Yield the designs that were drawn in the place of trials and cannot be built, as drawn."""
    return (each for trial in trials for each in trial.refused)


def refused_alone(trials: Sequence[Trial]) -> dict[str, Mapping[str, Any]]:
    """Return the designs that were refused, each once, and are no trials: by their text."""
    refused = {canonical_json(each["point"]): each for each in refused_in(trials)}
    for trial in trials if refused else ():
        if trial.status == "infeasible":  # a baseline, or one after many that cannot be built
            refused.pop(canonical_json(trial.point), None)
    return refused


NO_VALUE = "an objective or limit has no value"
"""Begins the reason of a design for which an expression of its study fails: a division by zero."""


@dataclass(frozen=True, slots=True)
class Objective:
    """A metric of the designs, or an expression over metrics, and its goal.

    `metric`: name or expression, under which the value stands among the metrics of a trial; `goal`:
    minimize or maximize.
    """

    metric: str
    goal: Goal = "minimize"


def costs_of(trials: Sequence[Trial], objectives: Sequence[Objective]) -> NDArray[np.float64]:
    """Return the objectives of trials, shape (trials, objectives), where smaller is always better.

    Metrics to maximize change their sign.
    """
    values = [[trial.metrics[objective.metric] for objective in objectives] for trial in trials]
    return oriented(values, [objective.goal for objective in objectives])


def front_of(trials: Sequence[Trial], objectives: Sequence[Objective]) -> list[Trial]:
    """Return the Pareto front: the feasible trials that no other dominates, each design once.

    Sorted by the first objective from the best on, then by the next ones, then by trial number.
    """
    distinct = [t for t in trials if t.status == "feasible" and t.same_as is None]
    if not distinct:
        return []
    costs = costs_of(distinct, objectives)
    keep = non_dominated(costs)
    ranked = sorted(
        (tuple(row), trial.number, trial)
        for row, trial, is_kept in zip(costs.tolist(), distinct, keep, strict=True)
        if is_kept
    )
    return [trial for _, _, trial in ranked]


def points_of(front: Sequence[Trial], objectives: Sequence[Objective]) -> int:
    """Return the number of different points of a front; designs with equal objectives share one."""
    return len({tuple(row) for row in costs_of(front, objectives).tolist()}) if front else 0


def is_beaten(
    bounds: Mapping[str, float], executed: Sequence[Trial], objectives: Sequence[Objective]
) -> bool:
    """Return whether a feasible design of `executed` beats the lower bounds of another design.

    It is nowhere above the bounds and somewhere below, so the other design cannot be on the front.
    `objectives`: all of them metrics to minimize.
    """
    names = [objective.metric for objective in objectives]
    for trial in executed:
        if trial.status != "feasible":
            continue
        pairs = [(trial.metrics[name], bounds[name]) for name in names]
        if all(a <= b for a, b in pairs) and any(a < b for a, b in pairs):
            return True
    return False


class FrontSoFar:
    """The Pareto front of trials that grow: that of the last front and the new trials.

    `objectives`: those of the study.
    """

    def __init__(self, objectives: Sequence[Objective]) -> None:
        self._objectives = objectives
        self._front: list[Trial] = []
        self._seen = 0

    def of(self, trials: Sequence[Trial]) -> list[Trial]:
        """Return the front of `trials`, which begin with those of the last call."""
        self._front = front_of([*self._front, *trials[self._seen :]], self._objectives)
        self._seen = len(trials)
        return list(self._front)
