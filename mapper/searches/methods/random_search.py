"""Random search: score mappings drawn uniformly from the mapspace."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.budget import Budget, budget_from
from tilewright.mapper.searches.exact.label_metrics import Goal
from tilewright.mapper.searches.methods.bound_for_heuristics import (
    lower_bound_in_share,
    smallest_mapping,
)
from tilewright.mapper.searches.methods.exhaustive import best_scored, evaluated
from tilewright.mapper.searches.result import ImprovingSearch, MapspaceResult
from tilewright.mapper.workload.errors import InfeasibleMapping


@dataclass(frozen=True, slots=True)
class RandomSearch(ImprovingSearch):
    """A search method: score mappings drawn uniformly from those that fit.

    `samples`: how many at most; where none of 10,000 draws fits, the smallest mapping is scored and
    drawing ends. `seed`: of the random numbers; same seed, same answer, unless a budget
    ends it early. `report`: called with each better value. `memory`: bytes of the process before
    which it ends. The answer has the lower bound with which the exact search begins, so a gap; no
    mapping is proven the best.
    """

    samples: int = 1000
    seed: int = 0

    def find(self, space: Mapspace, goal: Goal, budget: float | None) -> MapspaceResult:
        """Return the best of the draws, with the lower bound from which the exact search starts.

        `goal`: what is least; `budget`: seconds, None for no limit. Proven only if there is no
        mapping. Raises UnsupportedFeature if there are too many choices of lanes (instances of
        fanouts) to list.
        """
        limits = budget_from(budget, self.memory)
        bound = lower_bound_in_share(space, goal, limits)
        draws = self._draws(space, limits)
        best, count, ended = best_scored(draws, space, goal, limits, self.report)
        statistics = evaluated(space, count)
        if best is None:
            empty = ended and count == 0
            return MapspaceResult(None, inf if empty else bound, empty, statistics)
        return MapspaceResult(best, bound, False, statistics)

    def _draws(self, space: Mapspace, limits: Budget) -> Iterator[Mapping]:
        rng = random.Random(self.seed)  # noqa: S311 - a search, not a secret
        roomy = smallest_mapping(space, limits)
        for _ in range(self.samples if roomy is not None else 0):
            try:
                yield space.sample(rng)
            except InfeasibleMapping:  # hardly any point fits
                assert roomy is not None
                yield space.mapping_at(roomy)
                return
