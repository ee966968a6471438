"""Join the Einsums of a workload, or of a part of it, to the best mapping within limits."""

from __future__ import annotations

from tilewright.mapper.fusion.bounds.cost_limit import NEVER, CostLimit, EnergyLatency, with_metric
from tilewright.mapper.fusion.bounds.on_chip_relaxation import Places
from tilewright.mapper.fusion.fused_problem import OBJECTIVE_VALUES, FusedProblem, ValueFunction
from tilewright.mapper.fusion.groups.fusion_groups import JoinedMapping, PartLimits
from tilewright.mapper.fusion.join.compatibility_graph import CompatibilityGraph, JoinLimits
from tilewright.mapper.fusion.join.graph_builder import GraphBuilder
from tilewright.mapper.fusion.join.join_pmappings import LabelPass
from tilewright.mapper.fusion.join.label_columns import LabelColumns
from tilewright.mapper.fusion.join.label_deepening import least_label
from tilewright.mapper.fusion.pmappings.on_chip_choice import PmappingFilter
from tilewright.mapper.searches.budget import Budget


class PartJoins:
    """Finds the best mapping of the Einsums of a graph, or of neighbouring Einsums.

    `problem`: the workload. `graphs`: makes the graphs. `budget`: limits. `labels`: how many labels
    were kept so far. All methods raise OutOfBudget.
    """

    def __init__(self, problem: FusedProblem, graphs: GraphBuilder, budget: Budget) -> None:
        self._problem = problem
        self._graphs = graphs
        self._budget = budget
        self.labels = 0

    def best_of(
        self, graph: CompatibilityGraph | None, value: ValueFunction, highest: float
    ) -> JoinedMapping | None:
        """Return the best mapping of a graph with a value of `highest` or less, if any.

        OutOfBudget if the search ends before that is known.
        """
        if graph is None:
            return None
        columns = LabelColumns(self._problem.capacities, self._problem.usage)
        labels = LabelPass(graph, columns, self._budget)
        try:
            best = least_label(labels, value, highest)
        finally:
            self.labels += labels.labels
        return None if best is None else JoinedMapping(best, graph.steps)

    def of_part(self, part: PartLimits) -> JoinedMapping | None:
        """Return the best mapping of a part's Einsums within its limits, if any."""
        metric = int(self._problem.objective == "latency")

        def remaining(number: int, on_chip: Places) -> EnergyLatency:
            return with_metric((0.0, 0.0), metric, part.remaining(number, on_chip))

        pmapping_filter = PmappingFilter(CostLimit(), part.fused, part.beam)
        limits = JoinLimits(with_metric(NEVER, metric, part.highest), remaining)
        graph = self._graphs.graph(part.limits, limits, pmapping_filter, part.first)
        value = OBJECTIVE_VALUES["latency" if metric else "energy"]
        return self.best_of(graph, value, part.highest)
