"""What each element sends and receives at least in a reshard, from the two distributions alone.

Parts are boxes with equal extents, so the pieces of a part are counted rank by rank
(theory/grid.md §10).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tilewright.mapper.grid.distribution import Distribution
from tilewright.mapper.grid.host_streams import Integers

Mask = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.floating]


@dataclass(frozen=True, eq=False)
class LeastTraffic:
    """Lower bounds for each element: arrays (rows, columns).

    `received`: words; `flows`: number of flows that it receives; `copies`: whether it holds some of
    the part that it needs. `sent`, `sends`: words that elements with the same part as this one send
    together, and the number of their flows, divided by the number of these elements. `held`: where
    the parts are.
    """

    held: Distribution
    received: Integers
    flows: Integers
    copies: Mask
    sent: Floats
    sends: Floats

    def mean(self, values: Floats) -> Floats:
        """Return the mean of what is known of each element over all those with its part.

        values: (rows, columns). The result has the rows and columns of `held`.
        """
        return _mean(self.held, values)


def least_traffic(held: Distribution, needed: Distribution) -> LeastTraffic:
    """Return what each element sends and receives at least, to get from `held` to `needed`."""
    shape = tuple(map(max, held.has.shape, needed.has.shape))
    lacking, wanted = (_Boxes.of(place, held.shape, shape) for place in (needed, held))
    kept = _own(lacking, wanted)
    received = lacking.values - kept
    flows = np.where(received > 0, _pieces(lacking, held) - (kept > 0), 0)
    sent = sends = np.zeros(held.has.shape)
    if held.is_disjoint and needed.is_full:
        words, pieces = _sent(held, needed)
        own = held.holders * _mean(held, kept * 1.0), held.holders * _mean(held, (kept > 0) * 1.0)
        sent = (words - own[0]).clip(min=0) / held.holders
        sends = (pieces - own[1]).clip(min=0) / held.holders
    return LeastTraffic(held, received, flows, kept > 0, sent, sends)


def _mean(held: Distribution, values: Floats) -> Floats:
    rows, columns = held.has.shape
    inside = values[:rows, :columns]
    if held.is_single:
        return inside
    number = held.number.clip(min=0)
    sums = np.bincount(number[held.has], weights=inside[held.has])
    return np.where(held.has, sums[number] / held.holders, inside)


def _sent(held: Distribution, needed: Distribution) -> tuple[Integers, Integers]:
    """Return how many words of each element's part are needed, and in how many different pieces.

    A word counts once for each different piece; a piece for all elements that need it, this one
    included. (rows, columns) each.
    """
    words, pieces = (held.has.astype(np.int64) for _ in range(2))
    for rank, place in enumerate(held.places):
        size = None if held.shape is None else held.shape[rank]
        extents = held.extents[rank], needed.extents[rank]
        sums = _rank_pieces(held.rank_starts[rank], needed.rank_starts[rank], extents, size)
        words, pieces = words * sums[0][place], pieces * sums[1][place]
    return words, pieces


@lru_cache(maxsize=1 << 14)
def _rank_pieces(
    held: tuple[int, ...], needed: tuple[int, ...], extents: tuple[int, int], size: int | None
) -> tuple[Integers, Integers]:
    """Return for each part of one rank the positions of its pieces, and the number of pieces.

    held, needed: first positions, rising; extents: of the parts that are held and needed; size: of
    the tensor, None for any. Equal pieces count once; they stand side by side.
    """
    first, wanted = np.array(held)[:, None], np.array(needed)[None, :]
    low = np.maximum(np.maximum(first, wanted), 0)
    high = np.minimum(first + extents[0], wanted + extents[1])
    high = high if size is None else np.minimum(high, size)
    is_new = np.ones_like(low, dtype=bool)
    is_new[:, 1:] = (np.diff(low, axis=1) > 0) | (np.diff(high, axis=1) > 0)
    counts = is_new & (high > low)
    return ((high - low) * counts).sum(axis=1), counts.sum(axis=1)


@dataclass(frozen=True, eq=False)
class _Boxes:
    """The part of each element cut to the positions of the tensor.

    `low`, `high`: (rows, columns, ranks) first position, and the one after the last. `values`:
    (rows, columns) values of the part, 0 for an element without one.
    """

    low: Integers
    high: Integers
    values: Integers

    @staticmethod
    @lru_cache(maxsize=1 << 10)
    def of(place: Distribution, size: tuple[int, ...] | None, shape: tuple[int, ...]) -> _Boxes:
        """Return the parts of a distribution, cut to a tensor of `size` (None: cut at 0 only).

        `shape`: rows and columns of the arrays, at least those of the distribution.
        """
        rows, columns = place.has.shape
        low = np.zeros((*shape, len(place.extents)), dtype=np.int64)
        high = np.zeros_like(low)
        low[:rows, :columns] = place.first
        high[:rows, :columns] = place.first + np.array(place.extents, dtype=np.int64)
        low = np.maximum(low, 0)
        if size is not None:
            high = np.minimum(high, np.array(size, dtype=np.int64))
        values = np.zeros(shape, dtype=np.int64)
        inside = (high - low).clip(min=0).prod(axis=2)
        values[:rows, :columns] = np.where(place.has, inside[:rows, :columns], 0)
        return _Boxes(low, high, values)


def _own(first: _Boxes, second: _Boxes) -> Integers:
    """Return how many values the two boxes of each element have in common: (rows, columns)."""
    sides = np.minimum(first.high, second.high) - np.maximum(first.low, second.low)
    both = (first.values > 0) & (second.values > 0)
    common: Integers = np.where(both, sides.clip(min=0).prod(axis=2), 0)
    return common


def _pieces(boxes: _Boxes, place: Distribution) -> Integers:
    """Return how many different parts of a distribution each element's box overlaps.

    1 if not known. It is known if the parts are disjoint.
    """
    if not place.is_disjoint:
        return np.ones_like(boxes.values)
    pieces = np.ones_like(boxes.values)
    for rank, starts in enumerate(place.starts):
        low, high = boxes.low[:, :, rank], boxes.high[:, :, rank]
        pieces *= np.searchsorted(starts, high) - np.searchsorted(
            starts, low - place.extents[rank], side="right"
        )
    return pieces
