"""Whether a template has a mapping when the holders of a memory stand apart: vectors of bits."""

from __future__ import annotations

from tilewright.mapper.mapspace.assemble import Tile
from tilewright.mapper.mapspace.fanout import holds
from tilewright.mapper.mapspace.points import Points, reserved_bits
from tilewright.mapper.mapspace.skeleton import Reserve

Tiles = tuple[Tile, ...]
_Used = tuple[float, ...]  # bits in use per memory, in the order of `sizes`


def reach_apart(points: Points, sizes: dict[str, float]) -> Tiles | None:
    """Return tiles that fit, by search from the outermost slot with dominated ends cut off.

    At each slot a (tile, bits in use) is looked at once; one with the same tile and no more bits
    in use of any memory stands for it.
    """
    seen: dict[tuple[int, Tile], list[_Used]] = {}
    memories = tuple(sizes)
    bounds = tuple(points.frame.einsum.bounds.values())
    stack: list[tuple[Tiles, Tile, _Used]] = [((), bounds, (0.0,) * len(memories))]
    while stack:
        done, tile, used = stack.pop()
        index = len(done)
        if index == len(points.slots):
            if all(extent == 1 for extent in tile):
                return done
            continue
        after = _after(points, (index, tile), used, sizes)
        if after is None or _dominated(seen.setdefault((index, tile), []), after):
            continue
        stack += [((*done, below), below, after) for below in list(points.below(index, tile))[::-1]]
    return None


def _after(
    points: Points, place: tuple[int, Tile], used: _Used, sizes: dict[str, float]
) -> _Used | None:
    """Return the bits in use below a slot; None if the slot refuses the tile above it."""
    index, tile = place
    named = dict(zip(points.frame.einsum.bounds, tile, strict=True))
    if not all(holds(pin, named) for pin in points.pins[index]):
        return None
    slot = points.slots[index]
    if not isinstance(slot, Reserve) or slot.component not in sizes:
        return used
    which = list(sizes).index(slot.component)
    memory = points.frame.holder(slot.component)
    bits = used[which] + reserved_bits(points.frame, slot, named)
    if bits > getattr(memory, "size", 0):
        return None
    return (*used[:which], bits, *used[which + 1 :])


def _dominated(known: list[_Used], used: _Used) -> bool:
    if any(all(a <= b for a, b in zip(one, used, strict=True)) for one in known):
        return True
    known.append(used)
    return False
