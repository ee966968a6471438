"""Join the Einsums of a workload, or of a part of it, to the best mapping within limits."""

from __future__ import annotations

from math import inf

from tilewright.mapper.fusion.boundary.exchanged_tensors import TensorPlace
from tilewright.mapper.fusion.bounds.cost_limit import CostLimit, EnergyLatency
from tilewright.mapper.fusion.fused_problem import OBJECTIVE_VALUES, FusedProblem, ValueFunction
from tilewright.mapper.fusion.groups.fusion_groups import JoinedMapping
from tilewright.mapper.fusion.groups.greedy_start import PartLimits
from tilewright.mapper.fusion.groups.window_search import WindowLimits
from tilewright.mapper.fusion.join.compatibility_graph import (
    CompatibilityGraph,
    JoinLimits,
    RemainingBound,
)
from tilewright.mapper.fusion.join.graph_builder import GraphBuilder
from tilewright.mapper.fusion.join.label_columns import LabelColumns
from tilewright.mapper.fusion.join.label_deepening import LabelDeepening
from tilewright.mapper.fusion.pmappings.pmapping_builder import PmappingFilter
from tilewright.mapper.searches.budget import Budget, OutOfBudget


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
        outcome = LabelDeepening(graph, columns, value, self._budget).solve(highest)
        self.labels += outcome.labels
        if outcome.ended is not None:
            raise OutOfBudget(outcome.ended)
        return None if outcome.best is None else JoinedMapping(outcome.best, graph.steps)

    def of_part(self, part: PartLimits) -> JoinedMapping | None:
        """Return the best mapping of a part's Einsums within its limits, if any.

        Per tile shape only the cheapest pmapping (mapping of one Einsum within the whole) is looked
        at.
        """

        def remaining(number: int, _: frozenset[TensorPlace]) -> EnergyLatency:
            cost = part.remaining(number)
            return (0.0, cost) if self._is_latency else (cost, 0.0)

        pmapping_filter = PmappingFilter(CostLimit(), fused=part.fused, beam=True)
        limits = self._join_limits(part.highest, remaining)
        graph = self._graphs.graph(part.limits, limits, pmapping_filter, part.first)
        return self.best_of(graph, self._value, part.highest)

    def of_window(self, part: WindowLimits) -> JoinedMapping | None:
        """Return the best mapping of a window of the workload within limits, if any."""
        pmapping_filter = PmappingFilter(CostLimit(), beam=part.beam)
        limits = self._join_limits(part.highest, part.remaining)
        graph = self._graphs.graph(part.limits, limits, pmapping_filter, part.window.first)
        return self.best_of(graph, self._value, part.highest)

    @property
    def _is_latency(self) -> bool:
        return self._problem.objective == "latency"

    @property
    def _value(self) -> ValueFunction:
        """The objective that parts are joined for: latency if it is minimized, else energy."""
        return OBJECTIVE_VALUES["latency" if self._is_latency else "energy"]

    def _join_limits(self, highest: float, remaining: RemainingBound) -> JoinLimits:
        ceilings = (inf, highest) if self._is_latency else (highest, inf)
        return JoinLimits(ceilings, remaining)
