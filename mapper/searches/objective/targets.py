"""What a sweep looks for: the whole Pareto set, or the least value of a formula.

All work on rows (energy, latency, bits used of each tracked memory), in joule, second and bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.fronts.pareto_points import covered, undominated
from tilewright.mapper.mapspace.assemble import Tile
from tilewright.mapper.searches.exact.kernels import Floats
from tilewright.mapper.searches.program.program import TemplateProgram

MAX_CORNERS = 64


@dataclass(frozen=True, slots=True)
class TracedMapping:
    """A mapping found: its row, and the tile below each slot of its program's skeleton."""

    row: tuple[float, ...]
    program: TemplateProgram
    tiles: tuple[Tile, ...]


class SweepTarget(Protocol):
    """What is looked for."""

    def corners(self) -> Floats:
        """Return rows such that nothing that is nowhere below one of them is of interest."""
        ...

    def hopeful(self, floors: Floats) -> NDArray[np.bool_]:
        """Tell which rows, bounds from below, leave room for something of interest."""
        ...

    def wanted(self, rows: Floats) -> list[int]:
        """Return the numbers of the rows that are to be offered, in order."""
        ...

    def offer(self, candidates: Sequence[TracedMapping]) -> None:
        """Take mappings whose rows are wanted."""
        ...


class FrontTarget:
    """Collects the Pareto set over the columns `counted` of the rows."""

    def __init__(self, counted: tuple[int, ...]) -> None:
        self._counted = list(counted)
        self._points = np.zeros((0, 0))
        self.mappings: list[TracedMapping] = []

    def corners(self) -> Floats:
        """Return the points found, 0 in what does not count."""
        if not self.mappings:
            return np.zeros((0, 0))
        places = np.unique(np.linspace(0, len(self.mappings) - 1, MAX_CORNERS).round().astype(int))
        corners = np.zeros((len(places), len(self.mappings[0].row)))
        corners[:, self._counted] = self._points[places]
        return corners

    def hopeful(self, floors: Floats) -> NDArray[np.bool_]:
        """A row is if no point covers it."""
        if not self.mappings:
            return np.ones(len(floors), np.bool_)
        return ~covered(floors[:, self._counted], self._points)

    def wanted(self, rows: Floats) -> list[int]:
        """Return the Pareto points among the rows that no point found covers."""
        open_ = np.flatnonzero(self.hopeful(rows))
        order = [i for i in range(rows.shape[1]) if i not in self._counted]
        ties = open_[np.lexsort([rows[open_, i] for i in reversed(order)])] if order else open_
        pareto_rows: list[int] = ties[undominated(rows[ties][:, self._counted])].tolist()
        return pareto_rows

    def offer(self, candidates: Sequence[TracedMapping]) -> None:
        """Keep them, and drop what they cover."""
        mappings = [*self.mappings, *candidates]
        rows = np.array([mapping.row for mapping in mappings])[:, self._counted]
        pareto_rows = undominated(rows)
        self.mappings = [mappings[i] for i in pareto_rows.tolist()]
        self._points = rows[pareto_rows]
