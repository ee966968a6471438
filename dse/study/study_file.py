"""The study file: which keys it may have and what they may hold."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr

from tilewright.arch.spec.schema import SpecModel
from tilewright.dse.run.pareto import Goal
from tilewright.dse.study.sampler import SamplerName

Scalar = StrictBool | StrictInt | StrictFloat | StrictStr
Number = StrictInt | StrictFloat | StrictStr  # a string is an arithmetic expression
ModelName = Literal["analytical", "simulated"]
MapperObjective = Literal["energy", "latency", "edp"]
Positive = Annotated[int, Field(strict=True, ge=1)]


class InputFile(SpecModel):
    """A file of the study: a path beside the study file, or the name of a shipped one."""

    file: StrictStr
    variables: dict[str, Scalar] = Field(default_factory=dict)


class ArchFile(InputFile):
    """The architecture. `values` are written into its fields first; knobs come after them."""

    values: dict[str, Scalar] = Field(default_factory=dict)


class ObjectiveItem(SpecModel):
    """A metric to minimize or maximize."""

    metric: StrictStr
    goal: Goal = "minimize"


class ConstraintItem(SpecModel):
    """A metric and its limits."""

    metric: StrictStr
    max: Number | None = None
    min: Number | None = None


class KnobItem(SpecModel):
    """The values of one knob: exactly one of values, range (with step) and pow2."""

    values: list[Scalar] | None = Field(default=None, min_length=1)
    range: tuple[Number, Number] | None = None
    step: Number | None = None
    pow2: tuple[Number, Number] | None = None


class SearchItem(SpecModel):
    """How the space is searched. `population`: designs in a generation of nsga2."""

    sampler: SamplerName | None = None
    trials: Positive = 100
    batch: Positive = 8
    population: Annotated[int, Field(strict=True, ge=2)] | None = None


class MapperItem(SpecModel):
    """What the mapper looks for in each design of an analytical study."""

    objective: MapperObjective = "edp"


class BaselineItem(SpecModel):
    """A design to try first; the first baseline is the reference design."""

    name: StrictStr
    values: dict[str, Scalar]


class StudyFile(SpecModel):
    """A question about hardware and mapping, and how to search for the answer."""

    name: StrictStr  # names a folder below runs/, too: study_reader checks it
    question: StrictStr = ""
    seed: Annotated[int, Field(strict=True, ge=0)] = 0
    arch: ArchFile
    workload: InputFile
    model: ModelName
    machine: StrictStr = "wse2-sdk-sim"
    objectives: Annotated[list[ObjectiveItem], Field(min_length=1)]
    constraints: list[ConstraintItem] = Field(default_factory=list)
    space: Annotated[dict[str, KnobItem], Field(min_length=1)]
    search: SearchItem = SearchItem()
    mapper: MapperItem = MapperItem()
    baselines: list[BaselineItem] = Field(default_factory=list)
