"""All orders of the loops on a tile that a family of mappings on a grid may have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations

from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.grid.grid_mapspace import (
    GridChoice,
    GridFamily,
    GridMapspace,
    LoopOrder,
    tile_sizes,
)
from tilewright.mapper.grid.grid_shares import local_sizes
from tilewright.mapper.grid.reading.mapping_reading import space_time
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.simulator.lowering.kernel import kernel_of


def all_orders(space: GridMapspace, family: GridFamily) -> Iterator[LoopOrder]:
    """Yield each order of the loops on a tile with each place of the register among them."""
    tile = {**local_sizes(space.einsum, family.shares), **tile_sizes(family)}
    taken = space.vector_variables(family.scalar)
    for names in permutations(name for name, size in tile.items() if size > 1):
        if family.scalar is None:
            yield LoopOrder(names)
            continue
        for place in range(len(names) + 1):
            if taken.issuperset(names[place:]):
                yield LoopOrder(names[:place], names[place:])


def ordered_choices(flat: FlatArch, space: GridMapspace, family: GridFamily) -> list[GridChoice]:
    """The choices of a family with all orders of its loops that differ in their programs.

    Without an input in the register, mappings whose loops stand otherwise may have one kernel.
    Orders without a kernel are left out.
    """
    orders: dict[tuple[tuple[str, ...], ...], LoopOrder] = {}
    for order in all_orders(space, family):
        mapping = space.mapping_of(replace(space.members(family)[0], order=order))
        try:
            kernel = kernel_of(space_time(flat, space.einsum, mapping, space.staying))
        except InfeasibleMapping:
            continue
        time = kernel.read.time
        around, vector = (
            tuple(time[number].variable for number in loops)
            for loops in (kernel.outer, kernel.vector)
        )
        orders.setdefault((around, vector), order)
    members = space.members(family)
    return [replace(choice, order=order) for choice in members for order in orders.values()]
