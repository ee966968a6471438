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
from tilewright.mapper.fusion.pmappings.inner_search import AgreedTile, tile_codes
from tilewright.mapper.fusion.pmappings.pmapping_table import PmappingGroup, PmappingTable
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
    """Collect the tiles that Einsums have of tensors on chip; tell which others may have.

    `exchanged`: which tensors Einsums may exchange on chip, and the loops that may stand above.
    """

    def __init__(self, exchanged: ExchangedTensors) -> None:
        self._exchanged = exchanged
        self._codes: dict[TensorPlace, Ints] = {}

    def add(self, tables: Sequence[PmappingTable]) -> None:
        """Note the tiles in the tables of one Einsum: one table per compute and set on chip."""
        for position, place in enumerate(tables[0].boundary):
            bounds = self._bounds(tables[0].einsum, place.tensor)
            if prod(bounds.values()) < MOST_CODES:
                codes = np.unique(_codes_of_tables(tables, position, bounds))
                known = self._codes.get(place, codes)
                self._codes[place] = np.intersect1d(known, codes, assume_unique=True)

    def of(self, fused: FusedEinsum, mask: int) -> tuple[AgreedTile, ...]:
        """Return the tiles that the tensors on chip may have, as far as others say.

        `fused`: the Einsum. `mask`: its exchanged tensors on chip, as bits of its boundary.
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
        """Return the bounds of the loops that may be shared above a tensor, by common name."""
        names, shareable = self._exchanged.loop_names_of(einsum), self._exchanged.shareable_loops
        bounds = {names[v]: bound for v, bound in einsum.bounds.items()}
        return {name: bounds[name] for name in sorted(shareable[tensor])}


def _codes_of_tables(
    tables: Sequence[PmappingTable], position: int, bounds: Mapping[str, int]
) -> Ints:
    """Return the tiles of the tensor at a place of the boundary, as numbers, where it is on chip.

    `bounds`: of the loops that may stand above it.
    """
    groups = (group for table in tables for group in table.groups)
    pieces = [_codes_of_group(g, position, bounds) for g in groups if g.depths[position] >= 0]
    return np.concatenate([np.zeros(0, np.int64), *pieces])


def _codes_of_group(group: PmappingGroup, position: int, bounds: Mapping[str, int]) -> Ints:
    """Return the tile of a tensor in each tiling of a group, as a number; shape (tilings,)."""
    columns = {loop.variable: n for n, loop in enumerate(group.loops[: group.depths[position]])}
    whole = np.array(list(bounds.values()), np.int64)
    tiles = np.tile(whole, (len(group), 1))
    for number, name in enumerate(bounds):
        if name in columns:
            tiles[:, number] = group.tiles[:, columns[name]]
    return tile_codes(tiles, whole)
