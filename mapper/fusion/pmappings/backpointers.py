"""Keep the tiles that labels went through below the shared loops, to rebuild their mappings.

Few labels become pmappings, and to build the mapping of one only the tile at each slot is needed.
The tables of all other labels are dropped.
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
    """Keep the tiles that some labels of one inner program went through, to rebuild their mappings.

    An inner program is the dynamic program over tile shapes below the lowest tensor exchanged on
    chip; a label is a partial mapping in it. `labels`: numbers of the labels that became pmappings,
    rising, shape (labels,). `states`: for each of them the tile shape below each operation of the
    program, from the innermost one, and last its own, as numbers of the lattice of tile shapes;
    shape (operations + 1, labels).
    """

    inner_program: InnerProgram
    labels: Ints
    states: Ints

    def tiles_below_slots(self, lattice: Lattice, label: int) -> dict[int, tuple[int, ...]]:
        """Return, for one label, the tile shape below each slot that an operation stands for.

        `lattice`: of the tile shapes. `label`: one of `labels`. Keys are numbers of slots of the
        template (loops, fills, reservations); tile shapes have one value per rank variable.
        """
        states = self._states_of(label)[:-1]
        tiles = lattice.tiles[states].tolist()
        pairs = zip(self.inner_program.program.slots, tiles, strict=True)
        return {slot: tuple(tile) for slot, tile in pairs if slot is not None}

    def tile_state(self, label: int) -> int:
        """Return the tile shape at the top of a label, as its number in the lattice.

        A label is a partial mapping below the lowest tensor exchanged on chip; the lattice lists
        all tile shapes of the Einsum. `label`: one of `labels`.
        """
        return int(self._states_of(label)[-1])

    def _states_of(self, label: int) -> Ints:
        return self.states[:, int(np.searchsorted(self.labels, label))]


def backpointers_of(solved: Sequence[SolvedProgram], origins: Ints) -> Iterator[Backpointers]:
    """Yield, per solved program, the tiles of the labels that were used in pmappings.

    A program is the search below the lowest tensor exchanged on chip, a label a partial mapping in
    it, a pmapping the whole mapping of one Einsum. `solved`: the programs with the tables of all
    their labels, which need not be kept afterwards. `origins`: (number of the program, number of
    the label) of each pmapping, shape (pmappings, 2), in any order, with repetitions.
    """
    order = np.lexsort((origins[:, 1], origins[:, 0]))
    sorted_origins = origins[order]
    ends = np.searchsorted(sorted_origins[:, 0], np.arange(len(solved) + 1))
    for number, program in enumerate(solved):
        labels = sorted_origins[ends[number] : ends[number + 1], 1]
        yield _follow_labels(program, labels[np.diff(labels, prepend=-1) > 0])


def _follow_labels(solved: SolvedProgram, labels: Ints) -> Backpointers:
    """Trace labels back through the tables of a solved program; `labels`: their numbers, rising."""
    tables, current = solved.tables, labels
    states: Any = np.empty((len(tables), len(labels)), np.int32)
    for number in range(len(tables) - 1, -1, -1):
        states[number] = np.searchsorted(tables[number].start, current, side="right") - 1
        current = tables[number].origin[current, 0]
    return Backpointers(solved.inner_program, labels, states)
