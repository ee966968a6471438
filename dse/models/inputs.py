"""The files of a study as a worker sees them: loaded once per process, then changed by knobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.arch.errors import TilewrightError
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


@dataclass(frozen=True, slots=True)
class OwnValues:
    """What the files of a study say where a knob does not change them.

    `arch`: the architecture's file; None: it is a machine description of layouts, whose numbers
    are not looked up. `workloads`: their files; `machine`: name or path of the profile; `mapper`:
    options of the study for the search of mappings; `choices`: type of the choices of a mapping, if
    the study's model has any.
    """

    arch: StudyInput | None
    workloads: Sequence[StudyInput]
    machine: str
    mapper: Mapping[str, Any]
    choices: type | None

    def check_architecture(self) -> None:
        """Raise SpecError for what is wrong in the architecture's file: `of` would find nothing."""
        if self.arch is not None:
            architecture(self.arch, {})

    def of(self, knob: str) -> Value | None:
        """Return the value that a knob's field has in the files; None if they have none.

        `knob`: its path, such as `arch.Buffer.size`.
        """
        kind, _, name = knob.partition(".")
        found: object = None
        with suppress(TilewrightError):  # what is wrong in a file is said when it is checked
            if kind == "arch":
                found = None if self.arch is None else _written_in_arch(self.arch, name)
            elif kind == "workload":
                found = self._of_workloads(name)
            elif kind == "machine":
                found = self._of_machine(name)
            elif kind == "mapping":
                defaults = fields(self.choices) if self.choices is not None else ()
                choice = name.rpartition(".")[2]
                found = next((each.default for each in defaults if each.name == choice), None)
            else:
                found = self.mapper.get(name)
        if isinstance(found, list | tuple):  # names, which a knob has as one text
            found = ",".join(map(str, found))
        return found if isinstance(found, bool | int | float | str) else None

    def _of_workloads(self, name: str) -> object | None:
        """Return what all workloads that a knob changes have alike."""
        values = [
            _written_in(source, path)
            for source in self.workloads
            for path in source.knobs_of_workload({name: 0})
        ]
        alike = bool(values) and all(value == values[0] for value in values)
        return values[0] if alike else None

    def _of_machine(self, name: str) -> object | None:
        from tilewright.simulator.profiles.profile import load_profile

        found: object = load_profile(self.machine)
        for step in name.split("."):
            found = found.get(step) if isinstance(found, Mapping) else getattr(found, step, None)
        return found


def _written_in_arch(source: StudyInput, name: str) -> object:
    """Return the value of a field or variable of an architecture, as `with_values` calls it.

    Raises SpecError for what does not exist, or depends on more than the variables.
    """
    from tilewright.arch.expressions.expressions import evaluate
    from tilewright.arch.flattening.scope import LazyNames

    arch = architecture(source, {})
    return evaluate(arch.value_of(name), LazyNames(arch.variables, {}, arch.variable_places.get))


def _written_in(source: StudyInput, path: str) -> object | None:
    """Return a field of a workload's file, or the value of a variable of its template.

    None if it is not there, or if the template computes what stands for the variable by default.
    """
    from tilewright.arch.files.source import load_document
    from tilewright.dse.command.settings import default_of

    if "." not in path:
        given = source.variables.get(path)
        return default_of(Path(source.file), path) if given is None else given
    found: object = load_document(Path(source.file), variables=source.variables).data
    for step in ("workload", *path.split(".")):
        found = found.get(step) if isinstance(found, dict) else None
    return found


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
