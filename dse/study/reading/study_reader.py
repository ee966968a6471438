"""From the data of a study file to a StudySpec, with the place of everything that is wrong."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tilewright.arch.errors import SpecError, Where, placed
from tilewright.arch.expressions.units import units_in
from tilewright.arch.files.document import DocPath, Document, untag
from tilewright.dse.command.settings import check_used
from tilewright.dse.command.shipped import Kind, find_file
from tilewright.dse.models.evaluators import LAYOUT_MODELS, METRICS, choices_type
from tilewright.dse.models.inputs import OwnValues
from tilewright.dse.run.figures import BASE, check_names
from tilewright.dse.sampling.sampler_names import check_sampler
from tilewright.dse.study.changed_keys import replaced
from tilewright.dse.study.design_space import Space, Value
from tilewright.dse.study.reading.baseline_reader import BaselineReader
from tilewright.dse.study.reading.knob_reader import MAPPER_METRICS, KnobReader, check_effects
from tilewright.dse.study.reading.metric_reader import MetricReader
from tilewright.dse.study.study import Baseline, DesignLimits, StudyInput, StudySpec
from tilewright.dse.study.study_file import NAME_OF_A_STUDY, ArchFile, InputFile, StudyFile

_NAME = re.compile(NAME_OF_A_STUDY)


class StudyReader:
    """Checks the data of one study file and turns it into a study.

    `document`: the file; `base`: folder in which the input files are looked for; `stored`: the
    study is that of an old run that is only looked at, so its files are not looked for; `resolved`:
    it is that of a run, so each input has all variables of --set, also those that it does not use.
    """

    def __init__(
        self, document: Document, base: Path, *, stored: bool = False, resolved: bool = False
    ) -> None:
        self._document = document
        self._base = base
        self._stored = stored
        self._resolved = resolved
        self._knobs = KnobReader(document)

    def read(self, fields: Mapping[str, Value], variables: Mapping[str, Value]) -> StudySpec:
        """Return the checked study, with defaults filled in.

        `fields`: values to replace, by dotted path; `variables`: values for the variables of its
        input files. Raises SpecError, with the place in the file, for everything that is wrong.
        """
        from tilewright.arch.spec.schema import parse

        self._check_finite(self._document.data, ())
        data = replaced(self._document.data, fields)
        file = parse(StudyFile, self._document, data=data)
        self._check_name(file.name)
        space = self._knobs.space(file)
        check_effects(space, file.model)
        arch, workloads = self._arch(file, variables), self._workloads(file, variables)
        machine = self._machine(file)
        search = file.search
        sampler = search.sampler or ("nsga2" if len(file.objectives) > 1 else "tpe")
        check_sampler(sampler, len(file.objectives), self._where("search", "sampler"))
        trials = min(search.trials, space.size)
        each = trials // search.islands
        population = search.population or min(50, max(4, each // 5, search.batch))
        migration = self._migration(file, sampler, each)
        resolved = _resolved(file, arch, workloads, machine)
        resolved["search"] |= {"sampler": sampler, "trials": trials, "population": population}
        if migration:
            resolved["search"]["migration"] = migration
        names = self._expression_names(file, workloads)
        metrics = MetricReader(self._document, self._knobs, file.model, names)
        mapper = self._mapper(file)
        hardware = None if file.model in LAYOUT_MODELS else arch
        files = OwnValues(hardware, workloads, machine, mapper, choices_type(file.model))
        baselines = self._baselines(file, space, files, resolved)
        return StudySpec(
            name=file.name,
            question=file.question.strip(),
            seed=file.seed,
            arch=arch,
            workloads=workloads,
            model=file.model,
            machine=machine,
            objectives=metrics.objectives(file),
            constraints=tuple(metrics.constraints(file)),
            space=space,
            sampler=sampler,
            sampler_options=search.options,
            trials=trials,
            batch=search.batch,
            population=population,
            limits=self._limits(file),
            bounds_first=metrics.bounds_first(file),
            islands=search.islands,
            migration=migration,
            mapper=mapper,
            baselines=baselines,
            resolved=resolved,
            published=metrics.published(file),
        )

    def _baselines(
        self, file: StudyFile, space: Space, files: OwnValues, resolved: dict[str, Any]
    ) -> tuple[Baseline, ...]:
        """Return the baselines, and write them to `resolved` with every knob by its path."""
        reader = BaselineReader(self._document, self._knobs, space, None if self._stored else files)
        baselines = tuple(reader.baseline(*item) for item in enumerate(file.baselines))
        for written, baseline in zip(resolved["baselines"], baselines, strict=True):
            written["values"] = {reader.path(k): v for k, v in written["values"].items()}
            written["values"] |= baseline.own
        return baselines

    def _where(self, *path: str | int) -> Where:
        return self._document.where(path)

    def _check_finite(self, value: object, path: DocPath) -> None:
        """Refuse NaN and infinity anywhere: no record of a run could hold them."""
        value = untag(value)
        if isinstance(value, float) and not math.isfinite(value):
            raise SpecError(
                "this number is not finite",
                where=self._where(*path),
                value=value,
                instead="a finite number; for a size or throughput without limit the text 'inf'",
            )
        items: Iterable[tuple[Any, object]] = ()
        if isinstance(value, dict):
            items = value.items()
        elif isinstance(value, list):
            items = enumerate(value)
        for key, inner in items:
            self._check_finite(inner, (*path, key))

    def _check_name(self, name: str) -> None:
        """Check that the name of a study can be the name of its run directory.

        It has letters, digits, `_`, `-` and `.` only, and leads to no other folder. Raises
        SpecError.
        """
        if not _NAME.fullmatch(name):
            raise SpecError(
                "the name of a study has at most 100 letters (A-Z, a-z), digits, `_`, `-` and `.`,"
                " and no dot at its start",
                where=self._where("name"),
                value=name,
                instead=f"name: {re.sub(r'[^A-Za-z0-9_-]+', '_', name).strip('_') or 'study'}",
            )

    def _arch(self, file: StudyFile, variables: Mapping[str, Value]) -> StudyInput:
        """Return the architecture, or the machine description of a layout study.

        Raises SpecError for variables of a machine description.
        """
        if file.model not in LAYOUT_MODELS or self._stored:
            return self._source(file.arch, "hardware", variables, "arch")
        from tilewright.mapper.layout.machines.layout_machine import machine_file

        with placed(self._where("arch", "file")):
            path = machine_file(file.arch.file, self._base)
        if file.arch.variables:
            raise SpecError(
                "a machine description has no variables",
                where=self._where("arch", "variables"),
                instead="arch.values, such as {rates.clock_hz: 1e9}",
            )
        return StudyInput(str(path), {}, file.arch.values)

    def _workloads(self, file: StudyFile, variables: Mapping[str, Value]) -> tuple[StudyInput, ...]:
        if (file.workload is None) == (file.workloads is None):
            raise SpecError(
                "a study has a workload, or several workloads",
                where=self._where(),
                instead="workload: {file: …}, or workloads: [{file: …, weight: 2}, …]",
            )
        if file.workload is not None:
            return (self._source(file.workload, "workloads", variables, "workload"),)
        inputs: list[StudyInput] = []
        for position, item in enumerate(file.workloads or ()):
            place = ("workloads", position)
            read = self._source(item, "workloads", variables, *place)
            name = item.name or re.sub(r"\W", "_", Path(item.file).stem)
            weight = self._knobs.number(item.weight, *place, "weight")
            if weight <= 0 or units_in(item.weight):
                where = self._where(*place, "weight")
                words = "a weight is a number above 0, without a unit"
                raise SpecError(words, where=where, value=item.weight)
            if not name.isidentifier() or name in (BASE, *(each.name for each in inputs)):
                raise SpecError(
                    "each workload needs a name of its own, of letters, digits and _",
                    where=self._where(*place),
                    value=name,
                    instead="add a name: {file: …, name: second}",
                )
            inputs.append(StudyInput(read.file, read.variables, {}, float(weight), name))
        names = tuple(each.name for each in inputs)
        return tuple(replace(each, names=names) for each in inputs)

    def _source(
        self, item: InputFile, kind: Kind, variables: Mapping[str, Value], *place: str | int
    ) -> StudyInput:
        values = item.values if isinstance(item, ArchFile) else {}
        if self._stored:
            return StudyInput(item.file, dict(item.variables), values)
        path = find_file(item.file, kind, self._base, self._where(*place, "file"))
        if not self._resolved:
            # A variable that the file does not have would silently change nothing.
            with placed(self._where(*place, "variables")):
                check_used(item.variables, [path])
        return StudyInput(str(path), {**item.variables, **variables}, values)

    def _machine(self, file: StudyFile) -> str:
        """Return the name of a shipped profile, or the path of a file beside the study.

        Raises SpecError if there is no such profile.
        """
        if self._stored or not file.machine.endswith((".yaml", ".yml")):
            return file.machine
        path = self._base / file.machine
        if not path.is_file():
            raise SpecError(
                "there is no such machine profile",
                where=self._where("machine"),
                value=file.machine,
                instead="a path beside the study file, or the name of a shipped profile",
            )
        return str(path.resolve())

    def _expression_names(self, file: StudyFile, workloads: tuple[StudyInput, ...]) -> list[str]:
        """Return the names that expressions over metrics may use."""
        given = [workload.name for workload in workloads if workload.name]
        usage = ["usage"] if file.model == "analytical" else []
        return [*METRICS[file.model], *usage, *given, *([BASE] if file.baselines else [])]

    def _migration(self, file: StudyFile, sampler: str, each: int) -> int:
        """Return the designs that an island tries between two exchanges; 0 without islands.

        Raises SpecError if islands would all try the same designs, or there is one island.
        """
        search = file.search
        if search.islands == 1:
            if search.migration is not None:
                raise SpecError(
                    "migration is between islands, and there is one",
                    where=self._where("search", "migration"),
                    instead="islands: 4 beside it, or leave it out",
                )
            return 0
        if sampler in ("grid", "exhaustive"):
            raise SpecError(
                "every island of a grid would try the same designs",
                where=self._where("search", "islands"),
                instead="sampler: random, or leave islands out",
            )
        return search.migration or max(search.batch, each // 5)

    def _limits(self, file: StudyFile) -> DesignLimits:
        values = []
        for key, read in (("limit_s", self._knobs.seconds), ("limit_memory", self._knobs.bytes)):
            written = getattr(file.search, key)
            number = None if written is None else read(written, "search", key)
            if number is not None and number <= 0:
                raise SpecError("a limit is above 0", where=self._where("search", key))
            values.append(None if number is None else float(number))
        return DesignLimits(*values)

    def _mapper(self, file: StudyFile) -> dict[str, Any]:
        options: dict[str, Any] = file.mapper.model_dump(exclude_none=True)
        for key, read in (("budget", self._knobs.seconds), ("max_memory", self._knobs.bytes)):
            if key in options:
                options[key] = float(read(options[key], "mapper", key))
        if file.model != "analytical" and file.mapper.model_fields_set:
            raise SpecError(
                f"a {file.model} study has no search of mappings by `mapper`",
                where=self._where("mapper"),
                instead="leave it out, or use the model analytical",
            )
        self._check_mapper(file.model, options)
        return options

    def _check_mapper(self, model: str, options: Mapping[str, Any]) -> None:
        """Check the values of the mapper's options that need no file. Raises SpecError."""
        from tilewright.mapper.searches.request import checked_settings

        check_names(options["objective"], MAPPER_METRICS, self._where("mapper", "objective"))
        metrics = MetricReader(self._document, self._knobs, model, MAPPER_METRICS)
        for position, name in enumerate(options.get("front", ())):
            metrics.check_metric(name, "mapper", "front", position)
        with placed(self._where("mapper")):
            checked_settings(options)


def _resolved(
    file: StudyFile, arch: StudyInput, workloads: tuple[StudyInput, ...], machine: str
) -> dict[str, Any]:
    """Return the study as the data of a study file, complete and with absolute paths."""
    data: dict[str, Any] = file.model_dump(mode="json", exclude_none=True)
    if file.model != "analytical":
        del data["mapper"]
    if not file.search.bounds_first:
        del data["search"]["bounds_first"]
    if file.search.islands == 1:
        del data["search"]["islands"]
    data["arch"] |= {"file": arch.file, "variables": dict(arch.variables)}
    if file.workload is not None:
        (only,) = workloads
        data["workload"] |= {"file": only.file, "variables": dict(only.variables)}
    else:
        data["workloads"] = [
            {
                "file": each.file,
                "variables": dict(each.variables),
                "weight": each.weight,
                "name": each.name,
            }
            for each in workloads
        ]
    data["machine"] = machine
    return data
