"""Score every mapping of the mapspace: the oracle on small spaces."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import inf

from tilewright.mapper.errors import InfeasibleMapping, MappingError
from tilewright.mapper.mapping import Mapping
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.judge import Judge
from tilewright.mapper.searches.metrics import Goal
from tilewright.mapper.searches.result import (
    EinsumMapping,
    Report,
    SpaceResult,
    Statistics,
    no_report,
)

_TIE = 1e-12


@dataclass(frozen=True, slots=True)
class ExhaustiveSearch:
    """All mappings in turn; without a budget its result is the optimum."""

    report: Report = no_report

    def watched(self, report: Report) -> ExhaustiveSearch:
        """Return the same search that calls `report` whenever its best value falls."""
        return replace(self, report=report)

    def find(self, space: Mapspace, goal: Goal, budget: float | None) -> SpaceResult:
        """Return the best mapping; `proven` unless the budget ended before the space did."""
        began = time.monotonic()
        best, count, ended = best_of(space, space, goal, _deadline(budget), self.report)
        statistics = Statistics(len(space.templates), 0, 0, count, 1, time.monotonic() - began)
        bound = best.value(goal) if best is not None and ended else 0.0
        if best is None and ended:
            bound = inf
        return SpaceResult(best, bound, ended, statistics)


def _deadline(budget: float | None) -> float:
    return inf if budget is None else time.monotonic() + budget


def best_of(
    mappings: Iterable[Mapping],
    space: Mapspace,
    goal: Goal,
    deadline: float,
    report: Report = no_report,
) -> tuple[EinsumMapping | None, int, bool]:
    """Return the best of some mappings, how many were scored, and whether all were."""
    judge = Judge(space)
    best: EinsumMapping | None = None
    count = 0
    for mapping in mappings:
        if time.monotonic() > deadline:
            return best, count, False
        count += 1
        try:
            candidate = judge.candidate(mapping)
        except (InfeasibleMapping, MappingError):  # the latter: loops that cannot change places
            continue
        if best is None or better(candidate, best, goal):
            best = candidate
            report(best.value(goal), 0.0)
    return best, count, True


def better(candidate: EinsumMapping, best: EinsumMapping, goal: Goal) -> bool:
    """Compare by the objective; among equals the other metric decides."""
    mine, its = candidate.value(goal), best.value(goal)
    if abs(mine - its) > _TIE * max(abs(mine), abs(its)):
        return mine < its
    return candidate.value(goal.second) < best.value(goal.second)
