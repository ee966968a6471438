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
    """A design that was proposed, and its result.

    `same_as`: number of the earlier trial with the same design, whose result this one copies.
    `violations`: constraint -> by how much it is exceeded, of those that do not hold.
    `sampler`: what the sampler noted on the trial; it needs that again when a run is resumed.
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
    sampler: Mapping[str, object] = field(default_factory=dict)

    def to_line(self) -> str:
        """Return the JSON text of the trial; equal trials give equal bytes."""
        return json.dumps(
            asdict(self), ensure_ascii=False, allow_nan=False, separators=(", ", ": ")
        )

    @classmethod
    def from_line(cls, line: str) -> Trial:
        """Parse a line; ValueError or TypeError if it is not one of ours."""
        return cls(**json.loads(line))


@dataclass(frozen=True, slots=True)
class Objective:
    """A metric to make as small or as large as possible."""

    metric: str
    goal: Goal = "minimize"


@dataclass(frozen=True, slots=True)
class Constraint:
    """Limits of a metric; a design beyond them is no answer."""

    metric: str
    max: float | None = None
    min: float | None = None

    def excess(self, value: float) -> dict[str, float]:
        """Return, for each limit, by how much `value` exceeds it; <= 0 means that it holds."""
        excess: dict[str, float] = {}
        if self.max is not None:
            excess[f"{self.metric} <= {self.max:.17g}"] = value - self.max
        if self.min is not None:
            excess[f"{self.metric} >= {self.min:.17g}"] = self.min - value
        return excess


def costs_of(trials: Sequence[Trial], objectives: Sequence[Objective]) -> NDArray[np.float64]:
    """Return the objectives of trials, shape (trials, objectives), smaller is always better."""
    values = [[trial.metrics[objective.metric] for objective in objectives] for trial in trials]
    return oriented(values, [objective.goal for objective in objectives])


def front_of(trials: Sequence[Trial], objectives: Sequence[Objective]) -> list[Trial]:
    """Return the feasible trials that no other dominates, each design once, best first.

    Sorted by the first objective, then the next ones, then the number of the trial.
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
