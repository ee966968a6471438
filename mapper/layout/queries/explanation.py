"""A page of text about a layout: its five parts, padding, memory, and what is empty."""

from __future__ import annotations

from fractions import Fraction
from math import prod

from tilewright.mapper.layout.layout import Layout
from tilewright.mapper.layout.tile_placement import TilePlacement

_MOST_NAMED = 6


def explain(layout: Layout) -> str:
    """Return what a layout does, part by part, with its numbers: one line per fact."""
    return "\n".join([*_parts(layout), *_memory(layout), *_warnings(layout)])


def by_x(numbers: tuple[int, ...]) -> str:
    """Return numbers joined by the sign of multiplication, such as `18 × 32`."""
    return " × ".join(map(str, numbers)) if numbers else "1"


def _parts(layout: Layout) -> list[str]:
    collapse, split, tiling = layout.collapse, layout.split, layout.tiling
    tile = f"{by_x(tiling.sides)} {tiling.element.name}" if tiling.sides else tiling.element.name
    lines = [
        f"tensor     {by_x(layout.shape)}, {collapse.volume} scalars",
        f"collapse   {collapse.affine}: extents {by_x(collapse.extents)}"
        + (f", {collapse.holes} holes" if collapse.holes else ""),
        f"split      grid {by_x(layout.grid)}, blocks of {by_x(split.block)}",
        f"shard      {by_x(layout.shard_shape)} scalars",
        f"tiles      {by_x(layout.shard_tiles)} of {tile}, {tiling.tile_bytes} bytes each",
    ]
    grid_map = layout.grid_map
    cells = "1 cell" if split.cells == 1 else f"{split.cells} cells"
    lines.append(
        f"map        {cells} on {grid_map.used_units} of {grid_map.unit_count} units"
        + (f", up to {grid_map.most_slots} shards per unit" if grid_map.most_slots > 1 else "")
    )
    return lines + _place(layout.place)


def _place(place: TilePlacement) -> list[str]:
    first = place.address.base
    if not place.blocks:
        return [f"place      one block at byte {first}"] if first else []
    at = f" from byte {first} on" if first else ""
    turns = f"blocks {by_x(place.blocks)} take turns in {place.physical_tiles} places{at}"
    alive = f"at most {place.max_consecutive_live()} consecutive ones may be alive"
    lines = [f"place      {turns}; {alive}"]
    if place.physical_tiles < place.declared_tiles:
        lines.append(
            f"           {place.declared_tiles} tiles are declared: rotations share an index, or "
            "there are fewer blocks"
        )
    return lines


def _memory(layout: Layout) -> list[str]:
    allocated, padding = layout.allocated_scalars, layout.padding_total
    share = float(Fraction(100 * padding, allocated))
    lines = [
        f"memory     {layout.memory}, {layout.bytes_per_unit} bytes per unit",
        (
            f"padding    {padding} of {allocated} allocated scalars ({share:.1f} %), "
            f"filled with {layout.padding_value}"
        ),
    ]
    for group, (extent, shard) in enumerate(
        zip(layout.split.extents, layout.shard_shape, strict=True)
    ):
        sides, cells = layout.allocated_shape[group], layout.grid[group]
        last = sum(length for _, _, length in layout.split.runs(group, cells - 1))
        if last != shard or sides != shard:
            lines.append(
                f"           group {group}: {extent} positions over {cells} cells, {shard} each, "
                f"{last} in the last; {sides} allocated"
            )
    return lines


def _warnings(layout: Layout) -> list[str]:
    lines = []
    phantom = layout.phantom_cells
    if phantom:
        named = ", ".join(map(str, phantom[:_MOST_NAMED]))
        more = ", …" if len(phantom) > _MOST_NAMED else ""
        lines.append(f"phantom    {len(phantom)} cells hold no data: {named}{more}")
    if not layout.collapse.separable:
        times = Fraction(prod(layout.collapse.extents), layout.collapse.volume)
        lines.append(
            f"warning    a dimension stands in two groups: {float(times):.0f} times the tensor "
            "is allocated"
        )
    return lines
