"""Refuse a collapse that gives two tensor indices the same coordinates, with these two as proof."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tilewright.arch.errors import SpecError

Term = tuple[int, int]
_MOST_STEPS: Final = 20_000


def check_injective(shape: Sequence[int], rows: Sequence[Sequence[Term]]) -> None:
    """Check that no two indices of a tensor have the same coordinates (theory/layouts.md §1).

    `shape`: extents of the tensor; `rows`: terms (dimension, coefficient) of each group. Raises
    SpecError with two such indices; and where coefficients interleave so that no division finds
    the index again, whether or not two indices collide.
    """
    used = {number for row in rows for number, _ in row}
    left_out = [d for d, extent in enumerate(shape) if extent > 1 and d not in used]
    nested = all(_is_nested(shape, row) for row in rows)
    if nested and not left_out:
        return
    difference = _collision(shape, rows)
    if difference is None:
        raise SpecError(
            "coefficients of a collapse interleave: no division finds the index of a coordinate",
            value=tuple(map(tuple, rows)),
            instead="each coefficient above the span of all smaller ones of its group",
        )
    raise _same_coordinates(shape, rows, difference)


def _same_coordinates(
    shape: Sequence[int], rows: Sequence[Sequence[Term]], difference: Sequence[int]
) -> SpecError:
    """Return the error that names two indices with the same coordinates.

    `difference`: of these two, per dimension.
    """
    first = tuple(max(0, -step) for step in difference)
    second = tuple(max(0, step) for step in difference)
    where = tuple(sum(second[d] * factor for d, factor in row) for row in rows)
    return SpecError(
        f"indices {first} and {second} of a tensor of shape {tuple(shape)} have the same "
        f"coordinates {where}",
        value=tuple(map(tuple, rows)),
        instead="every dimension in a group, each coefficient above the span of the smaller ones",
    )


def _is_nested(shape: Sequence[int], row: Sequence[Term]) -> bool:
    span = 0
    for number, factor in sorted(row, key=lambda term: term[1]):
        if shape[number] > 1:
            if factor <= span:
                return False
            span += factor * (shape[number] - 1)
    return True


def _collision(shape: Sequence[int], rows: Sequence[Sequence[Term]]) -> list[int] | None:
    """Find a difference of two indices, not 0, for which no group's coordinate changes.

    None if there seems to be none. Depth first over the dimensions, small steps first; a branch
    ends where the remaining dimensions cannot bring every coordinate back to 0.
    """
    factors = [_factors(len(shape), row) for row in rows]
    order = _largest_first(len(shape), factors)
    spans = _spans_below(shape, factors, order)
    steps, budget = [0] * len(shape), [_MOST_STEPS]

    def search(level: int, sums: list[int]) -> bool:
        budget[0] -= 1
        if budget[0] < 0:
            return False
        if level == len(order):
            return any(steps) and not any(sums)
        d = order[level]
        for step in _steps(shape[d] - 1, [f[d] for f in factors], sums, spans[level + 1]):
            total = [s + f[d] * step for s, f in zip(sums, factors, strict=True)]
            steps[d] = step
            if search(level + 1, total):
                return True
        steps[d] = 0
        return False

    return steps if search(0, [0] * len(rows)) else None


def _largest_first(rank: int, factors: Sequence[Sequence[int]]) -> list[int]:
    """Return the numbers 0 … rank - 1 of the dimensions, the largest coefficients first."""
    return sorted(range(rank), key=lambda d: -max((f[d] for f in factors), default=0))


def _spans_below(
    shape: Sequence[int], factors: Sequence[Sequence[int]], order: Sequence[int]
) -> list[list[int]]:
    """Return, before each dimension of `order`, how far later ones can change each coordinate."""
    spans = [[0] * len(factors)]
    for d in reversed(order):
        spans.append([s + f[d] * (shape[d] - 1) for s, f in zip(spans[-1], factors, strict=True)])
    return spans[::-1]


def _factors(rank: int, row: Sequence[Term]) -> list[int]:
    """Return the coefficient of each dimension in a group."""
    factors = [0] * rank
    for number, factor in row:
        factors[number] += factor
    return factors


def _steps(
    most: int, factors: Sequence[int], sums: Sequence[int], spans: Sequence[int]
) -> Sequence[int]:
    """Return the steps of one dimension after which every coordinate can still return to 0.

    From -most to most, nearest to 0 first. A coordinate at `sums` must come within its span: |sum +
    factor * step| <= span.
    """
    low, high = -most, most
    for factor, total, span in zip(factors, sums, spans, strict=True):
        if factor:
            low = max(low, -(-(-span - total) // factor))
            high = min(high, (span - total) // factor)
        elif abs(total) > span:
            return ()
    near = min(max(low, 0), high)
    around = range(max(low, near - _MOST_STEPS), min(high, near + _MOST_STEPS) + 1)
    return sorted(around, key=abs)
