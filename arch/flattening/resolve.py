"""Evaluate the expressions of one component to checked numbers; errors name their place."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeVar

from tilewright.arch.components.components import Comparison
from tilewright.arch.errors import SpecError, Where
from tilewright.arch.expressions.expressions import UnknownNameError, evaluate
from tilewright.arch.expressions.functions import exact
from tilewright.arch.expressions.operators import MAX_BITS
from tilewright.arch.expressions.sets import names_tensors, rank_variable_set, tensor_set
from tilewright.arch.expressions.units import unit_of
from tilewright.arch.files.document import format_path
from tilewright.arch.flattening.scope import EinsumNames, Layer, Names
from tilewright.arch.spec.architecture import Arch
from tilewright.arch.spec.spec import UNITS_OF, ComparisonSpec
from tilewright.arch.spec.tree import Node

Steps = tuple[str | int, ...]
T = TypeVar("T")
_WAITING = object()
_TOO_LARGE = 2**MAX_BITS
_MAY_BE_INFINITE = frozenset({"size", "throughput", "throughput_scale"})
_MOST_INSTANCES = 2**40


@dataclass(frozen=True, slots=True)
class Resolver:
    """Evaluates the fields of one component, with errors that name their place in the file.

    `names`: values that expressions may use; `einsum`: sets of the Einsum. Without one (None), an
    expression that needs it gives NaN (a number), an empty set, or True, and the field's path is
    added to `unresolved`. In all methods `value` is what was written and `steps` its path.
    """

    arch: Arch
    node: Node
    names: Names
    einsum: EinsumNames | None
    unresolved: list[str] = field(default_factory=list)

    def where(self, *steps: str | int) -> Where:
        """Return the place in the file of the field at the path `steps` of the component."""
        return self.arch.where(self.node, *steps)

    def nested(self, names: Names) -> Resolver:
        """Return a copy that looks up names of expressions in `names` before its own."""
        return Resolver(
            self.arch, self.node, Layer(names, self.names), self.einsum, self.unresolved
        )

    def number(self, value: object, *steps: str | int) -> float:
        """Evaluate a field that must be a number of at least 0.

        `value`: as written; `steps`: path of the field in its component. Sizes and throughputs may
        be infinite. NaN if the expression needs an Einsum and there is none. Raises SpecError, with
        the place, for anything else.
        """
        result = self._evaluate(value, _WAITING, steps)
        if result is _WAITING:
            return math.nan
        number = self._as_number(result, value, steps)
        if number < 0:
            raise SpecError(
                f"{_label(steps)} must not be negative",
                where=self.where(*steps),
                value=_shown(value, number),
                instead="write 0 or more",
            )
        if math.isnan(number):
            raise SpecError(
                f"{_label(steps)} is not a number", where=self.where(*steps), value=value
            )
        if math.isinf(number) and _field(steps) not in _MAY_BE_INFINITE:
            raise SpecError(
                f"{_label(steps)} must be finite",
                where=self.where(*steps),
                value=_shown(value, number),
                instead="a finite number; sizes and throughputs may be inf",
            )
        return float(number)

    def count(self, value: object, *steps: str | int) -> int:
        """Evaluate a field that must be a whole number of at least 1.

        `value`: as written; `steps`: path of the field in its component. 1 if the expression needs
        an Einsum and there is none. Raises SpecError, with the place, for anything else.
        """
        result = self._evaluate(value, 1, steps)
        number = self._as_number(result, value, steps)
        if not math.isfinite(number) or number != int(number) or number < 1:
            raise SpecError(
                f"{_label(steps)} must be a whole number of at least 1",
                where=self.where(*steps),
                value=_shown(value, number),
            )
        if number > _MOST_INSTANCES:
            raise SpecError(
                f"{_label(steps)} is too large: no machine has so many",
                where=self.where(*steps),
                value=_shown(value, number),
                instead=f"at most {_MOST_INSTANCES:,}",
            )
        return int(number)

    def fraction(self, value: object, *steps: str | int) -> Fraction:
        """Evaluate a field that must be a number above 0, exactly: 0.1 gives one tenth.

        `value`: as written; `steps`: path of the field in its component. 1 if the expression needs
        an Einsum and there is none. Raises SpecError, with the place, for anything else.
        """
        number = self._as_number(self._evaluate(value, 1, steps), value, steps)
        if not math.isfinite(number) or number <= 0:
            raise SpecError(
                f"{_label(steps)} must be a number above 0",
                where=self.where(*steps),
                value=_shown(value, number),
            )
        return exact(number)

    def flag(self, value: object, *steps: str | int) -> bool:
        """Evaluate a field that must be true or false; a set is true if it is not empty.

        `value`: as written; `steps`: path of the field in its component. True if the expression
        needs an Einsum and there is none. Raises SpecError, with the place, for text, NaN and
        infinity.
        """
        return bool(self.condition(value, *steps))

    def condition(self, value: object, *steps: str | int) -> object:
        """Evaluate a condition; return True, False, or the set or number that its expression gives.

        `value`: as written; `steps`: path of the field in its component. True if the expression
        needs an Einsum and there is none. Raises SpecError, with the place, for text, NaN and
        infinity.
        """
        result = self._evaluate(value, True, steps) if isinstance(value, str) else value
        if isinstance(result, str) or (isinstance(result, float) and not math.isfinite(result)):
            raise SpecError(
                f"{_label(steps)} must be true or false", where=self.where(*steps), value=value
            )
        return result if isinstance(value, str) else bool(result)

    def tensors(self, value: object, *steps: str | int) -> frozenset[str]:
        """Evaluate a set expression such as `~Intermediates`; return the names of the tensors.

        `value`: as written; `steps`: path of the field in its component. Empty if the expression
        needs an Einsum and there is none. Raises SpecError, with the place, for anything else.
        """
        try:
            return tensor_set(value, self.names, self.where(*steps))
        except UnknownNameError as error:
            return self._without_einsum(frozenset(), steps, error)

    def comparison(self, spec: ComparisonSpec, *steps: str | int) -> Comparison:
        """Evaluate a constraint on loops, written as expression, operator and value: `m <= 4`.

        In it a rank variable (loop index) hides a tensor of the same name. `steps`: path of the
        field in its component. Raises SpecError for a value that is no whole number of at least 0,
        or an expression that is no set.
        """
        names = self.names if self.einsum is None else Layer(self.einsum.for_loops, self.names)
        where = self.where(*steps, "expression")
        try:
            variables = rank_variable_set(spec.expression, names, where)
            of_tensors = names_tensors(spec.expression, names, where)
        except UnknownNameError as error:
            variables = self._without_einsum(frozenset(), (*steps, "expression"), error)
            of_tensors = False
        value = self._evaluate(spec.value, 1, (*steps, "value"))
        number = self._as_number(value, spec.value, (*steps, "value"))
        if not math.isfinite(number) or number != int(number) or number < 0:
            raise SpecError(
                "value must be a whole number of at least 0",
                where=self.where(*steps, "value"),
                value=spec.value,
            )
        return Comparison(variables, spec.operator, int(number), of_tensors)

    def by_tensor(self, values: Mapping[str, object], *steps: str | int) -> dict[str, object]:
        """Turn a field {set expression: value} into {tensor: value}, such as widths of tensors.

        `values`: as written, and not evaluated here; `steps`: path of the field in its component.
        The key `Other` stands for all tensors that no other key names. Raises SpecError if two sets
        overlap. Empty without an Einsum.
        """
        if self.einsum is None:
            if values:
                self.unresolved.append(f"{self.node.name}.{_label(steps)}")
            return {}
        result: dict[str, object] = {}
        chosen: dict[str, str] = {}
        for key, value in values.items():
            if key == "Other":
                continue
            for tensor in sorted(self.tensors(key, *steps, key)):
                if tensor in chosen:
                    raise SpecError(
                        f"both {chosen[tensor]} and {key} hold the tensor {tensor}",
                        where=self.where(*steps, key),
                        instead="write sets that do not overlap",
                    )
                chosen[tensor] = key
                result[tensor] = value
        if "Other" in values:
            for tensor in sorted(self.einsum.universe.tensors - chosen.keys()):
                result[tensor] = values["Other"]
        return result

    def _evaluate(self, value: object, fallback: object, steps: Steps) -> object:
        if not isinstance(value, str):
            return value
        self._check_unit(value, steps)
        try:
            return evaluate(value, self.names, self.where(*steps))
        except UnknownNameError as error:
            return self._without_einsum(fallback, steps, error)

    def _check_unit(self, value: str, steps: Steps) -> None:
        """Raise SpecError for a quantity whose unit cannot be that of the field."""
        unit = unit_of(value)
        if unit is None:
            return
        expected = UNITS_OF.get(_field(steps), {})
        if unit.dimension not in expected:
            raise SpecError(
                f"{_label(steps)} has no unit of {unit.dimension}",
                where=self.where(*steps),
                value=value,
                instead=f"for example {' or '.join(expected.values())}"
                if expected
                else "a number without a unit",
            )

    def _without_einsum(self, fallback: T, steps: Steps, error: UnknownNameError) -> T:
        """Return `fallback` and list the field as unresolved if there is no Einsum.

        Else raise `error`.
        """
        if self.einsum is not None:
            raise error
        self.unresolved.append(f"{self.node.name}.{_label(steps)}")
        return fallback

    def _as_number(self, result: object, value: object, steps: Steps) -> float:
        if isinstance(result, int | Fraction) and abs(result) >= _TOO_LARGE:
            raise SpecError(
                f"{_label(steps)} is too large a number", where=self.where(*steps), value=value
            )
        if isinstance(result, bool) or not isinstance(result, int | float | Fraction):
            raise SpecError(
                f"{_label(steps)} must be a number", where=self.where(*steps), value=value
            )
        return result  # type: ignore[return-value]  # an int or Fraction keeps its exactness


@dataclass(frozen=True, slots=True)
class Places:
    """Function from the name of a field to its place in the file, for one block of a component.

    `block`: path of the block inside of the component.
    """

    arch: Arch
    node: Node
    block: Steps = ()

    def __call__(self, name: str) -> Where:
        return self.arch.where(self.node, *self.block, name)


def _field(steps: Steps) -> str:
    return next((step for step in reversed(steps) if isinstance(step, str)), "")


def _label(steps: Steps) -> str:
    return format_path(steps)


def _shown(value: object, number: object) -> object:
    return value if not isinstance(value, str) else f"{value} = {number}"
