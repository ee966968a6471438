"""What each element sends and receives at least in a reshard, from the two distributions alone.

Parts are boxes with equal extents, so the pieces of a part are counted rank by rank
(theory/grid.md §10).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np
import numpy.typing as npt

from tilewright.mapper.grid.distribution import Distribution
from tilewright.mapper.grid.host_streams import Integers

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class LeastTraffic:
    """Lower bounds for each element: arrays (rows, columns).

    `received`, `sent`: words; `flows`: number of flows that it sends or receives; `copies`: whether
    it holds some of the part that it needs.
    """

    received: Integers
    sent: Integers
    flows: Integers
    copies: Mask


def least_traffic(held: Distribution, needed: Distribution) -> LeastTraffic:
    """Return what each element sends and receives at least, to get from `held` to `needed`."""
    shape = tuple(map(max, held.has.shape, needed.has.shape))
    lacking, wanted = (_Boxes.of(place, held.shape, shape) for place in (needed, held))
    kept = _own(lacking, wanted)
    received = lacking.values - kept
    flows = np.where(received > 0, _pieces(lacking, held) - (kept > 0), 0)
    sent = np.zeros_like(received)
    if needed.is_disjoint and held.is_disjoint and held.has.sum() == held.parts:
        pieces = _pieces(wanted, needed) - (kept > 0)
        flows = flows + np.where(wanted.values > 0, pieces.clip(min=0), 0)
        if _covers(needed, held.shape):
            sent = wanted.values - kept
    return LeastTraffic(received, sent, flows, kept > 0)


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


@lru_cache(maxsize=1 << 10)
def _covers(needed: Distribution, shape: tuple[int, ...] | None) -> bool:
    """Tell whether every value of a tensor of that shape is in a part that some element needs.

    `needed` must be disjoint. False for a shape that is not known.
    """
    return shape is not None and all(
        starts[0] <= 0 and starts[-1] + extent >= size and prod([*(np.diff(starts) == extent)])
        for starts, extent, size in zip(needed.starts, needed.extents, shape, strict=True)
    )
