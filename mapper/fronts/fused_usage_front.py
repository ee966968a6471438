"""The Pareto set over energy, latency and the usage of memories, of mappings that may be fused.

A label is kept unless a known mapping covers it when the least energy and latency that are still to
be paid are added. The usages of a label never fall. Mappings of little energy come first: they
cover most others, and where a budget ends the search they are proven to be complete
(theory/fronts.md §4).
"""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.fronts.front_search import FrontResult, pareto_mappings
from tilewright.mapper.fronts.pareto_points import covered, undominated
from tilewright.mapper.fusion.copies.copy_table import CopyTable
from tilewright.mapper.fusion.fused_answer import fused_restrictions
from tilewright.mapper.fusion.fused_optimum import garbage_collection_paused, score_result
from tilewright.mapper.fusion.fused_plan import plan_fused_search
from tilewright.mapper.fusion.fused_problem import OBJECTIVE_VALUES
from tilewright.mapper.fusion.join.compatibility_graph import CompatibilityGraph
from tilewright.mapper.fusion.join.join_deepening import JoinResult, JoinSearch
from tilewright.mapper.fusion.join.join_pmappings import LabelPass
from tilewright.mapper.fusion.join.label_columns import METRICS, LabelColumns
from tilewright.mapper.mapping.score import Score
from tilewright.mapper.mapping.scored_mapping import ScoredMapping
from tilewright.mapper.searches.budget import EndReason, OutOfBudget
from tilewright.mapper.searches.exact.kernels import Floats
from tilewright.mapper.searches.objective.measures import FrontMetrics
from tilewright.mapper.searches.request import Request
from tilewright.mapper.searches.result import FrontProof, SearchStatistics

SLICES = (0.01, 0.1, 1.0, inf)  # of energy, above the least
TOO_MANY = (
    f"the search of the front ended at {EndReason.LABELS.value}, not at its budget: a front over"
    " fewer metrics, such as usage.MEMORY instead of usage, keeps fewer"
)


def front_with_usage(
    request: Request, incumbent: ScoredMapping, measures: FrontMetrics
) -> FrontResult:
    """Return the Pareto set of fused and unfused mappings when metrics include usages of memories.

    The usage of a memory is the most bits in it at a time. `incumbent`: a mapping found before.
    `measures`: the metrics. A budget that ends leaves a part of the set; the proof says up to which
    energy it is whole. Raises UnsupportedFeature for what the fused search cannot model or count,
    InternalError if search and model disagree about a mapping.
    """
    search = FusedUsageFrontSearch(request, incumbent, measures)
    with garbage_collection_paused():
        proven = search.run()
    mappings = pareto_mappings(search.mappings, measures)
    proof = FrontProof(measures.names, proven, search.restrictions)
    return FrontResult(mappings, proof, search.statistics, search.notes)


class FusedUsageFrontSearch:
    """Find the Pareto set of a workload over energy, latency and usages, with fused mappings.

    `request`: architecture, workload, options and budget. `incumbent`: a mapping found before.
    `measures`: the metrics. `mappings`: scored mappings found so far, which contain the set.
    `restrictions`: what is left out of the mappings searched. `statistics`: what was looked at.
    `notes`: why it ended, where the user set no such limit.
    """

    def __init__(self, request: Request, incumbent: ScoredMapping, measures: FrontMetrics) -> None:
        self._request = request
        self._budget = request.budget
        objective = "front" if 1 in measures.metric_columns else "energy"
        self._plan = plan_fused_search(
            request, objective, OBJECTIVE_VALUES["edp"], measures.memories
        )
        problem = self._plan.problem
        self._usage = problem.usage
        usages = (METRICS + self._usage.names.index(name) for name in measures.memories)
        self._counted = [*(i for i in measures.metric_columns if i < METRICS), *usages]
        self._timed = objective != "energy"
        self.restrictions = fused_restrictions(problem, self._plan.memories)
        self.mappings = [incumbent]
        self.statistics = SearchStatistics()
        self.notes: tuple[str, ...] = ()

    def run(self) -> float:
        """Search, mappings of little energy first; return up to which energy the set is whole.

        In joule; inf: it is whole; 0: nothing is proven, because the budget ended at once or
        mappings of copy Einsums were left out that could be better. Raises UnsupportedFeature for
        what the fused search cannot model, InternalError if search and model disagree about a
        mapping.
        """
        search = JoinSearch(self._plan.problem, self._budget, cache=self._plan.cache)
        report = self._request.reporter("front of fused mappings")
        report(inf, 0.0)
        proven = 0.0
        try:
            for limit, graph in search.energy_slices(SLICES):
                if graph is not None:
                    self._pass(graph)
                proven = limit
                if self._covers_all_above(limit, search.least_latency):
                    proven = inf
                    break
        except OutOfBudget as end:
            self.notes = (TOO_MANY,) if end.reason is EndReason.LABELS else ()
        self.statistics = self.statistics.plus(search.statistics)
        copies = [entry for entry in self._plan.problem.einsums if isinstance(entry, CopyTable)]
        return proven if all(copy.is_optimal for copy in copies) else 0.0

    def _covers_all_above(self, energy: float, latency: float) -> bool:
        """Tell whether a mapping covers all of more energy: it has the least of all else.

        `energy`: in joule; `latency`: at least so many seconds are in every mapping. No usage is
        below 0.
        """
        least = np.array([[energy, latency, *(0.0 for _ in self._usage.names)]])
        return bool(covered(least[:, self._counted], self._points())[0])

    def _points(self) -> Floats:
        rows = np.array([self._row(scored.score) for scored in self.mappings])
        return rows[:, self._counted]

    def _pass(self, graph: CompatibilityGraph) -> None:
        """Add the mappings of a graph that no mapping found before covers."""
        walk = LabelPass(
            graph, LabelColumns(self._plan.problem.capacities, self._usage), self._budget
        )
        points = self._points()
        points = points[undominated(points)]

        def hopeless(*row: Floats) -> NDArray[np.bool_]:
            return covered(np.column_stack([row[i] for i in self._counted]), points)

        rows = walk.run(hopeless)
        self.statistics = self.statistics.plus(SearchStatistics(labels=walk.labels))
        for number in undominated(rows[:, self._counted]).tolist():
            label = walk.label(number, rows[number])
            result = JoinResult(label, graph.steps, 0.0, (0.0, 0.0), ended=None)
            self.mappings.append(score_result(self._request, self._plan, result, self._timed))

    def _row(self, score: Score) -> tuple[float, ...]:
        return score.energy, score.latency, *self._usage.usages_of(score)
