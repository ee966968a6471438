"""The best mappings for all sizes of some memories, from one search with the largest sizes.

A mapping that fits into a smaller memory fits into a larger one, and costs the same there. So a
Pareto set over energy, latency and the bits of these memories holds a best mapping for each choice
of sizes (theory/fronts.md §6). Only the sizes in question tell bits apart, which leaves few points:
the set takes about as long as three to five searches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from typing import NamedTuple

import numpy as np

from tilewright.arch.components.components import Component, Memory
from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.evaluation.uncounted import uncounted
from tilewright.mapper.fronts.einsum_fronts import EinsumFront, EinsumFrontSolver
from tilewright.mapper.fronts.front import Front
from tilewright.mapper.fronts.sequence_front import fold_rows, proven_up_to
from tilewright.mapper.fronts.what_if import changed_fields
from tilewright.mapper.mapping.mapping import Mapping as LoopNest
from tilewright.mapper.model.conventions import conventions_called
from tilewright.mapper.model.costs import area_by
from tilewright.mapper.model.evaluation import score_mapping
from tilewright.mapper.searches.exact.kernels import Floats
from tilewright.mapper.searches.mapping_scorer import figures_agree
from tilewright.mapper.searches.objective.measures import COST_METRICS, FrontMetrics
from tilewright.mapper.searches.request import Request, SearchSettings
from tilewright.mapper.searches.restrictions import Restrictions
from tilewright.mapper.searches.result import (
    ScoredMapping,
    SearchCertificate,
    SearchResult,
    SearchStatistics,
)
from tilewright.mapper.searches.scope import einsum_restrictions, unfused_restrictions
from tilewright.mapper.searches.search_errors import InternalError
from tilewright.mapper.searches.unfused import shared_tensors, unfused_mapping
from tilewright.mapper.verification.capacity_proof import fullest_moments
from tilewright.mapper.verification.einsum_schedule import schedules_of
from tilewright.mapper.verification.verification import all_violations
from tilewright.mapper.workload.errors import UnsupportedFeature

_TIE = 1e-12  # relative difference of equal values: sums of the same terms in another order
_SECOND = {"energy": 1, "latency": 0, "edp": 0}  # column that decides between equal values


@dataclass(frozen=True, slots=True)
class _FrontTable:
    """The Pareto set of one Einsum: its mappings, and a row of numbers for each.

    `rows`: joule, second, bits in use of each memory whose size may be smaller, shape (mappings,
    metrics).
    """

    mappings: tuple[LoopNest, ...]
    rows: Floats


class _ScoredOnce(NamedTuple):
    """A mapping as scored with the largest sizes, and the share of each memory that it fills."""

    best: ScoredMapping
    shares: Mapping[str, Fraction]


class SizeFronts:
    """The Pareto sets of the Einsums of a workload, for all sizes of some memories.

    `request`: the search with the largest sizes. `memories`: names of the memories whose sizes may
    be smaller. `tables`: the Pareto set of each Einsum. `restrictions`: conditions that all
    mappings searched meet.
    """

    def __init__(
        self,
        request: Request,
        memories: tuple[str, ...],
        tables: Sequence[_FrontTable],
        restrictions: Restrictions,
    ) -> None:
        self._request = request
        self._memories = memories
        self._tables = tables
        self._restrictions = restrictions
        self._flats = [request.flat_archs(einsum) for einsum in request.workload.einsums]
        self._areas: dict[tuple[str, float], float | None] = {}
        self._scored: dict[tuple[int, ...], _ScoredOnce | None] = {}

    def answer(self, sizes: Mapping[str, float]) -> SearchResult | None:
        """Return the best mapping for sizes of the memories with its certificate, unsearched.

        `sizes`: bits of each memory, none larger than in the search. None where a size changes
        more than what fits, or nothing fits: then a search has the answer, or says why there is
        none.
        """
        areas = {name: self._area(name, sizes[name]) for name in self._memories}
        most = np.array([sizes[name] for name in self._memories])
        fitting = [np.flatnonzero((t.rows[:, 2:] <= most).all(axis=1)) for t in self._tables]
        if None in areas.values() or not all(map(len, fitting)):
            return None
        pairs = zip(self._tables, fitting, strict=True)
        folded = fold_rows([table.rows[numbers][:, :2] for table, numbers in pairs])
        row = _best_row(folded.rows, self._request.options.objective)
        points = zip(fitting, folded.choices[row].tolist(), strict=True)
        choice = tuple(int(numbers[point]) for numbers, point in points)
        if choice not in self._scored:
            self._scored[choice] = self._score(choice, folded.rows[row])
        known = self._scored[choice]
        if known is None or not self._fits(known, sizes):
            return None
        return self._result(known, sizes, {n: a for n, a in areas.items() if a is not None})

    def _area(self, memory: str, bits: float) -> float | None:
        """Return the area in m² of a memory of this size; None if the size changes other costs."""
        if (memory, bits) not in self._areas:
            arch = self._request.arch.with_values({f"{memory}.size": bits})
            resized = replace(self._request, arch=arch)
            paths = [resized.flat_archs(einsum) for einsum in resized.workload.einsums]
            pairs = [
                pair
                for before, after in zip(self._flats, paths, strict=True)
                for pair in zip(before, after, strict=True)
            ]
            alike = all(_differ_in_size(*pair, memory) for pair in pairs)
            area = _areas(paths[0][0])[memory] if alike else None
            self._areas[memory, bits] = area
        return self._areas[memory, bits]

    def _score(self, choice: tuple[int, ...], row: Floats) -> _ScoredOnce | None:
        """Score one mapping of each Einsum with the largest sizes; None if it is not verified."""
        arch, work = self._request.arch, self._request.workload
        pairs = zip(self._tables, choice, strict=True)
        mappings = [table.mappings[number] for table, number in pairs]
        mapping = mappings[0] if len(mappings) == 1 else unfused_mapping(work, mappings)
        score = score_mapping(arch, work, mapping, self._request.options.conventions)
        for summed, scored in zip(row.tolist(), (score.energy, score.latency), strict=True):
            if not figures_agree(summed, scored):
                raise InternalError(f"the front says {row.tolist()!r}, the model {score!r}")
        if dict(score.area_by) != _areas(self._flats[0][0]) or all_violations(arch, work, mapping):
            return None
        notes = (*score.notes, *uncounted(arch, score))
        best = ScoredMapping(mapping, replace(score, verified=True, notes=notes))
        moments = fullest_moments(arch, schedules_of(mapping), work)
        return _ScoredOnce(best, {name: moment.share for name, moment in moments.items()})

    def _fits(self, known: _ScoredOnce, sizes: Mapping[str, float]) -> bool:
        """Prove that no smaller memory is overfilled at any moment: bits stay what they were."""
        largest = self._sizes
        shares = ((known.shares.get(name, 0), name) for name in self._memories)
        return all(s * Fraction(largest[n]) <= Fraction(sizes[n]) for s, n in shares)

    @property
    def _sizes(self) -> dict[str, float]:
        """The largest sizes in bits, by memory."""
        flat = self._flats[0][0]
        memories = [c for c in (*flat.components, *flat.beside) if isinstance(c, Memory)]
        return {c.name: c.size for c in memories}

    def _result(
        self, known: _ScoredOnce, sizes: Mapping[str, float], areas: Mapping[str, float]
    ) -> SearchResult:
        """Return a scored mapping as the answer for smaller sizes."""
        score, objective = known.best.score, self._request.options.objective
        area_by = {**score.area_by, **areas}
        usage = {
            key: float(bits) / sizes[key.split("/")[1]]
            for key, bits in score.memory_bits.items()
            if key.split("/")[1] in sizes
        }
        score = replace(
            score,
            area=sum(area_by.values()),
            area_by=area_by,
            memory_usage={**score.memory_usage, **usage},
        )
        best, value = ScoredMapping(known.best.mapping, score), score.metric(objective)
        proof = SearchCertificate("optimal", objective, value, value, self._restrictions)
        notes = uncounted(self._request.arch, score)
        return SearchResult(best, Front((best,)), proof, SearchStatistics(), notes=notes)


def size_fronts(request: Request, sizes: Mapping[str, Sequence[float]]) -> SizeFronts | None:
    """Search the Pareto sets that answer for all sizes of some memories.

    `request`: the search, of an architecture with the largest of the sizes. `sizes`: per memory,
    the sizes in bits that will be asked for. None where such sets do not hold the answers: tensors
    that several Einsums use may stay on chip between them, and options such as a budget or uneven
    tiles ask for other searches. Raises InfeasibleMapping if an Einsum does not even fit into the
    largest sizes.
    """
    einsums = request.workload.einsums
    if not _asks_for_one_best(request.options) or shared_tensors(request.workload):
        return None
    if any(einsum.is_copy or a.persistent for einsum in einsums for a in einsum.accesses):
        return None
    memories = tuple(sizes)
    steps = tuple(tuple(sorted(map(float, sizes[name]))) for name in memories)
    names = ("energy", "latency", *(f"usage.{name}" for name in memories))
    solver = EinsumFrontSolver(request, FrontMetrics(names, memories, steps))
    try:
        fronts = [solver.front(einsum) for einsum in einsums]
    except UnsupportedFeature:
        return None
    if proven_up_to(fronts) < inf:
        return None
    tables = [
        _FrontTable(tuple(p.mapping for p in f.points), np.array([p.row for p in f.points]))
        for f in fronts
    ]
    return SizeFronts(request, memories, tables, _restrictions(fronts))


def _asks_for_one_best(options: SearchSettings) -> bool:
    """Tell whether options ask for the least of one metric alone, without limits."""
    plain = options.objective in COST_METRICS and options.conventions == "default"
    unlimited = options.budget is None and options.max_memory is None
    whole = options.einsum is None and options.method is None
    return plain and unlimited and whole and not (options.uneven or options.front)


def _restrictions(fronts: Sequence[EinsumFront]) -> Restrictions:
    spaces = [front.spaces[0] for front in fronts]
    return einsum_restrictions(spaces[0]) if len(spaces) == 1 else unfused_restrictions(spaces)


def _best_row(rows: Floats, objective: str) -> int:
    """Return the number of the row (joule, second) with the least objective.

    Of equal ones the one with the least of the other metric, energy if the product is minimized.
    """
    energy, latency = rows[:, 0], rows[:, 1]
    values = {"energy": energy, "latency": latency, "edp": energy * latency}[objective]
    ties = np.flatnonzero(values <= values.min() * (1 + _TIE))
    return int(ties[np.argmin(rows[ties, _SECOND[objective]])])


# ---- what may differ


def _areas(flat: FlatArch) -> dict[str, float]:
    """Return the area in m² of each component, all its instances."""
    return dict(area_by(flat, conventions_called("default")))


def _differ_in_size(top: FlatArch, flat: FlatArch, memory: str) -> bool:
    """Tell whether two paths differ in the size and the area of one memory alone."""
    pairs = [*zip(top.components, flat.components, strict=True)]
    pairs += zip(top.beside, flat.beside, strict=True)
    return all(_is_alike(*pair, may_differ=pair[0].name == memory) for pair in pairs)


def _is_alike(before: Component, after: Component, may_differ: bool) -> bool:
    """Tell whether two components differ in size and area at most, and no rule names the size."""
    differing = {"size", "area", "tensors"} if may_differ else {"tensors"}
    return type(before) is type(after) and not changed_fields(before, after, differing)
