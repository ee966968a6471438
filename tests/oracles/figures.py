"""Energy, latency and used bits of mappings, as the oracles store them: those that none beats.

The least value of a metric that rises with all figures, its ties and its Pareto points are the same
for all mappings and for those that no other mapping beats in every figure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.mapping.score import Score
from tilewright.mapper.mapspace.space import Mapspace

Row = tuple[float, ...]
Make = Callable[[int], Mapspace]


@dataclass(frozen=True)
class Figures:
    """What a mapping costs: joule, second, and the most bits used of some memories."""

    energy: float
    latency: float
    bits: Mapping[str, float] = field(default_factory=dict)

    def value(self, name: str) -> float:
        """Return energy, latency, edp, or the bits used of a memory as "usage.MEMORY"."""
        if name == "edp":
            return self.energy * self.latency
        if name in ("energy", "latency"):
            return float(getattr(self, name))
        return self.bits[name.removeprefix("usage.")]


def table(figures: Iterable[Figures], names: tuple[str, ...]) -> NDArray[np.float64]:
    """Return some metrics of each, shape (figures, names)."""
    rows = [[one.value(name) for name in names] for one in figures]
    return np.array(rows, np.float64).reshape(len(rows), len(names))


def row_of(score: Score, memories: Iterable[str]) -> Row:
    """Return energy, latency and the bits of some memories."""
    return score.energy, score.latency, *(float(score.capacity.get(m, 0)) for m in memories)


def unbeaten(rows: Iterable[Row]) -> list[Row]:
    """Return the rows that no other row is below or equal to in every place, each once, sorted."""
    left: list[Row] = []
    for row in sorted(set(rows)):  # what beats a row comes before it
        if not any(all(a <= b for a, b in zip(other, row, strict=True)) for other in left):
            left.append(row)
    return left
