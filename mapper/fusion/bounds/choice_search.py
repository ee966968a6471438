"""Raise the lower bound of one Einsum's cost with one choice of tensors on chip.

The choice is searched by itself below a limit that rises, until a mapping attains the bound, or the
bound shows that the choice can be in no mapping of interest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

from tilewright.mapper.fusion.bounds.cost_limit import (
    NEVER,
    CostLimit,
    EnergyLatency,
    exceeds,
    with_metric,
)
from tilewright.mapper.fusion.fused_problem import FusedProblem
from tilewright.mapper.fusion.pmappings.on_chip_choice import OnChipChoice, PmappingFilter
from tilewright.mapper.fusion.pmappings.pmapping_builder import NOISE, TableBuilder
from tilewright.mapper.fusion.pmappings.pmapping_cache import CachedBound

# relative to the bound at the start
DEEPENING = (1e-9, 0.02, 0.1, 0.2, 0.35, 0.6, 1.0, 2.0, 8.0, inf)
LEAST_RISE = 0.05  # relative: the least that a bound is taken to be able to rise
TINY = 1e-300
METRICS = (0, 1)  # energy, latency


@dataclass(slots=True)
class ChoiceBound:
    """Lower bounds of energy (joule) and latency (second) of one Einsum with one choice on chip.

    `choice`: which tensors stay on chip. `bound`: the lower bounds. `start`: the bounds before any
    search, None until they are computed. `raised`: the bound of the metric searched for is final:
    attained, or too high to matter. `searches`: how often the choice was searched by itself.
    """

    choice: OnChipChoice
    bound: EnergyLatency
    start: EnergyLatency | None = None
    raised: bool = False
    searches: int = 0


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
        """Return lower bounds of a choice's energy and latency before any search, or None.

        None in a search for ties if the choice cannot be in a mapping as good as the best one.
        """
        if self._ties is None:
            return self._builder.compulsory_costs(choice)
        return self._ties.choice_bounds.get(choice.name)

    def rise(self, bound: ChoiceBound) -> float:
        """Return a guess by how much the bound may still rise: up to the cost of a known mapping.

        In joule or second; where no mapping is known, up to twice the bound.
        """
        known = bound.bound[self.metric]
        estimate = self._estimate(bound.choice)
        return max(estimate - known if estimate < inf else known, LEAST_RISE * known, TINY)

    def search_further(self, bound: ChoiceBound, limit: EnergyLatency) -> None:
        """Search a choice below a higher cost than the last time, and raise its bound.

        `limit`: what the Einsum may cost with this choice in a mapping of interest, joule and
        second.
        """
        slack = DEEPENING[min(bound.searches, len(DEEPENING) - 1)]
        estimate = self._estimate(bound.choice)
        is_new = bound.start is None
        if is_new and (estimate < inf or self._beam) and not exceeds(bound.bound, limit):
            self.start(bound)
        if bound.start is not None and is_new and estimate < inf:
            slack = max(slack, estimate * (1 + NOISE) / bound.start[self.metric] - 1)
        if bound.start is not None and self._beam and self._builder.leaks_much(bound.choice):
            slack = inf  # little latency is limit enough, and leads near the least energy
        bound.searches += 1
        self.raise_choice(bound, slack, limit)

    def raise_choice(self, bound: ChoiceBound, slack: float, limit: EnergyLatency) -> None:
        """Search for pmappings up to `slack` above the start; raise the bound to the result.

        `slack`: 0.1 means up to 10 % above the bound before any search. With a pmapping the bound
        is its least cost; without any it is the cost searched up to, or infinity if that was
        `limit`, the most that the Einsum may cost with this choice (joule, second).
        """
        if bound.start is None and not exceeds(bound.bound, limit):
            self.start(bound)
        if bound.start is None or exceeds(bound.bound, limit):
            bound.bound, bound.raised = NEVER, True
            return
        metric, start = self.metric, bound.start[self.metric]
        aim = start * (1 + slack) if start > 0 and slack < inf else inf
        highest = min(aim, limit[metric])
        bound.raised = self._look_below(bound, with_metric(limit, metric, highest))
        if not bound.raised and highest >= limit[metric]:
            bound.bound, bound.raised = NEVER, True

    def _look_below(self, bound: ChoiceBound, limit: EnergyLatency) -> bool:
        """Search for pmappings that cost no more than `limit`, and set the bound to what was found.

        Tell whether some pmapping attains the bound. Known bounds of equal choices are used first.
        """
        metric = self.metric
        cached = self._cached_least(bound, metric)
        if cached.attained and self._ties is None:
            return self._set_bound(bound, cached.bound, True)
        if cached.rules_out(limit[metric]):
            return self._set_bound(bound, cached.bound, False)
        ceilings = limit if self._ties is not None else with_metric(NEVER, metric, limit[metric])
        pmapping_filter = PmappingFilter(CostLimit(*ceilings), beam=self._beam)
        least_cost = self._builder.least_cost(bound.choice, pmapping_filter, metric)
        attained = least_cost < inf
        return self._set_bound(bound, least_cost if attained else limit[metric], attained)

    def _set_bound(self, bound: ChoiceBound, value: float, attained: bool) -> bool:
        """Set the bound of the metric to `value`, also for equal choices; return `attained`.

        `attained`: some pmapping costs just that, so that the bound is final.
        """
        bound.bound = with_metric(bound.bound, self.metric, value)
        cached_bound = self._cached_least(bound, self.metric).bound
        if self._ties is None and (attained or value > cached_bound):
            cache = self._builder.cache.least_costs
            cache[bound.choice.key_alone, self.metric] = CachedBound(value, attained)
        return attained

    def _cached_least(self, bound: ChoiceBound, metric: int) -> CachedBound:
        cache = self._builder.cache.least_costs
        return cache.get((bound.choice.key_alone, metric), CachedBound(0.0, False))

    def start(self, bound: ChoiceBound) -> None:
        """Raise the bound to what the choice's templates give without a search, and note it.

        Bounds already known of equal choices count too.
        """
        energy, latency = self._builder.start_bounds(bound.choice)
        energy, latency = max(energy, bound.bound[0]), max(latency, bound.bound[1])
        bound.start = energy, latency
        cached_bounds = [self._cached_least(bound, metric).bound for metric in METRICS]
        bound.bound = max(energy, cached_bounds[0]), max(latency, cached_bounds[1])
