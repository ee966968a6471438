"""A study: the resolved form of a study file, ready to run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tilewright.dse.run.figures import Constraint, uses_base
from tilewright.dse.run.record import Objective
from tilewright.dse.study.design_space import Space, Value

if TYPE_CHECKING:  # a worker process needs no reader of files
    from tilewright.dse.study.study_file import ModelName


@dataclass(frozen=True, slots=True)
class StudyInput:
    """An input file of a study.

    `file`: absolute path; `variables`: values for variables of its template; `values`: fields of
    the architecture that the study writes anew, by dotted path. `weight`, `name`: of one of several
    workloads; `names`: of all of them, for knobs of one (`workload.bert.TOKENS`).
    """

    file: str
    variables: Mapping[str, Value]
    values: Mapping[str, Value] = field(default_factory=dict)
    weight: float = 1.0
    name: str = ""
    names: tuple[str, ...] = ()

    def knobs_of_workload(self, knobs: Mapping[str, Value]) -> dict[str, Value]:
        """Return the `workload.` knobs that change this workload, as its variables and fields.

        `knobs`: of all workloads, without `workload.`; that of one of them goes before one of all.
        """
        shared: dict[str, Value] = {}
        alone: dict[str, Value] = {}
        for path, value in knobs.items():
            name, _, field_path = path.partition(".")
            if not field_path or name not in self.names:
                shared[path] = value
            elif name == self.name:
                alone[field_path] = value
        return {**shared, **alone}


@dataclass(frozen=True, slots=True)
class Baseline:
    """A named design that is tried before all others; `point` gives each knob's value by path.

    `own`: the values of knobs that it leaves as the study's files have them.
    """

    name: str
    point: Mapping[str, Value]
    own: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Published:
    """A figure that somebody else published: `value` of a metric in SI units, and its `source`."""

    name: str
    metric: str
    value: float
    source: str


@dataclass(frozen=True, slots=True)
class DesignLimits:
    """What the evaluation of one design may take: `seconds`, `memory` in bytes (None: no limit)."""

    seconds: float | None = None
    memory: float | None = None

    @property
    def is_limited(self) -> bool:
        """Whether there is any limit."""
        return self.seconds is not None or self.memory is not None


NO_LIMITS = DesignLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class StudySpec:
    """A study with everything that decides its result, checked and complete.

    `question`: text for the report; `arch`, `workloads`: input files; `model`: what evaluates a
    design; `machine`: profile of the simulated machine; `objectives`, `constraints`: on metrics;
    `space`: the designs; `sampler` with `sampler_options`, `seed`, `population`: how it is
    searched; `trials`: how many designs that can be built, `batch`: how many at once; `target`:
    designs of any kind after which it ends, 0: twice the trials; `limits`: of each evaluation;
    `islands`: how many searches of its own kind there are, of which each tries `migration` designs
    between two exchanges of their fronts;
    `bounds_first`: a design whose lower bounds an executed design beats is not executed;
    `mapper`: options of the search of mappings in an analytical study; `baselines`: tried first;
    `published`: figures of others to compare with; `resolved`: the same as data of a study file.
    """

    name: str
    question: str
    seed: int
    arch: StudyInput
    workloads: tuple[StudyInput, ...]
    model: ModelName
    machine: str
    objectives: tuple[Objective, ...]
    constraints: tuple[Constraint, ...]
    space: Space
    sampler: str
    trials: int
    batch: int
    population: int
    mapper: Mapping[str, Any]
    baselines: tuple[Baseline, ...]
    resolved: Mapping[str, Any]
    published: tuple[Published, ...] = ()
    sampler_options: Mapping[str, Value] = field(default_factory=dict)
    limits: DesignLimits = DesignLimits()
    bounds_first: bool = False
    islands: int = 1
    migration: int = 0
    target: int = 0

    @property
    def most_designs(self) -> int:
        """How many designs are evaluated at most, those that cannot be built among them."""
        return self.target or 2 * self.trials

    @property
    def workload(self) -> StudyInput:
        """The first workload."""
        return self.workloads[0]

    @property
    def mapper_objective(self) -> str:
        """What the mapper makes smallest in each design of an analytical study."""
        return str(self.mapper["objective"])

    @property
    def baseline_names(self) -> tuple[str, ...]:
        """The names of the baselines, in the order in which they are tried."""
        return tuple(baseline.name for baseline in self.baselines)

    @property
    def uses_base(self) -> bool:
        """Whether an objective or a limit takes the metrics of the first baseline."""
        limits = [side for limit in self.constraints for side in (limit.left, limit.right)]
        return any(uses_base(text) for text in (*(o.metric for o in self.objectives), *limits))

    @property
    def paths(self) -> tuple[str, ...]:
        """The input files with a path of their own: architecture, workloads, machine profile."""
        machine = (self.machine,) if self.machine.endswith((".yaml", ".yml")) else ()
        return (self.arch.file, *(workload.file for workload in self.workloads), *machine)
