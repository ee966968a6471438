"""The tiles that labels went through below the shared loops: what is kept of a search's tables.

Of all labels few are points of rows, and of a point nothing matters but the tile at each gap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.mapper.fusion.pmappings.inner_programs import InnerProgram
from tilewright.mapper.fusion.pmappings.inner_search import SolvedProgram
from tilewright.mapper.mapspace.lattice import Lattice
from tilewright.mapper.searches.exact.kernels import Ints


@dataclass(frozen=True, slots=True)
class Backpointers:
    """The ways of some labels of a part. `labels`: their numbers, rising; `states`: per label the
    tile below each operation of its program, innermost first, and its own; shape (tiles, labels).
    """

    inner_program: InnerProgram
    labels: Ints
    states: Ints

    def tiles_below_slots(self, lattice: Lattice, label: int) -> dict[int, tuple[int, ...]]:
        """Return the tile below each slot that an operation stands for."""
        states = self._of(label)[:-1]
        slots = self.inner_program.program.slots
        found = zip(slots, lattice.tiles[states].tolist(), strict=True)
        return {slot: tuple(tile) for slot, tile in found if slot is not None}

    def tile_state(self, label: int) -> int:
        """Return the tile of a label, as a state."""
        return int(self._of(label)[-1])

    def _of(self, label: int) -> Ints:
        return self.states[:, int(np.searchsorted(self.labels, label))]


def backpointers_of(solved: Sequence[SolvedProgram], origins: Ints) -> Iterator[Backpointers]:
    """Yield a trail for each of `solved`; `origins`: numbers of solved parts and labels there,
    shape (points, 2), in any order and as often as they come."""
    order = np.lexsort((origins[:, 1], origins[:, 0]))
    sorted_ = origins[order]
    ends = np.searchsorted(sorted_[:, 0], np.arange(len(solved) + 1))
    for number, one in enumerate(solved):
        labels = sorted_[ends[number] : ends[number + 1], 1]
        yield _follow_labels(one, labels[np.diff(labels, prepend=-1) > 0])


def _follow_labels(solved: SolvedProgram, labels: Ints) -> Backpointers:
    """Follow labels down, all at once."""
    path, at = solved.tables, labels
    states: Any = np.empty((len(path), len(labels)), np.int32)
    for number in range(len(path) - 1, -1, -1):
        states[number] = np.searchsorted(path[number].start, at, side="right") - 1
        at = path[number].origin[at, 0]
    return Backpointers(solved.inner_program, labels, states)
