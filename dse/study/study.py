"""A study: the resolved form of a study file, ready to run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tilewright.dse.run.record import Constraint, Objective
from tilewright.dse.study.design_space import Space, Value
from tilewright.dse.study.sampler import SamplerName
from tilewright.dse.study.study_file import MapperObjective, ModelName


@dataclass(frozen=True, slots=True)
class StudyInput:
    """An input file (absolute path), the values for its variables, and fields written anew."""

    file: str
    variables: Mapping[str, Value]
    values: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Baseline:
    """A named design that is tried first."""

    name: str
    point: Mapping[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class StudySpec:
    """Everything that decides what a study does; `resolved` is the same as a study file's data."""

    name: str
    question: str
    seed: int
    arch: StudyInput
    workload: StudyInput
    model: ModelName
    machine: str
    objectives: tuple[Objective, ...]
    constraints: tuple[Constraint, ...]
    space: Space
    sampler: SamplerName
    trials: int
    batch: int
    population: int
    mapper_objective: MapperObjective
    baselines: tuple[Baseline, ...]
    resolved: Mapping[str, Any]

    def batch_size(self, number: int) -> int:
        """Return how many trials batch `number` has."""
        return max(0, min(self.batch, self.trials - number * self.batch))

    @property
    def baseline_names(self) -> tuple[str, ...]:
        return tuple(baseline.name for baseline in self.baselines)
