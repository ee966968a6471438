"""The design space: named dimensions with finitely many values each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tilewright.arch.errors import SpecError, Where

Value = bool | int | float | str
Point = Mapping[str, Value]
"""A design: path of the knob -> its value, in the order of the space."""
Choice = tuple[int, ...]
"""A design as one index per dimension."""


@dataclass(frozen=True)
class Dimension:
    """One knob of a design space and the finitely many values that it may have.

    `path`: its name, such as `arch.Buffer.size`; `ordered`: the values are numbers in ascending
    order, so that a sampler may take near indices as similar designs; `name`: a short name that the
    study gives it, empty without one; `where`: its place in the study file.
    """

    path: str
    values: Sequence[Value]
    ordered: bool
    name: str = ""
    where: Where | None = field(default=None, compare=False, repr=False)

    @cached_property
    def _index_of(self) -> Mapping[str, int]:
        return {canonical_json(value): index for index, value in enumerate(self.values)}

    @cached_property
    def _index_of_typed(self) -> Mapping[tuple[type, Value], int]:
        return {(type(value), value): index for index, value in enumerate(self.values)}

    def index(self, value: Value) -> int:
        """Return the index of `value` among the knob's values; SpecError if it is none of them."""
        position = self._index_of_typed.get((type(value), value))  # fast, and mostly enough
        if position is None:
            position = self._index_of.get(canonical_json(value))
        if position is None:
            raise SpecError(
                f"{self.path} has no such value in the space",
                value=value,
                instead=f"one of {_listing(self.values)}",
            )
        return position


@dataclass(frozen=True)
class Space:
    """A design space: the Cartesian product of its dimensions, one per knob."""

    dimensions: tuple[Dimension, ...]

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """The names of the knobs, in order."""
        return tuple(dimension.path for dimension in self.dimensions)

    @cached_property
    def _path_set(self) -> frozenset[str]:
        return frozenset(self.paths)

    @property
    def size(self) -> int:
        """Number of designs in the space."""
        product = 1
        for dimension in self.dimensions:
            product *= len(dimension.values)
        return product

    def point(self, choice: Choice) -> dict[str, Value]:
        """Return the design that has these value indices, as value by knob path."""
        return {
            dimension.path: dimension.values[index]
            for dimension, index in zip(self.dimensions, choice, strict=True)
        }

    def choice(self, point: Point) -> Choice:
        """Return the value indices of a design, one per dimension.

        Raises SpecError if a knob is missing or unknown, or a value is not in the space.
        """
        if point.keys() == self._path_set:
            return tuple(dimension.index(point[dimension.path]) for dimension in self.dimensions)
        missing = [path for path in self.paths if path not in point]
        extra = sorted(set(point) - set(self.paths))
        raise SpecError(
            "a design gives every knob of the space one value; "
            + "; ".join(
                f"{name}: {', '.join(paths)}"
                for name, paths in (("missing", missing), ("not a knob", extra))
                if paths
            ),
            instead="; ".join(
                f"{dimension.path}: {_listing(dimension.values)}"
                for dimension in self.dimensions
                if dimension.path in missing
            )
            or None,
        )

    def nth(self, number: int) -> Choice:
        """Return design `number` (from 0) as value indices; the last dimension varies fastest."""
        digits: list[int] = []
        for dimension in reversed(self.dimensions):
            number, digit = divmod(number, len(dimension.values))
            digits.append(digit)
        return tuple(reversed(digits))


def canonical_json(value: object) -> str:
    """Return the unique JSON text of a value: sorted keys, no spaces.

    Raises ValueError for NaN or infinity.
    """
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def _listing(values: Sequence[Value], limit: int = 8) -> str:
    shown = ", ".join(str(value) for value in values[:limit])
    return shown if len(values) <= limit else f"{shown}, … ({len(values)} values)"
