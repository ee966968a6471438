"""What the sums of a group of elements take at least, under the schemes of their reduction."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod
from typing import NamedTuple

import numpy as np

from tilewright.mapper.grid.grid_mapspace import GridMapspace
from tilewright.mapper.grid.number_types import dtype_of
from tilewright.mapper.grid.schemes.reduction_scheme import ReductionScheme, reduction_scheme
from tilewright.mapper.grid.schemes.ring_reduction import RingReduction, values_together
from tilewright.mapper.grid.schemes.snake import Snake
from tilewright.simulator.lowering.lower_bound.cycle_bound import AXES, sums_cross
from tilewright.simulator.lowering.rings.ring_bound import ring_cycles
from tilewright.simulator.lowering.sums.sum_chains import sums_cycles, way_back
from tilewright.simulator.profiles.profile import Profile
from tilewright.simulator.search.bounds.elementwise import Numbers
from tilewright.simulator.search.bounds.family_tiles import Alike, FamilyTiles


class GroupSums(NamedTuple):
    """What the last element of a group has in common under several schemes of its reduction.

    `received`: the least number of sums that it gets; `crosses_x`, `crosses_y`: whether one comes
    along the axis under all schemes. `has_ring`: whether one of them goes round a ring. `cycles`:
    of the sums by the fastest scheme; 0 without sums. `schemes`: number of the schemes.
    """

    received: Numbers
    crosses_x: Numbers
    crosses_y: Numbers
    has_ring: Numbers
    schemes: Numbers
    cycles: Numbers = 0.0


class SummedTile(NamedTuple):
    """A tile of the output that elements add up: columns and rows of a group of them.

    `values`, `words`: of the tile; `is_shared`: whether all of them get the result.
    """

    groups: tuple[int, int]
    values: int
    words: int
    is_shared: bool

    @staticmethod
    def of(tiles: FamilyTiles) -> SummedTile:
        """Return the tile of one family."""
        return SummedTile(tiles.groups, tiles.output, tiles.output_words, tiles.family.shared)


@lru_cache(maxsize=4096)
def _schemes(texts: tuple[str, ...]) -> tuple[ReductionScheme, ...]:
    """Return the schemes of reductions that are written so."""
    return tuple(map(reduction_scheme, texts))


@lru_cache(maxsize=4096)
def _sums_of(groups: tuple[int, int], texts: tuple[str, ...]) -> GroupSums:
    orders = [scheme.order for scheme in _schemes(texts)]
    crossed = [[sums_cross(groups, axis, order) for axis in AXES] for order in orders]
    every_x, every_y = (all(each) for each in zip(*crossed, strict=True))
    received = min(map(sum, crossed))
    return GroupSums(received, every_x, every_y, "ring" in orders, len(texts))


@dataclass(frozen=True)
class SumsOfGroups:
    """The sums of all families of a mapspace on one machine."""

    space: GridMapspace
    profile: Profile

    def of(self, tile: SummedTile, texts: tuple[str, ...]) -> GroupSums:
        """Return the sums of one family by the schemes that are written so."""
        sums = _sums_of(tile.groups, texts)
        if prod(tile.groups) == 1:
            return sums
        if (tile, texts) not in self._known:
            self._known[tile, texts] = self._cycles(tile, texts)
        return sums._replace(cycles=self._known[tile, texts])

    def together(self, tiles: FamilyTiles, alike: Alike) -> GroupSums:
        """Return the sums of many families: of those with equal groups and outputs once.

        All elements in use count as well, since some schemes are only for few.
        """
        sizes = prod(tiles.elements), *tiles.groups, tiles.output, tiles.output_words
        elements, across, down, output, words = np.broadcast_arrays(*sizes, alike.number)[:-1]
        _, key = np.unique(output, return_inverse=True)
        for column in (elements, across, down):
            key = key * (int(column.max()) + 1) + column
        _, first, number = np.unique(key, return_index=True, return_inverse=True)
        sums = []
        for place in first.tolist():
            family, size = alike.families[place], int(output[place])
            groups = int(across[place]), int(down[place])
            texts = tuple(self.space.schemes(family, size))
            tile = SummedTile(groups, size, int(words[place]), family.shared)
            sums.append(self.of(tile, texts))
        return GroupSums(*(np.array(column)[number] for column in zip(*sums, strict=True)))

    @cached_property
    def _known(self) -> dict[tuple[SummedTile, tuple[str, ...]], float]:
        return {}

    def _cycles(self, tile: SummedTile, texts: tuple[str, ...]) -> float:
        """Return the cycles of the sums by the fastest scheme.

        A result that is shared goes all the way back.
        """
        (groups, values, words, is_shared), profile = tile, self.profile
        dtype = dtype_of(self.space.computed.outputs[0], self.space.computed)
        together = values_together(prod(groups), values, dtype)
        ring = RingReduction(Snake(*groups), values, together)
        back = way_back(groups, words, profile) if is_shared else 0.0
        return min(
            ring_cycles(ring, profile)
            if scheme.order == "ring"
            else sums_cycles(groups, scheme, words, profile) + back
            for scheme in _schemes(texts)
        )
