"""Whether two layouts share memory of a unit, with a scalar of each as a witness (layouts.md §4.2).

Both are taken to be in the same memory at the same time, as two tensors that are alive together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Final

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout.layout import Index, Layout, Location
from tilewright.mapper.layout.tile_placement import BlockIndex, PlacementOverlap
from tilewright.mapper.layout.unit_lookup import Unit

MOST_BYTES: Final = 4096


@dataclass(frozen=True, slots=True)
class LayoutOverlap:
    """A byte that two layouts both have, and what lies there.

    `unit`, `bank`, `partition`, `address`: of the byte; `first`, `second`: the scalar of each
    tensor that is there, None for padding.
    """

    unit: Unit
    bank: int
    partition: int
    address: int
    first: Index | None
    second: Index | None


def overlap(first: Layout, second: Layout) -> LayoutOverlap | None:
    """Return a byte of a unit that two layouts both allocate, None if there is none.

    Where both hold a scalar, not padding, in one of the first 4,096 shared bytes of a unit, it is
    such a byte. Layouts in different memory spaces share nothing. Raises SpecError if the grids of
    the two layouts lie on different sets of units.
    """
    if first.grid_map.units != second.grid_map.units:
        raise SpecError(
            "layouts on different units have no common addresses",
            value=second.grid_map.units,
            instead=str(first.grid_map.units),
        )
    if first.memory != second.memory:
        return None
    seen: set[tuple[int, int]] = set()
    for unit in dict.fromkeys(map(first.grid_map.unit, first.cells())):
        slots = len(first.grid_map.cells(unit)), len(second.grid_map.cells(unit))
        if slots in seen or not slots[1]:
            continue
        seen.add(slots)
        shared = next(_shared(first, second, slots), None)
        if shared is not None:
            return _witness(first, second, unit, *shared)
    return None


def _shared(
    first: Layout, second: Layout, slots: tuple[int, int]
) -> Iterator[tuple[PlacementOverlap, int]]:
    """Yield the bytes that blocks of two layouts share in a unit: the first one, and their end.

    `slots`: number of shards that each layout has in the unit. The end is the address behind the
    last shared byte.
    """
    numbers = product(range(slots[0]), range(slots[1]), _blocks(first), _blocks(second))
    for slot, other_slot, block, other in numbers:
        here, there = first.place.at(block), second.place.at(other)
        start = here.address + slot * first.slot_bytes
        other_start = there.address + other_slot * second.slot_bytes
        partition = max(here.partition, there.partition)
        partitions = (
            here.partition + first.place.partitions,
            there.partition + second.place.partitions,
        )
        begin = max(start, other_start)
        end = min(start + first.place.tile_bytes, other_start + second.place.tile_bytes)
        if here.bank == there.bank and partition < min(partitions) and begin < end:
            yield PlacementOverlap(block, other, here.bank, partition, begin), end


def _blocks(layout: Layout) -> list[BlockIndex]:
    """Return the index of one block at each different place of a unit's memory."""
    return list({layout.place.at(block): block for block in layout.place.first_blocks()}.values())


def _witness(
    first: Layout, second: Layout, unit: Unit, shared: PlacementOverlap, end: int
) -> LayoutOverlap:
    best: LayoutOverlap | None = None
    for address in range(shared.address, min(end, shared.address + MOST_BYTES)):
        scalars = (
            _scalar_at(first, unit, shared, shared.first, address),
            _scalar_at(second, unit, shared, shared.second, address),
        )
        overlap = LayoutOverlap(unit, shared.bank, shared.partition, address, *scalars)
        if None not in scalars:
            return overlap
        best = best or overlap
    assert best is not None
    return best


def _scalar_at(
    layout: Layout, unit: Unit, shared: PlacementOverlap, block: BlockIndex, address: int
) -> Index | None:
    """Return the index of the scalar that has the byte at `address` of a block.

    None for the byte of a shared exponent.
    """
    start = layout.place.at(block).address
    slot, within = divmod(address - start, layout.slot_bytes)
    tile, byte = divmod(within, layout.tiling.tile_bytes)
    scalar = byte * 8 // layout.tiling.element.bits
    if scalar >= layout.tiling.scalars:
        return None  # shared exponents
    base = start + slot * layout.slot_bytes + tile * layout.tiling.tile_bytes
    full = block or (0,) * len(layout.grid)
    return layout.index_at(Location(unit, shared.bank, shared.partition, base, scalar, full))
