"""What each element sends and receives at least in a reshard, from the two distributions alone.

Parts are boxes with equal extents, so the pieces of a part are counted rank by rank
(theory/grid.md §10). A search asks for the traffic from all places of a tensor to one that an
Einsum needs: it is found for many of them together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from tilewright.mapper.grid.distribution import Distribution
from tilewright.mapper.grid.host_streams import Integers

Mask = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.floating]
Array = TypeVar("Array", Integers, Mask)
Size = tuple[int, ...] | None
"""Positions of a tensor in each rank; None if parts are cut at 0 only."""


@dataclass(frozen=True, eq=False)
class _Parts:
    """The part of each element in some places of a tensor, cut to the positions of the tensor.

    Arrays (places, rows, columns): `has`: whether the element has a part; `values` of the part, 0
    without one. `low`, `high`: (ranks, places, rows, columns) first position, and the one after the
    last.
    """

    each: Sequence[Distribution]
    low: Integers
    high: Integers
    has: Mask
    values: Integers

    @staticmethod
    def of(each: Sequence[Distribution], size: Size, grid: tuple[int, int]) -> _Parts:
        """Return the parts of distributions; `grid`: rows and columns, at least those of each."""
        low, high = np.zeros((2, len(each[0].extents), len(each), *grid), dtype=np.int64)
        has = _padded([place.has for place in each], grid)
        for number, place in enumerate(each):
            rows, columns = place.has.shape
            for rank, extent in enumerate(place.extents):
                low[rank, number, :rows, :columns] = place.first[:, :, rank]
                high[rank, number, :rows, :columns] = place.first[:, :, rank] + extent
        np.maximum(low, 0, out=low)
        for rank, end in enumerate(size or ()):
            np.minimum(high[rank], end, out=high[rank])
        return _Parts(each, low, high, has, _volume(low, high) * has)

    @cached_property
    def holders(self) -> Integers:
        """Number of elements that have each element's part, 1 without one."""
        holders = _padded([place.holders for place in self.each], self.has.shape[1:])
        several: Integers = np.maximum(holders, 1)
        return several

    @cached_property
    def number(self) -> Integers:
        """A number of each element's part, another one in each place; any number without one."""
        number = _padded([place.number.clip(min=0) for place in self.each], self.has.shape[1:])
        before: Integers = np.cumsum([0, *(number.max(axis=(1, 2)) + 1)])[:-1]
        return number + before[:, None, None]

    @cached_property
    def starts(self) -> list[Integers]:
        """By rank, where each element's first position is among those of all places in turn."""
        grid, ranks = self.has.shape[1:], range(len(self.low))
        before = [np.cumsum([0] + [len(p.starts[rank]) for p in self.each])[:-1] for rank in ranks]
        return [
            _padded([place.places[rank] for place in self.each], grid) + before[rank][:, None, None]
            for rank in ranks
        ]

    @cached_property
    def disjoint(self) -> Mask:
        """Which elements have a part in a place whose parts are disjoint."""
        disjoint: Mask = np.array([place.is_disjoint for place in self.each])
        return self.has & disjoint[:, None, None]

    @cached_property
    def is_single(self) -> bool:
        """Whether each part is in one element, in all places."""
        return all(place.is_single for place in self.each)

    def mean(self, values: Floats) -> Floats:
        """Return the mean of what is known of each element over all those with its part.

        values: (places, rows, columns). Those of an element without a part stay as they are.
        """
        if self.is_single:
            return values
        known = np.where(self.has, values, 0.0)
        sums = np.bincount(self.number.ravel(), weights=known.ravel())
        return np.where(self.has, sums[self.number] / self.holders, values)

    def others(self, all_of_part: Integers, own: Integers | Mask) -> Floats:
        """Return what an element's part gives to others, divided by the number of its holders.

        all_of_part: what it gives to all elements; `own`: to each element that has it. 0 where
        places are not disjoint.
        """
        given = (all_of_part - self.holders * self.mean(own * 1.0)).clip(min=0) / self.holders
        return np.where(self.disjoint, given, 0.0)


def _padded(arrays: Sequence[Array], grid: Sequence[int]) -> Array:
    """Return arrays (rows, columns) one behind the other, with zeros up to the size of a grid."""
    padded: Array = np.zeros((len(arrays), *grid), arrays[0].dtype)
    for number, array in enumerate(arrays):
        rows, columns = array.shape
        padded[number, :rows, :columns] = array
    return padded


def _volume(low: Integers, high: Integers) -> Integers:
    """Return how many positions are in boxes: the product over the first axis, the ranks."""
    volume = np.ones(low.shape[1:], dtype=np.int64)
    for first, end in zip(low, high, strict=True):
        volume *= (end - first).clip(min=0)
    return volume


_held_parts = lru_cache(maxsize=32)(_Parts.of)
_needed_parts = lru_cache(maxsize=1)(_Parts.of)


@dataclass(frozen=True, eq=False)
class LeastTraffic:
    """Lower bounds for each element, by place of the tensor: arrays (places, rows, columns).

    `received`: words; `flows`: number of flows that it receives; `copies`: whether it holds some of
    the part that it needs. `sent`, `sends`: words that elements with the same part as this one send
    together, and the number of their flows, divided by the number of these elements. `held`: where
    the parts are.
    """

    held: _Parts
    received: Integers
    flows: Integers
    copies: Mask
    sent: Floats
    sends: Floats

    def mean(self, values: Floats) -> Floats:
        """Return the mean of what is known of each element over all those with its part.

        values: (places, rows, columns). Those of an element without a part stay as they are.
        """
        return self.held.mean(values)

    @property
    def all_flows(self) -> Floats:
        """The number of flows between all elements, at least, by place of the tensor."""
        flows: Floats = self.sends.sum(axis=(1, 2))
        return flows


def least_traffic(held: Sequence[Distribution], needed: Distribution) -> LeastTraffic:
    """Return what each element sends and receives at least, to get from each place to `needed`.

    `held`: places of one tensor, of the same shape.
    """
    shapes = [place.has.shape for place in (*held, needed)]
    grid = max(rows for rows, _ in shapes), max(columns for _, columns in shapes)
    parts = _held_parts(tuple(held), held[0].shape, grid)
    lacking = _needed_parts((needed,), held[0].shape, grid)
    kept = _volume(np.maximum(lacking.low, parts.low), np.minimum(lacking.high, parts.high))
    kept *= parts.has & lacking.has
    received, copies = lacking.values - kept, kept > 0
    flows = np.where(received > 0, _pieces(held, needed, grid) - copies, 0)
    sent: Floats = np.zeros(kept.shape)
    sends = sent
    if needed.is_full and parts.disjoint.any():
        words, pieces = _sent(parts, needed)
        sent = parts.others(words, kept)
        sends = parts.others(pieces, copies)
    return LeastTraffic(parts, received, flows, copies, sent, sends)


def _sent(held: _Parts, needed: Distribution) -> tuple[Integers, Integers]:
    """Return how many words of each element's part are needed, and in how many different pieces.

    A word counts once for each different piece; a piece for all elements that need it, this one
    included. (places, rows, columns) each; any numbers where places are not disjoint.
    """
    words, pieces = np.ones((2, *held.has.shape), dtype=np.int64)
    for rank, starts in enumerate(held.starts):
        tables = [
            _rank_pieces(
                place.rank_starts[rank],
                needed.rank_starts[rank],
                (place.extents[rank], needed.extents[rank]),
                None if place.shape is None else place.shape[rank],
            )
            for place in held.each
        ]
        words *= np.concatenate([of_words for of_words, _ in tables])[starts]
        pieces *= np.concatenate([of_pieces for _, of_pieces in tables])[starts]
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


def _pieces(held: Sequence[Distribution], needed: Distribution, grid: tuple[int, int]) -> Integers:
    """Return how many different parts of each place the part overlaps that an element needs.

    1 if not known. It is known if the parts are disjoint.
    """
    pieces = np.ones((len(held), *grid), dtype=np.int64)
    rows, columns = needed.has.shape
    for rank, starts in enumerate(needed.rank_starts):
        tables = [
            _overlapped(
                place.rank_starts[rank],
                starts,
                (place.extents[rank], needed.extents[rank]),
                None if place.shape is None else place.shape[rank],
            )
            if place.is_disjoint
            else np.ones(len(starts), dtype=np.int64)
            for place in held
        ]
        pieces[:, :rows, :columns] *= np.stack(tables)[:, needed.places[rank]]
    return pieces


@lru_cache(maxsize=1 << 14)
def _overlapped(
    held: tuple[int, ...], needed: tuple[int, ...], extents: tuple[int, int], size: int | None
) -> Integers:
    """Return how many held parts of one rank each needed part overlaps; parameters as above."""
    low = np.array(needed, dtype=np.int64)
    high = low + extents[1] if size is None else np.minimum(low + extents[1], size)
    starts = np.array(held, dtype=np.int64)
    first = np.searchsorted(starts, np.maximum(low, 0) - extents[0], side="right")
    return np.searchsorted(starts, high) - first
