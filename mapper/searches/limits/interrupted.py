"""Answers of searches that are interrupted: the best mapping known by then, with a bound."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import replace
from math import prod

from tilewright.arch.compiled import rare_collections
from tilewright.arch.quantities import some
from tilewright.mapper.evaluation.verified_answer import proven_first
from tilewright.mapper.fronts.front import Front
from tilewright.mapper.mapspace.factors import divisors
from tilewright.mapper.mapspace.lattice import Lattice
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.budget import EndReason
from tilewright.mapper.searches.exact.label_metrics import Goal
from tilewright.mapper.searches.exact.least_placement_costs import (
    least_computing_costs,
    least_costs,
)
from tilewright.mapper.searches.limits.watch import interrupted_when, limits_reached
from tilewright.mapper.searches.methods.each_alone import solve_many, solve_one
from tilewright.mapper.searches.methods.fallback import AnyMappingSearch
from tilewright.mapper.searches.request import Request
from tilewright.mapper.searches.result import FrontProof, SearchCertificate, SearchResult
from tilewright.mapper.searches.solver import EinsumSolver
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import InfeasibleMapping, UnsupportedFeature

_FEW_WAYS = 12  # pairs of tensor and component: so few have placements that are listed at once
_MANY_TENSORS = 8  # whose placements are more than the shapes of tiles, as a rule
Costs = Callable[[Mapspace], tuple[float, float]]


def answer_in_time(request: Request, answer: Callable[[Request], SearchResult]) -> SearchResult:
    """Return the answer of a search, or at the end of its limits the best mapping known by then.

    `answer`: the search. It looks at its limits by itself; where it does not do so in time, it is
    interrupted. Without limits, only a request to stop does that, and only where somebody watches.
    """
    if not request.may_be_interrupted:
        return answer(request)
    closing = 0.0
    if request.budget.is_limited:
        with rare_collections():
            first_at_once(request)
            closing = _prove_first(request)
    return interrupted_when(
        limits_reached(request.budget, request.options.budget, closing),
        lambda: _with_reason(request, answer(request)),
        lambda reason: _interrupted(request, reason),
    )


def _with_reason(request: Request, result: SearchResult) -> SearchResult:
    """Say which limit left a result unproven, and what makes the search large."""
    budget, options = request.budget, request.options
    if result.certificate.kind == "optimal" or options.method is not None:
        return result
    if result.certificate.lower_bound <= 0:
        least = min(result.certificate.value, least_computing(request))
        result = replace(result, certificate=replace(result.certificate, lower_bound=least))
    if result.notes:
        return result
    reason = EndReason.MEMORY if options.max_memory is not None else None
    if budget.is_late:
        reason = EndReason.STOPPED if budget.is_stopped else EndReason.SECONDS
    if reason is None:
        return result
    size = _size_of(_largest(einsums_of(request)))
    note = f"not proven optimal: the search ended at {reason.value}; {size}"
    return replace(result, notes=(note,))


def first_at_once(request: Request) -> None:
    """Let the request know any mapping, of each Einsum alone, unless it is hard to find."""
    options, einsums, known = request.options, einsums_of(request), request.known
    hurried = replace(options, progress=None, method=AnyMappingSearch(), uneven=())
    known.solver = solver = EinsumSolver(replace(request, options=hurried), explain=False)
    goal, alone = goal_of(request), len(einsums) == 1
    with suppress(InfeasibleMapping, UnsupportedFeature):
        known.result = solve_one(solver, einsums[0], goal) if alone else solve_many(solver, goal)


def _prove_first(request: Request) -> float:
    """Prove the mapping that the request knows, and return the seconds that this took.

    For the mapping of a long cascade they are many; it takes as long for another one, if that is
    the answer in the end.
    """
    began, known = time.monotonic(), request.known
    if known.result is not None:
        known.result = proven_first(request, known.result)
    return time.monotonic() - began


def goal_of(request: Request) -> Goal:
    """Return what a search for a first mapping minimizes: instead of a formula, the edp."""
    return Goal(request.metric or "edp")


def einsums_of(request: Request) -> tuple[Einsum, ...]:
    """Return the Einsums that a request is about: the one it names, or all."""
    name, workload = request.options.einsum, request.workload
    return workload.einsums if name is None else (workload.einsum(name),)


def least_computing(request: Request) -> float:
    """Return the least value of the objective that the operations alone cost, without moves."""
    return _value_of(request, *_summed(request, least_computing_costs))


def _interrupted(request: Request, reason: EndReason) -> SearchResult:
    einsums = einsums_of(request)
    if request.known.solver is None:
        first_at_once(request)
    best = request.known.result
    if best is None:
        solver = EinsumSolver(request)
        raise solver.no_mapping_error(_largest(einsums), proven=False)
    if best.certificate.objective != request.options.objective or not request.known.is_bounded:
        best = replace(best, certificate=_certificate(request, best))
    if request.options.front:
        proof = FrontProof(request.options.front, 0.0, best.certificate.restrictions)
        best = replace(best, front=Front((best.best,), proof.metrics), front_proof=proof)
    first = "a proof" if request.known.is_searched else "a mapping"
    wanted = "its front" if request.options.front else first
    size = _size_of(_largest(einsums))
    note = f"the search was interrupted at {reason.value}, before {wanted} came from it; {size}"
    return replace(best, notes=(*best.notes, note))


def _certificate(request: Request, best: SearchResult) -> SearchCertificate:
    """Return what is known of a mapping without a search."""
    score, restrictions = best.best.score, best.certificate.restrictions
    bits = {name: float(count) for name, count in score.capacity.items()}
    value = _value_of(request, score.energy, score.latency, bits)
    bound: Costs = _least_costs
    if len(einsums_of(request)) > 1 and request.options.fusion:
        restrictions, bound = (), least_computing_costs
    lower = _value_of(request, *_summed(request, bound))
    if request.known.lower_bound > lower:
        lower, restrictions = request.known.lower_bound, request.known.restrictions
    lower = min(value, lower)
    return SearchCertificate("bounded", request.options.objective, value, lower, restrictions)


def _least_costs(space: Mapspace) -> tuple[float, float]:
    """Return (joules, seconds) of moving each tensor at least once, if that is known fast."""
    ways = len(space.einsum.tensors) * (len(space.problem.components) - 1)
    if ways > _FEW_WAYS:
        return least_computing_costs(space)
    return least_costs(space, space.placements)


def _summed(request: Request, least: Costs) -> tuple[float, float]:
    solver = request.known.solver or EinsumSolver(request, explain=False)
    totals = [0.0, 0.0]
    known: dict[Hashable, tuple[float, float]] = {}  # by the key of a problem
    for einsum in einsums_of(request):
        spaces = solver.mapspaces(einsum)
        costs = [known.get(key) or least(space) for key, space in spaces]
        known |= {key: cost for (key, _), cost in zip(spaces, costs, strict=True) if key}
        for metric in (0, 1):
            totals[metric] += min(cost[metric] for cost in costs) * einsum.n_instances
    return totals[0], totals[1]


def _value_of(
    request: Request, energy: float, latency: float, bits: dict[str, float] | None = None
) -> float:
    """Return the objective of joules, seconds and bits used by memory (None: no memory is used)."""
    if request.metric is not None:
        return Goal(request.metric).value(energy, latency)
    from tilewright.mapper.fronts.front_search import requested_formula

    formula, used = requested_formula(request, einsums_of(request)), bits or {}
    return formula.of_row(energy, latency, *(used.get(name, 0.0) for name in formula.memories))


def _largest(einsums: Sequence[Einsum]) -> Einsum:
    """Return the Einsum with the most shapes of tiles."""
    return max(einsums, key=lambda einsum: Lattice(einsum.bounds).size)


def _size_of(einsum: Einsum) -> str:
    """Say how large the search of an Einsum is, and what makes it large."""
    if len(einsum.tensors) > _MANY_TENSORS:
        return (
            f"{einsum.name} has {len(einsum.tensors)} tensors to place; fewer in `may_keep` of the"
            " memories would make it smaller"
        )
    counts = {name: len(divisors(bound)) for name, bound in einsum.bounds.items()}
    most = max(counts, key=lambda name: counts[name])
    return (
        f"{einsum.name} has {some(prod(counts.values()), 'shape')} of tiles, its rank variable"
        f" {most} alone {some(counts[most], 'size')}"
    )
