"""Count the points of a template that fit state by state; uneven points, too."""

from __future__ import annotations

from typing import Any

from tilewright.mapper.mapspace.points import Points
from tilewright.mapper.templates.slots import reservations_in

_Front = dict[tuple[Any, tuple[float, ...]], int]  # state and bits in use -> number of chains


def walk_fitting(points: Points, limit: int) -> tuple[int | None, int]:
    """Count the points of a template that fit its memories, one tile after the other.

    A point gives a tile to each slot of the template; uneven loops are allowed. Result: (exact
    number or None, steps); None after more than `limit` steps, each one pair of a tile and a tile
    below it. Points with the same tile and the same bits in use are counted together. A template
    is a mapping without its loops; a slot is a place of a template for loops, a fill or a reserved
    tile.
    """
    total, steps = 0, 0
    for fixed in points.with_chosen_lanes():
        count, work = _walked(fixed, limit - steps)
        steps += work
        if count is None:
            return None, steps
        total += count
    return total, steps


def _walked(points: Points, limit: int) -> tuple[int | None, int]:
    lasts = tight(points)
    front: _Front = {(points.start(), (0.0,) * len(points.memories)): 1}
    steps = 0
    for index in range(max(lasts.values(), default=-1) + 1):
        next_front: _Front = {}
        for (state, used), count in front.items():
            bits = points.bits_after(index, points.tile_of(state), used)
            if bits is None:
                continue
            counted_bits = tuple(
                b if lasts.get(m, -1) > index else 0.0
                for m, b in zip(points.memories, bits, strict=True)
            )
            for below in points.successors(index, state):
                next_front[below, counted_bits] = next_front.get((below, counted_bits), 0) + count
                steps += 1
            if steps > limit:
                return None, steps
        front = next_front
    index = max(lasts.values(), default=-1) + 1
    return sum(
        count * points.completions(index, state) for (state, _), count in front.items()
    ), steps


def tight(points: Points) -> dict[str, int]:
    """Return the memories that can overflow, with the number of the last slot that reserves there.

    A memory can overflow if the whole tensors that the template keeps there exceed its capacity;
    below that last slot its bits in use need not be told apart. A template is a mapping without
    its loops.
    """
    last_slots: dict[str, int] = {}
    for memory in points.memories:
        reservations = reservations_in(points.slots, memory)
        if reservations and points.problem.can_overflow(tuple(reservations.values())):
            last_slots[memory] = max(reservations)
    return last_slots
