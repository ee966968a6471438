"""Search Einsums each on its own, and join what was found into one result."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.mapper.fronts.front import Front
from tilewright.mapper.mapping.scored_mapping import ScoredMapping
from tilewright.mapper.model.evaluation import score_mapping
from tilewright.mapper.searches.exact.label_metrics import Goal
from tilewright.mapper.searches.mapping_scorer import TOLERANCE, MappingScorer, figures_agree
from tilewright.mapper.searches.objective.edp_hull import least_edp
from tilewright.mapper.searches.restrictions import Restrictions
from tilewright.mapper.searches.result import SearchCertificate, SearchResult
from tilewright.mapper.searches.scope import einsum_restrictions, unfused_restrictions
from tilewright.mapper.searches.search_errors import InternalError
from tilewright.mapper.searches.solver import EinsumSolution, EinsumSolver
from tilewright.mapper.searches.unfused import unfused_mapping
from tilewright.mapper.workload.einsum import Einsum

CORNER_SHARE = 0.5  # of the seconds left: for one corner of the hull of energy and latency


def solve_one(solver: EinsumSolver, einsum: Einsum, goal: Goal) -> SearchResult:
    """Search one Einsum; the result is that of `solver`, with a certificate."""
    solved = solver.solve(einsum, goal)
    best = ScoredMapping(
        solved.best.mapping, MappingScorer(solved.space).score(solved.best.mapping)
    )
    value, restrictions = solved.best.value(goal), einsum_restrictions(solved.space)
    certificate = _certificate(goal, value, solved.lower_bound, solved.proven, restrictions)
    return SearchResult(best, Front((best,)), certificate, solver.statistics)


def _certificate(
    goal: Goal, value: float, lower_bound: float, proven: bool, restrictions: Restrictions
) -> SearchCertificate:
    """Return what is proven of a value; `proven`: the search came to its end."""
    optimal = proven and value <= lower_bound * (1 + TOLERANCE)
    return SearchCertificate(
        "optimal" if optimal else "bounded", goal.objective, value, lower_bound, restrictions
    )


def solve_many(solver: EinsumSolver, goal: Goal) -> SearchResult:
    """Solve each Einsum on its own, and join the mappings into one of the workload."""
    if goal.objective == "edp":
        chosen, lower, proven = least_edp(lambda corner: solver.solve_all(corner, CORNER_SHARE))
    else:
        chosen = solver.solve_all(goal)
        lower = sum(solved.lower_bound for solved in chosen)
        proven = all(solved.proven for solved in chosen)
    best = _joined(solver, chosen)
    restrictions = unfused_restrictions([solved.space for solved in chosen])
    value = goal.value(best.score.energy, best.score.latency)
    certificate = _certificate(goal, value, lower, proven, restrictions)
    return SearchResult(best, Front((best,)), certificate, solver.statistics)


def _joined(solver: EinsumSolver, solutions: Sequence[EinsumSolution]) -> ScoredMapping:
    """Join the Einsums' mappings into one, and score it by the model.

    Raises InternalError if the score differs from the sum of the Einsums' costs.
    """
    mapping = unfused_mapping(solver.workload, [solution.best.mapping for solution in solutions])
    score = score_mapping(solver.arch, solver.workload, mapping, solver.conventions)
    for name in ("energy", "latency"):
        summed, scored = sum(getattr(s.best, name) for s in solutions), getattr(score, name)
        if not figures_agree(summed, scored):
            raise InternalError(
                f"the Einsums' {name} add up to {summed!r}, the model says {scored!r}"
            )
    return ScoredMapping(mapping, score)
