"""The part of a tensor's tiles that lies inside the tensor: zeros beside it are not read.

A tile spans an interval of positions in each rank. In a rank that is padded the interval may leave
the rank; what is outside are zeros, which no memory holds (theory/model.md §3.7).

Example: `p + r - 1` with p = 4, r = 3 and size 4. Tiles of two values of p and all of r span -1 to
2 and 1 to 4: 3 values inside each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
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

    def pieces(self) -> Pieces:
        """Return the tiles."""
        starts = np.arange(0, self.period, self.tile, dtype=np.int64)
        sizes = np.minimum(self.tile, self.period - starts)
        periods = np.arange(0, self.bound, self.period, dtype=np.int64)
        first = (periods[:, np.newaxis] + starts).reshape(-1)
        return Pieces(first, np.tile(sizes, len(periods)))


class Spanned(NamedTuple):
    """Positions of a rank that all tiles span together: `inside` the rank, and `all`.

    A position counts as often as tiles span it.
    """

    inside: int
    all: int


@lru_cache(maxsize=1 << 16)
def spanned_by_cuts(form: Affine, size: int, cuts: tuple[Cut, ...]) -> Spanned:
    """Return what the tiles of a rank's variables span of it; one cut per term of its form.

    `size`: positions of the rank.
    """
    names = [name for name, _ in form.terms]
    return spanned(form, size, {n: cut.pieces() for n, cut in zip(names, cuts, strict=True)})


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
    ends = [_ends(factor, pieces[name]) for name, factor in form.terms]
    everything = _combined_span(form, pieces)
    least = form.constant + sum(int(low.min()) for low, _ in ends)
    greatest = form.constant + sum(int(high.max()) for _, high in ends)
    lows = highs = np.full(1, form.constant, np.int64)
    for low, high in ends:  # other tiles are inside, whatever those of the other variables
        near = (least - low.min() + low < 0) | (greatest - high.max() + high >= size)
        lows = (lows[:, np.newaxis] + low[near]).reshape(-1)
        highs = (highs[:, np.newaxis] + high[near]).reshape(-1)
    inside = np.maximum(0, np.minimum(highs, size - 1) - np.maximum(lows, 0) + 1)
    return Spanned(everything - int((highs - lows + 1 - inside).sum()), everything)


def _ends(factor: int, pieces: Pieces) -> tuple[Ints, Ints]:
    """Return the least and greatest values of a term over each tile."""
    first, last = factor * pieces.first, factor * (pieces.first + pieces.size - 1)
    return np.minimum(first, last), np.maximum(first, last)


def _combined_span(form: Affine, pieces: Mapping[str, Pieces]) -> int:
    """Return the positions of all combinations of tiles, those outside the rank included."""
    tiles = 1
    for name, _ in form.terms:
        tiles *= len(pieces[name].first)
    beyond_first = 0
    for name, factor in form.terms:
        steps = int((pieces[name].size - 1).sum())
        beyond_first += abs(factor) * steps * (tiles // len(pieces[name].first))
    return tiles + beyond_first
