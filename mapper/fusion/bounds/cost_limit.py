"""Say what the pmappings of one Einsum may cost.

Pmappings are made up to a limit of energy and one of latency. A limit is rounded up a little, so
that equal Einsums, whose limits are sums of the same terms in different orders, share one search.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, frexp, inf, ldexp

EnergyLatency = tuple[float, float]  # joule, second
STEPS = 1 << 20  # of a power of two, up to which a limit is rounded
NEVER = (inf, inf)
LITTLE = 1e-3  # relative: so much more than asked for costs less than to search again


@dataclass(frozen=True, slots=True)
class CostLimit:
    """Limit what the mapping of one Einsum in a fused mapping (a pmapping) may cost.

    `energy` in joule, `latency` in second; inf: no limit.
    """

    energy: float = inf
    latency: float = inf

    @property
    def rounded(self) -> CostLimit:
        """The limit with energy and latency rounded up to 20 binary digits.

        Limits of equal Einsums are sums of the same terms in different orders, so they differ by
        rounding; rounded up they are mostly the same, and one search serves all.
        """
        return CostLimit(_round_up(self.energy), _round_up(self.latency))

    def scaled(self, factor: float) -> CostLimit:
        """Return the limit with energy and latency multiplied by a factor.

        For example 1 / n for one of n instances of an Einsum.
        """
        return CostLimit(self.energy * factor, self.latency * factor)

    def covers(self, lower_limit: CostLimit) -> bool:
        """Tell whether this limit equals `lower_limit`, or is above it by at most 0.1 %.

        Then the pmappings found under it can be used for that limit, too. Energy and latency alike.
        """
        pairs = ((self.energy, lower_limit.energy), (self.latency, lower_limit.latency))
        return all(
            limit == lower or lower <= limit <= lower * (1 + LITTLE) for limit, lower in pairs
        )


def exceeds(costs: EnergyLatency, limit: EnergyLatency) -> bool:
    """Tell whether energy (joule) or latency (second) is above its limit."""
    return costs[0] > limit[0] or costs[1] > limit[1]


def with_metric(pair: EnergyLatency, metric: int, value: float) -> EnergyLatency:
    """Return the pair of joule and second with another value of one metric: 0 energy, 1 latency."""
    return (pair[0], value) if metric else (value, pair[1])


def _round_up(number: float) -> float:
    if not 0 < number < inf:
        return number
    mantissa, exponent = frexp(number)
    return ldexp(ceil(mantissa * STEPS) / STEPS, exponent)
