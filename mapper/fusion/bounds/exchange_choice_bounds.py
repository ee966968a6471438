"""Raise lower bounds of what each Einsum costs with each choice of tensors on chip, by searches.

The bounds start at what computing and moving each tensor once costs. They are raised from there.
Each goes up to the least that the Einsum can cost with that choice, or to where the choice cannot
matter: where it exceeds what the incumbent leaves when all other Einsums cost their least.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf

from tilewright.mapper.fusion.bounds.choice_bounds import ChoiceBounds, OtherCosts
from tilewright.mapper.fusion.bounds.choice_search import (
    DEEPENING,
    METRICS,
    ChoiceBound,
    ChoiceSearch,
)
from tilewright.mapper.fusion.bounds.cost_limit import NEVER, EnergyLatency, with_metric
from tilewright.mapper.fusion.copies.copy_table import CopyTable
from tilewright.mapper.fusion.fused_problem import FusedProblem
from tilewright.mapper.fusion.pmappings.on_chip_choice import OnChipChoice
from tilewright.mapper.fusion.pmappings.pmapping_builder import TableBuilder

NEXT_RISES = 0.3  # of the most that a bound may rise: what is raised in the same round
MARGIN = 0.002  # relative: of bounds that are raised together


class EinsumBounds(ChoiceBounds):
    """Raises lower bounds of what each Einsum costs with each choice of tensors on chip.

    Bounds of energy or, if latency is the objective, of latency are raised by searching one Einsum
    at a time. `problem`: as of ChoiceBounds. `builder`: searches the pmappings of an Einsum.
    `report`: called with lower bounds of energy and latency of the workload (joule, second) when
    they may have risen. `estimate`: returns what some mapping with a choice costs, in the metric of
    the objective, to search it up to there at once; inf: not known.
    """

    def __init__(
        self,
        problem: FusedProblem,
        builder: TableBuilder,
        report: Callable[[EnergyLatency], None] = lambda _: None,
        estimate: Callable[[OnChipChoice], float] = lambda _: inf,
    ) -> None:
        self._report = report
        self._search = ChoiceSearch(problem, builder, estimate)
        bounds = [
            [
                ChoiceBound(choice, bound)
                for fused in (() if isinstance(entry, CopyTable) else entry)
                for choice in builder.choices(fused)
                if (bound := self._search.initial_bound(choice)) is not None
            ]
            for entry in problem.einsums
        ]
        super().__init__(problem, bounds, self._search.metric)

    def start_all(self) -> None:
        """Raise the bounds of choices to where a search of each choice would start.

        A choice is the set of an Einsum's exchanged tensors that stay on chip. It takes the
        templates of each choice, but no search. Raises OutOfBudget, and UnsupportedFeature for
        templates that cannot be modelled.
        """
        for bound in (bound for bounds in self._bounds for bound in bounds):
            if bound.start is None:
                self._search.start(bound)

    def raise_below(self, first: int, most: Sequence[Mapping[int, float]], highest: float) -> bool:
        """Search each open choice of some Einsums once more, to a higher cost; tell if any was.

        Open: its bound is not final and not above its limit. `first`, `most`: as in `limits_below`.
        `highest`: what the workload may cost at most, joule or second. Raises OutOfBudget, and
        UnsupportedFeature for templates that cannot be modelled.
        """
        metric = self.metric
        others = self._relaxed(metric).costs_of_others(self.costs)
        open_bounds = [
            (bound, highest - others[number][mask])
            for number, limits in enumerate(most, first)
            for mask, bound in self._least_of_siblings(number).items()
            if not bound.raised and bound.bound[metric] <= limits.get(mask, -inf)
        ]
        for bound, limit in open_bounds:
            self._search.search_further(bound, with_metric(NEVER, metric, limit))
        return bool(open_bounds)

    def raise_bounds(self, limit_of: Callable[[EnergyLatency], EnergyLatency]) -> None:
        """Raise the bounds of all choices of tensors on chip by searching one Einsum at a time.

        `limit_of`: returns the most that the workload may cost, given lower bounds of its energy
        and latency (joule, second); a bound is raised until it is the least cost of the choice, or
        the choice can be in no mapping within that limit. Raises OutOfBudget, and
        UnsupportedFeature for templates that cannot be modelled.
        """
        for slack in DEEPENING:
            for number, other_costs in self._swept():
                unfinished = [bound for bound in self._bounds[number] if not bound.raised]
                if not unfinished:
                    continue
                limit = limit_of(self._least_with_others(number, other_costs))
                for bound in unfinished:
                    self._search.raise_choice(
                        bound, slack, other_costs.remaining_limit(bound.choice.mask, limit)
                    )
            self._report(self.least_costs)

    def raise_cheapest(
        self, limit_of: Callable[[EnergyLatency], EnergyLatency], ceiling: float = 0.0
    ) -> None:
        """Raise the bounds that hold down the bound of the workload, until they are attained.

        These are the choices in the cheapest mapping that the bounds leave, or in one that they
        leave within `ceiling` (joule, or second if latency is the objective), those that may rise
        most first. All others are left as they are: most are never searched. `limit_of`: as in
        `raise_bounds`. Raises OutOfBudget, and UnsupportedFeature for templates that cannot be
        modelled.
        """
        while True:
            highest = max(self.least_costs[self.metric] * (1 + MARGIN), ceiling)
            least_rise = NEXT_RISES * self._most_rise(highest)
            if least_rise == 0.0:
                return
            for number, other_costs in self._swept():
                for bound in self._cheapest(number, other_costs, highest):
                    if self._search.rise(bound) >= least_rise:
                        limit = limit_of(self._least_with_others(number, other_costs))
                        self._search.search_further(
                            bound, other_costs.remaining_limit(bound.choice.mask, limit)
                        )
            self._report(self.least_costs)

    def least_below(self, number: int, mask: int, limit: float) -> float:
        """Return the least that an Einsum costs with some of its tensors on chip.

        `number`: of the Einsum. `mask`: the tensors, as bits. In joule, or second if latency is the
        objective. Where it is above `limit`, a number between the two will do. Raises OutOfBudget,
        and UnsupportedFeature for templates that cannot be modelled.
        """
        while (least := self._least_of_siblings(number).get(mask)) is not None:
            known = least.bound[self.metric]
            if known > limit or least.raised:
                return known
            self._search.search_further(least, NEVER)
        return self.known_least(number, mask)

    def _most_rise(self, highest: float) -> float:
        """Return the greatest guess of how much a bound may still rise; 0: none is left to raise.

        Choices count that some mapping may have whose bounds sum up to at most `highest`.
        """
        cheapest = (self._cheapest(*swept, highest) for swept in self._swept())
        return max((self._search.rise(bound) for bounds in cheapest for bound in bounds), default=0)

    def _cheapest(self, number: int, other_costs: OtherCosts, highest: float) -> list[ChoiceBound]:
        """Return an Einsum's choices to raise: not final, and in a mapping of at most `highest`.

        Of choices with the same tensors on chip only the cheapest. `other_costs`: least cost of all
        others.
        """
        costs = other_costs[self.metric]
        return [
            bound
            for bound in self._least_of_siblings(number).values()
            if not bound.raised and bound.bound[self.metric] + costs[bound.choice.mask] <= highest
        ]

    def _swept(self) -> Iterator[tuple[int, OtherCosts]]:
        """Yield each Einsum's number with the least that all others cost.

        Earlier Einsums cost what is known when the next one is asked for.
        """
        sweeps = [self._relaxation.sweep(self._costs(metric)) for metric in METRICS]
        for number in range(len(self._bounds)):
            yield number, OtherCosts(*(sweep.costs_of_others() for sweep in sweeps))
            for metric, sweep in enumerate(sweeps):
                sweep.advance(self._einsum_costs(number, metric))

    def _least_with_others(self, number: int, other_costs: OtherCosts) -> EnergyLatency:
        """Return lower bounds of the workload: an Einsum's bounds plus the cost of all others."""
        energy, latency = (
            min((costs[m] + cost for m, cost in self._einsum_costs(number, i).items()), default=inf)
            for i, costs in enumerate(other_costs)
        )
        return energy, latency
