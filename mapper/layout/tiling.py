"""Tiles: each shard is allocated in whole tiles of a shape and a number format (layouts.md §3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from tilewright.arch.errors import SpecError
from tilewright.arch.number_format import NumberFormat, Sizes, number_format

SINGLE: Final = number_format("f32")


@dataclass(frozen=True, slots=True)
class Tiling:
    """Store the scalars of a shard in tiles, one tile after the other.

    `sides`: of a tile, for the last groups; groups before them have tiles of one position. Empty:
    a tile is one scalar. `element`: format of the scalars; `sizes`: whether bytes count shared
    exponents. Tiles lie row-major, and so do the scalars of a tile. Raises SpecError for a side
    below 1.
    """

    sides: tuple[int, ...] = ()
    element: NumberFormat = SINGLE
    sizes: Sizes = "compiler"

    def __post_init__(self) -> None:
        if any(side < 1 for side in self.sides):
            raise SpecError("sides of a tile must be at least 1", value=self.sides)

    @property
    def scalars(self) -> int:
        """Number of scalars in a tile."""
        return prod(self.sides)

    @property
    def tile_bytes(self) -> int:
        """Bytes of one tile."""
        return self.element.tile_bytes(self.scalars, self.sizes)

    def full_sides(self, rank: int) -> tuple[int, ...]:
        """Return the sides of a tile along each of `rank` groups; SpecError if it has more."""
        if len(self.sides) > rank:
            raise SpecError(
                f"a tile of {len(self.sides)} dimensions for shards of {rank}", value=self.sides
            )
        return (1,) * (rank - len(self.sides)) + self.sides

    def tiles(self, shard_shape: Sequence[int]) -> tuple[int, ...]:
        """Return the tiles along each group that a shard is allocated in: rounded up."""
        sides = self.full_sides(len(shard_shape))
        return tuple(-(-extent // side) for extent, side in zip(shard_shape, sides, strict=True))

    def allocated(self, shard_shape: Sequence[int]) -> tuple[int, ...]:
        """Return the positions along each group that a shard is allocated with: whole tiles."""
        sides = self.full_sides(len(shard_shape))
        counts = self.tiles(shard_shape)
        return tuple(count * side for count, side in zip(counts, sides, strict=True))

    def position(self, offset: Sequence[int], shard_shape: Sequence[int]) -> tuple[int, int]:
        """Return (number of the tile in the shard, number of the scalar in the tile) of an offset.

        Example: tiles of 2 × 3 in a shard of 4 × 6: offset (2, 4) is scalar 1 of tile 3.
        """
        sides, counts = self.full_sides(len(shard_shape)), self.tiles(shard_shape)
        tile = scalar = 0
        for place, side, count in zip(offset, sides, counts, strict=True):
            tile = tile * count + place // side
            scalar = scalar * side + place % side
        return tile, scalar

    def offset(self, tile: int, scalar: int, shard_shape: Sequence[int]) -> tuple[int, ...]:
        """Return the offset in the shard of a scalar of a tile: the inverse of `position`."""
        sides, counts = self.full_sides(len(shard_shape)), self.tiles(shard_shape)
        result = []
        for side, count in zip(reversed(sides), reversed(counts), strict=True):
            tile, at = divmod(tile, count)
            scalar, inside = divmod(scalar, side)
            result.append(at * side + inside)
        return tuple(reversed(result))
