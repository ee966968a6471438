"""What an Einsum of a workload may cost."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, frexp, inf, ldexp

STEPS = 1 << 20  # of a power of two, up to which a limit is rounded
LITTLE = 1e-3  # relative: so much more than asked for costs less than to search again


@dataclass(frozen=True, slots=True)
class CostLimit:
    """The most that a row may cost to be of interest: joule and second."""

    energy: float = inf
    latency: float = inf

    @property
    def rounded(self) -> CostLimit:
        """The same or a little more: Einsums alike are left sums of the same terms in another
        order."""
        return CostLimit(_round_up(self.energy), _round_up(self.latency))

    def covers(self, other: CostLimit) -> bool:
        """Tell whether this is what `other` is, or a little more."""
        pairs = ((self.energy, other.energy), (self.latency, other.latency))
        return all(own == its or its <= own <= its * (1 + LITTLE) for own, its in pairs)


def _round_up(number: float) -> float:
    if not 0 < number < inf:
        return number
    share, power = frexp(number)
    return ldexp(ceil(share * STEPS) / STEPS, power)
