"""Search a whole workload; pmappings that cost too much are never made.

1. The first mapping keeps nothing on chip between Einsums: each Einsum is at its best alone.
2. What each Einsum costs at least, alone, with each choice of tensors on chip, bounds what it
   leaves to all others. Choices that agree add up to a lower bound (exchange_choice_bounds.py).
3. Pmappings that cost more than a limit leaves to them, when all other Einsums cost their least,
   cannot matter below that limit. The limit is raised from the lower bound on, until a mapping lies
   below it: then none is better (theory/fusion.md §6.2). At each limit mappings without shared
   loops come first: there are few, and one that meets the lower bound ends the search.

With endless capacity in the second memory no shared loop pays. A loop right below the lowest tensor
on chip costs no more than the same loop above it, which only needs more capacity. Then no shared
loops are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import NamedTuple

from tilewright.mapper.fusion.boundary.exchanged_tensors import TensorPlace
from tilewright.mapper.fusion.bounds.cost_limit import NEVER, CostLimit, EnergyLatency
from tilewright.mapper.fusion.bounds.exchange_choice_bounds import EinsumBounds
from tilewright.mapper.fusion.bounds.rising_limit import RisingLimit
from tilewright.mapper.fusion.copies.fused_copies import CopyTable
from tilewright.mapper.fusion.fused_einsum import LARGE, FusedEinsum
from tilewright.mapper.fusion.fused_problem import OBJECTIVE_VALUES, FusedProblem, ValueFunction
from tilewright.mapper.fusion.groups.fusion_groups import JoinedMapping, is_divisible, joined
from tilewright.mapper.fusion.groups.greedy_start import GreedyStart, PartLimits
from tilewright.mapper.fusion.groups.window_search import WindowLimits, WindowSearch
from tilewright.mapper.fusion.groups.windows import window_ends
from tilewright.mapper.fusion.join.compatibility_graph import (
    CompatibilityGraph,
    JoinLimits,
)
from tilewright.mapper.fusion.join.graph_builder import GraphBuilder
from tilewright.mapper.fusion.join.join_steps import JoinStep
from tilewright.mapper.fusion.join.label_columns import LabelColumns
from tilewright.mapper.fusion.join.label_deepening import LabelDeepening
from tilewright.mapper.fusion.join.label_pass import WholeLabel
from tilewright.mapper.fusion.pmappings.pmapping_builder import (
    BuilderScope,
    ChoiceName,
    LargestChoice,
    OnChipChoice,
    PmappingFilter,
    TableBuilder,
)
from tilewright.mapper.fusion.pmappings.pmapping_cache import PmappingCache
from tilewright.mapper.searches.budget import Budget, EndReason, OutOfBudget
from tilewright.mapper.searches.result import Report, SearchStatistics, no_report

SECOND_STEP = 0.01  # of a limit, relative to the lower bound; a table grows fast with the limit
EQUAL = 1e-12  # relative: values that differ by less count as equal
CLOSE = 0.15  # of a mapping above the lower bound, relative: then none is looked for in windows
MANY_EINSUMS = 4
FEW_TEMPLATES = 180  # of all different Einsums, each with one choice on chip, to start with
LEAST_TEMPLATES, MOST_TEMPLATES = 4, 60  # of an Einsum and a choice of tensors on chip
NARROWED_SHARE = 0.6  # of the budget, for a search with few placements
FEW_LABELS = 1_000_000  # that a search with few placements may keep at a time
BEAM_SHARES = (0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.45, 0.7, 1.0, 2.0, 8.0)
BEAM_SLACK = 1.0  # of an Einsum above its least cost, relative
TINY, HUGE = 1e-300, 1e300


@dataclass(frozen=True, slots=True)
class JoinResult:
    """Outcome of a search of the workload for a fused mapping.

    `label`: the best mapping, as chosen mappings of the Einsums with energy, latency and usages;
    None if none was found. `steps`: the tables that its numbers refer to. `lower_bound`: no mapping
    has a lower value of the objective. `least_costs`: lower bounds of energy in joule and latency
    in second. `ended`: what ended the search before the best was proven, None if nothing did.
    `largest`: the choice of tensors on chip with most work.
    """

    label: WholeLabel | None
    steps: tuple[JoinStep, ...] | None
    lower_bound: float
    least_costs: EnergyLatency
    ended: EndReason | None
    largest: LargestChoice | None = None

    @property
    def exhausted(self) -> bool:
        """Whether the search ended before the best mapping was proven."""
        return self.ended is not None


class _Pass(NamedTuple):
    """Which mappings are looked at: with shared loops, and only with few pmappings."""

    fused: bool
    representatives: bool


def _keeps_nothing_on_chip(choice: OnChipChoice) -> bool:
    return choice.mask == 0


def _unfused(
    limits: Sequence[Mapping[OnChipChoice, CostLimit]],
) -> list[dict[OnChipChoice, CostLimit]]:
    """Return the limits of choices that keep nothing on chip."""
    return [
        {choice: limit for choice, limit in of_einsum.items() if choice.mask == 0}
        for of_einsum in limits
    ]


class JoinSearch:
    """Search one workload for the mapping with the least value of its objective.

    The limit on the value is raised from a lower bound on; pmappings (mappings of one Einsum) that
    cost more than the limit leaves to their Einsum are never made (theory/fusion.md §6.2).
    `problem`: the workload and the objective. `budget`: limits. `report`: called with the best
    value and the lower bound. `seed`: a result of another search, to start from, whose lower bounds
    of energy and latency hold here, too. `cache`: compiled mapspaces of other searches of the same
    workload.
    """

    def __init__(
        self,
        problem: FusedProblem,
        budget: Budget,
        report: Report = no_report,
        seed: JoinResult | None = None,
        cache: PmappingCache | None = None,
    ) -> None:
        self.problem = problem
        self._budget, self._report = budget, report
        self.cache = cache or PmappingCache()
        self._best: JoinedMapping | None = None
        if seed is not None and seed.label is not None and seed.steps is not None:
            self._best = JoinedMapping(seed.label, seed.steps)
        self._narrowed: JoinSearch | None = None
        self._started_by_beam = False
        self._bounds: EinsumBounds | None = None
        self._lower_bound = 0.0
        self._known_least = (0.0, 0.0) if seed is None else seed.least_costs
        self._least_costs = (0.0, 0.0)
        self._labels = 0
        minimizes_energy, breaks_ties = problem.objective == "energy", problem.ties is not None
        scope = BuilderScope(
            problem.counts_capacity,
            problem.capacities,
            counts_latency=not minimizes_energy or breaks_ties,
            loops_per_variable=problem.loops_per_variable,
            usage=problem.usage,
            prunes_by_latency=not minimizes_energy and not breaks_ties,
            by_cost=problem.by_cost,
        )
        self._builder = TableBuilder(problem.exchanged, scope, budget, self.cache)
        self._graphs = GraphBuilder(problem, self._builder, budget)

    @property
    def statistics(self) -> SearchStatistics:
        """Counts of what was looked at so far: labels, tile shapes, templates, nodes and edges."""
        built = self._builder.statistics
        labels = built.labels + self._labels
        return replace(built, labels=labels, evaluations=1, compatibilities=self._graphs.size)

    def solve(self) -> JoinResult:
        """Return the best mapping, proven best or as far as the budget goes.

        A budget that ends does not raise: the result says that it is exhausted. Raises
        UnsupportedFeature for what the search cannot model.
        """
        try:
            self._search()
        except OutOfBudget as end:
            return self._result(end.reason)
        return self._result(None)

    def graph_within(self, energy: float, latency: float) -> CompatibilityGraph | None:
        """Return the graph of all mappings of the workload within a limit of energy and of latency.

        `energy` in joule, `latency` in second. The nodes of the graph are what Einsums before and
        after a point must agree about, its edges the mappings of one Einsum. None if an Einsum has
        no mapping within the limits. Raises OutOfBudget, and UnsupportedFeature for what the search
        cannot model.
        """
        limit = energy, latency
        bounds = EinsumBounds(self.problem, self._builder)
        bounds.raise_bounds(lambda _: True, lambda _: limit)
        return self._graph_below(bounds, limit)

    def energy_slices(
        self, shares: Sequence[float]
    ) -> Iterator[tuple[float, CompatibilityGraph | None]]:
        """Yield (limit of energy in joule, graph of all mappings within it), the limits as given.

        `shares`: how far each limit is above the lower bound of the energy, relative. The graph is
        None if an Einsum has no mapping within the limit. Example: a lower bound of 2 J and the
        shares 0.1 and inf yield limits of 2.2 J and inf. Raises OutOfBudget, and UnsupportedFeature
        for what the search cannot model.
        """
        bounds = EinsumBounds(self.problem, self._builder)
        bounds.raise_bounds(lambda _: True, lambda _: NEVER)
        least_energy = bounds.least_costs[0]
        for share in shares:
            energy = least_energy * (1 + share) if share < inf else inf
            yield energy, self._graph_below(bounds, (energy, inf))

    def _graph_below(self, bounds: EinsumBounds, limit: EnergyLatency) -> CompatibilityGraph | None:
        """Return the graph of all mappings that cost no more than `limit`."""
        pmapping_filter = PmappingFilter(CostLimit(), self.problem.counts_capacity)
        return self._graphs.graph(
            bounds.cost_limits(limit), bounds.join_limits(limit), pmapping_filter
        )

    def cost_ceilings(self, limit: float) -> EnergyLatency:
        """Return the most energy and the most latency of a mapping whose value is at most `limit`.

        Joule and second. For the energy-delay product these are the limit over the least latency,
        and over the least energy (theory/fusion.md §6.2). Uses the bounds found by `solve`.
        """
        return self._ceilings(limit, self._least_costs)

    def choice_bounds_within(self, limit: EnergyLatency) -> dict[ChoiceName, EnergyLatency]:
        """Return the choices of tensors on chip that a mapping within a limit may make.

        `limit`: joule and second. Keys are (name of the Einsum, number of its compute, tensors on
        chip as bits, numbers of placements); values are lower bounds of energy and latency. Empty
        before `solve`.
        """
        return {} if self._bounds is None else self._bounds.choice_bounds_within(limit)

    def _result(self, ended: EndReason | None) -> JoinResult:
        label, steps = self._best or (None, None)
        return JoinResult(
            label, steps, self._lower_bound, self._least_costs, ended, self._builder.largest_choice
        )

    def _search(self) -> None:
        """Raise the bounds, then the limit, until the incumbent meets the lower bound."""
        bounds = EinsumBounds(self.problem, self._builder, self._report_bounds, self._estimate)
        self._bounds = bounds
        self._take_lower_bound(bounds)
        self._report(self._incumbent_value, self._lower_bound)
        if self._lower_bound >= self._incumbent_value:
            return
        try:
            self._raise_bounds(bounds)
        finally:
            self._take_lower_bound(bounds)
        if self.problem.is_narrowed and self._best is not None:
            return
        try:
            self._raise_windows(bounds)
        finally:
            self._take_lower_bound(bounds)
        start, rising, is_first = self._lower_bound, RisingLimit(SECOND_STEP), True
        while not self._is_proven and self._lower_bound < inf:
            is_last = start == 0 or self.problem.ties is not None
            limit = inf if is_last else self._lower_bound + rising.step * start
            done = self._work
            if self.problem.by_cost:
                bounds.raise_cheapest(self._incumbent_ceilings, min(limit, self._incumbent_value))
            self._solve_below(limit, bounds, is_first)
            self._lower_bound = min(max(self._lower_bound, limit), self._incumbent_value)
            self._report(self._incumbent_value, self._lower_bound)
            rising.advance(self._work - done)
            is_first = False

    def _take_lower_bound(self, bounds: EinsumBounds) -> None:
        """Set the lower bound of the value from those of the Einsums."""
        self._least_costs = self._at_least_known(bounds.least_costs)
        value = float(self.problem.value_bound(*self._least_costs))
        self._lower_bound = min(value, self._incumbent_value)

    def _at_least_known(self, least_costs: EnergyLatency) -> EnergyLatency:
        """Raise lower bounds of energy and latency to those that another search has proven."""
        (energy, latency), known = least_costs, self._known_least
        return max(energy, known[0]), max(latency, known[1])

    @property
    def _work(self) -> int:
        """What takes the time: partial mappings of Einsums and of the workload, and pmappings."""
        return self.statistics.labels + self._builder.pmappings + self._graphs.size

    @property
    def _is_proven(self) -> bool:
        """Whether the incumbent meets the lower bound."""
        return self._incumbent_value <= self._lower_bound * (1 + EQUAL)

    def _raise_bounds(self, bounds: EinsumBounds) -> None:
        """Raise the bounds; on the way, find a mapping that keeps nothing on chip."""
        if self._incumbent_value < inf and not self.problem.by_cost:
            bounds.start_all()
            if not self._is_below_incumbent(bounds) or self._ties_are_few:
                return
        if self._best is None and self.problem.ties is None and self._starts_small:
            self._solve_narrowed()
        if self.problem.is_narrowed:
            self._search_narrowed(bounds)
            return
        starts_unfused = self.problem.counts_capacity or not self.problem.by_cost
        if self._best is None and self.problem.ties is None and starts_unfused:
            bounds.attain(_keeps_nothing_on_chip)
            self._solve_unfused(bounds)
        if self.problem.by_cost:
            bounds.raise_cheapest(self._incumbent_ceilings)
            return
        bounds.raise_bounds(lambda _: True, self._incumbent_ceilings)
        raises_latency = self.problem.objective == "edp" and self._has_many_einsums
        if raises_latency and self._is_below_incumbent(bounds):
            bounds.raise_bounds(lambda _: True, self._incumbent_ceilings, 1)

    @property
    def _has_windows(self) -> bool:
        """Whether costs of windows add up to those of the workload."""
        problem = self.problem
        is_additive = problem.objective in ("energy", "latency") and problem.ties is None
        return is_additive and is_divisible(problem) and problem.counts_capacity

    def _raise_windows(self, bounds: EinsumBounds) -> None:
        """Raise the bound of the workload by joins of windows of it; take what they find."""
        exchanged = self.problem.exchanged
        ends = window_ends(exchanged)
        if len(ends) == 1 or self._is_proven or not self._is_large or not self._has_windows:
            return
        bounds.use_windows(ends)
        search = WindowSearch(
            exchanged,
            bounds,
            self._joined_window,
            lambda: self._incumbent_value,
            lambda: self._work,
        )
        is_far = self._incumbent_value > (1 + CLOSE) * self._lower_bound
        if is_far and (mappings := search.first()) is not None:
            self._take(joined(mappings))
        while search.step():
            self._report_bounds(bounds.least_costs)
        mappings = search.whole()
        if mappings is not None:
            self._take(joined(mappings))

    def _joined_window(self, part: WindowLimits) -> JoinedMapping | None:
        """Return the best mapping of a window within limits, if any."""
        is_latency = self.problem.objective == "latency"
        ceilings = (inf, part.highest) if is_latency else (part.highest, inf)
        limits = JoinLimits(ceilings, part.remaining)
        pmapping_filter = PmappingFilter(CostLimit(), beam=part.beam)
        graph = self._graphs.graph(part.limits, limits, pmapping_filter, part.window.first)
        value = OBJECTIVE_VALUES["latency" if is_latency else "energy"]
        return None if graph is None else self._best_of(graph, value, part.highest)

    @property
    def _is_large(self) -> bool:
        """Whether an Einsum has so many placements and tile shapes that to start small pays.

        A search with little work before it goes straight on.
        """
        if self.problem.is_narrowed or self._budget.work is not None:
            return False
        return any(fused.size >= LARGE for fused in self._solved_einsums)

    @property
    def _starts_small(self) -> bool:
        """Whether a good mapping is looked for first: a budget may end the search at any time."""
        return self._is_large or (self._budget.is_limited and not self.problem.is_narrowed)

    @property
    def _solved_einsums(self) -> list[FusedEinsum]:
        """The Einsums other than copies, on the path to each of their computes."""
        entries = (entry for entry in self.problem.einsums if not isinstance(entry, CopyTable))
        return [fused for entry in entries for fused in entry]

    def _solve_narrowed(self) -> None:
        """Find a good mapping fast: with a few placements of each Einsum, within few labels.

        Its value then limits what is searched.
        """
        templates = FEW_TEMPLATES // max(1, len({fused.key for fused in self._solved_einsums}))
        templates = min(max(templates, LEAST_TEMPLATES), MOST_TEMPLATES)
        narrowed = self.problem.with_few_placements(templates)
        budget = self._budget.share(NARROWED_SHARE)
        budget = replace(budget, labels=min(budget.labels, FEW_LABELS))

        def report(value: float, _: float) -> None:
            self._report(value, self._lower_bound)

        search = JoinSearch(narrowed, budget, report)
        result = search.solve()
        search.cache.clear()
        self._narrowed = search
        self._labels += search.statistics.labels
        if result.label is not None and result.steps is not None:
            self._best = JoinedMapping(result.label, result.steps)
            self._started_by_beam = True
        self._budget.check()

    def _estimate(self, choice: OnChipChoice) -> float:
        """Return what the best mapping with few placements of an Einsum costs, if it is known."""
        if self._narrowed is None or self._narrowed._bounds is None:
            return inf
        return self._narrowed._bounds.attained_by(choice)

    def _search_narrowed(self, bounds: EinsumBounds) -> None:
        """Find mappings from the cheapest pmapping per tile shape.

        All tensors are kept on chip, or one after the other.
        """
        if GreedyStart(self.problem, bounds, self._joined_part, self._take).run():
            return
        try:
            bounds.raise_cheapest(self._incumbent_ceilings)
        except OutOfBudget as end:
            if end.reason is not EndReason.LABELS:
                raise
        if not self._has_many_einsums or self._best is None:
            self._solve_beam(bounds)

    def _joined_part(self, part: PartLimits) -> JoinedMapping | None:
        """Return the best mapping of neighbouring Einsums from the cheapest pmappings, if any."""
        is_latency = self.problem.objective == "latency"

        def remaining(number: int, _: frozenset[TensorPlace]) -> EnergyLatency:
            cost = part.remaining(number)
            return (0.0, cost) if is_latency else (cost, 0.0)

        ceilings = (inf, part.highest) if is_latency else (part.highest, inf)
        pmapping_filter = PmappingFilter(CostLimit(), fused=part.fused, beam=True)
        limits = JoinLimits(ceilings, remaining)
        graph = self._graphs.graph(part.limits, limits, pmapping_filter, part.first)
        value = OBJECTIVE_VALUES["latency" if is_latency else "energy"]
        return None if graph is None else self._best_of(graph, value, part.highest)

    def _solve_beam(self, bounds: EinsumBounds) -> None:
        """Find a mapping fast, from the cheapest pmapping per tile shape.

        Looked at are choices of tensors on chip, and pmappings, that may be part of a mapping a
        little above the lower bound of the workload, and cost no more than twice the least.
        """
        pmapping_filter = PmappingFilter(CostLimit(), beam=True)
        start, value = float(self.problem.value_bound(*bounds.least_costs)), self._incumbent_value
        for share in BEAM_SHARES:
            ceilings = self.cost_ceilings(min(start * (1 + share), value))
            limits = bounds.cost_limits(ceilings, BEAM_SLACK)
            graph = self._graphs.graph(limits, bounds.join_limits(ceilings), pmapping_filter)
            self._solve_graph(graph, value)
            if self._incumbent_value < value:
                self._started_by_beam = True
                return
            if start * (1 + share) >= value:
                return

    def _is_below_incumbent(self, bounds: EinsumBounds) -> bool:
        """Tell whether the lower bound is below the value of the incumbent."""
        least_costs = self._at_least_known(bounds.least_costs)
        lower_bound = float(self.problem.value_bound(*least_costs))
        return lower_bound * (1 + EQUAL) < self._incumbent_value

    @property
    def _ties_are_few(self) -> bool:
        """Whether ties are broken among few pmappings.

        Of equal latency there are many, if many Einsums together leave each Einsum far more energy
        than it can be better by.
        """
        if self.problem.ties is None:
            return False
        return self.problem.objective != "energy" or not self._has_many_einsums

    @property
    def _has_many_einsums(self) -> bool:
        """Whether many Einsums other than copies are solved."""
        solved = [entry for entry in self.problem.einsums if not isinstance(entry, CopyTable)]
        return len(solved) >= MANY_EINSUMS

    def _report_bounds(self, least_costs: EnergyLatency) -> None:
        """Report the lower bound of the value from lower bounds of energy and latency."""
        lower_bound = float(self.problem.value_bound(*self._at_least_known(least_costs)))
        self._report(self._incumbent_value, max(lower_bound, self._lower_bound))

    def _solve_unfused(self, bounds: EinsumBounds) -> None:
        """Find a mapping that keeps nothing on chip."""
        limits = _unfused(bounds.own_limits())
        pmapping_filter = PmappingFilter(CostLimit(), fused=False)
        self._solve_graph(
            self._graphs.graph(limits, bounds.join_limits(NEVER), pmapping_filter), inf
        )

    def _solve_below(self, limit: float, bounds: EinsumBounds, first: bool) -> None:
        """Look for a mapping of value `limit` or less, better than the incumbent.

        At few mappings without shared loops first, at all in the end. `first`: the limit is the
        lower bound.
        """
        for fused, representatives in self._passes(first):
            highest = min(limit, self._incumbent_value)
            ceilings = self.cost_ceilings(highest)
            pmapping_filter = PmappingFilter(CostLimit(), fused, representatives)
            limits = bounds.cost_limits(ceilings), bounds.join_limits(ceilings)
            self._solve_graph(self._graphs.graph(*limits, pmapping_filter), highest)
            if self._is_proven:
                return

    def _passes(self, first: bool) -> Iterator[_Pass]:
        """Yield which mappings are looked at, one pass after the other."""
        attained = first and self.problem.objective == "latency" and self.problem.ties is None
        for representatives in (True, False) if attained else (False,):
            if not self._started_by_beam or not self.problem.counts_capacity:
                yield _Pass(False, representatives)
            if self.problem.counts_capacity:
                yield _Pass(True, representatives)

    @property
    def _incumbent_value(self) -> float:
        """The value of the incumbent."""
        if self._best is None:
            return inf if self.problem.ties is None else self.problem.ties.known_value
        return float(self.problem.value(*self._best.label.measures))

    def _solve_graph(self, graph: CompatibilityGraph | None, highest: float) -> None:
        """Pass labels; keep the best mapping of value `highest` or less."""
        if graph is None:
            return
        best = self._best_of(graph, self.problem.value, highest)
        if best is not None:
            self._take(best)

    def _best_of(
        self, graph: CompatibilityGraph, value: ValueFunction, highest: float
    ) -> JoinedMapping | None:
        """Pass labels; return the best mapping of value `highest` or less."""
        columns = LabelColumns(self.problem.capacities, self.problem.usage)
        outcome = LabelDeepening(graph, columns, value, self._budget).solve(highest)
        self._labels += outcome.labels
        if outcome.ended is not None:
            raise OutOfBudget(outcome.ended)
        return None if outcome.best is None else JoinedMapping(outcome.best, graph.steps)

    def _take(self, mapping: JoinedMapping) -> None:
        """Keep a mapping if it is better than the incumbent."""
        if self._improves(mapping.label):
            self._best = mapping
            self._report(self._incumbent_value, self._lower_bound)

    def _improves(self, label: WholeLabel) -> bool:
        """Tell whether a mapping is better than the incumbent, or as good with a better metric.

        Few pmappings may miss the best of several equal ones, so an equal mapping can be worse in
        the other metric: energy, or latency if energy is minimized.
        """
        if self._best is None:
            return True
        value, incumbent = float(self.problem.value(*label.measures)), self._incumbent_value
        if value < incumbent * (1 - EQUAL):
            return True
        known = self._best.label
        if self.problem.objective == "energy":
            return value <= incumbent * (1 + EQUAL) and label.latency < known.latency
        return value <= incumbent * (1 + EQUAL) and label.energy < known.energy

    def _incumbent_ceilings(self, least_costs: EnergyLatency) -> EnergyLatency:
        """Return the ceilings below the incumbent, given what all Einsums cost at least."""
        return self._ceilings(self._incumbent_value, least_costs)

    def _ceilings(self, limit: float, least_costs: EnergyLatency) -> EnergyLatency:
        """Return the most energy and latency that a value of `limit` leaves room for.

        `least_costs`: lower bounds of energy and latency.
        """
        energy, latency = self._at_least_known(least_costs)
        value = self.problem.value_bound
        objective, ties = self.problem.objective, self.problem.ties
        highest = NEVER if ties is None else ties.cost_limit
        if objective == "energy":
            return limit, highest[1]
        if objective == "latency":
            return highest[0], limit
        if objective == "edp":
            return _quotient(limit, latency), _quotient(limit, energy)
        return (
            _highest_argument(lambda joule: value(joule, latency), energy, limit),
            _highest_argument(lambda second: value(energy, second), latency, limit),
        )


def _highest_argument(value: Callable[[float], float], start: float, limit: float) -> float:
    """Return a number beyond which `value`, which never falls, exceeds `limit`."""
    low = high = max(start, TINY)
    while value(high) <= limit:
        if high > HUGE:
            return inf
        low, high = high, 4 * high
    while high > low * (1 + EQUAL):
        middle = (low + high) / 2
        low, high = (middle, high) if value(middle) <= limit else (low, middle)
    return high


def _quotient(product: float, factor: float) -> float:
    return product / factor if factor > 0 else inf
