"""The best mapping of a graph: passes of labels below a limit that is raised."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.fusion.fused_problem import Value
from tilewright.mapper.fusion.join.compatibility_graph import Graph
from tilewright.mapper.fusion.join.label_pass import NOISE, Counted, Label, Walk
from tilewright.mapper.searches.budget import Budget, OutOfBudget
from tilewright.mapper.searches.exact.kernels import Floats

DEEPENING = (0.0, 0.001, 0.002, 0.004, 0.008, 0.016, 0.03, 0.06, 0.12, 0.25, 0.5, 1.0, 2.0, inf)


@dataclass(frozen=True, slots=True)
class Folded:
    """The best complete label found, and the bound that holds for all others.

    `labels`: how many were kept on the way, over all rounds.
    """

    best: Label | None
    lower_bound: float
    exhausted: bool
    labels: int


class LabelPass:
    """Searches a graph for the least `value` of energy, latency and usages."""

    def __init__(self, graph: Graph, room: Counted, value: Value, budget: Budget) -> None:
        self._least = (*graph.least, *room.usage.none)
        self._walk = Walk(graph, room, budget)
        self._value = value
        self._limit = inf

    def solve(self, most: float = inf) -> Folded:
        """Raise the limit until the best solution lies below it: then none is better.

        Without a solution of value `most` or less, that is the lower bound.
        """
        lower = float(self._value(*self._least)) if self._least[0] < inf else inf
        for slack in DEEPENING if lower <= most and lower < inf else ():
            self._limit = min(most, lower * (1 + slack) * (1 + NOISE) if lower > 0 else inf)
            try:
                best = self._round()
            except OutOfBudget:
                return Folded(None, lower, True, self._walk.labels)
            if best is not None:
                value = float(self._value(*best.row))
                return Folded(best, value, False, self._walk.labels)
            lower = max(lower, self._limit)
            if self._limit >= most:
                break
        return Folded(None, most, False, self._walk.labels)

    def _round(self) -> Label | None:
        """Return the best label not above the limit."""
        found = self._walk.run(self._hopeless)
        if not len(found):
            return None
        values = self._value(*found.T)
        best = int(np.lexsort((*found.T[::-1], values))[0])
        return self._walk.label(best, found[best])

    def _hopeless(self, *row: Floats) -> NDArray[np.bool_]:
        return ~np.asarray(self._value(*row) <= self._limit)
