"""Place blocks in the memory of a unit: bank, partition and byte address (layouts.md §4).

Each of the three rotates by modulo of the same block index, so that blocks take turns in physical
tiles. What shares a tile, what is alive at a time and what overlaps are queries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import lcm, prod
from typing import Final

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout.rotation import ModuloRotation

BlockIndex = tuple[int, ...]
_FIRST: Final = ModuloRotation(0, 1)


@dataclass(frozen=True, slots=True, order=True)
class BlockPlace:
    """Place of one block: memory bank, first partition, and byte address within each of them."""

    bank: int
    partition: int
    address: int


@dataclass(frozen=True, slots=True)
class PlacementOverlap:
    """Two blocks of two placements that share memory, and the first byte that both have.

    `first`, `second`: indices of the blocks; `bank`, `partition`, `address`: of the byte.
    """

    first: BlockIndex
    second: BlockIndex
    bank: int
    partition: int
    address: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TilePlacement:
    """Place the blocks of a tensor in the memory of one unit.

    `blocks`: number of blocks along each axis; empty: one block, the whole. `tile_bytes`: bytes
    that a block takes in each of its `partitions`. `address`, `bank`, `partition`: where a block
    lies, each by modulo rotation of the same block index; their counts are empty or one per axis of
    `blocks`. `partition_axis`: axis of a shard's offsets that runs over partitions (None: a block
    lies in one). Raises SpecError for counts of another length, which other tools cut to the
    shorter length, and for a number below its least.
    """

    blocks: tuple[int, ...] = ()
    tile_bytes: int
    address: ModuloRotation
    bank: ModuloRotation = _FIRST
    partition: ModuloRotation = _FIRST
    partitions: int = 1
    partition_axis: int | None = None

    def __post_init__(self) -> None:
        if any(count < 1 for count in self.blocks) or self.tile_bytes < 1 or self.partitions < 1:
            raise SpecError(
                "blocks, bytes and partitions of a placement must be at least 1",
                value=(self.blocks, self.tile_bytes, self.partitions),
            )
        for name, rotation in self.rotations:
            if rotation.counts and len(rotation.counts) != len(self.blocks):
                raise SpecError(
                    f"counts of the {name} rotation: length {len(rotation.counts)}, but blocks "
                    f"have {len(self.blocks)} axes",
                    value=rotation.counts,
                    instead=f"() or {len(self.blocks)} counts",
                )

    @property
    def rotations(self) -> tuple[tuple[str, ModuloRotation], ...]:
        """The three rotations by name."""
        return (("bank", self.bank), ("partition", self.partition), ("address", self.address))

    @property
    def declared_tiles(self) -> int:
        """Product of all counts: the tiles that the rotations seem to promise."""
        return prod(rotation.tiles for _, rotation in self.rotations)

    @property
    def periods(self) -> tuple[int, ...]:
        """Period of the place along each axis of blocks: the lcm of the three counts."""
        return tuple(
            lcm(*(rotation.counts[axis] for _, rotation in self.rotations if rotation.counts))
            for axis in range(len(self.blocks))
        )

    @property
    def physical_tiles(self) -> int:
        """Number of different places that the blocks have.

        At most the product of `periods`: rotations that share an axis of the block index walk a
        diagonal, so 4 partitions and 2 addresses on one axis have lcm(4, 2) = 4 places, not 8.
        """
        return len(set(map(self.at, self.first_blocks())))

    @property
    def footprint(self) -> int:
        """Bytes from address 0 to the end of the highest block, in each partition and bank."""
        return max(self.address.base, self.address.last) + self.tile_bytes

    def indices(self) -> Iterator[BlockIndex]:
        """Return all block indices in row-major order."""
        return product(*(range(count) for count in self.blocks))

    def at(self, block: Sequence[int]) -> BlockPlace:
        """Return the place of a block; blocks equal modulo the counts share one."""
        return BlockPlace(
            self.bank.address(block), self.partition.address(block), self.address.address(block)
        )

    def max_consecutive_live(self) -> int:
        """Return how many consecutive blocks, in row-major order, never share a place.

        That many may be alive at a time while the blocks are walked in that order: 2 is double
        buffering. The least distance between two visits of one place; all blocks if none repeats.
        """
        last: dict[BlockPlace, int] = {}
        least = prod(self.blocks)
        for number, block in enumerate(self.indices()):
            place = self.at(block)
            if place in last:
                least = min(least, number - last[place])
            last[place] = number
        return least

    def live_tiles(self, alive: Sequence[BlockIndex]) -> dict[BlockPlace, tuple[BlockIndex, ...]]:
        """Return the blocks in each place, of blocks that are alive at the same time.

        A place with several blocks holds the data of one of them only.
        """
        places: dict[BlockPlace, list[BlockIndex]] = {}
        for block in alive:
            places.setdefault(self.at(block), []).append(tuple(block))
        return {place: tuple(blocks) for place, blocks in places.items()}

    def clash(self, alive: Sequence[BlockIndex]) -> PlacementOverlap | None:
        """Return two of the blocks, all alive at the same time, that share memory, or None."""
        seen: list[BlockIndex] = []
        for block in alive:
            for other in seen:
                shared = _shared(self, other, self, block) if other != tuple(block) else None
                if shared is not None:
                    return shared
            seen.append(tuple(block))
        return None

    def overlap(self, other: TilePlacement) -> PlacementOverlap | None:
        """Return blocks of this and of another placement that share memory, or None.

        Both are taken to be in the same memory, with all blocks alive.
        """
        other_blocks = list(_first_blocks(other).items())
        for place, block in _first_blocks(self).items():
            for other_place, other_block in other_blocks:
                if place.bank == other_place.bank:
                    shared = _shared(self, block, other, other_block)
                    if shared is not None:
                        return shared
        return None

    def first_blocks(self) -> Iterator[BlockIndex]:
        """Return the first block index of every place, and others: one period along each axis."""
        pairs = zip(self.blocks, self.periods, strict=True)
        return product(*(range(min(count, period)) for count, period in pairs))


def whole_shard(tile_bytes: int) -> TilePlacement:
    """Place a shard as one block at address 0."""
    return TilePlacement(tile_bytes=tile_bytes, address=ModuloRotation(0, tile_bytes))


def _first_blocks(placement: TilePlacement) -> dict[BlockPlace, BlockIndex]:
    places: dict[BlockPlace, BlockIndex] = {}
    for block in placement.first_blocks():
        places.setdefault(placement.at(block), block)
    return places


def _shared(
    first: TilePlacement, block: BlockIndex, second: TilePlacement, other: BlockIndex
) -> PlacementOverlap | None:
    here, there = first.at(block), second.at(other)
    partition = max(here.partition, there.partition)
    address = max(here.address, there.address)
    last_partition = min(here.partition + first.partitions, there.partition + second.partitions)
    last_byte = min(here.address + first.tile_bytes, there.address + second.tile_bytes)
    if here.bank != there.bank or partition >= last_partition or address >= last_byte:
        return None
    return PlacementOverlap(tuple(block), tuple(other), here.bank, partition, address)
