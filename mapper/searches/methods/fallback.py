"""Any mapping, good or bad, in hundredths of a second: before, or instead of, a search."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilewright.mapper.explain.existence import Existence
from tilewright.mapper.mapspace.assemble import assemble
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.budget import OutOfBudget, budget_from
from tilewright.mapper.searches.exact.beam import PATIENCE
from tilewright.mapper.searches.exact.label_metrics import Goal
from tilewright.mapper.searches.mapping_scorer import TOLERANCE, MappingScorer
from tilewright.mapper.searches.methods.default_search import DefaultSearch
from tilewright.mapper.searches.methods.exhaustive import costed_or_none
from tilewright.mapper.searches.result import EinsumMapping, MapspaceResult, SearchStatistics
from tilewright.mapper.templates.slot_sequence import slot_sequence
from tilewright.mapper.workload.errors import UnsupportedFeature


@dataclass(frozen=True, slots=True)
class AnyMappingSearch:
    """Takes the first mapping that fits, good or bad; it proves nothing."""

    def find(self, space: Mapspace, goal: Goal, budget: float | None) -> MapspaceResult:
        """Return a mapping within 0.2 seconds, if one is found, with a bound of 0.

        Copy Einsums have a fast search of their own, which is taken. `goal`, `budget`: for it.
        """
        if space.einsum.is_copy:
            return DefaultSearch().find(space, goal, budget)
        return MapspaceResult(_any_mapping(space), 0.0, False, SearchStatistics(solved=1))


def with_fallback_mapping(result: MapspaceResult, space: Mapspace, goal: Goal) -> MapspaceResult:
    """Add a mapping to the result of a search that its budget ended without one.

    It is sought for 0.2 seconds more; if none is found, the result stays as it is. The lower bound
    is at most the value of the mapping.
    """
    if result.best is not None or result.proven:
        return result
    best = _any_mapping(space)
    if best is None:
        return result
    value = best.value(goal)
    proven = value <= result.lower_bound * (1 + TOLERANCE)
    return replace(result, best=best, lower_bound=min(result.lower_bound, value), proven=proven)


def _any_mapping(space: Mapspace) -> EinsumMapping | None:
    patience = replace(budget_from(PATIENCE), stops_on_request=False)
    try:
        example = Existence(lambda _: patience.check()).find(space)
    except (OutOfBudget, UnsupportedFeature):
        return None
    if example is None:
        return None
    slots = slot_sequence(example.problem, example.template)
    return costed_or_none(MappingScorer(space), assemble(example.problem, slots, example.tiles))
