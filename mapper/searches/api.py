"""Search the mapping of a workload, or of one of its Einsums, on an architecture."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from pathlib import Path

from tilewright.arch.components import Memory
from tilewright.arch.errors import TilewrightError
from tilewright.arch.load import load_arch
from tilewright.arch.tree import Arch
from tilewright.mapper.einsum import Einsum
from tilewright.mapper.evaluation import evaluate
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.cascade import join, unfused
from tilewright.mapper.searches.default import DefaultSearch
from tilewright.mapper.searches.errors import InternalError
from tilewright.mapper.searches.judge import TOLERANCE, Judge
from tilewright.mapper.searches.metrics import Goal, Objective
from tilewright.mapper.searches.product import least_product
from tilewright.mapper.searches.result import Certificate, ScoredMapping, SearchResult, SpaceSearch
from tilewright.mapper.searches.solver import Solved, Solver
from tilewright.mapper.workload import Workload, load_workload

OBJECTIVES: tuple[Objective, ...] = ("energy", "latency", "edp")


def search(  # noqa: PLR0913 - the one entry point: two subjects, the rest by keyword
    arch: Arch | Path | str,
    workload: Workload | Path | str,
    *,
    objective: str = "energy",
    einsum: str | None = None,
    conventions: str = "default",
    budget: float | None = None,
    method: SpaceSearch | None = None,
) -> SearchResult:
    """Find the mapping with the least energy, latency or edp (ties: the least of the other).

    `einsum`: search this one only; else all, each on its own with the tensors they share kept in
    the outermost memory (the certificate says so). `budget`: seconds; when they are used up, the
    best mapping so far comes back with a proven bound. `method`: instead of DefaultSearch.
    InfeasibleMapping, with numbers, when nothing fits; UnsupportedFeature when the method cannot
    handle a feature of the files; SpecError for what the files get wrong.
    """
    began = time.monotonic()
    solver = Solver(
        arch if isinstance(arch, Arch) else load_arch(arch),
        workload if isinstance(workload, Workload) else load_workload(workload),
        conventions,
        method or DefaultSearch(),
        inf if budget is None else began + budget,
    )
    goal = Goal(_objective(objective))
    chosen = solver.workload.einsums
    if einsum is not None:
        chosen = (solver.workload.einsum(einsum),)
    result = _one(solver, chosen[0], goal) if len(chosen) == 1 else _many(solver, goal)
    statistics = replace(solver.statistics, seconds=time.monotonic() - began)
    return replace(result, statistics=statistics)


def _objective(name: str) -> Objective:
    for objective in OBJECTIVES:
        if objective == name:
            return objective
    names = ", ".join(OBJECTIVES)
    raise TilewrightError("unknown objective", value=name, instead=f"one of: {names}")


def _one(solver: Solver, einsum: Einsum, goal: Goal) -> SearchResult:
    solved = solver.solve(einsum, goal)
    scope = f"mappings of {einsum.name} with even tiles{_left_out(solved.space)}"
    if solved.space.backed:
        names = ", ".join(sorted(solved.space.backed))
        scope += f" that keep {names} in {_outermost(solved.space)}, unfused with other Einsums"
    best = ScoredMapping(solved.best.mapping, Judge(solved.space).score(solved.best.mapping))
    certificate = _certificate(
        goal, solved.best.value(goal), (solved.lower_bound, solved.proven), scope
    )
    return SearchResult(best, (best,), certificate, solver.statistics)


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


def _many(solver: Solver, goal: Goal) -> SearchResult:
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
    front = _front([best, *(_joined(solver, parts) for parts in corners if parts is not chosen)])
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


def _front(found: list[ScoredMapping]) -> tuple[ScoredMapping, ...]:
    """Keep what no other one beats in both metrics, by energy."""
    front: list[ScoredMapping] = []
    for one in sorted(found, key=lambda f: (f.score.energy, f.score.latency)):
        if not front or one.score.latency < front[-1].score.latency:
            front.append(one)
    return tuple(front)
