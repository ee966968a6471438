"""The baselines of a study file: designs of its space that are tried before all others."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.arch.errors import SpecError
from tilewright.arch.files.document import DocPath, Document
from tilewright.arch.names import did_you_mean
from tilewright.dse.models.inputs import OwnValues
from tilewright.dse.study.design_space import Dimension, Space, Value
from tilewright.dse.study.knobs import labels_of
from tilewright.dse.study.reading.knob_reader import KnobReader, are_numbers
from tilewright.dse.study.study import Baseline
from tilewright.dse.study.study_file import BaselineItem


class BaselineReader:
    """Reads the baselines of one study file; knobs go by path, name or label, as in queries.

    A knob that a baseline leaves out has the value that the study's files have without the knob.
    `own`: these values; None: there must be none left out.
    """

    def __init__(
        self, document: Document, knobs: KnobReader, space: Space, own: OwnValues | None
    ) -> None:
        self._document = document
        self._knobs = knobs
        self._space = space
        self._own = own
        self._by_label = dict(zip(labels_of(space), space.dimensions, strict=True))
        self._by_path = {dimension.path: dimension for dimension in space.dimensions}

    def baseline(self, position: int, item: BaselineItem) -> Baseline:
        """Return the baseline that an item of the study file describes.

        position: of the item in its list, for errors. Raises SpecError, with its place, for what is
        no design of the space, or for an architecture's file that is wrong and has no values then.
        """
        place: DocPath = ("baselines", position, "values")
        point: dict[str, Value] = {}
        try:
            for key, value in item.values.items():
                place = ("baselines", position, "values", key)
                knob = self._knob(key)
                if knob.path in point:
                    raise SpecError(f"the knob {knob.path} is given twice")
                point[knob.path] = self._value(knob, value, place)
                knob.index(point[knob.path])
            place = place[:3]
            own = {} if self._own is None else self._own_values(self._own, point)
            self._space.choice(point | own)
        except SpecError as error:
            left_out = [path for path in self._space.paths if path not in point]
            if self._own is not None and any(path.startswith("arch.") for path in left_out):
                self._own.check_architecture()  # a file that is wrong has no values
            raise SpecError(
                f"baseline {item.name}: {error.what}",
                where=self._document.where(place),
                value=error.value,
                instead=error.instead,
            ) from None
        point |= own
        return Baseline(item.name, {path: point[path] for path in self._space.paths}, own)

    def _own_values(self, files: OwnValues, point: Mapping[str, Value]) -> dict[str, Value]:
        """Return the values that the files have for the knobs left out of a baseline.

        Raises SpecError for one that is no value of its knob.
        """
        own: dict[str, Value] = {}
        for knob in self._space.dimensions:
            value = None if knob.path in point else files.of(knob.path)
            if value is None:
                continue
            alike = (
                v for v in knob.values if v == value and (type(v) is bool) is (type(value) is bool)
            )
            own[knob.path] = next(alike, value)
            try:
                knob.index(own[knob.path])
            except SpecError as error:
                raise SpecError(
                    f"it leaves out {knob.path}, and what the files have is no value of this knob",
                    value=value,
                    instead=f"{error.instead}; or list {value} among the values of the knob",
                ) from None
        return own

    def path(self, key: str) -> str:
        """Return the path of the knob with a label; a key that is no label stays as it is."""
        return self._by_label[key].path if key in self._by_label else key

    def _knob(self, key: str) -> Dimension:
        """Return the knob of a path or label; SpecError if there is none."""
        knob = self._by_path.get(key) or self._by_label.get(key)
        if knob is None:
            names = [*self._by_path, *self._by_label]
            raise SpecError(
                f"there is no knob {key}",
                instead=did_you_mean(key, names) or f"one of: {', '.join(self._by_label)}",
            )
        return knob

    def _value(self, knob: Dimension, value: Value, place: DocPath) -> Value:
        """Return a value; arithmetic as a number where the knob has numbers."""
        if isinstance(value, str) and are_numbers(knob.values):
            return self._knobs.number(value, *place)
        return value
