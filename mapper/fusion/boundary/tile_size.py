"""The size of a tensor below shared loops, as the Einsums that touch it see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.mapper.fusion.boundary.rank_names import LoopName
from tilewright.mapper.searches.exact.kernels import Floats, Ints
from tilewright.mapper.workload.einsum import Einsum

# per rank the positions of one point and its terms: (loop, bound, factor); one of several slides
Ranks = tuple[tuple[int, tuple[tuple[str, int, int], ...]], ...]


@dataclass(frozen=True, slots=True)
class Extent:
    """The size of a tensor below some loops: (bits per value, ranks) of each view of it.

    Where the views differ, as where one Einsum slides over what another one writes, the largest
    tile counts.
    """

    views: tuple[tuple[float, Ranks], ...]

    @property
    def width(self) -> float:
        """The bits per value, the same in all views."""
        return self.views[0][0] if self.views else 0.0

    def bits_below(self, loops: Sequence[LoopName], tiles: Ints) -> Floats:
        """Return its bits below `loops`; `tiles`: shape (…, loops or more)."""
        place = {loop.variable: column for column, loop in enumerate(loops)}
        sizes: list[Floats] = []
        for bits, ranks in self.views:
            sizes.append(np.full(len(tiles), bits))
            for least, terms in ranks:
                extent: int | Ints = least - sum(factor for _, _, factor in terms)
                for name, bound, factor in terms:
                    extent = extent + factor * (tiles[:, place[name]] if name in place else bound)
                sizes[-1] *= extent
        largest: Floats = np.maximum.reduce(sizes)
        return largest

    def merged(self, other: Extent) -> Extent:
        """Return the extent that has the views of both."""
        return Extent(tuple(dict.fromkeys((*self.views, *other.views))))

    def with_width(self, bits: float) -> Extent:
        """Return the same extent in other bits per value."""
        return Extent(tuple((bits, ranks) for _, ranks in self.views))


def extent_of(einsum: Einsum, names: Mapping[str, str], tensor: str, bits: float) -> Extent:
    """Return the extent of `tensor` as `einsum` sees it; `names` of the loops over its variables,
    `bits` per value."""
    ranks = tuple(
        (form.least, tuple((names[v], einsum.bounds[v], abs(factor)) for v, factor in form.terms))
        for _, form in einsum.access(tensor).projection
        if form.terms or form.least > 1
    )
    return Extent(((bits, ranks),))
