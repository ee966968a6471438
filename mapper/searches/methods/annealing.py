"""Simulated annealing over the neighbours of a mapspace."""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import dataclass
from math import exp, inf, log

from tilewright.mapper.mapspace.locate import MapspacePoint
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.budget import Budget, OutOfBudget, budget_from
from tilewright.mapper.searches.exact.label_metrics import Goal
from tilewright.mapper.searches.mapping_scorer import MappingScorer
from tilewright.mapper.searches.methods.bound_for_heuristics import (
    lower_bound_in_share,
    smallest_mapping,
)
from tilewright.mapper.searches.methods.exhaustive import evaluated, is_better
from tilewright.mapper.searches.result import EinsumMapping, ImprovingSearch, MapspaceResult, Report
from tilewright.mapper.workload.errors import InfeasibleMapping

HOT, COLD = 0.5, 1e-3  # accept a loss of this relative size in one of e steps, at first and at last
RESTARTS = 4
TRIES = 200  # draws for a start


@dataclass(frozen=True, slots=True)
class AnnealingSearch(ImprovingSearch):
    """A search method: simulated annealing over neighbouring mappings.

    `samples`: steps in all, in four runs from random mappings; `seed`: of the random numbers. A
    step to a worse mapping is taken with probability exp(-loss / temperature), where loss is the
    logarithm of the ratio of the objectives (Kirkpatrick et al., Science 220, 1983); the
    temperature falls geometrically from 0.5 to 0.001. Same seed, same answer, unless a budget ends
    it early. `report`: called with each better value. `memory`: bytes of the process before which
    it ends.
    """

    samples: int = 2000
    seed: int = 0

    def find(self, space: Mapspace, goal: Goal, budget: float | None) -> MapspaceResult:
        """Return the best mapping met, with the lower bound from which the exact search starts.

        `goal`: what is least; `budget`: seconds, None for no limit. Proven only if there is no
        mapping. Raises UnsupportedFeature if there are too many choices of lanes (instances of
        fanouts) to list.
        """
        limits, run = budget_from(budget, self.memory), AnnealingRun(space, goal, self.report)
        bound, empty = lower_bound_in_share(space, goal, limits), False
        with suppress(OutOfBudget):  # then `run` has what was found so far
            empty = self._cooled(run, space, limits)
        statistics = evaluated(space, run.count)
        return MapspaceResult(run.best, inf if empty else bound, empty, statistics)

    def _cooled(self, run: AnnealingRun, space: Mapspace, limits: Budget) -> bool:
        """Walk from each start while the temperature falls.

        Tell whether there is no mapping at all. Raises OutOfBudget.
        """
        rng = random.Random(self.seed)  # noqa: S311 - a search, not a secret
        roomy = smallest_mapping(space, limits)
        if roomy is None:
            return True
        for _ in range(RESTARTS):
            run.cool(_start(space, rng) or roomy, rng, self.samples // RESTARTS, limits)
        return run.best is None


def _start(space: Mapspace, rng: random.Random) -> MapspacePoint | None:
    try:
        return space.draw(rng, TRIES)
    except InfeasibleMapping:
        return None


class AnnealingRun:
    """One walk or several over neighbouring mappings, with the best mapping met.

    `best`: that mapping with its costs, None before the first; `count`: mappings scored. `report`:
    called with the value whenever the best gets better.
    """

    def __init__(self, space: Mapspace, goal: Goal, report: Report) -> None:
        self._space = space
        self._goal = goal
        self._judge = MappingScorer(space)
        self._report = report
        self.best: EinsumMapping | None = None
        self.count = 0

    def cool(self, point: MapspacePoint, rng: random.Random, steps: int, limits: Budget) -> None:
        """Walk `steps` random steps from a point of the mapspace while the temperature falls.

        The best mapping met is kept in `best`. A point is one choice of all tile sizes of a
        template (a mapping without loops). Raises OutOfBudget when `limits` end.
        """
        value = self._scored(point)
        for step in limits.checking(range(steps)):
            neighbour = self._space.random_neighbour(point, rng)
            if neighbour is None:
                continue
            neighbour_value = self._scored(neighbour)
            temperature = HOT * (COLD / HOT) ** (step / steps)
            if _accepted(value, neighbour_value, temperature, rng):
                point, value = neighbour, neighbour_value

    def _scored(self, place: MapspacePoint) -> float:
        self.count += 1
        try:
            candidate = self._judge.costed(self._space.mapping_at(place))
        except InfeasibleMapping:
            return inf
        if self.best is None or is_better(candidate, self.best, self._goal):
            self.best = candidate
            self._report(candidate.value(self._goal), 0.0)
        return candidate.value(self._goal)


def _accepted(old: float, new: float, temperature: float, rng: random.Random) -> bool:
    if new <= old or old == inf:
        return True
    if new == inf or old <= 0:
        return False
    return rng.random() < exp(-log(new / old) / temperature)
