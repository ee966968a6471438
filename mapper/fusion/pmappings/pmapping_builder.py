"""Build the pmapping tables of a workload.

Einsums that pose the same problem under other names share one solution.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from math import inf
from typing import NamedTuple

from tilewright.mapper.fusion.bounds.cost_limit import CostLimit, EnergyLatency
from tilewright.mapper.fusion.choice_programs import ChoiceRules, choice_programs
from tilewright.mapper.fusion.fused_einsum import FusedEinsum
from tilewright.mapper.fusion.fused_problem import FusedProblem
from tilewright.mapper.fusion.pmappings.backpointers import backpointers_of
from tilewright.mapper.fusion.pmappings.fused_templates import private_tensors
from tilewright.mapper.fusion.pmappings.inner_search import (
    NO_LATENCY_TERMS,
    InnerSearch,
    SolvedProgram,
)
from tilewright.mapper.fusion.pmappings.on_chip_choice import (
    LargestChoice,
    OnChipChoice,
    PmappingFilter,
)
from tilewright.mapper.fusion.pmappings.pmapping_cache import (
    CompiledChoice,
    PmappingCache,
    PreparedChoice,
    RecentSearches,
)
from tilewright.mapper.fusion.pmappings.pmapping_table import (
    PmappingSolution,
    PmappingTable,
    named_table,
)
from tilewright.mapper.fusion.pmappings.pmappings import PmappingMaker
from tilewright.mapper.fusion.pmappings.region.region_rules import RegionRules
from tilewright.mapper.searches.budget import Budget
from tilewright.mapper.searches.exact.kernels import ENERGY, LATENCY, Floats
from tilewright.mapper.searches.exact.label_fields import LabelFields
from tilewright.mapper.searches.exact.label_metrics import LabelMetrics
from tilewright.mapper.searches.exact.label_tables import LabelEngine
from tilewright.mapper.searches.exact.metric_terms import leaks_of, seconds_of_first_moves
from tilewright.mapper.searches.result import SearchStatistics

LEAKS_MUCH = 0.1  # of the least energy: leakage that makes the number of lanes decide
FAST_SLACKS = (0.1, 1.0)  # above the least latency, relative: of a beam where leakage is much
NOISE = 1e-9  # relative: sums of the same terms in another order


class _CachedSolution(NamedTuple):
    """The pmappings of a choice, and the cost limit up to which they are complete."""

    cost_limit: CostLimit
    solution: PmappingSolution


class TableBuilder:
    """Build the tables of pmappings (mappings of one Einsum within the whole) of a workload.

    Einsums that differ in names only share one search. `problem`: which tensors may stay on chip,
    and what counts. `budget`: limits; methods raise OutOfBudget where it ends.
    `cache`: compiled mapspaces of earlier searches of the same workload. `statistics`: what was
    looked at. `pmappings`: how many were made and compared.
    """

    def __init__(self, problem: FusedProblem, budget: Budget, cache: PmappingCache) -> None:
        self._problem = problem
        self._exchanged = problem.exchanged
        self._budget = budget
        self.cache = cache
        self._compulsory_costs: dict[Hashable, EnergyLatency] = {}
        self._solutions: dict[Hashable, _CachedSolution] = {}
        self._placement_groups: dict[Hashable, Sequence[tuple[int, ...]]] = {}
        self._labels: dict[OnChipChoice, int] = {}
        self._seen: set[Hashable] = set()  # keys of Einsums
        self.statistics = SearchStatistics()
        self.pmappings = 0
        self._recent = RecentSearches()

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
        fit. A set of many placements may come as several choices, the cheapest first.
        """
        return tuple(
            OnChipChoice(fused, mask, group)
            for mask in sorted(fused.placements)
            for group in self._groups(fused, mask)
        )

    def _groups(self, fused: FusedEinsum, mask: int) -> Sequence[tuple[int, ...]]:
        key = fused.key, mask
        if key not in self._placement_groups:
            self._placement_groups[key] = fused.placement_groups(mask, self._problem.by_cost)
        return self._placement_groups[key]

    def compulsory_costs(self, choice: OnChipChoice) -> EnergyLatency:
        """Return lower bounds of an Einsum's energy and latency that need no search.

        `choice`: the Einsum and its exchanged tensors on chip. In joule and second, of all
        instances: computing, and moving each tensor once (theory/lattice.md §6.3).
        """
        key = choice.key_alone
        self._budget.check_stop()
        if key not in self._compulsory_costs:
            self._compulsory_costs[key] = choice.fused_einsum.compulsory_costs(choice.placements)
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

    def leaks_much(self, choice: OnChipChoice) -> bool:
        """Tell whether leakage is a large part of an Einsum's energy, so that few lanes cost much.

        `choice`: the Einsum and its exchanged tensors on chip.
        """
        return _leaks_much(self._compiled(choice))

    def least_cost(
        self, choice: OnChipChoice, pmapping_filter: PmappingFilter, metric: int
    ) -> float:
        """Search one Einsum with a set of tensors on chip; return its least energy or latency.

        `choice`: the Einsum and its exchanged tensors on chip. `pmapping_filter`: which of its
        mappings are looked at. `metric`: 0 energy in joule, 1 latency in second, of all instances;
        inf if the filter leaves no mapping. The latency is 0 where it is not counted. Raises
        OutOfBudget, and UnsupportedFeature for templates that cannot be modelled.
        """
        limit = pmapping_filter.cost_limit.rounded
        maker, solved = self._solved_programs(choice, replace(pmapping_filter, cost_limit=limit))
        return maker.least_cost(solved, metric)

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

    def forget_searches(self) -> None:
        """Drop the labels kept of recent searches of one Einsum for equal Einsums."""
        self._recent.clear()

    def _solution(self, choice: OnChipChoice, pmapping_filter: PmappingFilter) -> PmappingSolution:
        """Return the pmappings of a choice up to the cost limit wanted, or a little above it."""
        key = choice.key, replace(pmapping_filter, cost_limit=CostLimit())
        cached = self._solutions.get(key)
        if cached is None or not cached.cost_limit.covers(pmapping_filter.cost_limit):
            limit = pmapping_filter.cost_limit.rounded
            solution = self._solve(choice, replace(pmapping_filter, cost_limit=limit))
            cached = self._solutions[key] = _CachedSolution(limit, solution)
        return cached.solution

    def _prepared(self, choice: OnChipChoice) -> PreparedChoice:
        cache = self.cache.prepared
        key, alone = choice.key_alone, choice.fused_einsum.key_alone
        if key not in cache:
            prepared = cache[key] = self._prepare(choice)
            if alone not in self._seen:
                self._seen.add(alone)
                self._count(SearchStatistics(0, prepared.engine.lattice.size, solved=1))
        return cache[key]

    def _compiled(self, choice: OnChipChoice) -> CompiledChoice:
        """Return a choice's compiled programs with lower bounds, from the cache or made now."""
        compiled = self.cache.compiled.get(choice.key_alone)
        prunes = self._problem.prunes_by_latency
        if compiled is None or (prunes and not compiled.search.bounds_latency):
            return self._compile(choice, compiled)
        if not compiled.search.has_bounds:
            self.cache.make_room(compiled.search.nbytes)
            compiled.search.look_ahead(self._budget.check)
        return compiled

    def _compile(self, choice: OnChipChoice, known: CompiledChoice | None) -> CompiledChoice:
        """Compile a choice and compute its lower bounds.

        `known`: the same choice compiled before without bounds of latency, None if there is none.
        """
        prepared = self._prepared(choice)
        if known is None:
            self._count(SearchStatistics(len(prepared.programs.tree.inner_programs)))
        metrics = self._metrics(prepared)
        prunes = self._problem.prunes_by_latency
        latency_terms = metrics.latency_terms() if prunes else NO_LATENCY_TERMS
        inner = prepared.programs.tree
        timeless = None if known is None else known.search
        search = InnerSearch(prepared.engine, inner, prepared.rules, latency_terms, timeless)
        if known is not None:
            known.search.drop_bounds()
        self.cache.make_room(search.nbytes)
        search.look_ahead(self._budget.check)
        compiled = CompiledChoice(prepared, metrics, search, search.start_bounds(metrics))
        self.cache.compiled[choice.key_alone] = compiled
        return compiled

    def _counts_latency(self, compiled: CompiledChoice) -> bool:
        """Tell whether latency is computed: the objective needs it, or some component leaks."""
        return self._problem.counts_latency or bool(compiled.prepared.leaks)

    def _solve(self, choice: OnChipChoice, pmapping_filter: PmappingFilter) -> PmappingSolution:
        """Run the inner programs of a choice, and make its pmappings."""
        maker, solved = self._solved_programs(choice, pmapping_filter)
        blocks = maker.make(solved)
        self.pmappings += maker.compared
        backpointers = backpointers_of(solved, maker.origins(blocks))
        prepared = self._compiled(choice).prepared
        return PmappingSolution(
            prepared.space, prepared.engine, blocks, tuple(maker.sources), tuple(backpointers)
        )

    def _solved_programs(
        self, choice: OnChipChoice, pmapping_filter: PmappingFilter
    ) -> tuple[PmappingMaker, Sequence[SolvedProgram]]:
        """Run the inner programs of a choice.

        Return them with their labels, and a maker of pmappings.
        """
        compiled = self._compiled(choice)
        prepared, search = compiled.prepared, compiled.search
        limit = pmapping_filter.cost_limit.scaled(
            (1 + NOISE) / choice.fused_einsum.einsum.n_instances
        )
        bound = compiled.metrics.pruning_limits(ENERGY, limit.energy, inf)
        if limit.latency < inf:
            bound = compiled.metrics.pruning_limits(LATENCY, limit.latency, limit.energy)
        fast = _fast_limits(compiled, limit) if pmapping_filter.beam else []
        labels_before = search.labels
        counts_latency = self._counts_latency(compiled)
        n_deciding = _n_deciding_fields(prepared.engine.fields, counts_latency, pmapping_filter)
        key = choice.key_alone, n_deciding, tuple(each.tobytes() for each in (*fast, bound))
        solved = self._recent.get(key)
        try:
            if not solved:  # with a beam, each limit may lead to the cheapest mapping
                solved = [p for each in fast for p in search.solve(each, self._budget, n_deciding)]
            solved = solved or search.solve(bound, self._budget, n_deciding)
        finally:
            made = search.labels - labels_before
            self._labels[choice] = self._labels.get(choice, 0) + made
            self._count(SearchStatistics(labels=made))
        self._recent.keep(key, solved)
        rules = replace(
            prepared.rules,
            contested=_renamed(choice, prepared, self._exchanged.contested),
            tracked_tiles=_renamed(choice, prepared, self._exchanged.tracked_tiles),
            fused=pmapping_filter.fused,
            counts_latency=counts_latency,
            agreed=pmapping_filter.agreed,
        )
        return PmappingMaker(prepared.engine, compiled.metrics, rules, limit, self._budget), solved

    def _prepare(self, choice: OnChipChoice) -> PreparedChoice:
        """Compile the fused templates of a choice, with the fields that its labels need."""
        fused, problem = choice.fused_einsum, self._problem
        space = fused.space
        leaks, rules = leaks_of(space.flat, space.conventions), self._region_rules(fused)
        sizes = dict(zip(self._exchanged.memories, problem.capacities, strict=True))
        unlimited = {m for m, n in sizes.items() if n == inf and m not in problem.usage.exchange}
        on_path = {component.name for component in space.flat.components}
        shared = (set(sizes) & on_path) - unlimited if problem.counts_capacity else set()
        programs = choice_programs(
            ChoiceRules(
                fused,
                choice.placements,
                rules.shareable,
                problem.counts_capacity,
                frozenset(problem.usage.private) | shared,
                frozenset(unlimited),
                leaks,
            ),
            self._budget,
        )
        engine = LabelEngine(space.problem, programs.fields)
        return PreparedChoice(space, engine, leaks, rules, programs)

    def _region_rules(self, fused: FusedEinsum) -> RegionRules:
        """Return the rules of the region for an Einsum, with latency counted."""
        exchanged, problem, space = self._exchanged, self._problem, fused.space
        private = (t for t in private_tensors(space) if not space.einsum.access(t).persistent)
        return RegionRules(
            exchanged.shareable_variables(fused.einsum),
            exchanged.contested,
            exchanged.tracked_tiles,
            exchanged.varied_windows,
            exchanged.shares_tiles,
            exchanged.memories,
            problem.capacities,
            True,
            problem.counts_capacity,
            problem.loops_per_variable,
            problem.usage.pmapping_memories,
            frozenset(private),
        )

    def _metrics(self, prepared: PreparedChoice) -> LabelMetrics:
        tops = prepared.programs.backing_holders
        least_latency = seconds_of_first_moves(prepared.space, tops)
        return LabelMetrics(
            prepared.space.problem, prepared.engine.fields, prepared.leaks, least_latency
        )

    def _count(self, statistics: SearchStatistics) -> None:
        self.statistics = self.statistics.plus(statistics)


def _fast_limits(compiled: CompiledChoice, limit: CostLimit) -> list[Floats]:
    """Return pruning limits with little latency to try first, where leakage is much of the energy.

    Without them, many labels of least dynamic energy use few lanes, take long, and leak a multiple.
    """
    most = [compiled.start_bounds[1] * (1 + slack) for slack in FAST_SLACKS]
    return [
        compiled.metrics.pruning_limits(LATENCY, min(limit.latency, latency), limit.energy)
        for latency in (most if _leaks_much(compiled) else ())
    ]


def _leaks_much(compiled: CompiledChoice) -> bool:
    energy, latency = compiled.start_bounds
    return compiled.metrics.steady_watts * latency >= LEAKS_MUCH * energy


def _renamed(
    choice: OnChipChoice, prepared: PreparedChoice, tensors: frozenset[str]
) -> frozenset[str]:
    """Return those of `tensors` that a choice uses, in the names of the prepared equal choice."""
    pairs = zip(choice.fused_einsum.einsum.tensors, prepared.space.einsum.tensors, strict=True)
    return frozenset(name for tensor, name in pairs if tensor in tensors)


def _n_deciding_fields(
    fields: LabelFields, counts_latency: bool, pmapping_filter: PmappingFilter
) -> int:
    """Return in how many leading fields a label must be no worse than another to replace it.

    With a beam one (energy); else the fields of energy, or all if latency counts.
    """
    if pmapping_filter.beam:
        return 1
    return fields.width if counts_latency else fields.n_energy_fields
