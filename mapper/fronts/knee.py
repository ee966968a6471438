"""The knee of a front: the point that is nearest to the best of all metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite


@dataclass(frozen=True, slots=True)
class Column:
    """The values of one metric over a front; less is better."""

    values: tuple[float, ...]

    @property
    def least(self) -> float:
        """The least value."""
        return min(self.values)

    @property
    def span(self) -> float:
        """The greatest value less the least; 0 if that is no finite number."""
        span = max(self.values) - self.least
        return span if isfinite(span) else 0.0

    def share(self, number: int) -> float:
        """Return how far value `number` is from the least: 0 for the least, 1 for the greatest."""
        return (self.values[number] - self.least) / self.span if self.span else 0.0


def knee(columns: Sequence[Column]) -> int:
    """Return the number of the point that is nearest to the least of all metrics.

    Each metric is measured from its least to its greatest value in the front; of points equally far
    the first. Example: of (0, 9), (2, 2) and (9, 0) it is the second one.
    """
    points = range(len(columns[0].values))
    distances = [sum(column.share(point) ** 2 for column in columns) for point in points]
    return distances.index(min(distances))
