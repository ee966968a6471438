"""The study loop: ask a batch, evaluate it, tell it in the order asked, write it down.

One process owns the search; workers only evaluate. A batch depends on the seed, its number and
the results before it, never on how many workers there are or which of them was faster.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Protocol

from tilewright.arch.errors import SpecError, TilewrightError
from tilewright.dse.models.evaluator import (
    NOTHING_SHARED,
    Attempt,
    Outcome,
    Pool,
    Sharing,
    asking_for_bounds,
    total_of,
)
from tilewright.dse.run.record import FrontSoFar, Trial, front_of, is_beaten, refused_alone
from tilewright.dse.run.rundir import RunDirectory, TrialLog
from tilewright.dse.run.trials.design_check import DesignCheck
from tilewright.dse.run.trials.evaluated_trial import TrialSlot, base_of, result_of
from tilewright.dse.sampling.samplers import make_sampler
from tilewright.dse.store.known_outcomes import PENDING, Pending
from tilewright.dse.study.design_space import Point
from tilewright.dse.study.sampler import Refusals, nothing_refused, sampler_settings
from tilewright.dse.study.study import StudySpec


class Watcher(Protocol):
    """Something that is told how a study goes, to show it to the user."""

    def batch(
        self, trials: Sequence[Trial], seconds: float, sharing: Sharing = NOTHING_SHARED
    ) -> None:
        """Take note of a finished batch.

        `trials`: all so far; `seconds`: duration of the batch, 0 for those found at a resume;
        `sharing`: what its designs did not need to work out.
        """
        ...

    def evaluated(self, done: int, count: int) -> None:
        """Take note that `done` of the `count` new designs of the current batch are evaluated."""
        ...


@dataclass(frozen=True, slots=True)
class Setting:
    """What the loop of a study needs.

    `spec`: the study; `key_of`: gives a design the key of its evaluation, so that none is evaluated
    twice; `watcher`: is told of each batch; `earlier_outcomes`: outcomes of other runs by key;
    `since`: the first batch of the present sampler; `guests`: designs that come first in a batch,
    by its number; `has_check`: whether designs that cannot be built are known before they are
    tried, as far as the model says so: they are drawn again.
    """

    spec: StudySpec
    key_of: Callable[[Point], str]
    watcher: Watcher
    earlier_outcomes: Mapping[str, Attempt] = field(default_factory=dict)
    since: int = 0
    guests: Mapping[int, Sequence[Point]] = field(default_factory=dict)
    has_check: bool = False


PATIENCE = 20
"""Batches without a new design after which a search ends: the sampler has no other to propose."""


def explore(
    setting: Setting, run: RunDirectory, pool: Pool, stop: Callable[[], bool]
) -> list[Trial]:
    """Run the batches of a study that are missing in its run directory; return its trials.

    `setting`: study, key of a design, watcher, and what is known; `pool`: evaluates the designs.
    Batches already there are not evaluated again but told to the sampler, which proposes the
    designs. A design that was tried before, or that cannot be built, is recorded, but does not use
    up one of the study's trials. `stop` is asked before each batch; if it says True, the trials so
    far are returned. Raises SpecError if an objective or a constraint has no value,
    EnvironmentFailed if no design of a batch could be evaluated.
    """
    search = _Search(setting, run, pool)
    with TrialLog(run) as log:
        trials = search.begin()
        details = _KeptDetails(run, setting.spec)
        while not stop() and not is_complete(setting.spec, trials):
            start = time.perf_counter()
            new, attempts = search.batch(trials)
            log.restore(trials)
            log.append(new, _times(new, attempts, time.perf_counter() - start))
            search.pending.clear()
            trials += new
            details.keep(trials, attempts)
            sharing = _shared(new, attempts)
            setting.watcher.batch(trials, time.perf_counter() - start, sharing)
    return trials


def is_complete(spec: StudySpec, trials: Sequence[Trial]) -> bool:
    """Return whether a search has come to its end: all its trials, or no new design to propose."""
    if designs_to_go(spec, trials) <= 0:
        return True
    last = trials[-1].batch if trials else 0
    newest = max((trial.batch for trial in trials if trial.same_as is None), default=0)
    return last - newest >= PATIENCE


def distinct(trials: Sequence[Trial]) -> int:
    """Return the number of different designs among the trials."""
    return sum(trial.same_as is None for trial in trials)


def counted(trials: Sequence[Trial]) -> int:
    """Return how many of a study's trials are used up: by different designs that can be built."""
    return sum(t.same_as is None and t.status != "infeasible" for t in trials)


def designs_to_go(spec: StudySpec, trials: Sequence[Trial]) -> int:
    """Return how many different designs a search may still evaluate; 0 or less at its end.

    A design that cannot be built uses up no trial. But a search ends when it has evaluated twice
    its trials, and when it has tried the whole space, but for what was refused before it was tried.
    """
    tried = distinct(trials)
    untried = spec.space.size - tried - len(refused_alone(trials))
    return min(spec.trials - counted(trials), spec.most_designs - tried, untried)


class _Search:
    """The search of one study: sampler, pool, and what needs no evaluation."""

    def __init__(self, setting: Setting, run: RunDirectory, pool: Pool) -> None:
        spec = setting.spec
        self._setting = setting
        self._run = run
        self._pool = pool
        guests = {n: tuple(map(spec.space.choice, each)) for n, each in setting.guests.items()}
        settings = replace(sampler_settings(spec, setting.since), guests=guests)
        self._sampler = make_sampler(settings, spec.space)
        self._check = DesignCheck(spec.space, pool)
        self._refusals: Refusals = nothing_refused
        if setting.has_check:
            self._refusals = self._check.refusals
        self._original: dict[str, Trial] = {}
        self.pending = Pending(run.path / PENDING)
        self._earlier_outcomes: dict[str, Attempt] = {}

    def begin(self) -> list[Trial]:
        """Return the trials that the run has, after telling them to the sampler."""
        spec = self._setting.spec
        trials = self._run.repair(spec)
        base = base_of(spec, trials)
        self._earlier_outcomes = {**self._setting.earlier_outcomes, **self.pending.read()}
        self._sampler.replay(trials, [result_of(trial, spec, base) for trial in trials])
        self._original = {t.key: t for t in trials if t.same_as is None}
        self._check.remember(trials)
        if trials:
            self._setting.watcher.batch(trials, 0.0)
        return trials

    def batch(self, trials: Sequence[Trial]) -> tuple[list[Trial], dict[str, Attempt]]:
        """Propose and evaluate one batch; what is known already is not evaluated again."""
        spec, first = self._setting.spec, len(trials)
        number = trials[-1].batch + 1 if trials else 0
        size = min(spec.batch, designs_to_go(spec, trials))
        proposals = self._sampler.propose(number, first, size, self._refusals)
        points = [spec.space.point(proposal.choice) for proposal in proposals]
        keys = [self._setting.key_of(point) for point in points]
        attempts = self._attempts(
            {k: p for k, p in zip(keys, points, strict=True) if k not in self._original}, trials
        )
        new: list[Trial] = []
        self._check_base(trials, attempts, keys)
        for offset, (key, point, proposal) in enumerate(zip(keys, points, proposals, strict=True)):
            baseline = dict(enumerate(spec.baseline_names)).get(first + offset)
            refused = tuple(
                {"point": spec.space.point(each.choice), "reason": each.reason}
                for each in proposal.refused
            )
            slot = TrialSlot(first + offset, number, size, key, point, proposal, baseline, refused)
            original = self._original.get(key)
            if original:
                new.append(slot.repeated(original))
                continue
            base = base_of(spec, [*trials, *new][:1])
            self._original[key] = slot.evaluated(attempts[key].outcome, spec, base)
            new.append(self._original[key])
        base = base_of(spec, [*trials, *new][:1])
        self._sampler.tell([result_of(trial, spec, base) for trial in new])
        return new, attempts

    def _check_base(
        self, trials: Sequence[Trial], attempts: Mapping[str, Attempt], keys: Sequence[str]
    ) -> None:
        """Refuse limits on the reference design where that has no metrics.

        Raises EnvironmentFailed if it could not be evaluated: another time it may.
        """
        spec = self._setting.spec
        if not spec.baselines or not spec.uses_base:
            return
        base = trials[0] if trials else attempts[keys[0]].outcome
        reason = base.reason
        if base.status == "failed":
            raise EnvironmentFailed(
                f"the reference design {spec.baselines[0].name} could not be evaluated, so `base`"
                f" has no value: {reason}",
                instead="study resume DIR tries it again; nothing was recorded of its batch",
            )
        if reason is not None:
            raise SpecError(
                f"the reference design {spec.baselines[0].name} has no metrics, so `base` has no"
                f" value: {reason}",
                instead="another first baseline",
            )

    def _attempts(self, points: Mapping[str, Point], trials: Sequence[Trial]) -> dict[str, Attempt]:
        """Return the attempts on designs by key, with bounds first where the study wants it.

        A design whose bounds one of the `trials` before this batch beats is not executed, unless it
        is a baseline.
        """
        spec = self._setting.spec
        if not spec.bounds_first:
            return self._evaluated(points)
        asked = [asking_for_bounds(point) for point in points.values()]
        answers = self._pool.evaluate(asked, lambda *_: None)
        bounds = {k: a for k, a in zip(points, answers, strict=True) if a.outcome.metrics}
        beaten = self._beaten(bounds, trials)
        evaluated = self._evaluated(
            {key: point for key, point in points.items() if key not in beaten}
        )
        return beaten | {
            k: _with_bounds(attempt, bounds.get(k)) for k, attempt in evaluated.items()
        }

    def _beaten(self, bounds: Mapping[str, Attempt], trials: Sequence[Trial]) -> dict[str, Attempt]:
        """Return by key, as excluded, the designs whose bounds one of the `trials` beats."""
        spec = self._setting.spec
        may_be_left_out = bounds.keys() - {self._setting.key_of(b.point) for b in spec.baselines}
        return {
            key: replace(bound, outcome=replace(bound.outcome, status="excluded", reason=EXCLUDED))
            for key, bound in bounds.items()
            if key in may_be_left_out and is_beaten(bound.outcome.metrics, trials, spec.objectives)
        }

    def _evaluated(self, points: Mapping[str, Point]) -> dict[str, Attempt]:
        """Return the attempts on designs by key; those that are known come first.

        Raises EnvironmentFailed if no design could be evaluated.
        """
        attempts = {
            key: self._earlier_outcomes[key] for key in points if key in self._earlier_outcomes
        }
        missing = {key: point for key, point in points.items() if key not in attempts}
        names = list(missing)

        def keep(position: int, attempt: Attempt) -> None:
            self.pending.add(names[position], missing[names[position]], attempt.outcome)

        note = self._setting.watcher.evaluated
        answers = self._pool.evaluate(list(missing.values()), note, keep)
        attempts |= dict(zip(missing, answers, strict=True))
        failed = [answer for answer in answers if answer.outcome.status == "failed"]
        if len(failed) == len(answers) > 1:
            reason = failed[0].outcome.reason or ""
            higher = "limit_memory=4GB" if "limit_memory" in reason else "limit_s=60"
            raise EnvironmentFailed(
                f"none of {len(failed)} designs could be evaluated: {reason}",
                instead=f"a higher limit (study resume DIR --add search.{higher}), more memory or"
                " fewer workers; nothing was recorded of them",
            )
        return attempts


EXCLUDED = "not executed: an executed design is nowhere above its lower bounds"
BOUND = "bound."
"""Before the name of a metric: its lower bound from before the execution."""


def _with_bounds(attempt: Attempt, bound: Attempt | None) -> Attempt:
    """Return an attempt with the bounds of its metrics, if there are any, beside them."""
    if bound is None or attempt.outcome.status != "feasible":
        return attempt
    bounds = {f"{BOUND}{name}": value for name, value in bound.outcome.metrics.items()}
    outcome: Outcome = replace(attempt.outcome, metrics={**attempt.outcome.metrics, **bounds})
    return replace(attempt, outcome=outcome)


class EnvironmentFailed(TilewrightError):  # noqa: N818 (an event, named as such)
    """The machine that a study runs on does not allow to evaluate any design."""

    exit_code = 4
    category = "environment"


def _times(
    new: Sequence[Trial], attempts: Mapping[str, Attempt], seconds: float
) -> dict[str, object]:
    return {
        "batch": new[0].batch,
        "ended": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 6),
        "shared": _shared(new, attempts)._asdict(),
        "evaluations": {
            str(trial.number): round(attempts[trial.key].seconds, 6)
            for trial in new
            if trial.same_as is None
        },
    }


def _shared(new: Sequence[Trial], attempts: Mapping[str, Attempt]) -> Sharing:
    """Return what the trials of a batch did not need to work out."""
    fresh = [trial for trial in new if trial.same_as is None]
    reused = sum(attempts[trial.key].seconds == 0.0 for trial in fresh)
    searched = total_of(attempts[trial.key].sharing for trial in fresh)
    return searched._replace(repeated=len(new) - len(fresh), known=reused)


class _KeptDetails:
    """Stores the details of the designs that the report shows, and drops all others.

    `spec`: the study.
    """

    def __init__(self, run: RunDirectory, spec: StudySpec) -> None:
        self._run = run
        self._front = FrontSoFar(spec.objectives)
        self._numbers: list[int] = []

    def keep(self, trials: Sequence[Trial], attempts: Mapping[str, Attempt]) -> None:
        """Store the details of the last ones of all `trials` where they are shown."""
        shown = _with_baselines(self._front.of(trials), trials)
        for trial in shown:
            if trial.key in attempts and attempts[trial.key].outcome.details:
                self._run.write_details(trial.number, attempts[trial.key].outcome.details)
        numbers = [trial.number for trial in shown]
        if numbers != self._numbers:
            self._run.keep_details(numbers)
            self._numbers = numbers


def shown_in_detail(trials: Sequence[Trial], spec: StudySpec) -> list[Trial]:
    """Return the trials whose details the report shows, each design once.

    Those are the Pareto front, then the baselines that have metrics.
    """
    return _with_baselines(front_of(trials, spec.objectives), trials)


def _with_baselines(front: list[Trial], trials: Sequence[Trial]) -> list[Trial]:
    numbers = {trial.number for trial in front}
    return front + [
        t
        for t in trials
        if t.baseline and t.metrics and t.number not in numbers and t.same_as is None
    ]
