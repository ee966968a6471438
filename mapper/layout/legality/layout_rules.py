"""Rules that a layout must keep on a machine; each broken one with its numbers (layouts.md §8)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from tilewright.mapper.layout.layout import Layout
from tilewright.mapper.layout.legality.broken_rule import BrokenRule
from tilewright.mapper.layout.machines.layout_machine import LayoutMachine, UnitMemory

RULES: Final = (
    "memory-space",
    "capacity",
    "units",
    "phantom",
    "uneven",
    "alignment",
    "start-address",
    "format",
    "tile",
)
NEUTRAL: Final = {"sum": "zero", "product": "one", "max": "neginf", "min": "inf"}


def broken_rules(
    layout: Layout, machine: LayoutMachine, allow: Collection[str] = ()
) -> tuple[BrokenRule, ...]:
    """Return every rule that a layout breaks on a machine, each with its numbers.

    `allow`: names of rules that may be broken. Rules: `memory-space` (the machine has the memory
    space), `capacity` (bytes and addresses fit a unit), `alignment` (the bytes of a shard are a
    multiple of the machine's alignment), `start-address` (the addresses of blocks are), `units`
    (cells fit the machine's units), `phantom` (no cell is without data), `uneven` (all shards hold
    equally many scalars), `format` (the machine computes with the number format), `tile` (it has
    tiles with these sides), and those of `PartitionedMemory`.
    """
    memory = machine.memories.get(layout.memory)
    if memory is None:
        names = ", ".join(machine.memories)
        missing = BrokenRule(
            "memory-space", f"{machine.name} has no {layout.memory}", instead=f"one of {names}"
        )
        return (missing,) if "memory-space" not in allow else ()
    every = (
        *_memory_rules(layout, memory),
        *_address_rules(layout, memory),
        *_grid_rules(layout, memory),
        *_tile_rules(layout, machine),
    )
    partitioned = memory.partitioned()
    if partitioned is not None:
        every = (*every, *partitioned.broken_rules(layout.place))
    return tuple(rule for rule in every if rule.rule not in allow)


def reduction_is_safe(layout: Layout, reduction: str) -> bool:
    """Tell whether a reduction over whole shards is right: no padding, or padding that is neutral.

    `reduction`: sum, product, max or min. Zero is neutral for a sum, one for a product, -inf for a
    maximum, inf for a minimum.
    """
    return not layout.padding_total or layout.padding_value == NEUTRAL.get(reduction)


def _memory_rules(layout: Layout, memory: UnitMemory) -> Iterator[BrokenRule]:
    needed = layout.bytes_per_unit
    if needed > memory.unit_bytes:
        cells = -(-needed * layout.split.cells // memory.unit_bytes)
        yield BrokenRule(
            "capacity",
            f"a unit needs {needed} bytes of {layout.memory}, it has {memory.unit_bytes}: "
            f"{needed - memory.unit_bytes} too many",
            {"needed": needed, "capacity": memory.unit_bytes},
            f"a grid of at least {cells} cells, or a narrower format",
        )
    if layout.shard_bytes % memory.alignment:
        yield BrokenRule(
            "alignment",
            f"a shard of {layout.shard_bytes} bytes is no multiple of {memory.alignment}",
            {"bytes": layout.shard_bytes, "alignment": memory.alignment},
            "tiles, or a longer last dimension",
        )


def _address_rules(layout: Layout, memory: UnitMemory) -> Iterator[BrokenRule]:
    """Yield the broken rules about addresses of blocks; sizes alone are checked elsewhere."""
    address, end = layout.place.address, layout.end_address
    inside = layout.bytes_per_unit <= memory.unit_bytes
    if memory.partitioned() is None and inside and end > memory.unit_bytes:
        highest = memory.unit_bytes - (end - address.base)
        yield BrokenRule(
            "capacity",
            f"blocks end at byte {end} of {memory.unit_bytes} of {layout.memory}: "
            f"{end - memory.unit_bytes} too many",
            {"end": end, "capacity": memory.unit_bytes},
            f"a first address of at most {highest // memory.alignment * memory.alignment}"
            if highest >= 0
            else "fewer tiles in turn",
        )
    steps = (address.base, address.scale if address.tiles > 1 else 0)
    if any(step % memory.alignment for step in steps):
        yield BrokenRule(
            "start-address",
            f"blocks start at byte {address.base}, {address.scale} apart: no multiples of "
            f"{memory.alignment}",
            {"first": address.base, "apart": address.scale, "alignment": memory.alignment},
            f"a first address and a distance that are multiples of {memory.alignment}",
        )


def _grid_rules(layout: Layout, memory: UnitMemory) -> Iterator[BrokenRule]:
    units = layout.grid_map.units
    padded = (1,) * (len(memory.units) - len(units)) + units
    fits = len(padded) == len(memory.units) and all(
        mine <= theirs for mine, theirs in zip(padded, memory.units, strict=True)
    )
    if not fits:
        yield BrokenRule(
            "units",
            f"units {units} of the layout do not fit the {memory.units} of the machine",
            {"cells": layout.split.cells},
            "a map of the virtual grid onto the machine's units",
        )
    split = layout.split
    empty = layout.phantom_count
    if empty:
        yield BrokenRule(
            "phantom",
            f"{empty} of {split.cells} cells hold no data",
            {"empty": empty, "cells": split.cells},
            f"a grid of {' x '.join(map(str, _full_grid(layout)))}",
        )
    if any(split.uneven):
        group = next(number for number, rest in enumerate(split.uneven) if rest)
        yield BrokenRule(
            "uneven",
            f"group {group}: {split.extents[group]} positions over {split.grid[group]} cells of "
            f"{split.shard_shape[group]} leave {split.uneven[group]} of padding in the last ones",
            {"extent": split.extents[group], "cells": split.grid[group]},
            "a divisor of the extent, or an alignment",
        )


def _full_grid(layout: Layout) -> tuple[int, ...]:
    """Return the largest grid, at most that of the layout, in which every cell has data."""
    return tuple(_most_full(layout, group, cells) for group, cells in enumerate(layout.grid))


def _most_full(layout: Layout, group: int, cells: int) -> int:
    extent, below = layout.split.extents[group], layout.collapse.count_below
    side = layout.tiling.full_sides(len(layout.grid))[group]
    granule = 1 if layout.split.block[group] % side else side
    for fewer in range(cells, 1, -1):
        shard = -(-extent // (fewer * granule)) * granule
        starts = range(0, fewer * shard, shard)
        if all(below(group, start + shard) > below(group, start) for start in starts):
            return fewer
    return 1


def _tile_rules(layout: Layout, machine: LayoutMachine) -> Iterator[BrokenRule]:
    tiling = layout.tiling
    if tiling.element.name not in machine.formats:
        yield BrokenRule(
            "format",
            f"{machine.name} does not compute with {tiling.element.name}",
            {"bits": tiling.element.bits},
            f"one of {', '.join(machine.formats)}",
        )
    if not tiling.sides or not machine.tile_rows:
        return
    rows, columns = (1, *tiling.sides)[-2:]
    if (
        len(tiling.sides) != 2
        or rows not in machine.tile_rows
        or columns not in machine.tile_columns
    ):
        yield BrokenRule(
            "tile",
            f"{machine.name} has no tiles of {' x '.join(map(str, tiling.sides))}",
            {"rows": rows, "columns": columns},
            f"rows of {machine.tile_rows}, columns of {machine.tile_columns}",
        )
