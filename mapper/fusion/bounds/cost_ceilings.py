"""The most energy and latency that a mapping may have within a limit of the objective."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

from tilewright.mapper.fusion.bounds.cost_limit import NEVER, EnergyLatency
from tilewright.mapper.fusion.fused_problem import FusedProblem

EQUAL = 1e-12  # relative: values that differ by less count as equal
TINY, HUGE = 1e-300, 1e300


@dataclass(frozen=True, slots=True)
class CostCeilings:
    """What mappings of a workload may cost at most below a limit of the objective's value.

    `problem`: the workload and the objective. `known_least`: lower bounds of energy in joule and
    latency in second that another search has proven.
    """

    problem: FusedProblem
    known_least: EnergyLatency = (0.0, 0.0)

    def raised(self, least_costs: EnergyLatency) -> EnergyLatency:
        """Return the greater of `least_costs` and the known lower bounds: energy, latency."""
        (energy, latency), known = least_costs, self.known_least
        return max(energy, known[0]), max(latency, known[1])

    def value(self, least_costs: EnergyLatency) -> float:
        """Return a lower bound of the objective's value from lower bounds of energy and latency."""
        return float(self.problem.value_bound(*self.raised(least_costs)))

    def within(self, limit: float, least_costs: EnergyLatency) -> EnergyLatency:
        """Return the most energy (joule) and latency (second) that a value of `limit` allows.

        `least_costs`: lower bounds of both. For the energy-delay product the ceilings are the limit
        over the least latency, and over the least energy (theory/fusion.md §6.2).
        """
        energy, latency = self.raised(least_costs)
        value, objective = self.problem.value_bound, self.problem.objective
        highest = NEVER if self.problem.ties is None else self.problem.ties.cost_limit
        if objective == "energy":
            return limit, highest[1]
        if objective == "latency":
            return highest[0], limit
        if objective == "edp":
            return _quotient(limit, latency), _quotient(limit, energy)
        return (
            _highest_argument(lambda joule: value(joule, latency), energy, limit),
            _highest_argument(lambda second: value(energy, second), latency, limit),
        )


def _highest_argument(value: Callable[[float], float], start: float, limit: float) -> float:
    """Return the greatest x with value(x) <= limit, rounded up a little; inf if there is none.

    `value` never falls. `start`: where to begin the search.
    """
    low = high = max(start, TINY)
    while value(high) <= limit:
        if high > HUGE:
            return inf
        low, high = high, 4 * high
    while high > low * (1 + EQUAL):
        middle = (low + high) / 2
        low, high = (middle, high) if value(middle) <= limit else (low, middle)
    return high


def _quotient(product: float, factor: float) -> float:
    return product / factor if factor > 0 else inf
