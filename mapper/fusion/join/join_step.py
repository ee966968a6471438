"""What joining one Einsum to those before it says: what both sides must agree about, and hold.

A live tensor is one that an earlier Einsum wrote and a later one reads. A contested tensor is one
that two Einsums with loops in common both hold without exchanging it. Each join step says where the
tensors of one Einsum come from, and where they go (theory/fusion.md §4).

Example: `Y[m, n] = …`, then `V[m] = …`, then `Z[m] = Y[m, n] * V[m]`. Y is live before and after
the second Einsum, which does not use it: Y is carried there, V is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tilewright.mapper.fusion.boundary.awaited_reads import AwaitedRead
from tilewright.mapper.fusion.boundary.exchange_memories import OutermostCapacity
from tilewright.mapper.fusion.boundary.exchanged_tensors import TensorPlace
from tilewright.mapper.fusion.boundary.rank_names import LoopName
from tilewright.mapper.fusion.boundary.shared_tiles import (
    HeldTile,
    LoopTiles,
    Saving,
    SeparateTiles,
    SharedTile,
    SizedTile,
)
from tilewright.mapper.fusion.boundary.tile_size import Extent
from tilewright.mapper.fusion.copies.copy_table import CopyTable
from tilewright.mapper.fusion.pmappings.pmapping_records import ContestedTensor
from tilewright.mapper.fusion.pmappings.pmapping_table import PmappingGroup, PmappingTable
from tilewright.mapper.searches.exact.kernels import Floats, Ints
from tilewright.mapper.workload.errors import UnsupportedFeature

Tables = tuple[PmappingTable | CopyTable, ...]  # of one Einsum: per compute and choice of tensors


class PendingTile(NamedTuple):
    """Say what earlier Einsums hold of a contested tensor above loops that later ones may share.

    Contested: several Einsums in the same shared loops may hold the tensor without exchanging it.
    `place`: the tensor and the memory (or a Toll it passes). `shared_loops`: number of outermost
    loops that the Einsums holding it and those to come share. `tile`: the tile, or tiles, above
    these loops.
    """

    place: TensorPlace
    shared_loops: int
    tile: HeldTile


@dataclass(frozen=True, slots=True)
class Compatibility:
    """What Einsums before and after a point of the workload must agree about, without tile shapes.

    A live tensor is written before that point and read after it. `loops`: the loops that both sides
    share, outermost first. `depths`: number of them above each place where a live tensor may be, -1
    if it is not there. `pending`: contested tensors, which Einsums in the same loops hold without
    exchanging them, held above these loops. `outermost`: tensors that the Einsums in these loops
    have in the outermost memory; only filled if that may be too small. `waiting`: numbers of live
    tensors on chip that take no bits until their next user runs, because a copy only passes them
    on. `incomplete`: reads to come that would find partial sums if the loops shared down to the
    reader were those shared so far.
    """

    loops: tuple[LoopName, ...]
    depths: tuple[int, ...]
    pending: tuple[PendingTile, ...]
    outermost: frozenset[str] = frozenset()
    waiting: frozenset[int] = frozenset()
    incomplete: frozenset[AwaitedRead] = frozenset()


START = Compatibility((), (), ())


class ReadTensor(NamedTuple):
    """Number a live tensor that an Einsum reads.

    `live`: its number among the places of live tensors (written before, read after). `position`:
    its number among the places of the Einsum's own tensors.
    """

    live: int
    position: int


class CarriedTensor(NamedTuple):
    """Number a tensor that is live after an Einsum: written by it, or live before.

    `live`: its number among the places of tensors live before; None if the Einsum writes it.
    `position`: its number among the places of the Einsum's tensors; None if the Einsum does not use
    it.
    """

    live: int | None
    position: int | None


class Widening(NamedTuple):
    """Say by how many bits a live tensor grows because the next Einsum sees wider values.

    Live: written by an earlier Einsum, and read by that or a later one. `loops_above`: number of
    loops above the tensor's tile. `bits`: shape (labels,); negative where it shrinks.
    """

    loops_above: int
    bits: Floats


@dataclass(frozen=True, slots=True)
class JoinStep:
    """Say how the pmappings of one Einsum are joined to those of all Einsums before it.

    A pmapping is a mapping of one Einsum within the whole. A live tensor is written before and read
    later; it may stay on chip at one of its places, (tensor, memory). A contested tensor is held by
    several Einsums in the same loops without being exchanged. `tables`: the pmappings of the
    Einsum. `live_before`, `live_after`: places of live tensors before and after it.
    `extents_before`, `extents_now`: sizes of those before as functions of the tile shapes, in the
    width of the last Einsum before and in that which counts while this one runs. `read`: live
    tensors that it reads. `carried`: where each tensor live afterwards comes from. `written`:
    positions, among the places of the Einsum's tensors, of those it writes. `contested_extents`:
    sizes of contested tensors that it uses, width 0 where they do not matter. `max_widths`: for
    these, the most bits per value that any Einsum sees. `contested_later`: contested tensors that a
    later Einsum uses. `outermost_capacity`: what to check of the outermost memory; None if
    everything fits there. `passing`: tensors there that Einsums before and after this one use.
    `counts_exchanged_loops`: only loops above tensors that take bits on both sides count as shared
    (accelforge conventions). `memories`: names of the memories in which tensors are exchanged.
    `awaited_here`: reads by this Einsum of what earlier ones write. `awaited_later`: reads by later
    Einsums of what this one writes.
    """

    tables: Tables
    live_before: tuple[TensorPlace, ...]
    live_after: tuple[TensorPlace, ...]
    extents_before: tuple[Extent, ...]
    extents_now: tuple[Extent, ...]
    read: tuple[ReadTensor, ...]
    carried: tuple[CarriedTensor, ...]
    written: tuple[int, ...]
    contested_extents: Mapping[TensorPlace, Extent]
    max_widths: Mapping[TensorPlace, float]
    contested_later: frozenset[str]
    outermost_capacity: OutermostCapacity | None = None
    passing: frozenset[str] = frozenset()
    counts_exchanged_loops: bool = False
    memories: tuple[str, ...] = ("",)
    awaited_here: frozenset[AwaitedRead] = frozenset()
    awaited_later: frozenset[AwaitedRead] = frozenset()

    @property
    def groups(self) -> tuple[PmappingGroup, ...]:
        """Mappings of the Einsum from all its tables, in groups.

        The mappings of a group agree in the loops that may be shared with other Einsums and in
        where tensors stay on chip, but for tile shapes.
        """
        return tuple(group for table in self.tables for group in table.groups)

    def tensors_with_tile(self, source: Compatibility, group: PmappingGroup) -> tuple[int, ...]:
        """Return the numbers of the live tensors that take bits while this Einsum runs.

        Live: written before, and read now or later. `source`: what the Einsums before it fix: the
        shared loops, and where each live tensor stands. `group`: mappings of this Einsum that go
        with that. Left out are tensors that only wait, because a copy passed them on without bits
        of their own, and what a copy Einsum is the last to read if it writes another tensor in its
        place.
        """
        still_live = {carried.live for carried in self.carried}
        last = {
            tensor.live
            for tensor in self.read
            if tensor.position in group.absent and tensor.live not in still_live
        }
        return tuple(i for i in range(len(source.depths)) if i not in source.waiting | last)

    def shared_loops(self, source: Compatibility, group: PmappingGroup) -> int:
        """Return how many outermost loops count as shared between this Einsum and those before.

        `source`: what the Einsums before fix, with the list of shared loops. `group`: mappings of
        this Einsum that go with that. All loops of the list count; under the accelforge conventions
        only those above a live tensor that takes bits.
        """
        if not self.counts_exchanged_loops:
            return len(source.loops)
        return max([0, *(source.depths[i] for i in self.tensors_with_tile(source, group))])

    def tensors_from_now(
        self, source: Compatibility, group: PmappingGroup, memory: str
    ) -> list[int]:
        """Return which tensors start to take bits in a memory when this Einsum runs.

        Positions in the list of places where the Einsum's tensors may be on chip: of tensors that
        it writes, and of those that took no bits until now, because a copy only passed them on.
        `group`: mappings of the Einsum that agree about places; a tensor counts if they keep it in
        `memory` and give it bits. `source`: what the Einsums before fix.
        """
        waited = [tensor.position for tensor in self.read if tensor.live in source.waiting]
        boundary = self.tables[0].boundary
        return [
            position
            for position in (*self.written, *waited)
            if group.depths[position] >= 0
            and boundary[position].memory == memory
            and position not in group.absent
        ]

    def bits_below_shared_loops(
        self, source: Compatibility, group: PmappingGroup, tiles: Ints, memory: str
    ) -> Floats:
        """Return the bits of the live tensors in a memory that stand right below all shared loops.

        Live: written before, and read now or later. `source`: what the Einsums before fix: the
        shared loops, and where each live tensor stands. `group`: mappings of this Einsum that go
        with that. `tiles`: values below each loop of `source`, shape (labels, loops). The result
        has shape (labels,).
        """
        total, depth = np.zeros(len(tiles)), self.shared_loops(source, group)
        for number in self.tensors_with_tile(source, group):
            if source.depths[number] == depth and self.live_before[number].memory == memory:
                total += self.extents_now[number].bits_below(source.loops[:depth], tiles)
        return total

    def widening_bits(
        self, source: Compatibility, group: PmappingGroup, tiles: Ints, memory: str
    ) -> list[Widening]:
        """Return by how many bits live tensors in a memory grow, as this Einsum sees other widths.

        Live: written before, and read now or later. Only tensors above the innermost shared loop
        count. `source`: what the Einsums before fix: the shared loops, and where each live tensor
        stands. `group`: mappings of this Einsum that go with that. `tiles`: values below each loop
        of `source`, shape (labels, loops). One entry per tensor whose size changes, bits of shape
        (labels,).
        """
        widenings: list[Widening] = []
        for number in self.tensors_with_tile(source, group):
            extent, earlier = self.extents_now[number], self.extents_before[number]
            depth = source.depths[number]
            changed = self.live_before[number].memory == memory and extent != earlier
            if changed and 0 <= depth < self.shared_loops(source, group):
                loops_above = source.loops[:depth]
                bits = extent.bits_below(loops_above, tiles) - earlier.bits_below(
                    loops_above, tiles
                )
                widenings.append(Widening(depth, bits))
        return widenings

    def held_tiles(self, group: PmappingGroup) -> dict[TensorPlace, HeldTile]:
        """Return what the mappings of a group hold of contested tensors that are not on chip.

        Contested: other Einsums in the same loops may hold the tensor, too, without exchanging it.
        `group`: mappings of the Einsum that agree but for tile shapes. Only what is held above the
        innermost loop of the group counts; a tensor that is not held there has an entry with holder
        depth -1. Keys are (tensor, memory).
        """
        depths = zip(self.tables[0].boundary, group.depths, strict=True)
        on_chip = {place for place, depth in depths if depth >= 0}
        held_tensors = {tensor.place: tensor for tensor in group.held_tensors}
        places = (place for place in self.contested_extents if place not in on_chip)
        return {place: self._held_tile(place, held_tensors.get(place)) for place in places}

    def _held_tile(self, place: TensorPlace, tensor: ContestedTensor | None) -> HeldTile:
        """Return what is held of one contested tensor; `tensor`: None if it is not held."""
        extent = self.contested_extents[place]
        if tensor is None:
            return SeparateTiles() if self.counts_exchanged_loops else SharedTile()
        if not self.counts_exchanged_loops:
            return SharedTile(
                tensor.holder_depth, tensor.tile_depth, extent, self.max_widths[place]
            )
        if not extent.width:  # the same for all Einsums
            return SeparateTiles(tensor.holder_depth)
        tile = SizedTile(tensor.tile_depth, extent.with_width(1.0))
        return SeparateTiles(tensor.holder_depth, (tile,), extent.width, extent.width)

    def shared_savings(
        self, source: Compatibility, group: PmappingGroup, tiles: Ints, memory: str
    ) -> Iterator[Saving]:
        """Yield the bits to subtract where this and an earlier Einsum hold one contested tensor.

        Contested: several Einsums in the same loops hold the tensor without exchanging it. The bits
        that Einsums reserve are added up, but two tiles may be one, or take the width of one
        Einsum. `source`: what the Einsums before fix, with what they hold. `group`: mappings of
        this Einsum that go with that. `tiles`: values below each loop of `group`, shape (labels,
        loops). `memory`: the one whose bits are added up.
        """
        new_tiles, depth = self.held_tiles(group), self.shared_loops(source, group)
        loop_tiles = LoopTiles(group.loops, tiles)
        for place, shared_loops, tile in source.pending:
            if place.memory == memory and place in new_tiles:
                yield from tile.savings(new_tiles[place], min(shared_loops, depth), loop_tiles)


class TileCodes:
    """Code the tile shapes of a list of loops as one integer.

    Each loop has the same number of bits, the outermost one the lowest bits, so that lists which
    begin alike have equal low bits. `steps`: the Einsums in whose mappings the tiles occur. Raises
    UnsupportedFeature if 62 bits are not enough.
    """

    def __init__(self, steps: Sequence[JoinStep]) -> None:
        """Number the tiles of all loops; UnsupportedFeature if 62 bits are not enough."""
        seen: dict[LoopName, list[Ints]] = {}
        deepest = 0
        for group in (group for step in steps for group in step.groups):
            deepest = max(deepest, len(group.loops))
            for column, name in enumerate(group.loops):
                seen.setdefault(name, []).append(np.unique(group.tiles[:, column]))
        self._tiles = {name: np.unique(np.concatenate(several)) for name, several in seen.items()}
        most_tiles = max((len(tiles) for tiles in self._tiles.values()), default=1)
        self._bits = max(1, (most_tiles - 1).bit_length())
        if deepest * self._bits > 62:
            raise UnsupportedFeature(
                f"{deepest} shared loops with up to {most_tiles} tiles each are too many to number",
                instead="search without fusion",
            )

    def encode(self, group: PmappingGroup) -> Ints:
        """Return the code of each tiling of a group, shape (tilings,).

        A tiling is one choice of tile shapes for the fused loops of the group.
        """
        code = np.zeros(len(group), np.int64)
        for column, name in enumerate(group.loops):
            number = np.searchsorted(self._tiles[name], group.tiles[:, column])
            code |= number.astype(np.int64) << (self._bits * column)
        return code

    def prefix(self, codes: Ints, count: int) -> Ints:
        """Return the codes of the first `count` loops alone, shape (codes,).

        Two tilings agree about their first loops if these codes are equal.
        """
        return codes & ((1 << (self._bits * count)) - 1)

    def decode(self, loops: Sequence[LoopName], codes: Ints) -> Ints:
        """Return the tiles that codes stand for, shape (codes, loops).

        `loops`: those that were encoded, or the first of them, outermost first. Tiles are in values
        of the loop's variable.
        """
        tiles = np.empty((len(codes), len(loops)), np.int64)
        for column, name in enumerate(loops):
            number = codes >> (self._bits * column) & ((1 << self._bits) - 1)
            tiles[:, column] = self._tiles[name][number]
        return tiles
