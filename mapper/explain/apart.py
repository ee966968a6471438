"""Whether a template has a mapping when the holders of a memory stand apart: vectors of bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.mapper.mapspace.assemble import Tile
from tilewright.mapper.mapspace.points import Points

Tiles = tuple[Tile, ...]
_Used = tuple[float, ...]  # bits in use, per memory


def reach_apart(points: Points, check: Callable[[], None]) -> Tiles | None:
    """Return tiles that fit, by search from the outermost slot with dominated ends cut off.

    At each slot a (tile, bits in use) is looked at once; one with the same tile and no more bits
    in use of any memory stands for it. `check` is called at each step and may raise to end it.
    """
    seen: dict[tuple[int, Any], list[_Used]] = {}
    stack: list[tuple[Tiles, Any, _Used]] = [((), points.start(), (0.0,) * len(points.memories))]
    while stack:
        check()
        done, state, used = stack.pop()
        index, tile = len(done), points.tile_of(state)
        if index == len(points.slots):
            if all(extent == 1 for extent in tile):
                return done
            continue
        after = points.bits_after(index, tile, used)
        if after is None or _dominated(seen.setdefault((index, state), []), after):
            continue
        options = points.successors(index, state)
        stack += [((*done, points.tile_of(below)), below, after) for below in reversed(options)]
    return None


def _dominated(undominated: list[_Used], used: _Used) -> bool:
    if any(all(a <= b for a, b in zip(earlier, used, strict=True)) for earlier in undominated):
        return True
    undominated.append(used)
    return False
