"""Tiles that go round rings of elements, one place further in each turn of the loop in time.

With rings along both axes this is Cannon's product. Before the run an element has the tile of the
turn that its places in the rings name; a tensor of which an element has all tiles lies in the order
in which they are needed (theory/grid.md §11).
"""

from __future__ import annotations

import numpy as np

from tilewright.mapper.grid.host_streams import Integers, element_starts
from tilewright.mapper.grid.rings.ring_links import ring_hops, ring_places
from tilewright.mapper.grid.space_time import HeldTensor, SpaceTime


def first_turns(read: SpaceTime) -> Integers:
    """Return which tile of the loop in time each element works on first: (rows, columns).

    In turn t it works on that number plus t, modulo the turns: the tile comes from the element
    before it in the ring, which worked on it in the turn before. 0 without a shift.
    """
    turn = np.zeros((read.rows, read.columns), dtype=np.int64)
    axes = {tensor.shift for tensor in read.shifted}
    if "X" in axes:
        turn -= ring_places(read.columns)[None, :]
    if "Y" in axes:
        turn -= ring_places(read.rows)[:, None]
    return turn % read.time[0].count if axes else turn


def held_starts(read: SpaceTime, tensor: HeldTensor) -> dict[str, Integers]:
    """Return the first value of each rank variable in what each element holds: (rows, columns)."""
    starts = element_starts(read)
    if tensor.shift is not None:
        loop = read.time[0]
        starts[loop.variable] = starts[loop.variable] + first_turns(read) * loop.tile
    return starts


def turned_values(read: SpaceTime, tensor: HeldTensor) -> Integers | None:
    """Return by how many values of the shifted variable what an element holds is turned.

    (rows, columns). With n, its memory begins with value n of the element's share, and the n values
    before that one stand at the end. None for a tensor that is not turned.
    """
    if not is_turned(read, tensor):
        return None
    return first_turns(read) * read.time[0].tile


def is_turned(read: SpaceTime, tensor: HeldTensor) -> bool:
    """Return whether the elements hold all tiles of a tensor in the order of their turns."""
    return bool(read.shifted) and not tensor.depth and tensor.uses(read.time[0].variable)


def shift_hops(read: SpaceTime) -> int:
    """Return words times links of all tiles that move on, over all elements."""
    hops = 0
    for tensor in read.shifted:
        ring, lines = read.columns, read.rows
        if tensor.shift == "Y":
            ring, lines = lines, ring
        hops += (read.time[0].count - 1) * read.words(tensor) * lines * ring_hops(ring)
    return hops
