"""What an Einsum of a workload may cost."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf


@dataclass(frozen=True, slots=True)
class Allowance:
    """The most that a row may cost to be of interest: joule and second."""

    energy: float = inf
    latency: float = inf
