"""All orders of the loops on a tile that a family of mappings on a grid may have."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from tilewright.mapper.grid.grid_mapspace import GridFamily, GridMapspace, LoopOrder, tile_sizes
from tilewright.mapper.grid.grid_shares import local_sizes


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
