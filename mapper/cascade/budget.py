"""What a search of a workload may use up."""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import dataclass
from math import inf
from pathlib import Path

MAX_LABELS = 8_000_000  # kept at a time: less than 1 GB
_PAGES = Path("/proc/self/statm")


class OutOfBudget(Exception):  # noqa: N818 - control flow of the cascade
    """The seconds, the memory or the labels are used up."""


@dataclass(frozen=True, slots=True)
class Budget:
    """`deadline` on the monotonic clock; `labels` that may be kept at a time; `memory`: bytes of
    the whole process."""

    deadline: float = inf
    labels: int = MAX_LABELS
    memory: float = inf

    def check(self, labels: int = 0, more: float = 0.0) -> None:
        """Raise OutOfBudget if the time, the labels or the memory are beyond the budget, or would
        be with `more` bytes."""
        if labels > self.labels or (self.deadline < inf and time.monotonic() > self.deadline):
            raise OutOfBudget
        if self.memory < inf and resident() + more > self.memory:
            raise OutOfBudget


def resident() -> int:
    """Return the bytes of main memory of this process: now, or else the most so far."""
    try:
        pages = int(_PAGES.read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):  # not Linux
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024
    return pages * resource.getpagesize()


@dataclass(frozen=True, slots=True)
class Allowance:
    """The most that a row may cost to be of interest: joule and second."""

    energy: float = inf
    latency: float = inf
