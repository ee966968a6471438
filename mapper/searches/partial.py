"""The exact search where it models some templates only; the others are bounded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

from tilewright.mapper.mapspace.placement import Template
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.budget import Budget, OutOfBudget, budget_from
from tilewright.mapper.searches.compulsory import least_value
from tilewright.mapper.searches.errors import UnsupportedFeature
from tilewright.mapper.searches.exact import ExactSearch
from tilewright.mapper.searches.fields import fields
from tilewright.mapper.searches.metrics import Goal
from tilewright.mapper.searches.problem import leaks_of
from tilewright.mapper.searches.program import Compiler
from tilewright.mapper.searches.result import SpaceResult, Statistics


@dataclass(frozen=True, slots=True)
class PartialSearch:
    """Optimal among the templates that the dynamic program models, with a bound on all.

    `memory`: as in ExactSearch.
    """

    memory: float = inf

    def find(self, space: Mapspace, goal: Goal, budget: float | None) -> SpaceResult:
        """Return the best of these templates; UnsupportedFeature if none of them has a mapping."""
        limits = budget_from(budget, self.memory)
        try:
            part = _modelled(space, limits)
        except OutOfBudget:
            return SpaceResult(None, least_value(space, goal), False, Statistics(solved=1))
        result = ExactSearch(self.memory).find(part, goal, limits.seconds_left)
        if result.best is None and result.proven:
            raise UnsupportedFeature(
                f"{space.einsum.name} has no mapping but with lanes above holders of outer memories"
                " that the search does not model",
                instead="force_memory_hierarchy_order: true for the memories",
            )
        lower = min(result.lower_bound, least_value(space, goal))
        return replace(result, lower_bound=lower, proven=False)


def _modelled(space: Mapspace, limits: Budget) -> Mapspace:
    """Return the mapspace of the templates that the dynamic program models. OutOfBudget."""
    leaks = leaks_of(space.flat, space.conventions)
    compiler = Compiler(space.frame, fields(space.frame, leaks))
    every = limits.watched(space.searched_within(limits.check))
    return space.narrowed([one for one in every if _models(compiler, one)])


def _models(compiler: Compiler, template: Template) -> bool:
    try:
        next(compiler.programs(template), None)
    except UnsupportedFeature:
        return False
    return True
