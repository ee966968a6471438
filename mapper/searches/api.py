"""Search the mapping of a workload, or of one of its Einsums, on an architecture."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from tilewright.arch.parallel_compilation import compile_first
from tilewright.arch.spec.architecture import Arch
from tilewright.mapper.evaluation.verified_answer import verified_answer
from tilewright.mapper.fronts.front import Front
from tilewright.mapper.mapping.scored_mapping import ScoredMapping
from tilewright.mapper.searches.budget import OutOfBudget, advising_on_memory
from tilewright.mapper.searches.exact.kernels import SEARCH_KERNELS
from tilewright.mapper.searches.limits.first_mapping import first_mapping, is_better
from tilewright.mapper.searches.limits.interrupted import (
    answer_in_time,
    einsums_of,
    goal_of,
    least_computing,
)
from tilewright.mapper.searches.mapping_scorer import TOLERANCE, figures_agree
from tilewright.mapper.searches.methods.each_alone import solve_many, solve_one
from tilewright.mapper.searches.request import (
    FRONT_SHARE,
    Request,
    SearchOptions,
    listing_options,
    request_of,
)
from tilewright.mapper.searches.result import Progress, SearchResult
from tilewright.mapper.searches.scope import restrictions_of_both
from tilewright.mapper.searches.solver import EinsumSolver
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import (
    InfeasibleMapping,
    NoFeasibleMapping,
    UnsupportedFeature,
)
from tilewright.mapper.workload.workload import Workload

if TYPE_CHECKING:
    from tilewright.mapper.fusion.fused_search import NoMappingInBudget

FUSED_SHARE = 0.95  # of the budget; the rest finds a mapping without fusion if there is none yet
STOPPED_EARLY = "the fused search ended at the request to stop before its first mapping"
UNEVEN_SHARE = 0.5  # of the budget: for uneven tiles without fusion; the rest is for fusion


@listing_options
def search(
    arch: Arch | Path | str, workload: Workload | Path | str, **options: Unpack[SearchOptions]
) -> SearchResult:
    """Find the mapping with the least energy (J), latency (s) or edp (J s) of a workload.

    `arch`, `workload`: paths, texts, or loaded objects; the options are listed below. Several
    Einsums are searched with fusion, which may keep the tensors they exchange on chip. Where that
    search cannot model a feature (or fusion=False, or a `method` for single Einsums is given) each
    Einsum is searched on its own, with the shared tensors kept in the outermost memory; the
    certificate and a note say so. The result has the mapping with its score, and a certificate:
    optimal, or bounded with a lower bound.

    Raises InfeasibleMapping, with numbers, when nothing fits; UnsupportedFeature when no search can
    handle a feature of the files; MemoryUsedUp when the system gives no more memory; SpecError for
    what the files get wrong; TilewrightError for an option that is not legal.
    """
    if options.get("budget") is not None:
        _compile_first(options.get("progress"))
    began = time.monotonic()
    request = request_of(arch, workload, dict(options))
    with advising_on_memory(f"the search of {_names(request)}"):
        result = verified_answer(request, answer_in_time(request, answer))
    statistics = replace(result.statistics, seconds=time.monotonic() - began)
    return replace(result, statistics=statistics)


def _compile_first(tell: Callable[[Progress], None] | None) -> None:
    """Compile what a search calls, as far as it is not on disk: that is no part of a budget.

    `tell`: gets what is done, if anything is.
    """
    state = Progress("compiling the search, once on a computer", inf, 0.0)
    compile_first(SEARCH_KERNELS, lambda: tell and tell(state))


def _names(request: Request) -> str:
    """Return the name of the Einsum that is searched, or how many there are: "3 Einsums"."""
    einsums = request.workload.einsums
    alone = einsums[0].name if len(einsums) == 1 else None
    return request.options.einsum or alone or f"{len(einsums)} Einsums"


def answer(request: Request, explain: bool = True) -> SearchResult:
    """Return the best mapping for a request, as `search` does, without the seconds it took.

    With `explain` False an error says little but comes fast: no conflict of constraints is
    searched. Raises InfeasibleMapping when nothing fits, UnsupportedFeature when no search can
    handle a feature.
    """
    chosen = einsums_of(request)
    if request.metric is None or request.options.front:
        from tilewright.mapper.fronts.front_search import check_metrics

        check_metrics(request, chosen)
        if request.options.uneven and len(chosen) > 1:
            note = (
                "searched without fusion: no front, and no least value of a formula, is searched"
                " over fused mappings with uneven tiles; for these leave out `uneven`"
            )
            return _noted(request, chosen, note, explain)
    if len(chosen) == 1 or not request.options.fusion or request.options.method is not None:
        return _apart(request, chosen)
    if request.options.uneven:
        return _fused_or_uneven(request)
    return _fused(request, explain)


def _fused(request: Request, explain: bool) -> SearchResult:
    """Search fused mappings of all Einsums; search each Einsum on its own where that fails.

    `explain`: say why nothing was found if there is no mapping.
    """
    einsums = request.workload.einsums
    is_late = request.options.progress is None and not request.budget.is_limited
    first = None if is_late else first_mapping(request)
    from tilewright.mapper.fusion.fused_search import NoMappingInBudget, solve_fused

    if first is not None and request.budget.is_stopped:
        stopped = NoMappingInBudget(0.0, (), STOPPED_EARLY)
        return _bounded_by(_at_least_computing(stopped, request), first)
    try:
        fused = solve_fused(_knowing(request.with_budget_share(FUSED_SHARE), first))
        if fused.certificate.kind != "optimal":
            first = first_mapping(request) if is_late else _best_alone(request, first)
        return fused if first is None else _with_better_mapping(fused, first)
    except NoMappingInBudget as ended:
        return _unfused(request, ended, first_mapping(request) if is_late else first)
    except UnsupportedFeature as error:
        note = f"searched without fusion: {error}"
    except InfeasibleMapping as error:  # one by one: min_usage may give way
        return _without_fusion(request, einsums, error, explain)
    return _noted(request, einsums, note, explain)


def _unfused(
    request: Request, ended: NoMappingInBudget, first: SearchResult | None
) -> SearchResult:
    """Return the best mapping without fusion, as the time of the fused search has `ended`.

    `first`: one that is known; it is the answer if there is no time for more.
    """
    error = _at_least_computing(ended, request)
    if first is not None and not _has_time_for_more(request, first):
        return _bounded_by(error, first)
    unfused = _bounded_by(error, _apart(request, request.workload.einsums))
    return unfused if first is None else _with_better_mapping(unfused, first)


def _best_alone(request: Request, first: SearchResult | None) -> SearchResult | None:
    """Return the best mapping without fusion that can be found in the seconds left.

    `first`: one that is known already, which is returned if none is better; None: none is known.
    """
    if not request.budget.seconds_left or request.options.front:
        return first
    unwatched = replace(request, options=replace(request.options, progress=None))
    try:
        alone = _apart(unwatched, request.workload.einsums, explain=False)
    except (InfeasibleMapping, UnsupportedFeature, OutOfBudget):
        return first
    return alone if is_better(alone, first) else first


def _at_least_computing(error: NoMappingInBudget, request: Request) -> NoMappingInBudget:
    """Return the error with a lower bound above 0: the cost of computing alone, if it had none."""
    if error.lower_bound > 0 or request.metric is None:
        return error
    return type(error)(least_computing(request), error.restrictions, error.end)


def _has_time_for_more(request: Request, first: SearchResult) -> bool:
    """Tell whether more than twice the seconds of the search that found `first` are left.

    True if the request has no limit of time.
    """
    seconds_left = request.budget.seconds_left
    return seconds_left is None or seconds_left > 2 * first.statistics.seconds


def _knowing(request: Request, first: SearchResult | None) -> Request:
    """Return the request with a progress function that never reports a value worse than `first`."""
    progress = request.options.progress
    if progress is None or first is None:
        return request
    known = first.certificate.value

    def report(step: Progress) -> None:
        progress(replace(step, value=min(step.value, known)))

    return replace(request, options=replace(request.options, progress=report))


def _with_better_mapping(result: SearchResult, known: SearchResult) -> SearchResult:
    """Return `result`, with the mapping of `known` in it if that is the better one."""
    proof = result.certificate
    if proof.value <= known.certificate.value:
        return result
    certificate = replace(proof, value=known.certificate.value)
    best = known.best
    return replace(result, best=best, front=Front((best,)), certificate=certificate, on_chip=())


def _noted(request: Request, einsums: tuple[Einsum, ...], note: str, explain: bool) -> SearchResult:
    """Search each Einsum on its own, and add `note`, which says why fusion was not searched.

    `explain`: as in `_fused`. Raises UnsupportedFeature if some Einsum has no mapping alone, but
    fused mappings may exist.
    """
    try:
        return replace(_apart(request, einsums, explain), notes=(note,))
    except NoFeasibleMapping as error:
        from tilewright.mapper.explain.together import no_mapping_alone

        if not explain:
            raise
        unknown = UnsupportedFeature(f"{note}\nWithout it, {error.what}", instead=error.instead)
        raise no_mapping_alone(request) or unknown from None


def _without_fusion(
    request: Request, einsums: tuple[Einsum, ...], error: InfeasibleMapping, explain: bool
) -> SearchResult:
    """Search each Einsum on its own because no fused mapping fits; `error` says why.

    If nothing fits there either, InfeasibleMapping is raised with an explanation (if `explain`).
    """
    try:
        quick = request.options.budget is None  # a budget that ran out explains itself
        result = _apart(request, einsums, explain=explain and not quick)
    except InfeasibleMapping:
        if not explain or not quick:
            raise
    else:
        return replace(result, notes=(f"no fused mapping fits: {error}",))
    from tilewright.mapper.explain.together import no_mapping_together

    raise no_mapping_together(request)


def _fused_or_uneven(request: Request) -> SearchResult:
    """Return the best of three kinds of mappings, where uneven tiles are allowed.

    Fused ones with even tiles; unfused ones with uneven tiles; fused ones in which Einsums that
    share no loops and exchange nothing on chip have uneven tiles.
    """
    from tilewright.mapper.fusion.fused_search import NoMappingInBudget, solve_fused
    from tilewright.mapper.searches.fused_uneven import with_uneven_alone

    solver, goal = EinsumSolver(request.with_budget_share(UNEVEN_SHARE)), goal_of(request)
    alone = solve_many(solver, goal)
    even = replace(request, options=replace(request.options, uneven=()))
    try:
        fused = solve_fused(even)
    except NoMappingInBudget as error:
        proof = alone.certificate
        lower = min(error.lower_bound, proof.lower_bound)
        both = restrictions_of_both(error.restrictions, proof.restrictions)
        return _bounded_by(NoMappingInBudget(lower, both, error.end), alone)
    except (UnsupportedFeature, InfeasibleMapping) as error:
        return replace(alone, notes=(f"searched without fusion: {error}",))
    better = better_of(fused, alone)
    if goal.objective == "edp":  # no sum
        return better
    return with_uneven_alone(request, fused, better, solver.solve_all(goal))


def _apart(request: Request, einsums: tuple[Einsum, ...], explain: bool = True) -> SearchResult:
    """Search each Einsum on its own, and join the mappings into one of the workload.

    `explain`: as in `_fused`.
    """
    if request.metric is None:
        from tilewright.mapper.fronts.front_search import least_of_einsums

        return _with_front(request, least_of_einsums(request, einsums), einsums)
    first = request.with_budget_share(FRONT_SHARE) if request.options.front else request
    solver, goal = EinsumSolver(first, explain), goal_of(request)
    result = solve_one(solver, einsums[0], goal) if len(einsums) == 1 else solve_many(solver, goal)
    return _with_front(request, result, einsums)


def _bounded_by(unproven: NoMappingInBudget, result: SearchResult) -> SearchResult:
    """Return an unfused mapping with the lower bound of a fused search that found none in time."""
    value, lower = result.certificate.value, unproven.lower_bound
    proof = replace(
        result.certificate,
        kind="optimal" if value <= lower * (1 + TOLERANCE) else "bounded",
        lower_bound=min(lower, value),
        restrictions=unproven.restrictions,
    )
    note = f"{unproven.end}: this one is unfused"
    return replace(result, certificate=proof, notes=(note,))


def _with_front(request: Request, result: SearchResult, einsums: Sequence[Einsum]) -> SearchResult:
    """Add the Pareto front to a result if the request asks for one.

    The best mapping is then one of its points.
    """
    if not request.options.front:
        return result
    request.known.result, request.known.is_bounded = result, True
    from tilewright.mapper.fronts.front_search import front_of_einsums

    einsum_front = front_of_einsums(request, einsums, result.certificate.restrictions)
    statistics = result.statistics.plus(einsum_front.statistics)
    best = next((point for point in einsum_front.points if _ties(point, result.best)), result.best)
    return replace(
        result,
        best=best,
        front=Front(einsum_front.points),
        front_proof=einsum_front.proof,
        statistics=statistics,
    )


def _ties(first: ScoredMapping, second: ScoredMapping) -> bool:
    """Tell whether two mappings have the same energy and latency, up to rounding."""
    return all(
        figures_agree(getattr(first.score, name), getattr(second.score, name))
        for name in ("energy", "latency")
    )


def better_of(fused: SearchResult, alone: SearchResult) -> SearchResult:
    """Return the better of two results for the same request, with what both together prove.

    `fused`: of a search with fusion; `alone`: of each Einsum on its own. The lower bound is the
    smaller one; the result is optimal only if both are. Statistics add up.
    """
    best = min((fused, alone), key=lambda result: result.certificate.value)
    lower = min(fused.certificate.lower_bound, alone.certificate.lower_bound)
    proven = fused.certificate.kind == "optimal" and alone.certificate.kind == "optimal"
    certificate = replace(
        best.certificate,
        kind="optimal" if proven else "bounded",
        lower_bound=lower,
        restrictions=restrictions_of_both(
            fused.certificate.restrictions, alone.certificate.restrictions
        ),
    )
    statistics = fused.statistics.plus(alone.statistics)
    return replace(best, certificate=certificate, statistics=statistics)
