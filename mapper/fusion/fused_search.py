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
from tilewright.mapper.fusion.boundary.exchange_memories import Room, room_of
from tilewright.mapper.fusion.boundary.exchanged_tensors import Boundaries, boundaries_of
from tilewright.mapper.fusion.boundary.memory_sizes import levelled, refuse_levelled
from tilewright.mapper.fusion.boundary.tensor_views import unsettled_in, varied_in
from tilewright.mapper.fusion.boundary.usage_peaks import Usage, usage_of
from tilewright.mapper.fusion.copies.fused_copies import LoneSolver, LoneTable
from tilewright.mapper.fusion.fused_answer import on_chip_in, scope_of
from tilewright.mapper.fusion.fused_optimum import Optimizer, Plan
from tilewright.mapper.fusion.fused_problem import VALUES, Cascade, Solo, Value
from tilewright.mapper.fusion.join.join_deepening import Found
from tilewright.mapper.fusion.outer_partition import deals_of, dealt, has_tops
from tilewright.mapper.fusion.pmappings.fused_templates import free_orders
from tilewright.mapper.fusion.pmappings.pmapping_builder import refuse_elsewhere, run_of
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
    request = levelled(request)
    return _solve_dealt(request) if has_tops(request) else _solve(request)


def _solve_dealt(request: Request) -> SearchResult:
    """Search each way to deal out the outermost memory; return the best of all."""
    found: list[SearchResult] = []
    lower = inf
    failed: TilewrightError | None = None
    deals = deals_of(request)
    for number, deal in enumerate(deals):
        try:
            found.append(_solve(dealt(request.with_budget_share(1 / (len(deals) - number)), deal)))
        except NothingYet as error:
            lower, failed = min(lower, error.lower_bound), error
        except InfeasibleMapping as error:
            failed = failed or error
    if not found:
        raise failed or InfeasibleMapping(
            "no lanes of the outermost memory are legal for all Einsums together",
            instead="relax the loop_bounds of its dimensions",
        )
    return _best_of(request, found, lower)


def _best_of(request: Request, found: Sequence[SearchResult], lower: float) -> SearchResult:
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


def _solve(request: Request) -> SearchResult:
    """Search fused mappings of a request whose outermost memory is whole."""
    began = time.monotonic()
    objective = request.options.objective
    plan = _plan(request)
    scope = scope_of(plan.cascade, plan.room)
    first = request.with_budget_share(FRONT_SHARE) if request.options.front else request
    search = Optimizer(request, plan, first.budget)
    with no_collection():
        value = plan.cascade.value
        optimum = search.best(objective, value, request.reporter("fused mappings"))
    found, scored = optimum.found, optimum.scored
    if scored is None:
        raise _nothing(plan, found, scope)
    statistics = replace(search.statistics, seconds=time.monotonic() - began)
    certificate = _certificate(plan.cascade, scored.score, found, scope)
    result = SearchResult(scored, (scored,), certificate, statistics, on_chip_in(found))
    if not request.options.front:
        return result
    from tilewright.mapper.fronts.fused_front import front_of_fused

    front = front_of_fused(request, scored, scope)
    statistics = statistics.plus(front.statistics)
    return replace(result, front=front.points, front_proof=front.proof, statistics=statistics)


def _nothing(plan: Plan, found: Found, scope: str) -> TilewrightError:
    """Return why there is no mapping."""
    if found.exhausted:
        return NothingYet(_lower_bound(plan.cascade, found), scope)
    runs = (run for solo in plan.cascade.einsums if isinstance(solo, tuple) for run in solo)
    if any(free_orders(run.space) for run in runs):
        return UnsupportedFeature(
            f"nothing fits in the order of the hierarchy (searched: {scope})",
            instead="search without fusion",
        )
    return InfeasibleMapping(
        f"no mapping of the workload fits {', '.join(plan.room.tight)} and the memories below",
        instead="search the Einsums one by one: that names the constraint which fails",
    )


class NothingYet(TilewrightError):  # noqa: N818 - a state of the search, not a fault
    """The budget ended the search before its first mapping; `lower_bound` holds in `scope`."""

    def __init__(self, lower_bound: float, scope: str) -> None:
        super().__init__(
            "the budget was used up before a mapping was found", instead="a larger budget"
        )
        self.lower_bound = lower_bound
        self.scope = scope


@contextmanager
def no_collection() -> Iterator[None]:
    """Pause the collector of cycles: the search makes millions of tuples and no cycle."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def plan_of(request: Request, objective: str, value: Value, memories: Sequence[str] = ()) -> Plan:
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
    refuse_levelled(request, memories)
    # accelforge may count fewer bits than this search where holders stand with no loop between
    deeper = not memories or conventions_called(conventions).adjacent_holders_shrink
    try:
        room, boundaries, usage = _exchange(request, ways, memories, deeper)
    except UnsupportedFeature:
        if not memories:
            raise
        room, boundaries, usage = _exchange(request, ways, memories, deeper=False)
    crowded = room.crowded | frozenset(usage.names)
    lone = LoneSolver(request, room, boundaries, usage)
    einsums: list[Solo] = [
        lone.table(einsum)
        if einsum.is_copy
        else tuple(
            run_of(boundaries, conventions, flat, (einsum, number), crowded)
            for number, flat in enumerate(flats)
        )
        for einsum, flats in runs
    ]
    if room.limit is not None:
        solved = (solo for solo in einsums if isinstance(solo, tuple))
        refuse_elsewhere(room.outer, chain.from_iterable(solved))
    repeats = request.options.max_fused_loops_per_rank_variable
    cascade = Cascade(
        boundaries, tuple(einsums), room.capacities, objective, value,
        repeats=repeats, usage=usage, limit=room.limit,
    )  # fmt: skip
    return Plan(cascade, room)


def _exchange(
    request: Request, ways: Sequence[tuple[Einsum, FlatArch]], memories: Sequence[str], deeper: bool
) -> tuple[Room, Boundaries, Usage]:
    """Return where Einsums exchange tensors, which, and how the usage of `memories` counts there.

    `deeper`: below the second memory, too.
    """
    room, conventions = room_of(ways, deeper), conventions_called(request.options.conventions)
    boundaries = boundaries_of(
        request.workload,
        conventions.shared_tile_counts_once,
        conventions.equal_instances_exchange,
        room.memories,
    )
    counted = [name for name in room.memories if name in room.crowded or name in memories]
    varied, unsettled = (one(ways, counted, boundaries) for one in (varied_in, unsettled_in))
    tolls = tolls_in(flat for _, flat in ways)
    boundaries = replace(
        boundaries, varied=varied, unsettled=unsettled, tolls=tolls, kept=room.places
    )
    return room, boundaries, usage_of(ways, memories, room, boundaries)


def _plan(request: Request) -> Plan:
    """Prepare a search for what the request asks to be minimized."""
    for name, value in VALUES.items():
        if name == request.options.objective:
            return plan_of(request, name, value)
    from tilewright.mapper.fronts.front_search import requested_formula

    formula = requested_formula(request, request.workload.einsums)
    if not formula.memories:
        return plan_of(request, formula.text, formula.of_costs)
    plan = plan_of(request, formula.text, formula.of_costs, formula.memories)
    value = formula.function_of_usage(plan.cascade.usage.names)
    seed = plan_of(request, "energy", VALUES["energy"])
    return replace(plan, cascade=replace(plan.cascade, value=value), seed=seed)


def _certificate(cascade: Cascade, score: Score, found: Found, scope: str) -> SearchCertificate:
    value = float(cascade.value(score.energy, score.latency, *cascade.usage.of(score)))
    lower = _lower_bound(cascade, found)
    optimal = value <= lower * (1 + TOLERANCE)
    kind: Literal["optimal", "bounded"] = "optimal" if optimal else "bounded"
    return SearchCertificate(kind, cascade.objective, value, lower, scope)


def _lower_bound(cascade: Cascade, found: Found) -> float:
    """Return the search's bound less what copies, taken as given there, could still save."""
    slack = [solo.slack for solo in cascade.einsums if isinstance(solo, LoneTable)]
    energy, latency = (sum(one[i] for one in slack) for i in (0, 1))
    if cascade.objective == "energy":
        return found.lower - energy
    if cascade.objective == "latency":
        return found.lower - latency
    if all(solo.ideal for solo in cascade.einsums if isinstance(solo, LoneTable)):
        return found.lower
    least = cascade.bound(found.least[0] - energy, found.least[1] - latency)
    return min(found.lower, float(least))
