"""Fused mappings in which Einsums that stand alone have uneven tiles.

An Einsum stands alone if it shares no loops, exchanges its tensors through the outermost memory,
and nothing of other Einsums is on chip while it runs. Let e be the least cost of such an Einsum
with even tiles, u that with uneven ones, and F that of the best fused mapping with even tiles. If
even Einsums replace the uneven ones in a mapping of this kind, it becomes a fused mapping with even
tiles. So it costs at least F less the sum of max(e - u, 0); where all Einsums that gain stand alone
in the best fused mapping already, that bound is met. Energy and latency add up; their product does
not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tilewright.mapper.fronts.front import Front
from tilewright.mapper.mapping.mapping import ComputeNode, Node, Sequential, Storage
from tilewright.mapper.mapping.mapping import Mapping as LoopNest
from tilewright.mapper.mapping.scored_mapping import ScoredMapping
from tilewright.mapper.model.evaluation import score_mapping
from tilewright.mapper.searches.exact.label_metrics import Goal, Objective
from tilewright.mapper.searches.mapping_scorer import TOLERANCE
from tilewright.mapper.searches.request import Request
from tilewright.mapper.searches.result import SearchCertificate, SearchResult
from tilewright.mapper.searches.scope import with_standalone_imperfect
from tilewright.mapper.searches.solver import EinsumSolution, EinsumSolver
from tilewright.mapper.searches.unfused import shared_tensors
from tilewright.mapper.workload.errors import InfeasibleMapping, MappingError
from tilewright.mapper.workload.workload import Workload

Branch = tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Gains:
    """What uneven tiles of single Einsums may gain beside a fused mapping with even tiles.

    `alone`: name of each Einsum that gains to its best mapping with uneven tiles. `most_gain`: the
    most that all can gain together, in J or s. `outer`: name of the outermost memory.
    """

    alone: Mapping[str, LoopNest]
    most_gain: float
    outer: str


def _gains(
    request: Request, objective: Objective, uneven: Sequence[EinsumSolution]
) -> Gains | None:
    """Compare the Einsums' best uneven mappings with their best even ones.

    None if an Einsum has no mapping with even tiles.
    """
    goal = Goal(objective)
    even = replace(request, options=replace(request.options, uneven=()))
    try:
        solved = EinsumSolver(even, explain=False).solve_all(goal)
    except InfeasibleMapping:
        return None
    alone, most_gain = {}, 0.0
    for even_solution, uneven_solution in zip(solved, uneven, strict=True):
        most_gain += max(even_solution.best.value(goal) - uneven_solution.lower_bound, 0.0)
        if uneven_solution.best.value(goal) < even_solution.best.value(goal):
            alone[uneven_solution.space.einsum.name] = uneven_solution.best.mapping
    return Gains(alone, most_gain, uneven[0].space.problem.outermost_memory)


def with_uneven_alone(
    request: Request, fused: SearchResult, better: SearchResult, uneven: Sequence[EinsumSolution]
) -> SearchResult:
    """Return the better of a known result and of a fused one with some uneven Einsums.

    An Einsum of a fused mapping may be uneven if it stands alone: it shares no loops with others
    and nothing of theirs is on chip while it runs. `fused`: the best with even tiles; `better`:
    the best known; `uneven`: the best uneven mapping of each Einsum, for energy or latency. The
    certificate is for all these mappings; where they gave nothing better and no proof, `better`
    comes back with a note of what could still be gained.
    """
    proof = better.certificate
    gains = _gains(request, "energy" if proof.objective == "energy" else "latency", uneven)
    if gains is None or gains.most_gain <= 0:
        return better
    best = _better_mixed(request, fused, better, gains) or better
    assert best.best is not None
    value = best.best.score.metric(request.options.objective)
    lower = min(fused.certificate.lower_bound - gains.most_gain, value)
    optimal = value <= lower * (1 + TOLERANCE)
    if best is better and not optimal and proof.kind == "optimal":
        return replace(better, notes=(*better.notes, _no_gain_note(lower)))
    certificate = SearchCertificate(
        "optimal" if optimal else "bounded",
        proof.objective,
        value,
        lower,
        with_standalone_imperfect(proof.restrictions),
    )
    return replace(best, certificate=certificate)


def _better_mixed(
    request: Request, fused: SearchResult, better: SearchResult, gains: Gains
) -> SearchResult | None:
    """Return `fused` with the uneven Einsums that stand alone, if that beats `better`.

    Else None.
    """
    mixed = _mixed(request, fused, gains)
    if mixed is None:
        return None
    if mixed.score.metric(request.options.objective) >= better.certificate.value:
        return None
    return replace(better, best=mixed, front=Front((mixed,)), on_chip=fused.on_chip)


def _no_gain_note(lower: float) -> str:
    return (
        "uneven tiles of Einsums that stand alone among fused ones were tried without gain;"
        f" such a mapping costs at least {lower:.6g}"
    )


def _mixed(request: Request, fused: SearchResult, gains: Gains) -> ScoredMapping | None:
    """Put uneven mappings into a fused mapping for the Einsums that gain by them and stand alone.

    Return it with the model's score; None if there are none such, or if it does not fit.
    """
    assert fused.best is not None
    *top, last = fused.best.mapping.nodes
    if not isinstance(last, Sequential):
        return None
    workload, shared = request.workload, shared_tensors(request.workload)
    replaced = _replaced_einsums(workload, top, last, gains)
    if not replaced:
        return None
    branches = (
        _without_first(gains.alone[name].nodes, shared) if name in replaced else branch
        for branch in last.branches
        for name in (_einsum_of(branch),)
    )
    exclusive_tensors = {t for name in replaced for t in workload.einsum(name).tensors} - shared
    mapping = LoopNest((*_without(top, exclusive_tensors), Sequential(tuple(branches))))
    try:
        score = score_mapping(request.arch, workload, mapping, request.options.conventions)
    except (InfeasibleMapping, MappingError):
        return None
    return ScoredMapping(mapping, score)


def _replaced_einsums(
    workload: Workload, top: Sequence[Node], last: Sequential, gains: Gains
) -> list[str]:
    """Return the Einsums that gain by uneven tiles and stand alone.

    `top`: nodes above all loops; while an Einsum that stands alone runs, none of their tensors on
    chip is in use. `last`: the Sequential below them.
    """
    on_chip = [node for node in top if isinstance(node, Storage) and node.component != gains.outer]
    busy = _busy(workload, on_chip)
    names = map(_einsum_of, last.branches)
    return [name for name in names if name in gains.alone and name not in busy]


def _einsum_of(branch: Branch) -> str:
    """Return the name of the Einsum of a branch; "" if several Einsums share the branch."""
    return branch[-1].einsum if isinstance(branch[-1], ComputeNode) else ""


def _busy(workload: Workload, on_chip: Sequence[Storage]) -> set[str]:
    """Return the Einsums during which a tensor of one of these on-chip holders is in use.

    From its first user to its last; all Einsums if it is persistent.
    """
    busy: set[str] = set()
    names = [einsum.name for einsum in workload.einsums]
    for tensor in {t for storage in on_chip for t in storage.tensors}:
        users = [i for i, e in enumerate(workload.einsums) if tensor in e.tensors]
        stays = any(workload.einsums[i].access(tensor).persistent for i in users)
        busy |= set(names if stays else names[users[0] : users[-1] + 1])
    return busy


def _without_first(nodes: Sequence[Node], shared: frozenset[str]) -> Branch:
    """Return nodes without the first holder of each shared tensor; it stands above all Einsums."""
    seen: set[str] = set()
    remaining_nodes: list[Node] = []
    for node in nodes:
        lifted = {t for t in _stored_tensors(node) if t in shared and t not in seen}
        seen |= lifted
        remaining_nodes += _without([node], lifted)
    return tuple(remaining_nodes)


def _without(nodes: Sequence[Node], tensors: set[str]) -> Branch:
    """Return nodes without the Storage nodes of some tensors."""
    remaining_nodes: list[Node] = []
    for node in nodes:
        if not isinstance(node, Storage):
            remaining_nodes.append(node)
        elif remaining_tensors := tuple(t for t in node.tensors if t not in tensors):
            remaining_nodes.append(replace(node, tensors=remaining_tensors))
    return tuple(remaining_nodes)


def _stored_tensors(node: Node) -> tuple[str, ...]:
    return node.tensors if isinstance(node, Storage) else ()
