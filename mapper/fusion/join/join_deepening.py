"""The search of a whole workload: rows that cost too much are never made.

1. The first mapping keeps nothing on chip between Einsums: each is at its best alone.
2. The least that each Einsum can cost, alone, with each choice of what stays on chip, bounds what
   it leaves to all others; choices that agree add up to a lower bound (einsum_bounds.py).
3. Rows that cost more than a limit leaves them, when all other Einsums cost their least, cannot
   matter below that limit. It is raised from the lower bound on, until a mapping lies below it:
   then none is better (fusion.md §6.2). At each limit mappings without shared loops come
   first: there are few, and one that meets the lower bound ends the search.

With endless room in the second memory no shared loop pays: a loop right below the lowest tensor on
chip costs no more than the same loop above it, it only needs more room. Then none is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

from tilewright.mapper.fusion.copies.fused_copies import CopyTable
from tilewright.mapper.fusion.fused_problem import EnergyLatency, FusedProblem
from tilewright.mapper.fusion.join.compatibility_graph import (
    CompatibilityGraph,
    JoinLimits,
    build_graph,
)
from tilewright.mapper.fusion.join.cost_limit import CostLimit
from tilewright.mapper.fusion.join.einsum_bounds import NEVER, EinsumBounds
from tilewright.mapper.fusion.join.join_steps import join_steps
from tilewright.mapper.fusion.join.label_deepening import LabelDeepening
from tilewright.mapper.fusion.join.label_pass import LabelColumns, WholeLabel
from tilewright.mapper.fusion.pmappings.pmapping_builder import (
    BuilderScope,
    OnChipChoice,
    PmappingFilter,
    TableBuilder,
)
from tilewright.mapper.fusion.pmappings.pmapping_cache import PmappingCache
from tilewright.mapper.fusion.pmappings.pmapping_table import PmappingTable
from tilewright.mapper.searches.budget import Budget, OutOfBudget
from tilewright.mapper.searches.result import Report, SearchStatistics

LIMIT_STEPS = (1e-9, 0.01, 0.05, 0.2, 0.6, 2.0, inf)
EQUAL = 1e-12
MANY_EINSUMS = 4  # Einsums
TINY, HUGE = 1e-300, 1e300


@dataclass(frozen=True, slots=True)
class JoinResult:
    """The best label with the graph it lives in (None: none found).

    `lower`: no mapping has a lower value; `least`: the least energy and latency, each on its own;
    `exhausted`: the budget ended the search.
    """

    label: WholeLabel | None
    graph: CompatibilityGraph | None
    lower_bound: float
    least_costs: tuple[float, float]
    exhausted: bool


class JoinSearch:
    """Searches one cascade. `seed`: a mapping found before; `shelf`: of searches of the same."""

    def __init__(
        self,
        cascade: FusedProblem,
        how: tuple[Budget, Report],
        seed: JoinResult | None = None,
        shelf: PmappingCache | None = None,
    ) -> None:
        self._problem = cascade
        self._budget, self._report = how
        self.cache = shelf or PmappingCache()
        self._best: tuple[WholeLabel, CompatibilityGraph] | None = None
        if seed is not None and seed.label is not None and seed.graph is not None:
            self._best = seed.label, seed.graph
        self._bounds: EinsumBounds | None = None
        self._lower_bound = 0.0
        self._least_costs = (0.0, 0.0)
        self._labels = 0
        self._graph_size = 0
        hurried = cascade.objective != "energy" and cascade.ties is None
        timed = cascade.objective != "energy" or cascade.ties is not None
        scope = BuilderScope(
            cascade.counts_capacity,
            cascade.capacities,
            timed,
            cascade.loops_per_variable,
            cascade.usage,
            hurried,
        )
        self._builder = TableBuilder(cascade.exchanged, scope, self._budget, self.cache)

    @property
    def statistics(self) -> SearchStatistics:
        """What was looked at so far."""
        made = self._builder.statistics
        return replace(
            made, labels=made.labels + self._labels, evaluations=1, compatibilities=self._graph_size
        )

    def solve(self) -> JoinResult:
        """Return the best mapping, proven or as far as the budget goes."""
        try:
            self._search()
        except OutOfBudget:
            return self._result(exhausted=True)
        return self._result(exhausted=False)

    def graph_within(self, energy: float, latency: float) -> CompatibilityGraph | None:
        """Return the graph of all mappings with at most so much energy and latency.

        OutOfBudget; None when there is no mapping.
        """
        most = energy, latency
        floors = self._new_bounds()
        floors.raise_bounds(lambda _: True, lambda _: most)
        wanted = PmappingFilter(CostLimit(), self._problem.counts_capacity)
        return self._build_graph(floors.cost_limits(most), floors.join_limits(most), wanted)

    def energy_slices(
        self, shares: Sequence[float]
    ) -> Iterator[tuple[float, CompatibilityGraph | None]]:
        """Yield limits of energy, such shares above the least, with the graphs of all mappings
        within them (None: there is none).

        OutOfBudget.
        """
        floors = self._new_bounds()
        floors.raise_bounds(lambda _: True, lambda _: NEVER)
        least = floors.least_costs[0]
        for share in shares:
            most = (least * (1 + share) if share < inf else inf), inf
            wanted = PmappingFilter(CostLimit(), self._problem.counts_capacity)
            yield (
                most[0],
                self._build_graph(floors.cost_limits(most), floors.join_limits(most), wanted),
            )

    def ceilings(self, limit: float) -> EnergyLatency:
        """Return the most energy and the most latency that a value of `limit` leaves room for."""
        return self._ceilings(limit, *self._least_costs)

    def choice_bounds_within(
        self, most: EnergyLatency
    ) -> dict[tuple[str, int, int], EnergyLatency]:
        """Return the choices with which a mapping may cost no more than `most`, by name, with
        bounds of what they cost."""
        return {} if self._bounds is None else self._bounds.choice_bounds_within(most)

    def _result(self, exhausted: bool) -> JoinResult:
        label, graph = self._best or (None, None)
        return JoinResult(label, graph, self._lower_bound, self._least_costs, exhausted)

    def _search(self) -> None:
        floors = self._bounds = self._new_bounds()
        self._least_costs = floors.least_costs
        self._lower_bound = min(
            float(self._problem.value_bound(*self._least_costs)), self._incumbent_value
        )
        if self._lower_bound >= self._incumbent_value:
            return
        try:
            self._raise_bounds(floors)
        finally:
            self._least_costs = floors.least_costs
            self._lower_bound = min(
                float(self._problem.value_bound(*self._least_costs)), self._incumbent_value
            )
        least = self._lower_bound
        for slack in LIMIT_STEPS if self._problem.ties is None else LIMIT_STEPS[-1:]:
            limit = least * (1 + slack) if least > 0 else inf
            if self._incumbent_value <= self._lower_bound * (1 + EQUAL) or self._lower_bound == inf:
                return
            self._solve_below(limit, floors, first=slack == LIMIT_STEPS[0])
            self._lower_bound = min(max(self._lower_bound, limit), self._incumbent_value)
            self._report(self._incumbent_value, self._lower_bound)

    def _raise_bounds(self, floors: EinsumBounds) -> None:
        """Raise the bounds; on the way, find a mapping that keeps nothing on chip."""
        if self._incumbent_value < inf:
            floors.start_all()
            least = float(self._problem.value_bound(*floors.least_costs))
            if least * (1 + EQUAL) >= self._incumbent_value or self._ties_are_few:
                return
        if self._best is None and self._problem.ties is None:
            floors.raise_bounds(lambda choice: choice.mask == 0, lambda _: NEVER)
            self._solve_unfused(floors)
        floors.raise_bounds(
            lambda _: True, lambda least: self._ceilings(self._incumbent_value, *least)
        )
        both = self._problem.objective == "edp" and self._has_many_einsums
        if (
            both
            and float(self._problem.value_bound(*floors.least_costs)) * (1 + EQUAL)
            < self._incumbent_value
        ):
            floors.raise_bounds(
                lambda _: True, lambda least: self._ceilings(self._incumbent_value, *least), 1
            )

    @property
    def _ties_are_few(self) -> bool:
        """Tell whether rows that tie are few. Of equal latency there are many, if many Einsums
        together leave each far more energy than it can be better by."""
        cascade = self._problem
        return cascade.ties is not None and not (
            cascade.objective == "energy" and self._has_many_einsums
        )

    @property
    def _has_many_einsums(self) -> bool:
        """Tell whether many Einsums are solved."""
        return (
            sum(not isinstance(solo, CopyTable) for solo in self._problem.einsums) >= MANY_EINSUMS
        )

    def _new_bounds(self) -> EinsumBounds:
        return EinsumBounds(self._problem, self._builder)

    def _solve_unfused(self, floors: EinsumBounds) -> None:
        """Find a mapping that keeps nothing on chip."""
        allowed = [
            {choice: most for choice, most in each.items() if choice.mask == 0}
            for each in floors.own_limits()
        ]
        wanted = PmappingFilter(CostLimit(), fused=False)
        self._solve_graph(self._build_graph(allowed, floors.join_limits(NEVER), wanted), inf)

    def _solve_below(self, limit: float, floors: EinsumBounds, first: bool) -> None:
        """Look for a mapping of value `limit` or less, better than the incumbent: at few of those
        without shared loops first, at all in the end. `first`: the limit is the lower bound."""
        for fused, few in self._passes(first):
            most = min(limit, self._incumbent_value)
            room = self.ceilings(most)
            wanted = PmappingFilter(CostLimit(), fused, few)
            graph = self._build_graph(floors.cost_limits(room), floors.join_limits(room), wanted)
            self._solve_graph(graph, most)
            if self._incumbent_value <= self._lower_bound * (1 + EQUAL):
                return

    def _passes(self, first: bool) -> Iterator[tuple[bool, bool]]:
        """Yield which mappings are looked at: whether with shared loops, whether at few only."""
        attained = first and self._problem.objective == "latency" and self._problem.ties is None
        for few in (True, False) if attained else (False,):
            for fused in (False, True) if self._problem.counts_capacity else (False,):
                yield fused, few

    @property
    def _incumbent_value(self) -> float:
        """The value of the incumbent."""
        if self._best is None:
            return inf if self._problem.ties is None else self._problem.ties.known_value
        return float(self._problem.value(*self._best[0].measures))

    def _build_graph(
        self,
        allowed: Sequence[Mapping[OnChipChoice, CostLimit]],
        limits: JoinLimits,
        wanted: PmappingFilter,
    ) -> CompatibilityGraph | None:
        """Return the graph of rows within the allowances; None if an Einsum has none."""
        tables: list[tuple[PmappingTable | CopyTable, ...]] = []
        for solo, choices in zip(self._problem.einsums, allowed, strict=True):
            if isinstance(solo, CopyTable):
                tables.append((solo.with_loops if wanted.fused and solo.shares_loops else solo,))
                continue
            pairs = [(choice, replace(wanted, cost_limit=most)) for choice, most in choices.items()]
            made = [self._builder.table(choice, few) for choice, few in pairs]
            if not any(table.groups for table in made):
                return None
            tables.append(tuple(table.numbered(i) for i, table in enumerate(made)))
        steps = join_steps(self._problem.exchanged, tables, self._problem.outermost_capacity)
        graph = build_graph(steps, limits, self._budget)
        self._graph_size += graph.size
        return graph

    def _solve_graph(self, graph: CompatibilityGraph | None, most: float) -> None:
        """Pass labels; keep the best mapping of value `most` or less."""
        if graph is None:
            return
        cascade = self._problem
        room = LabelColumns(cascade.capacities, cascade.usage)
        folded = LabelDeepening(graph, room, cascade.value, self._budget).solve(most)
        self._labels += folded.labels
        if folded.exhausted:
            raise OutOfBudget
        if folded.best is not None:
            self._best = folded.best, graph
            self._report(self._incumbent_value, self._lower_bound)

    def _ceilings(self, limit: float, energy: float, latency: float) -> tuple[float, float]:
        """Return the same when all Einsums cost at least `energy` and `latency`."""
        objective, value = self._problem.objective, self._problem.value_bound
        most = NEVER if self._problem.ties is None else self._problem.ties.cost_limit
        if objective == "energy":
            return limit, most[1]
        if objective == "latency":
            return most[0], limit
        if objective == "edp":
            return _quotient(limit, latency), _quotient(limit, energy)
        return (
            _highest_argument(lambda more: value(more, latency), energy, limit),
            _highest_argument(lambda more: value(energy, more), latency, limit),
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


def _quotient(product: float, other: float) -> float:
    return product / other if other > 0 else inf
