"""The study file: which keys it may have and what they may hold."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr

from tilewright.arch.spec.schema import SpecModel
from tilewright.dse.run.pareto import Goal
from tilewright.dse.study.sampler import SamplerName

Scalar = StrictBool | StrictInt | StrictFloat | StrictStr
Number = StrictInt | StrictFloat | StrictStr  # a string is an arithmetic expression
ModelName = Literal["analytical", "simulated", "grid_matmul", "blocked_matmul"]
MapperObjective = Literal["energy", "latency", "edp"]
Positive = Annotated[int, Field(strict=True, ge=1)]


class InputFile(SpecModel):
    """A file that a study names: its architecture or workload.

    `file`: a path beside the study file, or the name of a shipped file; `variables`: values for the
    variables of its template.
    """

    file: StrictStr
    variables: dict[str, Scalar] = Field(default_factory=dict)


class ArchFile(InputFile):
    """The architecture file of a study.

    `values`: fields to write anew, by dotted path (`Buffer.size`); knobs are applied after them.
    """

    values: dict[str, Scalar] = Field(default_factory=dict)


class ObjectiveItem(SpecModel):
    """An objective in a study file: a metric of the model and its goal, minimize or maximize."""

    metric: StrictStr
    goal: Goal = "minimize"


class ConstraintItem(SpecModel):
    """A constraint in a study file: `max`, `min` or both for the value of a metric.

    Limits are in the metric's SI unit; a text is an arithmetic expression (`6e-4 * 2`). At least
    one of them must be given.
    """

    metric: StrictStr
    max: Number | None = None
    min: Number | None = None


class KnobItem(SpecModel):
    """The values of one knob in a study file: exactly one of `values`, `range` and `pow2`.

    `values`: a list; `range`: [low, high], from low up to high in steps of `step` (1); `pow2`: all
    powers of two from low to high. A text is an arithmetic expression.
    """

    values: list[Scalar] | None = Field(default=None, min_length=1)
    range: tuple[Number, Number] | None = None
    step: Number | None = None
    pow2: tuple[Number, Number] | None = None


class SearchItem(SpecModel):
    """How a study file says that its design space is searched.

    `sampler`: nsga2 (default for several objectives), tpe (for one), random, grid or qmc; `trials`:
    how many designs are tried; `batch`: how many at once; `population`: designs in a generation of
    nsga2, None for a size that follows from the trials.
    """

    sampler: SamplerName | None = None
    trials: Positive = 100
    batch: Positive = 8
    population: Annotated[int, Field(strict=True, ge=2)] | None = None


class MapperItem(SpecModel):
    """What the mapper makes smallest in each design of an analytical study.

    `objective`: energy, latency or edp (energy times latency).
    """

    objective: MapperObjective = "edp"


class BaselineItem(SpecModel):
    """A design that a study tries first: `values` gives each knob a value by path.

    The first baseline is the reference that the report compares with.
    """

    name: StrictStr
    values: dict[str, Scalar]


class PublishedItem(SpecModel):
    """A figure that somebody else published for the question of a study, with its source.

    `metric`: of the model, in its SI unit. The report shows it beside the best design.
    """

    name: StrictStr
    metric: StrictStr
    value: Number
    source: StrictStr


class StudyFile(SpecModel):
    """The top level of a study file: a question about hardware and mapping, and how to search.

    `name`: of the study and its run directory; `question`: text; `seed`: of the search; `arch`,
    `workload`: input files; `model`: what evaluates a design; `machine`: profile of a simulated
    study; `objectives`, `constraints`: on metrics; `space`: values by knob path; `search`: sampler
    and budget; `mapper`: objective of an analytical study; `baselines`: designs to try first;
    `published`: figures of others to compare with.
    """

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
    published: list[PublishedItem] = Field(default_factory=list)
