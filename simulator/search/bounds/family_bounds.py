"""The bounds of families of a mapspace, asked for one by one, and found for many ahead at once."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Final

from tilewright.mapper.grid.grid_mapspace import GridFamily
from tilewright.simulator.search.bounds.quick_bound import FamilyBound, QuickBound

TOGETHER: Final = 1 << 12
"""Families that are bounded at once, in some 0.1 s."""


class FamilyBounds:
    """The bounds of some families, which are asked for in about this order.

    `has_energy`: whether their energy is asked for.
    """

    def __init__(
        self, quick: QuickBound, families: Iterable[GridFamily], *, has_energy: bool
    ) -> None:
        self._quick, self._ahead, self._has_energy = quick, iter(families), has_energy
        self._known: dict[int, FamilyBound] = {}

    def of(self, family: GridFamily) -> FamilyBound:
        """Return the bounds of one of the families: the object that was given."""
        while id(family) not in self._known:
            ahead = list(islice(self._ahead, TOGETHER))
            assert ahead, "not one of the families"
            bounds = self._quick.together(ahead, has_energy=self._has_energy)
            self._known.update(zip(map(id, ahead), bounds, strict=True))
        return self._known[id(family)]

    def cycles(self, family: GridFamily) -> float:
        """Return the lower bound of its cycles; raises InfeasibleMapping if none can be built."""
        cycles = self.of(family).cycles
        return self._quick.cycles(family) if cycles is None else cycles
