"""Find the best mapping of a compatibility graph: label passes below a limit that is raised.

The labels of one graph are passed under rising limits, from the lower bound of the graph upwards.
The first pass that finds a mapping at or below its limit finds the best one (theory/fusion.md
§6.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.fusion.fused_problem import ValueFunction
from tilewright.mapper.fusion.join.compatibility_graph import CompatibilityGraph
from tilewright.mapper.fusion.join.join_pmappings import NOISE, LabelPass, WholeLabel
from tilewright.mapper.fusion.join.label_columns import LabelColumns
from tilewright.mapper.searches.budget import Budget, EndReason, OutOfBudget
from tilewright.mapper.searches.exact.kernels import Floats

# relative to the lower bound
DEEPENING = (0.0, 0.001, 0.002, 0.004, 0.008, 0.016, 0.03, 0.06, 0.12, 0.25, 0.5, 1.0, 2.0, inf)


@dataclass(frozen=True, slots=True)
class LabelOutcome:
    """Outcome of the search of one compatibility graph: all ways to join the Einsums' mappings.

    `best`: the mapping with the least value; None if none was found. `lower_bound`: no mapping of
    the graph has a lower value (without a mapping: at least the limit searched to). `ended`: what
    ended the search before, None if nothing did. `labels`: number of partial mappings kept, over
    all passes.
    """

    best: WholeLabel | None
    lower_bound: float
    ended: EndReason | None
    labels: int


class LabelDeepening:
    """Search one compatibility graph for the mapping with the least value.

    `graph`: all ways to join the Einsums. `columns`: what a partial mapping (label) counts.
    `value`: function of energy in joule, latency in second and usages in bits; it never falls when
    one of them rises. `budget`: limits. Passes over the graph are repeated with rising limits of
    the value.
    """

    def __init__(
        self,
        graph: CompatibilityGraph,
        columns: LabelColumns,
        value: ValueFunction,
        budget: Budget,
    ) -> None:
        self._least_measures = (*graph.least_costs, *columns.usage.zeros)
        self._pass = LabelPass(graph, columns, budget)
        self._value = value
        self._limit = inf

    def solve(self, highest: float = inf) -> LabelOutcome:
        """Return the mapping of the graph with the least value, if that is at most `highest`.

        The limit rises from a lower bound; the first pass that finds a mapping within it finds the
        best one (theory/fusion.md §6.2). `highest`: in the unit of the value; without a mapping
        within it, it is the lower bound of the outcome. A budget that ends does not raise: the
        outcome says so.
        """
        lower = float(self._value(*self._least_measures)) if self._least_measures[0] < inf else inf
        for slack in DEEPENING if lower <= highest and lower < inf else ():
            self._limit = min(highest, lower * (1 + slack) * (1 + NOISE) if lower > 0 else inf)
            try:
                best = self._best_within_limit()
            except OutOfBudget as end:
                return LabelOutcome(None, lower, end.reason, self._pass.labels)
            if best is not None:
                value = float(self._value(*best.measures))
                return LabelOutcome(best, value, None, self._pass.labels)
            lower = max(lower, self._limit)
            if self._limit >= highest:
                break
        return LabelOutcome(None, highest, None, self._pass.labels)

    def _best_within_limit(self) -> WholeLabel | None:
        """Run one pass; return the best whole mapping not above the limit, None without any."""
        measures = self._pass.run(self._exceeds_limit)
        if not len(measures):
            return None
        values = self._value(*measures.T)
        best = int(np.lexsort((*measures.T[::-1], values))[0])
        return self._pass.label(best, measures[best])

    def _exceeds_limit(self, *measures: Floats) -> NDArray[np.bool_]:
        return ~np.asarray(self._value(*measures) <= self._limit)
