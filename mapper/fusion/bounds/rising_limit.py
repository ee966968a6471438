"""Raise a limit so that each search below it is about twice as much work as the one before.

A search below a limit ends with the optimum or with the limit as a lower bound. All that was done
below a lower limit is done again. So small rises repeat the same work many times, and large ones
make far more partial mappings than the optimum needs. Twice as many each time wastes at most half.
"""

from __future__ import annotations

from math import inf, log

GROWTH = 2.0  # of the work from one limit to the next
FLATTEST, STEEPEST = 2.5, 0.5  # times the step before
SMALLEST = 1e-9  # the first step: whether the lower bound is attained
LARGEST = 1.0  # beyond which there is no limit any more


class RisingLimit:
    """How far a limit rises from one search to the next, relative to where it started.

    The work grows about exponentially with the limit; the last two searches tell how fast.
    `second`: the second step; the first one is tiny, and tells nothing of the growth. `step`: how
    far the limit rises now. `work`: that of the last search, in partial mappings. Example: of a
    step of 1 % came 100 partial mappings, of another 1 % came 141; the next step is 2 %.
    """

    def __init__(self, second: float) -> None:
        self._next = second
        self._before = 0
        self.work = 0
        self.step = SMALLEST

    def advance(self, work: int) -> None:
        """Choose the next step; `work`: how many partial mappings the search before it made."""
        if self.step > SMALLEST:
            self._next *= min(max(_factor(self._before, work), STEEPEST), FLATTEST)
            self._before = work
        self.step = self._next if self._next <= LARGEST else inf
        self.work = work


def _factor(before: int, work: int) -> float:
    """Return how much longer than the last step the next one is, where the work grew like this."""
    if before == 0 < work:
        return 1.0
    return log(GROWTH) / log(work / before) if before < work else FLATTEST
