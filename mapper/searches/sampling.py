"""Random search: score mappings drawn uniformly from the mapspace."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from tilewright.mapper.mapping import Mapping
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.exhaustive import best_of
from tilewright.mapper.searches.metrics import Goal
from tilewright.mapper.searches.result import SpaceResult, Statistics


@dataclass(frozen=True, slots=True)
class RandomSearch:
    """`samples` draws with the generator started at `seed`; it proves nothing."""

    samples: int = 1000
    seed: int = 0

    def find(self, space: Mapspace, goal: Goal, budget: float | None) -> SpaceResult:
        """Return the best of the draws; the bound is 0."""
        began = time.monotonic()
        deadline = inf if budget is None else began + budget
        best, count, _ = best_of(self._draws(space), space, goal, deadline)
        statistics = Statistics(len(space.templates), 0, 0, count, 1, time.monotonic() - began)
        return SpaceResult(best, 0.0, False, statistics)

    def _draws(self, space: Mapspace) -> Iterator[Mapping]:
        rng = random.Random(self.seed)  # noqa: S311 - a search, not a secret
        for _ in range(self.samples):
            yield space.sample(rng)
