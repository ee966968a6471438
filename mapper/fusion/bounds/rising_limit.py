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
    """Choose how far a limit rises from one search to the next, relative to where it started.

    The work grows about exponentially with the limit; the last two searches tell how fast.
    `second`: the second step; the first one is tiny, and tells nothing of the growth. `step`: how
    far the limit rises now. `work`: that of the last search, in partial mappings. Example: after a
    step of 1 % a search made 100 partial mappings, after another 1 % it made 141: the growth per
    step is 1.41, and the next step of 2 % doubles the work.
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
    """Return how many times the last step the next one must be for the work to grow by GROWTH.

    `before`, `work`: partial mappings of the search before the last one, and of the last one.
    """
    if before == 0 < work:
        return 1.0
    return log(GROWTH) / log(work / before) if before < work else FLATTEST
