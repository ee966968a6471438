"""Answer what `search` is asked beyond one metric: the Pareto set, and the least of a formula.

Einsums that share no loops have fronts of their own. Fronts are joined by sums of energy and
latency and maxima of usage. The model scores every point of the result, and must agree
(theory/fronts.md §4).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal, NamedTuple

import numpy as np

from tilewright.arch.components.components import Memory
from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.fronts.einsum_fronts import EinsumFront, EinsumFrontSolver
from tilewright.mapper.fronts.front import Front
from tilewright.mapper.fronts.pareto_points import least_row, undominated
from tilewright.mapper.fronts.sequence_front import fold_fronts, proven_up_to
from tilewright.mapper.fusion.boundary.usage_peaks import refuse_distant_copies
from tilewright.mapper.mapping.scored_mapping import ScoredMapping
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.model.evaluation import score_mapping
from tilewright.mapper.searches.exact.least_placement_costs import least_costs
from tilewright.mapper.searches.mapping_scorer import TOLERANCE, figures_agree
from tilewright.mapper.searches.objective.measures import (
    COST_METRICS,
    FrontMetrics,
    front_metrics_of,
)
from tilewright.mapper.searches.objective.objective_formula import ObjectiveFormula, formula_of
from tilewright.mapper.searches.request import Request
from tilewright.mapper.searches.restrictions import Restrictions
from tilewright.mapper.searches.result import (
    FrontProof,
    SearchCertificate,
    SearchResult,
    SearchStatistics,
)
from tilewright.mapper.searches.scope import einsum_restrictions, unfused_restrictions
from tilewright.mapper.searches.search_errors import InternalError
from tilewright.mapper.searches.unfused import shared_tensors, unfused_mapping
from tilewright.mapper.templates.slots import Reservation
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import UnsupportedFeature


@dataclass(frozen=True, slots=True)
class FrontResult:
    """Pareto set of a search: mappings of which none is covered by another in the metrics.

    `points`: the mappings with the model's scores, sorted by the metrics. `proof`: up to which
    energy in joule no mapping is missing, and under which restrictions that holds. `statistics`:
    what was looked at. `notes`: what else there is to know.
    """

    points: tuple[ScoredMapping, ...]
    proof: FrontProof
    statistics: SearchStatistics
    notes: tuple[str, ...] = ()


def front_of_einsums(
    request: Request, einsums: Sequence[Einsum], restrictions: Restrictions
) -> FrontResult:
    """Return the Pareto set of Einsums that are mapped one by one, sharing no loops.

    The metrics are those of `request.options.front`. `einsums`: one of the workload, or all of
    them: then energy and latency are added up, and usages are maxima over the Einsums
    (theory/fronts.md §4). `restrictions`: what is left out of the mappings searched, for the proof.
    Raises TilewrightError for a metric that does not exist, InfeasibleMapping if an Einsum fits
    nowhere, UnsupportedFeature where usages of memories cannot be counted or a mapspace cannot be
    swept, InternalError if search and model disagree about a mapping.
    """
    measures = requested_metrics(request, einsums)
    solver = EinsumFrontSolver(request, measures)
    fronts = [solver.front(einsum) for einsum in einsums]
    if len(einsums) == 1:
        mappings = [ScoredMapping(point.mapping, point.score) for point in fronts[0].points]
    else:
        mappings = _combined(request, measures, fronts)
    proof = FrontProof(measures.names, proven_up_to(fronts), restrictions)
    return FrontResult(pareto_mappings(mappings, measures), proof, solver.statistics)


def least_of_einsums(request: Request, einsums: Sequence[Einsum]) -> SearchResult:
    """Return the mapping with the least value of a formula, for Einsums that share no loops.

    The formula is the objective of the request, over energy, latency and usages of memories.
    `einsums`: one of the workload, or all of them. Raises TilewrightError for a formula that is not
    one, InfeasibleMapping if an Einsum fits nowhere, UnsupportedFeature where usages cannot be
    counted or a mapspace cannot be swept, InternalError if search and model disagree about a
    mapping.
    """
    formula = requested_formula(request, einsums)
    if len(einsums) == 1:
        return _least(request, einsums[0], formula)
    names = ("energy", "latency", *(f"usage.{memory}" for memory in formula.memories))
    measures = FrontMetrics(names, formula.memories)
    solver = EinsumFrontSolver(request, measures)
    fronts = [solver.front(einsum) for einsum in einsums]
    mappings = _combined(request, measures, fronts)
    rows = np.array([measures.row(scored.score) for scored in mappings])
    values = formula.value(rows)
    number = least_row(values, rows)
    is_complete = proven_up_to(fronts) == inf
    restrictions = unfused_restrictions([front.spaces[0] for front in fronts])
    value = float(values[number])
    kind: Literal["optimal", "bounded"] = "optimal" if is_complete else "bounded"
    bound = value if is_complete else min(value, _least_together(fronts, formula))
    certificate = SearchCertificate(kind, formula.text, value, bound, restrictions)
    return SearchResult(
        mappings[number], Front((mappings[number],)), certificate, solver.statistics
    )


def _least_together(fronts: Sequence[EinsumFront], formula: ObjectiveFormula) -> float:
    """Return a lower bound of the formula over unfused mappings, from the placements alone."""
    energy = latency = 0.0
    for front in fronts:
        bounds = [least_costs(space, space.placements) for space in front.spaces]
        times = front.spaces[0].einsum.n_instances
        energy += min(joule for joule, _ in bounds) * times
        latency += min(seconds for _, seconds in bounds) * times
    return formula.of_row(energy, latency, *(0.0 for _ in formula.memories))


def _least(request: Request, einsum: Einsum, formula: ObjectiveFormula) -> SearchResult:
    solver = EinsumFrontSolver(request, FrontMetrics(("energy", "latency"), formula.memories))
    minimum = solver.least(einsum, formula)
    assert minimum.best is not None
    best = ScoredMapping(minimum.best.mapping, minimum.best.score)
    optimal = minimum.value <= minimum.lower_bound * (1 + TOLERANCE)
    certificate = SearchCertificate(
        "optimal" if optimal else "bounded", formula.text, minimum.value, minimum.lower_bound,
        einsum_restrictions(solver.solver.mapspaces(einsum)[0][1]),
    )  # fmt: skip
    return SearchResult(best, Front((best,)), certificate, minimum.statistics)


def check_metrics(request: Request, einsums: Sequence[Einsum]) -> None:
    """Check the front and the objective of a request before anything is searched.

    Raises TilewrightError for a metric, a memory or a formula that does not exist. `einsums`: their
    paths say which memories there are.
    """
    requested_metrics(request, einsums)
    if request.options.objective not in COST_METRICS:
        requested_formula(request, einsums)


def requested_formula(request: Request, einsums: Sequence[Einsum]) -> ObjectiveFormula:
    """Parse the objective of a request as a formula of energy, latency and usages.

    It may name the memories that the Einsums see. Raises TilewrightError for a formula that cannot
    be read or names something else.
    """
    components = [c for flat in _flats(request, einsums) for c in flat.components]
    memories = dict.fromkeys(c.name for c in components if isinstance(c, Memory))
    return formula_of(request.options.objective, memories)


def requested_metrics(request: Request, einsums: Sequence[Einsum]) -> FrontMetrics:
    """Return the metrics of the front that a request asks for.

    Usages may be of the memories that the Einsums see. Raises TilewrightError for a metric that
    does not exist.
    """
    return front_metrics_of(request.options.front, _flats(request, einsums))


def _flats(request: Request, einsums: Sequence[Einsum]) -> list[FlatArch]:
    return [flat for einsum in einsums for flat in request.scoring_request.flat_archs(einsum)]


def pareto_mappings(
    mappings: Sequence[ScoredMapping], measures: FrontMetrics
) -> tuple[ScoredMapping, ...]:
    """Return the mappings that no other one covers, sorted by the metrics.

    A mapping covers another if none of its metrics is greater, up to 1e-12, relative; of equal ones
    the first stays.
    """
    if not mappings:
        return ()
    values = np.array([measures.values(measures.row(scored.score)) for scored in mappings])
    return tuple(mappings[i] for i in undominated(values).tolist())


def _combined(
    request: Request, measures: FrontMetrics, fronts: Sequence[EinsumFront]
) -> list[ScoredMapping]:
    """Join the points of all Einsums, and score each mapping of the workload by the model.

    Raises InternalError if a score differs from the joined row.
    """
    folded = fold_fronts(fronts, _bits_of_other_einsums(request, measures, fronts))
    mappings: list[ScoredMapping] = []
    for row, choice in zip(folded.rows.tolist(), folded.choices.tolist(), strict=True):
        of_einsums = [front.points[i].mapping for front, i in zip(fronts, choice, strict=True)]
        mapping = unfused_mapping(request.workload, of_einsums)
        score = score_mapping(request.arch, request.workload, mapping, request.options.conventions)
        for summed, scored in zip(row, measures.row(score), strict=True):
            if not figures_agree(summed, scored):
                raise InternalError(f"the Einsums come to {row!r}, the model says {score!r}")
        mappings.append(ScoredMapping(mapping, score))
    return mappings


def _bits_of_other_einsums(
    request: Request, measures: FrontMetrics, fronts: Sequence[EinsumFront]
) -> list[list[float]]:
    """Return, per Einsum and memory, the bits that tensors of other Einsums take there meanwhile.

    Unfused mappings keep shared tensors whole in the outermost memory, from the first user to the
    last, in the size of the one that sees most of it and the width of the last one to use it.
    """
    einsums = request.workload.einsums
    if not measures.memories:
        return [[] for _ in einsums]
    _refuse_persistent_tensors(einsums)
    if (outer := _outermost(fronts[0].spaces[0])) in measures.memories:
        refuse_distant_copies(outer, request.workload)
    bits = [[0.0 for _ in measures.memories] for _ in einsums]
    for tensor in sorted(shared_tensors(request.workload)):
        views = _views_in_outermost(einsums, fronts, tensor)
        memory = _outermost(fronts[min(views)].spaces[0])
        if memory not in measures.memories:
            continue
        column = measures.memories.index(memory)
        for number, more_bits in _bits_beside_users(einsums, views):
            bits[number][column] += more_bits
    return bits


def _refuse_persistent_tensors(einsums: Sequence[Einsum]) -> None:
    if any(access.persistent for einsum in einsums for access in einsum.accesses):
        raise UnsupportedFeature(
            "the usage of memories is not counted over unfused mappings with persistent tensors",
            instead="leave the usage out, or search one Einsum at a time",
        )


class _SeenTensor(NamedTuple):
    """A whole tensor in a memory as one Einsum sees it; `width`: bits of each of its values."""

    values: int
    width: float


def _views_in_outermost(
    einsums: Sequence[Einsum], fronts: Sequence[EinsumFront], tensor: str
) -> dict[int, _SeenTensor]:
    """Return a tensor's size in the outermost memory as each user sees it, by user."""
    users = [number for number, einsum in enumerate(einsums) if tensor in einsum.tensors]
    memory = _outermost(fronts[users[0]].spaces[0])
    return {number: _view(fronts[number].spaces[0], tensor, memory) for number in users}


def _bits_beside_users(
    einsums: Sequence[Einsum], views: Mapping[int, _SeenTensor]
) -> Iterator[tuple[int, float]]:
    """Yield (Einsum, bits of a tensor in the outermost memory that its own mapping does not count).

    For each Einsum from the first user to the last; a copy counts all its tensors itself. `views`:
    by the number of the user.
    """
    largest, width = max(view.values for view in views.values()), 0.0
    for number in range(min(views), max(views) + 1):
        values, width = views.get(number, _SeenTensor(0, width))
        if number not in views or not einsums[number].is_copy:
            yield number, (largest - values) * width


def _outermost(space: Mapspace) -> str:
    return next(c.name for c in space.problem.components if isinstance(c, Memory))


def _view(space: Mapspace, tensor: str, memory: str) -> _SeenTensor:
    """Return a whole tensor in a memory as the Einsum of a mapspace sees it."""
    values = space.einsum.access(tensor).tile_size(space.einsum.bounds)
    return _SeenTensor(values, float(space.problem.value_bits(Reservation(tensor, memory))))
