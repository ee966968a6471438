"""One trial as a line of `trials.jsonl`: what was tried and what came out, without any clock."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Literal

from tilewright.dse.run.pareto import Goal, non_dominated, oriented
from tilewright.dse.study.design_space import Value

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TrialStatus = Literal["feasible", "infeasible", "violates", "error"]
"""`violates`: it can be built and has metrics, but a constraint of the study does not hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One design that a study tried, and its result: a line of trials.jsonl.

    `number`: from 0; `batch`: number of its batch; `key`: hash of the design and all that its
    result depends on; `point`: value of each knob by path; `status`: feasible, infeasible (cannot
    be built), violates (a constraint does not hold) or error (the model failed); `baseline`: name,
    of a baseline; `metrics`: values in SI units; `violations`: text of each broken constraint and
    by how much it is exceeded; `reason`: why it is infeasible; `same_as`: number of the earlier
    trial with the same design, whose result this one copies; `verified`: the mapping is proven to
    compute the workload and to fit, None where the model proves nothing; `sampler`: notes that the
    sampler needs when the run is resumed.
    """

    number: int
    batch: int
    key: str
    point: Mapping[str, Value]
    status: TrialStatus
    baseline: str | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    violations: Mapping[str, float] = field(default_factory=dict)
    reason: str | None = None
    same_as: int | None = None
    verified: bool | None = None
    sampler: Mapping[str, object] = field(default_factory=dict)

    def to_line(self) -> str:
        """Return the trial as one line of JSON (no line break); equal trials give equal bytes."""
        return json.dumps(
            asdict(self), ensure_ascii=False, allow_nan=False, separators=(", ", ": ")
        )

    @classmethod
    def from_line(cls, line: str) -> Trial:
        """Return the trial that a line of JSON holds.

        Raises ValueError or TypeError if the line is no trial.
        """
        return cls(**json.loads(line))


@dataclass(frozen=True, slots=True)
class Objective:
    """A metric of the designs and its goal, `minimize` or `maximize`."""

    metric: str
    goal: Goal = "minimize"


@dataclass(frozen=True, slots=True)
class Constraint:
    """Limits of a metric in its SI unit, `max` and `min` (None: no limit).

    A design beyond a limit gets the status violates and is no answer.
    """

    metric: str
    max: float | None = None
    min: float | None = None

    def excess(self, value: float) -> dict[str, float]:
        """Return for each limit by how much `value` exceeds it, in the metric's unit.

        Keys are texts like `area <= 0.0006`; a value of 0 or less means that the limit holds.
        """
        excess: dict[str, float] = {}
        if self.max is not None:
            excess[f"{self.metric} <= {self.max:.17g}"] = value - self.max
        if self.min is not None:
            excess[f"{self.metric} >= {self.min:.17g}"] = self.min - value
        return excess


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
