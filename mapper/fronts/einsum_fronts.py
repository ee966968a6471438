"""The Pareto set of each Einsum of a workload; equal problems are solved once.

Two Einsums with the same signature have the same front under other names; the model scores its
points again.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from math import inf
from typing import NamedTuple

from tilewright.mapper.fronts.mapspace_front import (
    FrontPoint,
    MapspaceFront,
    MapspaceLeast,
    best_points,
    front_of_space,
    least_of_space,
)
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.exact.label_metrics import Goal
from tilewright.mapper.searches.identical_einsums import renamed_mapping
from tilewright.mapper.searches.mapping_scorer import MappingScorer
from tilewright.mapper.searches.methods.default_search import DefaultSearch
from tilewright.mapper.searches.methods.relaxed_min_usage import search_with_lowered_min_usage
from tilewright.mapper.searches.objective.measures import FrontMetrics
from tilewright.mapper.searches.objective.objective_formula import ObjectiveFormula
from tilewright.mapper.searches.request import Request
from tilewright.mapper.searches.result import EinsumMapping, MapspaceResult, SearchStatistics
from tilewright.mapper.searches.solver import EinsumSolver
from tilewright.mapper.workload.einsum import Einsum


class _SpaceFront(NamedTuple):
    """A mapspace with its Pareto set."""

    space: Mapspace
    front: MapspaceFront


@dataclass(frozen=True, slots=True)
class EinsumFront:
    """Pareto set of the mappings of one Einsum, over all computes that may perform it.

    `spaces`: its mapspaces, one per compute. `points`: mappings that no other one covers: each
    other one is greater in some of the chosen metrics. `proven`: energy in joule up to which no
    such mapping is missing; inf: the set is whole.
    """

    spaces: tuple[Mapspace, ...]
    points: tuple[FrontPoint, ...]
    proven: float


class EinsumFrontSolver:
    """Find the Pareto set, or the least value of a formula, of each Einsum of a workload.

    `request`: architecture, workload, options and budget. `measures`: the metrics of the front.
    Einsums that differ in names only are solved once, and their mappings scored again. `solver`:
    finds mapspaces and single mappings. `statistics`: what was looked at.
    """

    def __init__(self, request: Request, measures: FrontMetrics) -> None:
        self.solver = EinsumSolver(request)
        self.statistics = SearchStatistics()
        self._request = request
        self._measures = measures
        self._solved: dict[Hashable, _SpaceFront] = {}

    def front(self, einsum: Einsum) -> EinsumFront:
        """Return the Pareto set of an Einsum, as far as the budget allows.

        If the budget ends before the first point, one mapping is searched for after all. Raises
        InfeasibleMapping, with the conflict of constraints in numbers, if the Einsum fits nowhere;
        UnsupportedFeature for a mapspace that cannot be swept or listed.
        """
        self._tell(f"front of {einsum.name}")
        spaces = self.solver.mapspaces(einsum)
        fronts = [self._front(key, space) for key, space in spaces]
        points = best_points([p for front in fronts for p in front.points], self._measures)
        proven = min(front.proven for front in fronts)
        if not points and proven == inf:
            raise self.solver.no_mapping_error(einsum, proven=True)
        if not points:  # a late point is better than none
            points = (self._any(einsum),)
        return EinsumFront(tuple(space for _, space in spaces), points, proven)

    def _tell(self, doing: str) -> None:
        self._request.reporter(doing)(inf, 0.0)

    def _any(self, einsum: Einsum) -> FrontPoint:
        solved = self.solver.solve(einsum, Goal("energy"))
        score = MappingScorer(solved.space).score(solved.best.mapping)
        return FrontPoint(solved.best.mapping, score, self._measures.row(score))

    def least(self, einsum: Einsum, formula: ObjectiveFormula) -> MapspaceLeast:
        """Return the mapping of an Einsum with the least value of a formula, and a lower bound.

        The best over all computes of the Einsum, the least of their bounds. Raises
        InfeasibleMapping, with the conflict of constraints in numbers, if the Einsum fits nowhere;
        UnsupportedFeature for a mapspace that cannot be swept or listed.
        """
        self._tell(f"least of the formula for {einsum.name}")
        minima = [self._least(space, formula) for _, space in self.solver.mapspaces(einsum)]
        feasible = [minimum for minimum in minima if minimum.best is not None]
        bound = min(minimum.lower_bound for minimum in minima)
        if not feasible and bound == inf:
            raise self.solver.no_mapping_error(einsum, proven=True)
        if not feasible:
            point = self._any(einsum)
            return replace(
                minima[0], best=point, value=formula.of_row(*point.row), lower_bound=bound
            )
        best = min(
            feasible, key=lambda minimum: (minimum.value, minimum.best.row if minimum.best else ())
        )
        return replace(best, lower_bound=bound)

    def _least(self, space: Mapspace, formula: ObjectiveFormula) -> MapspaceLeast:
        minimum = least_of_space(space, formula, self._request.budget)
        if minimum.best is None and minimum.lower_bound == inf:
            lower = with_lowered_min_usage(space, self._request.seconds_left)
            if lower is not None:
                minimum = least_of_space(lower, formula, self._request.budget)
        return minimum

    def _front(self, key: Hashable, space: Mapspace) -> MapspaceFront:
        if key is not None and key in self._solved:
            return _renamed_front(self._solved[key], space, self._measures)
        front = front_of_space(space, self._measures, self._request.budget)
        if not front.points and front.proven == inf:
            lower = with_lowered_min_usage(space, self._request.seconds_left)
            if lower is not None:
                front = front_of_space(lower, self._measures, self._request.budget)
        self.statistics = self.statistics.plus(front.statistics)
        if key is not None:
            self._solved[key] = _SpaceFront(space, front)
        return front


def with_lowered_min_usage(space: Mapspace, budget: float | None) -> Mapspace | None:
    """Return the mapspace with each min_usage lowered as far as needed for some mapping to fit.

    min_usage is the least share of a fanout's lanes that a mapping must use. None if lowering does
    not help. `budget`: seconds; None: no limit.
    """
    search = FeasibleSpaceRecorder()
    search_with_lowered_min_usage(search, space, Goal("energy"), budget)
    return search.last


class FeasibleSpaceRecorder:
    """Search method that remembers the last mapspace in which it found a mapping.

    `last`: that mapspace; None if no search has found a mapping yet.
    """

    def __init__(self) -> None:
        self.last: Mapspace | None = None

    def find(self, space: Mapspace, goal: Goal, budget: float | None) -> MapspaceResult:
        """Search a mapspace by the default method; remember it in `last` if a mapping was found.

        `goal`: what is minimized. `budget`: seconds; None: no limit. The result is that of the
        search.
        """
        result = DefaultSearch().find(space, goal, budget)
        if result.best is not None:
            self.last = space
        return result


def _renamed_front(solved: _SpaceFront, space: Mapspace, measures: FrontMetrics) -> MapspaceFront:
    """Return the front of an equal mapspace under this one's names, with scores by the model."""
    source, front = solved
    if source is space:
        return front
    share = space.einsum.n_instances / source.einsum.n_instances
    scorer = MappingScorer(space)
    points = []
    for point in front.points:
        renamed = renamed_mapping(EinsumMapping(point.mapping, *point.row[:2]), source, space)
        score = scorer.score(renamed.mapping)
        points.append(FrontPoint(renamed.mapping, score, measures.row(score)))
    proven = front.proven if front.proven == inf else front.proven * share
    return MapspaceFront(tuple(points), proven, SearchStatistics())
