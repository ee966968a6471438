"""Optuna proposes points of a mapspace: a study over templates and tile shapes."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.budget import Budget, OutOfBudget, budget_from
from tilewright.mapper.searches.exact.label_metrics import Goal
from tilewright.mapper.searches.mapping_scorer import MappingScorer
from tilewright.mapper.searches.methods.bound_for_heuristics import (
    lower_bound_in_share,
    smallest_mapping,
)
from tilewright.mapper.searches.methods.exhaustive import evaluated, is_better
from tilewright.mapper.searches.result import (
    EinsumMapping,
    ImprovingSearch,
    MapspaceResult,
    SearchStatistics,
)
from tilewright.mapper.workload.errors import InfeasibleMapping

if TYPE_CHECKING:
    import optuna


@dataclass(frozen=True, slots=True)
class OptunaSearch(ImprovingSearch):
    """A search method: the TPE sampler of Optuna proposes mappings.

    `samples`: trials; a mapping that overfills a memory is a pruned trial. `seed`: of the sampler;
    same seed, same answer, unless a budget ends it early. `report`: called with each better value.
    `memory`: bytes of the process before which it ends.
    """

    samples: int = 200
    seed: int = 0

    def find(self, space: Mapspace, goal: Goal, budget: float | None) -> MapspaceResult:
        """Return the best of the trials, with the lower bound from which the exact search starts.

        `goal`: what is least; `budget`: seconds, None for no limit. Proven only if there is no
        mapping. Raises UnsupportedFeature if there are too many choices of lanes (instances of
        fanouts) to list.
        """
        import optuna

        limits = budget_from(budget, self.memory)
        bound = lower_bound_in_share(space, goal, limits)
        try:
            roomy = smallest_mapping(space, limits)
        except OutOfBudget:
            return MapspaceResult(None, bound, False, SearchStatistics())
        if roomy is None:
            return MapspaceResult(None, inf, True, SearchStatistics(templates=space.templates_made))
        verbosity = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        try:
            sampler = optuna.samplers.TPESampler(seed=self.seed)
            best, count = self._run(optuna.create_study(sampler=sampler), space, goal, limits)
        finally:
            optuna.logging.set_verbosity(verbosity)
        if best is None:
            best = MappingScorer(space).costed(space.mapping_at(roomy))
        return MapspaceResult(best, bound, False, evaluated(space, count))

    def _run(
        self, study: optuna.Study, space: Mapspace, goal: Goal, limits: Budget
    ) -> tuple[EinsumMapping | None, int]:
        import optuna

        judge = MappingScorer(space)
        best: EinsumMapping | None = None
        count = 0
        for _ in range(self.samples):
            if limits.is_used_up:
                break
            trial = study.ask()
            count += 1
            try:
                candidate = judge.costed(space.suggest(trial))
            except InfeasibleMapping:
                study.tell(trial, state=optuna.trial.TrialState.PRUNED)
                continue
            study.tell(trial, candidate.value(goal))
            if best is None or is_better(candidate, best, goal):
                best = candidate
                self.report(best.value(goal), 0.0)
        return best, count
