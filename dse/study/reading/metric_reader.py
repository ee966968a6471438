"""What a study file says about metrics: objectives, constraints, published figures, bounds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from tilewright.arch.errors import SpecError, Where
from tilewright.arch.files.document import Document
from tilewright.arch.names import did_you_mean
from tilewright.dse.models.evaluators import BOUNDED
from tilewright.dse.run.figures import (
    BASE,
    Constraint,
    check_figure,
    check_names,
    check_unit,
    is_plain_name,
    parse_constraint,
)
from tilewright.dse.run.record import Objective
from tilewright.dse.study.reading.knob_reader import KnobReader
from tilewright.dse.study.study import Published
from tilewright.dse.study.study_file import ConstraintItem, ObjectiveItem, StudyFile


class MetricReader:
    """Checks the metrics and expressions over metrics of one study file.

    `document`: the file, for the places of errors; `knobs`: reads its numbers; `model`: of the
    study; `names`: those that expressions may use.
    """

    def __init__(
        self, document: Document, knobs: KnobReader, model: str, names: Sequence[str]
    ) -> None:
        self._document = document
        self._knobs = knobs
        self._model = model
        self._names = list(names)

    def _where(self, *path: str | int) -> Where:
        return self._document.where(path)

    def published(self, file: StudyFile) -> tuple[Published, ...]:
        """Return the published figures; SpecError for one that is of no metric or unit."""
        figures = []
        for position, item in enumerate(file.published):
            self.check_metric(item.metric, "published", position, "metric")
            check_unit(item.metric, str(item.value), self._where("published", position, "value"))
            value = float(self._knobs.number(item.value, "published", position, "value"))
            figures.append(Published(item.name, item.metric, value, item.source))
        return tuple(figures)

    def objectives(self, file: StudyFile) -> tuple[Objective, ...]:
        """Return the objectives; SpecError for one that is no metric, or is named twice."""
        metrics = [objective.metric for objective in file.objectives]
        for position, name in enumerate(metrics):
            self.check_metric(name, "objectives", position, "metric")
            if name in metrics[:position]:
                raise SpecError(
                    f"the objective {name} is named twice",
                    where=self._where("objectives", position, "metric"),
                )
        return tuple(Objective(item.metric, item.goal) for item in file.objectives)

    def constraints(self, file: StudyFile) -> Iterable[Constraint]:
        """Yield the limits of the constraints; SpecError for one that is wrong or cannot hold."""
        for position, item in enumerate(file.constraints):
            place = self._where("constraints", position)
            if item.limit is not None and item.metric is None:
                constraint = parse_constraint(item.limit, place)
                check_figure(item.limit, self._names, place)
                yield constraint
                continue
            if item.metric is None or item.limit is not None:
                raise SpecError(
                    "a constraint is a limit, or a metric with max or min",
                    where=place,
                    instead="area <= 1.2 * base.area, or {metric: area, max: 6e-4}",
                )
            self.check_metric(item.metric, "constraints", position, "metric")
            yield from self._bounds(item, position)

    def _bounds(self, item: ConstraintItem, position: int) -> Iterable[Constraint]:
        if item.max is None and item.min is None:
            raise SpecError(
                "a constraint needs max or min", where=self._where("constraints", position)
            )
        metric, numbers = str(item.metric), {}
        for key, sign, written in (("max", "<=", item.max), ("min", ">=", item.min)):
            if written is None:
                continue
            where = self._where("constraints", position, key)
            check_unit(metric, str(written), where)
            if isinstance(written, str) and check_names(written, self._names, where):
                yield Constraint(metric, sign, written)  # type: ignore[arg-type]  # one of two
                continue
            numbers[key] = float(self._knobs.number(written, "constraints", position, key))
            yield Constraint(metric, sign, _shortest(numbers[key]))  # type: ignore[arg-type]
        if len(numbers) == 2 and numbers["max"] < numbers["min"]:
            raise SpecError(
                "max is below min: no design can hold both",
                where=self._where("constraints", position),
                value=f"min {numbers['min']:g}, max {numbers['max']:g}",
            )

    def check_metric(self, name: str, *place: str | int) -> None:
        """Raise SpecError unless `name` is a metric or an expression over metrics."""
        where = self._where(*place)
        if is_plain_name(name) and name.split(".", maxsplit=1)[0] not in self._names:
            raise SpecError(
                f"the {self._model} model gives no metric of that name",
                where=where,
                value=name,
                instead=did_you_mean(name, self._names) or f"one of {', '.join(self._names)}",
            )
        check_figure(name, self._names, where)

    def bounds_first(self, file: StudyFile) -> bool:
        """Return whether designs are bounded before they are executed; check that they can be."""
        if not file.search.bounds_first:
            return False
        place, bounded = self._where("search", "bounds_first"), BOUNDED.get(file.model, ())
        if not bounded:
            raise SpecError(
                f"the {file.model} model executes nothing", where=place, instead="model: simulated"
            )
        sides = [s for limit in self.constraints(file) for s in (limit.left, limit.right)]
        limited = [name for side in sides for name in sorted(check_names(side, self._names, place))]
        unbounded = [item.metric for item in file.objectives if not _is_bounded(item, bounded)]
        for name in (*unbounded, *(name for name in limited if name not in (*bounded, BASE))):
            raise SpecError(
                f"a design has no lower bound of {name} before it is executed",
                where=place,
                instead=f"objectives to minimize, and limits, of {', '.join(bounded)}",
            )
        return True


def _is_bounded(item: ObjectiveItem, bounded: Collection[str]) -> bool:
    """Tell whether an objective has a lower bound if these metrics have one."""
    is_metric = item.goal != "maximize" and is_plain_name(item.metric)
    return is_metric and item.metric.rpartition(".")[2] in bounded


def _shortest(number: float) -> str:
    """Return a number as the shortest text that is the same number: `393216`, `8e-07`."""
    return repr(number).removesuffix(".0")
