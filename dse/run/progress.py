"""Show how a study goes: a live view on a terminal, one line per batch elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, Self

from tilewright.arch.quantities import named_quantity
from tilewright.dse.command.console import say
from tilewright.dse.models.evaluator import NOTHING_SHARED, Sharing
from tilewright.dse.run.record import FrontSoFar, Trial, points_of, refused_in
from tilewright.dse.run.study_loop import counted, distinct
from tilewright.dse.study.study import StudySpec

_WORDS: Final = {
    "infeasible": "infeasible",
    "violates": "over a limit",
    "excluded": "excluded by bounds",
    "failed": "not evaluated",
    "error": "INTERNAL ERRORS",
}
"""What a line of progress calls the trials of each status, in this order."""


def describe_state(
    spec: StudySpec, trials: Sequence[Trial], front_so_far: FrontSoFar | None = None
) -> str:
    """Return one line of text on the state of a search.

    It has the size of the Pareto front, the best value of each objective, and how many designs are
    infeasible, over a limit, or failed by an internal error, how many repeat one, and how many
    proposals cannot be built and were drawn again.
    `front_so_far`: the front of earlier calls.
    """
    front = (front_so_far or FrontSoFar(spec.objectives)).of(trials)
    points = points_of(front, spec.objectives)
    phrases = [f"front {points}" + f" ({len(front)} designs)" * (points < len(front))]
    phrases += _best_values(spec, front)
    repeated = sum(t.same_as is not None for t in trials)
    phrases += [f"repeated {repeated}"] * bool(repeated)
    counts = Counter[str](trial.status for trial in trials if trial.same_as is None)
    phrases += [f"{words} {counts[status]}" for status, words in _WORDS.items() if counts[status]]
    refused = sum(1 for _ in refused_in(trials))
    phrases += [f"drawn again {refused}"] * bool(refused)
    return ", ".join(phrases)


def _best_values(spec: StudySpec, front: Sequence[Trial]) -> list[str]:
    """Return the best value of each objective on a front, as text; nothing for an empty front."""
    phrases = []
    for objective in spec.objectives if front else ():
        values = [trial.metrics[objective.metric] for trial in front]
        best = min(values) if objective.goal == "minimize" else max(values)
        phrases.append(named_quantity(best, objective.metric))
    return phrases


class ProgressLines:
    """Progress of a study as text: a line on standard error for each batch with a new design."""

    def __init__(self, spec: StudySpec) -> None:
        self._spec = spec
        self._front = FrontSoFar(spec.objectives)
        self._width = len(str(spec.trials))
        self._shown = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to close."""

    def batch(
        self, trials: Sequence[Trial], seconds: float, sharing: Sharing = NOTHING_SHARED
    ) -> None:
        """Print the state after a batch; nothing if it only repeated designs.

        `trials`: all so far; `seconds`: duration of the batch, 0 if it was found at a resume.
        """
        del sharing
        if distinct(trials) == self._shown:
            return
        self._shown, designs = distinct(trials), counted(trials)
        time = f"{seconds:.1f} s" if seconds else "kept before"
        say(f"batch {trials[-1].batch + 1}: {designs:>{self._width}}/{self._spec.trials} trials"
            f" ({time}) | {describe_state(self._spec, trials, self._front)}")  # fmt: skip

    def evaluated(self, done: int, count: int) -> None:
        """Do nothing: this display shows whole batches only."""
