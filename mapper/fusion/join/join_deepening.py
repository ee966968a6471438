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

from tilewright.mapper.fusion.copies.fused_copies import LoneTable
from tilewright.mapper.fusion.fused_problem import Cascade, Pair
from tilewright.mapper.fusion.join.compatibility_graph import Graph, Limits, graph_of
from tilewright.mapper.fusion.join.cost_limit import Allowance
from tilewright.mapper.fusion.join.einsum_bounds import NEVER, Floors
from tilewright.mapper.fusion.join.join_steps import steps_of
from tilewright.mapper.fusion.join.label_deepening import LabelPass
from tilewright.mapper.fusion.join.label_pass import Counted, Label
from tilewright.mapper.fusion.pmappings.pmapping_builder import Choice, Scope, TableMaker, Wanted
from tilewright.mapper.fusion.pmappings.pmapping_cache import Shelf
from tilewright.mapper.fusion.pmappings.pmapping_table import Table
from tilewright.mapper.searches.budget import Budget, OutOfBudget
from tilewright.mapper.searches.result import Report, SearchStatistics

STEPS = (1e-9, 0.01, 0.05, 0.2, 0.6, 2.0, inf)
TIE = 1e-12
MANY = 4  # Einsums
TINY, HUGE = 1e-300, 1e300


@dataclass(frozen=True, slots=True)
class Found:
    """The best label with the graph it lives in (None: none found).

    `lower`: no mapping has a lower value; `least`: the least energy and latency, each on its own;
    `exhausted`: the budget ended the search.
    """

    label: Label | None
    graph: Graph | None
    lower: float
    least: tuple[float, float]
    exhausted: bool


class Deepening:
    """Searches one cascade. `seed`: a mapping found before; `shelf`: of searches of the same."""

    def __init__(
        self,
        cascade: Cascade,
        how: tuple[Budget, Report],
        seed: Found | None = None,
        shelf: Shelf | None = None,
    ) -> None:
        self._cascade = cascade
        self._budget, self._watch = how
        self.shelf = shelf or Shelf()
        self._best: tuple[Label, Graph] | None = None
        if seed is not None and seed.label is not None and seed.graph is not None:
            self._best = seed.label, seed.graph
        self._known: Floors | None = None
        self._lower = 0.0
        self._least = (0.0, 0.0)
        self._labels = 0
        self._keys = 0
        hurried = cascade.objective != "energy" and cascade.tie is None
        timed = cascade.objective != "energy" or cascade.tie is not None
        scope = Scope(
            cascade.counts_room, cascade.capacities, timed, cascade.repeats, cascade.usage, hurried
        )
        self._maker = TableMaker(cascade.boundaries, scope, self._budget, self.shelf)

    @property
    def statistics(self) -> SearchStatistics:
        """What was looked at so far."""
        made = self._maker.statistics
        return replace(
            made, labels=made.labels + self._labels, evaluations=1, compatibilities=self._keys
        )

    def solve(self) -> Found:
        """Return the best mapping, proven or as far as the budget goes."""
        try:
            self._search()
        except OutOfBudget:
            return self._found(exhausted=True)
        return self._found(exhausted=False)

    def within(self, energy: float, latency: float) -> Graph | None:
        """Return the graph of all mappings with at most so much energy and latency.

        OutOfBudget; None when there is no mapping.
        """
        most = energy, latency
        floors = self._floors()
        floors.settle(lambda _: True, lambda _: most)
        wanted = Wanted(Allowance(), self._cascade.counts_room)
        return self._graph(floors.allowances(most), floors.limits(most), wanted)

    def slices(self, shares: Sequence[float]) -> Iterator[tuple[float, Graph | None]]:
        """Yield limits of energy, such shares above the least, with the graphs of all mappings
        within them (None: there is none).

        OutOfBudget.
        """
        floors = self._floors()
        floors.settle(lambda _: True, lambda _: NEVER)
        least = floors.least[0]
        for share in shares:
            most = (least * (1 + share) if share < inf else inf), inf
            wanted = Wanted(Allowance(), self._cascade.counts_room)
            yield most[0], self._graph(floors.allowances(most), floors.limits(most), wanted)

    def ceilings(self, limit: float) -> Pair:
        """Return the most energy and the most latency that a value of `limit` leaves room for."""
        return self._ceilings(limit, *self._least)

    def choices_within(self, most: Pair) -> dict[tuple[str, int, int], Pair]:
        """Return the choices with which a mapping may cost no more than `most`, by name, with
        bounds of what they cost."""
        return {} if self._known is None else self._known.within(most)

    def _found(self, exhausted: bool) -> Found:
        label, graph = self._best or (None, None)
        return Found(label, graph, self._lower, self._least, exhausted)

    def _search(self) -> None:
        floors = self._known = self._floors()
        self._least = floors.least
        self._lower = min(float(self._cascade.bound(*self._least)), self._value)
        if self._lower >= self._value:
            return
        try:
            self._bound(floors)
        finally:
            self._least = floors.least
            self._lower = min(float(self._cascade.bound(*self._least)), self._value)
        least = self._lower
        for slack in STEPS if self._cascade.tie is None else STEPS[-1:]:
            limit = least * (1 + slack) if least > 0 else inf
            if self._value <= self._lower * (1 + TIE) or self._lower == inf:
                return
            self._below(limit, floors, first=slack == STEPS[0])
            self._lower = min(max(self._lower, limit), self._value)
            self._watch(self._value, self._lower)

    def _bound(self, floors: Floors) -> None:
        """Raise the bounds; on the way, find a mapping that keeps nothing on chip."""
        if self._value < inf:
            floors.open()
            least = float(self._cascade.bound(*floors.least))
            if least * (1 + TIE) >= self._value or self._few_tie:
                return
        if self._best is None and self._cascade.tie is None:
            floors.settle(lambda choice: choice.mask == 0, lambda _: NEVER)
            self._unfused(floors)
        floors.settle(lambda _: True, lambda least: self._ceilings(self._value, *least))
        both = self._cascade.objective == "edp" and self._many
        if both and float(self._cascade.bound(*floors.least)) * (1 + TIE) < self._value:
            floors.settle(lambda _: True, lambda least: self._ceilings(self._value, *least), 1)

    @property
    def _few_tie(self) -> bool:
        """Tell whether rows that tie are few. Of equal latency there are many, if many Einsums
        together leave each far more energy than it can be better by."""
        cascade = self._cascade
        return cascade.tie is not None and not (cascade.objective == "energy" and self._many)

    @property
    def _many(self) -> bool:
        """Tell whether many Einsums are solved."""
        return sum(not isinstance(solo, LoneTable) for solo in self._cascade.einsums) >= MANY

    def _floors(self) -> Floors:
        return Floors(self._cascade, self._maker)

    def _unfused(self, floors: Floors) -> None:
        """Find a mapping that keeps nothing on chip."""
        allowed = [
            {choice: most for choice, most in each.items() if choice.mask == 0}
            for each in floors.alone()
        ]
        wanted = Wanted(Allowance(), fused=False)
        self._solve(self._graph(allowed, floors.limits(NEVER), wanted), inf)

    def _below(self, limit: float, floors: Floors, first: bool) -> None:
        """Look for a mapping of value `limit` or less, better than the incumbent: at few of those
        without shared loops first, at all in the end. `first`: the limit is the lower bound."""
        for fused, few in self._ways(first):
            most = min(limit, self._value)
            room = self.ceilings(most)
            wanted = Wanted(Allowance(), fused, few)
            graph = self._graph(floors.allowances(room), floors.limits(room), wanted)
            self._solve(graph, most)
            if self._value <= self._lower * (1 + TIE):
                return

    def _ways(self, first: bool) -> Iterator[tuple[bool, bool]]:
        """Yield which mappings are looked at: whether with shared loops, whether at few only."""
        attained = first and self._cascade.objective == "latency" and self._cascade.tie is None
        for few in (True, False) if attained else (False,):
            for fused in (False, True) if self._cascade.counts_room else (False,):
                yield fused, few

    @property
    def _value(self) -> float:
        """The value of the incumbent."""
        if self._best is None:
            return inf if self._cascade.tie is None else self._cascade.tie.value
        return float(self._cascade.value(*self._best[0].row))

    def _graph(
        self, allowed: Sequence[Mapping[Choice, Allowance]], limits: Limits, wanted: Wanted
    ) -> Graph | None:
        """Return the graph of rows within the allowances; None if an Einsum has none."""
        tables: list[tuple[Table | LoneTable, ...]] = []
        for solo, choices in zip(self._cascade.einsums, allowed, strict=True):
            if isinstance(solo, LoneTable):
                tables.append((solo.with_loops if wanted.fused and solo.shares else solo,))
                continue
            pairs = [(choice, replace(wanted, most=most)) for choice, most in choices.items()]
            made = [self._maker.table(choice, few) for choice, few in pairs]
            if not any(table.rows for table in made):
                return None
            tables.append(tuple(table.numbered(i) for i, table in enumerate(made)))
        steps = steps_of(self._cascade.boundaries, tables, self._cascade.limit)
        graph = graph_of(steps, limits, self._budget)
        self._keys += graph.keys
        return graph

    def _solve(self, graph: Graph | None, most: float) -> None:
        """Pass labels; keep the best mapping of value `most` or less."""
        if graph is None:
            return
        cascade = self._cascade
        room = Counted(cascade.capacities, cascade.usage)
        folded = LabelPass(graph, room, cascade.value, self._budget).solve(most)
        self._labels += folded.labels
        if folded.exhausted:
            raise OutOfBudget
        if folded.best is not None:
            self._best = folded.best, graph
            self._watch(self._value, self._lower)

    def _ceilings(self, limit: float, energy: float, latency: float) -> tuple[float, float]:
        """Return the same when all Einsums cost at least `energy` and `latency`."""
        objective, value = self._cascade.objective, self._cascade.bound
        most = NEVER if self._cascade.tie is None else self._cascade.tie.most
        if objective == "energy":
            return limit, most[1]
        if objective == "latency":
            return most[0], limit
        if objective == "edp":
            return _share(limit, latency), _share(limit, energy)
        return (
            _highest(lambda more: value(more, latency), energy, limit),
            _highest(lambda more: value(energy, more), latency, limit),
        )


def _highest(value: Callable[[float], float], start: float, limit: float) -> float:
    """Return a number beyond which `value`, which never falls, exceeds `limit`."""
    low = high = max(start, TINY)
    while value(high) <= limit:
        if high > HUGE:
            return inf
        low, high = high, 4 * high
    while high > low * (1 + TIE):
        middle = (low + high) / 2
        low, high = (middle, high) if value(middle) <= limit else (low, middle)
    return high


def _share(product: float, other: float) -> float:
    return product / other if other > 0 else inf
