"""What a worker process does beside its design: watch the limits, and that it is still wanted.

A thread looks at the clock and the memory. At a limit it interrupts the design; one that does not
listen (a long compiled loop) ends with its process a quarter of the limit later. A worker whose
coordinator has been killed ends, too.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType

from tilewright.dse.models.evaluator import (
    Attempt,
    DesignLimit,
    Evaluator,
    Outcome,
    attempt,
)
from tilewright.dse.study.design_space import Point
from tilewright.dse.study.study import DesignLimits
from tilewright.mapper.searches.shared.hit_counts import KEEPING

_TIME, _MEMORY = 86, 87
ENDED_BY: Mapping[int, str] = {
    _TIME: "the design took longer than search.limit_s allows",
    _MEMORY: "the design took more memory than search.limit_memory allows",
}
"""Exit codes of a worker process that a limit has ended."""
_LEAVE_TIME = 0.25  # of a limit, until a process that does not listen is ended
_LEAST_LEAVE = 0.5  # seconds
_LOOK = 0.02  # seconds between two looks
_LOOK_FOR_COORDINATOR = 0.5


def watched_attempt(evaluator: Evaluator, point: Point, limits: DesignLimits) -> Attempt:
    """Evaluate one design in a worker process within limits; errors become outcomes."""
    if not limits.is_limited:
        return attempt(evaluator, point)
    KEEPING.enabled = limits.memory is None  # what earlier designs left would count
    start = time.perf_counter()
    try:
        with _watch(limits):
            return attempt(evaluator, point)
    except DesignLimit as limit:  # it came between the evaluation and the end of the watch
        outcome = Outcome(reason=str(limit), status="failed")
    return Attempt(outcome, time.perf_counter() - start)


@contextmanager
def _watch(limits: DesignLimits) -> Iterator[None]:
    """Context manager that interrupts what runs inside at a limit, by DesignLimit."""
    is_over = threading.Event()
    reached: list[int] = []
    listens = threading.current_thread() is threading.main_thread()

    def interrupt(signal_number: int, frame: FrameType | None) -> None:
        del signal_number, frame
        if not is_over.is_set():
            raise DesignLimit(ENDED_BY[reached[0]])

    def watch() -> None:
        begin = time.monotonic()
        while not is_over.wait(_LOOK):
            code = _limit_reached(limits, time.monotonic() - begin)
            if code is None:
                continue
            reached.append(code)
            if listens:
                signal.raise_signal(signal.SIGALRM)
                leave = max(_LEAST_LEAVE, _LEAVE_TIME * (limits.seconds or 0.0))
                if is_over.wait(leave):
                    return
            os._exit(code)

    former = signal.signal(signal.SIGALRM, interrupt) if listens else None
    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
        if former is not None:
            signal.signal(signal.SIGALRM, former)


def _limit_reached(limits: DesignLimits, seconds: float) -> int | None:
    from tilewright.mapper.searches.budget import resident_bytes

    if limits.seconds is not None and seconds > limits.seconds:
        return _TIME
    if limits.memory is not None and resident_bytes() > limits.memory:
        return _MEMORY
    return None


def end_with(coordinator: int) -> None:
    """Start a thread that ends this process when its coordinator, its parent, has ended."""

    def guard() -> None:
        while os.getppid() == coordinator:
            time.sleep(_LOOK_FOR_COORDINATOR)
        os._exit(1)

    threading.Thread(target=guard, daemon=True).start()
