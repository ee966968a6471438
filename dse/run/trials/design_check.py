"""Why designs cannot be built, as far as a model says so before it evaluates them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tilewright.dse.models.evaluator import Pool, asking_for_check
from tilewright.dse.run.record import Trial, refused_in
from tilewright.dse.study.design_space import Choice, Space, canonical_json


class DesignCheck:
    """Asks the workers of a pool for the check of a model, once for each design of a space."""

    def __init__(self, space: Space, pool: Pool) -> None:
        self._space, self._pool = space, pool
        self._known: dict[str, str | None] = {}

    def remember(self, trials: Iterable[Trial]) -> None:
        """Take what an interrupted run has found."""
        self._known |= {canonical_json(e["point"]): str(e["reason"]) for e in refused_in(trials)}

    def refusals(self, choices: Sequence[Choice]) -> list[str | None]:
        """Return why designs cannot be built; None where that is not known before they are tried.

        A check that fails itself, for want of time or by a defect, says nothing.
        """
        points = [self._space.point(choice) for choice in choices]
        keys = [canonical_json(point) for point in points]
        new = {k: p for k, p in zip(keys, points, strict=True) if k not in self._known}
        asked = [asking_for_check(point) for point in new.values()]
        answers = self._pool.evaluate(asked, lambda *_: None) if asked else []
        for key, answer in zip(new, answers, strict=True):
            is_refused = answer.outcome.status == "infeasible"
            self._known[key] = answer.outcome.reason if is_refused else None
        return [self._known[key] for key in keys]
