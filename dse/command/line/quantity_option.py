"""Values of options that are a number of seconds or bytes, also with a unit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import click


@dataclass(frozen=True, slots=True)
class QuantityKind:
    """A kind of quantities.

    `dimension`: of its units; `unit`: what a number alone counts; `in_one`: how many of the unit of
    the dimension (s, bit) that is; `examples`: of what to write.
    """

    dimension: str
    unit: str
    in_one: int
    examples: str


SECONDS = QuantityKind("time", "seconds", 1, "60, or 500 ms")
BYTES = QuantityKind("bits", "bytes", 8, "4e9, 4 GB or 512 MiB")


class QuantityType(click.ParamType[float]):
    """A number alone, or with a unit of its kind: `4e9`, `4 GB`.

    `kind`: seconds or bytes; `may_be_zero`: whether 0 is allowed.
    """

    name = "quantity"

    def __init__(self, kind: QuantityKind, *, may_be_zero: bool) -> None:
        self._kind = kind
        self._may_be_zero = may_be_zero

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number of seconds or bytes; click's error says what to write otherwise."""
        number = self._number(value)
        if number is None or not math.isfinite(number) or number < 0:
            self.fail(
                f"{value!r} is no number of {self._kind.unit}. Write {self._kind.examples}.",
                param,
                ctx,
            )
        if number == 0 and not self._may_be_zero:
            self.fail(f"{value!r} is not above 0. Write {self._kind.examples}.", param, ctx)
        return number

    def _number(self, value: Any) -> float | None:
        """Return the number that a text stands for, as in a study file; None if for none."""
        from tilewright.arch.errors import TilewrightError
        from tilewright.arch.expressions.expressions import evaluate
        from tilewright.arch.expressions.units import units_in

        units = units_in(value)
        if any(unit.dimension != self._kind.dimension for unit in units):
            return None
        try:
            number: Any = float(value) if not units else evaluate(value, {})
        except (TilewrightError, ValueError):
            return None
        return float(number) / (self._kind.in_one if units else 1)
