"""Search the mapping of a workload, or of one of its Einsums, on an architecture."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path

from tilewright.arch.components import Memory
from tilewright.arch.errors import TilewrightError
from tilewright.arch.flatten import flatten
from tilewright.arch.load import load_arch
from tilewright.arch.tree import Arch
from tilewright.mapper.einsum import Einsum
from tilewright.mapper.evaluate import evaluate
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.search.cascade import join, shared_tensors, unfused
from tilewright.mapper.search.errors import InternalError
from tilewright.mapper.search.exact import ExactSearch
from tilewright.mapper.search.explain import explain_infeasible
from tilewright.mapper.search.judge import TOLERANCE, Judge
from tilewright.mapper.search.metrics import Objective
from tilewright.mapper.search.result import (
    Candidate,
    Certificate,
    ScoredMapping,
    SearchResult,
    SpaceResult,
    SpaceSearch,
    Statistics,
)
from tilewright.mapper.workload import Workload, load_workload

OBJECTIVES: tuple[Objective, ...] = ("energy", "latency", "edp")


@dataclass(frozen=True, slots=True)
class _Task:
    """Everything about a call of `search` but the Einsum."""

    arch: Arch
    workload: Workload
    objective: Objective
    conventions: str
    method: SpaceSearch
    deadline: float


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
    best mapping so far comes back with a proven bound. `method`: another SpaceSearch than the exact
    one. InfeasibleMapping, with numbers, when nothing fits; UnsupportedFeature when the method
    cannot handle a feature of the files; SpecError for what the files get wrong.
    """
    began = time.monotonic()
    task = _Task(
        arch if isinstance(arch, Arch) else load_arch(arch),
        workload if isinstance(workload, Workload) else load_workload(workload),
        _objective(objective),
        conventions,
        method or ExactSearch(),
        inf if budget is None else began + budget,
    )
    chosen = task.workload.einsums if einsum is None else (task.workload.einsum(einsum),)
    results = _solve_all(task, chosen)
    result = _one(task, chosen[0], results[0]) if len(chosen) == 1 else _many(task, results)
    statistics = replace(result.statistics, seconds=time.monotonic() - began)
    return replace(result, statistics=statistics)


def _objective(name: str) -> Objective:
    for objective in OBJECTIVES:
        if objective == name:
            return objective
    raise TilewrightError(
        "unknown objective", value=name, instead=f"one of: {', '.join(OBJECTIVES)}"
    )


def _solve_all(task: _Task, chosen: tuple[Einsum, ...]) -> list[tuple[Mapspace, SpaceResult]]:
    shared = shared_tensors(task.workload)
    return [_solve(task, einsum, frozenset(einsum.tensors) & shared) for einsum in chosen]


def _solve(task: _Task, einsum: Einsum, backed: frozenset[str]) -> tuple[Mapspace, SpaceResult]:
    """Search one Einsum on each Compute that can do it; keep the best."""
    spaces = [
        Mapspace(einsum, flat, task.conventions, backed)
        for flat in flatten(task.arch, task.workload.scope(einsum))
    ]
    if not spaces:
        raise TilewrightError(
            f"no Compute of the architecture is enabled for {einsum.name}",
            instead="look at the `enabled` of its Computes",
        )
    results = [(space, _find(task, space)) for space in spaces]
    feasible = [pair for pair in results if pair[1].best is not None]
    if not feasible:
        raise explain_infeasible(spaces, all(result.proven for _, result in results))
    space, best = min(feasible, key=lambda pair: _key(pair[1].best, task.objective))
    statistics = Statistics()
    for _, result in results:
        statistics = statistics.plus(result.statistics)
    return space, SpaceResult(
        best.best,
        min(result.lower_bound for _, result in results),
        all(result.proven for _, result in results),
        statistics,
    )


def _key(candidate: Candidate | None, objective: Objective) -> tuple[float, float]:
    assert candidate is not None
    return candidate.value(objective), candidate.energy + candidate.latency


def _find(task: _Task, space: Mapspace) -> SpaceResult:
    left = None if task.deadline == inf else max(task.deadline - time.monotonic(), 0.0)
    result = task.method.find(space, task.objective, left)
    if result.best is None:
        return result
    return replace(result, best=Judge(space).confirm(result.best))


def _one(task: _Task, einsum: Einsum, found: tuple[Mapspace, SpaceResult]) -> SearchResult:
    space, result = found
    assert result.best is not None
    value = result.best.value(task.objective)
    where = f"mappings of {einsum.name} with even tiles"
    if space.backed:
        names = ", ".join(sorted(space.backed))
        where += f" that keep {names} in {_outermost(space)}, unfused with other Einsums"
    certificate = _certificate(task, value, result.lower_bound, result.proven, where)
    best = ScoredMapping(result.best.mapping, Judge(space).score(result.best.mapping))
    return SearchResult(best, (best,), certificate, result.statistics)


def _certificate(task: _Task, value: float, bound: float, proven: bool, scope: str) -> Certificate:
    optimal = proven and value <= bound * (1 + TOLERANCE)
    return Certificate("optimal" if optimal else "bounded", task.objective, value, bound, scope)


def _outermost(space: Mapspace) -> str:
    return next(c.name for c in space.frame.components if isinstance(c, Memory))


def _many(task: _Task, results: list[tuple[Mapspace, SpaceResult]]) -> SearchResult:
    """Join the mappings of all Einsums, each solved on its own, into one of the workload."""
    parts = [result.best for _, result in results if result.best is not None]
    mapping = unfused(task.workload, [part.mapping for part in parts])
    score = evaluate(task.arch, task.workload, mapping, task.conventions)
    total = join(parts)
    for name in ("energy", "latency"):
        mine, its = getattr(total, name), getattr(score, name)
        if abs(mine - its) > TOLERANCE * max(abs(mine), abs(its)):
            raise InternalError(f"the Einsums' {name} add up to {mine!r}, the model says {its!r}")
    best = ScoredMapping(mapping, score)
    statistics = Statistics()
    for _, result in results:
        statistics = statistics.plus(result.statistics)
    bounds = [result.lower_bound for _, result in results]
    proven = all(result.proven for _, result in results)
    scope = (
        "unfused mappings with even tiles: every tensor that Einsums share is kept whole in the"
        f" outermost memory, {_outermost(results[0][0])}; fused mappings are not in it"
    )
    value = Candidate(mapping, score.energy, score.latency).value(task.objective)
    certificate = _certificate(task, value, _total_bound(task, bounds), proven, scope)
    return SearchResult(best, (best,), certificate, statistics)


def _total_bound(task: _Task, bounds: list[float]) -> float:
    """Bound the objective of a sum of Einsums.

    Energy and latency add up. Of products, (sum E)(sum L) >= (sum sqrt(E L))^2 by Cauchy-Schwarz.
    """
    if task.objective != "edp":
        return sum(bounds)
    return float(sum(bound**0.5 for bound in bounds) ** 2)
