"""The tiles of a rank variable that need to be searched at a slot of a template.

The `tail` of the slot has one entry per slot below that can loop over the variable, outermost
first. A tile is a candidate if the slots of the tail can take it to 1 by loops that divide evenly.
Where only the number of tiles of a loop matters, only the smallest tile of each number is a
candidate: with Q = ceil(P / t), among the multiples m t with the same ceil(Q / m) the smallest
(imperfect.md §5.2; not so below a lane, where the steps depend on more than that number).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.mapspace.factors import divisors

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class TailSlot:
    """A slot further down that can loop over the rank variable.

    `kind`: "all", a temporal loop with any tile; "thin", one of which only the smallest tile of
    each number of tiles is looked at; "lanes", a spatial loop over `fewest_lanes` to `most_lanes`
    lanes. A slot is a place of a template (a mapping without loops) for loops, a fill or a
    reserved tile; a lane is one instance along a dimension of a fanout.
    """

    kind: Literal["all", "thin", "lanes"]
    most_lanes: int = 0
    fewest_lanes: int = 1


Tail = tuple[TailSlot, ...]


def quotient_steps(count: int) -> list[int]:
    """Return the smallest multiplier n of each value of ceil(count / n), ascending.

    For 10: 1, 2, 3, 4, 5, 10.
    """
    steps, step = [], 1
    while step < count:
        steps.append(step)
        quotient = -(-count // step)
        step = -(-count // (quotient - 1))  # the smallest step with a smaller quotient
    return [*steps, count]


@cache
def candidates(cut_tile: int, tail: Tail) -> Mask:
    """Mark the tiles below an uneven loop that later slots can bring to 1 by dividing evenly.

    Bool, shape (cut_tile + 1,), by the tile. `cut_tile`: the tile above the uneven loop; `tail`:
    the slots below that can loop over the variable, outermost first.
    """
    mask = np.zeros(cut_tile + 1, np.bool_)
    if not tail:
        mask[1] = True
        return mask
    tiles_below, tail_slot = candidates(cut_tile, tail[1:]), tail[0]
    for tile in np.flatnonzero(tiles_below).tolist():
        if tail_slot.kind == "all":
            mask[tile::tile] = True
        elif tail_slot.kind == "lanes":
            mask[
                tail_slot.fewest_lanes * tile : min(tail_slot.most_lanes * tile, cut_tile)
                + 1 : tile
            ] = True
        else:
            steps = quotient_steps(-(-cut_tile // tile))
            mask[[step * tile for step in steps if step * tile <= cut_tile]] = True
    return mask


@cache
def can_finish_open(tile: int, tail: Tail) -> bool:
    """Tell whether the slots below can bring a tile to 1 with at most one uneven loop.

    `tail`: the slots that can loop over the variable, outermost first.
    """
    if not tail:
        return tile == 1
    tail_slot, deeper = tail[0], tail[1:]
    tiles_below, even_tiles = candidates(tile, deeper), divisors(tile)
    if tail_slot.kind == "lanes":
        fewest_lanes, most_lanes = tail_slot.fewest_lanes, tail_slot.most_lanes
        odd_tiles = np.flatnonzero(tiles_below[1:tile]) + 1
        odd_tiles = odd_tiles[tile % odd_tiles != 0]
        turns = -(-tile // odd_tiles)
        even_tiles = tuple(tile // n for n in even_tiles if fewest_lanes <= n <= most_lanes)
        return bool(((turns >= fewest_lanes) & (turns <= most_lanes)).any()) or any(
            can_finish_open(t, deeper) for t in even_tiles
        )
    return bool(tiles_below[1:].any()) or any(can_finish_open(t, deeper) for t in even_tiles)
