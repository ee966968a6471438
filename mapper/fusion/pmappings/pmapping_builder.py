"""Make the tables of a workload; Einsums that differ in names only are solved once."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from tilewright.arch.components.components import Memory
from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.fusion.boundary.exchanged_tensors import ExchangedTensors, TensorPlace
from tilewright.mapper.fusion.boundary.usage_peaks import NO_USAGE, CountedUsage
from tilewright.mapper.fusion.join.cost_limit import CostLimit
from tilewright.mapper.fusion.pmappings.backpointers import backpointers_of
from tilewright.mapper.fusion.pmappings.fused_templates import (
    FusedTemplate,
    banned_variables,
    first_two_memories,
    fused_templates,
    private_tensors,
)
from tilewright.mapper.fusion.pmappings.inner_programs import (
    InnerProgram,
    SharingRules,
    inner_programs,
)
from tilewright.mapper.fusion.pmappings.inner_search import NO_PACES, InnerSearch, RegionRules
from tilewright.mapper.fusion.pmappings.pmapping_cache import (
    CompiledChoice,
    PmappingCache,
    PreparedEinsum,
)
from tilewright.mapper.fusion.pmappings.pmapping_table import (
    PmappingSolution,
    PmappingTable,
    named_table,
)
from tilewright.mapper.fusion.pmappings.pmappings import PmappingMaker, legal_places
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.budget import Budget
from tilewright.mapper.searches.exact.kernels import ENERGY, LATENCY
from tilewright.mapper.searches.exact.label_fields import LabelFields, label_fields
from tilewright.mapper.searches.exact.label_metrics import LabelMetrics
from tilewright.mapper.searches.exact.label_tables import LabelEngine
from tilewright.mapper.searches.exact.metric_terms import (
    compulsory_latency,
    leaks_of,
    refuse_unsupported,
)
from tilewright.mapper.searches.exact.placement_bound import least_costs
from tilewright.mapper.searches.identical_einsums import problem_signature
from tilewright.mapper.searches.program.program import most_deferred
from tilewright.mapper.searches.result import SearchStatistics
from tilewright.mapper.searches.search_errors import UnsupportedFeature
from tilewright.mapper.templates.placement import Placement
from tilewright.mapper.workload.einsum import Einsum

NOISE = 1e-9  # relative: sums of the same terms in another order


@dataclass(frozen=True, eq=False, slots=True)
class FusedEinsum:
    """One Einsum on the way to one of its computes: the `number`-th.

    `key`: equal for runs that pose the same problem under other names. `placements`: by the
    exchanged tensors that they keep on chip, as bits of `boundary`.
    """

    space: Mapspace
    number: int
    boundary: tuple[TensorPlace, ...]
    key: Hashable
    placements: Mapping[int, Sequence[Placement]]

    @property
    def einsum(self) -> Einsum:
        """The Einsum."""
        return self.space.einsum

    def compulsory_costs(self, mask: int) -> tuple[float, float]:
        """Return joule and second that computing and moving each tensor once takes at least."""
        energy, latency = least_costs(self.space, self.placements[mask])
        return energy * self.einsum.n_instances, latency * self.einsum.n_instances


def fused_einsum(
    boundaries: ExchangedTensors,
    conventions: str,
    flat: FlatArch,
    place: tuple[Einsum, int],
    crowded: frozenset[str] = frozenset(),
) -> FusedEinsum:
    """Prepare a run of `place` = (Einsum, number of the compute); `crowded`: see Mapspace."""
    einsum, number = place
    own = frozenset(einsum.tensors)
    backed = own & boundaries.outermost_only
    space = Mapspace(
        einsum, flat, conventions, backed, crowded=crowded, exchanged=own & boundaries.exchangeable,
        lists_lane_choices=True,
    )  # fmt: skip
    refuse_unsupported(space.problem, networks=True)
    boundary = boundaries.places_of_einsum(einsum)
    key = problem_signature(space), einsum.n_instances, _tensor_roles(boundaries, einsum)
    return FusedEinsum(space, number, boundary, key, _placements_by_mask(space, boundary))


def refuse_unkept_tensors(outer: str, runs: Iterable[FusedEinsum]) -> None:
    """Refuse a small outermost memory that need not have what no other Einsum uses: what it has is
    known by the tensors that Einsums exchange."""
    for run in runs:
        for placement in (one for several in run.placements.values() for one in several):
            left = private_tensors(run.space) - frozenset(dict(placement.kept).get(outer, ()))
            if left:
                raise UnsupportedFeature(
                    f"{outer} may be too small, and need not keep {', '.join(sorted(left))}",
                    instead="search without fusion",
                )


def _placements_by_mask(
    space: Mapspace, boundary: Sequence[TensorPlace]
) -> Mapping[int, Sequence[Placement]]:
    """Group the placements by what they keep on chip; none keeps an exchanged tensor elsewhere."""
    outer = first_two_memories(space.flat)[0].name
    found: dict[int, list[Placement]] = {}
    for placement in space.placements:
        mask = 0
        for tensor in dict.fromkeys(place.tensor for place in boundary):
            holders = [
                space.problem.holder(name) for name, kept in placement.kept if tensor in kept
            ]
            first = next(holder.name for holder in holders if isinstance(holder, Memory))
            if first != outer and TensorPlace(tensor, first) not in boundary:
                break
            mask |= sum(1 << i for i, place in enumerate(boundary) if place == (tensor, first))
        else:
            found.setdefault(mask, []).append(placement)
    return found


def _tensor_roles(boundaries: ExchangedTensors, einsum: Einsum) -> Hashable:
    """Return what the boundaries say about the Einsum, without the names of tensors."""
    carried, contested = boundaries.shareable_variables(einsum), boundaries.contested
    return tuple(
        (
            tensor in contested,
            tensor in boundaries.tracked_tiles,
            tensor in boundaries.varied_windows,
            tuple(v in carried[tensor] for v in einsum.bounds) if tensor in carried else None,
            tuple(place.memory for place in boundaries.places_of_tensor(tensor))
            if tensor in carried
            else (),
        )
        for tensor in einsum.tensors
    )


@dataclass(frozen=True, slots=True)
class BuilderScope:
    """Which mappings a maker looks at.

    `fused`: Einsums may share loops; `capacities`: bits of the memories that tensors are exchanged
    in; `timed`: latency counts; `hurried`: it rules out so much that bounds of it pay
    (latency_bound.py);
    `repeats`: how many shared loops a variable may have; `usage`: of which memories it counts.
    """

    fused: bool
    capacities: tuple[float, ...]
    counts_latency: bool
    loops_per_variable: int = 1
    usage: CountedUsage = NO_USAGE
    prunes_by_latency: bool = False


@dataclass(frozen=True, slots=True)
class PmappingFilter:
    """Which rows of a choice are made: those that cost no more than `most`.

    `fused`: with shared loops, too; `few`: of those that agree in energy, room and lanes only one
    (as in fronts/label_sweep.py): all are there, but others may do better.
    """

    cost_limit: CostLimit
    fused: bool = True
    representatives: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class OnChipChoice:
    """The mappings of a run that keep one set of its exchanged tensors on chip: bits of `mask`."""

    fused_einsum: FusedEinsum
    mask: int

    @property
    def key(self) -> Hashable:
        """Equal for choices that pose the same problem under other names."""
        return self.fused_einsum.key, self.mask

    @property
    def name(self) -> tuple[str, int, int]:
        """The Einsum, the number of the compute, and the mask."""
        return self.fused_einsum.einsum.name, self.fused_einsum.number, self.mask


class TableBuilder:
    """Makes the tables of a workload; Einsums that differ in names only are solved once."""

    def __init__(
        self,
        boundaries: ExchangedTensors,
        scope: BuilderScope,
        budget: Budget,
        shelf: PmappingCache,
    ):
        self._exchanged = boundaries
        self._scope = scope
        self._budget = budget
        self.cache = shelf
        self._compulsory_costs: dict[Hashable, tuple[float, float]] = {}
        self._solutions: dict[Hashable, tuple[CostLimit, PmappingSolution]] = {}
        self.statistics = SearchStatistics()

    def choices(self, run: FusedEinsum) -> tuple[OnChipChoice, ...]:
        """Return the sets of tensors that `run` may keep on chip; some may turn out not to fit."""
        return tuple(OnChipChoice(run, mask) for mask in sorted(run.placements))

    def compulsory_costs(self, choice: OnChipChoice) -> tuple[float, float]:
        """Return bounds of energy and latency that need no templates."""
        key = choice.key
        if key not in self._compulsory_costs:
            self._compulsory_costs[key] = choice.fused_einsum.compulsory_costs(choice.mask)
        return self._compulsory_costs[key]

    def start_bounds(self, choice: OnChipChoice) -> tuple[float, float]:
        """Return a bound of the energy and of the latency; inf: nothing fits."""
        opened, times = self._compiled(choice), choice.fused_einsum.einsum.n_instances
        energy, latency = opened.start_bounds
        return energy * times, latency * times if self._counts_latency(opened) else 0.0

    def least_costs(
        self, choice: OnChipChoice, wanted: PmappingFilter
    ) -> tuple[float, float] | None:
        """Return the least energy and latency of the rows; None: there is no such row."""
        blocks = self._solution(choice, wanted).blocks.values()
        least = [block.values[:, :2].min(axis=0) for block in blocks if len(block.states)]
        if not least:
            return None
        energy, latency = np.min(least, axis=0).tolist()
        return energy, latency

    def table(self, choice: OnChipChoice, wanted: PmappingFilter) -> PmappingTable:
        """Return the rows of `choice`.

        UnsupportedFeature for what it cannot model; OutOfBudget.
        """
        solution = self._solution(choice, wanted)
        run = choice.fused_einsum
        names = self._exchanged.loop_names_of(run.einsum)
        where = run.boundary, (*self._exchanged.memories, *self._exchanged.tolls)
        return named_table(solution, run.space, where, names)

    def _solution(self, choice: OnChipChoice, wanted: PmappingFilter) -> PmappingSolution:
        key = choice.key, wanted.fused, wanted.representatives
        known = self._solutions.get(key)
        if known is None or not known[0].covers(wanted.cost_limit):
            most = wanted.cost_limit.rounded
            solved = self._solve(choice, replace(wanted, cost_limit=most))
            known = self._solutions[key] = most, solved
        return known[1]

    def _prepared(self, run: FusedEinsum) -> PreparedEinsum:
        known = self.cache.prepared
        if run.key not in known:
            made = known[run.key] = self._prepare(run)
            self.statistics = self.statistics.plus(
                SearchStatistics(0, made.engine.lattice.size, solved=1)
            )
        return known[run.key]

    def _compiled(self, choice: OnChipChoice) -> CompiledChoice:
        known = self.cache.compiled.get(choice.key)
        if known is not None and (known.search.bounds_latency or not self._scope.prunes_by_latency):
            return known
        ready = self._prepared(choice.fused_einsum)
        compiled = (
            self._inner_programs(choice, ready) if known is None else known.search.inner_programs
        )
        self.statistics = self.statistics.plus(SearchStatistics(len(compiled)))
        metrics = self._metrics(choice, ready)
        paces = metrics.latency_terms() if self._scope.prunes_by_latency else NO_PACES
        search = InnerSearch(ready.engine, compiled, ready.rules, paces)
        self.cache.make_room(search.nbytes, choice.key)
        search.look_ahead(self._budget.check)
        made = CompiledChoice(ready, metrics, search, search.start_bounds(metrics))
        self.cache.compiled[choice.key] = made
        return made

    def _counts_latency(self, opened: CompiledChoice) -> bool:
        """Tell whether latency counts, because it is looked at or because something leaks."""
        return self._scope.counts_latency or bool(opened.prepared.leaks)

    def _solve(self, choice: OnChipChoice, wanted: PmappingFilter) -> PmappingSolution:
        opened, allowance = self._compiled(choice), wanted.cost_limit
        ready, lower = opened.prepared, opened.search
        share = (1 + NOISE) / choice.fused_einsum.einsum.n_instances
        most = CostLimit(allowance.energy * share, allowance.latency * share)
        bound = opened.metrics.pruning_limits(ENERGY, most.energy, inf)
        if most.latency < inf:
            bound = opened.metrics.pruning_limits(LATENCY, most.latency, most.energy)
        before = lower.labels
        timed = self._counts_latency(opened)
        solved = lower.solve(
            bound, self._budget, _n_deciding_fields(ready.engine.fields, timed, wanted)
        )
        self.statistics = self.statistics.plus(SearchStatistics(labels=lower.labels - before))
        rules = replace(ready.rules, fused=wanted.fused, counts_latency=timed)
        maker = PmappingMaker(ready.engine, opened.metrics, rules, most, self._budget)
        blocks = maker.make(solved)
        origins = maker.origins(blocks)
        return PmappingSolution(
            ready.space,
            ready.engine,
            blocks,
            tuple(maker.sources),
            tuple(backpointers_of(solved, origins)),
        )

    def _prepare(self, run: FusedEinsum) -> PreparedEinsum:
        space, scope = run.space, self._scope
        leaks = leaks_of(space.flat, space.conventions)
        sizes = dict(zip(self._exchanged.memories, scope.capacities, strict=True))
        space.templates_within(self._budget.check)
        found: dict[int, list[FusedTemplate]] = {}
        for layout in fused_templates(space, frozenset(run.boundary)):
            self._budget.check()
            mask = sum(1 << i for i, place in enumerate(run.boundary) if place in layout.on_chip)
            found.setdefault(mask, []).append(layout)
        rules = RegionRules(
            self._exchanged.shareable_variables(run.einsum),
            self._exchanged.contested,
            self._exchanged.tracked_tiles,
            self._exchanged.varied_windows,
            self._exchanged.shares_tiles,
            tuple(sizes),
            scope.capacities,
            True,
            scope.fused,
            scope.loops_per_variable,
            scope.usage.pmapping_memories,
            frozenset(t for t in private_tensors(space) if not space.einsum.access(t).persistent),
        )
        chosen = {mask: tuple(several) for mask, several in found.items()}
        templates = [layout.template for several in found.values() for layout in several]
        owed = most_deferred(
            space.problem, label_fields(space.problem, leaks), self._budget.checking(templates)
        )
        roomy = {m for m, size in sizes.items() if size == inf and m not in scope.usage.exchange}
        path = {component.name for component in space.flat.components}
        shared = (set(sizes) & path) - roomy if scope.fused else set()
        kept = label_fields(space.problem, leaks, frozenset(scope.usage.private) | shared, owed)
        kept = replace(kept, used_bits={m: f for m, f in kept.used_bits.items() if m not in roomy})
        return PreparedEinsum(space, LabelEngine(space.problem, kept), leaks, rules, chosen)

    def _metrics(self, choice: OnChipChoice, ready: PreparedEinsum) -> LabelMetrics:
        templates = [layout.template for layout in ready.templates.get(choice.mask, ())]
        least = compulsory_latency(ready.space, templates)
        return LabelMetrics(ready.space.problem, ready.engine.fields, ready.leaks, least)

    def _inner_programs(self, choice: OnChipChoice, ready: PreparedEinsum) -> list[InnerProgram]:
        space, rules = ready.space, ready.rules
        names = tuple(space.einsum.bounds) if self._scope.fused else ()
        found: list[InnerProgram] = []
        for layout in ready.templates.get(choice.mask, ()):
            self._budget.check()
            banned = banned_variables(space, layout)
            places = [legal_places(name, layout, rules.shareable, banned) for name in names]
            legal = tuple((v, gaps) for v, gaps in enumerate(places) if gaps)
            carried = SharingRules(legal, _spatial_variables(space, layout, rules.shareable))
            found += inner_programs(space.problem, ready.engine.fields, layout, carried)
        return found


def _spatial_variables(
    space: Mapspace, layout: FusedTemplate, carried: Mapping[str, frozenset[str]]
) -> list[frozenset[str]]:
    """Return the variables that lanes may deal out right above each holder of the region: those of
    loops that may stand above every tensor on chip below."""
    found: list[frozenset[str]] = []
    left = frozenset(space.einsum.bounds)
    for holder in reversed(layout.region):
        left = left & carried.get(holder.tensor, left) if holder.backing else left
        found.insert(0, left)
    return found


def _n_deciding_fields(fields: LabelFields, timed: bool, wanted: PmappingFilter) -> int:
    """Return the number of leading fields that decide between labels."""
    if not timed:
        return fields.n_energy_fields
    return fields.n_class_fields if wanted.representatives else fields.width
