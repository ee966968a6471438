"""Outcomes that need no evaluation: of earlier trials, of another run, of an interrupted batch.

An outcome is known by the key of its design, a hash over all that it depends on. What a run
evaluates of its present batch goes to `pending.jsonl` at once, so that a kill loses only what was
being evaluated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from tilewright.dse.models.evaluator import Attempt, Outcome
from tilewright.dse.run.record import NO_VALUE, Trial
from tilewright.dse.store.safe_files import name_file
from tilewright.dse.store.trial_line import line_of, trial_of

PENDING = "pending.jsonl"
_LASTING = ("feasible", "violates", "infeasible")


def outcome_of(trial: Trial) -> Outcome:
    """Return the outcome that a trial records; it has no details."""
    return Outcome(
        metrics=trial.metrics,
        reason=trial.reason,
        status="feasible" if trial.status == "violates" else trial.status,
        verified=trial.verified,
        proof=trial.proof,
        gap=trial.gap,
        mappings=tuple(trial.mappings),
        breakdown=trial.breakdown,
    )


def known_outcomes(trials: Iterable[Trial]) -> dict[str, Attempt]:
    """Return the outcomes of trials by key, as attempts that took no time.

    Left out are those that say nothing about the design: it failed for want of time or memory, or
    by a defect of the model.
    """
    return {
        trial.key: Attempt(outcome_of(trial), 0.0)
        for trial in trials
        if trial.status in _LASTING and not (trial.reason or "").startswith(NO_VALUE)
    }  # fmt: skip


class Pending:
    """The outcomes of the batch that is being evaluated, on the disk as soon as they are there.

    `path`: of the file. Each outcome is a line like that of a trial.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> dict[str, Attempt]:
        """Return the outcomes that a killed process left, by key; damaged lines are left out."""
        outcomes: dict[str, Attempt] = {}
        if not self._path.is_file():
            return outcomes
        for line in self._path.read_bytes().split(b"\n"):
            try:
                trial = trial_of(line.decode())
            except ValueError:  # torn or damaged: evaluated again
                continue
            outcomes |= known_outcomes([trial])
        return outcomes

    def add(self, key: str, point: Mapping[str, object], outcome: Outcome) -> None:
        """Append an outcome to the file; one that says nothing about the design is left out.

        key: of the design's evaluation; point: value of each knob.
        """
        if outcome.status not in _LASTING:
            return
        trial = Trial(number=0, batch=0, batch_size=1, key=key, point=point, status=outcome.status)  # type: ignore[arg-type]
        trial = replace(
            trial,
            metrics=dict(outcome.metrics),
            reason=outcome.reason,
            verified=outcome.verified,
            proof=outcome.proof,
            gap=outcome.gap,
            mappings=tuple(dict(each) for each in outcome.mappings),
            breakdown={name: dict(shares) for name, shares in outcome.breakdown.items()},
        )
        try:
            with self._path.open("ab") as file:
                file.write(line_of(trial).encode() + b"\n")
        except OSError as error:
            name_file(error, self._path)
            raise

    def clear(self) -> None:
        """Forget all outcomes: the batch stands in trials.jsonl now."""
        if self._path.exists():
            with self._path.open("wb"):
                pass
