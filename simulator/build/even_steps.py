"""Stretches of numbers with one step, each of which a descriptor can walk over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def even_steps(numbers: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Return (first, step, count) of stretches of numbers with one step from each to the next.

    Example: 3, 2, 1, 0, 7 gives (3, -1, 4) and (7, 1, 1).
    """
    left = list(numbers)
    while left:
        step = left[1] - left[0] if len(left) > 1 else 1
        count = 1
        while count < len(left) and left[count] - left[count - 1] == step:
            count += 1
        yield left[0], step, count
        left = left[count:]
