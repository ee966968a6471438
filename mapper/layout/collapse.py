"""Collapse the dimensions of a tensor into groups, one per grid dimension (layouts.md §1).

Example: shape (4, 3, 5) with groups ((0, 1), (2,)) has extents (12, 5); the index (2, 1, 4) has the
group coordinates (2 * 3 + 1, 4) = (7, 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

from tilewright.arch.errors import SpecError
from tilewright.mapper.layout.affine_map import AffineMap, QuasiAffine, constant, dim, plus, times
from tilewright.mapper.layout.collapse_collision import check_injective

Interval = tuple[int, int]
Term = tuple[int, int]
DEFAULT_INTERVALS: tuple[Interval, ...] = ((0, -1),)


@dataclass(frozen=True, slots=True)
class Collapse:
    """Map a tensor index to one coordinate per group: a sum of indices times coefficients.

    `shape`: extent of each tensor dimension. `rows[g]`: terms (dimension, coefficient) of group g,
    in the order of the dimensions; a group without terms has the one coordinate 0. `extents[g]`:
    length of the group's axis, at least the greatest coordinate + 1. A coordinate that no index has
    is a hole: it is allocated, and is padding. No two indices have the same coordinates
    (theory/layouts.md §1). Raises SpecError for an extent below 1, a coefficient below 1, an axis
    that is too short, and for two indices with the same coordinates, with these two.
    """

    shape: tuple[int, ...]
    rows: tuple[tuple[Term, ...], ...]
    extents: tuple[int, ...]

    def __post_init__(self) -> None:
        if any(extent < 1 for extent in self.shape):
            raise SpecError("a tensor's extents must be at least 1", value=self.shape)
        for row in self.rows:
            _check_row(row, len(self.shape))
        least = self._least_extents()
        if len(self.extents) != len(self.rows) or any(
            extent < bound for extent, bound in zip(self.extents, least, strict=True)
        ):
            raise SpecError(
                "the axes of a collapse are shorter than its coordinates",
                value=self.extents,
                instead=f"at least {least}",
            )
        check_injective(self.shape, self.rows)

    @classmethod
    def of(
        cls,
        shape: Sequence[int],
        intervals: Sequence[Interval] = DEFAULT_INTERVALS,
        grid_rank: int | None = None,
        alignments: Sequence[int] = (),
    ) -> Collapse:
        """Join half-open intervals of dimensions, each of which becomes one group (the join rule).

        `shape`: extents of the tensor. `intervals`: (first dimension, one past the last); negative
        bounds count from the end, so that the default (0, -1) joins all dimensions but the last. A
        dimension outside all intervals is a group of its own. `grid_rank`: number of groups wanted;
        empty groups are put in front to reach it (None: as many as there are). `alignments`: for
        each dimension, a multiple to which the extent of its group is rounded up after joining this
        dimension to those behind it (empty: none). Example: shape (2, 3, 64, 128) with the default
        has the groups ((0, 1, 2), (3,)) of extents (384, 128). Raises SpecError if an extent is
        below 1, if an interval leaves the tensor, if intervals overlap, or if they make more groups
        than `grid_rank`.
        """
        rank = len(shape)
        groups = _groups(_disjoint_spans(intervals, rank), rank)
        rank_of_grid = len(groups) if grid_rank is None else grid_rank
        if len(groups) > rank_of_grid:
            raise SpecError(
                f"{len(groups)} groups of dimensions do not fit a grid of {rank_of_grid} "
                "dimensions",
                value=tuple(intervals),
                instead="join more dimensions or use a grid of higher rank",
            )
        padded = ((),) * (rank_of_grid - len(groups)) + tuple(groups)
        stages = [_joined(shape, group, _checked_alignments(alignments, rank)) for group in padded]
        return cls(tuple(shape), tuple(row for row, _ in stages), tuple(x for _, x in stages))

    @classmethod
    def linear(cls, shape: Sequence[int], affine: AffineMap) -> Collapse:
        """Build a collapse from explicit coefficients, such as a bumped row stride.

        `affine`: one linear expression per group, without constants (except 0), divisions and
        moduli. Axes end behind the greatest coordinate. Example: shape (2, 8, 32) with (d0 * 32 +
        d1, d2) has extents (40, 32); coordinates 8 to 31 of the first group are holes. Raises
        SpecError for other maps.
        """
        rows = []
        for result in affine.results:
            read = result.coefficients()
            if read is None or read[1]:
                raise SpecError(
                    "a collapse is a sum of indices times coefficients",
                    value=str(result),
                    instead="d0 * 8 + d1",
                )
            rows.append(tuple(sorted(read[0].items())))
        if affine.rank != len(shape):
            raise SpecError(
                f"a map of {affine.rank} dimensions for a tensor of rank {len(shape)}",
                value=str(affine),
            )
        ends = (1 + sum((shape[number] - 1) * factor for number, factor in row) for row in rows)
        return cls(tuple(shape), tuple(rows), tuple(ends))

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Numbers of the dimensions of each group."""
        return tuple(tuple(number for number, _ in row) for row in self.rows)

    @property
    def volume(self) -> int:
        """Number of scalars of the tensor."""
        return prod(self.shape)

    @property
    def holes(self) -> int:
        """Number of coordinates within the extents that no index has."""
        return prod(self.extents) - self.volume

    @property
    def separable(self) -> bool:
        """Whether each dimension (of extent above 1) is in one group only: groups do not depend."""
        used = [number for row in self.rows for number, _ in row if self.shape[number] > 1]
        return len(used) == len(set(used))

    @property
    def affine(self) -> AffineMap:
        """The same map as an expression of indices per group, for printing."""
        return AffineMap(len(self.shape), tuple(_expression(row) for row in self.rows))

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements between neighbours along each dimension, if the groups lie row-major.

        Coefficient times the extents of the groups behind. A dimension in several groups has the
        stride of the first of them; one in none has 0.
        """
        result = [0] * len(self.shape)
        behind = 1
        for row, extent in zip(reversed(self.rows), reversed(self.extents), strict=True):
            for number, factor in row:
                result[number] = factor * behind
            behind *= extent
        return tuple(result)

    def coordinates(self, index: Sequence[int]) -> tuple[int, ...]:
        """Return the position in each group, shape (groups,), of one scalar of the tensor.

        `index`: its position in each dimension, shape (dimensions,). Raises SpecError outside the
        tensor. Example: shape (4, 3, 5), groups ((0, 1), (2,)): index (2, 1, 4) has the coordinates
        (2 * 3 + 1, 4) = (7, 4).
        """
        if len(index) != len(self.shape) or any(
            not 0 <= position < extent for position, extent in zip(index, self.shape, strict=True)
        ):
            raise SpecError(f"index outside a tensor of shape {self.shape}", value=tuple(index))
        return tuple(sum(index[number] * factor for number, factor in row) for row in self.rows)

    def index(self, coordinates: Sequence[int]) -> tuple[int, ...] | None:
        """Return the tensor index, shape (dimensions,), at a position in each group.

        None at a hole. The inverse of `coordinates`. A hole is a position that no index has.
        """
        result: dict[int, int] = {}
        for row, position in zip(self.rows, coordinates, strict=True):
            digits = self._digits(row, position)
            if digits is None or any(result.get(d, digit) != digit for d, digit in digits.items()):
                return None
            result |= digits
        return tuple(result.get(number, 0) for number in range(len(self.shape)))

    def count_below(self, group: int, end: int) -> int:
        """Count how many positions along a group hold data and are less than `end`.

        Positions that the group's own dimensions reach; holes do not count.
        """
        row = self._significant(self.rows[group])
        count, remaining = 0, end
        inner = prod(self.shape[number] for number, _ in row)
        if end <= 0:
            return 0
        for number, factor in row:
            inner //= self.shape[number]
            whole, remaining = divmod(remaining, factor)
            if whole >= self.shape[number]:
                return count + self.shape[number] * inner
            count += whole * inner
        return count + (remaining > 0)

    def _digits(self, row: Sequence[Term], position: int) -> dict[int, int] | None:
        digits, remaining = {}, position
        for number, factor in self._significant(row):
            digits[number], remaining = divmod(remaining, factor)
            if digits[number] >= self.shape[number]:
                return None
        return None if remaining else digits

    def _significant(self, row: Sequence[Term]) -> list[Term]:
        """Return the terms of dimensions with several positions, greatest coefficient first."""
        terms = [term for term in row if self.shape[term[0]] > 1]
        return sorted(terms, key=lambda term: -term[1])

    def _least_extents(self) -> tuple[int, ...]:
        return tuple(
            1 + sum((self.shape[number] - 1) * factor for number, factor in row)
            for row in self.rows
        )


def _check_row(row: Sequence[Term], rank: int) -> None:
    if any(not 0 <= number < rank for number, _ in row):
        raise SpecError("a collapse names a dimension that is not there", value=row)
    if any(factor < 1 for _, factor in row):
        raise SpecError("coefficients of a collapse must be at least 1", value=row)


def _disjoint_spans(intervals: Sequence[Interval], rank: int) -> list[Interval]:
    """Return the intervals that are not empty, in order, with bounds from the front.

    SpecError if two of them overlap.
    """
    spans = sorted(_normalised(interval, rank) for interval in intervals)
    spans = [span for span in spans if span[0] < span[1]]
    for (_, end), (begin, _) in pairwise(spans):
        if begin < end:
            raise SpecError("collapse intervals overlap", value=tuple(intervals))
    return spans


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
    number = 0
    for begin, end in (*spans, (rank, rank)):
        groups.extend((alone,) for alone in range(number, begin))
        if end > begin:
            groups.append(tuple(range(begin, end)))
        number = max(number, end)
    return groups


def _joined(
    shape: Sequence[int], group: Sequence[int], alignments: Sequence[int]
) -> tuple[tuple[Term, ...], int]:
    """Return the terms (dimension, coefficient) and the extent of a group of dimensions.

    `group`: their numbers; the last one has coefficient 1. Going outwards, the extent so far is
    rounded up to a multiple of the dimension's alignment. Example: shape (3, 5), alignments (1, 4):
    the inner extent is 8, the terms are (0, 8), (1, 1), the extent 24.
    """
    terms, extent = [], 1
    for number in reversed(group):
        terms.append((number, extent))
        extent = -(-shape[number] * extent // alignments[number]) * alignments[number]
    return tuple(reversed(terms)), extent


def _checked_alignments(alignments: Sequence[int], rank: int) -> Sequence[int]:
    if not alignments:
        return (1,) * rank
    if len(alignments) != rank or any(multiple < 1 for multiple in alignments):
        raise SpecError(
            f"a tensor of rank {rank} needs one alignment of 1 or more per dimension",
            value=tuple(alignments),
        )
    return alignments


def _expression(row: Sequence[Term]) -> QuasiAffine:
    total = constant(0)
    for number, factor in row:
        total = plus(total, times(dim(number), factor))
    return total
