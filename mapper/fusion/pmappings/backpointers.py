"""Keep the tiles that labels went through below the shared loops: what is left of the tables.

Few labels become pmappings, and of a pmapping only the tile at each gap is needed to build it.
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
    """The tiles that some labels of an inner program went through.

    `labels`: their numbers, rising; shape (labels,). `states`: per label the tile below each
    operation of its program, innermost first, then its own; shape (operations + 1, labels).
    """

    inner_program: InnerProgram
    labels: Ints
    states: Ints

    def tiles_below_slots(self, lattice: Lattice, label: int) -> dict[int, tuple[int, ...]]:
        """Return the tile below each slot that an operation stands for."""
        states = self._states_of(label)[:-1]
        tiles = lattice.tiles[states].tolist()
        pairs = zip(self.inner_program.program.slots, tiles, strict=True)
        return {slot: tuple(tile) for slot, tile in pairs if slot is not None}

    def tile_state(self, label: int) -> int:
        """Return the tile of a label, as a state of the lattice."""
        return int(self._states_of(label)[-1])

    def _states_of(self, label: int) -> Ints:
        return self.states[:, int(np.searchsorted(self.labels, label))]


def backpointers_of(solved: Sequence[SolvedProgram], origins: Ints) -> Iterator[Backpointers]:
    """Yield the backpointers of the labels of each solved program that became pmappings.

    `origins`: (number of the program, label there) of each pmapping, shape (pmappings, 2), in any
    order, with repetitions.
    """
    order = np.lexsort((origins[:, 1], origins[:, 0]))
    sorted_origins = origins[order]
    ends = np.searchsorted(sorted_origins[:, 0], np.arange(len(solved) + 1))
    for number, program in enumerate(solved):
        labels = sorted_origins[ends[number] : ends[number + 1], 1]
        yield _follow_labels(program, labels[np.diff(labels, prepend=-1) > 0])


def _follow_labels(solved: SolvedProgram, labels: Ints) -> Backpointers:
    """Follow labels down through the tables, all at once."""
    tables, current = solved.tables, labels
    states: Any = np.empty((len(tables), len(labels)), np.int32)
    for number in range(len(tables) - 1, -1, -1):
        states[number] = np.searchsorted(tables[number].start, current, side="right") - 1
        current = tables[number].origin[current, 0]
    return Backpointers(solved.inner_program, labels, states)
