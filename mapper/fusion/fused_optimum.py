"""From labels to a scored mapping: where a search starts, and which of equal mappings it takes."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from math import inf

from tilewright.mapper.fusion.boundary.exchange_memories import ExchangeMemories
from tilewright.mapper.fusion.fused_answer import mapping_of_label
from tilewright.mapper.fusion.fused_problem import OBJECTIVE_VALUES, FusedProblem, ValueFunction
from tilewright.mapper.fusion.join.join_deepening import JoinResult, JoinSearch
from tilewright.mapper.fusion.pmappings.pmapping_cache import PmappingCache
from tilewright.mapper.fusion.tie_break import break_ties
from tilewright.mapper.model.evaluation import evaluate
from tilewright.mapper.searches.budget import Budget
from tilewright.mapper.searches.request import Request
from tilewright.mapper.searches.result import Report, ScoredMapping, SearchStatistics, no_report
from tilewright.mapper.searches.search_errors import InternalError
from tilewright.mapper.searches.verify import figures_agree
from tilewright.mapper.workload.errors import InfeasibleMapping

SEED_SHARE = 0.5  # of the budget, for the mapping that other objectives start from


@dataclass(frozen=True, slots=True)
class FusedPlan:
    """What is searched, and the memories that all Einsums see. `seed`: the same without the usage
    of memories, if that counts: what a search starts from. `shelf`: what searches of it share."""

    problem: FusedProblem
    memories: ExchangeMemories
    seed: FusedPlan | None = None
    cache: PmappingCache = field(default_factory=PmappingCache)


@dataclass(frozen=True, slots=True)
class FusedOptimum:
    """What was found, with the model's score; None: no mapping."""

    result: JoinResult
    scored: ScoredMapping | None


class FusedOptimizer:
    """Finds best mappings of one workload."""

    def __init__(self, request: Request, plan: FusedPlan, budget: Budget) -> None:
        self._request = request
        self._plan = plan
        self._budget = budget
        self._seed: FusedOptimum | None = None
        self.statistics = SearchStatistics()

    def best(self, objective: str, value: ValueFunction, watch: Report = no_report) -> FusedOptimum:
        """Return the mapping with the least `value`; of equal ones that with the least of the other
        metric: latency if energy is minimized, else energy.

        Other objectives start from the least energy: its latency is often the least, too.
        """
        if objective == "energy":
            return self._least_energy(self._budget, watch)
        seed = self._least_energy(self._seed_budget(), no_report)
        if seed.scored is None and not seed.result.exhausted:
            return seed
        plan = self._plan
        found = seed.result
        if found.label is not None and seed.scored is not None:
            usage = plan.problem.usage.usages_of(seed.scored.score)
            found = replace(found, label=replace(found.label, usage=usage))
        cascade = replace(plan.problem, objective=objective, value=value)
        return self._solve(replace(plan, problem=cascade), (self._budget, watch), found)

    def _least_energy(self, budget: Budget, watch: Report) -> FusedOptimum:
        if self._seed is None or self._seed.result.exhausted:
            plan = self._plan.seed or self._plan
            cascade = replace(plan.problem, objective="energy", value=OBJECTIVE_VALUES["energy"])
            self._seed = self._solve(replace(plan, problem=cascade), (budget, watch), None)
        return self._seed

    def _seed_budget(self) -> Budget:
        if self._budget.deadline == inf:
            return self._budget
        left = max(0.0, self._budget.deadline - time.monotonic())
        return replace(self._budget, deadline=self._budget.deadline - (1 - SEED_SHARE) * left)

    def _solve(
        self, plan: FusedPlan, how: tuple[Budget, Report], seed: JoinResult | None
    ) -> FusedOptimum:
        cascade, (budget, watch) = plan.problem, how
        search = JoinSearch(cascade, (budget, watch), seed, plan.cache)
        found = search.solve()
        self.statistics = self.statistics.plus(search.statistics)
        if found.label is None:
            return FusedOptimum(found, None)
        optimum = self._score(plan, found, timed=cascade.objective != "energy")
        if found.exhausted or optimum.scored is None:
            return optimum
        broken = break_ties(cascade, search, (optimum.result, optimum.scored.score), self._budget)
        self.statistics = self.statistics.plus(broken.statistics)
        if broken.result.label is None:
            return optimum
        better = replace(found, label=broken.result.label, graph=broken.result.graph)
        return self._score(plan, better, timed=True)

    def _score(self, plan: FusedPlan, found: JoinResult, timed: bool) -> FusedOptimum:
        """Score what was found; `timed`: its label has a latency, else it is given the model's."""
        scored = score_result(self._request, plan, found, timed)
        if found.label is None or timed:
            return FusedOptimum(found, scored)
        label = replace(found.label, latency=scored.score.latency)
        return FusedOptimum(replace(found, label=label), scored)


def score_result(
    request: Request, plan: FusedPlan, found: JoinResult, timed: bool = True
) -> ScoredMapping:
    """Let the model score the mapping found; the search's numbers must agree with it.

    `timed`: latency counted; without need the search has none.
    """
    assert found.label is not None
    assert found.graph is not None
    mapping = mapping_of_label(found.graph, found.label, plan.problem.exchanged)
    mapping, asked = request.whole_mapping(mapping), request.scoring_request
    try:
        score = evaluate(asked.arch, asked.workload, mapping, request.options.conventions)
    except InfeasibleMapping as error:  # it would pass for a workload without any mapping
        raise InternalError(
            f"the fused search's mapping is refused by the model: {error}"
        ) from error
    label, usage = found.label, plan.problem.usage
    pairs = [("energy", label.energy, score.energy)]
    pairs += [("latency", label.latency, score.latency)] if timed else []
    pairs += zip(
        (f"usage.{n}" for n in usage.names), label.usage, usage.usages_of(score), strict=True
    )
    for name, mine, its in pairs:
        if not figures_agree(mine, its):
            raise InternalError(f"the fused search computed {name} {mine!r}, the model {its!r}")
    return ScoredMapping(mapping, score)
