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
from tilewright.mapper.searches.program.program_steps import TemplateProgram

MAX_CORNERS = 64
_BEYOND = 1 + 1e-9  # times a size: what does not fit into it, far beyond the noise of rounding


@dataclass(frozen=True, slots=True)
class TracedMapping:
    """A mapping that a search has found, before it is written out.

    `row`: (energy in J, latency in s, bits of each tracked memory). `program`: the steps of its
    template; `tiles`: the tile below each slot of the template, outermost first. A template is a
    mapping without its loops.
    """

    row: tuple[float, ...]
    program: TemplateProgram
    tiles: tuple[Tile, ...]


class SweepTarget(Protocol):
    """What a pass over all mappings looks for: a Pareto front or the least value of a formula.

    Rows are (energy in J, latency in s, bits of each tracked memory).
    """

    def corners(self) -> Floats:
        """Return rows such that no mapping at or above one in all columns is of interest.

        Shape (corners, columns): energy in J, latency in s, bits of each tracked memory.
        """
        ...

    def hopeful(self, floors: Floats) -> NDArray[np.bool_]:
        """Tell which rows of lower bounds allow a mapping of interest.

        `floors`, shape (rows, columns): energy in J, latency in s, bits of each tracked memory.
        The result has shape (rows,).
        """
        ...

    def wanted(self, rows: Floats) -> list[int]:
        """Return the numbers of the rows whose mappings are to be offered, in order.

        `rows`, shape (rows, columns): energy in J, latency in s, bits of each tracked memory, of
        complete mappings.
        """
        ...

    def offer(self, candidates: Sequence[TracedMapping]) -> None:
        """Take mappings whose rows `wanted` has named, as new points or as the best so far."""
        ...


class FrontTarget:
    """Collects the Pareto front of the mappings offered to it.

    `counted`: the columns of the rows (energy in J, latency in s, bits of each memory) that are
    compared; less is better. `sizes`: for each memory the sizes in bits that are in question,
    rising; bits that the same of them hold count as equal. Empty: every bit counts. `mappings`: the
    front so far.
    """

    def __init__(self, counted: tuple[int, ...], sizes: Sequence[Sequence[float]] = ()) -> None:
        self._counted = list(counted)
        self._sizes = [np.asarray(several, np.float64) for several in sizes]
        self._points = np.zeros((0, 0))
        self._corners = np.zeros((0, 0))
        self.mappings: list[TracedMapping] = []

    def corners(self) -> Floats:
        """Return up to 64 rows of the front so far, with 0 in the columns that are not compared.

        No mapping at or above one of them in all columns is of interest.
        """
        return self._corners

    def hopeful(self, floors: Floats) -> NDArray[np.bool_]:
        """Tell which rows no point of the front so far covers, shape (rows,).

        A point covers a row if it is no greater in any of the compared columns.
        """
        if not self.mappings:
            return np.ones(len(floors), np.bool_)
        return ~covered(self._compared(floors), self._points)

    def wanted(self, rows: Floats) -> list[int]:
        """Return the numbers of the rows that belong to the front, in order.

        They are Pareto optimal among themselves, and no point found so far covers them.
        """
        open_ = np.flatnonzero(self.hopeful(rows))
        order = [i for i in range(rows.shape[1]) if i not in self._counted]
        ties = open_[np.lexsort([rows[open_, i] for i in reversed(order)])] if order else open_
        pareto_rows: list[int] = ties[undominated(self._compared(rows[ties]))].tolist()
        return pareto_rows

    def offer(self, candidates: Sequence[TracedMapping]) -> None:
        """Add mappings to the front, and drop those that another one covers.

        A mapping covers another if it is no greater in any of the compared columns.
        """
        mappings = [*self.mappings, *candidates]
        rows = self._compared(np.array([mapping.row for mapping in mappings]))
        pareto_rows = undominated(rows)
        self.mappings = [mappings[i] for i in pareto_rows.tolist()]
        self._points = rows[pareto_rows]
        places = np.unique(np.linspace(0, len(self.mappings) - 1, MAX_CORNERS).round().astype(int))
        self._corners = np.zeros((len(places), len(self.mappings[0].row)))
        self._corners[:, self._counted] = self._points[places]

    def _compared(self, rows: Floats) -> Floats:
        """Return the columns that are compared; bits are rounded up to the sizes in question."""
        return rounded_to_sizes(rows, self._sizes)[:, self._counted]


def rounded_to_sizes(rows: Floats, sizes: Sequence[Sequence[float] | Floats]) -> Floats:
    """Return rows whose bits of each memory are rounded up, so that equal bits need equal sizes.

    `rows`, shape (rows, columns): energy in J, latency in s, bits of each tracked memory, and what
    follows. `sizes`: for each memory the sizes in bits that are in question, rising; empty: the
    rows stay as they are.
    """
    if not sizes:
        return rows
    rows = rows.copy()
    for column, several in enumerate(sizes, start=2):
        smaller = np.concatenate([[0.0], np.asarray(several, np.float64) * _BEYOND])
        rows[:, column] = smaller[np.searchsorted(several, rows[:, column], side="left")]
    return rows
