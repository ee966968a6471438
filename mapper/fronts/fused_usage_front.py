"""The Pareto set over energy, latency and the usage of memories, of mappings that may be fused.

Every label is kept that no mapping found covers, when the least energy and latency that are still
to be paid are added; the usages of a label never fall. Mappings of little energy come first: they
cover most others, and where a budget ends the search they are proven to be complete.
"""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.fronts.front_search import FrontResult, pareto_mappings
from tilewright.mapper.fronts.pareto_points import covered, undominated
from tilewright.mapper.fusion.copies.fused_copies import LoneTable
from tilewright.mapper.fusion.fused_answer import scope_of
from tilewright.mapper.fusion.fused_optimum import scored_of
from tilewright.mapper.fusion.fused_problem import VALUES
from tilewright.mapper.fusion.fused_search import no_collection, plan_of
from tilewright.mapper.fusion.join.compatibility_graph import Graph
from tilewright.mapper.fusion.join.join_deepening import Deepening, Found
from tilewright.mapper.fusion.join.label_pass import METRICS, Counted, Walk
from tilewright.mapper.mapping.score import Score
from tilewright.mapper.searches.budget import OutOfBudget
from tilewright.mapper.searches.exact.kernels import Floats
from tilewright.mapper.searches.objective.measures import FrontMetrics
from tilewright.mapper.searches.request import Request
from tilewright.mapper.searches.result import FrontProof, ScoredMapping, SearchStatistics, no_report

SLICES = (0.01, 0.1, 1.0, inf)  # of energy, above the least


def front_with_usage(request: Request, known: ScoredMapping, measures: FrontMetrics) -> FrontResult:
    """Return the Pareto set of fused and unfused mappings; `known`: a mapping found before.

    UnsupportedFeature for what cannot be modelled.
    """
    search = FusedUsageFrontSearch(request, known, measures)
    with no_collection():
        proven = search.run()
    found = pareto_mappings(search.found, measures)
    proof = FrontProof(measures.names, proven, search.scope)
    return FrontResult(found, proof, search.statistics)


class FusedUsageFrontSearch:
    """Finds the Pareto set of one workload; `found` so far."""

    def __init__(self, request: Request, known: ScoredMapping, measures: FrontMetrics) -> None:
        self._request = request
        self._budget = request.budget
        objective = "front" if 1 in measures.metric_columns else "energy"
        self._plan = plan_of(request, objective, VALUES["edp"], measures.memories)
        cascade = self._plan.cascade
        self._usage = cascade.usage
        places = (METRICS + self._usage.names.index(name) for name in measures.memories)
        self._counted = [*(i for i in measures.metric_columns if i < METRICS), *places]
        self._timed = objective != "energy"
        self.scope = scope_of(cascade, self._plan.room)
        self.found = [known]
        self.statistics = SearchStatistics()

    def run(self) -> float:
        """Return the energy up to which the set is whole."""
        search = Deepening(self._plan.cascade, (self._budget, no_report), shelf=self._plan.shelf)
        proven = 0.0
        try:
            for limit, graph in search.slices(SLICES):
                if graph is not None:
                    self._pass(graph)
                proven = limit
        except OutOfBudget:
            pass
        self.statistics = self.statistics.plus(search.statistics)
        lone = [one for one in self._plan.cascade.einsums if isinstance(one, LoneTable)]
        return proven if all(one.ideal for one in lone) else 0.0

    def _pass(self, graph: Graph) -> None:
        """Add what a graph has beyond the mappings found."""
        walk = Walk(graph, Counted(self._plan.cascade.capacities, self._usage), self._budget)
        points = np.array([self._row(one.score) for one in self.found])[:, self._counted]
        points = points[undominated(points)]

        def hopeless(*row: Floats) -> NDArray[np.bool_]:
            return covered(np.column_stack([row[i] for i in self._counted]), points)

        rows = walk.run(hopeless)
        self.statistics = self.statistics.plus(SearchStatistics(labels=walk.labels))
        for number in undominated(rows[:, self._counted]).tolist():
            label = walk.label(number, rows[number])
            found = Found(label, graph, 0.0, (0.0, 0.0), exhausted=False)
            self.found.append(scored_of(self._request, self._plan, found, self._timed))

    def _row(self, score: Score) -> tuple[float, ...]:
        return score.energy, score.latency, *self._usage.of(score)
