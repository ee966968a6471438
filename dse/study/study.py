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
    """An input file of a study.

    `file`: absolute path; `variables`: values for variables of its template; `values`: fields of
    the architecture that the study writes anew, by dotted path.
    """

    file: str
    variables: Mapping[str, Value]
    values: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Baseline:
    """A named design that is tried before all others; `point` gives each knob's value by path."""

    name: str
    point: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Published:
    """A figure that somebody else published: `value` of a metric in SI units, and its `source`."""

    name: str
    metric: str
    value: float
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StudySpec:
    """A study with everything that decides its result, checked and complete.

    `question`: text for the report; `arch`, `workload`: input files; `model`: what evaluates a
    design; `machine`: profile of the simulated machine; `objectives`, `constraints`: on metrics;
    `space`: the designs; `sampler`, `seed`, `population`: how it is searched; `trials`: how many
    designs, `batch`: how many at once; `mapper_objective`: what the mapper makes smallest in an
    analytical study; `baselines`: tried first; `published`: figures of others to compare with;
    `resolved`: the same as data of a study file.
    """

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
    published: tuple[Published, ...] = ()

    def batch_size(self, number: int) -> int:
        """Return how many trials batch `number` (from 0) has; the last one may be smaller."""
        return max(0, min(self.batch, self.trials - number * self.batch))

    @property
    def baseline_names(self) -> tuple[str, ...]:
        """The names of the baselines, in the order in which they are tried."""
        return tuple(baseline.name for baseline in self.baselines)
