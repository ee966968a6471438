"""The part of a tensor's tiles that lies inside the tensor: zeros beside it are not read.

A tile spans an interval of positions in each rank. In a rank that is padded the interval may leave
the rank; what is outside are zeros, which no memory holds (theory/model.md §3.7).

Example: `p + r - 1` with p = 4, r = 3 and size 4. Tiles of two values of p and all of r span -1 to
2 and 1 to 4: 3 values inside each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.workload.einsum import Affine, Einsum, TensorAccess

Ints = NDArray[np.int64]


def zeros_counted(einsum: Einsum) -> Einsum:
    """Return the Einsum as it is counted where zeros beside padded ranks move like values."""
    if not any(access.padded for access in einsum.accesses):
        return einsum
    accesses = tuple(replace(access, padded=()) for access in einsum.accesses)
    return replace(einsum, accesses=accesses)


class Pieces(NamedTuple):
    """The tiles of one rank variable, all visits: first values and sizes, shape (tiles,) each."""

    first: Ints
    size: Ints


class Cut(NamedTuple):
    """A rank variable of `bound` values in tiles of `tile` that begin anew with every `period`.

    The last tile of a period may be smaller. 7 values in periods of 7 and tiles of 3: 3, 3, 1.
    """

    bound: int
    period: int
    tile: int

    @property
    def number(self) -> int:
        """Number of tiles."""
        return self.bound // self.period * -(-self.period // self.tile)

    def pieces(self) -> Pieces:
        """Return all tiles."""
        return self._numbered(np.arange(self.number, dtype=np.int64))

    def ends(self, first: int, last: int) -> Pieces:
        """Return the tiles with some value below `first`, or from `last` on."""
        per_period = -(-self.period // self.tile)
        periods, rest = divmod(min(max(first, 0), self.bound), self.period)
        head = periods * per_period - (-rest // self.tile)
        periods, rest = divmod(min(max(last, 0), self.bound), self.period)
        tail = max(head, periods * per_period + rest // self.tile)
        numbers = [np.arange(head, dtype=np.int64), np.arange(tail, self.number, dtype=np.int64)]
        return self._numbered(np.concatenate(numbers))

    def _numbered(self, numbers: Ints) -> Pieces:
        periods, place = np.divmod(numbers, -(-self.period // self.tile))
        first = place * self.tile
        return Pieces(periods * self.period + first, np.minimum(self.tile, self.period - first))


class Spanned(NamedTuple):
    """Positions of a rank that all tiles span together: `inside` the rank, and `all`.

    A position counts as often as tiles span it.
    """

    inside: int
    all: int


@lru_cache(maxsize=1 << 16)
def spanned_by_cuts(form: Affine, size: int, cuts: tuple[Cut, ...]) -> Spanned:
    """Return what the tiles of a rank's variables span of it; one cut per term of its form.

    `size`: positions of the rank. Only tiles near its ends are made.
    """
    names = [name for name, _ in form.terms]
    bounds = {name: cut.bound for name, cut in zip(names, cuts, strict=True)}
    lowest, highest = form.ends(bounds)
    near: list[Interval] = []
    for (_, factor), cut in zip(form.terms, cuts, strict=True):
        low, high = sorted((0, factor * (cut.bound - 1)))
        others_low, others_high = lowest - low, highest - high - size
        step = abs(factor)
        if factor > 0:  # first * factor + others_low < 0, or last * factor + others_high >= 0
            tiles = cut.ends(-(others_low // step), -(others_high // step))
        else:
            tiles = cut.ends(others_high // step + 1, others_low // step + 1)
        near.append(_interval(factor, tiles))
    everything = _all_spanned(form, [cut.number for cut in cuts], [cut.bound for cut in cuts])
    return Spanned(everything - _outside(form.constant, size, near), everything)


def share_of_points(access: TensorAccess, bounds: Mapping[str, int]) -> Fraction:
    """Return the share of an Einsum's operations whose value of a tensor is no zero beside it.

    `bounds`: values of each rank variable.
    """
    share = Fraction(1)
    for number, size in access.clipped:
        form = access.projection[number][1]
        cuts = tuple(Cut(bounds[name], bounds[name], 1) for name, _ in form.terms)
        share *= Fraction(*spanned_by_cuts(form, size, cuts))
    return share


def spanned(form: Affine, size: int, pieces: Mapping[str, Pieces]) -> Spanned:
    """Return what all combinations of tiles of some rank variables span of a rank.

    `form`: its index; `size`: its positions; `pieces`: the tiles of each variable.
    """
    tiles = [pieces[name] for name, _ in form.terms]
    values = [int(piece.size.sum()) for piece in tiles]
    everything = _all_spanned(form, [len(piece.first) for piece in tiles], values)
    intervals = [
        _interval(factor, piece) for (_, factor), piece in zip(form.terms, tiles, strict=True)
    ]
    return Spanned(everything - _outside(form.constant, size, intervals), everything)


class Interval(NamedTuple):
    """What a term of an index is at least over each tile, and by how much it grows there."""

    low: Ints
    width: Ints


def _interval(factor: int, pieces: Pieces) -> Interval:
    width = abs(factor) * (pieces.size - 1)
    return Interval(factor * pieces.first - (width if factor < 0 else 0), width)


def _all_spanned(form: Affine, counts: Sequence[int], values: Sequence[int]) -> int:
    """Return the positions of all combinations of tiles, those outside the rank included.

    `counts`: tiles of each variable; `values`: the sum of their sizes.
    """
    tiles = prod(counts)
    widths = sum(
        abs(factor) * (value - count) * (tiles // count)
        for (_, factor), count, value in zip(form.terms, counts, values, strict=True)
    )
    return tiles + widths


def _outside(constant: int, size: int, terms: list[Interval]) -> int:
    """Return the positions below 0, and from `size` on, of all combinations of intervals."""
    if any(not len(term.low) for term in terms):
        return 0  # some variable has no tile near the ends
    *others, largest = sorted(
        terms or [Interval(np.zeros(1, np.int64), np.zeros(1, np.int64))],
        key=lambda term: len(term.low),
    )
    sums = np.array([[constant, 0]], np.int64)  # low and width of the combinations of the others
    often = np.ones(1, np.int64)
    for term in others:
        pairs = (sums[:, np.newaxis] + np.stack(term, axis=1)).reshape(-1, 2)
        sums, place = np.unique(pairs, axis=0, return_inverse=True)
        often = np.bincount(place.reshape(-1), np.repeat(often, len(term.low)), len(sums)).astype(
            np.int64
        )
    total = 0
    for width in np.unique(largest.width).tolist():
        lows = np.sort(largest.low[largest.width == width])
        low, span = sums[:, 0], sums[:, 1] + width + 1
        zeros = _below(low, span, lows) + _below(size - span - low, span, -lows[::-1])
        total += int((often * zeros).sum())
    return total


def _below(low: Ints, span: Ints, rising: Ints) -> Ints:
    """Return, per interval, its positions below 0 in all places it takes.

    `low`, `span`: first position and positions, shape (intervals,); `rising`: what is added to
    `low` in each place.
    """
    sums = np.concatenate([[0], np.cumsum(rising)])
    whole = np.searchsorted(rising, -low - span, side="right")  # wholly below 0
    some = np.searchsorted(rising, -low, side="left")
    below: Ints = span * whole - low * (some - whole) - (sums[some] - sums[whole])
    return below
