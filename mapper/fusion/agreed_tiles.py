"""Leave out pmappings whose tile of a tensor on chip no user of that tensor has.

Einsums that exchange a tensor on chip share all loops above it, so that they agree about its tile.
The pmappings of an Einsum with few of them, such as a matrix product, then rule out most of those
of its neighbours, such as an element by element function, for which nearly all tiles cost the same.
Nothing is lost: a pmapping that is left out can be joined to none of the others.

Example: Y has 8 x 8 values. The pmappings of its producer that cost little enough have tiles of
(2, 8) or (4, 8): those of its consumers with other tiles are never made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from tilewright.mapper.fusion.boundary.exchanged_tensors import ExchangedTensors, TensorPlace
from tilewright.mapper.fusion.fused_einsum import FusedEinsum
from tilewright.mapper.fusion.pmappings.pmapping_table import PmappingGroup, PmappingTable
from tilewright.mapper.fusion.pmappings.region.region_rules import AgreedTile, tile_codes
from tilewright.mapper.searches.exact.kernels import Ints
from tilewright.mapper.workload.einsum import Einsum

MOST_CODES = 1 << 62


def building_order(einsums: Sequence[Einsum]) -> list[int]:
    """Return the numbers of Einsums, those that reuse most first.

    Reuse is the number of pairs of a tensor and a rank variable irrelevant to it: without any, all
    tiles cost alike, and an Einsum has many equal pmappings.
    """

    def reuse(number: int) -> int:
        einsum = einsums[number]
        return sum(a.relevance(v) == "irrelevant" for a in einsum.accesses for v in einsum.bounds)

    return sorted(range(len(einsums)), key=lambda number: (-reuse(number), number))


class AgreedTiles:
    """Collect the tiles of tensors on chip that Einsums already searched can have.

    Einsums searched later need no pmapping with another tile, since it could not be joined.
    `exchanged`: which tensors Einsums may exchange on chip, and the loops that may stand above.
    """

    def __init__(self, exchanged: ExchangedTensors) -> None:
        self._exchanged = exchanged
        self._codes: dict[TensorPlace, Ints] = {}

    def add(self, tables: Sequence[PmappingTable]) -> None:
        """Keep, of the tiles known so far, those that the pmappings of one more Einsum have too.

        `tables`: its pmappings, one table per compute and choice of tensors on chip.
        """
        for position, place in enumerate(tables[0].boundary):
            bounds = self._bounds(tables[0].einsum, place.tensor)
            if prod(bounds.values()) < MOST_CODES:
                codes = np.unique(_codes_of_tables(tables, position, bounds))
                known = self._codes.get(place, codes)
                self._codes[place] = np.intersect1d(known, codes, assume_unique=True)

    def of(self, fused: FusedEinsum, mask: int) -> tuple[AgreedTile, ...]:
        """Return, for tensors of an Einsum on chip, the tiles that all Einsums added before allow.

        `fused`: the Einsum. `mask`: its exchanged tensors on chip, as bits of its boundary. No
        entry for a tensor that no added Einsum has.
        """
        einsum = fused.einsum
        names = self._exchanged.loop_names_of(einsum)
        numbers = {names[v]: number for number, v in enumerate(einsum.bounds)}
        return tuple(
            AgreedTile(
                einsum.tensors.index(place.tensor),
                place.memory,
                tuple(numbers[name] for name in self._bounds(einsum, place.tensor)),
                self._codes[place].tobytes(),
            )
            for position, place in enumerate(fused.boundary)
            if mask >> position & 1 and place in self._codes
        )

    def _bounds(self, einsum: Einsum, tensor: str) -> dict[str, int]:
        """Return the bounds of the rank variables whose loops may be shared above a tensor.

        Keys are names common to all Einsums, sorted.
        """
        names, shareable = self._exchanged.loop_names_of(einsum), self._exchanged.shareable_loops
        bounds = {names[v]: bound for v, bound in einsum.bounds.items()}
        return {name: bounds[name] for name in sorted(shareable[tensor])}


def _codes_of_tables(
    tables: Sequence[PmappingTable], position: int, bounds: Mapping[str, int]
) -> Ints:
    """Return one tensor's tile in every pmapping that has it on chip, each coded as an integer.

    `position`: of its (tensor, memory) pair in the boundary. `bounds`: of the variables of loops
    that may stand above it. Shape (pmappings,).
    """
    groups = (group for table in tables for group in table.groups)
    pieces = [_codes_of_group(g, position, bounds) for g in groups if g.depths[position] >= 0]
    return np.concatenate([np.zeros(0, np.int64), *pieces])


def _codes_of_group(group: PmappingGroup, position: int, bounds: Mapping[str, int]) -> Ints:
    """Return the tile of a tensor in each tiling of a group, coded as an integer; shape (tilings,).

    A tiling is a choice of tile shapes for the group's fused loops. `position`, `bounds`: as in
    _codes_of_tables; a variable without a loop above the tensor has its whole bound.
    """
    columns = {loop.variable: n for n, loop in enumerate(group.loops[: group.depths[position]])}
    whole = np.array(list(bounds.values()), np.int64)
    tiles = np.tile(whole, (len(group), 1))
    for number, name in enumerate(bounds):
        if name in columns:
            tiles[:, number] = group.tiles[:, columns[name]]
    return tile_codes(tiles, whole)
