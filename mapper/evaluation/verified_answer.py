"""What is proven of the mappings that a search found: the best one and each point of a front."""

from __future__ import annotations

from dataclasses import replace

from tilewright.mapper.evaluation.uncounted import idle_tolls, uncounted
from tilewright.mapper.fronts.front import METRICS, Front
from tilewright.mapper.mapping.scored_mapping import ScoredMapping
from tilewright.mapper.model.conventions import conventions_called
from tilewright.mapper.searches.request import Request
from tilewright.mapper.searches.result import SearchResult
from tilewright.mapper.verification.verification import all_violations
from tilewright.mapper.verification.violation import Violation


def verified_answer(request: Request, result: SearchResult) -> SearchResult:
    """Return a result whose scores say whether their mappings are proven to be right.

    Notes say what is wrong with the best mapping. By default a search leaves out mappings that do
    not compute the workload; under the accelforge conventions it does not.
    """
    limits = uncounted(request.arch, result.best.score)

    def verified(point: ScoredMapping) -> tuple[ScoredMapping, tuple[Violation, ...]]:
        wrong = () if point.score.verified else _violations(request, point)
        notes = (*point.score.notes, *map(str, wrong), *limits)
        score = replace(point.score, verified=not wrong, notes=notes)
        return replace(point, score=score), wrong

    best, wrong = verified(result.best)
    metrics = result.front_proof.metrics if result.front_proof is not None else METRICS
    front = Front((best if p == result.best else verified(p)[0] for p in result.front), metrics)
    tolls = idle_tolls(request.arch, best.score)
    notes = (*result.notes, *map(_note, wrong), *tolls, *limits)
    return replace(result, best=best, front=front, notes=notes)


def proven_first(request: Request, result: SearchResult) -> SearchResult:
    """Return a result whose best mapping is proven to be right, if it is, for `verified_answer`.

    That does not prove it once more.
    """
    best = result.best
    score = replace(best.score, verified=not _violations(request, best))
    return replace(result, best=replace(best, score=score))


def _violations(request: Request, point: ScoredMapping) -> tuple[Violation, ...]:
    workload = request.workload
    if request.options.einsum is not None:
        workload = replace(workload, einsums=(workload.einsum(request.options.einsum),))
    switch = conventions_called(request.options.conventions).switch
    return all_violations(request.arch, workload, point.mapping, switch)


def _note(violation: Violation) -> str:
    if violation.rule in {"tiles fit", "lanes exist"}:
        return f"this mapping fits as the conventions count, but {violation}"
    return f"this mapping does not compute its workload: {violation}"
