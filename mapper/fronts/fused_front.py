"""The Pareto set over energy and latency of a workload whose Einsums may share loops.

First the corners of the convex hull: each is the least of energy + price x latency, which the pass
of labels finds with its bounds. Then one more pass keeps every label that no point found covers,
when the least that is still to be paid is added (theory/fusion.md §4, §5).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.fronts.front_search import FrontResult, pareto_mappings, requested_metrics
from tilewright.mapper.fronts.pareto_points import NOISE, undominated
from tilewright.mapper.fusion.boundary.usage_peaks import NO_USAGE
from tilewright.mapper.fusion.copies.copy_table import CopyTable
from tilewright.mapper.fusion.fused_optimum import (
    FusedOptimizer,
    garbage_collection_paused,
    score_result,
)
from tilewright.mapper.fusion.fused_plan import plan_fused_search
from tilewright.mapper.fusion.fused_problem import OBJECTIVE_VALUES, ValueFunction
from tilewright.mapper.fusion.join.compatibility_graph import CompatibilityGraph
from tilewright.mapper.fusion.join.join_deepening import JoinResult, JoinSearch
from tilewright.mapper.fusion.join.join_pmappings import LabelPass, WholeLabel
from tilewright.mapper.fusion.join.label_columns import LabelColumns
from tilewright.mapper.fusion.join.label_deepening import LabelDeepening
from tilewright.mapper.mapping.scored_mapping import ScoredMapping
from tilewright.mapper.searches.budget import Budget, EndReason, OutOfBudget
from tilewright.mapper.searches.exact.kernels import Floats
from tilewright.mapper.searches.exact.label_metrics import Objective
from tilewright.mapper.searches.mapping_scorer import TOLERANCE
from tilewright.mapper.searches.request import Request
from tilewright.mapper.searches.restrictions import Restrictions
from tilewright.mapper.searches.result import FrontProof, SearchStatistics
from tilewright.mapper.searches.search_errors import InternalError

LeastLabel = Callable[[ValueFunction], WholeLabel | None]  # the label with the least value


def front_of_fused(
    request: Request, incumbent: ScoredMapping, restrictions: Restrictions
) -> FrontResult:
    """Return the Pareto set of all mappings of a workload, fused or not.

    Over the metrics that the request asks for. `incumbent`: a mapping found before, which the set
    may contain. `restrictions`: what is left out of the mappings searched, for the proof. A budget
    that ends leaves a part of the set, and the proof says so. Raises TilewrightError for a metric
    that does not exist, UnsupportedFeature for what the fused search cannot model, InternalError if
    search and model disagree about a mapping.
    """
    measures = requested_metrics(request, request.workload.einsums)
    if measures.memories:
        from tilewright.mapper.fronts.fused_usage_front import front_with_usage

        return front_with_usage(request, incumbent, measures)
    search = FusedFrontSearch(request)
    with garbage_collection_paused():
        is_complete = search.run()
    mappings = pareto_mappings([incumbent, *search.mappings], measures)
    proof = FrontProof(measures.names, inf if is_complete else 0.0, restrictions)
    return FrontResult(mappings, proof, search.statistics)


class FusedFrontSearch:
    """Find the Pareto set of a workload over energy and latency, with fused mappings.

    In a fused mapping Einsums share loops and keep tensors on chip between them. `request`:
    architecture, workload, options and budget. `mappings`: scored mappings found so far, which
    contain the set. `statistics`: what was looked at.
    """

    def __init__(self, request: Request) -> None:
        self._request = request
        self._budget = request.budget
        self._plan = plan_fused_search(request, "front", OBJECTIVE_VALUES["edp"])
        self._columns = LabelColumns(self._plan.problem.capacities, NO_USAGE)
        self._optimizer = FusedOptimizer(request, self._plan, self._budget)
        self.mappings: list[ScoredMapping] = []
        self.statistics = SearchStatistics()

    def run(self) -> bool:
        """Search, and tell whether the set is whole.

        False if the budget ended, or if mappings of copy Einsums were left out that could be
        better. Raises UnsupportedFeature for what the fused search cannot model, InternalError if
        search and model disagree about a mapping.
        """
        frugal, fast = self._end("energy"), self._end("latency")
        self.statistics = self._optimizer.statistics
        if frugal is None or fast is None:
            return False
        self._tell("between its ends")
        try:
            graph = self._graph_within(fast.score.energy, frugal.score.latency)
        except OutOfBudget:
            return False
        labels, is_complete = self._inside(graph)
        for label in labels:
            ended = None if is_complete else EndReason.SECONDS
            result = JoinResult(label, graph.steps, 0.0, (0.0, 0.0), ended)
            self.mappings.append(score_result(self._request, self._plan, result))
        copies = [entry for entry in self._plan.problem.einsums if isinstance(entry, CopyTable)]
        return is_complete and all(copy.is_optimal for copy in copies)

    def _tell(self, part: str) -> None:
        self._request.reporter(f"front of fused mappings, {part}")(inf, 0.0)

    def _graph_within(self, energy: float, latency: float) -> CompatibilityGraph:
        """Return the graph of all mappings of at most so much energy (J) and latency (s).

        Raises OutOfBudget.
        """
        search = JoinSearch(self._plan.problem, self._budget, cache=self._plan.cache)
        try:
            graph = search.graph_within(energy * (1 + TOLERANCE), latency * (1 + TOLERANCE))
        finally:
            self.statistics = self.statistics.plus(search.statistics)
        if graph is None:
            raise InternalError("the ends of the front are not among its mappings")
        return graph

    def _inside(self, graph: CompatibilityGraph) -> tuple[list[WholeLabel], bool]:
        """Return (Pareto set of a graph, True), or (its corners so far, False) without budget."""
        corners: list[WholeLabel] = []
        try:
            hull_corners(lambda value: self._least(graph, value), corners)
            front = FrontPass(graph, self._columns, corners, self._budget)
            labels = front.solve()
        except OutOfBudget:
            return pareto_labels(corners), False
        self.statistics = self.statistics.plus(SearchStatistics(labels=front.labels))
        return labels, True

    def _end(self, objective: Objective) -> ScoredMapping | None:
        """Return the mapping with the least of one metric.

        None if that is not proven in the budget.
        """
        self._tell(f"its least {objective}")
        optimum = self._optimizer.best(objective, OBJECTIVE_VALUES[objective])
        if optimum.scored is not None:
            self.mappings.append(optimum.scored)
        return None if optimum.result.exhausted else optimum.scored

    def _least(self, graph: CompatibilityGraph, value: ValueFunction) -> WholeLabel | None:
        search = LabelDeepening(graph, self._columns, value, self._budget)
        folded = search.solve()
        self.statistics = self.statistics.plus(SearchStatistics(labels=folded.labels))
        if folded.ended is not None:
            raise OutOfBudget(folded.ended)
        return folded.best


def hull_corners(least_label: LeastLabel, corners: list[WholeLabel]) -> None:
    """Add the corners of the front's convex hull to a list, from least energy to least latency.

    A corner is the mapping with the least value of energy + price * latency, for some price in
    joule per second. `least_label`: returns the mapping with the least value of a function of
    energy and latency, None if there is none; it may raise OutOfBudget, and then the list has what
    was found. `corners`: the list. Of several mappings of equal energy (or latency) at an end, the
    one with the least of the other metric counts.
    """
    for value in (_energy, _latency):
        end = least_label(value)
        if end is None:
            return
        corners.append(end)
    _add_corners_between(least_label, _Chord(corners[0], corners[1]), corners)


def _energy(energy: Any, latency: Any) -> Any:
    del latency
    return energy


def _latency(energy: Any, latency: Any) -> Any:
    del energy
    return latency


class _Chord(NamedTuple):
    """Two corners of the hull: `first` has less energy, `last` less latency."""

    first: WholeLabel
    last: WholeLabel


def _add_corners_between(least_label: LeastLabel, chord: _Chord, corners: list[WholeLabel]) -> None:
    """Add the corners below a chord: the label with the least of its weighted sum, if it is lower.

    The weight, joule per second, makes both ends of the chord cost the same.
    """
    first, last = chord
    more_energy, less_latency = last.energy - first.energy, first.latency - last.latency
    if more_energy <= NOISE * last.energy or less_latency <= NOISE * first.latency:
        return
    price = more_energy / less_latency

    def value(energy: Any, latency: Any) -> Any:
        return energy + price * latency

    corner = least_label(value)
    at_ends = value(first.energy, first.latency)
    if corner is None or value(corner.energy, corner.latency) >= at_ends * (1 - 1e-9):
        return
    corners.append(corner)
    _add_corners_between(least_label, _Chord(first, corner), corners)
    _add_corners_between(least_label, _Chord(corner, last), corners)


class FrontPass:
    """Find all mappings of a graph that no known one covers in energy and latency.

    `graph`: all ways to join the mappings of the Einsums into one of the workload. `columns`: what
    a partial mapping (label) counts. `corners`: mappings known before; labels that one of them
    covers (is nowhere above) are dropped. `budget`: limits.
    """

    def __init__(
        self,
        graph: CompatibilityGraph,
        columns: LabelColumns,
        corners: Sequence[WholeLabel],
        budget: Budget,
    ) -> None:
        self._walk = LabelPass(graph, columns, budget)
        self._corners = pareto_labels(corners)
        self._energies = np.array([label.energy for label in self._corners])
        self._latencies = np.array([label.latency for label in self._corners])

    @property
    def labels(self) -> int:
        """Number of labels (partial mappings) kept on the way."""
        return self._walk.labels

    def solve(self) -> list[WholeLabel]:
        """Return the Pareto set of the graph over energy and latency, by rising energy.

        It includes those of the known mappings that belong to it. Raises OutOfBudget.
        """
        metrics_of_labels = self._walk.run(self._covered)
        labels = [self._walk.label(n, metrics) for n, metrics in enumerate(metrics_of_labels)]
        return pareto_labels([*self._corners, *labels])

    def _covered(self, energy: Floats, latency: Floats) -> NDArray[np.bool_]:
        """Mark the (energy, latency) pairs of labels above or at some known mapping.

        Shape (labels,).
        """
        if not self._corners:
            return np.zeros(len(energy), np.bool_)
        place = np.searchsorted(self._energies, energy * (1 + NOISE), side="right")
        lowest = self._latencies[np.maximum(place - 1, 0)] <= latency * (1 + NOISE)
        return (place > 0) & lowest


def pareto_labels(labels: Sequence[WholeLabel]) -> list[WholeLabel]:
    """Return the mappings that no other one covers in energy and latency, by rising energy.

    A mapping covers another if neither metric is greater; a label is a mapping as the search knows
    it.
    """
    if not labels:
        return []
    rows = np.array([(label.energy, label.latency) for label in labels])
    return [labels[i] for i in undominated(rows).tolist()]
