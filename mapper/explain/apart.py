"""Decide whether a template has a mapping if other holders stand between those of a memory.

One number of bits per state does not suffice then: the search keeps vectors of bits in use, one
number per memory, without the dominated ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.mapper.mapspace.assemble import Tile
from tilewright.mapper.mapspace.points import Points

Tiles = tuple[Tile, ...]
_Used = tuple[float, ...]  # bits in use, per memory


def reach_apart(points: Points, check: Callable[[], None]) -> Tiles | None:
    """Find tile shapes with which a template fits, where the holders of a memory stand apart.

    A template is a mapping without its loops. Where other holders stand between those of one
    memory, one number of bits per tile shape does not decide, so that the search keeps the bits in
    use of every memory. It runs depth first from the outermost slot (a place for loops, a fill or a
    reservation); a state is skipped if an earlier one has the same tile and no more bits in use.
    `points`: the choices of tiles at each slot. `check`: called at each step; it may raise to end
    the search. Return the tile below each slot, or None if nothing fits.
    """
    seen: dict[tuple[int, Any], list[_Used]] = {}
    stack: list[tuple[Tiles, Any, _Used]] = [((), points.start(), (0.0,) * len(points.memories))]
    while stack:
        check()
        tiles, state, used = stack.pop()
        index, tile = len(tiles), points.tile_of(state)
        if index == len(points.slots):
            if all(extent == 1 for extent in tile):
                return tiles
            continue
        bits_after = points.bits_after(index, tile, used)
        if bits_after is None or _is_dominated(seen.setdefault((index, state), []), bits_after):
            continue
        options = points.successors(index, state)
        stack += [
            ((*tiles, points.tile_of(next_state)), next_state, bits_after)
            for next_state in reversed(options)
        ]
    return None


def _is_dominated(undominated: list[_Used], used: _Used) -> bool:
    """Tell whether some list of bits in use in `undominated` is at most `used` everywhere.

    If none is, `used` is appended to the list `undominated`.
    """
    if any(all(a <= b for a, b in zip(earlier, used, strict=True)) for earlier in undominated):
        return True
    undominated.append(used)
    return False
