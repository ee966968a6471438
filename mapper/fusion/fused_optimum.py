"""Find the best mapping and its score: where a search starts, and how ties are broken."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from tilewright.arch.quantities import with_unit
from tilewright.mapper.fusion.fused_answer import mapping_of_joined
from tilewright.mapper.fusion.fused_plan import FusedPlan
from tilewright.mapper.fusion.fused_problem import OBJECTIVE_VALUES, FusedProblem, ValueFunction
from tilewright.mapper.fusion.groups.fusion_groups import JoinedMapping
from tilewright.mapper.fusion.join.join_deepening import JoinResult, JoinSearch
from tilewright.mapper.fusion.join.join_strategy import first_share
from tilewright.mapper.fusion.tie_break import search_of_ties
from tilewright.mapper.mapping.scored_mapping import ScoredMapping
from tilewright.mapper.model.evaluation import score_mapping
from tilewright.mapper.searches.budget import Budget
from tilewright.mapper.searches.mapping_scorer import figures_agree
from tilewright.mapper.searches.request import Request
from tilewright.mapper.searches.result import Report, SearchStatistics, no_report
from tilewright.mapper.searches.search_errors import InternalError
from tilewright.mapper.workload.errors import InfeasibleMapping

ENERGY_SHARE = 0.4  # of the seconds left: for the least energy, which other objectives start from
MOST_ENERGY_SHARE = 0.7  # the same where products are searched in a short time
LATENCY_SHARE = 0.4  # of those left then: for the least latency, from which products start, too
MOST_KNOWN = 10  # mappings passed on the way, of which one may be a better start
TIED = 1e-12  # relative: values that differ by less are equal


@contextmanager
def garbage_collection_paused() -> Iterator[None]:
    """Turn off Python's cyclic garbage collector while the context lasts.

    The search makes millions of tuples and no reference cycle, so that the collector only takes
    time. It is turned on again at the end if it was on before.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@dataclass(frozen=True, slots=True)
class FusedOptimum:
    """Hold what a search of fused mappings found for one objective.

    `result`: the search's own outcome, with lower bounds and whether the budget ended it. `scored`:
    the mapping with the score that the analytical model gives it; None if there is no mapping.
    """

    result: JoinResult
    scored: ScoredMapping | None


class FusedOptimizer:
    """Find best fused mappings of one workload, for one objective after another.

    `request`: architecture, workload and options. `plan`: what Einsums may exchange, and where.
    `budget`: limits of time, labels and memory. `statistics`: what all searches so far looked at.
    `seen`: called when a preparing search, such as that for the least energy, may have another
    incumbent. The mapping of least energy is remembered: searches for other objectives start from
    it.
    """

    def __init__(self, request: Request, plan: FusedPlan, budget: Budget) -> None:
        self._request = request
        self._plan = plan
        self._budget = budget
        self._seed: FusedOptimum | None = None
        self._passed: list[JoinedMapping] = []
        self._running: tuple[FusedPlan, JoinSearch] | None = None
        self.seen: Callable[[], None] = lambda: None
        self.statistics = SearchStatistics()

    @property
    def incumbent(self) -> JoinedMapping | None:
        """The best mapping so far of the search that runs, or ran last; None: there is none."""
        return None if self._running is None else self._running[1].incumbent

    def scored(self, incumbent: JoinedMapping) -> ScoredMapping:
        """Score the incumbent of the search that runs, or ran last."""
        assert self._running is not None
        plan, search = self._running
        return score_joined(self._request, plan, incumbent, search.problem.objective != "energy")

    def best(
        self, objective: str, value: ValueFunction, report: Report = no_report
    ) -> FusedOptimum:
        """Find the mapping with the least value of an objective.

        `objective`: "energy", "latency", "edp" or the text of a formula. `value`: its function of
        energy in joule and latency in second, and of the usages in bits if the plan counts them.
        `report`: called with the best value and the lower bound on the way. Of equal mappings the
        one with the least of the other metric is returned: latency if energy is minimized, else
        energy. A search for another objective than energy starts from the mapping of least energy;
        where the seconds are limited, one for a product or a formula from that of least latency,
        too, and the bounds of both count. A budget that ends never raises: the result says that it
        is exhausted. Raises UnsupportedFeature
        where loops are too many to search, InternalError if search and model disagree about the
        mapping.
        """
        if objective == "energy":
            return self._least_energy(self._budget, report, by_cost=True)
        limited = self._budget.deadline < inf
        report_stage = self._stage_report("least energy", "J")
        most = ENERGY_SHARE if objective == "latency" else MOST_ENERGY_SHARE
        share = first_share(self._budget.seconds_left, ENERGY_SHARE, most)
        seed = self._least_energy(self._budget.share(share), report_stage, by_cost=limited)
        if seed.scored is None and not seed.result.exhausted:
            return seed
        wanted = replace(self._plan.problem, objective=objective, value=value, by_cost=limited)
        start = self._best_known(wanted, self._start(seed))
        if limited and objective != "latency":
            start = self._better_start(wanted, start)
        return self._solve(replace(self._plan, problem=wanted), self._budget, report, start)

    def _start(self, seed: FusedOptimum) -> JoinResult:
        """Return the seed's result as the start for another objective, with its usages in bits.

        Usages are those of the memories that this plan counts. The seed's lower bound of the energy
        is kept, unless the plan differs from that of the seed; then the bound is 0.
        """
        result, usage = seed.result, self._plan.problem.usage
        least = 0.0 if self._plan.seed else result.lower_bound
        result = replace(result, least_costs=(least, 0.0))
        if result.mapping is None or seed.scored is None:
            return result
        usages = usage.usages_of(seed.scored.score)
        return replace(result, mapping=result.mapping.with_figures(usage=usages))

    def _best_known(self, wanted: FusedProblem, start: JoinResult) -> JoinResult:
        """Return the start, or a better mapping for `wanted` that searches for energy passed.

        Such a search may have met a mapping of more energy and less latency. Of about equal
        mappings the one with less energy is returned.
        """
        known = [start]
        for mapping in self._passed[-MOST_KNOWN:]:
            plan = self._plan.seed or self._plan
            score = score_joined(self._request, plan, mapping, counts_latency=False).score
            usage = wanted.usage.usages_of(score)
            scored = mapping.with_figures(latency=score.latency, usage=usage)
            known.append(replace(start, mapping=scored))
        least = min(_value_of(wanted, each) for each in known) * (1 + TIED)
        tied = [each for each in known if each.label and _value_of(wanted, each) <= least]
        return min(tied, key=lambda each: each.label.energy if each.label else inf, default=start)

    def _better_start(self, wanted: FusedProblem, start: JoinResult) -> JoinResult:
        """Search for the least latency; return the better of its result and `start` for `wanted`.

        It has the lower bounds of both searches. A search that its budget ends is then no worse
        than those for energy and for latency.
        """
        fastest = replace(wanted, objective="latency", value=_latency)
        plan, budget = replace(self._plan, problem=fastest), self._budget.share(LATENCY_SHARE)
        result = self._solve(plan, budget, self._stage_report("least latency", "s"), start).result
        least = (start.least_costs[0], max(start.least_costs[1], result.lower_bound))
        best = min(start, result, key=lambda known: _value_of(wanted, known))
        return replace(best, least_costs=least)

    def _stage_report(self, aim: str, unit: str) -> Report:
        """Return the progress report of a preparing search, such as that for the least energy.

        `aim`, `unit`: what it minimizes, and in which unit. Its figures are put into the text,
        because they are no values of the objective that was asked for.
        """

        def report(value: float, lower_bound: float) -> None:
            known = [f"best {with_unit(value, unit)}"] if value < inf else []
            known += [f"at least {with_unit(lower_bound, unit)}"] if lower_bound > 0 else []
            doing = f"fused mappings, first of {aim}: {', '.join(known) or 'begun'}"
            self._request.reporter(doing)(inf, 0.0)
            self.seen()

        return report

    def _least_energy(self, budget: Budget, report: Report, by_cost: bool = False) -> FusedOptimum:
        """Return the mapping of least energy; it is searched once and kept.

        `by_cost`: placements of an Einsum are searched in groups, the cheapest first.
        """
        if self._seed is None or self._seed.result.exhausted:
            plan = self._plan.seed or self._plan
            value = OBJECTIVE_VALUES["energy"]
            problem = replace(plan.problem, objective="energy", value=value, by_cost=by_cost)
            self._seed = self._solve(replace(plan, problem=problem), budget, report)
        return self._seed

    def _solve(
        self, plan: FusedPlan, budget: Budget, report: Report, seed: JoinResult | None = None
    ) -> FusedOptimum:
        """Search a plan, score the best mapping with the model, then break ties.

        `seed`: a result to start from; None: none.
        """
        problem = plan.problem
        search = JoinSearch(problem, budget, report, seed, plan.cache)
        self._running = plan, search
        result = search.solve()
        self.statistics = self.statistics.plus(search.statistics)
        if problem.objective == "energy":  # where other searches may start
            self._passed += search.history
        if result.mapping is None:
            return FusedOptimum(result, None)
        timed = problem.objective != "energy"
        scored = score_joined(self._request, plan, result.mapping, timed)
        best = result.mapping
        if not timed:
            best = best.with_figures(latency=scored.score.latency)
            result = replace(result, mapping=best)
        if result.exhausted:
            return FusedOptimum(result, scored)
        ties = search_of_ties(search, best.label, scored.score, self._budget)
        better = ties.solve().mapping
        self.statistics = self.statistics.plus(ties.statistics)
        if better is not None:
            scored = score_joined(self._request, plan, better)
            result = replace(result, mapping=better)
        return FusedOptimum(result, scored)


def _value_of(problem: FusedProblem, result: JoinResult) -> float:
    """Return the objective's value of a result's mapping; infinity if it has no mapping."""
    return inf if result.label is None else float(problem.value(*result.label.measures))


def _latency(energy: Any, latency: Any, *_: Any) -> Any:  # noqa: ARG001
    return latency


def score_joined(
    request: Request, plan: FusedPlan, joined: JoinedMapping, counts_latency: bool = True
) -> ScoredMapping:
    """Score a mapping that a search found with the analytical model, and compare the figures.

    `joined`: the mapping. `counts_latency`: the search computed latency, so that it is
    compared too; it does so only where the objective or leakage needs it. Energy and the counted
    usages are always compared. Raises InternalError if a figure differs from the model's by more
    than rounding, or if the model refuses the mapping.
    """
    mapping = mapping_of_joined(joined, plan.problem.exchanged)
    mapping, scoring = request.whole_mapping(mapping), request.scoring_request
    try:
        score = score_mapping(scoring.arch, scoring.workload, mapping, request.options.conventions)
    except InfeasibleMapping as error:  # it would pass for a workload without any mapping
        raise InternalError(
            f"the fused search's mapping is refused by the model: {error}"
        ) from error
    label, usage = joined.label, plan.problem.usage
    figures = [("energy", label.energy, score.energy)]
    figures += [("latency", label.latency, score.latency)] if counts_latency else []
    names = (f"usage.{name}" for name in usage.names)
    figures += zip(names, label.usage, usage.usages_of(score), strict=True)
    for name, searched, modelled in figures:
        if not figures_agree(searched, modelled):
            raise InternalError(
                f"the fused search computed {name} {searched!r}, the model {modelled!r}"
            )
    return ScoredMapping(mapping, score)
