"""Join consecutive dimensions of a tensor into groups, one per grid dimension."""

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
    """A partition of the dimensions of `shape` into consecutive groups (layouts.md §1).

    This is the join rule: every dimension stands in exactly one group, so the map from an index to
    group coordinates is a bijection. An empty group has extent 1: it pads the front when a grid
    has more dimensions.
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
        """Join each half-open interval of dimensions (negative ends count from the back).

        Dimensions outside every interval stay alone; empty groups pad the front up to `grid_rank`.
        Raises SpecError if intervals overlap or leave more groups than the grid has dimensions.
        """
        rank = len(shape)
        spans = sorted(_normalised(interval, rank) for interval in intervals)
        spans = [span for span in spans if span[0] < span[1]]
        for (_, end), (begin, _) in pairwise(spans):
            if begin < end:
                raise SpecError("collapse intervals overlap", value=tuple(intervals))
        groups = _groups(spans, rank)
        wanted = len(groups) if grid_rank is None else grid_rank
        if len(groups) > wanted:
            raise SpecError(
                f"{len(groups)} groups of dimensions do not fit a grid of {wanted} dimensions",
                value=tuple(intervals),
                instead="join more dimensions or use a grid of higher rank",
            )
        return cls(tuple(shape), ((),) * (wanted - len(groups)) + tuple(groups))

    @property
    def extents(self) -> tuple[int, ...]:
        """Extent of each group: the product of its dimensions."""
        return tuple(prod(self.shape[dim] for dim in group) for group in self.groups)

    def coordinates(self, index: Sequence[int]) -> tuple[int, ...]:
        """Return the group coordinates of a tensor index (row-major within a group)."""
        result = []
        for group in self.groups:
            position = 0
            for dim in group:
                position = position * self.shape[dim] + index[dim]
            result.append(position)
        return tuple(result)

    def index(self, coordinates: Sequence[int]) -> tuple[int, ...]:
        """Return the tensor index at group coordinates: the inverse of `coordinates`."""
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
