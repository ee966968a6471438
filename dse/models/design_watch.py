"""What a worker process does beside its design: watch the limits, and that it is still wanted.

A thread looks at the clock and the memory. At a limit it interrupts the design, as that of a search
does; one that does not hear it (a long compiled loop, a call that waits) ends with its process a
quarter of the limit later. A worker whose coordinator has been killed ends, too.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping

from tilewright.arch.parallel_compilation import compile_first
from tilewright.dse.models.evaluator import Attempt, Evaluator, Outcome, attempt, kernels_of
from tilewright.dse.study.design_space import Point
from tilewright.dse.study.study import DesignLimits
from tilewright.mapper.searches.budget import resident_bytes
from tilewright.mapper.searches.limits.watch import interrupted_when
from tilewright.mapper.searches.shared.hit_counts import KEEPING

_TIME, _MEMORY = 86, 87
ENDED_BY: Mapping[int, str] = {
    _TIME: "the design took longer than search.limit_s allows",
    _MEMORY: "the design took more memory than search.limit_memory allows",
}
"""Exit codes of a worker process that a limit has ended."""
_LEAVE_TIME = 0.25  # of a limit, until a process that does not listen is ended
_LEAST_LEAVE = 0.5  # seconds
_LOOK_FOR_COORDINATOR = 0.5


def watched_attempt(evaluator: Evaluator, point: Point, limits: DesignLimits) -> Attempt:
    """Evaluate one design in a worker process within limits; errors become outcomes.

    The limits begin after what designs call is compiled, which a worker on another computer has to
    do itself.
    """
    if not limits.is_limited:
        return attempt(evaluator, point)
    compile_first(kernels_of(evaluator), lambda: None)
    KEEPING.enabled = limits.memory is None  # what earlier designs left would count
    start = time.monotonic()

    def failed(code: int) -> Attempt:
        outcome = Outcome(reason=ENDED_BY[code], status="failed")
        return Attempt(outcome, time.monotonic() - start)

    return interrupted_when(
        _limit_reached(limits, start), lambda: attempt(evaluator, point), failed
    )


def _limit_reached(limits: DesignLimits, start: float) -> Callable[[], int | None]:
    """Return a function that tells which limit is reached, and ends the process if asked later."""
    leave = max(_LEAST_LEAVE, _LEAVE_TIME * (limits.seconds or 0.0))
    reached: dict[int, float] = {}

    def code_reached() -> int | None:
        now = time.monotonic()
        if limits.memory is not None and resident_bytes() > limits.memory:
            reached.setdefault(_MEMORY, now)
        elif limits.seconds is not None and now - start > limits.seconds:
            reached.setdefault(_TIME, now)
        for code, since in reached.items():
            if now - since > leave:
                os._exit(code)
        return next(iter(reached), None)

    return code_reached


def end_with(coordinator: int) -> None:
    """Start a thread that ends this process when its coordinator, its parent, has ended."""

    def guard() -> None:
        while os.getppid() == coordinator:
            time.sleep(_LOOK_FOR_COORDINATOR)
        os._exit(1)

    threading.Thread(target=guard, daemon=True).start()
