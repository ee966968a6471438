"""Compute the size of a tensor's tile below shared loops, as the Einsums that use it see it.

A tile of a rank covers as many positions as its variables reach: for `w = p + r` below tiles p = 4
and r = 3 these are 1 + (4 - 1) + (3 - 1) = 6 positions. The bits of a tile are the product of the
positions of its ranks and the width of a value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tilewright.mapper.fusion.boundary.rank_names import LoopName
from tilewright.mapper.searches.exact.kernels import Floats, Ints
from tilewright.mapper.workload.einsum import Einsum


class RankExtent(NamedTuple):
    """Give the positions along one rank that a tile covers, as a function of tile shapes.

    `point`: positions covered if every variable has one value. `terms`: (loop name, bound, factor)
    of each rank variable in the rank's index; a tile of t values adds factor * (t - 1) positions.
    With several terms the rank is a sliding window. Example: w = p + r, tiles p = 4 and r = 3: 1 +
    3 + 2 = 6 positions.
    """

    point: int
    terms: tuple[tuple[str, int, int], ...]


class ExchangedTensorView(NamedTuple):
    """Describe a tensor as one Einsum sees it.

    `bits`: bits per value. `ranks`: per rank, the positions that a tile covers, as a function of
    the tile shape.
    """

    bits: float
    ranks: tuple[RankExtent, ...]


@dataclass(frozen=True, slots=True)
class Extent:
    """Give the bits of a tensor's tile as a function of the tile shapes: the largest of its views.

    `views`: one for each way in which Einsums see the tensor. They differ, for example, where one
    Einsum slides a window over what another one writes point by point.
    """

    views: tuple[ExchangedTensorView, ...]

    @property
    def width(self) -> float:
        """Bits per value, the same for all Einsums whose views are covered; 0 if there are none."""
        return self.views[0].bits if self.views else 0.0

    def bits_below(self, loops: Sequence[LoopName], tiles: Ints) -> Floats:
        """Return the bits of the tile below some loops, shape (tilings,).

        `loops`: outermost first. `tiles`: values of each loop's variable below that loop, shape
        (tilings, loops or more columns); a tiling is one choice of tile shapes. A variable without
        a loop has its whole bound; of two loops over one variable the later column counts.
        """
        column_of = {loop.variable: column for column, loop in enumerate(loops)}
        sizes: list[Floats] = []
        for bits, ranks in self.views:
            sizes.append(np.full(len(tiles), bits))
            for point, terms in ranks:
                positions: int | Ints = point - sum(factor for _, _, factor in terms)
                for name, bound, factor in terms:
                    tile = tiles[:, column_of[name]] if name in column_of else bound
                    positions = positions + factor * tile
                sizes[-1] *= positions
        largest: Floats = np.maximum.reduce(sizes)
        return largest

    def merged(self, extent: Extent) -> Extent:
        """Return the extent with the views of both: its tile is the larger one for each tile shape.

        A view is the tensor as one Einsum sees it.
        """
        return Extent(tuple(dict.fromkeys((*self.views, *extent.views))))

    def with_width(self, bits: float) -> Extent:
        """Return the same function of the tile shapes with `bits` bits per value."""
        return Extent(tuple(ExchangedTensorView(bits, view.ranks) for view in self.views))


def extent_of(einsum: Einsum, names: Mapping[str, str], tensor: str, bits: float) -> Extent:
    """Return the size of a tensor's tile, as one Einsum sees it, as a function of the tile shapes.

    `names`: for each rank variable of the Einsum, its name common to all Einsums. `bits`: bits per
    value.
    """
    ranks = tuple(
        RankExtent(
            form.point_extent, tuple((names[v], einsum.bounds[v], abs(f)) for v, f in form.terms)
        )
        for _, form in einsum.access(tensor).projection
        if form.terms or form.point_extent > 1
    )
    return Extent((ExchangedTensorView(bits, ranks),))
