"""Score every mapping of the mapspace: the oracle on small spaces."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, islice
from math import inf

from tilewright.arch.errors import TilewrightError
from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.budget import UNLIMITED, Budget, OutOfBudget, budget_from
from tilewright.mapper.searches.exact.label_metrics import Goal
from tilewright.mapper.searches.exact.least_placement_costs import least_value
from tilewright.mapper.searches.mapping_scorer import MappingScorer
from tilewright.mapper.searches.result import (
    EinsumMapping,
    ImprovingSearch,
    MapspaceResult,
    Report,
    SearchStatistics,
    no_report,
)
from tilewright.mapper.workload.errors import InfeasibleMapping, MappingError

MAX_SCORED = 20_000  # mappings: some ten seconds of model evaluations
MAX_CHECKED = 300_000  # points: some ten seconds of looking whether they fit
_TIE = 1e-12


@dataclass(frozen=True, slots=True)
class ExhaustiveSearch(ImprovingSearch):
    """A search method: score every mapping, which finds the optimum of small mapspaces.

    `report`: called with each better value. `memory`: bytes of the process before which it ends.
    """

    def find(self, space: Mapspace, goal: Goal, budget: float | None) -> MapspaceResult:
        """Return the best mapping; proven unless the budget ended before all were scored.

        `goal`: what is least; `budget`: seconds, None for no limit. Raises UnsupportedFeature if
        there are too many choices of lanes (instances of fanouts) to list.
        """
        limits = budget_from(budget, self.memory)
        best, count, ended = best_scored(
            space.mappings_within(limits.check), space, goal, limits, self.report
        )
        value = inf if best is None else best.value(goal)
        bound = value if ended else min(value, least_value(space, goal))
        return MapspaceResult(best, bound, ended, evaluated(space, count))


def evaluated(space: Mapspace, count: int) -> SearchStatistics:
    """Return the statistics of a search that let the model score so many mappings."""
    return SearchStatistics(templates=space.templates_made, evaluations=count, solved=1)


def best_scored(
    mappings: Iterable[Mapping],
    space: Mapspace,
    goal: Goal,
    limits: Budget = UNLIMITED,
    report: Report = no_report,
) -> tuple[EinsumMapping | None, int, bool]:
    """Return (best of some mappings or None, how many were scored, whether all were).

    Mappings that the model refuses are passed over. `limits` ending is no error: the third item is
    then False. `report`: called with each better value.
    """
    judge = MappingScorer(space)
    best: EinsumMapping | None = None
    count = 0
    try:
        for mapping in limits.checking(mappings):
            count += 1
            candidate = costed_or_none(judge, mapping)
            if candidate is not None and (best is None or is_better(candidate, best, goal)):
                best = candidate
                report(best.value(goal), 0.0)
    except OutOfBudget:
        return best, count, False
    return best, count, True


def costed_or_none(judge: MappingScorer, mapping: Mapping) -> EinsumMapping | None:
    """Return a mapping with the energy and latency that the model gives; None if it refuses it."""
    try:
        return judge.costed(mapping)
    except (InfeasibleMapping, MappingError):  # the latter: loops that cannot change places
        return None


def is_better(candidate: EinsumMapping, best: EinsumMapping, goal: Goal) -> bool:
    """Tell whether one mapping has a smaller goal than another.

    If they differ by less than 1e-12, relative, the second metric (latency for energy, else
    energy) decides.
    """
    value, best_value = candidate.value(goal), best.value(goal)
    if abs(value - best_value) > _TIE * max(abs(value), abs(best_value)):
        return value < best_value
    return candidate.value(goal.second) < best.value(goal.second)


def better_of(
    first: EinsumMapping | None, second: EinsumMapping | None, goal: Goal
) -> EinsumMapping | None:
    """Return the better of two mappings, of which either may be missing; the second if equal."""
    if first is None or second is None:
        return first or second
    return first if is_better(first, second, goal) else second


def has_at_most_points(space: Mapspace, limit: int, limits: Budget = UNLIMITED) -> bool:
    """Tell whether a mapspace has at most `limit` points, fitting or not.

    A point is one choice of all tile sizes of a template (a mapping without loops). Raises
    OutOfBudget when `limits` end, and TilewrightError if there are too many uneven tiles to count;
    UnsupportedFeature if there are too many choices of lanes (instances of fanouts) to list.
    """
    points_left = limit
    for points in limits.checking(space.points_within(limits.check)):
        points_left -= points.count
        if points_left < 0:
            return False
    return True


def is_enumerable(space: Mapspace, limits: Budget = UNLIMITED) -> bool:
    """Tell whether all mappings of a mapspace can be scored in some ten seconds.

    At most 20,000 that fit, among at most 300,000 points. True as well if `limits` end before it
    is known. A point is one choice of all tile sizes of a template (a mapping without loops).
    """
    try:
        if has_at_most_points(space, MAX_SCORED, limits):
            return True
        if not has_at_most_points(space, MAX_CHECKED, limits):
            return False
        fitting = chain.from_iterable(space.points_within(limits.check))
        return next(islice(limits.checking(fitting), MAX_SCORED, None), None) is None
    except OutOfBudget:
        return True
    except TilewrightError:  # too large to be counted
        return False
