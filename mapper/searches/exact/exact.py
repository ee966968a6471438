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
from tilewright.mapper.searches.exact.least_placement_costs import least_value
from tilewright.mapper.searches.exact.metric_terms import refuse_unsupported
from tilewright.mapper.searches.program.compiled_mapspace import compile_mapspace
from tilewright.mapper.searches.result import EinsumMapping, MapspaceResult, SearchStatistics

FIRST_SHARE = 0.5  # of the budget: the most that a first mapping may take


@dataclass(frozen=True, slots=True)
class ExactSearch:
    """A search method that proves its optimum, by dynamic programming over tile sizes.

    With uneven rank variables it hands over to the uneven search (theory/lattice.md). `memory`:
    bytes of main memory of the process; the search ends before it needs more.
    """

    memory: float = inf

    def find(self, space: Mapspace, goal: Goal, budget: float | None) -> MapspaceResult:
        """Return the best mapping with a proof, or the best found with a bound when time is up.

        `goal`: what is least; `budget`: seconds, None for no limit. Costs are for all instances of
        the Einsum. Raises UnsupportedFeature for what the program does not model, such as copy
        Einsums.
        """
        if space.uneven:
            from tilewright.mapper.searches.uneven.uneven_search import UnevenSearch

            return UnevenSearch(self.find, self.memory).find(space, goal, budget)
        refuse_unsupported(space.problem, networks=True, arrays=True)
        limits, beam = budget_from(budget, self.memory), BeamSearch(space, goal)
        first = beam.find(FIRST_SHARE * (budget or 0.0)) if limits.is_limited else None
        result = _dynamic_result(space, goal, limits, first)
        if result.best is None and not result.proven:  # a late answer is better than none
            fallback = beam.find_any(inf if budget is None else PATIENCE)
            result = replace(result, best=_mapping_of(space, fallback))
        return result

    def bound(self, space: Mapspace, goal: Goal, limits: Budget = UNLIMITED) -> float:
        """Return a lower bound of the goal's value over all mappings, without a search.

        For all instances, in J, s or J s; infinity if there is no mapping. It is the bound that
        `find` starts from. Raises UnsupportedFeature as `find` does, OutOfBudget when `limits`
        end.
        """
        refuse_unsupported(space.problem, networks=True, arrays=True)
        compiled = compile_mapspace(space, goal.price, limits)
        return _of_all_instances(space, goal, DynamicSearch(compiled).bound(goal.objective))


def _dynamic_result(
    space: Mapspace, goal: Goal, limits: Budget, first: BestLabel | None
) -> MapspaceResult:
    """Run the dynamic program over all templates; `first`: a mapping to start from."""
    began = time.monotonic()
    try:
        compiled = compile_mapspace(space, goal.price, limits)
    except OutOfBudget:
        return _result_without_program(space, goal, first)
    outcome = DynamicSearch(compiled, limits, first).solve(goal.objective)
    statistics = SearchStatistics(
        templates=compiled.n_templates,
        states=compiled.engine.lattice.size,
        labels=outcome.labels,
        solved=1,
        seconds=time.monotonic() - began,
    )
    bound = _of_all_instances(space, goal, outcome.lower_bound)
    best = _mapping_of(space, outcome.best)
    if outcome.exhausted:  # the bound of all placements may be higher
        value = inf if best is None else best.value(goal)
        bound = min(max(bound, least_value(space, goal)), value)
    return MapspaceResult(best, bound, not outcome.exhausted, statistics)


def _result_without_program(space: Mapspace, goal: Goal, first: BestLabel | None) -> MapspaceResult:
    """Return the first mapping and the bound of all placements: not all templates are compiled."""
    best, bound = _mapping_of(space, first), least_value(space, goal)
    if best is not None:
        bound = min(bound, best.value(goal))
    return MapspaceResult(best, bound, False, SearchStatistics(solved=1))


def _mapping_of(space: Mapspace, label: BestLabel | None) -> EinsumMapping | None:
    """Return the mapping of a label with the costs of all instances of the Einsum."""
    if label is None:
        return None
    instances = space.einsum.n_instances
    mapping = assemble(space.problem, label.program.slot_sequence, label.tiles)
    return EinsumMapping(mapping, label.energy * instances, label.latency * instances)


def _of_all_instances(space: Mapspace, goal: Goal, bound: float) -> float:
    """Return the bound for all instances of the Einsum from that for one."""
    instances = space.einsum.n_instances
    return bound * (instances * instances if goal.objective == "edp" else instances)
