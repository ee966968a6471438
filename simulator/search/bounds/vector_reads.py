"""How an element's vector operation reads its tiles: its rows, and reads that meet on a bank.

The tiles lie in memory as a kernel lays them out; where they begin is left open, so that no place
of them gives fewer conflicts (theory/grid.md §6).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.mapper.workload.einsum import Affine, TensorAccess
from tilewright.simulator.compile.columns import BANKS
from tilewright.simulator.search.bounds.elementwise import Numbers, chosen, least, most

Moves = Mapping[str, Numbers]
Ways = npt.NDArray[np.float64]
"""In how many turns two tiles have each distance modulo the banks: (families, banks)."""
_BANKS: Final = np.arange(BANKS)
_BACK: Final = (_BANKS[:, None] - _BANKS) % BANKS
"""(end, begin): the distance from one bank to another."""
_WINDOWS: Final = np.array([width > _BACK.T for width in range(BANKS + 1)], dtype=np.float64)
"""(width, begin, distance): 1 for so many distances from one on."""
_TURNS: Final = np.array(
    [
        [
            np.bincount(np.arange(turns) * move % BANKS, minlength=BANKS)
            for turns in range(BANKS + 1)
        ]
        for move in range(BANKS)
    ],
    dtype=np.float64,
)
"""(move, turns, distance): the turns of a loop by distance; of 8 turns in each round of banks."""


class TileInMemory(NamedTuple):
    """A tile of a tensor in memory: `tile`: its values by rank variable; `wide`: words of a value.

    `keeps_order`: whether its ranks lie in their order, not those of the vector operation last.
    """

    access: TensorAccess
    tile: Mapping[str, Numbers]
    wide: int
    keeps_order: bool

    def moves(self, vector: Sequence[str]) -> Moves:
        """Return how many values a turn of the loop over each rank variable moves in the tile.

        `vector`: rank variables of the vector operation, outermost first (`tile_layout`).
        """
        forms = [form for _, form in self.access.projection]
        if not self.keeps_order:
            forms.sort(key=lambda form: _last_use(form, vector))
        moves: dict[str, Numbers] = {}
        pitch: Numbers = 1
        for form in reversed(forms):
            for name, factor in form.terms:
                moves[name] = moves.get(name, 0) + pitch * factor
            pitch = pitch * form.extent(self.tile)
        return moves


def _last_use(form: Affine, names: Sequence[str]) -> int:
    used = {name for name, _ in form.terms}
    return max((place for place, name in enumerate(names) if name in used), default=-1)


@dataclass(frozen=True)
class VectorReads:
    """The reads of a vector operation over the loops `vector`, outermost first, on tiles.

    `outer`: the loops around it; `turns`: values of each rank variable in a tile. `tiles`: by
    tensor, all but that in the register.
    """

    vector: Sequence[str]
    outer: Sequence[str]
    turns: Mapping[str, Numbers]
    tiles: Mapping[str, TileInMemory]

    @cached_property
    def _moves(self) -> Mapping[str, Moves]:
        return {name: tile.moves(self.vector) for name, tile in self.tiles.items()}

    @cached_property
    def row(self) -> Numbers:
        """After how many values a group of the operation always ends.

        Loops of which one goes on where the other ends, in all tiles, are one row.
        """
        if not self.vector:
            return 1
        row: Numbers = self.turns[self.vector[-1]]
        joins: Numbers = True
        for name, is_stretch in self._stretches():
            joins = joins & is_stretch
            row = row * chosen(joins, self.turns[name], 1)
        return row

    def _stretches(self) -> Iterator[tuple[str, Numbers]]:
        """Yield the loops but the innermost, from inside out: does it go on where the next ends?"""
        for name, inner in zip(self.vector[-2::-1], self.vector[::-1], strict=False):
            is_stretch: Numbers = True
            for moves in self._moves.values():
                goes_on = moves.get(name, 0) == self.turns[inner] * moves.get(inner, 0)
                is_stretch = is_stretch & goes_on
            yield name, is_stretch

    def goes_on(self, name: str, length: Numbers) -> Numbers:
        """Return whether a turn of a loop leaves each vector, or moves it behind its end.

        `name`: the loop's rank variable; `length`: values of a vector. Each must be one stretch of
        memory, or the operation has no map around it (`can_walk`).
        """
        goes_on: Numbers = self.row == length
        for moves in self._moves.values():
            turn = moves.get(name, 0)
            is_dense = moves.get(self.vector[-1], 0) == 1 if self.vector else True
            goes_on = goes_on & ((turn == 0) | (is_dense & (turn == length)))
        return goes_on

    def most_apart(self, first: str, second: str, group: int) -> Numbers:
        """Return in how many turns of the loops around groups meet on no bank, at the most.

        `first`, `second`: tensors that the operation reads; `group`: values that go at once. That
        is the number for the best distance of the tiles modulo the banks. Over the groups of one
        operation the distance counts as the same.
        """
        words = sum(self._words(name, group) for name in (first, second))
        free = most(0, least(BANKS, BANKS + 1 - words))
        one, other = self._moves[first], self._moves[second]
        moving, turns = list[Ways](), 1
        for name in self.outer:
            apart = (
                one.get(name, 0) * self.tiles[first].wide
                - other.get(name, 0) * self.tiles[second].wide
            ) % BANKS
            if np.any(apart):
                moving.append(_ways(apart, self.turns[name]))
            else:
                turns = turns * self.turns[name]
        if not moving:
            return turns * (free > 0)
        ways = reduce(_convolved, moving)
        return turns * (_WINDOWS[free] @ ways[..., None])[..., 0].max(axis=-1)

    def _words(self, name: str, group: int) -> Numbers:
        """Return the words from the first to the last that a group of values covers."""
        stride = self._moves[name].get(self.vector[-1], 0) if self.vector else 1
        return self.tiles[name].wide * (1 + (group - 1) * abs(stride))


def _ways(move: Numbers, turns: Numbers) -> Ways:
    """Return in how many turns of a loop that moves by `move` each distance occurs."""
    rounds = np.asarray(turns // BANKS)[..., None]
    return np.asarray(_TURNS[move, turns % BANKS] + rounds * _TURNS[move, BANKS])


def _convolved(ways: Ways, inner: Ways) -> Ways:
    """Return in how many turns each distance occurs of a loop inside others."""
    return np.asarray((inner[..., _BACK] @ ways[..., None])[..., 0])
