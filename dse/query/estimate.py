"""What a study would cost: the size of its space, and the time of its trials."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from math import ceil
from statistics import fmean
from typing import Any

from tilewright.arch.quantities import some
from tilewright.dse.models.design_families import KNOWN_FRONTS
from tilewright.dse.models.evaluator import Attempt, Evaluator, asking_for_check, attempt, has_check
from tilewright.dse.models.evaluators import make_evaluator
from tilewright.dse.study.design_space import Point
from tilewright.dse.study.preflight import preflight
from tilewright.dse.study.study import StudySpec
from tilewright.mapper.searches.shared.hit_counts import KEEPING

PATIENCE = 30.0  # seconds for the design that is tried
DRAWN = 8
"""How many other designs are tried, too."""
DRAWN_S = 10.0  # seconds for all of them


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a study would cost.

    `designs`: size of the space; `trials`: designs that can be built and would be evaluated;
    `most`: designs of any kind that would be; `sample`: the attempt on one design, the first
    baseline or the first of the space; `drawn`: attempts on others, drawn at random. `searches`:
    how many searches answer all designs, 0 if each has one of its own; `seconds_known`: of a design
    that such a search has answered, of which `sample` then is the first. `seconds`: of all trials
    on that many `workers`, if each takes as long as these do on average.
    """

    name: str
    designs: int
    trials: int
    most: int
    workers: int
    sample: Attempt
    drawn: tuple[Attempt, ...] = ()
    searches: int = 0
    seconds_known: float = 0.0

    @property
    def evaluations(self) -> int:
        """How many designs are evaluated, if as many cannot be built as of those tried here."""
        tried = (self.sample, *self.drawn)
        buildable = sum(each.outcome.status != "infeasible" for each in tried)
        return min(
            self.most, ceil(self.trials * len(tried) / buildable) if buildable else self.most
        )

    @property
    def seconds(self) -> float:
        """Seconds that the study takes, if each design takes as long as those that were tried.

        A search for many designs is made by each worker that has one of them.
        """
        workers = min(self.workers, self.trials)
        if not self.searches:
            tried = [each.seconds for each in (self.sample, *self.drawn)]
            return fmean(tried) * self.evaluations / workers
        searches = min(self.searches, self.trials)
        return searches * self.sample.seconds + self.trials * self.seconds_known / workers

    def document(self) -> dict[str, Any]:
        """Return the estimate as JSON data."""
        return {
            "study": self.name,
            "designs": self.designs,
            "evaluations": self.trials,
            "evaluations_at_most": self.most,
            "workers": self.workers,
            "seconds_of_one": round(self.sample.seconds, 6),
            "seconds_of_drawn": [round(each.seconds, 6) for each in self.drawn],
            "searches": self.searches or None,
            "seconds": round(self.seconds, 3),
            "at_least": self.is_cut,
            "status_of_one": self.sample.outcome.status,
            "reason": self.sample.outcome.reason,
        }

    def text(self) -> str:
        """Return the estimate as text for the terminal."""
        about = "more than" if self.is_cut else "about"
        most = "at most"
        if self.most > self.trials:
            most = f"of designs that can be built, {self.most:,} of any at most"
        return "\n".join(
            [
                f"{self.name}: {some(self.designs, 'design')} in the space",
                f"evaluations: {self.trials:,} {most}",
                f"one design {self._tried()}",
                *self._others(),
                f"{about} {_duration(self.seconds)} on {some(self.workers, 'worker')}",
            ]
        )

    def _others(self) -> Iterator[str]:
        """Yield what the designs that were drawn took."""
        if not self.drawn:
            return
        seconds = [each.seconds for each in self.drawn]
        lacking = sum(each.outcome.status == "infeasible" for each in self.drawn)
        took = f"{min(seconds):.3g} to {max(seconds):.3g} s, {fmean(seconds):.3g} s on average"
        yield (
            f"{some(len(seconds), 'other')}, drawn at random, took"
            f" {took if len(seconds) > 1 else f'{seconds[0]:.3g} s'}"
            + (f"; {lacking} cannot be built" if lacking else "")
            + (f"; the last was ended, for {DRAWN_S:g} s were over" if self._last_is_cut else "")
        )

    @property
    def is_cut(self) -> bool:
        """Whether the sample, or the last design that was drawn, was ended before its time."""
        return _is_cut(self.sample) or self._last_is_cut

    @property
    def _last_is_cut(self) -> bool:
        return sum(each.seconds for each in self.drawn) >= 0.99 * DRAWN_S

    def _tried(self) -> str:
        if _is_cut(self.sample):
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
    """Evaluate some designs of a study; return what all would cost.

    The first is the first baseline, or the first design of the space, and is evaluated twice: the
    first time loads, and at the very first use compiles, what later designs find ready. After 30 s
    each time its search is asked to end. Then others are drawn at random, 8 or as many as end
    within 10 s, unless one search answers many designs. What earlier runs know of them is not asked
    for. `note` is told before. Raises SpecError for a study whose files or knobs cannot work.
    """
    preflight(spec)
    point = spec.baselines[0].point if spec.baselines else spec.space.point(spec.space.nth(0))
    evaluator = make_evaluator(spec)
    note(
        f"evaluating one design, twice, at most {2 * PATIENCE:g} s, and others for at most"
        f" {DRAWN_S:g} s"
    )
    sample = _attempt(evaluator, point, PATIENCE)
    searches = getattr(evaluator, "searches", lambda _: 0)(spec.space)
    if not _is_cut(sample):
        KNOWN_FRONTS.clear()
        sample = _attempt(evaluator, point, PATIENCE)
    drawn: tuple[Attempt, ...] = ()
    seconds_known = 0.0
    if searches and not _is_cut(sample):
        seconds_known = _attempt(evaluator, point, PATIENCE).seconds
    elif not _is_cut(sample):
        drawn = tuple(_drawn(spec, evaluator, point))
    size = spec.space.size
    most = min(spec.most_designs, size)
    return Estimate(
        spec.name, size, spec.trials, most, workers, sample, drawn, searches, seconds_known
    )


def _drawn(spec: StudySpec, evaluator: Evaluator, tried: Point) -> Iterator[Attempt]:
    """Yield attempts on designs drawn at random that a study would try, until time is over."""
    from tilewright.dse.sampling.sampler_sequence import RandomSequence

    sequence = RandomSequence(spec.space, spec.seed).choices(0, 0)
    points = map(spec.space.point, dict.fromkeys(islice(sequence, 2 * DRAWN)))
    others = (each for each in points if each != tried and not _is_refused(evaluator, each))
    left = DRAWN_S
    for point in islice(others, max(0, min(DRAWN, spec.trials - 1))):
        if left <= 0.01 * DRAWN_S:
            return
        attempted = _attempt(evaluator, point, left)
        left -= attempted.seconds
        yield attempted


def _is_refused(evaluator: Evaluator, point: Point) -> bool:
    """Return whether a model says before it evaluates a design that it cannot be built."""
    if not has_check(evaluator):
        return False
    return attempt(evaluator, asking_for_check(point)).outcome.status == "infeasible"


def _is_cut(sample: Attempt) -> bool:
    """Tell whether an attempt was ended by the timer, which begins a moment before it."""
    return sample.seconds >= 0.99 * PATIENCE


def _attempt(evaluator: Evaluator, point: Point, patience: float) -> Attempt:
    with _stopped_after(patience):
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
