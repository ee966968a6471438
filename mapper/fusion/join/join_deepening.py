"""Search a whole workload; pmappings that cost too much are never made.

1. What each Einsum costs at least, alone, with each choice of tensors on chip, bounds what it
   leaves to all others. Choices that agree add up to a lower bound (exchange_choice_bounds.py).
2. Pmappings that cost more than a limit leaves to them, when all other Einsums cost their least,
   cannot matter below that limit. The limit is raised from the lower bound on, until a mapping lies
   below it: then none is better (theory/fusion.md §6.2). At each limit mappings without shared
   loops come first: there are few, and one that meets the lower bound ends the search.

With endless capacity in the second memory no shared loop pays. A loop right below the lowest tensor
on chip costs no more than the same loop above it, which only needs more capacity. Then no shared
loops are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf

from tilewright.mapper.fusion.bounds.cost_ceilings import EQUAL, CostCeilings
from tilewright.mapper.fusion.bounds.cost_limit import NEVER, CostLimit, EnergyLatency
from tilewright.mapper.fusion.bounds.exchange_choice_bounds import EinsumBounds
from tilewright.mapper.fusion.bounds.rising_limit import RisingLimit
from tilewright.mapper.fusion.fused_problem import ChoiceName, FusedProblem
from tilewright.mapper.fusion.groups.fusion_groups import JoinedMapping, joined
from tilewright.mapper.fusion.groups.greedy_start import GreedyStart
from tilewright.mapper.fusion.groups.window_search import WindowSearch
from tilewright.mapper.fusion.groups.windows import window_ends
from tilewright.mapper.fusion.join.compatibility_graph import CompatibilityGraph
from tilewright.mapper.fusion.join.graph_builder import GraphBuilder
from tilewright.mapper.fusion.join.join_pmappings import WholeLabel
from tilewright.mapper.fusion.join.join_strategy import JoinStrategy, first_share
from tilewright.mapper.fusion.join.joined_incumbent import JoinedIncumbent
from tilewright.mapper.fusion.join.part_joins import PartJoins
from tilewright.mapper.fusion.pmappings.on_chip_choice import (
    LargestChoice,
    OnChipChoice,
    PmappingFilter,
)
from tilewright.mapper.fusion.pmappings.pmapping_builder import TableBuilder
from tilewright.mapper.fusion.pmappings.pmapping_cache import PmappingCache
from tilewright.mapper.searches.budget import Budget, EndReason, OutOfBudget
from tilewright.mapper.searches.result import Report, SearchStatistics, no_report

SECOND_STEP = 0.01  # of a limit, relative to the lower bound; a table grows fast with the limit
CLOSE = 0.15  # of a mapping above the lower bound, relative: then no other start is looked for
NARROWED_SHARE = 0.6  # of the budget, for a search with few placements
FEW_LABELS = 1_000_000  # that a search with few placements may keep at a time
BEAM_SHARES = (0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.45, 0.7, 1.0, 2.0, 8.0)
BEAM_SLACK = 1.0  # of an Einsum above its least cost, relative


@dataclass(frozen=True, slots=True)
class JoinResult:
    """Outcome of a search of the workload for a fused mapping.

    `mapping`: the best one, with the tables that its numbers refer to; None if none was found.
    `lower_bound`: no mapping has a lower value of the objective. `least_costs`: lower bounds of
    energy in joule and latency in second. `ended`: what ended the search before the best was
    proven, None if nothing did. `largest`: the choice of tensors on chip with most work.
    """

    mapping: JoinedMapping | None = None
    lower_bound: float = 0.0
    least_costs: EnergyLatency = (0.0, 0.0)
    ended: EndReason | None = None
    largest: LargestChoice | None = None

    @property
    def exhausted(self) -> bool:
        """Whether the search ended before the best mapping was proven."""
        return self.ended is not None

    @property
    def label(self) -> WholeLabel | None:
        """The chosen mapping of each Einsum with their costs; None without a mapping."""
        return None if self.mapping is None else self.mapping.label


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
        self._best = JoinedIncumbent(problem)
        if seed is not None:
            self._best.mapping = seed.mapping
        self._narrowed: JoinSearch | None = None
        self._started_by_beam = False
        self._bounds: EinsumBounds | None = None
        self._lower_bound = 0.0
        self._ceilings = CostCeilings(problem, (0.0, 0.0) if seed is None else seed.least_costs)
        self._strategy = JoinStrategy(problem, budget)
        self._least_costs = (0.0, 0.0)
        self._builder = TableBuilder(problem, budget, self.cache)
        self._graphs = GraphBuilder(problem, self._builder, budget)
        self._joins = PartJoins(problem, self._graphs, budget)

    @property
    def statistics(self) -> SearchStatistics:
        """Counts of what was looked at so far: labels, tile shapes, templates, nodes and edges."""
        built = self._builder.statistics
        labels = built.labels + self._joins.labels
        return replace(built, labels=labels, evaluations=1, compatibilities=self._graphs.size)

    @property
    def least_latency(self) -> float:
        """A lower bound of the latency, in second, of every mapping; 0 before a search."""
        return self._least_costs[1]

    @property
    def incumbent(self) -> JoinedMapping | None:
        """The best mapping so far, also while few placements are searched; None: there is none."""
        if self._best.mapping is None and self._narrowed is not None:
            return self._narrowed.incumbent
        return self._best.mapping

    @property
    def history(self) -> list[JoinedMapping]:
        """The mappings that were the best at their time, which may be better by other metrics."""
        return self._best.history

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

    def energy_slices(
        self, shares: Sequence[float], within: EnergyLatency = NEVER
    ) -> Iterator[tuple[float, CompatibilityGraph | None]]:
        """Yield (limit of energy in joule, graph of all mappings within it), the limits as given.

        `shares`: how far each limit is above the lower bound of the energy, relative. `within`:
        most energy in joule and latency in second of any mapping of interest; the first limit that
        is no lower is inf, and the last. The nodes of a graph are what Einsums before and after a
        point must agree about, its edges the mappings of one Einsum; None if an Einsum has no
        mapping within the limit. Example: a lower bound of 2 J and the shares 0.1 and inf yield
        limits of 2.2 J and inf. Raises OutOfBudget, and UnsupportedFeature for what the search
        cannot model.
        """
        bounds = EinsumBounds(self.problem, self._builder)
        bounds.raise_bounds(lambda _: within)
        self._least_costs = bounds.least_costs
        most_energy, latency = within
        pmapping_filter = PmappingFilter(CostLimit(), self.problem.counts_capacity)
        for share in shares:
            energy = bounds.least_costs[0] * (1 + share) if share < inf else inf
            limit = min(energy, most_energy), latency
            yield (
                energy if energy < most_energy else inf,
                self._graphs.graph(
                    bounds.cost_limits(limit), bounds.join_limits(limit), pmapping_filter
                ),
            )
            if energy >= most_energy:
                return

    def cost_ceilings(self, limit: float) -> EnergyLatency:
        """Return the most energy and the most latency of a mapping whose value is at most `limit`.

        Joule and second. For the energy-delay product these are the limit over the least latency,
        and over the least energy (theory/fusion.md §6.2). Uses the bounds found by `solve`.
        """
        return self._ceilings.within(limit, self._least_costs)

    def choice_bounds_within(self, limit: EnergyLatency) -> dict[ChoiceName, EnergyLatency]:
        """Return the choices of tensors on chip that a mapping within a limit may make.

        `limit`: joule and second. Keys are (name of the Einsum, number of its compute, tensors on
        chip as bits, numbers of placements); values are lower bounds of energy and latency. Empty
        before `solve`.
        """
        return {} if self._bounds is None else self._bounds.choice_bounds_within(limit)

    def _result(self, ended: EndReason | None) -> JoinResult:
        largest = self._builder.largest_choice
        if largest is None and self._narrowed is not None:
            largest = self._narrowed._builder.largest_choice
        return JoinResult(self._best.mapping, self._lower_bound, self._least_costs, ended, largest)

    def _search(self) -> None:
        """Raise bounds of Einsums, then of windows, then the limit until the best is proven."""
        bounds = EinsumBounds(self.problem, self._builder, self._report_bounds, self._estimate)
        self._bounds = bounds
        self._take_lower_bound(bounds)
        self._report(self._best.value, self._lower_bound)
        if self._lower_bound >= self._best.value:
            return
        try:
            self._raise_bounds(bounds)
        finally:
            self._take_lower_bound(bounds)
        if self.problem.is_narrowed and self._best.mapping is not None:
            return
        try:
            self._raise_windows(bounds)
        finally:
            self._take_lower_bound(bounds)
        start, rising = self._lower_bound, RisingLimit(SECOND_STEP)
        while not self._is_proven and self._lower_bound < inf:
            is_last = start == 0 or self.problem.ties is not None
            limit = inf if is_last else self._lower_bound + rising.step * start
            done = self._work
            if self.problem.by_cost:
                bounds.raise_cheapest(self._incumbent_ceilings, min(limit, self._best.value))
            self._solve_below(limit, bounds)
            self._lower_bound = min(max(self._lower_bound, limit), self._best.value)
            self._report(self._best.value, self._lower_bound)
            rising.advance(self._work - done)

    def _take_lower_bound(self, bounds: EinsumBounds) -> None:
        """Compute the lower bound of the objective anew from the bounds of the Einsums."""
        self._least_costs = self._ceilings.raised(bounds.least_costs)
        self._lower_bound = min(self._ceilings.value(self._least_costs), self._best.value)

    @property
    def _work(self) -> int:
        """Measure of the work so far: labels, pmappings, and nodes and edges of graphs."""
        return self.statistics.labels + self._builder.pmappings + self._graphs.size

    @property
    def _is_proven(self) -> bool:
        """Whether the value of the best mapping equals the lower bound, up to rounding."""
        return self._best.value <= self._lower_bound * (1 + EQUAL)

    def _raise_bounds(self, bounds: EinsumBounds) -> None:
        """Raise the bounds of the Einsums; look for a first mapping on the way."""
        if self._best.value < inf and not self.problem.by_cost:
            bounds.start_all()
            if not self._is_below_incumbent(bounds) or self._strategy.ties_are_few:
                return
        if self._needs_start and self._strategy.starts_small:
            self._solve_narrowed()
        if self.problem.is_narrowed:
            self._search_narrowed(bounds)
            return
        self._raise_all(bounds)

    @property
    def _needs_start(self) -> bool:
        """Whether a good first mapping has to be found: there is none, or it is far off.

        The second concerns searches for latency under a budget that start from the least energy.
        """
        if self._best.mapping is None:
            return True
        is_other = self.problem.by_cost and self.problem.objective == "latency"
        return is_other and self._best.value > (1 + CLOSE) * self._lower_bound

    def _raise_all(self, bounds: EinsumBounds) -> None:
        """Raise the bounds of the choices that the best mapping's value leaves in play."""
        if self.problem.by_cost:
            bounds.raise_cheapest(self._incumbent_ceilings)
            return
        bounds.raise_bounds(self._incumbent_ceilings)

    def _raise_windows(self, bounds: EinsumBounds) -> None:
        """Raise the lower bound by joining windows of Einsums; keep better mappings found.

        Nothing is done in searches that are small, or cannot be cut into windows.
        """
        exchanged = self.problem.exchanged
        ends = window_ends(exchanged)
        if len(ends) == 1 or self._is_proven or not self._strategy.uses_windows:
            return
        bounds.use_windows(ends)
        search = WindowSearch(
            exchanged,
            bounds,
            self._joins.of_part,
            lambda: self._best.value,
            lambda: self._work,
        )
        is_far = self._best.value > (1 + CLOSE) * self._lower_bound
        if is_far and (mappings := search.first()) is not None:
            self._take(joined(mappings))
        while search.step():
            if self._best.mapping is not None:
                self._take(search.improved(self._best.mapping))
            self._report_bounds(bounds.least_costs)
        mappings = search.whole()
        if mappings is not None:
            self._take(joined(mappings))

    def _solve_narrowed(self) -> None:
        """Find a good mapping fast: search a few placements of each Einsum, with few labels.

        Its value then limits the search proper.
        """
        narrowed = self.problem.with_few_placements(self._strategy.few_templates)
        share = first_share(self._budget.seconds_left, NARROWED_SHARE, 1.0)
        budget = self._budget.share(share)
        budget = replace(budget, labels=min(budget.labels, FEW_LABELS))

        def report(value: float, _: float) -> None:
            self._report(value, self._lower_bound)

        self._narrowed = search = JoinSearch(narrowed, budget, report)
        result = search.solve()
        search.cache.clear()
        self._joins.labels += search.statistics.labels
        self._best.history += search.history
        if result.mapping is not None:
            self._best.take(result.mapping)
            self._started_by_beam = True
        self._budget.check()

    def _estimate(self, choice: OnChipChoice) -> float:
        """Return what an equal choice cost in the search with few placements; inf if not known."""
        if self._narrowed is None or self._narrowed._bounds is None:
            return inf
        return self._narrowed._bounds.attained_by(choice)

    def _search_narrowed(self, bounds: EinsumBounds) -> None:
        """Find mappings among few placements: tensors on chip all at once, or one by one.

        At each tile shape only the cheapest pmapping is looked at.
        """
        if GreedyStart(self.problem, bounds, self._joins.of_part, self._take).run():
            return
        try:
            bounds.raise_cheapest(self._incumbent_ceilings)
        except OutOfBudget as end:
            if end.reason is not EndReason.LABELS:
                raise
        if not self._strategy.has_many_einsums or self._best.mapping is None:
            self._solve_beam(bounds)

    def _solve_beam(self, bounds: EinsumBounds) -> None:
        """Find a mapping fast, from the cheapest pmapping per tile shape.

        Choices of tensors on chip and pmappings are looked at only if they may be in a mapping a
        little above the lower bound of the workload, and cost at most BEAM_SLACK above their own
        bound.
        """
        pmapping_filter = PmappingFilter(CostLimit(), beam=True)
        start, value = float(self.problem.value_bound(*bounds.least_costs)), self._best.value
        for share in BEAM_SHARES:
            ceilings = self.cost_ceilings(min(start * (1 + share), value))
            limits = bounds.cost_limits(ceilings, BEAM_SLACK)
            graph = self._graphs.graph(limits, bounds.join_limits(ceilings), pmapping_filter)
            self._solve_graph(graph, value)
            if self._best.value < value:
                self._started_by_beam = True
                return
            if start * (1 + share) >= value:
                return

    def _is_below_incumbent(self, bounds: EinsumBounds) -> bool:
        """Tell whether the lower bound is below the value of the incumbent."""
        lower_bound = self._ceilings.value(bounds.least_costs)
        return lower_bound * (1 + EQUAL) < self._best.value

    def _report_bounds(self, least_costs: EnergyLatency) -> None:
        """Report progress: the best value, and the lower bound that follows from `least_costs`.

        `least_costs`: lower bounds of energy and latency of mappings that could be better than the
        best one; none has less than that one if they are above it.
        """
        lower_bound = max(self._ceilings.value(least_costs), self._lower_bound)
        self._report(self._best.value, min(lower_bound, self._best.value))

    def _solve_below(self, limit: float, bounds: EinsumBounds) -> None:
        """Look for a mapping of value `limit` or less that is better than the best one.

        First among the fewest mappings, those without shared loops.
        """
        for fused in self._strategy.passes(self._started_by_beam):
            highest = min(limit, self._best.value)
            ceilings = self.cost_ceilings(highest)
            pmapping_filter = PmappingFilter(CostLimit(), fused)
            limits = bounds.cost_limits(ceilings), bounds.join_limits(ceilings)
            self._solve_graph(self._graphs.graph(*limits, pmapping_filter), highest)
            if self._is_proven:
                return

    def _solve_graph(self, graph: CompatibilityGraph | None, highest: float) -> None:
        """Search a graph; keep its best mapping if its value is at most `highest`."""
        best = self._joins.best_of(graph, self.problem.value, highest)
        if best is not None:
            self._take(best)

    def _take(self, mapping: JoinedMapping) -> None:
        """Keep a mapping if it is better than the incumbent."""
        if self._best.take(mapping):
            self._report(self._best.value, self._lower_bound)

    def _incumbent_ceilings(self, least_costs: EnergyLatency) -> EnergyLatency:
        """Return the most energy and latency of a mapping as good as the best one.

        `least_costs`: lower bounds of both for the workload.
        """
        return self._ceilings.within(self._best.value, least_costs)
