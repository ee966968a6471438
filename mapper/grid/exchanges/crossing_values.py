"""How many values cross the busiest link of a grid in a reshard, from the two distributions alone.

Flows go along the row of the element that has a part, then along the columns of those that need it
(theory/grid.md §10).
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.mapper.grid.distribution import Distribution
from tilewright.mapper.grid.host_streams import Integers

Mask = npt.NDArray[np.bool_]
MOST_VALUES: Final = 1 << 18
"""Values of all parts together up to which it pays to look where each position goes."""


class _Reach(NamedTuple):
    """Positions of a tensor that some lines of elements need, with the first and last of these."""

    positions: Integers
    first: Integers
    last: Integers


def busiest_link(held: Distribution, needed: Distribution) -> int:
    """Return a number of values that cross one link in every reshard; 0 if none is known.

    It is known where each position is in one element, of tensors that are not too large.
    """
    values = max(part.has.size * part.values for part in (held, needed))
    if not held.is_single or held.shape is None or values > MOST_VALUES:
        return 0
    row, column = _holders(held)
    rows, columns = (max(a, b) for a, b in zip(held.has.shape, needed.has.shape, strict=True))
    along_rows = _most(_reach(needed, held.shape), (row, column), (rows, columns))
    in_columns = _reach_in_columns(needed, held.shape)
    one = np.zeros_like(row)
    return max(along_rows, *(_most(reach, (one, row), (1, rows)) for reach in in_columns))


def _most(reach: _Reach, at: tuple[Integers, Integers], grid: tuple[int, int]) -> int:
    """Return the most values that cross a link along lines of elements, one way or the other.

    `at`: line and place in it from which each position goes, below 0 where it is in no element;
    `grid`: numbers of lines and of places.
    """
    line, place = (part[reach.positions] for part in at)
    most = 0
    for ends, step in ((reach.last, 1), (reach.first, -1)):
        goes = (place >= 0) & ((ends - place) * step > 0)
        starts, stops = (
            np.bincount(line[goes] * grid[1] + part[goes], minlength=grid[0] * grid[1])
            for part in (place, ends)
        )
        crossing = np.cumsum((starts - stops).reshape(grid)[:, ::step], axis=1)
        most = max(most, int(crossing.max(initial=0)))
    return most


def _positions(part: Distribution, shape: tuple[int, ...]) -> tuple[Integers, Mask]:
    """Return the positions in each element's part, and which of them are in the tensor.

    (rows, columns, values) each; positions are numbers in row-major order.
    """
    ranks = len(shape)
    numbers = np.zeros((1,) * (2 + ranks), dtype=np.int64)
    is_in = part.has.reshape(*part.has.shape, *(1,) * ranks)
    for rank, (extent, size) in enumerate(zip(part.extents, shape, strict=True)):
        axis = [1] * ranks
        axis[rank] = extent
        first = part.first[:, :, rank].reshape(*part.has.shape, *(1,) * ranks)
        place = first + np.arange(extent).reshape(1, 1, *axis)
        numbers = numbers * size + place
        is_in = is_in & (place >= 0) & (place < size)
    whole, flat = (*part.has.shape, *part.extents), (*part.has.shape, part.values)
    numbers, is_in = np.broadcast_to(numbers, whole), np.broadcast_to(is_in, whole)
    return numbers.reshape(flat), is_in.reshape(flat)


@lru_cache(maxsize=64)
def _holders(held: Distribution) -> tuple[Integers, Integers]:
    """Return the row and the column of the element that has each position; -1 for none."""
    assert held.shape is not None
    numbers, is_in = _positions(held, held.shape)
    place = np.full((2, prod(held.shape)), -1, dtype=np.int64)
    at = np.indices(held.has.shape)
    for axis in range(2):
        place[axis, numbers[is_in]] = np.broadcast_to(at[axis][:, :, None], is_in.shape)[is_in]
    return place[0], place[1]


def _reached(numbers: Integers, is_in: Mask, size: int) -> _Reach:
    """Return which positions the places along the first axis need, and the ends of these places."""
    first, last = np.full((2, size), -1, dtype=np.int64)
    for place in range(len(numbers)):
        last[numbers[place][is_in[place]]] = place
    for place in reversed(range(len(numbers))):
        first[numbers[place][is_in[place]]] = place
    positions = np.flatnonzero(last >= 0)
    return _Reach(positions, first[positions], last[positions])


@lru_cache(maxsize=8)
def _reach(needed: Distribution, shape: tuple[int, ...]) -> _Reach:
    """Return the first and the last column that need each position."""
    numbers, is_in = _positions(needed, shape)
    return _reached(numbers.swapaxes(0, 1), is_in.swapaxes(0, 1), prod(shape))


@lru_cache(maxsize=8)
def _reach_in_columns(needed: Distribution, shape: tuple[int, ...]) -> tuple[_Reach, ...]:
    """Return by column the first and the last row that need each position there."""
    numbers, is_in = _positions(needed, shape)
    columns = range(numbers.shape[1])
    return tuple(_reached(numbers[:, c], is_in[:, c], prod(shape)) for c in columns)
