"""The search of a whole workload: rows that cost too much are never made.

1. The least that each Einsum can cost, alone, is a lower bound of it, and their sum of all.
2. Rows that cost more than a limit leaves them, when all other Einsums cost their least, cannot
   matter below that limit. It is raised from the lower bound on, until a mapping lies below it:
   then none is better (lattice-dp.md §8.5, §9.2). At each limit mappings without shared loops come
   first: there are few, and one that meets the lower bound ends the search.

With endless room in the second memory no shared loop pays: a loop right below the lowest tensor on
chip costs no more than the same loop above it, it only needs more room. Then none is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf

from tilewright.mapper.cascade.boundary import Boundaries
from tilewright.mapper.cascade.budget import Allowance, Budget, OutOfBudget
from tilewright.mapper.cascade.fold import Graph, graph_of, steps_of
from tilewright.mapper.cascade.labels import Label, LabelPass, Value
from tilewright.mapper.cascade.lone import LoneTable
from tilewright.mapper.cascade.maker import Run, Scope, TableMaker
from tilewright.mapper.cascade.table import Table
from tilewright.mapper.searches.result import Statistics

STEPS = (1e-9, 0.01, 0.05, 0.2, 0.6, 2.0, inf)
TIE = 1e-12
TINY, HUGE = 1e-300, 1e300
Solo = LoneTable | tuple[Run, ...]  # a copy, or an Einsum on the way to each of its computes


@dataclass(frozen=True, slots=True)
class Cascade:
    """The workload to search: its Einsums in order, and the `capacity` of the second memory."""

    boundaries: Boundaries
    einsums: tuple[Solo, ...]
    capacity: float
    objective: str
    value: Value


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
    """Searches one cascade."""

    def __init__(
        self, cascade: Cascade, budget: Budget, watch: Callable[[float, float], None]
    ) -> None:
        self._cascade = cascade
        self._budget = budget
        self._watch = watch
        self._best: tuple[Label, Graph] | None = None
        self._lower = 0.0
        self._least = (0.0, 0.0)
        self._labels = 0
        self._keys = 0
        scope = Scope(cascade.capacity < inf, cascade.capacity, cascade.objective != "energy")
        self._maker = TableMaker(cascade.boundaries, scope, budget)

    @property
    def statistics(self) -> Statistics:
        """What was looked at so far."""
        made = self._maker.statistics
        return replace(made, labels=made.labels + self._labels, evaluations=1, keys=self._keys)

    def solve(self) -> Found:
        """Return the best mapping, proven or as far as the budget goes."""
        try:
            self._search()
        except OutOfBudget:
            return self._found(exhausted=True)
        return self._found(exhausted=False)

    def within(self, energy: float, latency: float) -> Graph:
        """Return the graph of all mappings with at most so much energy and latency.

        OutOfBudget.
        """
        floors = self._floors()
        least = _total(floors)
        allowances = [
            Allowance(energy - (least[0] - own[0]), latency - (least[1] - own[1])) for own in floors
        ]
        return self._graph(allowances, self._cascade.capacity < inf)

    def _found(self, exhausted: bool) -> Found:
        label, graph = self._best or (None, None)
        return Found(label, graph, self._lower, self._least, exhausted)

    def _search(self) -> None:
        floors = self._floors()
        self._least = _total(floors)
        least = self._lower = self._cascade.value(*self._least)
        if not least < inf:
            return
        for slack in STEPS:
            limit = least * (1 + slack) if least > 0 else inf
            self._below(limit, floors)
            self._lower = min(max(self._lower, limit), self._value)
            self._watch(self._value, self._lower)
            if self._value <= self._lower * (1 + TIE) or limit == inf:
                return

    def _below(self, limit: float, floors: Sequence[tuple[float, float]]) -> None:
        """Look for a mapping of value `limit` or less, better than the incumbent."""
        for fused in (False, True)[: 1 + (self._cascade.capacity < inf)]:
            most = min(limit, self._value)
            self._solve(self._graph(self._allowances(floors, most), fused), most)
            if self._value <= self._lower * (1 + TIE):
                return

    def _floors(self) -> list[tuple[float, float]]:
        """Return the least energy and latency of each Einsum alone."""
        objective = self._cascade.objective
        found: list[tuple[float, float]] = []
        for solo in self._cascade.einsums:
            if isinstance(solo, LoneTable):
                found.append(solo.least)
                continue
            try:
                least = [self._maker.floor(run, objective) for run in solo]
            except OutOfBudget:
                rest = self._cascade.einsums[len(found) :]
                self._lower = self._cascade.value(*_total([*found, *map(_work, rest)]))
                raise
            found.append((min(e for e, _ in least), min(t for _, t in least)))
        return found

    @property
    def _value(self) -> float:
        """The value of the incumbent."""
        if self._best is None:
            return inf
        return self._cascade.value(self._best[0].energy, self._best[0].latency)

    def _graph(self, allowances: Sequence[Allowance], fused: bool) -> Graph:
        tables: list[tuple[Table | LoneTable, ...]] = []
        for solo, allowance in zip(self._cascade.einsums, allowances, strict=True):
            if isinstance(solo, LoneTable):
                tables.append((solo,))
            else:
                tables.append(tuple(self._maker.table(run, allowance, fused) for run in solo))
        graph = graph_of(steps_of(self._cascade.boundaries, tables), self._budget)
        self._keys += graph.keys
        return graph

    def _solve(self, graph: Graph, most: float) -> None:
        """Pass labels; keep the best mapping of value `most` or less."""
        cascade = self._cascade
        folded = LabelPass(graph, cascade.capacity, cascade.value, self._budget).solve(most)
        self._labels += folded.labels
        if folded.exhausted:
            raise OutOfBudget
        if folded.best is not None:
            self._best = folded.best, graph
            self._watch(self._value, self._lower)

    def _allowances(self, floors: Sequence[tuple[float, float]], limit: float) -> list[Allowance]:
        """Return what each Einsum may cost when all others cost their least."""
        energy, latency = _total(floors)
        most = self._ceilings(limit, energy, latency)
        return [
            Allowance(most[0] - (energy - own[0]), most[1] - (latency - own[1])) for own in floors
        ]

    def _ceilings(self, limit: float, energy: float, latency: float) -> tuple[float, float]:
        """Return the most energy and the most latency that a value of `limit` leaves room for."""
        objective, value = self._cascade.objective, self._cascade.value
        if objective == "energy":
            return limit, inf
        if objective == "latency":
            return inf, limit
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


def _total(floors: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return sum(one[0] for one in floors), sum(one[1] for one in floors)


def _work(solo: Solo) -> tuple[float, float]:
    """Return what computing alone costs: a bound that needs no search."""
    if isinstance(solo, LoneTable):
        return solo.least
    return min(run.work[0] for run in solo), min(run.work[1] for run in solo)


def _share(product: float, other: float) -> float:
    return product / other if other > 0 else inf
