"""Prepare how Einsums are joined, one after the other: a step for each, with the tensors it meets.

Exchanged, live and contested tensors are those of join_step.py (theory/fusion.md §4).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from tilewright.mapper.fusion.boundary.exchange_memories import OutermostCapacity
from tilewright.mapper.fusion.boundary.exchanged_tensors import ExchangedTensors, TensorPlace
from tilewright.mapper.fusion.boundary.tile_size import Extent, extent_of
from tilewright.mapper.fusion.copies.copy_table import CopyTable
from tilewright.mapper.fusion.join.join_step import CarriedTensor, JoinStep, ReadTensor, Tables
from tilewright.mapper.fusion.pmappings.pmapping_table import PmappingGroup, PmappingTable


def join_steps(
    exchanged: ExchangedTensors,
    tables: Sequence[Tables],
    outermost_capacity: OutermostCapacity | None = None,
) -> tuple[JoinStep, ...]:
    """Prepare how the mappings of each Einsum are joined to those of all Einsums before it.

    `exchanged`: which tensors may stay on chip. `tables`: the mappings of each Einsum, in the order
    of the workload. `outermost_capacity`: what to check of the outermost memory; None if everything
    fits there. The result has one step per Einsum: which tensors it reads, writes and passes on,
    and their sizes. A tensor that Einsums see in different sizes takes the largest.
    """
    extents = _ExtentTracker(exchanged, tables)
    steps: list[JoinStep] = []
    live: tuple[TensorPlace, ...] = ()
    for number, of_einsum in enumerate(tables):
        live_after = exchanged.live_after(number)
        flow = _tensor_flow(of_einsum[0].boundary, live, live_after)
        extents_before = extents.of(live)
        extents.pass_einsum(of_einsum)
        contested = extents.contested(number, of_einsum)
        step = JoinStep(
            tables=tuple(_with_extents(table, extents.current) for table in of_einsum),
            live_before=live,
            live_after=live_after,
            extents_before=extents_before,
            extents_now=extents.of(live),
            read=flow.read,
            carried=flow.carried,
            written=flow.written,
            contested_extents=contested,
            max_widths=extents.max_widths(contested),
            contested_later=_contested_later(exchanged, number),
            outermost_capacity=outermost_capacity,
            passing=_tensors_passing(exchanged, number),
            counts_exchanged_loops=not exchanged.shares_tiles,
            memories=exchanged.memories,
            awaited_here=frozenset(r for r in exchanged.awaited_reads if r.reader == number),
            awaited_later=frozenset(r for r in exchanged.awaited_reads if r.writer == number),
        )
        steps.append(step)
        live = live_after
    return tuple(steps)


class _TensorFlow(NamedTuple):
    """The tensors of an Einsum at a step of the join; the fields are those of JoinStep.

    `read`: live ones that it reads; `carried`: those live behind it; `written`: positions of those
    that it writes.
    """

    read: tuple[ReadTensor, ...]
    carried: tuple[CarriedTensor, ...]
    written: tuple[int, ...]


def _tensor_flow(
    boundary: Sequence[TensorPlace],
    live_before: Sequence[TensorPlace],
    live_after: Sequence[TensorPlace],
) -> _TensorFlow:
    """Return which live tensors an Einsum reads, carries on and writes, by their numbers.

    `boundary`: the Einsum's (tensor, memory) places; `live_before`, `live_after`: those of the
    tensors live around it. A number is a position in one of these lists.
    """
    position = {place: i for i, place in enumerate(boundary)}
    live_number = {place: i for i, place in enumerate(live_before)}
    return _TensorFlow(
        tuple(ReadTensor(live_number[p], position[p]) for p in live_before if p in position),
        tuple(CarriedTensor(live_number.get(p), position.get(p)) for p in live_after),
        tuple(position[place] for place in boundary if place not in live_number),
    )


def _contested_later(exchanged: ExchangedTensors, number: int) -> frozenset[str]:
    """Return the contested tensors that some Einsum behind number `number` uses."""
    return frozenset(t for t in exchanged.contested if exchanged.users[t][-1] > number)


class _ExtentTracker:
    """Keeps the size of each exchanged tensor as a function of tile shapes, Einsum by Einsum.

    Values have the width that the last Einsum so far sees.
    """

    def __init__(self, exchanged: ExchangedTensors, tables: Sequence[Tables]) -> None:
        self._exchanged = exchanged
        self._in_values = _exchanged_extents(exchanged, [several[0] for several in tables])
        self._max_widths = _max_widths(table for several in tables for table in several)
        self.current: dict[TensorPlace, Extent] = {}

    def of(self, places: Iterable[TensorPlace]) -> tuple[Extent, ...]:
        """Return the present sizes of the tensors at some places, as functions of tile shapes."""
        return tuple(self.current[place] for place in places)

    def pass_einsum(self, tables: Tables) -> None:
        """Give the exchanged tensors of the next Einsum the widths that it sees."""
        for place in tables[0].boundary:
            width = max(table.widths[place] for table in tables)
            self.current[place] = self._in_values[place].with_width(width)

    def contested(self, number: int, tables: Tables) -> dict[TensorPlace, Extent]:
        """Return the sizes of Einsum `number`'s contested tensors, as functions of tile shapes.

        They have width 0 where later Einsums need not know their tiles.
        """
        names = self._exchanged.loop_names[number]
        extents: dict[TensorPlace, Extent] = {}
        for place in tables[0].widths:
            if place.tensor in self._exchanged.contested:
                width = max(table.widths[place] for table in tables)
                tracked = place.tensor in self._exchanged.tracked_tiles
                bits = width if tracked else 0.0
                extents[place] = extent_of(tables[0].einsum, names, place.tensor, bits)
        return extents

    def max_widths(self, places: Iterable[TensorPlace]) -> dict[TensorPlace, float]:
        """Return the most bits per value at each place, over Einsums; 0 if tiles are not shared."""
        shared = self._exchanged.shares_tiles
        return {place: self._max_widths[place] if shared else 0.0 for place in places}


def _max_widths(tables: Iterable[PmappingTable | CopyTable]) -> Mapping[TensorPlace, float]:
    """Return the most bits per value of each tensor in each memory."""
    widths: dict[TensorPlace, float] = {}
    for table in tables:
        for place, width in table.widths.items():
            widths[place] = max(width, widths.get(place, 0.0))
    return widths


def _tensors_passing(exchanged: ExchangedTensors, number: int) -> frozenset[str]:
    """Return the tensors that cannot be on chip and are used before and after Einsum `number`."""
    users = exchanged.users
    off_chip = (t for t in exchanged.workload.tensors if t not in exchanged.exchangeable)
    return frozenset(t for t in off_chip if users[t][0] < number < users[t][-1])


def _exchanged_extents(
    exchanged: ExchangedTensors, tables: Sequence[PmappingTable | CopyTable]
) -> Mapping[TensorPlace, Extent]:
    """Return the size of each exchanged tensor in values: the largest tile that any user sees.

    As functions of the tile shapes, by (tensor, memory).
    """
    extents: dict[TensorPlace, Extent] = {}
    for table, names in zip(tables, exchanged.loop_names, strict=True):
        for place in table.boundary:
            extent = extent_of(table.einsum, names, place.tensor, 1.0)
            extents[place] = extents[place].merged(extent) if place in extents else extent
    return extents


def _with_extents(
    table: PmappingTable | CopyTable, extents: Mapping[TensorPlace, Extent]
) -> PmappingTable | CopyTable:
    """Return the table with the sizes of exchanged tensors as the largest that any user sees."""
    changed = [(i, p) for i, p in enumerate(table.boundary) if len(extents[p].views) > 1]
    if not changed:
        return table
    groups: list[PmappingGroup] = []
    for group in table.groups:
        sizes = group.sizes.copy()
        for position, place in changed:
            if (depth := group.depths[position]) >= 0:
                sizes[:, position] = extents[place].bits_below(group.loops[:depth], group.tiles)
        groups.append(replace(group, sizes=sizes))
    return replace(table, groups=tuple(groups))
