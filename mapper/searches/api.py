"""Search the mapping of a workload, or of one of its Einsums, on an architecture."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from tilewright.arch.components import Memory
from tilewright.arch.errors import TilewrightError
from tilewright.arch.tree import Arch
from tilewright.mapper.einsum import Einsum
from tilewright.mapper.errors import InfeasibleMapping
from tilewright.mapper.evaluation import evaluate
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.cascade import join, unfused
from tilewright.mapper.searches.errors import InternalError, UnsupportedFeature
from tilewright.mapper.searches.front import front_of
from tilewright.mapper.searches.judge import TOLERANCE, Judge
from tilewright.mapper.searches.metrics import Goal, Objective
from tilewright.mapper.searches.options import Request, SearchOptions, request_of
from tilewright.mapper.searches.product import least_product
from tilewright.mapper.searches.result import Certificate, ScoredMapping, SearchResult
from tilewright.mapper.searches.solver import Solved, Solver
from tilewright.mapper.workload import Workload

OBJECTIVES: tuple[Objective, ...] = ("energy", "latency", "edp")


def search(
    arch: Arch | Path | str, workload: Workload | Path | str, **options: Unpack[SearchOptions]
) -> SearchResult:
    """Find the mapping with the least energy, latency or edp; the class Options lists `options`.

    A workload of several Einsums is searched with fusion. Where that search cannot model a feature
    (or fusion=False, or a `method` for single Einsums is given) each Einsum is searched on its own,
    with the tensors they share kept in the outermost memory: the certificate and a note say so.
    InfeasibleMapping, with numbers, when nothing fits; UnsupportedFeature when no search can handle
    a feature of the files; SpecError for what the files get wrong.
    """
    began = time.monotonic()
    request = request_of(arch, workload, dict(options))
    result = _answer(request)
    statistics = replace(result.statistics, seconds=time.monotonic() - began)
    return replace(result, statistics=statistics)


def _answer(request: Request) -> SearchResult:
    chosen = request.workload.einsums
    if request.options.einsum is not None:
        chosen = (request.workload.einsum(request.options.einsum),)
    goal = Goal(_objective(request.options.objective))
    if len(chosen) == 1:
        return _one(Solver(request), request, chosen[0], goal)
    if not request.options.fusion or request.options.method is not None:
        return _many(Solver(request), request, goal)
    from tilewright.mapper.cascade.api import solve_fused

    try:
        return solve_fused(request)
    except UnsupportedFeature as error:
        note = f"searched without fusion: {error}"
    except InfeasibleMapping as error:  # one by one: names the constraint, or relaxes min_usage
        note = f"no fused mapping fits: {error}"
    return replace(_many(Solver(request), request, goal), notes=(note,))


def _objective(name: str) -> Objective:
    for objective in OBJECTIVES:
        if objective == name:
            return objective
    names = ", ".join(OBJECTIVES)
    raise TilewrightError("unknown objective", value=name, instead=f"one of: {names}")


def _one(solver: Solver, request: Request, einsum: Einsum, goal: Goal) -> SearchResult:
    solved = solver.solve(einsum, goal)
    scope = f"mappings of {einsum.name} with even tiles{_left_out(solved.space)}"
    if solved.space.backed:
        names = ", ".join(sorted(solved.space.backed))
        scope += f" that keep {names} in {_outermost(solved.space)}, unfused with other Einsums"
    best = ScoredMapping(solved.best.mapping, Judge(solved.space).score(solved.best.mapping))
    certificate = _certificate(
        goal, solved.best.value(goal), (solved.lower_bound, solved.proven), scope
    )
    return SearchResult(best, front_of(request, [best]), certificate, solver.statistics)


def _left_out(space: Mapspace) -> str:
    """Say what the search leaves out where the default model lets tiles shrink further.

    There, neighbouring holders may slide together over a loop, and a tile may stream past a holder
    of a deeper memory that stands between it and its loop.
    """
    if space.conventions == "accelforge":
        return ""
    partial = [
        access.tensor
        for access in space.einsum.accesses
        if any(access.relevance(v) == "partial" for v in space.einsum.bounds)
    ]
    limits = []
    if len(partial) >= 2:
        limits.append(f"no two of {', '.join(partial)} slide over the same loop")
    if sum(isinstance(component, Memory) for component in space.flat.components) >= 3:
        limits.append("no tile streams past a holder of a deeper memory")
    return " in which " + " and ".join(limits) if limits else ""


def _certificate(goal: Goal, value: float, bound: tuple[float, bool], scope: str) -> Certificate:
    lower, proven = bound
    optimal = proven and value <= lower * (1 + TOLERANCE)
    return Certificate("optimal" if optimal else "bounded", goal.objective, value, lower, scope)


def _outermost(space: Mapspace) -> str:
    return next(c.name for c in space.frame.components if isinstance(c, Memory))


def _many(solver: Solver, request: Request, goal: Goal) -> SearchResult:
    """Join the mappings of all Einsums, each solved on its own, into one of the workload."""
    corners: list[Sequence[Solved]] = []

    def solve(one: Goal) -> Sequence[Solved]:
        corners.append([solver.solve(einsum, one) for einsum in solver.workload.einsums])
        return corners[-1]

    if goal.objective == "edp":
        chosen, lower, proven = least_product(solve)
    else:
        chosen = solve(goal)
        lower = sum(solved.lower_bound for solved in chosen)
        proven = all(solved.proven for solved in chosen)
    best = _joined(solver, chosen)
    others = [_joined(solver, parts) for parts in corners if parts is not chosen]
    front = front_of(request, [best, *others])
    slides = "".join(dict.fromkeys(_left_out(solved.space) for solved in chosen))
    scope = (
        f"unfused mappings with even tiles{slides}: every tensor that Einsums share is kept whole"
        f" in the outermost memory, {_outermost(chosen[0].space)}; fused mappings are not in it"
    )
    value = goal.value(best.score.energy, best.score.latency)
    return SearchResult(
        best, front, _certificate(goal, value, (lower, proven), scope), solver.statistics
    )


def _joined(solver: Solver, parts: Sequence[Solved]) -> ScoredMapping:
    """Let the model score the mapping of the workload; the sums must agree with it."""
    mapping = unfused(solver.workload, [part.best.mapping for part in parts])
    score = evaluate(solver.arch, solver.workload, mapping, solver.conventions)
    total = join(part.best for part in parts)
    for name in ("energy", "latency"):
        mine, its = getattr(total, name), getattr(score, name)
        if abs(mine - its) > TOLERANCE * max(abs(mine), abs(its)):
            raise InternalError(f"the Einsums' {name} add up to {mine!r}, the model says {its!r}")
    return ScoredMapping(mapping, score)
