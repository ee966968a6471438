"""The bits that a point of a mapspace reserves in each memory, and the first one that overflows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from operator import floordiv

from tilewright.mapper.mapspace.assemble import Tile
from tilewright.mapper.templates.problem import Problem
from tilewright.mapper.templates.slots import Reservation, Slot
from tilewright.mapper.templates.spatial_choices import SpatialLoops


def reserved_bits(problem: Problem, slot: Reservation, tile: Mapping[str, int]) -> float:
    """Return the bits that a tile of a tensor takes in its memory (theory/model.md §4.2).

    `tile`: extent of each rank variable; lanes that the reservation sees below it multiply it.
    """
    if slot.lanes:
        tile = {**tile, **{v: tile[v] * lanes for v, lanes in slot.lanes}}
    return problem.einsum.access(slot.tensor).tile_size(tile) * problem.value_bits(slot)


def occupied(
    problem: Problem, slots: Sequence[Slot], tiles: Sequence[Tile]
) -> dict[str, dict[str, float]]:
    """Return the bits that a point reserves: memory name to tensor name to bits.

    A point is one choice of all tile sizes of a template (a mapping without loops). `slots`: of
    that template, outermost first; `tiles`: the tile below each.
    """
    tile_above = tuple(problem.einsum.bounds.values())
    used: dict[str, dict[str, float]] = {}
    lanes: dict[tuple[str, str], Tile] = {}
    for slot, tile in zip(slots, tiles, strict=True):
        if isinstance(slot, SpatialLoops):
            lanes[slot.dim] = tuple(map(floordiv, tile_above, tile))
        elif isinstance(slot, Reservation):
            seen = tuple(
                map(prod, zip(tile_above, *(lanes[name] for name in slot.open_dims), strict=True))
            )
            named = dict(zip(problem.einsum.bounds, seen, strict=True))
            bits = reserved_bits(problem, slot, named)
            used.setdefault(slot.component, {})[slot.tensor] = bits
        tile_above = tile
    return used


def overflow(
    problem: Problem, slots: Sequence[Slot], tiles: Sequence[Tile]
) -> tuple[str, dict[str, float], float] | None:
    """Return the first memory that a point overfills, or None if all its tiles fit.

    Result: (memory, bits of each tensor there, capacity in bits). A point is one choice of all
    tile sizes of a template (a mapping without loops). `slots`: of that template, outermost first;
    `tiles`: the tile below each.
    """
    sizes = {s.component: problem.capacity_bits(s) for s in slots if isinstance(s, Reservation)}
    for name, bits_of in occupied(problem, slots, tiles).items():
        if sum(bits_of.values()) > sizes[name]:
            return name, bits_of, sizes[name]
    return None
