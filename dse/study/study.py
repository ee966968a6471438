"""A study: the resolved form of a study file, ready to run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tilewright.arch.errors import SpecError, Where
from tilewright.dse.run.record import Constraint, Objective
from tilewright.dse.study.design_space import Space, Value
from tilewright.dse.study.sampler import SamplerName
from tilewright.dse.study.study_file import MapperObjective, ModelName, StudyFile


@dataclass(frozen=True, slots=True)
class Source:
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
    arch: Source
    workload: Source
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


def load_study(path: Path, settings: Mapping[str, Value] | None = None) -> StudySpec:
    """Load a study file.

    `settings` (--set): a dotted path of the study file (`search.batch`, `arch.variables.N`)
    replaces that value; any other name is a variable of the study's template, of its architecture
    and of its workload. SpecError with file and line for what does not hold.
    """
    from tilewright.arch.files.source import load_document
    from tilewright.dse.command.settings import check_used
    from tilewright.dse.study.study_reader import StudyReader

    fields, variables = _split(settings or {})
    document = load_document(path, variables=variables)
    reader = StudyReader(document, path.resolve().parent)
    spec = reader.read(fields, variables)
    check_used(variables, (path, Path(spec.arch.file), Path(spec.workload.file)))
    return spec


def load_stored_study(path: Path) -> StudySpec:
    """Load the study of a run to look at it: the files that it names need not be there."""
    from tilewright.arch.files.source import load_document
    from tilewright.dse.study.study_reader import StudyReader

    return StudyReader(load_document(path), path.resolve().parent, stored=True).read({}, {})


def differing_keys(before: Mapping[str, Any], now: Mapping[str, Any], path: str = "") -> list[str]:
    """Name the keys whose values differ, as `search.trials: 60 -> 100`."""
    found: list[str] = []
    for key in sorted(set(before) | set(now)):
        name = f"{path}.{key}" if path else str(key)
        old, new = before.get(key), now.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            found += differing_keys(old, new, name)
        elif old != new or type(old) is not type(new):
            found.append(f"{name}: {_shown(old)} -> {_shown(new)}")
    return found


def replaced(data: Any, settings: Mapping[str, Value]) -> Any:
    """Return plain data with the values at dotted paths replaced; SpecError for no such place."""
    for key, value in settings.items():
        data = _with(data, key.split("."), value, key)
    return data


def _with(data: Any, steps: list[str], value: Value, key: str) -> Any:
    if not steps:
        return value
    head, rest = steps[0], steps[1:]
    if isinstance(data, list):
        if not head.isdigit() or int(head) >= len(data):
            raise SpecError(f"--set {key}: the list has no item `{head}`", where=_COMMAND_LINE)
        position = int(head)
        return [*data[:position], _with(data[position], rest, value, key), *data[position + 1 :]]
    if data is not None and not isinstance(data, dict):
        raise SpecError(f"--set {key}: `{head}` lies below a plain value", where=_COMMAND_LINE)
    table = data or {}
    for end in range(len(steps), 1, -1):  # the knobs of a space have dots in their names
        name = ".".join(steps[:end])
        if name in table:
            return {**table, name: _with(table[name], steps[end:], value, key)}
    return {**table, head: _with(table.get(head), rest, value, key)}


_COMMAND_LINE = Where("command line")


def _split(settings: Mapping[str, Value]) -> tuple[dict[str, Value], dict[str, Value]]:
    names = set(StudyFile.model_fields)
    fields = {k: v for k, v in settings.items() if k.split(".")[0] in names}
    return fields, {k: v for k, v in settings.items() if k not in fields}


def _shown(value: object) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= 60 else text[:59] + "…"
