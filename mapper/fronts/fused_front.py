"""The Pareto set over energy and latency of a workload whose Einsums may share loops.

First the corners of the convex hull: each is the least of energy + price x latency, which the pass
of labels finds with its bounds. Then one more pass keeps every label that no point found covers,
when the least that is still to be paid is added (fusion.md §4, §5).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.fronts.front_search import FrontResult, pareto_mappings, requested_metrics
from tilewright.mapper.fronts.pareto_points import NOISE, undominated
from tilewright.mapper.fusion.boundary.usage_peaks import NO_USAGE
from tilewright.mapper.fusion.copies.fused_copies import CopyTable
from tilewright.mapper.fusion.fused_optimum import (
    FusedOptimizer,
    garbage_collection_paused,
    score_result,
)
from tilewright.mapper.fusion.fused_plan import plan_fused_search
from tilewright.mapper.fusion.fused_problem import OBJECTIVE_VALUES, ValueFunction
from tilewright.mapper.fusion.join.compatibility_graph import CompatibilityGraph
from tilewright.mapper.fusion.join.join_deepening import JoinResult, JoinSearch
from tilewright.mapper.fusion.join.label_deepening import LabelDeepening
from tilewright.mapper.fusion.join.label_pass import LabelColumns, LabelPass, WholeLabel
from tilewright.mapper.searches.budget import Budget, OutOfBudget
from tilewright.mapper.searches.exact.kernels import Floats
from tilewright.mapper.searches.exact.label_metrics import Objective
from tilewright.mapper.searches.request import Request
from tilewright.mapper.searches.restrictions import Restrictions
from tilewright.mapper.searches.result import FrontProof, ScoredMapping, SearchStatistics
from tilewright.mapper.searches.search_errors import InternalError
from tilewright.mapper.searches.verify import TOLERANCE

Least = Callable[[ValueFunction], WholeLabel | None]  # the label with the least value


def front_of_fused(
    request: Request, known: ScoredMapping, restrictions: Restrictions
) -> FrontResult:
    """Return the Pareto set of fused and unfused mappings; `known`: a mapping found before.

    UnsupportedFeature for what cannot be modelled.
    """
    measures = requested_metrics(request, request.workload.einsums)
    if measures.memories:
        from tilewright.mapper.fronts.fused_usage_front import front_with_usage

        return front_with_usage(request, known, measures)
    search = FusedFrontSearch(request)
    with garbage_collection_paused():
        whole = search.run()
    found = pareto_mappings([known, *search.found], measures)
    return FrontResult(
        found, FrontProof(measures.names, inf if whole else 0.0, restrictions), search.statistics
    )


class FusedFrontSearch:
    """Finds the Pareto set of one workload; `found` so far."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._budget = request.budget
        self._plan = plan_fused_search(request, "front", OBJECTIVE_VALUES["edp"])
        self._room = LabelColumns(self._plan.problem.capacities, NO_USAGE)
        self._optimizer = FusedOptimizer(request, self._plan, self._budget)
        self.found: list[ScoredMapping] = []
        self.statistics = SearchStatistics()

    def run(self) -> bool:
        """Tell whether the set is whole."""
        ends = [self._end(name) for name in ("energy", "latency")]
        self.statistics = self._optimizer.statistics
        if ends[0] is None or ends[1] is None:
            return False
        search = JoinSearch(self._plan.problem, self._budget, cache=self._plan.cache)
        most = ends[1].score.energy, ends[0].score.latency
        try:
            graph = search.graph_within(most[0] * (1 + TOLERANCE), most[1] * (1 + TOLERANCE))
        except OutOfBudget:
            return False
        finally:
            self.statistics = self.statistics.plus(search.statistics)
        if graph is None:
            raise InternalError("the ends of the front are not among its mappings")
        labels, whole = self._inside(graph)
        found = [JoinResult(label, graph, 0.0, (0.0, 0.0), exhausted=not whole) for label in labels]
        self.found += [score_result(self._request, self._plan, one) for one in found]
        lone = [one for one in self._plan.problem.einsums if isinstance(one, CopyTable)]
        return whole and all(one.is_optimal for one in lone)

    def _inside(self, graph: CompatibilityGraph) -> tuple[list[WholeLabel], bool]:
        """Return the Pareto set of a graph, or as much of it as the budget allows."""
        corners: list[WholeLabel] = []
        try:
            hull_corners(lambda value: self._least(graph, value), corners)
            front = FrontPass(graph, self._room, corners, self._budget)
            labels = front.solve()
        except OutOfBudget:
            return pareto_labels(corners), False
        self.statistics = self.statistics.plus(SearchStatistics(labels=front.labels))
        return labels, True

    def _end(self, objective: Objective) -> ScoredMapping | None:
        """Return the mapping with the least of one metric; None when the budget is over."""
        optimum = self._optimizer.best(objective, OBJECTIVE_VALUES[objective])
        if optimum.scored is not None:
            self.found.append(optimum.scored)
        return None if optimum.result.exhausted else optimum.scored

    def _least(self, graph: CompatibilityGraph, value: ValueFunction) -> WholeLabel | None:
        search = LabelDeepening(graph, self._room, value, self._budget)
        folded = search.solve()
        self.statistics = self.statistics.plus(SearchStatistics(labels=folded.labels))
        if folded.exhausted:
            raise OutOfBudget
        return folded.best


def hull_corners(least: Least, found: list[WholeLabel]) -> None:
    """Put the corners of the convex hull between least energy and least latency into `found`.

    Of both ends the one with the least of the other metric (as far as rounding shows it).
    """
    for value in (_energy, _latency):
        end = least(value)
        if end is None:
            return
        found.append(end)
    _between(least, (found[0], found[1]), found)


def _energy(energy: Any, latency: Any) -> Any:
    del latency
    return energy


def _latency(energy: Any, latency: Any) -> Any:
    del energy
    return latency


def _between(least: Least, ends: tuple[WholeLabel, WholeLabel], found: list[WholeLabel]) -> None:
    first, last = ends
    more, less = last.energy - first.energy, first.latency - last.latency
    if more <= NOISE * last.energy or less <= NOISE * first.latency:
        return
    price = more / less

    def value(energy: Any, latency: Any) -> Any:
        return energy + price * latency

    corner = least(value)
    chord = value(first.energy, first.latency)
    if corner is None or value(corner.energy, corner.latency) >= chord * (1 - 1e-9):
        return
    found.append(corner)
    _between(least, (first, corner), found)
    _between(least, (corner, last), found)


class FrontPass:
    """Finds all labels of a graph that no label of `known` covers."""

    def __init__(
        self,
        graph: CompatibilityGraph,
        room: LabelColumns,
        known: Sequence[WholeLabel],
        budget: Budget,
    ) -> None:
        self._walk = LabelPass(graph, room, budget)
        self._known = pareto_labels(known)
        self._energies = np.array([label.energy for label in self._known])
        self._latencies = np.array([label.latency for label in self._known])

    @property
    def labels(self) -> int:
        """Labels kept on the way."""
        return self._walk.labels

    def solve(self) -> list[WholeLabel]:
        """Return the Pareto set; OutOfBudget."""
        found = self._walk.run(self._covered)
        new = [self._walk.label(number, metrics) for number, metrics in enumerate(found)]
        return pareto_labels([*self._known, *new])

    def _covered(self, energy: Floats, latency: Floats) -> NDArray[np.bool_]:
        """Tell where a known label is nowhere above these two."""
        if not self._known:
            return np.zeros(len(energy), np.bool_)
        place = np.searchsorted(self._energies, energy * (1 + NOISE), side="right")
        lowest = self._latencies[np.maximum(place - 1, 0)] <= latency * (1 + NOISE)
        return (place > 0) & lowest


def pareto_labels(labels: Sequence[WholeLabel]) -> list[WholeLabel]:
    """Return the labels that no other one covers in energy and latency, by energy."""
    if not labels:
        return []
    rows = np.array([(label.energy, label.latency) for label in labels])
    return [labels[i] for i in undominated(rows).tolist()]
