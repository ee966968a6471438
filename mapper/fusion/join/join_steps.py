"""How Einsums are joined, one after the other: which tensors are exchanged, live and contested."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tilewright.mapper.fusion.boundary.exchange_memories import OutermostCapacity
from tilewright.mapper.fusion.boundary.exchanged_tensors import ExchangedTensors, TensorPlace
from tilewright.mapper.fusion.boundary.rank_names import LoopName
from tilewright.mapper.fusion.boundary.shared_tiles import HeldTile, Less, SeparateTiles, SharedTile
from tilewright.mapper.fusion.boundary.tile_size import Extent, extent_of
from tilewright.mapper.fusion.copies.fused_copies import CopyTable
from tilewright.mapper.fusion.pmappings.pmapping_table import PmappingGroup, PmappingTable
from tilewright.mapper.searches.exact.kernels import Floats, Ints
from tilewright.mapper.searches.search_errors import UnsupportedFeature

# contested tensor in a memory, loops that an earlier user shares, what is held of it above these
PendingTile = tuple[TensorPlace, int, HeldTile]


@dataclass(frozen=True, slots=True)
class Compatibility:
    """What many keys have in common: the variables of the shared loops, outermost first, the depth
    of each live tensor (-1: not on chip), and contested tensors. A key adds the tiles.

    `outermost`: tensors in the outermost memory of the Einsums in those loops, if it may be full;
    `waiting`: numbers of the live tensors that take no room before their next user has them.
    """

    loops: tuple[LoopName, ...]
    depths: tuple[int, ...]
    pending: tuple[PendingTile, ...]
    outermost: frozenset[str] = frozenset()
    waiting: frozenset[int] = frozenset()


START = Compatibility((), (), ())


@dataclass(frozen=True, slots=True)
class JoinStep:
    """How to join one Einsum. Positions count live tensors before, after, and boundary tensors.

    `shared`: (before, row) of tensors that it reads; `kept`: per live tensor after, (before, row),
    None where it has no place; `new`: row positions of tensors that it writes; `live`: tensors live
    afterwards; `earlier`: those live before, with their sizes `before` while it runs and `until`
    then; `contested`: sizes of contested tensors that it touches (Boundaries.tiled; else in no
    bits); `widest`: bits per value of these for the Einsum that has most; `later`:
    contested tensors that a later Einsum touches; `limit`: the room of the outermost memory, if
    that may be too little; `passing`: tensors that are there for Einsums before and after this one;
    `exchanged`: only loops above tensors that take room on both sides count as shared
    (SharedLoops); `memories`: those that tensors are exchanged in.
    """

    tables: tuple[PmappingTable | CopyTable, ...]
    live_after: tuple[TensorPlace, ...]
    live_before: tuple[TensorPlace, ...]
    extents_now: tuple[Extent, ...]
    extents_before: tuple[Extent, ...]
    read: tuple[tuple[int, int], ...]
    carried: tuple[tuple[int | None, int | None], ...]
    written: tuple[int, ...]
    contested_extents: Mapping[TensorPlace, Extent]
    max_widths: Mapping[TensorPlace, float]
    contested_later: frozenset[str]
    outermost_capacity: OutermostCapacity | None = None
    passing: frozenset[str] = frozenset()
    counts_exchanged_loops: bool = False
    memories: tuple[str, ...] = ("",)

    @property
    def groups(self) -> tuple[PmappingGroup, ...]:
        """The rows of all tables."""
        return tuple(rows for table in self.tables for rows in table.groups)

    def tensors_with_tile(self, form: Compatibility, rows: PmappingGroup) -> tuple[int, ...]:
        """Return the numbers of live tensors that take room while this Einsum runs.

        Not what waits, nor what a copy reads last and writes in its place.
        """
        last = {
            before
            for before, place in self.read
            if place in rows.absent and all(before != other for other, _ in self.carried)
        }
        return tuple(i for i in range(len(form.depths)) if i not in form.waiting | last)

    def shared_loops(self, form: Compatibility, rows: PmappingGroup) -> int:
        """Return how many loops count as shared with what ran before."""
        if not self.counts_exchanged_loops:
            return len(form.loops)
        return max([0, *(form.depths[i] for i in self.tensors_with_tile(form, rows))])

    def tensors_from_now(self, form: Compatibility, rows: PmappingGroup, memory: str) -> list[int]:
        """Return the row positions of tensors that take room in a memory from this Einsum on."""
        waited = [place for before, place in self.read if before in form.waiting]
        on_chip = (place for place in (*self.written, *waited) if rows.depths[place] >= 0)
        boundary = self.tables[0].boundary
        here = (place for place in on_chip if boundary[place].memory == memory)
        return [place for place in here if place not in rows.absent]

    def bits_below_shared_loops(
        self, form: Compatibility, rows: PmappingGroup, tiles: Ints, memory: str
    ) -> Floats:
        """Return the bits of tensors in a memory that stand below all shared loops, per key."""
        total, depth = np.zeros(len(tiles)), self.shared_loops(form, rows)
        for number in self.tensors_with_tile(form, rows):
            if form.depths[number] == depth and self.live_before[number].memory == memory:
                total += self.extents_now[number].bits_below(form.loops[:depth], tiles)
        return total

    def widening_bits(
        self, form: Compatibility, rows: PmappingGroup, tiles: Ints, memory: str
    ) -> list[tuple[int, Floats]]:
        """Return (loops above, bits) that tensors in a memory above the innermost shared loop take
        more from now on, because this Einsum sees other widths; per key."""
        found: list[tuple[int, Floats]] = []
        for number in self.tensors_with_tile(form, rows):
            now, until, depth = (
                self.extents_now[number],
                self.extents_before[number],
                form.depths[number],
            )
            here = self.live_before[number].memory == memory and now != until
            if here and 0 <= depth < self.shared_loops(form, rows):
                above = form.loops[:depth]
                found.append((depth, now.bits_below(above, tiles) - until.bits_below(above, tiles)))
        return found

    def held_tiles(self, rows: PmappingGroup) -> dict[TensorPlace, HeldTile]:
        """Return the contested tensors that the rows do not keep on chip, as they hold them above
        their innermost loop."""
        pairs = zip(self.tables[0].boundary, rows.depths, strict=True)
        on_chip = {tensor for tensor, depth in pairs if depth >= 0}
        held = {tensor: (place, low) for tensor, place, low in rows.held}
        return {
            tensor: self._held_tile(tensor, held.get(tensor))
            for tensor in self.contested_extents
            if tensor not in on_chip
        }

    def _held_tile(self, tensor: TensorPlace, held: tuple[int, int] | None) -> HeldTile:
        size = self.contested_extents[tensor]
        if held is None:
            return SeparateTiles() if self.counts_exchanged_loops else SharedTile()
        if not self.counts_exchanged_loops:
            return SharedTile(*held, size, self.max_widths[tensor])
        place, low = held
        if not size.width:  # the same for all Einsums
            return SeparateTiles(place)
        return SeparateTiles(place, ((low, size.with_width(1.0)),), size.width, size.width)

    def shared_savings(
        self, form: Compatibility, rows: PmappingGroup, tiles: Ints, memory: str
    ) -> Iterator[Less]:
        """Yield what contested tensors that an earlier Einsum holds in a memory, too, take less
        than the sum of both; `tiles`: those of the loops, per row."""
        own, depth = self.held_tiles(rows), self.shared_loops(form, rows)
        for tensor, reach, tile in form.pending:
            if tensor.memory == memory and tensor in own:
                yield from tile.savings(own[tensor], min(reach, depth), (rows.loops, tiles))


def join_steps(
    boundaries: ExchangedTensors,
    tables: Sequence[tuple[PmappingTable | CopyTable, ...]],
    limit: OutermostCapacity | None = None,
) -> tuple[JoinStep, ...]:
    """Prepare how each Einsum is joined; `tables`: one per compute and choice of tensors; `limit`:
    see Step."""
    steps: list[JoinStep] = []
    before: tuple[TensorPlace, ...] = ()
    values = _exchanged_extents(boundaries, [several[0] for several in tables])
    extents: dict[TensorPlace, Extent] = {}
    widest = _max_widths(one for several in tables for one in several)
    for number, several in enumerate(tables):
        table, names = several[0], boundaries.loop_names[number]
        after = boundaries.live_after(number)
        place = {t: i for i, t in enumerate(table.boundary)}
        earlier = {t: i for i, t in enumerate(before)}
        shared = tuple((earlier[t], place[t]) for t in before if t in place)
        kept = tuple((earlier.get(t), place.get(t)) for t in after)
        new = tuple(place[t] for t in table.boundary if t not in earlier)
        widths = {t: max(one.widths[t] for one in several) for t in table.widths}
        width = {
            p: bits if p.tensor in boundaries.tracked_tiles else 0.0 for p, bits in widths.items()
        }
        contested = [p for p in table.widths if p.tensor in boundaries.contested]
        touched = {p: extent_of(table.einsum, names, p.tensor, width[p]) for p in contested}
        most = {p: widest[p] if boundaries.shares_tiles else 0.0 for p in contested}
        later = frozenset(t for t in boundaries.contested if boundaries.users[t][-1] > number)
        until = tuple(extents[t] for t in before)
        extents |= {t: values[t].with_width(widths[t]) for t in table.boundary}
        sizes = tuple(extents[t] for t in before)
        resized = tuple(_with_extents(one, extents) for one in several)
        made = JoinStep(
            resized, after, before, sizes, until, shared, kept, new, touched, most, later, limit
        )
        steps.append(
            replace(
                made,
                passing=_tensors_passing(boundaries, number),
                counts_exchanged_loops=not boundaries.shares_tiles,
                memories=boundaries.memories,
            )
        )
        before = after
    return tuple(steps)


def _max_widths(tables: Iterable[PmappingTable | CopyTable]) -> Mapping[TensorPlace, float]:
    """Return the most bits per value of each tensor in each memory."""
    found: dict[TensorPlace, float] = {}
    for table in tables:
        for place, width in table.widths.items():
            found[place] = max(width, found.get(place, 0.0))
    return found


def _tensors_passing(boundaries: ExchangedTensors, number: int) -> frozenset[str]:
    """Return the tensors of the outermost memory that Einsums before and after this one use."""
    users = boundaries.users
    outside = (t for t in boundaries.workload.tensors if t not in boundaries.exchangeable)
    return frozenset(t for t in outside if users[t][0] < number < users[t][-1])


def _exchanged_extents(
    boundaries: ExchangedTensors, tables: Sequence[PmappingTable | CopyTable]
) -> Mapping[TensorPlace, Extent]:
    """Return the extents of the exchanged tensors in values, as all users together see them."""
    found: dict[TensorPlace, Extent] = {}
    for table, names in zip(tables, boundaries.loop_names, strict=True):
        for place in table.boundary:
            mine = extent_of(table.einsum, names, place.tensor, 1.0)
            found[place] = found[place].merged(mine) if place in found else mine
    return found


def _with_extents(
    table: PmappingTable | CopyTable, extents: Mapping[TensorPlace, Extent]
) -> PmappingTable | CopyTable:
    """Give the tensors that Einsums see in different sizes the largest of these."""
    changed = [(i, t) for i, t in enumerate(table.boundary) if len(extents[t].views) > 1]
    if not changed:
        return table
    made: list[PmappingGroup] = []
    for rows in table.groups:
        sizes = rows.sizes.copy()
        for place, tensor in changed:
            if (depth := rows.depths[place]) >= 0:
                sizes[:, place] = extents[tensor].bits_below(rows.loops[:depth], rows.tiles)
        made.append(replace(rows, sizes=sizes))
    return replace(table, groups=tuple(made))


class TileCodes:
    """Packs the tiles of a list of loops into one number, the outermost loop lowest."""

    def __init__(self, steps: Sequence[JoinStep]) -> None:
        seen: dict[LoopName, list[Ints]] = {}
        deepest = 0
        for rows in (rows for step in steps for rows in step.groups):
            deepest = max(deepest, len(rows.loops))
            for column, name in enumerate(rows.loops):
                seen.setdefault(name, []).append(np.unique(rows.tiles[:, column]))
        self._known = {name: np.unique(np.concatenate(few)) for name, few in seen.items()}
        most = max((len(tiles) for tiles in self._known.values()), default=1)
        self._bits = max(1, (most - 1).bit_length())
        if deepest * self._bits > 62:
            raise UnsupportedFeature(
                f"{deepest} shared loops with up to {most} tiles each are too many to number",
                instead="search without fusion",
            )

    def encode(self, rows: PmappingGroup) -> Ints:
        """Return one number per row."""
        code = np.zeros(len(rows), np.int64)
        for column, name in enumerate(rows.loops):
            place = np.searchsorted(self._known[name], rows.tiles[:, column])
            code |= place.astype(np.int64) << (self._bits * column)
        return code

    def prefix(self, codes: Ints, count: int) -> Ints:
        """Return the numbers of the first `count` loops alone."""
        return codes & ((1 << (self._bits * count)) - 1)

    def decode(self, loops: Sequence[LoopName], codes: Ints) -> Ints:
        """Return the tiles that numbers stand for, shape (codes, loops)."""
        found = np.empty((len(codes), len(loops)), np.int64)
        for column, name in enumerate(loops):
            place = codes >> (self._bits * column) & ((1 << self._bits) - 1)
            found[:, column] = self._known[name][place]
        return found
