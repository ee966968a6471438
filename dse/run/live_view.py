"""A live view of a study on a terminal: how far, how fast, the front, and what cannot be built."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence
from textwrap import shorten
from typing import TYPE_CHECKING, Self

from tilewright.arch.quantities import some
from tilewright.dse.models.evaluator import NOTHING_SHARED, Sharing, total_of
from tilewright.dse.run.front_file import hypervolume_by_batch
from tilewright.dse.run.interrupts import FINISHING
from tilewright.dse.run.progress import ProgressLines, describe_state
from tilewright.dse.run.record import Trial
from tilewright.dse.run.study_loop import counted
from tilewright.dse.study.study import StudySpec

if TYPE_CHECKING:
    from rich.console import Group
    from rich.progress import Progress, TaskID

_SHARE = 20  # of its own duration, that the view waits before it is computed again
_REASONS = 2
_LONGEST = 100  # characters of a reason


class LiveView:
    """The state of a study on a terminal: a bar with the time left, and four lines below it.

    The lines have the front with its best values, the hypervolume and when it last grew, the rate
    with the share of repeated designs, and the reasons why most designs cannot be built. `stop`: an
    event after which the view says that the search ends with this batch.
    """

    def __init__(self, spec: StudySpec, stop: threading.Event | None = None) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
        from rich.progress import TimeRemainingColumn as TimeLeft
        from rich.text import Text

        self._spec = spec
        self._done = 0
        self._start: tuple[float, int] | None = None
        self._next = 0.0
        self._sharing = NOTHING_SHARED
        self._bar: Progress = Progress(
            TextColumn("[bold]{task.description}"), BarColumn(), MofNCompleteColumn(), TimeLeft()
        )
        self._task: TaskID = self._bar.add_task(spec.name, total=spec.trials)
        self._state = Text(
            "  the first batch is being evaluated", no_wrap=True, overflow="ellipsis"
        )
        self._stop = stop or threading.Event()
        self._live = Live(
            get_renderable=self._shown, console=Console(stderr=True), refresh_per_second=4
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def batch(
        self, trials: Sequence[Trial], seconds: float, sharing: Sharing = NOTHING_SHARED
    ) -> None:
        """Show the state after a batch; `seconds` is 0 for the batches that a resume finds."""
        self._sharing = total_of([self._sharing, sharing])
        self._done = counted(trials)
        now = time.monotonic()
        if self._start is None:
            self._start = now - seconds, self._done if seconds == 0 else 0
        if now >= self._next or self._done == self._spec.trials:
            lines = state_lines(self._spec, trials, self._rate(now), self._sharing)
            self._state.plain = "\n".join(f"  {line}" for line in lines)
            self._next = now + _SHARE * (time.monotonic() - now)
        self._bar.update(self._task, completed=self._done)

    def evaluated(self, done: int, count: int) -> None:
        """Move the bar by the `done` designs of the batch that is being evaluated."""
        del count
        self._bar.update(self._task, completed=self._done + done)

    def _shown(self) -> Group:
        from rich.console import Group
        from rich.text import Text

        if not self._stop.is_set() or self._done == self._spec.trials:
            return Group(self._bar, self._state)
        return Group(self._bar, self._state, Text(f"  {FINISHING}", style="bold"))

    def _rate(self, now: float) -> float | None:
        """Return designs per second since this process began; None before the first."""
        if self._start is None or now <= self._start[0] or self._done == self._start[1]:
            return None
        return (self._done - self._start[1]) / (now - self._start[0])


def state_lines(
    spec: StudySpec,
    trials: Sequence[Trial],
    rate: float | None = None,
    sharing: Sharing = NOTHING_SHARED,
) -> tuple[str, ...]:
    """Return the state of a search in lines of text.

    They have the front, the hypervolume, the rate (designs per second) with the share of repeated
    designs, of searches that found their templates ready and of executions that were known, and the
    most frequent reasons why designs cannot be built.
    """
    from tilewright.dse.report.sharing import hit_rates

    repeats = sum(trial.same_as is not None for trial in trials)
    speed = "" if rate is None else f"{rate:.3g} designs/s; " if rate >= 1 else (
        f"{1 / rate:.3g} s a design; ")  # fmt: skip
    lines = [describe_state(spec, trials), *_growth(spec, trials)]
    lines.append(f"{speed}{some(len(trials), 'proposal')}, {repeats} of them known already")
    return (*lines, *hit_rates(sharing), *_frequent_reasons(trials))


def _growth(spec: StudySpec, trials: Sequence[Trial]) -> tuple[str, ...]:
    history = hypervolume_by_batch(spec, trials)
    if not history:
        return ()
    share = history[-1]["share"]
    since = next(entry["trials"] for entry in history if entry["share"] == share)
    still = int(history[-1]["trials"] - since)
    how = f"unchanged for {some(still, 'trial')}" if still else "still growing"
    return (f"hypervolume {100 * share:.1f} % of the box, {how}",)


def _frequent_reasons(trials: Sequence[Trial]) -> tuple[str, ...]:
    from tilewright.dse.report.reasons import group_reasons

    groups = group_reasons([trial for trial in trials if trial.same_as is None])
    return tuple(
        f"{group.count} × {shorten(group.example, _LONGEST, placeholder=' …')}"
        for group in groups[:_REASONS]
    )


def watcher_for(spec: StudySpec, stop: threading.Event | None = None) -> LiveView | ProgressLines:
    """Return the live view if standard error is a terminal, else the lines of text.

    `stop`: an event that ends the search after the batch in which it is set.
    """
    if not sys.stderr.isatty():
        return ProgressLines(spec)
    return LiveView(spec, stop)
