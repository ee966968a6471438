"""The best mappings of many designs, which differ in sizes, fanouts and energies, from one search.

A mapping that fits into a smaller memory fits into a larger one, and does the same there. Its
energy at any prices lies between its energies at the corners of a box of prices. So one Pareto set
over energies at these corners, latency and bits of memories holds a best mapping of every design
with the same fanouts; sets for other fanouts are found with the same programs (theory/fronts.md §6,
§7).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import inf

from tilewright.arch.components.components import Memory
from tilewright.arch.flattening.flat import FlatArch
from tilewright.arch.flattening.flattening import depends_on_kept
from tilewright.arch.spec.architecture import Arch
from tilewright.mapper.evaluation.uncounted import uncounted
from tilewright.mapper.fronts.designs.design_range import DesignRange, is_answerable
from tilewright.mapper.fronts.designs.fact_ranges import FactRanges
from tilewright.mapper.fronts.designs.family_paths import FamilyPaths, Paths
from tilewright.mapper.fronts.designs.front_tables import FanoutFronts, ScoredOnce
from tilewright.mapper.fronts.designs.priced_score import joined_score, priced_score
from tilewright.mapper.fronts.einsum_fronts import EinsumFront, EinsumFrontSolver
from tilewright.mapper.fronts.front import Front
from tilewright.mapper.mapping.mapping import Mapping as LoopNest
from tilewright.mapper.mapping.scored_mapping import ScoredMapping
from tilewright.mapper.model.conventions import conventions_called
from tilewright.mapper.model.evaluation import score_mapping
from tilewright.mapper.model.paths.path import paths_of
from tilewright.mapper.searches.budget import Budget, WorkLeft
from tilewright.mapper.searches.exact.kernels import Floats
from tilewright.mapper.searches.exact.label_fields import DesignFamily
from tilewright.mapper.searches.mapping_scorer import figures_agree
from tilewright.mapper.searches.objective.measures import FrontMetrics
from tilewright.mapper.searches.request import Request
from tilewright.mapper.searches.result import SearchCertificate, SearchResult, SearchStatistics
from tilewright.mapper.searches.search_errors import InternalError
from tilewright.mapper.searches.unfused import unfused_mapping
from tilewright.mapper.verification.verification import verified_moments
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import InfeasibleMapping, UnsupportedFeature


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
        self._fronts: dict[tuple[int, ...], FanoutFronts | None] = {}

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
        best = fronts.best(place, self._family.request.options.objective)
        if best is None:
            return None
        if best.choice not in fronts.scored:
            fronts.scored[best.choice] = self._score(fronts, best.choice)
        known = fronts.scored[best.choice]
        return None if known is None else self._answer(arch, paths, known, best.costs, fronts)

    def _fronts_of(self, fanouts: tuple[int, ...]) -> FanoutFronts | None:
        if fanouts not in self._fronts:
            self._fronts[fanouts] = self._search(fanouts)
        return self._fronts[fanouts]

    def _search(self, fanouts: tuple[int, ...]) -> FanoutFronts | None:
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
                return FanoutFronts.of(fronts)
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
        self, arch: Arch, paths: Paths, known: ScoredOnce, row: Floats, fronts: FanoutFronts
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

    def _score(self, fronts: FanoutFronts, choice: tuple[int, ...]) -> ScoredOnce | None:
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
        return ScoredOnce(best, taken, computes, shares)

    def _shares(
        self, fronts: FanoutFronts, choice: tuple[int, ...], mappings: Sequence[LoopNest]
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


def _fits(known: ScoredOnce, paths: Sequence[FlatArch]) -> bool:
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


def design_fronts(family: DesignRange) -> DesignFronts | None:
    """Return the Pareto sets that answer for all designs of a family, to be searched when asked.

    None where such sets do not hold the answers: designs differ in more than sizes, fanouts,
    energies, area and leakage; tensors that several Einsums use may stay on chip between them;
    options such as a budget or uneven tiles ask for other searches.
    """
    ranges = family.ranges() if is_answerable(family.request) else None
    return None if ranges is None else DesignFronts(family, ranges)


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
