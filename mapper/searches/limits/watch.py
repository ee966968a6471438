"""A thread that watches the limits of a search, and interrupts one that does not look at them.

Searches look at their limits between steps, and end with the best that they have. Where a step
takes long, this thread raises an exception in the thread that searches, whichever that is. What the
search was doing is lost then, so what it found before must have been kept elsewhere.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Callable
from math import inf
from typing import Generic, TypeVar

from tilewright.arch.lean.background import UNDISTURBED, start_undisturbed
from tilewright.mapper.searches.budget import STOP_REQUESTED, Budget, EndReason, resident_bytes
from tilewright.mapper.searches.exact.kernels import end_step

T = TypeVar("T")
R = TypeVar("R")

LOOK = 0.005  # seconds between two looks
LATE = 1.1  # of the seconds or bytes of a budget: from there on it is interrupted
AT_LEAST = 1.1  # seconds that any search may take,
AT_ONCE = 10.0  # and one with a budget of 0: it takes no longer on slow machines, as a rule
FIRST_BYTES = 64_000_000  # that any search may take beyond what the process has already
_ONCE_MORE = 0.3  # seconds until an interruption that was not heard is repeated


class Interruption(BaseException):
    """Raised in a thread that searches; each watch has a subclass of its own."""


def interrupted_when(
    reached: Callable[[], R | None], action: Callable[[], T], instead: Callable[[R], T]
) -> T:
    """Return what `action` does; if it is interrupted, what `instead` does.

    `reached`: asked in another thread, some fifty times a second; once it returns something, this
    is why `action` is interrupted, and given to `instead`. A step over labels ends at once. Other
    calls of machine code are interrupted when they return; until then `reached` is asked again,
    three times a second.
    """
    watch: _Watch[R] = _Watch(reached)
    try:
        try:
            watch.start()
            return action()
        finally:
            watch.end()
    except watch.interruption:  # it may come while the watch ends, too
        watch.end()
    assert watch.reason is not None
    return instead(watch.reason)  # outside of the clause, so that memory of the search is free


class _Watch(Generic[R]):
    """The thread of one call, and the exception that it raises in the thread of the caller."""

    def __init__(self, reached: Callable[[], R | None]) -> None:
        self._reached = reached
        self._over = threading.Event()
        self._searching = threading.get_ident()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.interruption: type[Interruption] = type("Interruption", (Interruption,), {})
        self.reason: R | None = None

    def start(self) -> None:
        _silence_lost()
        start_undisturbed(self._thread)

    def end(self) -> None:
        """End the thread; no interruption comes after that.

        One that is still pending is not taken back: CPython 3.11 would look for it without end
        under a profiler or debugger. A last one takes its place, and is heard here.
        """
        is_last = False
        while True:
            try:
                self._over.set()
                if self._thread.ident is not None:  # else the system had no thread for it
                    self._thread.join()
                if self.reason is None or is_last:
                    return
                is_last = True
                while True:  # a callback or a finalizer may get it
                    _raise_in(self._searching, self.interruption)
            except self.interruption:
                continue

    def _look(self) -> None:
        pause = LOOK
        while not self._over.wait(pause):
            reason = self._reached()  # also of one that did not hear: it may know what to do
            self.reason = self.reason or reason
            if self.reason is not None:
                _raise_in(self._searching, self.interruption)
                end_step(self._searching)
                pause = _ONCE_MORE


def _raise_in(thread: int, exception: type[BaseException]) -> None:
    """Raise an exception in another thread at its next step, in the place of one not yet raised."""
    with UNDISTURBED:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread), ctypes.py_object(exception)
        )


def _silence_lost() -> None:
    """Print nothing of an interruption that a callback or a finalizer gets: it is repeated."""
    former = sys.unraisablehook
    if former.__module__ == __name__:
        return

    def hook(lost: sys.UnraisableHookArgs) -> None:
        if not issubclass(lost.exc_type, Interruption):
            former(lost)

    sys.unraisablehook = hook


def limits_reached(
    budget: Budget, seconds: float | None, closing: float = 0.0
) -> Callable[[], EndReason | None]:
    """Return a function that tells which limit of a search is exceeded by a tenth; None: none is.

    `seconds`: length of the budget. `closing`: seconds between an interruption and the answer. Any
    search may take 1.1 seconds, and 64 MB beyond what the process has. A budget of 0 ends a search
    at its first look at the clock: that is the same on any machine, so it is interrupted after 10
    seconds only. A search that is asked to stop has 1.1 seconds to do so.
    """
    latest = inf
    if seconds is not None:
        least = AT_LEAST if seconds else AT_ONCE
        latest = budget.deadline - seconds + max(LATE * seconds, least) - closing
    most_bytes = max(LATE * budget.memory, resident_bytes() + FIRST_BYTES)
    stopped: list[float] = []

    def reached() -> EndReason | None:
        now = time.monotonic()
        if now > latest:
            return EndReason.SECONDS
        if most_bytes < inf and resident_bytes() > most_bytes:
            return EndReason.MEMORY
        if STOP_REQUESTED.is_set():
            stopped.append(now)
            if now > stopped[0] + AT_LEAST:
                return EndReason.STOPPED
        return None

    return reached
