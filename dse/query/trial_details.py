"""The inside of a design: loop nests and costs by Einsum, stored by its run or found again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isclose
from typing import Any

from tilewright.arch.errors import TilewrightError
from tilewright.dse.models.evaluator import Outcome, asking_for_details, attempt
from tilewright.dse.models.evaluators import make_evaluator
from tilewright.dse.query.open_run import RunTrials
from tilewright.dse.run.record import Trial
from tilewright.dse.run.rundir import SPEC
from tilewright.dse.run.runner import check_copies
from tilewright.dse.study.study_loading import load_study

_ROUNDING = 1e-9


def details_of(
    run: RunTrials, number: int, part: str, note: Callable[[str], None] = lambda _: None
) -> Mapping[str, Any]:
    """Return the report details of a trial, as JSON data; empty if they cannot be had.

    A run stores those of the designs that its report shows; other designs are evaluated again,
    and `note` is told of it. `part`: what some section must hold, such as `loop_nest`; stored
    details without it are made anew. Empty for a design without metrics, and where the evaluation
    finds other metrics, as a search under a budget may. Raises RunError if there is no such trial.
    """
    trial = run.trial(number)
    stored = run.directory.details(number if trial.same_as is None else trial.same_as) or {}
    if _has(stored, part) or not trial.metrics:
        return stored
    note(f"evaluating trial {number} again: the run stores the inside of its front and baselines")
    outcome = _outcome(run, trial)
    if outcome.reason is not None:
        note(f"trial {number} cannot be evaluated now: {outcome.reason.splitlines()[0]}")
        return stored
    if not _agree(trial.metrics, outcome.metrics):
        note(f"trial {number} has another mapping this time: its inside is left out")
        return stored
    return outcome.details if _has(outcome.details, part) else stored


def _has(details: Mapping[str, Any], part: str) -> bool:
    sections = details.get("sections")
    return isinstance(sections, list) and any(part in each for each in sections)


def _agree(recorded: Mapping[str, float], recomputed: Mapping[str, float]) -> bool:
    """Tell whether metrics that were recorded and found now agree, in all that are in both."""
    return all(
        isclose(recomputed[name], value, rel_tol=_ROUNDING, abs_tol=0.0)
        for name, value in recorded.items()
        if name in recomputed
    )


def _outcome(run: RunTrials, trial: Trial) -> Outcome:
    """Evaluate a design of a run with its details.

    A study that cannot be read, or whose inputs changed, is the reason of the outcome.
    """
    try:
        check_copies(run.directory)
        evaluator = make_evaluator(load_study(run.directory.path / SPEC))
    except TilewrightError as error:
        return Outcome(reason=str(error), status="failed")
    return attempt(evaluator, asking_for_details(evaluator, trial.point)).outcome
