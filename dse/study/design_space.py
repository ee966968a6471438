"""The design space: named dimensions with finitely many values each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tilewright.arch.errors import SpecError

Value = bool | int | float | str
Point = Mapping[str, Value]
"""A design: path of the knob -> its value, in the order of the space."""
Choice = tuple[int, ...]
"""A design as one index per dimension."""


@dataclass(frozen=True)
class Dimension:
    """One knob. `ordered`: neighbouring indices are similar, so a sampler may use the distance."""

    path: str
    values: Sequence[Value]
    ordered: bool

    @cached_property
    def _index_of(self) -> Mapping[str, int]:
        return {canonical_json(value): index for index, value in enumerate(self.values)}

    def index(self, value: Value) -> int:
        """Return the index of `value`; SpecError if it is not one of the values."""
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
    """The product of its dimensions."""

    dimensions: tuple[Dimension, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(dimension.path for dimension in self.dimensions)

    @property
    def size(self) -> int:
        product = 1
        for dimension in self.dimensions:
            product *= len(dimension.values)
        return product

    def point(self, choice: Choice) -> dict[str, Value]:
        """Return the values that a choice of indices stands for."""
        return {
            dimension.path: dimension.values[index]
            for dimension, index in zip(self.dimensions, choice, strict=True)
        }

    def choice(self, point: Point) -> Choice:
        """Return the indices of a point; SpecError if it does not lie in the space."""
        missing = [path for path in self.paths if path not in point]
        extra = sorted(set(point) - set(self.paths))
        if missing or extra:
            raise SpecError(
                "a design gives every knob of the space one value; "
                + "; ".join(
                    f"{name}: {', '.join(paths)}"
                    for name, paths in (("missing", missing), ("not a knob", extra))
                    if paths
                )
            )
        return tuple(dimension.index(point[dimension.path]) for dimension in self.dimensions)

    def nth(self, number: int) -> Choice:
        """Return choice `number` of the enumeration in which the last dimension varies fastest."""
        digits: list[int] = []
        for dimension in reversed(self.dimensions):
            number, digit = divmod(number, len(dimension.values))
            digits.append(digit)
        return tuple(reversed(digits))


def canonical_json(value: object) -> str:
    """Return the one JSON text of a value: sorted keys, no spaces, no NaN."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def _listing(values: Sequence[Value], limit: int = 8) -> str:
    shown = ", ".join(str(value) for value in values[:limit])
    return shown if len(values) <= limit else f"{shown}, … ({len(values)} values)"
