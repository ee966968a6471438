"""The ways to divide an iteration space over a grid that leave an element the fewest points.

Elements have equal shares. Where a size has no divisor that fits, the last share is padded
(theory/grid.md §1): 100 values over 16 columns are 15 shares of 7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Final

import numpy as np
import numpy.typing as npt

from tilewright.arch.components.components import SpatialDim
from tilewright.mapper.grid.grid import Grid
from tilewright.mapper.grid.padding import may_pad
from tilewright.mapper.grid.reductions import Axis
from tilewright.mapper.templates.spatial_choices import free_variables, holds, usage
from tilewright.mapper.workload.einsum import Einsum

MOST_ON_AXIS = 2
"""Rank variables whose values are shared along one axis."""
Allows = Callable[[str, frozenset[str]], bool]
Integers = npt.NDArray[np.int64]
Points = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Share:
    """`count` elements along an axis that divide the values of a rank variable."""

    axis: Axis
    variable: str
    count: int


def local_sizes(einsum: Einsum, shares: tuple[Share, ...]) -> dict[str, int]:
    """Return the values of each rank variable in the share of an element, padding included."""
    counts = _counts(shares)
    return {name: -(-bound // counts.get(name, 1)) for name, bound in einsum.bounds.items()}


def padded_sizes(einsum: Einsum, shares: tuple[Share, ...]) -> dict[str, int]:
    """Return the values of each rank variable in all elements together, padding included."""
    counts = _counts(shares)
    return {name: n * counts.get(name, 1) for name, n in local_sizes(einsum, shares).items()}


ROUNDING: Final = 1e-9
"""Quotients of integers, and min_usage, a number of the file, are less exact than they look."""
NEAR: Final = 9 / 8
"""Divisions of one variable along each axis may have less than so many times the fewest points."""


def _counts(shares: tuple[Share, ...]) -> dict[str, int]:
    names = {share.variable for share in shares}
    return {name: prod(s.count for s in shares if s.variable == name) for name in names}


def least_work_shares(grid: Grid, einsum: Einsum, allows: Allows) -> list[tuple[Share, ...]]:
    """Return all divisions that leave an element the fewest points, in a fixed order.

    A point is one combination of values of all rank variables; padding counts. At most two rank
    variables are shared along an axis. `allows(axis, variables)`: whether an axis may share this
    set. Returns an empty list if none is allowed.
    """
    along = {axis: _Options.of(axis, grid, einsum, allows) for axis in ("X", "Y")}
    columns, rows = along["X"], along["Y"]
    if not columns.shares or not rows.shares:
        return []
    best, most = list[tuple[Share, ...]](), _MostPoints(float("inf"))
    for first, work in _work_by_columns(einsum, columns, rows, most):
        if work.min() < most.points:
            best, most.points = [], float(work.min())
        chosen = np.flatnonzero(work == most.points) if np.isfinite(most.points) else ()
        best += [(*first, *rows.shares[place]) for place in chosen]
    return best


def near_least_shares(
    grid: Grid, einsum: Einsum, allows: Allows, least: Sequence[tuple[Share, ...]]
) -> list[tuple[Share, ...]]:
    """Return divisions of one rank variable along each axis with somewhat more than least work.

    `least`: those with the fewest points in an element, not among the result; the others have less
    than `NEAR` times as many. Example: of 32768 × 32768 values on 720 × 720 elements, divisions of
    both variables along an axis leave 2,071 points to an element; one along each leaves 46 · 46 =
    2,116, with far fewer words on links.
    """
    most, known = NEAR * _points(einsum, least[0]), set(least)
    axes = [_Options.of(axis, grid, einsum, allows).shares for axis in ("X", "Y")]
    columns, rows = ([shares[0] for shares in options if len(shares) == 1] for options in axes)
    near: list[tuple[Share, ...]] = []
    for first in columns:
        for second in rows:  # most elements first
            if first.count * second.count * most <= einsum.operations:
                break
            shares = (first, second)
            if (
                first.variable != second.variable
                and shares not in known
                and _points(einsum, shares) < most
            ):
                near.append(shares)
    return near


def least_work_on_fewer(grid: Grid, einsum: Einsum, allows: Allows) -> Iterator[tuple[Share, ...]]:
    """Yield the divisions that leave an element the fewest points on parts of a grid.

    The parts have half as many elements again and again, by the longer side, down to one. Example:
    4 × 2 elements have the parts 2 × 2, 1 × 2 and 1 × 1. `allows` as of `least_work_shares`.
    Nothing is yielded where a dimension must be used (min_usage).
    """
    if any(dim.min_usage for dim in grid.spatial):
        return
    while grid.columns * grid.rows > 1:
        if grid.columns >= grid.rows:
            grid = replace(grid, columns=-(-grid.columns // 2))
        else:
            grid = replace(grid, rows=-(-grid.rows // 2))
        yield from least_work_shares(grid, einsum, allows)


def shares_by_work(
    grid: Grid, einsum: Einsum, allows: Allows, most: int
) -> list[tuple[Share, ...]]:
    """Return divisions in the order of an element's points, the fewest first: at most so many.

    Of at most two rank variables along an axis; `allows` as of `least_work_shares`.
    """
    columns, rows = (_Options.of(axis, grid, einsum, allows) for axis in ("X", "Y"))
    if not columns.shares or not rows.shares:
        return []
    work = np.stack([_work(einsum, counts, rows.counts) for counts in columns.counts])
    order = np.argsort(work, axis=None, kind="stable")[:most]
    chosen = zip(*(place.tolist() for place in np.unravel_index(order, work.shape)), strict=True)
    return [
        (*columns.shares[first], *rows.shares[second])
        for first, second in chosen
        if np.isfinite(work[first, second])
    ]


def shares_within(
    grid: Grid, einsum: Einsum, allows: Allows, points: float, most: int
) -> list[tuple[Share, ...]] | None:
    """Return the divisions that leave an element at most so many points; None if more than `most`.

    Of at most two rank variables along an axis, in a fixed order; `allows` as of
    `least_work_shares`.
    """
    columns, rows = (_Options.of(axis, grid, einsum, allows) for axis in ("X", "Y"))
    within: list[tuple[Share, ...]] = []
    for first, work in _work_by_columns(einsum, columns, rows, _MostPoints(points)):
        chosen = np.flatnonzero((work <= points) & np.isfinite(work))
        within += [(*first, *rows.shares[place]) for place in chosen]
        if len(within) > most:
            return None
    return within


def _points(einsum: Einsum, shares: tuple[Share, ...]) -> int:
    """Return the points of one element's share, padding included."""
    return prod(local_sizes(einsum, shares).values())


@dataclass(frozen=True)
class _Options:
    """The sets of shares that one axis may have, those on the most elements first.

    `counts`: (options, variables) shares of each variable of the Einsum, 1 if it is not shared.
    `products`: elements that each option uses.
    """

    shares: list[tuple[Share, ...]]
    counts: Integers
    products: Integers

    @staticmethod
    def of(axis: Axis, grid: Grid, einsum: Einsum, allows: Allows) -> _Options:
        names = list(einsum.bounds)
        kept = einsum.outputs[0].rank_variables
        options = [
            tuple(sorted(shares, key=lambda share: share.variable not in kept))
            for shares in _sets(axis, names, einsum, grid.size(axis), MOST_ON_AXIS)
            if allows(axis, frozenset(share.variable for share in shares))
        ]
        dim = grid.dimension(axis)
        if dim is not None and _has_rules(dim):
            options = _within_rules(options, dim, einsum)
        options.sort(key=lambda shares: -prod(share.count for share in shares))
        counts = np.ones((len(options), len(names)), dtype=np.int64)
        for number, shares in enumerate(options):
            for share in shares:
                counts[number, names.index(share.variable)] = share.count
        return _Options(options, counts, counts.prod(axis=1))

    def using(self, elements: float) -> int:
        """Return how many of the options use at least so many elements; these come first."""
        return int(np.searchsorted(-self.products, -elements * (1 - ROUNDING), side="right"))


def _obeys(
    shares: tuple[Share, ...], dim: SpatialDim, einsum: Einsum, free: frozenset[str]
) -> bool:
    """Return whether shares obey reuse and loop_bounds; `free`: variables that may be divided."""
    lanes = dict.fromkeys(einsum.bounds, 1) | {s.variable: s.count for s in shares}
    is_free = free.issuperset(share.variable for share in shares)
    return is_free and all(holds(bound, lanes) for bound in dim.loop_bounds)


def _has_rules(dim: SpatialDim) -> bool:
    """Return whether a dimension of the architecture limits the shares over it."""
    return bool(dim.reuse or dim.loop_bounds or dim.min_usage or dim.usage_scale > 1)


def _within_rules(
    options: Sequence[tuple[Share, ...]], dim: SpatialDim, einsum: Einsum
) -> list[tuple[Share, ...]]:
    """Return the sets of shares that obey the rules of a dimension of the architecture.

    Those are reuse, loop_bounds and min_usage; where no set reaches the last one, the highest usage
    counts.
    """
    free = free_variables(dim, einsum, frozenset())
    obeying = [shares for shares in options if _obeys(shares, dim, einsum, frozenset(free))]
    usages = [usage(dim, prod(share.count for share in shares)) for shares in obeying]
    reached = max((share for share in usages if share <= 1 + ROUNDING), default=0.0)
    least = min(dim.min_usage, reached) - ROUNDING
    return [s for s, share in zip(obeying, usages, strict=True) if least <= share <= 1 + ROUNDING]


def _sets(
    axis: Axis, names: list[str], einsum: Einsum, most: int, left: int
) -> Iterator[tuple[Share, ...]]:
    """Yield the sets of at most `left` shares, of different variables, that fit on `most` elements.

    `names`: the variables to choose from. The empty set is one of them.
    """
    yield ()
    if not left:
        return
    for number, name in enumerate(names):
        for count in share_counts(einsum, name, most):
            for rest in _sets(axis, names[number + 1 :], einsum, most // count, left - 1):
                yield (Share(axis, name, count), *rest)


def share_counts(einsum: Einsum, name: str, most: int) -> list[int]:
    """Return into how many shares, 2 to `most`, a rank variable may be divided.

    Of several numbers with equally long shares only the least: 100 values are not divided into 16
    shares, for 15 shares are no longer (7 values). Where padding would change the result, only
    divisors.
    """
    bound = einsum.bounds[name]
    numbers = range(2, min(most, bound) + 1)
    if may_pad(einsum, name):
        return [n for n in numbers if -(-bound // -(-bound // n)) == n]
    return [n for n in numbers if bound % n == 0]


@dataclass
class _MostPoints:
    """The points that an element may have, which a search for the fewest lowers as it goes."""

    points: float


def _work_by_columns(
    einsum: Einsum, columns: _Options, rows: _Options, most: _MostPoints
) -> Iterator[tuple[tuple[Share, ...], Points]]:
    """Yield each option along X, and an element's points with each of the first options along Y.

    Options on so few elements that any division leaves one more than `most` are left out: the last
    ones along Y, and one along X with which none is left.
    """
    for first, counts, product in zip(
        columns.shares, columns.counts, columns.products, strict=True
    ):
        likely = rows.using(einsum.operations / (product * most.points))
        if likely:
            yield first, _work(einsum, counts, rows.counts[:likely])


def _work(einsum: Einsum, first: Integers, others: Integers) -> Points:
    """Return the points of an element for one option along X with each option along Y.

    `first`: (variables,) counts along X; `others`: (options, variables) counts along Y. Infinite
    for a pair that is not allowed: it pads a variable that may not be padded, or some share would
    be padding alone. Points beyond 2^53 are rounded.
    """
    bounds = np.array(list(einsum.bounds.values()), dtype=np.int64)
    counts = first * others
    local = -(-bounds // counts)
    outer = -(-bounds // (local * others))  # shares along X that are not padding alone
    pads = np.array([may_pad(einsum, name) for name in einsum.bounds], dtype=bool)
    is_even = bounds % counts == 0
    allowed = (is_even | (pads & (outer == first))).all(axis=1)
    points: Points = local.astype(np.float64).prod(axis=1)
    return np.where(allowed, points, np.inf)
