"""Search the mapping of a whole workload in which Einsums may share loops."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from math import inf
from pathlib import Path
from typing import Literal, Unpack

from tilewright.arch.errors import TilewrightError
from tilewright.arch.flattening.flat import FlatArch
from tilewright.arch.spec.architecture import Arch
from tilewright.mapper.fusion.boundary.exchange_memories import ExchangeMemories, exchange_memories
from tilewright.mapper.fusion.boundary.exchanged_tensors import (
    ExchangedTensors,
    exchanged_tensors_of,
)
from tilewright.mapper.fusion.boundary.memory_sizes import refuse_unequal_sizes, with_equal_sizes
from tilewright.mapper.fusion.boundary.tensor_views import bounded_widths_in, varied_widths_in
from tilewright.mapper.fusion.boundary.usage_peaks import CountedUsage, counted_usage
from tilewright.mapper.fusion.copies.fused_copies import CopySolver, CopyTable
from tilewright.mapper.fusion.fused_answer import scope_text, tensors_on_chip
from tilewright.mapper.fusion.fused_optimum import FusedOptimizer, FusedPlan
from tilewright.mapper.fusion.fused_problem import (
    OBJECTIVE_VALUES,
    EinsumEntry,
    FusedProblem,
    ValueFunction,
)
from tilewright.mapper.fusion.join.join_deepening import JoinResult
from tilewright.mapper.fusion.outer_partition import has_outer_fanouts, partitioned, partitions_of
from tilewright.mapper.fusion.pmappings.fused_templates import reorderable_memories
from tilewright.mapper.fusion.pmappings.pmapping_builder import fused_einsum, refuse_unkept_tensors
from tilewright.mapper.fusion.pmappings.shared_tolls import tolls_in
from tilewright.mapper.mapping.score import Score
from tilewright.mapper.model.conventions import conventions_called
from tilewright.mapper.searches.request import FRONT_SHARE, Request, SearchOptions, request_of
from tilewright.mapper.searches.result import SearchCertificate, SearchResult
from tilewright.mapper.searches.search_errors import UnsupportedFeature
from tilewright.mapper.searches.verify import TOLERANCE
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import InfeasibleMapping
from tilewright.mapper.workload.workload import Workload


def fused_search(
    arch: Arch | Path | str, workload: Workload | Path | str, **options: Unpack[SearchOptions]
) -> SearchResult:
    """Find the mapping of a workload with the least energy, latency or edp, fused or not.

    UnsupportedFeature names what this search cannot model (then `search` does without fusion);
    InfeasibleMapping when nothing fits.
    """
    return solve_fused(request_of(arch, workload, dict(options)))


def solve_fused(request: Request) -> SearchResult:
    """Do what `request` asks for; see fused_search."""
    request = with_equal_sizes(request)
    return _search_partitions(request) if has_outer_fanouts(request) else _search_whole(request)


def _search_partitions(request: Request) -> SearchResult:
    """Search each way to deal out the outermost memory; return the best of all."""
    found: list[SearchResult] = []
    lower = inf
    failed: TilewrightError | None = None
    deals = partitions_of(request)
    for number, deal in enumerate(deals):
        try:
            found.append(
                _search_whole(
                    partitioned(request.with_budget_share(1 / (len(deals) - number)), deal)
                )
            )
        except NoMappingInBudget as error:
            lower, failed = min(lower, error.lower_bound), error
        except InfeasibleMapping as error:
            failed = failed or error
    if not found:
        raise failed or InfeasibleMapping(
            "no lanes of the outermost memory are legal for all Einsums together",
            instead="relax the loop_bounds of its dimensions",
        )
    return _merge_results(request, found, lower)


def _merge_results(request: Request, found: Sequence[SearchResult], lower: float) -> SearchResult:
    """Join searches of parts of a mapspace; `lower`: a bound of parts without an answer."""
    best = min(found, key=lambda one: one.certificate.value)
    whole = lower == inf
    lower = min([lower, *(one.certificate.lower_bound for one in found)])
    optimal = best.certificate.value <= lower * (1 + TOLERANCE)
    kind: Literal["optimal", "bounded"] = "optimal" if optimal else "bounded"
    scope = best.certificate.scope + "; all Einsums deal the lanes of the outermost memory alike"
    proof = replace(best.certificate, kind=kind, lower_bound=lower, scope=scope)
    statistics = found[0].statistics
    for one in found[1:]:
        statistics = statistics.plus(one.statistics)
    result = replace(best, certificate=proof, statistics=statistics)
    if not request.options.front:
        return result
    from tilewright.mapper.fronts.front_search import pareto_mappings, requested_metrics

    points = [point for one in found for point in one.front]
    front = pareto_mappings(points, requested_metrics(request, request.workload.einsums))
    proofs = [one.front_proof for one in found if one.front_proof is not None]
    energy = min(one.energy for one in proofs) if whole else 0.0
    return replace(result, front=front, front_proof=replace(proofs[0], energy=energy, scope=scope))


def _search_whole(request: Request) -> SearchResult:
    """Search fused mappings of a request whose outermost memory is whole."""
    began = time.monotonic()
    objective = request.options.objective
    plan = _plan_request(request)
    scope = scope_text(plan.problem, plan.memories)
    first = request.with_budget_share(FRONT_SHARE) if request.options.front else request
    search = FusedOptimizer(request, plan, first.budget)
    with garbage_collection_paused():
        value = plan.problem.value
        optimum = search.best(objective, value, request.reporter("fused mappings"))
    found, scored = optimum.result, optimum.scored
    if scored is None:
        raise _no_mapping(plan, found, scope)
    statistics = replace(search.statistics, seconds=time.monotonic() - began)
    certificate = _certificate(plan.problem, scored.score, found, scope)
    result = SearchResult(scored, (scored,), certificate, statistics, tensors_on_chip(found))
    if not request.options.front:
        return result
    from tilewright.mapper.fronts.fused_front import front_of_fused

    front = front_of_fused(request, scored, scope)
    statistics = statistics.plus(front.statistics)
    return replace(result, front=front.points, front_proof=front.proof, statistics=statistics)


def _no_mapping(plan: FusedPlan, found: JoinResult, scope: str) -> TilewrightError:
    """Return why there is no mapping."""
    if found.exhausted:
        return NoMappingInBudget(_lower_bound(plan.problem, found), scope)
    runs = (run for solo in plan.problem.einsums if isinstance(solo, tuple) for run in solo)
    if any(reorderable_memories(run.space) for run in runs):
        return UnsupportedFeature(
            f"nothing fits in the order of the hierarchy (searched: {scope})",
            instead="search without fusion",
        )
    return InfeasibleMapping(
        f"no mapping of the workload fits {', '.join(plan.memories.maybe_full)} and the memories"
        " below",
        instead="search the Einsums one by one: that names the constraint which fails",
    )


class NoMappingInBudget(TilewrightError):  # noqa: N818 - a state of the search, not a fault
    """The budget ended the search before its first mapping; `lower_bound` holds in `scope`."""

    def __init__(self, lower_bound: float, scope: str) -> None:
        super().__init__(
            "the budget was used up before a mapping was found", instead="a larger budget"
        )
        self.lower_bound = lower_bound
        self.scope = scope


@contextmanager
def garbage_collection_paused() -> Iterator[None]:
    """Pause the collector of cycles: the search makes millions of tuples and no cycle."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def plan_fused_search(
    request: Request, objective: str, value: ValueFunction, memories: Sequence[str] = ()
) -> FusedPlan:
    """Prepare a search for the least `value` of energy, latency and the usage of `memories`.

    `objective`: its name. UnsupportedFeature for what cannot be modelled.
    """
    workload, conventions = request.workload, request.options.conventions
    runs = [(e, request.flat_archs(e)) for e in workload.einsums]
    for einsum, flats in runs:
        if not flats:
            raise TilewrightError(
                f"no Compute of the architecture is enabled for {einsum.name}",
                instead="look at the `enabled` of its Computes",
            )
    ways = [(einsum, flat) for einsum, flats in runs for flat in flats]
    refuse_unequal_sizes(request, memories)
    # accelforge may count fewer bits than this search where holders stand with no loop between
    deeper = not memories or conventions_called(conventions).adjacent_holders_shrink
    try:
        room, boundaries, usage = _exchange(request, ways, memories, deeper)
    except UnsupportedFeature:
        if not memories:
            raise
        room, boundaries, usage = _exchange(request, ways, memories, deeper=False)
    crowded = room.crowded | frozenset(usage.names)
    lone = CopySolver(request, room, boundaries, usage)
    einsums: list[EinsumEntry] = [
        lone.table(einsum)
        if einsum.is_copy
        else tuple(
            fused_einsum(boundaries, conventions, flat, (einsum, number), crowded)
            for number, flat in enumerate(flats)
        )
        for einsum, flats in runs
    ]
    if room.outermost_capacity is not None:
        solved = (solo for solo in einsums if isinstance(solo, tuple))
        refuse_unkept_tensors(room.outermost, chain.from_iterable(solved))
    repeats = request.options.max_fused_loops_per_rank_variable
    cascade = FusedProblem(
        boundaries, tuple(einsums), room.capacities, objective, value,
        loops_per_variable=repeats, usage=usage, outermost_capacity=room.outermost_capacity,
    )  # fmt: skip
    return FusedPlan(cascade, room)


def _exchange(
    request: Request, ways: Sequence[tuple[Einsum, FlatArch]], memories: Sequence[str], deeper: bool
) -> tuple[ExchangeMemories, ExchangedTensors, CountedUsage]:
    """Return where Einsums exchange tensors, which, and how the usage of `memories` counts there.

    `deeper`: below the second memory, too.
    """
    room, conventions = (
        exchange_memories(ways, deeper),
        conventions_called(request.options.conventions),
    )
    boundaries = exchanged_tensors_of(
        request.workload,
        conventions.shared_tile_counts_once,
        conventions.equal_instances_exchange,
        room.memories,
    )
    counted = [name for name in room.memories if name in room.crowded or name in memories]
    varied, unsettled = (
        one(ways, counted, boundaries) for one in (varied_widths_in, bounded_widths_in)
    )
    tolls = tolls_in(flat for _, flat in ways)
    boundaries = replace(
        boundaries,
        varied_widths=varied,
        bounded_widths=unsettled,
        tolls=tolls,
        memories_of=room.memories_of,
    )
    return room, boundaries, counted_usage(ways, memories, room, boundaries)


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
    value = formula.function_of_usage(plan.problem.usage.names)
    seed = plan_fused_search(request, "energy", OBJECTIVE_VALUES["energy"])
    return replace(plan, problem=replace(plan.problem, value=value), seed=seed)


def _certificate(
    cascade: FusedProblem, score: Score, found: JoinResult, scope: str
) -> SearchCertificate:
    value = float(cascade.value(score.energy, score.latency, *cascade.usage.usages_of(score)))
    lower = _lower_bound(cascade, found)
    optimal = value <= lower * (1 + TOLERANCE)
    kind: Literal["optimal", "bounded"] = "optimal" if optimal else "bounded"
    return SearchCertificate(kind, cascade.objective, value, lower, scope)


def _lower_bound(cascade: FusedProblem, found: JoinResult) -> float:
    """Return the search's bound less what copies, taken as given there, could still save."""
    slack = [solo.slack for solo in cascade.einsums if isinstance(solo, CopyTable)]
    energy, latency = (sum(one[i] for one in slack) for i in (0, 1))
    if cascade.objective == "energy":
        return found.lower_bound - energy
    if cascade.objective == "latency":
        return found.lower_bound - latency
    if all(solo.is_optimal for solo in cascade.einsums if isinstance(solo, CopyTable)):
        return found.lower_bound
    least = cascade.value_bound(found.least_costs[0] - energy, found.least_costs[1] - latency)
    return min(found.lower_bound, float(least))
