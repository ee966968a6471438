"""Raise what one Einsum costs at least with one choice of tensors on chip.

The choice is searched by itself below a limit that rises, until a mapping attains the bound, or the
choice can be in no mapping that is wanted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from tilewright.mapper.fusion.bounds.cost_limit import (
    NEVER,
    CostLimit,
    EnergyLatency,
    exceeds,
    with_metric,
)
from tilewright.mapper.fusion.fused_problem import FusedProblem
from tilewright.mapper.fusion.pmappings.pmapping_builder import (
    NOISE,
    OnChipChoice,
    PmappingFilter,
    TableBuilder,
)
from tilewright.mapper.fusion.pmappings.pmapping_cache import CachedBound

# relative to the bound at the start
DEEPENING = (1e-9, 0.02, 0.1, 0.2, 0.35, 0.6, 1.0, 2.0, 8.0, inf)
LEAST_RISE = 0.05  # relative: the least that a bound is taken to be able to rise
TINY = 1e-300
METRICS = (0, 1)  # energy, latency


@dataclass(slots=True)
class ChoiceBound:
    """What one choice of one Einsum costs at least.

    `start`: the bound before any search. `raised`: metrics whose bounds are as high as they matter.
    `searches`: how often the choice was searched on its own, each time up to a higher limit.
    """

    choice: OnChipChoice
    bound: EnergyLatency
    start: EnergyLatency | None = None
    raised: frozenset[int] = frozenset()
    searches: int = 0

    @property
    def known_start(self) -> EnergyLatency:
        """The bound before any search, which is known by now."""
        assert self.start is not None
        return self.start


class Aim(NamedTuple):
    """How far bounds are raised: of one metric, up to so much above the start, relative."""

    metric: int
    slack: float

    def limit(self, start: float, highest: float) -> float:
        """Return the limit of the metric; `highest`: where the choice cannot matter."""
        limit = start * (1 + self.slack) if start > 0 and self.slack < inf else inf
        return min(limit, highest)


class ChoiceSearch:
    """Raise the bounds of single choices of tensors on chip.

    `problem`: the workload and the objective; with a few placements only, bounds are what good
    mappings cost. `builder`: searches the pmappings of an Einsum. `estimate`: returns what some
    mapping with a choice costs, in the metric of the objective, to search it up to there at once;
    inf: not known. `metric`: that of the objective, 0 energy or 1 latency.
    """

    def __init__(
        self,
        problem: FusedProblem,
        builder: TableBuilder,
        estimate: Callable[[OnChipChoice], float],
    ) -> None:
        self._builder = builder
        self._estimate = estimate
        self._ties = problem.ties
        self.metric = int(problem.objective == "latency")
        self._beam = problem.is_narrowed and self.metric == 0

    def initial_bound(self, choice: OnChipChoice) -> EnergyLatency | None:
        """Return the bound of a choice before any search; None if it is not looked at."""
        if self._ties is None:
            return self._builder.compulsory_costs(choice)
        return self._ties.choice_bounds.get(choice.name)

    def rise(self, bound: ChoiceBound) -> float:
        """Return by how much a bound may rise, as a guess: to the cost of a known mapping."""
        known = bound.bound[self.metric]
        estimate = self._estimate(bound.choice)
        return max(estimate - known if estimate < inf else known, LEAST_RISE * known, TINY)

    def search_further(self, bound: ChoiceBound, limit: EnergyLatency) -> None:
        """Search a choice up to a higher limit than before."""
        slack = DEEPENING[min(bound.searches, len(DEEPENING) - 1)]
        estimate = self._estimate(bound.choice)
        is_known = estimate < inf
        starts = bound.start is None and (is_known or self._beam)
        if starts and not exceeds(bound.bound, limit):
            self.start(bound)
        if starts and is_known and bound.start is not None:
            slack = max(slack, estimate * (1 + NOISE) / bound.known_start[self.metric] - 1)
        if self._beam and bound.start is not None and self._builder.leaks_much(bound.choice):
            slack = inf  # little latency is limit enough, and leads near the least energy
        bound.searches += 1
        self.raise_choice(bound, Aim(self.metric, slack), limit)

    def raise_choice(self, bound: ChoiceBound, aim: Aim, limit: EnergyLatency) -> None:
        """Look for pmappings a little above the start; without any the bound is there.

        `limit`: what the Einsum may cost with this choice.
        """
        if bound.start is None and not exceeds(bound.bound, limit):
            self.start(bound)
        metric = aim.metric
        if exceeds(bound.bound, limit):
            bound.bound, bound.raised = NEVER, frozenset(METRICS)
            return
        highest = aim.limit(bound.known_start[metric], limit[metric])
        attained = self._look_below(bound, aim, with_metric(limit, metric, highest))
        if not attained and highest >= limit[metric]:
            bound.bound, bound.raised = NEVER, bound.raised | {metric}

    def _look_below(self, bound: ChoiceBound, aim: Aim, limit: EnergyLatency) -> bool:
        """Look for pmappings that cost no more than `limit`.

        Tell whether the bound is now attained by one of them.
        """
        metric = aim.metric
        cached = self._cached_least(bound, metric)
        if cached.attained and self._ties is None:
            return self._set_bound(bound, metric, cached.bound, True)
        if cached.rules_out(limit[metric]):
            return self._set_bound(bound, metric, cached.bound, False)
        ceilings = limit if self._ties is not None else with_metric(NEVER, metric, limit[metric])
        cost_limit = CostLimit(*ceilings)
        if metric and aim.slack == DEEPENING[0] and self._attains_start(bound, cost_limit):
            return self._set_bound(bound, metric, bound.known_start[metric], True)
        pmapping_filter = PmappingFilter(cost_limit, beam=self._beam)
        least_cost = self._builder.least_cost(bound.choice, pmapping_filter, metric)
        if least_cost == inf:
            return self._set_bound(bound, metric, limit[metric], False)
        return self._set_bound(bound, metric, least_cost, True)

    def _set_bound(self, bound: ChoiceBound, metric: int, value: float, attained: bool) -> bool:
        """Note a bound of one metric, and whether some pmapping attains it, which is returned."""
        bound.bound = with_metric(bound.bound, metric, value)
        if attained:
            bound.raised |= {metric}
        cached_bound = self._cached_least(bound, metric).bound
        if self._ties is None and (attained or value > cached_bound):
            cache = self._builder.cache.least_costs
            cache[bound.choice.key_alone, metric] = CachedBound(value, attained)
        return attained

    def _cached_least(self, bound: ChoiceBound, metric: int) -> CachedBound:
        cache = self._builder.cache.least_costs
        return cache.get((bound.choice.key_alone, metric), CachedBound(0.0, False))

    def _attains_start(self, bound: ChoiceBound, cost_limit: CostLimit) -> bool:
        """Tell whether few pmappings show already that the latency of the start is attained."""
        for fused in (False, True):
            pmapping_filter = PmappingFilter(cost_limit, fused, representatives=True)
            least_latency = self._builder.least_cost(bound.choice, pmapping_filter, 1)
            if least_latency <= bound.known_start[1] * (1 + NOISE):
                return True
        return False

    def start(self, bound: ChoiceBound) -> None:
        """Raise a bound to where a search of its choice starts, or to what is known by now."""
        energy, latency = self._builder.start_bounds(bound.choice)
        energy, latency = max(energy, bound.bound[0]), max(latency, bound.bound[1])
        bound.start = energy, latency
        cached_bounds = [self._cached_least(bound, metric).bound for metric in METRICS]
        bound.bound = max(energy, cached_bounds[0]), max(latency, cached_bounds[1])
