"""From the data of a study file to a StudySpec, with the place of everything that is wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from tilewright.arch.errors import SpecError, Where
from tilewright.arch.files.document import Document
from tilewright.arch.names import did_you_mean
from tilewright.dse.command.shipped import Kind, find_file
from tilewright.dse.models.evaluators import LAYOUT_MODELS, METRICS
from tilewright.dse.run.record import Constraint, Objective
from tilewright.dse.study.changed_keys import replaced
from tilewright.dse.study.design_space import Dimension, Space, Value, canonical_json
from tilewright.dse.study.study import Baseline, Published, StudyInput, StudySpec
from tilewright.dse.study.study_file import ArchFile, BaselineItem, InputFile, KnobItem, StudyFile

_KNOB_KINDS = ("arch", "workload", "mapping", "machine")
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}")
_MAX_VALUES = 1_000_000


class StudyReader:
    """Checks the data of one study file and turns it into a study.

    `document`: the file; `base`: folder in which the input files are looked for; `stored`: the
    study is that of an old run that is only looked at, so its files are not looked for.
    """

    def __init__(self, document: Document, base: Path, *, stored: bool = False) -> None:
        self._document = document
        self._base = base
        self._stored = stored

    def read(self, fields: Mapping[str, Value], variables: Mapping[str, Value]) -> StudySpec:
        """Return the checked study, with defaults filled in.

        `fields`: values to replace, by dotted path; `variables`: values for the variables of its
        input files. Raises SpecError, with the place in the file, for everything that is wrong.
        """
        from tilewright.arch.spec.schema import parse

        data = replaced(self._document.data, fields)
        file = parse(StudyFile, self._document, data=data)
        self._check_name(file.name)
        space = Space(tuple(self._dimension(path, knob) for path, knob in file.space.items()))
        sources = {
            "arch": self._arch(file, variables),
            "workload": self._source(file.workload, "workload", variables),
        }
        search = file.search
        sampler = search.sampler or ("nsga2" if len(file.objectives) > 1 else "tpe")
        trials = search.trials
        if sampler == "grid":
            trials = min(trials, space.size + len(file.baselines))
        population = search.population or min(50, max(4, trials // 5, search.batch))
        resolved = _resolved(file, sources)
        resolved["search"] |= {"sampler": sampler, "trials": trials, "population": population}
        return StudySpec(
            name=file.name,
            question=file.question.strip(),
            seed=file.seed,
            arch=sources["arch"],
            workload=sources["workload"],
            model=file.model,
            machine=file.machine,
            objectives=self._objectives(file),
            constraints=self._constraints(file),
            space=space,
            sampler=sampler,
            trials=trials,
            batch=search.batch,
            population=population,
            mapper_objective=file.mapper.objective,
            baselines=self._baselines(file, space),
            resolved=resolved,
            published=self._published(file),
        )

    def _where(self, *path: str | int) -> Where:
        return self._document.where(path)

    def _check_name(self, name: str) -> None:
        """A run directory is called after the study: its name must not lead anywhere else."""
        if not _NAME.fullmatch(name):
            raise SpecError(
                "the name of a study has at most 100 letters (A-Z, a-z), digits, `_`, `-` and `.`,"
                " and no dot at its start",
                where=self._where("name"),
                value=name,
                instead=f"name: {re.sub(r'[^A-Za-z0-9_-]+', '_', name).strip('_') or 'study'}",
            )

    def _arch(self, file: StudyFile, variables: Mapping[str, Value]) -> StudyInput:
        """Return the architecture, or the machine description of a layout study."""
        if file.model not in LAYOUT_MODELS or self._stored:
            return self._source(file.arch, "arch", variables)
        from tilewright.mapper.layout.machines.layout_machine import machine_file

        try:
            path = machine_file(file.arch.file, self._base)
        except SpecError as error:
            raise SpecError(
                error.what, where=self._where("arch", "file"), instead=error.instead
            ) from None
        if file.arch.variables:
            raise SpecError(
                "a machine description has no variables",
                where=self._where("arch", "variables"),
                instead="arch.values, such as {rates.clock_hz: 1e9}",
            )
        return StudyInput(str(path), {}, file.arch.values)

    def _published(self, file: StudyFile) -> tuple[Published, ...]:
        figures = []
        for position, item in enumerate(file.published):
            self._check_metric(item.metric, file, "published", position)
            value = float(self._number(item.value, "published", position, "value"))
            figures.append(Published(item.name, item.metric, value, item.source))
        return tuple(figures)

    def _source(self, item: InputFile, key: str, variables: Mapping[str, Value]) -> StudyInput:
        values = item.values if isinstance(item, ArchFile) else {}
        if self._stored:
            return StudyInput(item.file, dict(item.variables), values)
        kind: Kind = "hardware" if key == "arch" else "workloads"
        path = find_file(item.file, kind, self._base, self._where(key, "file"))
        return StudyInput(str(path), {**item.variables, **variables}, values)

    def _objectives(self, file: StudyFile) -> tuple[Objective, ...]:
        names = [objective.metric for objective in file.objectives]
        for position, name in enumerate(names):
            self._check_metric(name, file, "objectives", position)
            if name in names[:position]:
                raise SpecError(
                    f"the objective {name} is named twice",
                    where=self._where("objectives", position, "metric"),
                )
        return tuple(Objective(item.metric, item.goal) for item in file.objectives)

    def _constraints(self, file: StudyFile) -> tuple[Constraint, ...]:
        constraints: list[Constraint] = []
        for position, item in enumerate(file.constraints):
            self._check_metric(item.metric, file, "constraints", position)
            if item.max is None and item.min is None:
                raise SpecError(
                    "a constraint needs max or min", where=self._where("constraints", position)
                )
            limits = [
                None if limit is None else float(self._number(limit, "constraints", position, key))
                for key, limit in (("max", item.max), ("min", item.min))
            ]
            constraints.append(Constraint(item.metric, *limits))
        return tuple(constraints)

    def _check_metric(self, name: str, file: StudyFile, key: str, position: int) -> None:
        metric_names = METRICS[file.model]
        if name not in metric_names:
            raise SpecError(
                f"the {file.model} model gives no metric of that name",
                where=self._where(key, position, "metric"),
                value=name,
                instead=did_you_mean(name, metric_names) or f"one of {', '.join(metric_names)}",
            )

    def _baselines(self, file: StudyFile, space: Space) -> tuple[Baseline, ...]:
        baselines: list[Baseline] = []
        for position, item in enumerate(file.baselines):
            values = self._plain(position, item, space)
            place: tuple[str | int, ...] = ("baselines", position, "values")
            try:
                for dimension in space.dimensions:
                    if dimension.path in values:
                        place = ("baselines", position, "values", dimension.path)
                        dimension.index(values[dimension.path])
                place = place[:3]
                point = space.point(space.choice(values))
            except SpecError as error:
                raise SpecError(
                    f"baseline {item.name}: {error.what}",
                    where=self._where(*place),
                    instead=error.instead,
                ) from None
            baselines.append(Baseline(item.name, point))
        return tuple(baselines)

    def _plain(self, position: int, item: BaselineItem, space: Space) -> dict[str, Value]:
        """Return the values of a baseline; arithmetic as a number where the knob has numbers."""
        plain: dict[str, Value] = dict(item.values)
        for dimension in space.dimensions:
            value = plain.get(dimension.path)
            if isinstance(value, str) and dimension.ordered:
                path = ("baselines", position, "values", dimension.path)
                plain[dimension.path] = self._number(value, *path)
        return plain

    def _dimension(self, path: str, knob: KnobItem) -> Dimension:
        self._check_path(path)
        value_keys = [k for k in ("values", "range", "pow2") if getattr(knob, k) is not None]
        if len(value_keys) != 1:
            raise SpecError(
                "a knob has exactly one of values, range, pow2", where=self._where("space", path)
            )
        if knob.step is not None and knob.range is None:
            raise SpecError("step belongs to range", where=self._where("space", path, "step"))
        if knob.values is not None:
            return Dimension(path, self._values(path, knob.values), _is_ordered(knob.values))
        values = self._range(path, knob) if knob.range is not None else self._pow2(path, knob)
        return Dimension(path, values, ordered=True)

    def _check_path(self, path: str) -> None:
        kind, _, field_path = path.partition(".")
        complete = "." in field_path if kind == "mapping" else bool(field_path)
        if kind not in _KNOB_KINDS or not complete:
            raise SpecError(
                "a knob is arch.<path>, workload.<variable>, mapping.<einsum>.<choice> or "
                "machine.<field of the profile>",
                where=self._document.where_key(("space", path)),
                value=path,
            )

    def _values(self, path: str, values: Sequence[Value]) -> tuple[Value, ...]:
        seen: set[str] = set()
        for position, value in enumerate(values):
            text = canonical_json(value)
            if text in seen:
                raise SpecError(
                    "the value is listed twice",
                    where=self._where("space", path, "values", position),
                    value=value,
                )
            seen.add(text)
        return tuple(values)

    def _range(self, path: str, knob: KnobItem) -> tuple[Value, ...]:
        assert knob.range is not None
        low, high = (self._number(knob.range[i], "space", path, "range", i) for i in (0, 1))
        step = 1 if knob.step is None else self._number(knob.step, "space", path, "step")
        where = self._where("space", path)
        if step <= 0 or high < low:
            raise SpecError("a range goes up: [low, high] with a positive step", where=where)
        if knob.step is None and not isinstance(low, int):
            raise SpecError("a range of fractions needs a step", where=where)
        if (high - low) / step >= _MAX_VALUES:
            raise SpecError("the range has more than a million values", where=where)
        return _steps(low, high, step)

    def _pow2(self, path: str, knob: KnobItem) -> tuple[Value, ...]:
        assert knob.pow2 is not None
        ends: list[int] = []
        for position, end in enumerate(knob.pow2):
            number = self._number(end, "space", path, "pow2", position)
            if not isinstance(number, int) or number < 1 or number & (number - 1):
                raise SpecError(
                    "the ends of pow2 are powers of two",
                    where=self._where("space", path, "pow2", position),
                    value=end,
                )
            ends.append(number)
        if ends[1] < ends[0]:
            raise SpecError("pow2 goes up: [low, high]", where=self._where("space", path, "pow2"))
        exponents = range(ends[0].bit_length() - 1, ends[1].bit_length())
        return tuple(2**exponent for exponent in exponents)

    def _number(self, value: float | str, *path: str | int) -> int | float:
        if isinstance(value, int | float):
            return value
        from tilewright.arch.expressions.expressions import evaluate

        where = self._where(*path)
        number = evaluate(value, {}, where)
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise SpecError("this is not a number", where=where, value=value)
        return number


def _steps(low: float, high: float, step: float) -> tuple[Value, ...]:
    """Return the numbers from `low` up to `high`; fractions in decimal, so that none drifts."""
    if all(isinstance(number, int) for number in (low, high, step)):
        return tuple(range(int(low), int(high) + 1, int(step)))
    first, last, distance = (Decimal(str(number)) for number in (low, high, step))
    count = int((last - first) / distance) + 1
    return tuple(float(first + index * distance) for index in range(count))


def _is_ordered(values: Sequence[Value]) -> bool:
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    return len(numbers) == len(values) and numbers == sorted(numbers)


def _resolved(file: StudyFile, sources: Mapping[str, StudyInput]) -> dict[str, Any]:
    """Return the study as the data of a study file, complete and with absolute paths."""
    data: dict[str, Any] = file.model_dump(mode="json", exclude_none=True)
    for key, source in sources.items():
        data[key] |= {"file": source.file, "variables": dict(source.variables)}
    return data
