"""Build the pmapping tables of a workload.

Einsums that pose the same problem under other names share one solution.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import NamedTuple

import numpy as np

from tilewright.arch.components.components import Memory
from tilewright.mapper.fusion.boundary.exchanged_tensors import (
    EinsumPath,
    ExchangedTensors,
    TensorPlace,
)
from tilewright.mapper.fusion.boundary.usage_peaks import NO_USAGE, CountedUsage
from tilewright.mapper.fusion.join.cost_limit import CostLimit, EnergyLatency
from tilewright.mapper.fusion.pmappings.backpointers import backpointers_of
from tilewright.mapper.fusion.pmappings.fused_templates import (
    FusedTemplate,
    banned_variables,
    first_two_memories,
    fused_templates,
    private_tensors,
    refuse_unclear_backing,
)
from tilewright.mapper.fusion.pmappings.inner_programs import (
    InnerProgram,
    SharingRules,
    inner_programs,
)
from tilewright.mapper.fusion.pmappings.inner_search import (
    NO_LATENCY_TERMS,
    InnerSearch,
    RegionRules,
)
from tilewright.mapper.fusion.pmappings.pmapping_cache import (
    CompiledChoice,
    PmappingCache,
    PreparedChoice,
)
from tilewright.mapper.fusion.pmappings.pmapping_table import (
    PmappingSolution,
    PmappingTable,
    named_table,
)
from tilewright.mapper.fusion.pmappings.pmappings import PmappingMaker, legal_places
from tilewright.mapper.mapspace.lattice import Lattice
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.mapspace.template_space import checked
from tilewright.mapper.searches.budget import Budget
from tilewright.mapper.searches.exact.kernels import ENERGY, LATENCY
from tilewright.mapper.searches.exact.label_fields import LabelFields, Leak, label_fields
from tilewright.mapper.searches.exact.label_metrics import LabelMetrics
from tilewright.mapper.searches.exact.label_tables import LabelEngine
from tilewright.mapper.searches.exact.least_placement_costs import (
    least_costs,
    least_transfer_energy,
)
from tilewright.mapper.searches.exact.metric_terms import (
    compulsory_latency,
    leaks_of,
    refuse_unsupported,
)
from tilewright.mapper.searches.identical_einsums import problem_signature
from tilewright.mapper.searches.program.program import most_deferred
from tilewright.mapper.searches.result import SearchStatistics
from tilewright.mapper.templates.placement import Placement
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import UnsupportedFeature

MOST_PROMISING = 4  # placements of an Einsum and a choice of tensors on chip
NOISE = 1e-9  # relative: sums of the same terms in another order


@dataclass(frozen=True, eq=False, slots=True)
class FusedEinsum:
    """One Einsum on the path to one of its computes, prepared for a fused search.

    `space`: its mapspace. `number`: of the compute among those of the Einsum. `boundary`: the
    (tensor, memory) pairs in which its tensors may stay on chip. `key`: equal for Einsums that pose
    the same problem under other names. `placements`: which holder keeps which tensor, by the set of
    exchanged tensors on chip, as bits of `boundary`.
    """

    space: Mapspace
    number: int
    boundary: tuple[TensorPlace, ...]
    key: Hashable
    placements: Mapping[int, Sequence[Placement]]

    @property
    def einsum(self) -> Einsum:
        """The Einsum as the workload has it."""
        return self.space.einsum

    @property
    def size(self) -> int:
        """The placements of the Einsum, over all choices on chip, times its tile shapes."""
        return sum(map(len, self.placements.values())) * Lattice(self.einsum.bounds).size

    def promising_placements(self, templates: int) -> Mapping[int, Sequence[int]]:
        """Return the numbers of the placements whose tensors take the least energy to move.

        `templates`: how many templates they may have together, for each set of exchanged tensors on
        chip; one placement stays in any case. Einsums with equal keys have equal ones.
        """
        promising: dict[int, Sequence[int]] = {}
        for mask, several in self.placements.items():
            energies = [least_transfer_energy(self.space, placement) for placement in several]
            order = np.argsort(energies, kind="stable").tolist()[:MOST_PROMISING]
            made = [sum(1 for _ in self.space.each_template([several[n]])) for n in order]
            promising[mask] = order[: max(1, int((np.cumsum(made) <= templates).sum()))]
        return promising

    def with_placements(self, chosen: Mapping[int, Sequence[int]]) -> FusedEinsum:
        """Return the Einsum with some of its placements only.

        `chosen`: their numbers, by the set of exchanged tensors on chip as bits of `boundary`.
        """
        kept = {
            mask: tuple(self.placements[mask][number] for number in numbers)
            for mask, numbers in chosen.items()
        }
        return replace(self, placements=kept)

    def compulsory_costs(self, mask: int) -> EnergyLatency:
        """Return lower bounds of energy and latency: computing, and moving each tensor once.

        Joule and second, of all instances. `mask`: the exchanged tensors on chip, as bits of
        `boundary` (theory/lattice.md §6.3).
        """
        energy, latency = least_costs(self.space, self.placements[mask])
        return energy * self.einsum.n_instances, latency * self.einsum.n_instances


def fused_einsum(
    exchanged: ExchangedTensors,
    conventions: str,
    path: EinsumPath,
    number: int,
    crowded: frozenset[str] = frozenset(),
) -> FusedEinsum:
    """Prepare an Einsum on the path to one of its computes for a fused search.

    `exchanged`: which tensors may stay on chip. `conventions`: name of the counting rules. `path`:
    the Einsum with the components down to the compute, which has this `number` among its computes.
    `crowded`: names of memories that may be too small although the tensors of one Einsum fit.
    Raises UnsupportedFeature for an Einsum or architecture that the exact search cannot model.
    """
    einsum, flat = path
    tensors = frozenset(einsum.tensors)
    space = Mapspace(
        einsum,
        flat,
        conventions,
        tensors & exchanged.outermost_only,
        crowded=crowded,
        exchanged=tensors & exchanged.exchangeable,
        lists_lane_choices=True,
    )
    refuse_unsupported(space.problem, networks=True)
    boundary = exchanged.places_of_einsum(einsum)
    refuse_unclear_backing(space, frozenset(boundary))
    key = problem_signature(space), einsum.n_instances, _tensor_roles(exchanged, einsum)
    return FusedEinsum(space, number, boundary, key, _placements_by_mask(space, boundary))


def refuse_unkept_tensors(outermost: str, einsums: Iterable[FusedEinsum]) -> None:
    """Raise UnsupportedFeature if a small outermost memory need not keep a private tensor.

    A private tensor is used by one Einsum only. The search checks the capacity of the outermost
    memory by which exchanged tensors are off chip, and takes all others to be there whole.
    `outermost`: its name. `einsums`: those that were prepared, one per compute.
    """
    for fused in einsums:
        for placement in (p for several in fused.placements.values() for p in several):
            kept_tensors = frozenset(dict(placement.kept_tensors).get(outermost, ()))
            unkept = private_tensors(fused.space) - kept_tensors
            if unkept:
                raise UnsupportedFeature(
                    f"{outermost} may be too small, and need not keep {', '.join(sorted(unkept))}",
                    instead="search without fusion",
                )


def _placements_by_mask(
    space: Mapspace, boundary: Sequence[TensorPlace]
) -> Mapping[int, Sequence[Placement]]:
    """Group the placements by the exchanged tensors on chip, as bits of the boundary.

    Placements that keep an exchanged tensor first elsewhere are left out.
    """
    groups: dict[int, list[Placement]] = {}
    for placement in space.placements:
        mask = _on_chip_mask(space, placement, boundary)
        if mask is not None:
            groups.setdefault(mask, []).append(placement)
    return groups


def _on_chip_mask(
    space: Mapspace, placement: Placement, boundary: Sequence[TensorPlace]
) -> int | None:
    """Return the exchanged tensors on chip, as bits; None if one is kept first elsewhere."""
    outermost = first_two_memories(space.flat)[0].name
    mask = 0
    for tensor in dict.fromkeys(place.tensor for place in boundary):
        place = TensorPlace(tensor, _first_memory_of(space, placement, tensor))
        if place in boundary:
            mask |= 1 << boundary.index(place)
        elif place.memory != outermost:
            return None
    return mask


def _first_memory_of(space: Mapspace, placement: Placement, tensor: str) -> str:
    """Return the outermost memory that keeps a tensor."""
    names = (name for name, tensors in placement.kept_tensors if tensor in tensors)
    return next(name for name in names if isinstance(space.problem.holder(name), Memory))


def _tensor_roles(exchanged: ExchangedTensors, einsum: Einsum) -> Hashable:
    """Return what matters about the exchanged tensors of an Einsum, without their names."""
    shareable = exchanged.shareable_variables(einsum)
    return tuple(
        (
            tensor in exchanged.contested,
            tensor in exchanged.tracked_tiles,
            tensor in exchanged.varied_windows,
            tuple(v in shareable[tensor] for v in einsum.bounds) if tensor in shareable else None,
            tuple(place.memory for place in exchanged.places_of_tensor(tensor))
            if tensor in shareable
            else (),
        )
        for tensor in einsum.tensors
    )


@dataclass(frozen=True, slots=True)
class BuilderScope:
    """Say which pmappings a table builder makes and what it counts.

    `fused`: fused loops, which Einsums may share, are made. `capacities`: bits of the memories in
    which tensors are exchanged, inf where no check is needed. `counts_latency`: latency is
    computed. `loops_per_variable`: most fused loops over one rank variable. `usage`: the memories
    whose usage counts. `prunes_by_latency`: latency rules out so much that computing lower bounds
    of it pays.
    """

    fused: bool
    capacities: tuple[float, ...]
    counts_latency: bool
    loops_per_variable: int = 1
    usage: CountedUsage = NO_USAGE
    prunes_by_latency: bool = False


@dataclass(frozen=True, slots=True)
class PmappingFilter:
    """Say which pmappings of an Einsum and a set of tensors on chip are made.

    `cost_limit`: most energy in joule and latency in second. `fused`: with fused loops, which other
    Einsums may share, or without any. `representatives`: of pmappings that agree in energy,
    capacity and lanes only one is made, which is faster; all that are made exist, but better ones
    may be missing. `beam`: of a tile shape only the partial mapping of least energy is kept at each
    step, which is much faster; again all that are made exist.
    """

    cost_limit: CostLimit
    fused: bool = True
    representatives: bool = False
    beam: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class OnChipChoice:
    """Choice of the exchanged tensors that one Einsum keeps on chip, and where.

    `fused_einsum`: the Einsum on the path to one compute. `mask`: bit i is set if the tensor stays
    at place i of the Einsum's boundary, the list of (tensor, memory) pairs.
    """

    fused_einsum: FusedEinsum
    mask: int

    @property
    def key(self) -> Hashable:
        """Key that is equal for choices which pose the same problem under other names.

        A choice is an Einsum with the set of its exchanged tensors that stay on chip.
        """
        return self.fused_einsum.key, self.mask

    @property
    def name(self) -> tuple[str, int, int]:
        """(name of the Einsum, number of its compute, exchanged tensors on chip as bits).

        The bits count over the (tensor, memory) pairs in which the Einsum's tensors may stay on
        chip.
        """
        return self.fused_einsum.einsum.name, self.fused_einsum.number, self.mask


class _CachedSolution(NamedTuple):
    """The pmappings of a choice up to a cost limit."""

    cost_limit: CostLimit
    solution: PmappingSolution


class LargestChoice(NamedTuple):
    """The choice of tensors on chip whose search made most partial mappings (labels).

    `labels`: how many; `all_labels`: those of all choices.
    """

    choice: OnChipChoice
    labels: int
    all_labels: int


class TableBuilder:
    """Build the tables of pmappings (mappings of one Einsum within the whole) of a workload.

    Einsums that differ in names only share one search. `exchanged`: which tensors may stay on chip.
    `scope`: what is made and counted. `budget`: limits; methods raise OutOfBudget where it ends.
    `cache`: compiled mapspaces of earlier searches of the same workload. `statistics`: what was
    looked at.
    """

    def __init__(
        self,
        exchanged: ExchangedTensors,
        scope: BuilderScope,
        budget: Budget,
        cache: PmappingCache,
    ) -> None:
        self._exchanged = exchanged
        self._scope = scope
        self._budget = budget
        self.cache = cache
        self._compulsory_costs: dict[Hashable, EnergyLatency] = {}
        self._solutions: dict[Hashable, _CachedSolution] = {}
        self._labels: dict[OnChipChoice, int] = {}
        self._seen: set[Hashable] = set()  # keys of Einsums
        self.statistics = SearchStatistics()

    @property
    def largest_choice(self) -> LargestChoice | None:
        """The choice of tensors on chip whose search was largest so far; None before any."""
        if not self._labels:
            return None
        choice = max(self._labels, key=lambda choice: self._labels[choice])
        return LargestChoice(choice, self._labels[choice], max(1, sum(self._labels.values())))

    def choices(self, fused: FusedEinsum) -> tuple[OnChipChoice, ...]:
        """Return which sets of its exchanged tensors an Einsum may keep on chip, and where.

        These are the sets that the memory rules of the architecture allow; some may turn out not to
        fit.
        """
        return tuple(OnChipChoice(fused, mask) for mask in sorted(fused.placements))

    def compulsory_costs(self, choice: OnChipChoice) -> EnergyLatency:
        """Return lower bounds of an Einsum's energy and latency that need no search.

        `choice`: the Einsum and its exchanged tensors on chip. In joule and second, of all
        instances: computing, and moving each tensor once (theory/lattice.md §6.3).
        """
        key = choice.key
        if key not in self._compulsory_costs:
            self._compulsory_costs[key] = choice.fused_einsum.compulsory_costs(choice.mask)
        return self._compulsory_costs[key]

    def start_bounds(self, choice: OnChipChoice) -> EnergyLatency:
        """Return the lower bounds of a choice's energy and latency at the start of its search.

        In joule and second, of all instances; inf: no mapping fits. They are higher than the
        compulsory costs, and need the templates to be compiled (theory/lattice.md §6.1). The
        latency is 0 where it is not counted. Raises OutOfBudget, and UnsupportedFeature for
        templates that cannot be modelled.
        """
        compiled, times = self._compiled(choice), choice.fused_einsum.einsum.n_instances
        energy, latency = compiled.start_bounds
        return energy * times, latency * times if self._counts_latency(compiled) else 0.0

    def least_costs(
        self, choice: OnChipChoice, pmapping_filter: PmappingFilter
    ) -> EnergyLatency | None:
        """Search one Einsum with a set of tensors on chip; return its least energy and latency.

        `choice`: the Einsum and its exchanged tensors on chip. `pmapping_filter`: which of its
        mappings are looked at. In joule and second, of all instances, each that of its own best
        mapping; None if the filter leaves none. The latency is 0 where it is not counted. Raises
        OutOfBudget, and UnsupportedFeature for templates that cannot be modelled.
        """
        blocks = self._solution(choice, pmapping_filter).blocks.values()
        costs_of_blocks = [block.values[:, :2].min(axis=0) for block in blocks if len(block.states)]
        if not costs_of_blocks:
            return None
        energy, latency = np.min(costs_of_blocks, axis=0).tolist()
        return energy, latency

    def table(self, choice: OnChipChoice, pmapping_filter: PmappingFilter) -> PmappingTable:
        """Search one Einsum with a set of tensors on chip; return the table of its mappings.

        `choice`: the Einsum and its exchanged tensors on chip. `pmapping_filter`: which of its
        mappings are made; the table has all of these that nothing beats in energy, latency and
        bits, and may have a few a little above the cost limit. Raises OutOfBudget, and
        UnsupportedFeature for templates that cannot be modelled.
        """
        solution = self._solution(choice, pmapping_filter)
        fused, exchanged = choice.fused_einsum, self._exchanged
        memories = *exchanged.memories, *exchanged.tolls
        names = exchanged.loop_names_of(fused.einsum)
        return named_table(solution, fused.space, fused.boundary, memories, names)

    def _solution(self, choice: OnChipChoice, pmapping_filter: PmappingFilter) -> PmappingSolution:
        """Return the solution of a choice up to the cost limit wanted, or a little above it."""
        key = choice.key, replace(pmapping_filter, cost_limit=CostLimit())
        cached = self._solutions.get(key)
        if cached is None or not cached.cost_limit.covers(pmapping_filter.cost_limit):
            limit = pmapping_filter.cost_limit.rounded
            solution = self._solve(choice, replace(pmapping_filter, cost_limit=limit))
            cached = self._solutions[key] = _CachedSolution(limit, solution)
        return cached.solution

    def _prepared(self, choice: OnChipChoice) -> PreparedChoice:
        cache = self.cache.prepared
        if choice.key not in cache:
            prepared = cache[choice.key] = self._prepare(choice)
            if choice.fused_einsum.key not in self._seen:
                self._seen.add(choice.fused_einsum.key)
                self._count(SearchStatistics(0, prepared.engine.lattice.size, solved=1))
        return cache[choice.key]

    def _compiled(self, choice: OnChipChoice) -> CompiledChoice:
        """Return the programs of a choice with lower bounds, as they are kept or made anew."""
        compiled = self.cache.compiled.get(choice.key)
        prunes = self._scope.prunes_by_latency
        if compiled is None or (prunes and not compiled.search.bounds_latency):
            return self._compile(choice, compiled)
        if not compiled.search.has_bounds:
            self.cache.make_room(compiled.search.nbytes)
            compiled.search.look_ahead(self._budget.check)
        return compiled

    def _compile(self, choice: OnChipChoice, known: CompiledChoice | None) -> CompiledChoice:
        """Compile a choice and compute its lower bounds; `known`: without those of latency."""
        prepared = self._prepared(choice)
        if known is None:
            programs = self._inner_programs(prepared)
            self._count(SearchStatistics(len(programs)))
        else:
            programs = known.search.inner_programs
            known.search.drop_bounds()
        metrics = self._metrics(prepared)
        prunes = self._scope.prunes_by_latency
        latency_terms = metrics.latency_terms() if prunes else NO_LATENCY_TERMS
        search = InnerSearch(prepared.engine, programs, prepared.rules, latency_terms)
        self.cache.make_room(search.nbytes)
        search.look_ahead(self._budget.check)
        compiled = CompiledChoice(prepared, metrics, search, search.start_bounds(metrics))
        self.cache.compiled[choice.key] = compiled
        return compiled

    def _counts_latency(self, compiled: CompiledChoice) -> bool:
        """Tell whether latency counts, because it is looked at or because something leaks."""
        return self._scope.counts_latency or bool(compiled.prepared.leaks)

    def _solve(self, choice: OnChipChoice, pmapping_filter: PmappingFilter) -> PmappingSolution:
        """Search the inner programs of a choice, and make its pmappings."""
        compiled = self._compiled(choice)
        prepared, search = compiled.prepared, compiled.search
        limit = pmapping_filter.cost_limit.scaled(
            (1 + NOISE) / choice.fused_einsum.einsum.n_instances
        )
        bound = compiled.metrics.pruning_limits(ENERGY, limit.energy, inf)
        if limit.latency < inf:
            bound = compiled.metrics.pruning_limits(LATENCY, limit.latency, limit.energy)
        labels_before = search.labels
        counts_latency = self._counts_latency(compiled)
        n_deciding = _n_deciding_fields(prepared.engine.fields, counts_latency, pmapping_filter)
        try:
            solved = search.solve(bound, self._budget, n_deciding)
        finally:
            made = search.labels - labels_before
            self._labels[choice] = self._labels.get(choice, 0) + made
            self._count(SearchStatistics(labels=made))
        rules = replace(prepared.rules, fused=pmapping_filter.fused, counts_latency=counts_latency)
        maker = PmappingMaker(prepared.engine, compiled.metrics, rules, limit, self._budget)
        blocks = maker.make(solved)
        backpointers = backpointers_of(solved, maker.origins(blocks))
        return PmappingSolution(
            prepared.space, prepared.engine, blocks, tuple(maker.sources), tuple(backpointers)
        )

    def _prepare(self, choice: OnChipChoice) -> PreparedChoice:
        """Enumerate the fused templates of a choice, and choose the fields of its labels."""
        fused, check = choice.fused_einsum, self._budget.check
        space, places = fused.space, frozenset(fused.boundary)
        leaks = leaks_of(space.flat, space.conventions)
        made = checked(space.each_template(fused.placements[choice.mask]), check)
        templates = tuple(checked(fused_templates(space, places, made), check))
        engine = LabelEngine(space.problem, self._fields(space, leaks, templates))
        return PreparedChoice(space, engine, leaks, self._region_rules(fused), templates)

    def _region_rules(self, fused: FusedEinsum) -> RegionRules:
        """Return the rules of the region, with latency counted."""
        exchanged, scope, space = self._exchanged, self._scope, fused.space
        private = (t for t in private_tensors(space) if not space.einsum.access(t).persistent)
        return RegionRules(
            exchanged.shareable_variables(fused.einsum),
            exchanged.contested,
            exchanged.tracked_tiles,
            exchanged.varied_windows,
            exchanged.shares_tiles,
            exchanged.memories,
            scope.capacities,
            True,
            scope.fused,
            scope.loops_per_variable,
            scope.usage.pmapping_memories,
            frozenset(private),
        )

    def _fields(
        self, space: Mapspace, leaks: tuple[Leak, ...], templates: Sequence[FusedTemplate]
    ) -> LabelFields:
        """Return the fields of labels, with used bits of memories that may be full or count."""
        scope, problem = self._scope, space.problem
        sizes = dict(zip(self._exchanged.memories, scope.capacities, strict=True))
        unlimited = {m for m, n in sizes.items() if n == inf and m not in scope.usage.exchange}
        on_path = {component.name for component in space.flat.components}
        shared = (set(sizes) & on_path) - unlimited if scope.fused else set()
        checked = self._budget.checking([template.template for template in templates])
        deferred = most_deferred(problem, label_fields(problem, leaks), checked)
        tracked = frozenset(scope.usage.private) | shared
        fields = label_fields(problem, leaks, tracked, deferred)
        used_bits = {m: field for m, field in fields.used_bits.items() if m not in unlimited}
        return replace(fields, used_bits=used_bits)

    def _metrics(self, prepared: PreparedChoice) -> LabelMetrics:
        templates = [fused.template for fused in prepared.templates]
        least_latency = compulsory_latency(prepared.space, templates)
        return LabelMetrics(
            prepared.space.problem, prepared.engine.fields, prepared.leaks, least_latency
        )

    def _inner_programs(self, prepared: PreparedChoice) -> Sequence[InnerProgram]:
        """Compile the templates of a choice."""
        space, shareable = prepared.space, prepared.rules.shareable
        variables = tuple(space.einsum.bounds) if self._scope.fused else ()
        programs: list[InnerProgram] = []
        for template in prepared.templates:
            self._budget.check()
            banned = banned_variables(space, template)
            places = [legal_places(v, template, shareable, banned) for v in variables]
            loop_places = tuple((v, gaps) for v, gaps in enumerate(places) if gaps)
            rules = SharingRules(loop_places, _spatial_variables(space, template, shareable))
            programs += inner_programs(space.problem, prepared.engine.fields, template, rules)
        return programs

    def _count(self, statistics: SearchStatistics) -> None:
        self.statistics = self.statistics.plus(statistics)


def _spatial_variables(
    space: Mapspace, template: FusedTemplate, shareable: Mapping[str, frozenset[str]]
) -> list[frozenset[str]]:
    """Return the variables that may be distributed right above each holder of the region.

    Those of loops that may stand above every tensor on chip below.
    """
    variables: list[frozenset[str]] = []
    allowed = frozenset(space.einsum.bounds)
    for holder in reversed(template.region):
        if holder.backing:
            allowed = allowed & shareable.get(holder.tensor, allowed)
        variables.insert(0, allowed)
    return variables


def _n_deciding_fields(
    fields: LabelFields, counts_latency: bool, pmapping_filter: PmappingFilter
) -> int:
    """Return the number of leading fields that decide between labels."""
    if pmapping_filter.beam:
        return 1
    if not counts_latency:
        return fields.n_energy_fields
    return fields.n_class_fields if pmapping_filter.representatives else fields.width
