"""The files of a study as a worker sees them: loaded once per process, then changed by knobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright.dse.study.design_space import Point, Value, canonical_json

if TYPE_CHECKING:
    from tilewright.arch.spec.architecture import Arch
    from tilewright.dse.study.study import StudyInput
    from tilewright.mapper.layout.machines.layout_machine import LayoutMachine
    from tilewright.mapper.workload.workload import Workload


def architecture(source: StudyInput, point: Point) -> Arch:
    """Return the architecture of one design: the file with the design's `arch.` knobs set.

    `source`: the file, values for its variables, and fields that the study changes. The loaded file
    is cached in the process. Raises SpecError for a knob that names no field.
    """
    values = {**source.values, **knobs(point, "arch.")}
    arch = _load_arch(source.file, canonical_json(dict(source.variables)))
    return arch.with_values(values) if values else arch


def layout_machine(source: StudyInput, point: Point) -> LayoutMachine:
    """Return the machine of one design of a layout study, with the design's `arch.` knobs set.

    `source`: the machine's file and numbers that the study changes. Raises SpecError for a knob
    that names no number.
    """
    from tilewright.mapper.layout.machines.layout_machine import changed_machine, load_machine

    values = {**source.values, **knobs(point, "arch.")}
    return changed_machine(source.file, values) if values else load_machine(source.file)


def workload(source: StudyInput, point: Point) -> Workload:
    """Return the workload of one design: its `workload.` knobs are variables or fields of the file.

    `source`: the file and values for its variables. A knob with a dot in its name is a field below
    the file's `workload:`, such as `workload.rank_sizes.M`; the name of one of several workloads
    may stand before it. The loaded file is cached in the process. Raises SpecError for what the
    file gets wrong.
    """
    values = source.knobs_of_workload(knobs(point, "workload."))
    fields = {name: value for name, value in values.items() if "." in name}
    variables = {**source.variables, **{k: v for k, v in values.items() if k not in fields}}
    return _load_workload(source.file, canonical_json(variables), canonical_json(fields))


def mapping_choices(point: Point, einsum: str) -> dict[str, str | int]:
    """Return the choices of a mapping that the knobs make for one Einsum, by name of the choice.

    Knobs are called `mapping.<einsum>.<choice>`; `mapping.*.<choice>` holds for every Einsum,
    unless the Einsum has its own.
    """
    choices: dict[str, str | int] = {}
    for prefix in ("mapping.*.", f"mapping.{einsum}."):
        for name, value in knobs(point, prefix).items():
            choices[name] = value if isinstance(value, int | str) else str(value)
    return choices


def knobs(point: Point, prefix: str) -> dict[str, Value]:
    """Return the knobs of a design whose path starts with `prefix`, with the prefix removed."""
    return {k.removeprefix(prefix): v for k, v in point.items() if k.startswith(prefix)}


@lru_cache(maxsize=8)
def _load_arch(file: str, variables: str) -> Arch:
    from tilewright.arch.spec.load import load_arch

    return load_arch(Path(file), variables=_parsed(variables))


@lru_cache(maxsize=32)
def _load_workload(file: str, variables: str, fields: str) -> Workload:
    from tilewright.arch.files.source import load_document
    from tilewright.dse.study.changed_keys import replaced
    from tilewright.mapper.workload.workload_loading import load_workload

    values = _parsed(variables)
    document = load_document(Path(file), variables=values)
    changes = {f"workload.{path}": value for path, value in _parsed(fields).items()}
    changed = replace(document, data=replaced(document.data, changes)) if changes else document
    return load_workload(changed, variables=values)


def _parsed(variables: str) -> Mapping[str, Value]:
    import json

    parsed: dict[str, Value] = json.loads(variables)
    return parsed
