"""The exact search of one mapspace: the dynamic program, by placement where these are many."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from math import inf

from tilewright.mapper.mapspace.assemble import assemble
from tilewright.mapper.mapspace.lattice import Lattice
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.budget import (
    UNLIMITED,
    Budget,
    OutOfBudget,
    budget_from,
    machine_bytes,
)
from tilewright.mapper.searches.exact.beam import PATIENCE, BeamSearch
from tilewright.mapper.searches.exact.dynamic_program import BestLabel, DynamicSearch
from tilewright.mapper.searches.exact.label_metrics import Goal
from tilewright.mapper.searches.exact.least_placement_costs import least_costs, least_value
from tilewright.mapper.searches.exact.metric_terms import refuse_unsupported
from tilewright.mapper.searches.program.compiled_mapspace import compile_mapspace
from tilewright.mapper.searches.result import EinsumMapping, MapspaceResult, SearchStatistics
from tilewright.mapper.templates.placement import Placement

FIRST_SHARE = 0.5  # of the budget: the most that a first mapping may take
FIRST_BYTES = 64e6  # that a first mapping may take beyond a limit of memory
BYTES_PER_SECOND = 5e8  # of tables of all tiles, which a first mapping passes several times
FEW_PLACEMENTS = 16  # below which all are searched at once
FIRST_COSTS = 1.02  # of the least bound: placements that are searched first,
FIRST_PART = 4  # unless more than one of so many are among them
MARGIN = 1e-9  # relative: a placement that may have a mapping of equal value is searched


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
        tables = Lattice(space.einsum.bounds).table_bytes
        most = machine_bytes() if budget is None else BYTES_PER_SECOND * budget
        if tables > FIRST_BYTES and (tables > most or limits.lacks(tables)):
            return _result_without_program(space, goal, None)
        first = beam.find(FIRST_SHARE * (budget or 0.0)) if limits.is_limited else None
        result = _dynamic_result(space, goal, limits, first)
        if result.best is None and not result.proven:  # a late answer is better than none
            fallback = beam.find(inf if budget is None else PATIENCE, most=1)
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
    """Search all templates; where there are many placements, first those with the least bounds.

    Templates of a placement whose bound is above the value of a mapping are not even made: most of
    them, as a rule, where memories may be left out. `first`: a mapping to start from.
    """
    bounds = _bounds_of_placements(space, goal)
    cheap = _cheapest(bounds)
    if not cheap:
        return _searched(space, goal, limits, first)
    part = _searched(space, goal, limits, first, cheap)
    value = inf if part.best is None else part.best.value(goal)
    needed = [p for p, bound in bounds.items() if bound <= value * (1 + MARGIN)]
    if set(needed) <= set(cheap):
        return part if part.proven else _with_bound_of(part, bounds, cheap)
    searched = tuple(bounds) if 2 * len(needed) > len(bounds) else tuple(needed)
    result = _searched(space, goal, limits, first, None if len(searched) == len(bounds) else needed)
    if result.proven:
        return result
    known = [each.best for each in (result, part) if each.best is not None]
    best = min(known, key=lambda mapping: mapping.value(goal), default=None)
    return _with_bound_of(replace(result, best=best), bounds, searched)


def _bounds_of_placements(space: Mapspace, goal: Goal) -> dict[Placement, float]:
    """Return a lower bound of the goal for each placement, for all instances of the Einsum.

    Empty where placements are few, or the templates are chosen already.
    """
    if space.chosen_templates is not None or len(space.placements) < FEW_PLACEMENTS:
        return {}
    bounds = {}
    for placement in space.placements:
        energy, latency = (x * space.einsum.n_instances for x in least_costs(space, [placement]))
        bounds[placement] = goal.value(energy, latency)
    return bounds


def _cheapest(bounds: Mapping[Placement, float]) -> list[Placement]:
    """Return the placements whose bounds are near the least.

    An empty list if they are a large part of all: looking at them first would gain nothing.
    """
    most = min(bounds.values(), default=inf) * FIRST_COSTS
    cheap = [placement for placement, bound in bounds.items() if bound <= most]
    return cheap if len(cheap) <= len(bounds) // FIRST_PART else []


def _with_bound_of(
    result: MapspaceResult, bounds: Mapping[Placement, float], searched: Collection[Placement]
) -> MapspaceResult:
    """Return an unproven result of some placements with a lower bound that holds for all.

    `searched`: these placements.
    """
    others = (bound for placement, bound in bounds.items() if placement not in searched)
    return replace(result, lower_bound=min(result.lower_bound, *others, inf))


def _searched(
    space: Mapspace,
    goal: Goal,
    limits: Budget,
    first: BestLabel | None,
    among: Collection[Placement] | None = None,
) -> MapspaceResult:
    """Run the dynamic program over the templates of some placements (`among`; None: of all).

    `first`: a mapping to start from.
    """
    try:
        if among is not None:
            space = space.narrowed(space.search_templates(limits.check, frozenset(among)))
        compiled = compile_mapspace(space, goal.price, limits)
    except OutOfBudget:
        return _result_without_program(space, goal, first)
    outcome = DynamicSearch(compiled, limits, first).solve(goal.objective)
    statistics = SearchStatistics(
        templates=compiled.n_templates,
        states=compiled.engine.lattice.size,
        labels=outcome.labels,
        solved=1,
    )
    bound = _of_all_instances(space, goal, outcome.lower_bound)
    best = _mapping_of(space, outcome.best)
    if outcome.exhausted:  # the bound of all placements may be higher
        value = inf if best is None else best.value(goal)
        bound = min(max(bound, least_value(space, goal)), value)
    return MapspaceResult(best, bound, not outcome.exhausted, statistics)


def _result_without_program(space: Mapspace, goal: Goal, first: BestLabel | None) -> MapspaceResult:
    """Return the result if time ended while templates were compiled.

    It has the first mapping, if any, and the bound of all placements.
    """
    best, bound = _mapping_of(space, first), least_value(space, goal)
    if best is not None:
        bound = min(bound, best.value(goal))
    return MapspaceResult(best, bound, False, SearchStatistics(solved=1))


def _mapping_of(space: Mapspace, label: BestLabel | None) -> EinsumMapping | None:
    """Return the mapping of a label with the costs of all instances of the Einsum.

    None for no label.
    """
    if label is None:
        return None
    instances = space.einsum.n_instances
    mapping = assemble(space.problem, label.program.slot_sequence, label.tiles)
    return EinsumMapping(mapping, label.energy * instances, label.latency * instances)


def _of_all_instances(space: Mapspace, goal: Goal, bound: float) -> float:
    """Return a bound for all instances of the Einsum from that of one; edp grows by the square."""
    instances = space.einsum.n_instances
    return bound * (instances * instances if goal.objective == "edp" else instances)
