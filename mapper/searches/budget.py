"""Limits of a search: seconds, bytes of memory, labels."""

from __future__ import annotations

import os
import resource
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from math import inf
from pathlib import Path
from typing import TypeVar

from tilewright.mapper.searches.search_errors import MemoryUsedUp

T = TypeVar("T")

MAX_LABELS = 8_000_000  # kept at a time: less than 1 GB
GROWTH = 4  # times the memory of its labels that an operation may take
_PAGES = Path("/proc/self/statm")


STOP_REQUESTED = threading.Event()
"""Set by whoever wants every search of the process to end with its best mapping so far."""


class EndReason(Enum):
    """What ended a search before its proof; the value completes "the search ended at …"."""

    SECONDS = "the end of its budget of seconds"
    MEMORY = "its limit of memory"
    LABELS = "its limit of partial mappings kept at a time"
    WORK = "its limit of work"
    STOPPED = "the request to stop"


class OutOfBudget(Exception):  # noqa: N818 - control flow of the searches
    """The seconds, the memory or the labels of a budget are used up, or the search was stopped.

    A signal inside the searches, which then return the best mapping so far; no user sees it.
    """

    def __init__(self, reason: EndReason = EndReason.SECONDS) -> None:
        super().__init__(reason.value)
        self.reason = reason


@dataclass(slots=True)
class WorkLeft:
    """How much more work a search may do.

    A check of its budget is a unit; a step of the dynamic program that is given the work counts
    each label that it looks at, too. The count does not depend on the machine's speed, unlike
    seconds.
    """

    units: int


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of a search.

    `deadline`: end, in seconds on the monotonic clock. `labels`: how many partial mappings (cost
    tuples) a search may keep at a time. `memory`: bytes of main memory of the whole process.
    `stops_on_request`: it also ends when STOP_REQUESTED is set; what finds a last answer does not.
    `work`: what is left of a limit of work; None for none.
    """

    deadline: float = inf
    labels: int = MAX_LABELS
    memory: float = inf
    stops_on_request: bool = False
    work: WorkLeft | None = None

    @property
    def is_limited(self) -> bool:
        """Whether the seconds or the memory are limited."""
        return self.deadline < inf or self.memory < inf

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the end of the budget, not below 0; None if it has no end."""
        if self.is_stopped:
            return 0.0
        return None if self.deadline == inf else max(self.deadline - time.monotonic(), 0.0)

    def share(self, part: float) -> Budget:
        """Return the budget with only a part (0 to 1) of the seconds that are left."""
        if self.deadline == inf:
            return self
        return replace(self, deadline=self.deadline - (1 - part) * (self.seconds_left or 0.0))

    def sooner(self, seconds: float) -> Budget:
        """Return the budget with an end that is so many seconds sooner."""
        return replace(self, deadline=self.deadline - seconds)

    def checking(self, items: Iterable[T]) -> Iterator[T]:
        """Yield the items, with a check of time and memory before each.

        Raises OutOfBudget when the budget is used up.
        """
        for item in items:
            self.check()
            yield item

    def check(self, labels: int = 0, more_bytes: float = 0.0) -> None:
        """Raise OutOfBudget, with the reason, if a limit of the budget is exceeded.

        These are the time, a request to stop, the labels, the work (this is one unit of it) and
        the memory, in this order. `labels`: partial mappings that are kept now. `more_bytes`: bytes
        of memory about to be used on top of what the process has.
        """
        if self.is_late:
            raise OutOfBudget(EndReason.STOPPED if self.is_stopped else EndReason.SECONDS)
        if labels > self.labels:
            raise OutOfBudget(EndReason.LABELS)
        if self.work is not None:
            self.work.units -= 1
            if self.work.units < 0:
                raise OutOfBudget(EndReason.WORK)
        if self.lacks(more_bytes):
            raise OutOfBudget(EndReason.MEMORY)

    def check_stop(self) -> None:
        """Raise OutOfBudget if the process was asked to stop its searches."""
        if self.is_stopped:
            raise OutOfBudget(EndReason.STOPPED)

    @property
    def is_used_up(self) -> bool:
        """Whether the deadline is over, or the process has more memory than allowed."""
        return self.is_late or self.lacks(0.0)

    @property
    def is_late(self) -> bool:
        """Whether the deadline is over, or the process was asked to stop its searches."""
        return self.is_stopped or (self.deadline < inf and time.monotonic() > self.deadline)

    @property
    def is_stopped(self) -> bool:
        """Whether the process was asked to stop its searches, and this one listens."""
        return self.stops_on_request and STOP_REQUESTED.is_set()

    def lacks(self, more_bytes: float) -> bool:
        """Tell whether the process would exceed the memory limit with so many bytes more."""
        return self.memory < inf and resident_bytes() + more_bytes > self.memory


UNLIMITED = Budget()


def budget_from(seconds: float | None, memory: float = inf) -> Budget:
    """Return a budget that ends `seconds` from now (None: never), with `memory` bytes at most."""
    deadline = inf if seconds is None else time.monotonic() + seconds
    return Budget(deadline, memory=memory, stops_on_request=True)


@cache
def machine_bytes() -> float:
    """Return the bytes of main memory of this machine; infinity where that is not known."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return inf


def resident_bytes() -> int:
    """Return the bytes of main memory that this process uses.

    On Linux those in use now, elsewhere the most so far.
    """
    try:
        pages = int(_PAGES.read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):  # not Linux
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    return pages * resource.getpagesize()


@contextmanager
def advising_on_memory(activity: str) -> Iterator[None]:
    """Turn a MemoryError inside a `with` block into MemoryUsedUp, which names a limit to set.

    `activity`: what needs the memory, for the message, for example "the search of Z".
    """
    used = 0
    try:
        yield
    except MemoryError:
        used = resident_bytes()
    if used:  # outside the except clause, so that the search's memory is free again
        limit = f"{0.75 * used:.2g}"
        raise MemoryUsedUp(
            f"{activity} needs more memory than the system gives to this process",
            value=f"{used:,} bytes in use",
            instead=f"max_memory={limit} (--max-memory {limit}): the search then ends before, with"
            " the best mapping so far and a bound",
        )
