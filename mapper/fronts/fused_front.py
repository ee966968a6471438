"""The Pareto set over energy, latency and usages of a workload whose Einsums may share loops.

A label is kept unless a known mapping covers it when the least energy and latency that are still to
be paid are added; its usages never fall. Without usages the mappings of least energy and of least
latency come first: what costs more than either in both is covered. With usages, or where a budget
may end the search, mappings of little energy come first: they cover most others, and are proven to
be complete where the search ends (theory/fronts.md §4).
"""

from __future__ import annotations

from math import inf

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.fronts.front_search import FrontResult, pareto_mappings, requested_metrics
from tilewright.mapper.fronts.pareto_points import covered, undominated
from tilewright.mapper.fusion.bounds.cost_limit import NEVER, EnergyLatency
from tilewright.mapper.fusion.fused_answer import fused_restrictions
from tilewright.mapper.fusion.fused_optimum import (
    FusedOptimizer,
    garbage_collection_paused,
    score_joined,
)
from tilewright.mapper.fusion.fused_plan import plan_fused_search
from tilewright.mapper.fusion.fused_problem import OBJECTIVE_VALUES
from tilewright.mapper.fusion.groups.fusion_groups import JoinedMapping
from tilewright.mapper.fusion.join.compatibility_graph import CompatibilityGraph
from tilewright.mapper.fusion.join.join_deepening import JoinSearch
from tilewright.mapper.fusion.join.join_pmappings import LabelPass
from tilewright.mapper.fusion.join.label_columns import METRICS, LabelColumns
from tilewright.mapper.mapping.score import Score
from tilewright.mapper.mapping.scored_mapping import ScoredMapping
from tilewright.mapper.searches.budget import EndReason, OutOfBudget
from tilewright.mapper.searches.exact.kernels import Floats
from tilewright.mapper.searches.exact.label_metrics import Objective
from tilewright.mapper.searches.mapping_scorer import TOLERANCE
from tilewright.mapper.searches.objective.measures import FrontMetrics
from tilewright.mapper.searches.request import Request
from tilewright.mapper.searches.result import FrontProof, SearchStatistics

ENDS: tuple[Objective, ...] = ("energy", "latency")
SLICES = (0.01, 0.1, 1.0, inf)  # of energy, above the least
TOO_MANY = (
    f"the search of the front ended at {EndReason.LABELS.value}, not at its budget: a front over"
    " fewer metrics, such as usage.MEMORY instead of usage, keeps fewer"
)


def front_of_fused(request: Request, incumbent: ScoredMapping) -> FrontResult:
    """Return the Pareto set of all mappings of a workload, fused or not.

    Over the metrics that the request asks for; the usage of a memory is the most bits in it at a
    time. `incumbent`: a mapping found before, which the set may contain. A budget that ends leaves
    a part of the set, and the proof says up to which energy it is whole. Raises TilewrightError for
    a metric that does not exist, UnsupportedFeature for what the fused search cannot model or
    count, InternalError if search and model disagree about a mapping.
    """
    measures = requested_metrics(request, request.workload.einsums)
    search = FusedFrontSearch(request, incumbent, measures)
    with garbage_collection_paused():
        proven = search.run()
    mappings = pareto_mappings(search.mappings, measures)
    proof = FrontProof(measures.names, proven, search.restrictions)
    return FrontResult(mappings, proof, search.statistics, search.notes)


class FusedFrontSearch:
    """Find the Pareto set of a workload over energy, latency and usages, with fused mappings.

    In a fused mapping Einsums share loops and keep tensors on chip between them. `request`:
    architecture, workload, options and budget. `incumbent`: a mapping found before. `measures`: the
    metrics. `mappings`: scored mappings found so far, which contain the set. `restrictions`: what
    is left out of the mappings searched. `statistics`: what was looked at. `notes`: why it ended,
    where the user set no such limit.
    """

    def __init__(self, request: Request, incumbent: ScoredMapping, measures: FrontMetrics) -> None:
        self._request = request
        self._budget = request.budget
        self._timed = 1 in measures.metric_columns
        objective = "front" if self._timed else "energy"
        self._plan = plan_fused_search(
            request, objective, OBJECTIVE_VALUES["edp"], measures.memories
        )
        problem = self._plan.problem
        self._usage = problem.usage
        self._columns = LabelColumns(problem.capacities, problem.usage)
        usages = (METRICS + self._usage.names.index(name) for name in measures.memories)
        self._counted = [*(i for i in measures.metric_columns if i < METRICS), *usages]
        self.restrictions = fused_restrictions(problem, self._plan.memories)
        self.mappings = [incumbent]
        self.statistics = SearchStatistics()
        self.notes: tuple[str, ...] = ()

    def run(self) -> float:
        """Search; return up to which energy the set is whole.

        In joule; inf: it is whole; 0: nothing is proven, because the budget ended at once or
        mappings of copy Einsums were left out that could be better. Raises UnsupportedFeature for
        what the fused search cannot model, InternalError if search and model disagree about a
        mapping.
        """
        if self._usage.names:
            self._tell("front of fused mappings")
            proven = self._pass_slices(NEVER, SLICES)
        else:
            within = self._between_ends()
            slices = SLICES if self._budget.is_limited else SLICES[-1:]
            proven = 0.0 if within is None else self._pass_slices(within, slices)
        return proven if all(copy.is_optimal for copy in self._plan.problem.copies) else 0.0

    def _tell(self, doing: str) -> None:
        self._request.reporter(doing)(inf, 0.0)

    def _between_ends(self) -> EnergyLatency | None:
        """Find the mappings of least energy and of least latency, as far as these are metrics.

        Return the most energy and latency of a mapping that neither of them covers; None if one is
        not proven in the budget.
        """
        optimizer = FusedOptimizer(self._request, self._plan, self._budget)
        for objective in (ENDS[number] for number in self._counted):
            self._tell(f"front of fused mappings, its least {objective}")
            optimum = optimizer.best(objective, OBJECTIVE_VALUES[objective])
            self.statistics = optimizer.statistics
            if optimum.scored is not None:
                self.mappings.append(optimum.scored)
            if optimum.scored is None or optimum.result.exhausted:
                return None
        self._tell("front of fused mappings, between its ends")
        ends = [scored.score for scored in self.mappings[1:]]
        energy = max(score.energy for score in ends) * (1 + TOLERANCE)
        return energy, max(score.latency for score in ends) * (1 + TOLERANCE)

    def _pass_slices(self, within: EnergyLatency, slices: tuple[float, ...]) -> float:
        """Pass the labels of all mappings in slices of energy; return that up to which it came.

        `within`: most joules and seconds of a mapping of the set. `slices`: limits above the least
        energy, relative.
        """
        search = JoinSearch(self._plan.problem, self._budget, cache=self._plan.cache)
        proven = 0.0
        try:
            for limit, graph in search.energy_slices(slices, within):
                if graph is not None:
                    self._pass(graph)
                proven = limit
                if self._covers_all_above(limit, search.least_latency):
                    proven = inf
                    break
        except OutOfBudget as end:
            is_unexpected = end.reason is EndReason.LABELS and self._usage.names
            self.notes = (TOO_MANY,) if is_unexpected else ()
        self.statistics = self.statistics.plus(search.statistics)
        return proven

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
        walk = LabelPass(graph, self._columns, self._budget)
        points = self._points()
        points = points[undominated(points)]

        def hopeless(*row: Floats) -> NDArray[np.bool_]:
            return covered(np.column_stack([row[i] for i in self._counted]), points)

        rows = walk.run(hopeless)
        self.statistics = self.statistics.plus(SearchStatistics(labels=walk.labels))
        for number in undominated(rows[:, self._counted]).tolist():
            label = walk.label(number, rows[number])
            joined = JoinedMapping(label, graph.steps)
            self.mappings.append(score_joined(self._request, self._plan, joined, self._timed))

    def _row(self, score: Score) -> tuple[float, ...]:
        return score.energy, score.latency, *self._usage.usages_of(score)
