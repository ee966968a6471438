"""The knobs of a study file: paths of fields, and the finitely many values of each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from tilewright.arch.errors import SpecError, Where
from tilewright.arch.expressions.units import units_in, unknown_unit
from tilewright.arch.files.document import Document
from tilewright.arch.names import did_you_mean
from tilewright.dse.models.evaluators import METRICS
from tilewright.dse.run.figures import check_names, is_plain_name
from tilewright.dse.study.design_space import Dimension, Space, Value
from tilewright.dse.study.study_file import KnobItem, MapperItem, StudyFile

_KNOB_KINDS = ("arch", "workload", "mapping", "machine", "mapper")
MAPPER_METRICS = ("energy", "latency", "edp", "usage")
_FORMULAS = ("objective", "front")
_MODELS = {"machine": "simulated", "mapper": "analytical"}  # that have them, alone
_KINDS: dict[type, str] = {bool: "true or false", int: "a whole number", str: "a text"}
_OF_TRIALS = ("usage", "base", "trial", "status", "baseline", "proof", "gap", "seconds", "verified")
_NO_VARIABLE = "workload.variables."
_FIELDS_WITH_UNITS = ("arch.", "machine.")
_MAX_VALUES = 1_000_000


class KnobReader:
    """Reads the knobs of one study file; `document`: the file, for the places of errors."""

    def __init__(self, document: Document) -> None:
        self._document = document

    def space(self, file: StudyFile) -> Space:
        """Return the design space; SpecError, with the place, for a knob that is wrong."""
        dimensions: list[Dimension] = []
        taken = {*METRICS[file.model], *_OF_TRIALS}
        for path, knob in file.space.items():
            dimension = self._dimension(path, knob)
            if dimension.name in taken:
                raise SpecError(
                    "a query could not tell this knob from another knob or figure of that name",
                    where=self._where("space", path, "name"),
                    value=dimension.name,
                    instead="another name",
                )
            taken |= {dimension.name} - {""}
            dimensions.append(dimension)
        return Space(tuple(dimensions))

    def number(self, value: float | str, *path: str | int) -> int | float:
        """Return a number of a study file, or the value of the expression that stands for it.

        `path`: its place. Raises SpecError for what is no finite number.
        """
        from tilewright.arch.expressions.expressions import evaluate

        where = self._where(*path)
        number = evaluate(value, {}, where)
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise SpecError("this is not a number", where=where, value=value)
        if not math.isfinite(number):
            raise SpecError(
                "this number is not finite", where=where, value=value, instead="a finite number"
            )
        return number

    def bytes(self, value: float | str, *path: str | int) -> int | float:
        """Return a number of bytes; a quantity with a unit stands for bits. Errors as `number`."""
        number = self.number(value, *path)
        self._check_units(value, {"bits": "600 MB"}, *path)
        return number / 8 if units_in(value) else number

    def seconds(self, value: float | str, *path: str | int) -> int | float:
        """Return a number of seconds. Errors as `number`, and for units of something else."""
        number = self.number(value, *path)
        self._check_units(value, {"time": "10 s"}, *path)
        return number

    def _check_units(self, value: object, kinds: Mapping[Any, str], *path: str | int) -> None:
        """Raise SpecError for a unit that is of none of some kinds, which have an example each."""
        for unit in units_in(value):
            if unit.dimension not in kinds:
                raise SpecError(
                    f"{unit.name} is no unit of {' or '.join(kinds)}",
                    where=self._where(*path),
                    value=value,
                    instead=f"for example {' or '.join(kinds.values())}",
                )

    def _where(self, *path: str | int) -> Where:
        return self._document.where(path)

    def _dimension(self, path: str, knob: KnobItem) -> Dimension:
        self._check_path(path)
        value_keys = [k for k in ("values", "range", "pow2") if getattr(knob, k) is not None]
        if len(value_keys) != 1:
            raise SpecError(
                "a knob has exactly one of values, range, pow2", where=self._where("space", path)
            )
        if knob.step is not None and knob.range is None:
            raise SpecError("step belongs to range", where=self._where("space", path, "step"))
        name, where = self._name(path, knob), self._document.where_key(("space", path))
        if knob.values is not None:
            values = self._values(path, knob.values)
            return Dimension(path, values, _is_ordered(values), name, where)
        values = self._range(path, knob) if knob.range is not None else self._pow2(path, knob)
        return Dimension(path, values, True, name, where)

    def _option(self, value: Value, path: str, position: int) -> Value:
        """Return the value of an option of the mapper; SpecError where it takes no such value."""
        name = path.removeprefix("mapper.")
        if name in _READERS:
            return _READERS[name](self, value, "space", path, "values", position)
        kind = type(MapperItem.model_fields[name].default)
        kind = kind if kind in (bool, int) else str
        if type(value) is not kind:
            raise SpecError(
                f"{name} takes {_KINDS[kind]}",
                where=self._where("space", path, "values", position),
                value=value,
                instead=f"`{name}: ''` for none, `all`, `m,k`" if name == "uneven" else None,
            )
        if name in _FORMULAS:
            several = name == "front"  # none, too
            for formula in filter(None, str(value).split(",")) if several else [str(value)]:
                check_names(formula, MAPPER_METRICS, self._where("space", path, "values", position))
        return value

    def _name(self, path: str, knob: KnobItem) -> str:
        if knob.name is None or is_plain_name(knob.name):
            return knob.name or ""
        raise SpecError(
            "the name of a knob has letters, digits and `_`",
            where=self._where("space", path, "name"),
            value=knob.name,
        )

    def _check_path(self, path: str) -> None:
        kind, _, field_path = path.partition(".")
        complete = "." in field_path if kind == "mapping" else bool(field_path)
        if kind not in _KNOB_KINDS or not complete:
            raise SpecError(
                "a knob is arch.<path>, workload.<variable or path>, mapping.<einsum>.<choice>,"
                " machine.<field of the profile> or mapper.<option>",
                where=self._document.where_key(("space", path)),
                value=path,
            )
        if kind == "mapper" and field_path not in MapperItem.model_fields:
            raise SpecError(
                f"the mapper has no option {field_path!r}",
                where=self._document.where_key(("space", path)),
                value=path,
                instead=did_you_mean(field_path, MapperItem.model_fields)
                or f"one of: {', '.join(sorted(MapperItem.model_fields))}",
            )
        if path.startswith(_NO_VARIABLE):
            raise SpecError(
                "a variable of the workload's file is a knob without `variables`",
                where=self._document.where_key(("space", path)),
                value=path,
                instead=f"workload.{path.removeprefix(_NO_VARIABLE)}",
            )

    def _values(self, path: str, values: Sequence[Value]) -> tuple[Value, ...]:
        seen: set[tuple[bool, Value]] = set()  # True is 1 in Python, and 1.0 is 1
        for position, value in enumerate(values):
            constant = self._constant(value, path, position)
            text = isinstance(constant, bool), constant
            if text in seen:
                raise SpecError(
                    "the value is listed twice",
                    where=self._where("space", path, "values", position),
                    value=value,
                )
            seen.add(text)
        return tuple(self._constant(value, path, i) for i, value in enumerate(values))

    def _constant(self, value: Value, path: str, position: int) -> Value:
        """Return the number that a text such as `64 KiB` or `2**15` stands for, else the value."""
        if path.startswith("mapper."):
            return self._option(value, path, position)
        self._check_field(path, value, "values", position)
        if not isinstance(value, str) or path.startswith("mapping."):
            return value
        try:
            return self.number(value, "space", path, "values", position)
        except SpecError:  # mostly a name, or an expression over variables of the file
            if path.startswith(_FIELDS_WITH_UNITS) and unknown_unit(value) is not None:
                raise
            return value

    def _check_field(self, path: str, value: object, *place: str | int) -> None:
        """Raise SpecError for a value of a field of a component in a unit of something else."""
        from tilewright.arch.spec.spec import UNITS_OF

        kinds = UNITS_OF.get(path.rpartition(".")[2])
        if kinds and path.startswith("arch.") and not path.startswith("arch.variables."):
            self._check_units(value, kinds, "space", path, *place)

    def _range(self, path: str, knob: KnobItem) -> tuple[Value, ...]:
        assert knob.range is not None
        low, high = (self.number(knob.range[i], "space", path, "range", i) for i in (0, 1))
        for position, end in enumerate(knob.range):
            self._check_field(path, end, "range", position)
        step = 1 if knob.step is None else self.number(knob.step, "space", path, "step")
        self._check_field(path, knob.step, "step")
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
            number = self.number(end, "space", path, "pow2", position)
            self._check_field(path, end, "pow2", position)
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


_READERS = {"budget": KnobReader.seconds, "max_memory": KnobReader.bytes}


def check_effects(space: Space, model: str) -> None:
    """Raise SpecError for a knob of the machine, mapper or mapping that a model does not have."""
    for knob in space.dimensions:
        _check_effect(knob, model)


def _check_effect(knob: Dimension, model: str) -> None:
    kind = knob.path.partition(".")[0]
    if kind == "mapping" and model == "analytical":
        raise SpecError(
            f"the knob {knob.path} has no effect: in an analytical study the mapper chooses the"
            " mapping",
            where=knob.where,
            instead="a field of the architecture that constrains mappings, such as"
            " arch.MEMORY.tensors.keep (docs/studies.md), or another model, such as simulated",
        )
    if _MODELS.get(kind, model) != model:
        raise SpecError(
            f"the knob {knob.path} has no effect: the {model} model has no {kind}",
            where=knob.where,
            instead=f"leave it out, or use the model {_MODELS[kind]}",
        )


def _steps(low: float, high: float, step: float) -> tuple[Value, ...]:
    """Return the numbers from `low` up to `high`; fractions in decimal, so that none drifts."""
    if all(isinstance(number, int) for number in (low, high, step)):
        return tuple(range(int(low), int(high) + 1, int(step)))
    first, last, distance = (Decimal(str(number)) for number in (low, high, step))
    count = int((last - first) / distance) + 1
    return tuple(float(first + index * distance) for index in range(count))


def are_numbers(values: Sequence[Value]) -> bool:
    """Tell whether all values are numbers."""
    return all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)


def _is_ordered(values: Sequence[Value]) -> bool:
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    return len(numbers) == len(values) and numbers == sorted(numbers)
