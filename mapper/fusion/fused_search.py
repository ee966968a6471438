"""Search the mapping of a whole workload in which Einsums may share loops."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Literal, Unpack

from tilewright.arch.errors import TilewrightError
from tilewright.arch.spec.architecture import Arch
from tilewright.mapper.fronts.front import Front
from tilewright.mapper.fusion.fused_answer import fused_restrictions, tensors_on_chip
from tilewright.mapper.fusion.fused_optimum import FusedOptimizer, garbage_collection_paused
from tilewright.mapper.fusion.fused_plan import FusedPlan, plan_fused_search
from tilewright.mapper.fusion.fused_problem import OBJECTIVE_VALUES, FusedProblem
from tilewright.mapper.fusion.groups.fusion_groups import JoinedMapping
from tilewright.mapper.fusion.join.join_deepening import JoinResult
from tilewright.mapper.fusion.pmappings.fused_templates import reorderable_memories
from tilewright.mapper.fusion.requests.memory_sizes import with_equal_sizes
from tilewright.mapper.fusion.requests.one_lane import partitioned
from tilewright.mapper.fusion.requests.outer_partition import has_outer_fanouts, partitions_of
from tilewright.mapper.fusion.unproven import end_before_first_mapping, unproven_notes
from tilewright.mapper.mapping.score import Score
from tilewright.mapper.searches.budget import OutOfBudget
from tilewright.mapper.searches.mapping_scorer import TOLERANCE
from tilewright.mapper.searches.request import (
    FRONT_SHARE,
    BestKnown,
    Request,
    SearchOptions,
    request_of,
)
from tilewright.mapper.searches.restrictions import PARTITIONED_ALIKE, Restrictions, scope_text
from tilewright.mapper.searches.result import Report, SearchCertificate, SearchResult
from tilewright.mapper.workload.errors import InfeasibleMapping, UnsupportedFeature
from tilewright.mapper.workload.workload import Workload


def fused_search(
    arch: Arch | Path | str, workload: Workload | Path | str, **options: Unpack[SearchOptions]
) -> SearchResult:
    """Find the mapping of a workload with the least value of an objective, fused or not.

    Fused Einsums share loops and keep tensors on chip between them. `arch`, `workload`: records or
    paths of files. `options`: those of SearchOptions, such as the objective ("energy", "latency",
    "edp" or a formula), the front to list, the budget and the conventions. The result has the
    mapping with the model's score, a certificate with a proven lower bound and the restrictions it
    holds under, statistics, and the tensors kept on chip. Raises UnsupportedFeature for what this
    search cannot model (search without fusion then); InfeasibleMapping if nothing fits;
    NoMappingInBudget if the budget ends before the first mapping; TilewrightError if no compute is
    enabled for an Einsum, or a metric does not exist; InternalError if search and model disagree
    about the mapping, a fault of the search.
    """
    return solve_fused(request_of(arch, workload, dict(options)))


def solve_fused(request: Request) -> SearchResult:
    """Search the fused mappings that a request asks for.

    Where the outermost memory has several lanes, each way to partition the Einsums over them is
    searched on its own with a share of the budget, and the best is returned. Results and errors are
    those of `fused_search`.
    """
    request = with_equal_sizes(request)
    if has_outer_fanouts(request):
        return _search_partitions(request)
    return _search_whole(request, request.known)


def _search_partitions(request: Request) -> SearchResult:
    """Search each partition of the outermost memory; return the best of all.

    Each has an equal share of the budget. If none has a mapping, the error of one of them is
    raised.
    """
    results: list[SearchResult] = []
    lower_bound = inf
    failure: TilewrightError | None = None
    partitions = partitions_of(request)
    for number, partition in enumerate(partitions):
        share = request.with_budget_share(1 / (len(partitions) - number))
        try:
            results.append(_search_whole(partitioned(share, partition)))
        except NoMappingInBudget as error:
            lower_bound, failure = min(lower_bound, error.lower_bound), error
        except InfeasibleMapping as error:
            failure = failure or error
    if not results:
        raise failure or InfeasibleMapping(
            "no lanes of the outermost memory are legal for all Einsums together",
            instead="relax the loop_bounds of its dimensions",
        )
    return _merge_results(request, results, lower_bound)


def _merge_results(
    request: Request, results: Sequence[SearchResult], lower_bound: float
) -> SearchResult:
    """Merge the results of several partitions into one: the best mapping, the lowest bound.

    `lower_bound`: of partitions without a mapping; inf if there are none. Fronts are merged too.
    """
    best = min(results, key=lambda result: result.certificate.value)
    complete = lower_bound == inf
    lower = min([lower_bound, *(result.certificate.lower_bound for result in results)])
    restrictions = (*best.certificate.restrictions, PARTITIONED_ALIKE())
    kind = _kind_of(best.certificate.value, lower)
    certificate = replace(best.certificate, kind=kind, lower_bound=lower, restrictions=restrictions)
    statistics = results[0].statistics
    for result in results[1:]:
        statistics = statistics.plus(result.statistics)
    merged = replace(best, certificate=certificate, statistics=statistics)
    if not request.options.front:
        return merged
    from tilewright.mapper.fronts.front_search import pareto_mappings, requested_metrics

    points = [point for result in results for point in result.front]
    front = pareto_mappings(points, requested_metrics(request, request.workload.einsums))
    proofs = [result.front_proof for result in results if result.front_proof is not None]
    energy = min(proof.energy for proof in proofs) if complete else 0.0
    return replace(
        merged,
        front=Front(front),
        front_proof=replace(proofs[0], energy=energy, restrictions=restrictions),
    )


def _kind_of(value: float, lower_bound: float) -> Literal["optimal", "bounded"]:
    return "optimal" if value <= lower_bound * (1 + TOLERANCE) else "bounded"


def _search_whole(request: Request, known: BestKnown | None = None) -> SearchResult:
    """Search fused mappings of a request whose outermost memory is not partitioned.

    `known`: is told of lower bounds on the way. NoMappingInBudget if the budget ends before the
    first mapping; other errors as `_no_mapping` says.
    """
    began = time.monotonic()
    try:
        plan = _plan_request(request)
    except OutOfBudget as end:
        text = f"the fused search ended at {end.reason.value} before its first mapping"
        raise NoMappingInBudget(0.0, (), text) from None
    problem = plan.problem
    restrictions = fused_restrictions(problem, plan.memories)
    if known is not None:
        known.restrictions = restrictions
    first = request.with_budget_share(FRONT_SHARE) if request.options.front else request
    search = FusedOptimizer(request, plan, first.budget)
    with garbage_collection_paused():
        notes = _Notes(request, problem, search, known or BestKnown())
        report = notes.noting(request.reporter("fused mappings"))
        optimum = search.best(request.options.objective, problem.value, report)
    result, scored = optimum.result, optimum.scored
    if scored is None:
        raise _no_mapping(plan, result, restrictions)
    statistics = replace(search.statistics, seconds=time.monotonic() - began)
    certificate = _certificate(problem, scored.score, result, restrictions)
    answer = SearchResult(
        scored,
        Front((scored,)),
        certificate,
        statistics,
        tensors_on_chip(result),
        notes=unproven_notes(result, _copies_in_doubt(problem, certificate)),
    )
    if not request.options.front:
        return answer
    from tilewright.mapper.fronts.fused_front import front_of_fused

    front = front_of_fused(request, scored)
    statistics = statistics.plus(front.statistics)
    return replace(
        answer,
        front=Front(front.points),
        front_proof=front.proof,
        statistics=statistics,
        notes=(*answer.notes, *front.notes),
    )


class _Notes:
    """Keeps what a search has found so far, should it be interrupted.

    `request`, `problem`: what is searched. `search`: has the best mapping. `known`: where it is
    kept, with the greatest lower bound.
    """

    def __init__(
        self, request: Request, problem: FusedProblem, search: FusedOptimizer, known: BestKnown
    ) -> None:
        self._request = request
        self._problem = problem
        self._search = search
        self._known = known
        self._last: JoinedMapping | None = None
        search.seen = self.keep

    def noting(self, report: Report) -> Report:
        """Return `report`, which then keeps the best mapping and the greatest lower bound, too."""

        def noted(value: float, lower_bound: float) -> None:
            lower = _lower_bound(self._problem, JoinResult(lower_bound=lower_bound))
            self._known.lower_bound = max(self._known.lower_bound, lower)
            self.keep()
            report(value, lower)

        return noted

    def keep(self) -> None:
        """Keep the incumbent of the search if it is the best mapping known."""
        known, joined = self._known, self._search.incumbent
        if joined is None or joined is self._last or not self._request.may_be_interrupted:
            return
        self._last, scored = joined, self._search.scored(joined)
        result = JoinResult(joined, known.lower_bound)
        proof = _certificate(self._problem, scored.score, result, known.restrictions)
        best = None if known.result is None else known.result.best.score  # of another objective?
        if best is None or proof.value < _value_of(self._problem, best):
            front, on_chip = Front((scored,)), tensors_on_chip(result)
            known.result = SearchResult(scored, front, proof, self._search.statistics, on_chip)
            known.is_searched = True


def _plan_request(request: Request) -> FusedPlan:
    """Prepare a search for what the request asks to be minimized."""
    for name, value in OBJECTIVE_VALUES.items():
        if name == request.options.objective:
            return plan_fused_search(request, name, value)
    from tilewright.mapper.fronts.front_search import requested_formula

    formula = requested_formula(request, request.workload.einsums)
    if not formula.memories:
        return plan_fused_search(request, formula.text, formula.of_costs)
    plan = plan_fused_search(request, formula.text, formula.of_costs, formula.memories)
    of_usage = formula.function_of_usage(plan.problem.usage.names)
    seed = plan_fused_search(request, "energy", OBJECTIVE_VALUES["energy"])
    return replace(plan, problem=replace(plan.problem, value=of_usage), seed=seed)


class NoMappingInBudget(TilewrightError):  # noqa: N818 - a state of the search, not a fault
    """The budget ended the search before it found any mapping; mappings may well exist.

    `lower_bound`: no mapping has a smaller value of the objective (joule, second, their product, or
    the unit of a formula); this is proven. `restrictions`: what is left out of the mappings for
    which that holds. `end`: what ended the search, as a sentence without its full stop.
    """

    def __init__(self, lower_bound: float, restrictions: Restrictions, end: str) -> None:
        super().__init__(
            "the budget was used up before a mapping was found", instead="a larger budget"
        )
        self.lower_bound = lower_bound
        self.restrictions = restrictions
        self.end = end


def _no_mapping(plan: FusedPlan, result: JoinResult, restrictions: Restrictions) -> TilewrightError:
    """Return the error that says why there is no mapping.

    NoMappingInBudget if the budget ended; UnsupportedFeature if another order of holders might fit;
    else InfeasibleMapping.
    """
    if result.ended is not None:
        lower_bound = _lower_bound(plan.problem, result)
        return NoMappingInBudget(lower_bound, restrictions, end_before_first_mapping(result))
    if any(reorderable_memories(fused.space) for fused in plan.problem.solved):
        return UnsupportedFeature(
            f"nothing fits in the order of the hierarchy (searched: {scope_text(restrictions)})",
            instead="search without fusion",
        )
    return InfeasibleMapping(
        f"no mapping of the workload fits {', '.join(plan.memories.maybe_full)} and the memories"
        " below",
        instead="search the Einsums one by one: that names the constraint which fails",
    )


def _certificate(
    problem: FusedProblem, score: Score, result: JoinResult, restrictions: Restrictions
) -> SearchCertificate:
    value = _value_of(problem, score)
    lower = _lower_bound(problem, result)
    return SearchCertificate(_kind_of(value, lower), problem.objective, value, lower, restrictions)


def _value_of(problem: FusedProblem, score: Score) -> float:
    usages = problem.usage.usages_of(score)
    return float(problem.value(score.energy, score.latency, *usages))


def _copies_in_doubt(problem: FusedProblem, certificate: SearchCertificate) -> list[str]:
    """Return the names of copies that may have better mappings, of an answer that is not proven."""
    if certificate.kind == "optimal":
        return []
    return [copy.einsum.name for copy in problem.copies if max(copy.slack) > 0]


def _lower_bound(problem: FusedProblem, result: JoinResult) -> float:
    """Return a lower bound of the objective that holds for all mappings of copy Einsums, too.

    The search takes the pmappings of copies as given; what better ones could still save (`slack`)
    is subtracted from its bound.
    """
    energy, latency = (sum(copy.slack[metric] for copy in problem.copies) for metric in (0, 1))
    if problem.objective == "energy":
        return result.lower_bound - energy
    if problem.objective == "latency":
        return result.lower_bound - latency
    if all(copy.is_optimal for copy in problem.copies):
        return result.lower_bound
    least_energy, least_latency = result.least_costs
    lower_bound = problem.value_bound(least_energy - energy, least_latency - latency)
    return min(result.lower_bound, float(lower_bound))
