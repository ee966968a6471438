"""The best mappings of many designs, which differ in sizes, fanouts and energies, from one search.

A mapping that fits into a smaller memory fits into a larger one, and does the same there. Its
energy at any prices lies between its energies at the corners of a box of prices. So one Pareto set
over energies at these corners, latency and bits of memories holds a best mapping of every design
with the same fanouts; sets for other fanouts are found with the same programs (theory/fronts.md §6,
§7).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import NamedTuple

import numpy as np

from tilewright.arch.components.components import Memory
from tilewright.arch.flattening.flat import FlatArch
from tilewright.arch.flattening.flattening import depends_on_kept
from tilewright.arch.spec.architecture import Arch
from tilewright.mapper.evaluation.uncounted import uncounted
from tilewright.mapper.fronts.designs.design_facts import facts_of, has_free_form
from tilewright.mapper.fronts.designs.fact_ranges import DesignPlace, FactRanges, ranges_of
from tilewright.mapper.fronts.designs.family_paths import FamilyPaths, Paths, flat_paths
from tilewright.mapper.fronts.designs.priced_score import joined_score, priced_score
from tilewright.mapper.fronts.designs.shared_work import SharedWork
from tilewright.mapper.fronts.einsum_fronts import EinsumFront, EinsumFrontSolver
from tilewright.mapper.fronts.front import Front
from tilewright.mapper.fronts.sequence_front import fold_rows
from tilewright.mapper.mapping.mapping import Mapping as LoopNest
from tilewright.mapper.mapping.score import Score
from tilewright.mapper.mapping.scored_mapping import ScoredMapping
from tilewright.mapper.model.conventions import conventions_called
from tilewright.mapper.model.evaluation import score_mapping
from tilewright.mapper.model.paths.path import paths_of
from tilewright.mapper.searches.budget import Budget, WorkLeft
from tilewright.mapper.searches.exact.kernels import Floats
from tilewright.mapper.searches.exact.label_fields import DesignFamily
from tilewright.mapper.searches.mapping_scorer import figures_agree
from tilewright.mapper.searches.objective.measures import COST_METRICS, FrontMetrics
from tilewright.mapper.searches.request import Request, SearchSettings
from tilewright.mapper.searches.restrictions import Restrictions
from tilewright.mapper.searches.result import SearchCertificate, SearchResult, SearchStatistics
from tilewright.mapper.searches.scope import einsum_restrictions, unfused_restrictions
from tilewright.mapper.searches.search_errors import InternalError
from tilewright.mapper.searches.unfused import shared_tensors, unfused_mapping
from tilewright.mapper.verification.verification import verified_moments
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import InfeasibleMapping, UnsupportedFeature

_TIE = 1e-12  # relative difference of equal values: sums of the same terms in another order
_FAR_TIE = 1e-11  # the same where no value beyond it can be equal to the least
_SECOND = {"energy": 1, "latency": 0, "edp": 0}  # column that decides between equal values


@dataclass(frozen=True)
class DesignRange:
    """A family of designs around one request, and the architectures with one knob changed.

    A knob is a parameter of the study. `request`: what is asked of each design, with the
    architecture of the largest. `knobs`: per knob, the architectures with each of its values, other
    knobs as in the request. `work`: what a search for all of them may do at most.
    """

    request: Request
    knobs: tuple[tuple[Arch, ...], ...]
    work: SharedWork | None = None

    def limits_of_work(self) -> Iterable[WorkLeft | None]:
        """Return how much work a search may do, in the order to try; None: as much as it takes."""
        return (None,) if self.work is None else self.work.limits()

    @cached_property
    def paths(self) -> FamilyPaths:
        """The paths of components of the designs."""
        return FamilyPaths(self.request)

    def ranges(self) -> FactRanges | None:
        """Return the numbers in which the designs differ; None if they differ in anything else."""
        family = self.paths
        base = flat_paths(family.base)
        known = facts_of(base)
        if known is None or not has_free_form(base, tuple(self.request.arch.variables)):
            return None
        turned = [[family.design(arch).facts for arch in knob] for knob in self.knobs]
        facts = [list(filter(None, knob)) for knob in turned]
        if list(map(len, facts)) != list(map(len, turned)):
            return None
        ranges = ranges_of(known, facts)
        if ranges is None or not ranges.has_largest_base or _lanes_depend(base, ranges):
            return None
        return ranges


def _lanes_depend(paths: Sequence[FlatArch], ranges: FactRanges) -> bool:
    """Tell whether fanouts differ between designs and do more than limit the number of lanes.

    So with min_usage, with usage_scale, or with a fanout of 1 in some design.
    """
    if not ranges.fanouts:
        return False
    dims = [dim for flat in paths for c in flat.components for dim in c.spatial]
    single = any(fanouts[0] < 2 for fanouts in ranges.fanouts.values())
    return single or any(dim.min_usage > 0 or dim.usage_scale != 1 for dim in dims)


@dataclass(frozen=True, slots=True)
class _SearchedRequest(Request):
    """A request for one search that answers for a whole family of designs.

    `searched`: paths by Einsum, with the largest sizes and fanouts and the least energies. `work`:
    what is left of a limit of work.
    """

    searched: Mapping[str, tuple[FlatArch, ...]] = field(default_factory=dict)
    work: WorkLeft | None = None

    def flat_archs(self, einsum: Einsum) -> tuple[FlatArch, ...]:
        return self.searched[einsum.name]

    @property
    def budget(self) -> Budget:
        return Budget(self.deadline, stops_on_request=True, work=self.work)


@dataclass(frozen=True, slots=True)
class _FrontTable:
    """The Pareto set of one Einsum: its mappings, and a row of numbers for each.

    `rows`: joule, second, bits of memories that differ, joule at further prices, shape (mappings,
    metrics). `scores`: of the mappings, by the model on the design searched.
    """

    mappings: tuple[LoopNest, ...]
    rows: Floats
    scores: tuple[Score, ...]


class _ScoredOnce(NamedTuple):
    """A mapping of the workload (`best`) scored on the largest design.

    `paths`, `computes`: of each Einsum. `shares`: per Einsum, the share of each memory that it
    fills.
    """

    best: ScoredMapping
    paths: tuple[FlatArch, ...]
    computes: tuple[str, ...]
    shares: Sequence[Mapping[str, Fraction]]


class _Fronts(NamedTuple):
    """The Pareto set of each Einsum for some fanouts (`tables`), with scores computed so far.

    `restrictions`: under which they hold. `scored`: by the number of the chosen point of each
    Einsum; None: no mapping of the largest design. `shares`: by (Einsum, point), the share of each
    memory that it fills at its fullest moment.
    """

    tables: tuple[_FrontTable, ...]
    restrictions: Restrictions
    scored: dict[tuple[int, ...], _ScoredOnce | None]
    shares: dict[tuple[int, int], Mapping[str, Fraction]]

    def chosen(self, choice: tuple[int, ...]) -> list[LoopNest]:
        """Return the mapping of each Einsum; `choice`: numbers of the points."""
        pairs = zip(self.tables, choice, strict=True)
        return [table.mappings[number] for table, number in pairs]

    def chosen_scores(self, choice: Sequence[int]) -> list[Score]:
        """Return the score of each Einsum's mapping on the largest design.

        `choice`: point numbers.
        """
        pairs = zip(self.tables, choice, strict=True)
        return [table.scores[number] for table, number in pairs]


class DesignFronts:
    """The Pareto sets of the Einsums of a workload, for all designs of a family.

    `family`: the designs. `ranges`: in what they differ. The sets for some fanouts are searched
    when a design has them.
    """

    def __init__(self, family: DesignRange, ranges: FactRanges) -> None:
        self._family = family
        self._ranges = ranges
        self._paths = family.paths
        self._searched = _searched(family.request, self._paths, ranges)
        self._kept_counts = _kept_counts(family.request)
        self._fronts: dict[tuple[int, ...], _Fronts | None] = {}

    def answer(self, arch: Arch) -> SearchResult | None:
        """Return the best mapping on a design with its certificate, without a search.

        `arch`: the design. None if it is no member of the family, or nothing fits: then a search
        has the answer, or says why there is none.
        """
        paths, facts = self._paths.design(arch)
        if facts is None:
            return None
        place = self._ranges.place(facts)
        if place is None:
            return None
        fronts = self._fronts_of(place.fanouts)
        if fronts is None:
            return None
        most = np.array(place.sizes)
        fitting = [
            np.flatnonzero((table.rows[:, 2 : 2 + len(most)] <= most).all(axis=1))
            for table in fronts.tables
        ]
        if not all(map(len, fitting)):
            return None
        pairs = zip(fronts.tables, fitting, strict=True)
        costs = [_costs(table.rows[numbers], place) for table, numbers in pairs]
        row, points = _best_points(costs, self._family.request.options.objective)
        chosen = zip(fitting, points, strict=True)
        choice = tuple(int(numbers[point]) for numbers, point in chosen)
        if choice not in fronts.scored:
            fronts.scored[choice] = self._score(fronts, choice)
        known = fronts.scored[choice]
        return None if known is None else self._answer(arch, paths, known, row, fronts)

    def _fronts_of(self, fanouts: tuple[int, ...]) -> _Fronts | None:
        if fanouts not in self._fronts:
            self._fronts[fanouts] = self._search(fanouts)
        return self._fronts[fanouts]

    def _search(self, fanouts: tuple[int, ...]) -> _Fronts | None:
        """Find the Pareto sets for designs with so many lanes.

        `fanouts`: one per dimension that differs. None if they are not proven complete, if nothing
        fits, or if this does more work than a search of each design.
        """
        dims = zip(self._ranges.fanouts, fanouts, strict=True)
        most_lanes = tuple((component, name, lanes) for (component, name), lanes in dims)
        metrics = _metrics(self._ranges, most_lanes)
        for work in self._family.limits_of_work():
            fronts = self._front_of_each(metrics, work)
            if fronts is not None:
                return _with_tables(fronts)
            if work is None or work.units >= 0:  # more work does not help
                return None
        return None

    def _front_of_each(
        self, metrics: FrontMetrics, work: WorkLeft | None
    ) -> list[EinsumFront] | None:
        """Return the Pareto set of each Einsum; None if some set is not proven complete."""
        solver = EinsumFrontSolver(replace(self._searched, work=work), metrics)
        fronts: list[EinsumFront] = []
        for einsum in self._searched.workload.einsums:
            try:
                fronts.append(solver.front(einsum))
            except (UnsupportedFeature, InfeasibleMapping):
                return None
            if fronts[-1].proven < inf:
                return None
        return fronts

    def _answer(
        self, arch: Arch, paths: Paths, known: _ScoredOnce, row: Floats, fronts: _Fronts
    ) -> SearchResult | None:
        """Return a scored mapping as the answer for a design; None if it does not fit there.

        `row`: joule and second by the front; InternalError if the score disagrees.
        """
        taken = _taken(paths, known.computes)
        if not _fits(known, taken):
            return None
        score = priced_score(known.best.score, known.paths, taken)
        for summed, scored in zip(row.tolist(), (score.energy, score.latency), strict=True):
            if not figures_agree(summed, scored):
                raise InternalError(f"the front says {row.tolist()!r}, the model {score!r}")
        if max(score.spatial_usage.values(), default=0.0) > 1:
            raise InternalError(f"the front uses more lanes than there are: {score!r}")
        objective = self._family.request.options.objective
        best, value = ScoredMapping(known.best.mapping, score), score.metric(objective)
        proof = SearchCertificate("optimal", objective, value, value, fronts.restrictions)
        return SearchResult(
            best, Front((best,)), proof, SearchStatistics(), notes=uncounted(arch, score)
        )

    def _score(self, fronts: _Fronts, choice: tuple[int, ...]) -> _ScoredOnce | None:
        """Score and verify the mapping of the workload from one point of each Einsum's front.

        `choice`: the number of the point, per Einsum. On the largest design. None if the mapping is
        not verified, or costs depend on what is kept.
        """
        request, mappings = self._family.request, fronts.chosen(choice)
        arch, work = request.arch, request.workload
        mapping = mappings[0] if len(mappings) == 1 else unfused_mapping(work, mappings)
        computes = tuple(_compute(alone) for alone in mappings)
        taken = _taken(self._paths.base, computes)
        if self._kept_counts:
            score = score_mapping(arch, work, mapping, request.options.conventions)
            if priced_score(score, taken, taken) != score:
                return None  # costs depend on what is kept
        else:
            score = joined_score(fronts.chosen_scores(choice))
        shares = self._shares(fronts, choice, mappings)
        if max((share for filled in shares for share in filled.values()), default=0) > 1:
            return None
        notes = (*score.notes, *uncounted(arch, score))
        best = ScoredMapping(mapping, replace(score, verified=True, notes=notes))
        return _ScoredOnce(best, taken, computes, shares)

    def _shares(
        self, fronts: _Fronts, choice: tuple[int, ...], mappings: Sequence[LoopNest]
    ) -> list[Mapping[str, Fraction]]:
        """Return, per Einsum, the share of each memory that its mapping fills, 0 to 1.

        `choice`: number of the point of each Einsum's front; `mappings`: their mappings.
        """
        for part, mapping in zip(enumerate(choice), mappings, strict=True):
            if part not in fronts.shares:
                fronts.shares[part] = self._verified_shares(part[0], mapping)
        return [fronts.shares[part] for part in enumerate(choice)]

    def _verified_shares(self, number: int, mapping: LoopNest) -> Mapping[str, Fraction]:
        """Return the share of each memory that the mapping of Einsum `number` fills, 0 to 1.

        On the largest design. Einsums share no tensor, so that each is looked at alone. A mapping
        that cannot be verified gets a share of 2, which never fits.
        """
        request = self._family.request
        alone = replace(request.workload, einsums=(request.workload.einsums[number],))
        moments = verified_moments(request.arch, alone, mapping)
        if moments is None:
            return {"": Fraction(2)}
        return {name: moment.share for name, moment in moments.items()}


def _kept_counts(request: Request) -> bool:
    """Tell whether attributes of some component depend on which tensors are kept."""
    work, switch = request.workload, conventions_called(request.options.conventions).switch
    return any(depends_on_kept(request.arch, work.scope(e), switch) for e in work.einsums)


def _compute(mapping: LoopNest) -> str:
    """Return the name of the Compute of the mapping of one Einsum."""
    (path,) = paths_of(mapping)
    return path.component


def _taken(paths: Paths, computes: Sequence[str]) -> tuple[FlatArch, ...]:
    """Return, per Einsum, its path to the chosen Compute."""
    pairs = zip(paths, computes, strict=True)
    return tuple(
        next(f for f in several if f.compute.name == compute) for several, compute in pairs
    )


def _fits(known: _ScoredOnce, paths: Sequence[FlatArch]) -> bool:
    """Tell whether a mapping fits memories of other sizes: it fills as many bits as before."""
    before, after = _sizes(known.paths), _sizes(paths)
    return all(
        share * Fraction(before[name]) <= Fraction(after[name])
        for shares in known.shares
        for name, share in shares.items()
        if before[name] != after[name]
    )


def _sizes(paths: Sequence[FlatArch]) -> dict[str, float]:
    components = [c for flat in paths for c in (*flat.components, *flat.beside)]
    return {c.name: c.size for c in components if isinstance(c, Memory)}


def _costs(rows: Floats, place: DesignPlace) -> Floats:
    """Return the joules and seconds of mappings on a design, shape (mappings, 2).

    `rows`: joules at the least prices, seconds, bits of memories, joules at further prices. The
    design's prices are the least ones, plus a share of the step to the most of each group.
    """
    least, seconds = rows[:, 0], rows[:, 1]
    further = rows[:, 2 + len(place.sizes) :]
    energy = least + place.watts * seconds
    for group, share in enumerate(place.shares):
        energy = energy + share * (further[:, (1 << group) - 1] - least)
    return np.column_stack([energy, seconds])


def design_fronts(family: DesignRange) -> DesignFronts | None:
    """Return the Pareto sets that answer for all designs of a family, to be searched when asked.

    None where such sets do not hold the answers: designs differ in more than sizes, fanouts,
    energies, area and leakage; tensors that several Einsums use may stay on chip between them;
    options such as a budget or uneven tiles ask for other searches.
    """
    ranges = family.ranges() if is_answerable(family.request) else None
    return None if ranges is None else DesignFronts(family, ranges)


def is_answerable(request: Request) -> bool:
    """Tell whether Pareto sets of single Einsums can hold the answer to a request.

    The request asks for one best mapping; Einsums share no tensor, none is a copy or persistent.
    """
    if not _asks_for_one_best(request.options) or shared_tensors(request.workload):
        return False
    accesses = [
        (einsum, access) for einsum in request.workload.einsums for access in einsum.accesses
    ]
    return not any(einsum.is_copy or access.persistent for einsum, access in accesses)


def _searched(request: Request, family: FamilyPaths, ranges: FactRanges) -> _SearchedRequest:
    paths = zip(request.workload.einsums, family.base, strict=True)
    searched = {e.name: tuple(map(ranges.searched, several)) for e, several in paths}
    return _SearchedRequest(
        request.arch, request.workload, request.options, request.deadline, searched
    )


def _metrics(ranges: FactRanges, most_lanes: tuple[tuple[str, str, int], ...]) -> FrontMetrics:
    memories = tuple(ranges.sizes)
    return FrontMetrics(
        ("energy", "latency", *(f"usage.{name}" for name in memories)),
        memories,
        tuple(ranges.sizes.values()),
        DesignFamily(ranges.prices, most_lanes),
    )


def _asks_for_one_best(options: SearchSettings) -> bool:
    """Tell whether options ask for the least of one metric of the whole workload, without limits.

    False with other conventions than the default, a method, a budget, a memory limit, uneven tiles
    or a front.
    """
    plain = options.objective in COST_METRICS and options.conventions == "default"
    unlimited = options.budget is None and options.max_memory is None
    whole = options.einsum is None and options.method is None
    return plain and unlimited and whole and not (options.uneven or options.front)


def _with_tables(fronts: Sequence[EinsumFront]) -> _Fronts:
    tables = tuple(
        _FrontTable(
            tuple(p.mapping for p in f.points),
            np.array([p.row for p in f.points]),
            tuple(p.score for p in f.points),
        )
        for f in fronts
    )
    return _Fronts(tables, _restrictions(fronts), {}, {})


def _restrictions(fronts: Sequence[EinsumFront]) -> Restrictions:
    spaces = [front.spaces[0] for front in fronts]
    return einsum_restrictions(spaces[0]) if len(spaces) == 1 else unfused_restrictions(spaces)


def _best_points(costs: Sequence[Floats], objective: str) -> tuple[Floats, list[int]]:
    """Return (joule, second) of the mapping with the least objective, and its point of each table.

    `costs`: (joule, second) of the points of each Einsum.
    """
    if len(costs) == 1:
        values = _values(costs[0], objective)
        close = np.flatnonzero(values <= values.min() * (1 + _FAR_TIE))
        if len(close) == 1:
            return costs[0][close[0]], close.tolist()
    folded = fold_rows(costs)
    row = _best_row(folded.rows, objective)
    return folded.rows[row], folded.choices[row].tolist()


def _values(rows: Floats, objective: str) -> Floats:
    """Return the objective of rows (joule, second)."""
    energy, latency = rows[:, 0], rows[:, 1]
    values: Floats = {"energy": energy, "latency": latency, "edp": energy * latency}[objective]
    return values


def _best_row(rows: Floats, objective: str) -> int:
    """Return the number of the row (joule, second) with the least objective.

    Of equal ones the one with the least of the other metric, energy if the product is minimized.
    """
    values = _values(rows, objective)
    ties = np.flatnonzero(values <= values.min() * (1 + _TIE))
    return int(ties[np.argmin(rows[ties, _SECOND[objective]])])
