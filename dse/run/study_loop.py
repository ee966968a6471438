"""The study loop: ask a batch, evaluate it, tell it in the order asked, write it down.

One process owns the search; workers only evaluate. A batch depends on the seed, its number and
the results before it, never on how many workers there are or which of them was faster.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from tilewright.arch.errors import SpecError
from tilewright.dse.models.evaluator import Attempt, Evaluator
from tilewright.dse.models.worker_pool import Pool
from tilewright.dse.run.record import Trial, TrialStatus, front_of
from tilewright.dse.run.rundir import RunDirectory, TrialLog
from tilewright.dse.study.design_space import Point, Value
from tilewright.dse.study.sampler import Proposal, Result, Sampler, SamplerSettings
from tilewright.dse.study.samplers import make_sampler
from tilewright.dse.study.study import StudySpec


class Watcher(Protocol):
    """Something that is told how a study goes, to show it to the user."""

    def batch(self, trials: Sequence[Trial], seconds: float) -> None:
        """Take note of a finished batch.

        `trials`: all so far; `seconds`: duration of the batch, 0 for those found at a resume.
        """
        ...

    def evaluated(self, done: int, count: int) -> None:
        """Take note that `done` of the `count` new designs of the current batch are evaluated."""
        ...


@dataclass(frozen=True, slots=True)
class Setting:
    """What the loop of a study needs.

    `spec`: the study; `evaluator`: the model; `key_of`: gives a design the key of its evaluation,
    so that none is evaluated twice; `watcher`: is told of each batch.
    """

    spec: StudySpec
    evaluator: Evaluator
    key_of: Callable[[Point], str]
    watcher: Watcher


def explore(
    setting: Setting, run: RunDirectory, pool: Pool, stop: Callable[[], bool]
) -> list[Trial]:
    """Run the batches of a study that are missing in its run directory; return its trials.

    `setting`: study, model, key of a design and watcher; `pool`: evaluates the designs. Batches
    already there are not evaluated again but told to the sampler, which proposes the designs.
    `stop` is asked before each batch; if it says True, the trials so far are returned. Raises
    SpecError if an objective or a constraint names a metric that the model does not give,
    WorkerLost if a worker process died.
    """
    spec, watcher = setting.spec, setting.watcher
    sampler = make_sampler(_search(spec), spec.space)
    with TrialLog(run) as log:
        trials = run.repair(spec.batch_size)
        sampler.replay(trials, [result_of(trial, spec) for trial in trials])
        trial_of_key = {t.key: t for t in trials if t.same_as is None}
        if trials:
            watcher.batch(trials, 0.0)
        while len(trials) < spec.trials and not stop():
            start = time.perf_counter()
            new, attempts = _batch(setting, sampler, pool, trial_of_key, len(trials))
            sampler.tell([result_of(trial, spec) for trial in new])
            log.append(new, _times(new, attempts, time.perf_counter() - start))
            trials += new
            _keep_details(run, trials, attempts, spec)
            watcher.batch(trials, time.perf_counter() - start)
    return trials


def result_of(trial: Trial, spec: StudySpec) -> Result:
    """Return what the sampler is told of a trial: its objectives and by how much it is over limits.

    A trial that cannot be built or failed has no objectives (None).
    """
    if trial.status in ("infeasible", "error"):
        return Result(None, {})
    return Result(
        tuple(trial.metrics[objective.metric] for objective in spec.objectives),
        excess_of(trial.metrics, spec),
    )


def excess_of(metrics: Mapping[str, float], spec: StudySpec) -> dict[str, float]:
    """Return by how much each constraint of the study is exceeded, in the metric's unit.

    Keys are texts like `area <= 0.0006`; 0 or less means that it holds.
    """
    excess: dict[str, float] = {}
    for constraint in spec.constraints:
        excess |= constraint.excess(metrics[constraint.metric])
    return excess


def _search(spec: StudySpec) -> SamplerSettings:
    start = tuple(spec.space.choice(baseline.point) for baseline in spec.baselines)
    return SamplerSettings(spec.sampler, spec.seed, spec.objectives, start, spec.population)


def _batch(
    setting: Setting, sampler: Sampler, pool: Pool, trial_of_key: dict[str, Trial], first: int
) -> tuple[list[Trial], dict[str, Attempt]]:
    """Propose and evaluate one batch; designs that are known already are not evaluated again."""
    spec = setting.spec
    number = first // spec.batch
    proposals = sampler.propose(number, first, spec.batch_size(number))
    points = [spec.space.point(proposal.choice) for proposal in proposals]
    keys = [setting.key_of(point) for point in points]
    todo = {key: point for key, point in zip(keys, points, strict=True) if key not in trial_of_key}
    answers = pool.evaluate(list(todo.values()), setting.watcher.evaluated)
    attempts = dict(zip(todo, answers, strict=True))
    new: list[Trial] = []
    for offset, (key, point, proposal) in enumerate(zip(keys, points, proposals, strict=True)):
        baseline = dict(enumerate(spec.baseline_names)).get(first + offset)
        slot = _Slot(first + offset, number, key, point, proposal, baseline)
        original = trial_of_key.get(key)
        trial = _fresh(slot, attempts[key], spec) if original is None else _copy(slot, original)
        trial_of_key.setdefault(key, trial)
        new.append(trial)
    return new, attempts


@dataclass(frozen=True, slots=True)
class _Slot:
    number: int
    batch: int
    key: str
    point: dict[str, Value]
    proposal: Proposal
    baseline: str | None


def _fresh(slot: _Slot, attempt: Attempt, spec: StudySpec) -> Trial:
    outcome = attempt.outcome
    status: TrialStatus = outcome.status
    violations: dict[str, float] = {}
    if status == "feasible":
        _check_metrics(outcome.metrics, spec)
        violations = {k: v for k, v in excess_of(outcome.metrics, spec).items() if v > 0}
        status = "violates" if violations else status
    return Trial(
        number=slot.number,
        batch=slot.batch,
        key=slot.key,
        point=slot.point,
        status=status,
        baseline=slot.baseline,
        metrics={name: outcome.metrics[name] for name in sorted(outcome.metrics)},
        violations=violations,
        reason=outcome.reason,
        verified=outcome.verified,
        sampler=slot.proposal.notes,
    )


def _copy(slot: _Slot, original: Trial) -> Trial:
    return Trial(
        number=slot.number,
        batch=slot.batch,
        key=slot.key,
        point=slot.point,
        status=original.status,
        baseline=slot.baseline,
        metrics=original.metrics,
        violations=original.violations,
        reason=original.reason,
        same_as=original.number,
        verified=original.verified,
        sampler=slot.proposal.notes,
    )


def _check_metrics(metrics: Mapping[str, float], spec: StudySpec) -> None:
    for metric in [o.metric for o in spec.objectives] + [c.metric for c in spec.constraints]:
        if metric not in metrics:
            raise SpecError(
                f"the {spec.model} model gives no metric `{metric}`",
                instead=f"one of {', '.join(sorted(metrics))}",
            )


def _times(
    new: Sequence[Trial], attempts: Mapping[str, Attempt], seconds: float
) -> dict[str, object]:
    return {
        "batch": new[0].batch,
        "ended": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 6),
        "evaluations": {
            str(trial.number): round(attempts[trial.key].seconds, 6)
            for trial in new
            if trial.same_as is None
        },
    }


def _keep_details(
    run: RunDirectory, trials: Sequence[Trial], attempts: Mapping[str, Attempt], spec: StudySpec
) -> None:
    """Store the details of the designs that the report shows, and drop those it no longer does."""
    shown = shown_in_detail(trials, spec)
    for trial in shown:
        if trial.key in attempts and attempts[trial.key].outcome.details:
            run.write_details(trial.number, attempts[trial.key].outcome.details)
    run.keep_details([trial.number for trial in shown])


def shown_in_detail(trials: Sequence[Trial], spec: StudySpec) -> list[Trial]:
    """Return the trials whose details the report shows, each design once.

    Those are the Pareto front, then the baselines that have metrics.
    """
    front = front_of(trials, spec.objectives)
    numbers = {trial.number for trial in front}
    return front + [
        t
        for t in trials
        if t.baseline and t.metrics and t.number not in numbers and t.same_as is None
    ]
