"""The search that is used when none is asked for: exact wherever that can be promised."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.budget import budget_from
from tilewright.mapper.searches.copies.copy_einsums import CopySearch
from tilewright.mapper.searches.exact.exact import ExactSearch
from tilewright.mapper.searches.exact.label_metrics import Goal
from tilewright.mapper.searches.exact.metric_terms import refuse_unsupported
from tilewright.mapper.searches.methods.exhaustive import ExhaustiveSearch, is_enumerable
from tilewright.mapper.searches.methods.hierarchy_order import HierarchyOrderSearch
from tilewright.mapper.searches.methods.partial_search import PartialSearch
from tilewright.mapper.searches.result import MapspaceResult
from tilewright.mapper.workload.errors import UnsupportedFeature


@dataclass(frozen=True, slots=True)
class DefaultSearch:
    """The search method used when none is asked for: exact wherever that can be promised.

    Copy Einsums have a search of their own. What the dynamic program cannot model is enumerated if
    small; else it is searched in part with a bound, or refused. `memory`: bytes of the process
    before which it ends.
    """

    memory: float = inf

    def find(self, space: Mapspace, goal: Goal, budget: float | None) -> MapspaceResult:
        """Return the best mapping, proven or with a lower bound.

        `goal`: what is least; `budget`: seconds, None for no limit. Raises UnsupportedFeature,
        which names what stands in the way.
        """
        if space.einsum.is_copy:
            return CopySearch(self.memory).find(space, goal, budget)
        limits = budget_from(budget, self.memory)
        try:
            return ExactSearch(self.memory).find(space, goal, budget)
        except UnsupportedFeature:
            if is_enumerable(space, limits):
                listing = ExhaustiveSearch(memory=self.memory)
                return listing.find(space, goal, limits.seconds_left)
            if space.uneven:
                return HierarchyOrderSearch(self.memory).find(space, goal, limits.seconds_left)
            refuse_unsupported(space.problem, networks=True, arrays=True)
            return PartialSearch(self.memory).find(space, goal, limits.seconds_left)
