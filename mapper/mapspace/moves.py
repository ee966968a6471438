"""Neighbours of a point: one rank variable with one loop, or two, changed.

Of a variable with even tiles, one prime moves from a slot to another. Of a variable that may be
uneven, one tile changes: the loops above and below it share their part of the work anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, permutations

from tilewright.mapper.mapspace.assemble import Tile
from tilewright.mapper.mapspace.fanout import Fan
from tilewright.mapper.mapspace.lattice import factorise
from tilewright.mapper.mapspace.skeleton import Frame, Loops, Slot
from tilewright.mapper.mapspace.uneven_points import is_chain


def moved_tiles(
    frame: Frame, slots: Sequence[Slot], tiles: Sequence[Tile]
) -> Iterator[tuple[Tile, ...]]:
    """Yield the tiles of all neighbours, in a fixed order."""
    for column, name in enumerate(frame.einsum.bounds):
        hosts = [
            i for i, s in enumerate(slots) if isinstance(s, (Loops, Fan)) and name in s.variables
        ]
        column_of = _recut if name in frame.uneven else _regrouped
        for chain in column_of(hosts, [frame.einsum.bounds[name], *(t[column] for t in tiles)]):
            moved = tuple(
                (*tile[:column], new, *tile[column + 1 :])
                for tile, new in zip(tiles, chain, strict=True)
            )
            turns = _turns(frame, moved)
            if all(_legal(frame, slots[i], turns[i]) for i in hosts):
                yield moved


def _regrouped(hosts: Sequence[int], chain: Sequence[int]) -> Iterator[list[int]]:
    """Move one prime of one variable; `chain`: its tile above the first slot and below each."""
    turns = [above // below for above, below in pairwise(chain)]
    for source, target in permutations(hosts, 2):
        for prime, _ in factorise(turns[source]):
            moved = list(turns)
            moved[source] //= prime
            moved[target] *= prime
            tile, found = chain[0], []
            for turn in moved:
                tile //= turn
                found.append(tile)
            yield found


def _recut(hosts: Sequence[int], chain: Sequence[int]) -> Iterator[list[int]]:
    """Change the tile below one slot, down to the next slot that loops over the variable."""
    for host, following in pairwise(hosts):
        for tile in range(chain[following + 1], chain[host] + 1):
            found = [*chain[1 : host + 1], *[tile] * (following - host), *chain[following + 1 :]]
            if tile != chain[host + 1] and is_chain([chain[0], *found], uneven=True):
                yield found


def _turns(frame: Frame, tiles: Sequence[Tile]) -> list[Tile]:
    """Return the iterations of each slot per variable."""
    above = tuple(frame.einsum.bounds.values())
    turns = []
    for tile in tiles:
        turns.append(tuple(-(-a // b) for a, b in zip(above, tile, strict=True)))
        above = tile
    return turns


def _legal(frame: Frame, slot: Slot, turn: Sequence[int]) -> bool:
    if isinstance(slot, Fan):
        lanes = dict(zip(frame.einsum.bounds, turn, strict=True))
        return tuple(lanes[v] for v in slot.variables) in slot.choices
    assert isinstance(slot, Loops)
    return not slot.single or sum(n > 1 for n in turn) <= 1
