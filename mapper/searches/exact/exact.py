"""The dynamic program as a search of a mapspace."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from math import inf

from tilewright.mapper.mapspace.assemble import assemble
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.budget import UNLIMITED, Budget, OutOfBudget, budget_from
from tilewright.mapper.searches.exact.beam import PATIENCE, BeamSearch
from tilewright.mapper.searches.exact.dynamic_program import BestLabel, DynamicSearch
from tilewright.mapper.searches.exact.label_metrics import Goal
from tilewright.mapper.searches.exact.metric_terms import refuse_unsupported
from tilewright.mapper.searches.exact.placement_bound import least_value
from tilewright.mapper.searches.program.compiled_mapspace import compile_mapspace
from tilewright.mapper.searches.result import EinsumMapping, MapspaceResult, SearchStatistics

FIRST_SHARE = 0.5  # of the budget: the most that a first mapping may take


@dataclass(frozen=True, slots=True)
class ExactSearch:
    """Optimal by dynamic programming over tile-shape lattices (docs/theory/lattice.md).

    `memory`: bytes of the process; the search ends before it needs more.
    """

    memory: float = inf

    def find(self, space: Mapspace, goal: Goal, budget: float | None) -> MapspaceResult:
        """Return the optimum with its proof, or the best found with a bound when time runs out.

        UnsupportedFeature for what the program does not model (copies, …).
        """
        if space.uneven:
            from tilewright.mapper.searches.uneven.uneven_search import UnevenSearch

            return UnevenSearch(self.find, self.memory).find(space, goal, budget)
        refuse_unsupported(space.problem, networks=True, arrays=True)
        limits, hasty = budget_from(budget, self.memory), BeamSearch(space, goal)
        found = hasty.find(FIRST_SHARE * (budget or 0.0)) if limits.is_limited else None
        result = _searched(space, goal, limits, found)
        if result.best is None and not result.proven:  # an answer, late, is better than none
            late = _candidate(space, hasty.find_any(inf if budget is None else PATIENCE))
            result = replace(result, best=late)
        return result

    def bound(self, space: Mapspace, goal: Goal, limits: Budget = UNLIMITED) -> float:
        """Return the bound that `find` starts from, without a search; UnsupportedFeature as there.

        inf if there is no mapping. OutOfBudget.
        """
        refuse_unsupported(space.problem, networks=True, arrays=True)
        lower = DynamicSearch(compile_mapspace(space, goal.price, limits)).bound(goal.objective)
        return _of_all(space, goal, lower)


def _searched(
    space: Mapspace, goal: Goal, limits: Budget, found: BestLabel | None
) -> MapspaceResult:
    """Run the dynamic program over all templates; `found`: a mapping to start from."""
    began = time.monotonic()
    try:
        ready = compile_mapspace(space, goal.price, limits)
    except OutOfBudget:
        return _cut_short(space, goal, found)
    outcome = DynamicSearch(ready, limits, found).solve(goal.objective)
    statistics = SearchStatistics(
        templates=len(space.search_templates(limits.check)),
        states=ready.engine.lattice.size,
        labels=outcome.labels,
        solved=1,
        seconds=time.monotonic() - began,
    )
    bound = _of_all(space, goal, outcome.lower_bound)
    best = _candidate(space, outcome.best)
    if outcome.exhausted:  # what all mappings have in common may say more
        known = inf if best is None else best.value(goal)
        bound = min(max(bound, least_value(space, goal)), known)
    return MapspaceResult(best, bound, not outcome.exhausted, statistics)


def _cut_short(space: Mapspace, goal: Goal, found: BestLabel | None) -> MapspaceResult:
    """Return what is known when not all templates could be looked at."""
    best, bound = _candidate(space, found), least_value(space, goal)
    if best is not None:
        bound = min(bound, best.value(goal))
    return MapspaceResult(best, bound, False, SearchStatistics(solved=1))


def _candidate(space: Mapspace, found: BestLabel | None) -> EinsumMapping | None:
    if found is None:
        return None
    times = space.einsum.n_instances
    mapping = assemble(space.problem, found.program.slot_sequence, found.tiles)
    return EinsumMapping(mapping, found.energy * times, found.latency * times)


def _of_all(space: Mapspace, goal: Goal, bound: float) -> float:
    """Return the bound for all instances of the Einsum from that for one."""
    times = space.einsum.n_instances
    return bound * (times * times if goal.objective == "edp" else times)
