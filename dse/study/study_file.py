"""The study file: which keys it may have and what they may hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    WithJsonSchema,
)

from tilewright.arch.spec.schema import SpecModel, no_entries, no_items
from tilewright.dse.run.pareto import Goal
from tilewright.dse.sampling.sampler_names import NAMES

Scalar = StrictBool | StrictInt | StrictFloat | StrictStr
Number = StrictInt | StrictFloat | StrictStr  # a string is an arithmetic expression
ModelName = Literal["analytical", "simulated", "grid_matmul", "blocked_matmul"]
Above0 = Annotated[
    Number, WithJsonSchema({"type": ["number", "string"], "exclusiveMinimum": 0, "minLength": 1})
]
NAME_OF_A_STUDY = r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}"
_SAMPLER = rf"^({'|'.join(NAMES)})$|\."
Positive = Annotated[int, Field(strict=True, ge=1)]
Natural = Annotated[int, Field(strict=True, ge=0)]


def _metric_alone(value: Any) -> Any:
    return {"metric": value} if isinstance(value, str) else value


def _limit_alone(value: Any) -> Any:
    return {"limit": value} if isinstance(value, str) else value


def _with(key: str) -> dict[str, Any]:
    """Return the JSON Schema of what has a value under a key: `key: null` is none."""
    return {"required": [key], "properties": {key: {"not": {"type": "null"}}}}


def _one_of(*keys: str, **more: Any) -> ConfigDict:
    """Return the settings of a model whose JSON Schema asks for exactly one of some keys."""
    return ConfigDict(json_schema_extra={"oneOf": [_with(key) for key in keys], **more})


def _if(condition: dict[str, Any], then: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of what is as `then` if it is as `condition`."""
    return {"if": condition, "then": then}


def _only_of(model: ModelName, others: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of a study: `others` are the keys of studies of any other model."""
    is_model = {"properties": {"model": {"const": model}}}
    return _if({"not": is_model}, {"properties": others})


def _may_be_text(read: Callable[[Any], Any], item: type[SpecModel]) -> BeforeValidator:
    """Return a validator that takes a text for an item, and says so in the JSON Schema."""
    return BeforeValidator(read, json_schema_input_type=str | item)


class InputFile(SpecModel):
    """A file that a study names: its architecture or workload.

    `file`: a path beside the study file, or the name of a shipped file; `variables`: values for the
    variables of its template.
    """

    file: StrictStr
    variables: dict[str, Scalar] = Field(default_factory=no_entries)


class WorkloadItem(InputFile):
    """One of several workloads of a study.

    `weight`: how often it counts in energy, latency and other sums; `name`: before its own metrics
    (`bert.energy`), by default the name of the file.
    """

    weight: Above0 = 1
    name: StrictStr | None = None


class ArchFile(InputFile):
    """The architecture file of a study.

    `values`: fields to write anew, by dotted path (`Buffer.size`); knobs are applied after them.
    """

    values: dict[str, Scalar] = Field(default_factory=no_entries)


class ObjectiveItem(SpecModel):
    """An objective in a study file: a metric, or an expression over metrics, and its goal.

    `goal`: minimize or maximize. A text alone is a metric to minimize.
    """

    metric: StrictStr
    goal: Goal = "minimize"


class ConstraintItem(SpecModel):
    """A constraint in a study file: a `limit`, or `max`, `min` or both for the value of a metric.

    `limit` compares expressions over metrics (`area <= 1.2 * base.area`); a text alone is one.
    `metric` is a metric or an expression. Limits are in SI units; a text is an expression, in which
    `base` has the metrics of the first baseline.
    """

    model_config = _one_of(
        "limit",
        "metric",
        **_if(_with("metric"), {"anyOf": [_with("max"), _with("min")]}),
    )

    limit: StrictStr | None = None
    metric: StrictStr | None = None
    max: Number | None = None
    min: Number | None = None


class KnobItem(SpecModel):
    """The values of one knob in a study file: exactly one of `values`, `range` and `pow2`.

    `values`: a list; `range`: [low, high], from low up to high in steps of `step` (1); `pow2`: all
    powers of two from low to high. A text is an arithmetic expression. `name`: a short name for
    reports and queries.
    """

    model_config = _one_of("values", "range", "pow2", **_if(_with("step"), _with("range")))

    values: list[Scalar] | None = Field(
        default=None, min_length=1, json_schema_extra={"uniqueItems": True}
    )
    range: tuple[Number, Number] | None = None
    step: Above0 | None = None
    pow2: tuple[Number, Number] | None = None
    name: StrictStr | None = None


class SearchItem(SpecModel):
    """How a study file says that its design space is searched.

    `sampler`: nsga2 (default for several objectives), tpe (for one), nsga3, cmaes, gp, bottleneck,
    random, grid, exhaustive, qmc, or the import path of a sampler of Optuna; `options`: keywords
    for it; `trials`: how many different designs are tried; `batch`: how many at once; `population`:
    designs in a generation of nsga2, None for a size that follows from the trials. `limit_s`:
    seconds, and `limit_memory`: bytes of the process, that one design may take. `bounds_first`: of
    a simulated study, execute only designs whose lower bounds no executed design beats. `islands`:
    how many searches with a coordinator each there are, which exchange designs of their fronts
    after every `migration` designs.
    """

    model_config = ConfigDict(
        json_schema_extra=_if(
            _with("migration"), {"required": ["islands"], "properties": {"islands": {"minimum": 2}}}
        )
    )

    sampler: Annotated[StrictStr, Field(json_schema_extra={"pattern": _SAMPLER})] | None = None
    options: dict[str, Scalar] = Field(default_factory=no_entries)
    trials: Positive = 100
    batch: Positive = 8
    population: Annotated[int, Field(strict=True, ge=2)] | None = None
    limit_s: Above0 | None = None
    limit_memory: Above0 | None = None
    bounds_first: StrictBool = False
    islands: Annotated[int, Field(strict=True, ge=1, le=999)] = 1
    migration: Positive | None = None


class MapperItem(SpecModel):
    """What the mapper searches in each design of an analytical study: the options of `map`.

    `objective`: energy, latency, edp, or a formula of these and of usage.MEMORY; `front`: metrics
    whose Pareto set of mappings each design records; `budget`: seconds; `max_memory`: bytes of the
    process; `fusion`, `uneven`, `method`, `seed`, `einsum`, `conventions`: as of `tilewright map`.
    """

    objective: StrictStr = "edp"
    front: list[StrictStr] = Field(default_factory=no_items)
    budget: Number | None = None
    max_memory: Above0 | None = None
    fusion: StrictBool = True
    uneven: list[StrictStr] = Field(default_factory=no_items)
    method: StrictStr | None = None
    seed: Natural = 0
    einsum: StrictStr | None = None
    conventions: Literal["default", "accelforge"] = "default"


class BaselineItem(SpecModel):
    """A design that a study tries first: `values` gives knobs a value by path or short name.

    Other knobs have what the files have without them. The first baseline is the reference that the
    report compares with.
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


Objectives = Annotated[
    list[Annotated[ObjectiveItem, _may_be_text(_metric_alone, ObjectiveItem)]],
    Field(min_length=1, json_schema_extra={"uniqueItems": True}),
]
Constraints = list[Annotated[ConstraintItem, _may_be_text(_limit_alone, ConstraintItem)]]


_KNOB_PATH = (
    r"^(arch|machine)\..|^workload\.(?!variables\.).|^mapping\.[^.]+\.."
    rf"|^mapper\.({'|'.join(MapperItem.model_fields)})$"
)


class StudyFile(SpecModel):
    """The top level of a study file: a question about hardware and mapping, and how to search.

    `name`: of the study and its run directory; `question`: text; `seed`: of the search; `arch`,
    `workload`: input files, or `workloads`: several with weights; `model`: what evaluates a design;
    `machine`: profile of a simulated study; `objectives`, `constraints`: on metrics; `space`:
    values by knob path; `search`: sampler and budget; `mapper`: options of an analytical study;
    `baselines`: designs to try first; `published`: figures of others to compare with.
    """

    model_config = _one_of(
        "workload",
        "workloads",
        allOf=[
            _only_of("analytical", {"mapper": {"maxProperties": 0}}),
            _only_of("simulated", {"search": {"properties": {"bounds_first": {"const": False}}}}),
        ],
    )

    # It names a folder below runs/, too: study_reader checks it.
    name: Annotated[StrictStr, Field(json_schema_extra={"pattern": f"^{NAME_OF_A_STUDY}$"})]
    question: StrictStr = ""
    seed: Natural = 0
    arch: ArchFile
    workload: InputFile | None = None
    workloads: list[WorkloadItem] | None = Field(default=None, min_length=1)
    model: ModelName
    machine: StrictStr = "wse2-sdk-sim"
    objectives: Objectives
    constraints: Constraints = Field(default_factory=no_items)
    space: Annotated[
        dict[str, KnobItem],
        Field(min_length=1, json_schema_extra={"propertyNames": {"pattern": _KNOB_PATH}}),
    ]
    search: SearchItem = SearchItem.model_construct()
    mapper: MapperItem = MapperItem.model_construct()
    baselines: list[BaselineItem] = Field(default_factory=no_items)
    published: list[PublishedItem] = Field(default_factory=no_items)
