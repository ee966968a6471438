"""The exact search where it models some templates only; the others are bounded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.budget import Budget, OutOfBudget, budget_from
from tilewright.mapper.searches.exact.exact import ExactSearch
from tilewright.mapper.searches.exact.label_fields import label_fields
from tilewright.mapper.searches.exact.label_metrics import Goal
from tilewright.mapper.searches.exact.least_placement_costs import least_value
from tilewright.mapper.searches.exact.metric_terms import leaks_of
from tilewright.mapper.searches.methods.exhaustive import ExhaustiveSearch, better_of, is_enumerable
from tilewright.mapper.searches.program.program import TemplateCompiler
from tilewright.mapper.searches.result import MapspaceResult, SearchStatistics
from tilewright.mapper.templates.placement import Template
from tilewright.mapper.workload.errors import UnsupportedFeature


@dataclass(frozen=True, slots=True)
class PartialSearch:
    """The exact search where it can model only some of the templates.

    The other templates are enumerated if they have few mappings; else the result is the best of
    the modelled ones with a lower bound over all. `memory`: bytes of the process before which it
    ends. A template is a mapping without its loops.
    """

    memory: float = inf

    def find(self, space: Mapspace, goal: Goal, budget: float | None) -> MapspaceResult:
        """Return the best mapping of the modelled templates, or of all if the others are few.

        The lower bound holds for all. `goal`: what is least; `budget`: seconds, None for no limit.
        A template is a mapping without its loops. Raises UnsupportedFeature if the modelled
        templates have no mapping and the others are too many to list.
        """
        limits = budget_from(budget, self.memory)
        try:
            modelled, unmodelled = _divided(space, limits)
        except OutOfBudget:
            return MapspaceResult(None, least_value(space, goal), False, SearchStatistics(solved=1))
        result = ExactSearch(self.memory).find(modelled, goal, limits.seconds_left)
        if is_enumerable(unmodelled, limits):
            listing = ExhaustiveSearch(memory=self.memory)
            return _both(result, listing.find(unmodelled, goal, limits.seconds_left), goal)
        if result.best is None and result.proven:
            raise UnsupportedFeature(
                f"{space.einsum.name} has no mapping but with lanes above holders of outer memories"
                " that the search does not model",
                instead="force_memory_hierarchy_order: true for the memories",
            )
        lower = min(result.lower_bound, least_value(space, goal))
        return replace(result, lower_bound=lower, proven=False)


def _both(first: MapspaceResult, second: MapspaceResult, goal: Goal) -> MapspaceResult:
    """Merge the results of two parts of a mapspace: the better mapping, the lower bound."""
    return MapspaceResult(
        better_of(second.best, first.best, goal),
        min(first.lower_bound, second.lower_bound),
        first.proven and second.proven,
        first.statistics.plus(second.statistics),
    )


def _divided(space: Mapspace, limits: Budget) -> tuple[Mapspace, Mapspace]:
    """Return two mapspaces: of the templates that the dynamic program models, and of the others.

    Raises OutOfBudget.
    """
    leaks = leaks_of(space.flat, space.conventions)
    compiler = TemplateCompiler(space.problem, label_fields(space.problem, leaks))
    parts: tuple[list[Template], list[Template]] = ([], [])
    for template in limits.checking(space.search_templates(limits.check)):
        parts[not _models(compiler, template)].append(template)
    return space.narrowed(parts[0]), space.narrowed(parts[1])


def _models(compiler: TemplateCompiler, template: Template) -> bool:
    try:
        next(compiler.programs(template), None)
    except UnsupportedFeature:
        return False
    return True
