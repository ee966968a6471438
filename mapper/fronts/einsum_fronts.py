"""The Pareto set of each Einsum of a workload; equal problems are solved once."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from math import inf

from tilewright.mapper.fronts.mapspace_front import (
    Point,
    SpaceFront,
    SpaceLeast,
    best_points,
    front_of_space,
    least_of_space,
)
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.exact.label_metrics import Goal
from tilewright.mapper.searches.identical_einsums import renamed
from tilewright.mapper.searches.methods.default_search import DefaultSearch
from tilewright.mapper.searches.methods.relaxed_min_usage import with_highest_usage
from tilewright.mapper.searches.objective.formula import Formula
from tilewright.mapper.searches.objective.measures import Measures
from tilewright.mapper.searches.request import Request
from tilewright.mapper.searches.result import EinsumMapping, SpaceResult, Statistics
from tilewright.mapper.searches.solver import Solver
from tilewright.mapper.searches.verify import Judge
from tilewright.mapper.workload.einsum import Einsum


@dataclass(frozen=True, slots=True)
class EinsumFront:
    """The Pareto points of one Einsum on all its Computes; `proven` as in SpaceFront."""

    spaces: tuple[Mapspace, ...]
    points: tuple[Point, ...]
    proven: float


class EinsumFronts:
    """Solves the Einsums of one workload, each for its Pareto set over `measures`."""

    def __init__(self, request: Request, measures: Measures) -> None:
        self.solver = Solver(request)
        self.statistics = Statistics()
        self._request = request
        self._measures = measures
        self._known: dict[Hashable, tuple[Mapspace, SpaceFront]] = {}

    def of(self, einsum: Einsum) -> EinsumFront:
        """Return the Pareto set; InfeasibleMapping, with numbers, if it fits nowhere."""
        spaces = self.solver.spaces(einsum)
        found = [self._front(key, space) for key, space in spaces]
        points = best_points([p for one in found for p in one.points], self._measures)
        proven = min(one.proven for one in found)
        if not points and proven == inf:
            raise self.solver.no_mapping(einsum, proven=True)
        if not points:  # one, late, is better than none
            points = (self._any(einsum),)
        return EinsumFront(tuple(space for _, space in spaces), points, proven)

    def _any(self, einsum: Einsum) -> Point:
        solved = self.solver.solve(einsum, Goal("energy"))
        score = Judge(solved.space).score(solved.best.mapping)
        return Point(solved.best.mapping, score, self._measures.row(score))

    def least(self, einsum: Einsum, formula: Formula) -> SpaceLeast:
        """Return the least value of `formula`, with the least bound of all Computes."""
        found = [self._least(space, formula) for _, space in self.solver.spaces(einsum)]
        feasible = [one for one in found if one.best is not None]
        bound = min(one.lower_bound for one in found)
        if not feasible and bound == inf:
            raise self.solver.no_mapping(einsum, proven=True)
        if not feasible:
            point = self._any(einsum)
            return replace(found[0], best=point, value=formula.of(*point.row), lower_bound=bound)
        best = min(feasible, key=lambda one: (one.value, one.best.row if one.best else ()))
        return replace(best, lower_bound=bound)

    def _least(self, space: Mapspace, formula: Formula) -> SpaceLeast:
        found = least_of_space(space, formula, self._request.budget)
        if found.best is None and found.lower_bound == inf:
            lower = opened(space, self._request.seconds_left)
            if lower is not None:
                found = least_of_space(lower, formula, self._request.budget)
        return found

    def _front(self, key: Hashable, space: Mapspace) -> SpaceFront:
        if key is not None and key in self._known:
            return _carried(self._known[key], space, self._measures)
        found = front_of_space(space, self._measures, self._request.budget)
        if not found.points and found.proven == inf:
            lower = opened(space, self._request.seconds_left)
            if lower is not None:
                found = front_of_space(lower, self._measures, self._request.budget)
        self.statistics = self.statistics.plus(found.statistics)
        if key is not None:
            self._known[key] = (space, found)
        return found


def opened(space: Mapspace, budget: float | None) -> Mapspace | None:
    """Return `space` with each min_usage lowered as far as needed; None if that does not help."""
    search = _Recorder()
    with_highest_usage(search, space, Goal("energy"), budget)
    return search.last


class _Recorder:
    """A search that remembers the last mapspace in which something fits."""

    def __init__(self) -> None:
        self.last: Mapspace | None = None

    def find(self, space: Mapspace, goal: Goal, budget: float | None) -> SpaceResult:
        """Search with DefaultSearch."""
        result = DefaultSearch().find(space, goal, budget)
        if result.best is not None:
            self.last = space
        return result


def _carried(known: tuple[Mapspace, SpaceFront], space: Mapspace, measures: Measures) -> SpaceFront:
    """Rename a solution; the model scores it again."""
    source, found = known
    if source is space:
        return found
    share = space.einsum.n_instances / source.einsum.n_instances
    judge = Judge(space)
    points = []
    for point in found.points:
        one = renamed(EinsumMapping(point.mapping, *point.row[:2]), source, space)
        score = judge.score(one.mapping)
        points.append(Point(one.mapping, score, measures.row(score)))
    proven = found.proven if found.proven == inf else found.proven * share
    return SpaceFront(tuple(points), proven, Statistics())
