"""What a search of a workload may use up."""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import inf

MAX_LABELS = 8_000_000  # kept at a time: less than 1 GB


class OutOfBudget(Exception):  # noqa: N818 - control flow of the cascade
    """The seconds or the labels are used up."""


@dataclass(frozen=True, slots=True)
class Budget:
    """`deadline` on the monotonic clock; `labels` that may be kept at a time."""

    deadline: float = inf
    labels: int = MAX_LABELS

    def check(self, labels: int = 0) -> None:
        """Raise OutOfBudget if the time or `labels` are beyond the budget."""
        if labels > self.labels or (self.deadline < inf and time.monotonic() > self.deadline):
            raise OutOfBudget


@dataclass(frozen=True, slots=True)
class Allowance:
    """The most that a row may cost to be of interest: joule and second."""

    energy: float = inf
    latency: float = inf
