"""What a study would cost: the size of its space, and the time of its trials."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tilewright.arch.quantities import some
from tilewright.dse.models.design_families import KNOWN_FRONTS
from tilewright.dse.models.evaluator import Attempt, Evaluator, attempt
from tilewright.dse.models.evaluators import make_evaluator
from tilewright.dse.study.design_space import Point
from tilewright.dse.study.preflight import preflight
from tilewright.dse.study.study import StudySpec
from tilewright.mapper.searches.shared.hit_counts import KEEPING

PATIENCE = 30.0  # seconds for the design that is tried


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a study would cost.

    `designs`: size of the space; `trials`: designs that would be evaluated; `sample`: the attempt
    on one design, the first baseline or the first of the space. `searches`: how many searches
    answer all designs, 0 if each has one of its own; `seconds_known`: of a design that such a
    search has answered, of which `sample` then is the first. `seconds`: of all trials on that many
    `workers`, if each takes as long as the sample.
    """

    name: str
    designs: int
    trials: int
    workers: int
    sample: Attempt
    searches: int = 0
    seconds_known: float = 0.0

    @property
    def seconds(self) -> float:
        """Seconds that the study takes, if each design takes as long as the sample.

        A search for many designs is made by each worker that has one of them.
        """
        workers = min(self.workers, self.trials)
        if not self.searches:
            return self.sample.seconds * self.trials / workers
        searches = min(self.searches, self.trials)
        return searches * self.sample.seconds + self.trials * self.seconds_known / workers

    def document(self) -> dict[str, Any]:
        """Return the estimate as JSON data."""
        return {
            "study": self.name,
            "designs": self.designs,
            "evaluations": self.trials,
            "workers": self.workers,
            "seconds_of_one": round(self.sample.seconds, 6),
            "searches": self.searches or None,
            "seconds": round(self.seconds, 3),
            "at_least": self.is_cut,
            "status_of_one": self.sample.outcome.status,
            "reason": self.sample.outcome.reason,
        }

    def text(self) -> str:
        """Return the estimate as text for the terminal."""
        about = "more than" if self.is_cut else "about"
        return "\n".join(
            [
                f"{self.name}: {some(self.designs, 'design')} in the space",
                f"evaluations: {self.trials:,} at most",
                f"one design {self._tried()}",
                f"{about} {_duration(self.seconds)} on {some(self.workers, 'worker')}",
            ]
        )

    @property
    def is_cut(self) -> bool:
        """Whether the sample was ended before its time."""
        return _is_cut(self.sample)

    def _tried(self) -> str:
        if self.is_cut:
            return (
                f"takes more than {PATIENCE:g} s, and was ended then;"
                " `mapper: {budget: 10}` gives each so many seconds, and a bound"
            )
        reason = self.sample.outcome.reason
        if self.searches and not reason:
            return (
                f"took {self.sample.seconds:.3g} s, with a search for others like it; each of these"
                f" takes {1e3 * self.seconds_known:.3g} ms. Such searches: {self.searches:,} at"
                " most"
            )
        return f"took {self.sample.seconds:.3g} s" + (
            f", and cannot be built: {reason}" if reason else ""
        )


def estimate(
    spec: StudySpec, workers: int, note: Callable[[str], None] = lambda _: None
) -> Estimate:
    """Evaluate one design of a study; return what all would cost.

    It is the first baseline, or the first design of the space, and is evaluated twice: the first
    time loads, and at the very first use compiles, what later designs find ready. What earlier runs
    know of it is not asked for. After 30 s each time its search is asked to end. `note` is told
    before. Raises SpecError for a study whose files or knobs cannot work.
    """
    preflight(spec)
    point = spec.baselines[0].point if spec.baselines else spec.space.point(spec.space.nth(0))
    evaluator = make_evaluator(spec)
    note(f"evaluating one design, twice, at most {2 * PATIENCE:g} s")
    sample = _attempt(evaluator, point)
    searches = getattr(evaluator, "searches", lambda _: 0)(spec.space)
    if not _is_cut(sample):
        KNOWN_FRONTS.clear()
        sample = _attempt(evaluator, point)
    seconds_known = _attempt(evaluator, point).seconds if searches and not _is_cut(sample) else 0.0
    size = spec.space.size
    return Estimate(spec.name, size, spec.trials, workers, sample, searches, seconds_known)


def _is_cut(sample: Attempt) -> bool:
    """Tell whether an attempt was ended by the timer, which begins a moment before it."""
    return sample.seconds >= 0.99 * PATIENCE


def _attempt(evaluator: Evaluator, point: Point) -> Attempt:
    with _stopped_after(PATIENCE):
        return attempt(evaluator, point)


@contextmanager
def _stopped_after(seconds: float) -> Iterator[None]:
    """Context manager that asks the searches inside to end with what they have.

    They know nothing of other runs: what is measured is the time of a new design.
    """
    from tilewright.mapper.searches.budget import STOP_REQUESTED

    timer = threading.Timer(seconds, STOP_REQUESTED.set)
    timer.start()
    KEEPING.answers = False
    try:
        yield
    finally:
        KEEPING.answers = True
        timer.cancel()
        STOP_REQUESTED.clear()


def _duration(seconds: float) -> str:
    for unit, length in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.2g} s"
