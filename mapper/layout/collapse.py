"""Join consecutive dimensions of a tensor into groups, one per grid dimension (layouts.md §1).

Example: shape (4, 3, 5) with groups ((0, 1), (2,)) has extents (12, 5); the index (2, 1, 4) has the
group coordinates (2 * 3 + 1, 4) = (7, 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

from tilewright.arch.errors import SpecError

Interval = tuple[int, int]
DEFAULT_INTERVALS: tuple[Interval, ...] = ((0, -1),)


@dataclass(frozen=True, slots=True)
class Collapse:
    """Join the dimensions of a tensor into consecutive groups, one for each dimension of a grid.

    `shape`: extent of each tensor dimension. `groups`: numbers of the dimensions of each group;
    every dimension is in exactly one group, in order, so that the map from a tensor index to one
    coordinate per group is a bijection (theory/layouts.md §1). A group without dimensions has
    extent 1; such groups stand in front where a grid has more dimensions than the tensor has
    groups. Raises SpecError for an extent below 1, or for groups that leave out, repeat or reorder
    a dimension.
    """

    shape: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if any(extent < 1 for extent in self.shape):
            raise SpecError("a tensor's extents must be at least 1", value=self.shape)
        if [dim for group in self.groups for dim in group] != list(range(len(self.shape))):
            raise SpecError(
                "collapse groups must hold every dimension once, in order",
                value=self.groups,
                instead=f"groups over the dimensions 0 to {len(self.shape) - 1}",
            )

    @classmethod
    def of(
        cls,
        shape: Sequence[int],
        intervals: Sequence[Interval] = DEFAULT_INTERVALS,
        grid_rank: int | None = None,
    ) -> Collapse:
        """Build a collapse from half-open intervals of dimensions, each of which becomes one group.

        `shape`: extents of the tensor. `intervals`: (first dimension, one past the last); negative
        bounds count from the end, so that the default (0, -1) joins all dimensions but the last. A
        dimension outside all intervals is a group of its own. `grid_rank`: number of groups wanted;
        empty groups are put in front to reach it (None: as many as there are). Example: shape (2,
        3, 64, 128) with the default has the groups ((0, 1, 2), (3,)) of extents (384, 128). Raises
        SpecError if an extent is below 1, if an interval leaves the tensor, if intervals overlap,
        or if they make more groups than `grid_rank`.
        """
        rank = len(shape)
        spans = sorted(_normalised(interval, rank) for interval in intervals)
        spans = [span for span in spans if span[0] < span[1]]
        for (_, end), (begin, _) in pairwise(spans):
            if begin < end:
                raise SpecError("collapse intervals overlap", value=tuple(intervals))
        groups = _groups(spans, rank)
        rank_of_grid = len(groups) if grid_rank is None else grid_rank
        if len(groups) > rank_of_grid:
            raise SpecError(
                f"{len(groups)} groups of dimensions do not fit a grid of {rank_of_grid} "
                "dimensions",
                value=tuple(intervals),
                instead="join more dimensions or use a grid of higher rank",
            )
        return cls(tuple(shape), ((),) * (rank_of_grid - len(groups)) + tuple(groups))

    @property
    def extents(self) -> tuple[int, ...]:
        """Extent of each group, shape (groups,): the product of the extents of its dimensions."""
        return tuple(prod(self.shape[dim] for dim in group) for group in self.groups)

    def coordinates(self, index: Sequence[int]) -> tuple[int, ...]:
        """Return the position in each group, shape (groups,), of one scalar of the tensor.

        `index`: its position in each dimension, shape (dimensions,), not checked. Within a group
        the last dimension varies fastest (row-major). Example: shape (4, 3, 5), groups ((0, 1),
        (2,)): index (2, 1, 4) has the coordinates (2 * 3 + 1, 4) = (7, 4).
        """
        result = []
        for group in self.groups:
            position = 0
            for dim in group:
                position = position * self.shape[dim] + index[dim]
            result.append(position)
        return tuple(result)

    def index(self, coordinates: Sequence[int]) -> tuple[int, ...]:
        """Return the tensor index, shape (dimensions,), at a position in each group.

        The inverse of `coordinates`, which have shape (groups,).
        """
        result = [0] * len(self.shape)
        for group, position in zip(self.groups, coordinates, strict=True):
            remaining = position
            for dim in reversed(group):
                remaining, result[dim] = divmod(remaining, self.shape[dim])
        return tuple(result)


def _normalised(interval: Interval, rank: int) -> Interval:
    begin, end = (bound + rank if bound < 0 else bound for bound in interval)
    if not (0 <= begin <= rank and 0 <= end <= rank):
        raise SpecError(
            f"collapse interval outside a tensor of rank {rank}",
            value=interval,
            instead=f"bounds from {-rank} to {rank}",
        )
    return begin, end


def _groups(spans: Sequence[Interval], rank: int) -> list[tuple[int, ...]]:
    groups: list[tuple[int, ...]] = []
    dim = 0
    for begin, end in (*spans, (rank, rank)):
        groups.extend((alone,) for alone in range(dim, begin))
        if end > begin:
            groups.append(tuple(range(begin, end)))
        dim = max(dim, end)
    return groups
