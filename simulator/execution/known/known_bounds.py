"""Bounds of the families of a mapspace as plain data, which equal questions share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, cast

from tilewright.mapper.grid.grid_mapspace import GridFamily
from tilewright.mapper.workload.errors import InfeasibleMapping, Refusal

Bound = float | Refusal
"""Cycles that no member of a family goes below (a number of any kind), or why it has no member."""


def _bound(bound_of: Callable[[GridFamily], float], family: GridFamily) -> Bound:
    try:
        return bound_of(family)
    except InfeasibleMapping as error:
        return Refusal.of(error)


class KnownBounds:
    """The bounds of the families of a mapspace, of which some are known as plain data by number.

    The words of refusals are not kept, since they may have names in them: a refusal is the number
    of the first family that has the same one, `bound_of` gives its words anew. `known`: changed.
    """

    def __init__(
        self,
        families: Sequence[GridFamily],
        bound_of: Callable[[GridFamily], float],
        known: dict[int, Any],
    ) -> None:
        self._families, self._bound_of, self._known = families, bound_of, known
        self._refusals: dict[int, Bound] = {}
        self._first: dict[Refusal, int] = {}

    @property
    def are_whole(self) -> bool:
        """Whether all bounds are known."""
        return 0 < len(self._families) == len(self._known)

    def read(self, answer: Any) -> None:
        """Take the bounds of an answer of a store over, if it has as many as there are families."""
        bounds = answer.get("bounds") if isinstance(answer, dict) else None
        count = len(self._families)
        if not isinstance(bounds, list) or len(bounds) != count:
            return
        if all(_is_bound(bound, count) for bound in bounds):
            self._known.update(enumerate(bounds))

    def plain(self) -> list[Any]:
        """Return the bounds of all families, which must be known, as plain data."""
        return [self._known[number] for number in range(len(self._families))]

    def of(self, number: int) -> Bound:
        """Return the bound of a family, or why it has no member."""
        bound: Any
        if number in self._known:
            known = self._known[number]
            if not isinstance(known, dict):
                bound = Fraction(*known) if isinstance(known, list) else known
                return cast(Bound, bound)
            first = known["as"]
            if first not in self._refusals:
                self._refusals[first] = _bound(self._bound_of, self._families[first])
            if isinstance(self._refusals[first], Refusal):
                return self._refusals[first]
        bound = _bound(self._bound_of, self._families[number])
        if isinstance(bound, Refusal):
            self._known[number] = {"as": self._first.setdefault(bound, number)}
        elif isinstance(bound, Fraction):
            self._known[number] = [bound.numerator, bound.denominator]
        else:
            self._known[number] = bound
        return cast(Bound, bound)


def _is_bound(plain: Any, families: int) -> bool:
    """Return whether plain data of a store are a bound: a number, a ratio, or a refusal."""
    if isinstance(plain, dict):
        number = plain.get("as")
        return isinstance(number, int) and 0 <= number < families
    if isinstance(plain, list):
        return len(plain) == 2 and all(isinstance(n, int) for n in plain) and plain[1] != 0
    return isinstance(plain, int | float)
