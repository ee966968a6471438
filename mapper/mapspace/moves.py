"""Neighbours of a point: one prime of one rank variable moved from a slot to another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

from tilewright.mapper.mapspace.assemble import Tile
from tilewright.mapper.mapspace.fanout import Fan
from tilewright.mapper.mapspace.lattice import factorise
from tilewright.mapper.mapspace.skeleton import Frame, Loops, Slot


def moved_tiles(
    frame: Frame, slots: Sequence[Slot], tiles: Sequence[Tile]
) -> Iterator[tuple[Tile, ...]]:
    """Yield the tiles of all neighbours, in a fixed order."""
    names = tuple(frame.einsum.bounds)
    turns = loop_turns(frame, tiles)
    for column, name in enumerate(names):
        hosts = [
            i for i, s in enumerate(slots) if isinstance(s, (Loops, Fan)) and name in s.variables
        ]
        for source, target in permutations(hosts, 2):
            for prime, _ in factorise(turns[source][column]):
                moved = [list(turn) for turn in turns]
                moved[source][column] //= prime
                moved[target][column] *= prime
                if all(_legal(frame, slots[i], moved[i]) for i in (source, target)):
                    yield tiles_of(frame, moved)


def loop_turns(frame: Frame, tiles: Sequence[Tile]) -> list[Tile]:
    """Return the iterations of each slot per variable."""
    above = tuple(frame.einsum.bounds.values())
    turns = []
    for tile in tiles:
        turns.append(tuple(a // b for a, b in zip(above, tile, strict=True)))
        above = tile
    return turns


def tiles_of(frame: Frame, turns: Sequence[Sequence[int]]) -> tuple[Tile, ...]:
    """Return the tile below each slot from its iterations per variable."""
    tile = tuple(frame.einsum.bounds.values())
    tiles = []
    for turn in turns:
        tile = tuple(a // n for a, n in zip(tile, turn, strict=True))
        tiles.append(tile)
    return tuple(tiles)


def _legal(frame: Frame, slot: Slot, turn: Sequence[int]) -> bool:
    if isinstance(slot, Fan):
        lanes = dict(zip(frame.einsum.bounds, turn, strict=True))
        return tuple(lanes[v] for v in slot.variables) in slot.choices
    assert isinstance(slot, Loops)
    return not slot.single or sum(n > 1 for n in turn) <= 1
