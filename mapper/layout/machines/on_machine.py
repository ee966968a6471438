"""A layout whose virtual grid is mapped to the units of a machine (layouts.md §5)."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from tilewright.mapper.layout.affine_map import AffineMap, constant, dim
from tilewright.mapper.layout.grid_map import GridMap, row_major
from tilewright.mapper.layout.layout import Layout
from tilewright.mapper.layout.machines.layout_machine import LayoutMachine


def on_machine(layout: Layout, machine: LayoutMachine) -> Layout:
    """Return the layout with its cells on the units of a machine that have its memory.

    A grid that fits the last dimensions of the units lies on them as it is; any other is wrapped,
    row-major. A grid of more cells than units, or a memory that the machine lacks, leaves the
    layout as it is. Example: 1 × 64 on 8 × 8: cell (0, 10) is unit (1, 2) of the first device.
    """
    memory = machine.memories.get(layout.memory)
    if memory is None or layout.split.cells > prod(memory.units):
        return layout
    return replace(layout, grid_map=_map_to(layout.grid, memory.units))


def _map_to(grid: tuple[int, ...], units: tuple[int, ...]) -> GridMap:
    lead = len(units) - len(grid)
    if lead < 0 or any(cells > there for cells, there in zip(grid, units[lead:], strict=True)):
        return row_major(grid, units)
    results = (*(constant(0),) * lead, *map(dim, range(len(grid))))
    return GridMap(grid, units, AffineMap(len(grid), results))
