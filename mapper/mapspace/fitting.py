"""Count the points of a template that fit its memories."""

from __future__ import annotations

from typing import Any

from tilewright.mapper.mapspace.points import Points
from tilewright.mapper.mapspace.slots import Reserve

_Front = dict[tuple[Any, tuple[float, ...]], int]  # state and bits in use -> ways to get there


def count_fitting(points: Points, limit: int) -> tuple[int | None, int]:
    """Return the number of points that fit, exact, and the steps it took.

    None after more than `limit` steps. Points with the same tile and the same bits in use go on
    together; a memory in which nothing more is reserved counts no further.
    """
    front: _Front = {(points.start(), (0.0,) * len(points.memories)): 1}
    steps = 0
    for index in range(len(points.slots)):
        after: _Front = {}
        later = {s.component for s in points.slots[index + 1 :] if isinstance(s, Reserve)}
        for (state, used), ways in front.items():
            bits = points.bits_after(index, points.tile_of(state), used)
            if bits is None:
                continue
            kept = tuple(
                b if m in later else 0.0 for m, b in zip(points.memories, bits, strict=True)
            )
            for below in points.successors(index, state):
                after[below, kept] = after.get((below, kept), 0) + ways
                steps += 1
            if steps > limit:
                return None, steps
        front = after
    done = [ways for (state, _), ways in front.items() if max(points.tile_of(state)) == 1]
    return sum(done), steps
