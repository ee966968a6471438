"""Show how a study goes: a bar on a terminal, one line per batch elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from tilewright.arch.quantities import label, quantity
from tilewright.dse.command.console import say
from tilewright.dse.run.record import Trial, front_of
from tilewright.dse.run.study_loop import distinct
from tilewright.dse.study.study import StudySpec

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


def describe_state(spec: StudySpec, trials: Sequence[Trial]) -> str:
    """Return one line of text on the state of a search.

    It has the size of the Pareto front, the best value of each objective, and how many designs are
    infeasible, over a limit, or failed by an internal error.
    """
    front = front_of(trials, spec.objectives)
    phrases = [f"front {len(front)}"]
    for objective in spec.objectives:
        values = [trial.metrics[objective.metric] for trial in front]
        if values:
            best = min(values) if objective.goal == "minimize" else max(values)
            phrases.append(f"{label(objective.metric)} {quantity(best, objective.metric)}")
    unbuildable = sum(t.status == "infeasible" for t in trials)
    violating = sum(t.status == "violates" for t in trials)
    failed = sum(t.status == "failed" for t in trials)
    defects = sum(t.status == "error" for t in trials)
    phrases += [f"infeasible {unbuildable}"] * bool(unbuildable)
    phrases += [f"over a limit {violating}"] * bool(violating)
    phrases += [f"not evaluated {failed}"] * bool(failed)
    phrases += [f"INTERNAL ERRORS {defects}"] * bool(defects)
    return ", ".join(phrases)


class ProgressLines:
    """Progress of a study as text: one line per batch on standard error."""

    def __init__(self, spec: StudySpec) -> None:
        self._spec = spec
        self._width = len(str(spec.trials))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to close."""

    def batch(self, trials: Sequence[Trial], seconds: float) -> None:
        """Print the state after a batch.

        `trials`: all so far; `seconds`: duration of the batch, 0 if it was found at a resume.
        """
        trials_text = f"{distinct(trials):>{self._width}}/{self._spec.trials}"
        time = f"{seconds:.1f} s" if seconds else "found"
        say(f"batch {trials[-1].batch + 1}: {trials_text} trials ({time}) | "
            f"{describe_state(self._spec, trials)}")  # fmt: skip

    def evaluated(self, done: int, count: int) -> None:
        """Do nothing: this display shows whole batches only."""


class ProgressBar:
    """Progress of a study as a bar on the terminal, with the state of the search beside it."""

    def __init__(self, spec: StudySpec) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        self._spec = spec
        self._done = 0
        self._progress: Progress = Progress(
            TextColumn("[bold]{task.fields[study]}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[state]}"),
            console=Console(stderr=True),
        )
        self._task: TaskID = self._progress.add_task(
            "", total=spec.trials, study=spec.name, state="starting"
        )

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def batch(self, trials: Sequence[Trial], seconds: float) -> None:
        """Set the bar to the number of trials so far and show the new state of the search."""
        del seconds
        self._done = distinct(trials)
        state = describe_state(self._spec, trials)
        self._progress.update(self._task, completed=self._done, state=state)

    def evaluated(self, done: int, count: int) -> None:
        """Move the bar by the `done` designs of the batch that is being evaluated."""
        del count
        self._progress.update(self._task, completed=self._done + done)


def watcher_for(spec: StudySpec) -> ProgressBar | ProgressLines:
    """Return the progress bar if standard error is a terminal, else the lines of text."""
    return ProgressBar(spec) if sys.stderr.isatty() else ProgressLines(spec)
