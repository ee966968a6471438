"""The Pareto set over energy and latency of a workload whose Einsums may share loops.

First the corners of the convex hull: each is the least of energy + price x latency, which the pass
of labels finds with its bounds. Then one more pass keeps every label that no point found covers,
when the least that is still to be paid is added (lattice-dp.md §8.4, §8.5).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from tilewright.mapper.cascade.answer import mapping_of
from tilewright.mapper.cascade.api import VALUES, no_collection, plan_of
from tilewright.mapper.cascade.budget import Budget, OutOfBudget
from tilewright.mapper.cascade.deepening import Deepening
from tilewright.mapper.cascade.fold import Graph
from tilewright.mapper.cascade.labels import LabelPass, Value
from tilewright.mapper.cascade.lone import LoneTable
from tilewright.mapper.cascade.walk import Label, Walk
from tilewright.mapper.evaluation import evaluate
from tilewright.mapper.fronts.api import Front, best_of, measures_for
from tilewright.mapper.fronts.points import NOISE, undominated
from tilewright.mapper.searches.errors import InternalError, UnsupportedFeature
from tilewright.mapper.searches.judge import TOLERANCE
from tilewright.mapper.searches.kernels import Floats
from tilewright.mapper.searches.metrics import Objective
from tilewright.mapper.searches.options import Request
from tilewright.mapper.searches.result import FrontProof, ScoredMapping, Statistics

Least = Callable[[Value], Label | None]  # the label with the least value


def front_of_fused(request: Request, known: ScoredMapping, scope: str) -> Front:
    """Return the Pareto set of fused and unfused mappings; `known`: a mapping found before.

    UnsupportedFeature for the usage of a memory.
    """
    measures = measures_for(request, request.workload.einsums)
    if measures.memories:
        raise UnsupportedFeature(
            "a front over the usage of a memory is not searched over fused mappings",
            instead="search without fusion, or a front over energy and latency",
        )
    search = _Search(request)
    with no_collection():
        whole = search.run()
    found = best_of([known, *search.found], measures)
    return Front(found, FrontProof(measures.names, inf if whole else 0.0, scope), search.statistics)


class _Search:
    """Finds the Pareto set of one workload; `found` so far."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._budget = Budget(request.deadline)
        self._plan = plan_of(request, "front", VALUES["edp"])
        self.found: list[ScoredMapping] = []
        self.statistics = Statistics()

    def run(self) -> bool:
        """Tell whether the set is whole."""
        ends = [self._end(name) for name in ("energy", "latency")]
        if ends[0] is None or ends[1] is None:
            return False
        capacity = self._plan.cascade.capacity
        search = Deepening(self._plan.cascade, self._budget, _unwatched)
        most = ends[1].score.energy, ends[0].score.latency
        try:
            graph = search.within(most[0] * (1 + TOLERANCE), most[1] * (1 + TOLERANCE))
            if graph is None:
                raise InternalError("the ends of the front are not among its mappings")
            corners = hull(lambda value: self._least(graph, value))
            front = FrontPass(graph, capacity, corners, self._budget)
            labels = front.solve()
        except OutOfBudget:
            return False
        self.statistics = self.statistics.plus(search.statistics)
        self.statistics = self.statistics.plus(Statistics(labels=front.labels))
        self.found += [self._scored(graph, label) for label in labels]
        lone = [one for one in self._plan.cascade.einsums if isinstance(one, LoneTable)]
        return all(one.ideal for one in lone)

    def _end(self, objective: Objective) -> ScoredMapping | None:
        """Return the mapping with the least of one metric; None when the budget is over."""
        cascade = replace(self._plan.cascade, objective=objective, value=VALUES[objective])
        search = Deepening(cascade, self._budget, _unwatched)
        result = search.solve()
        self.statistics = self.statistics.plus(search.statistics)
        if result.label is None or result.graph is None:
            return None
        scored = self._scored(result.graph, result.label, timed=objective != "energy")
        self.found.append(scored)
        return None if result.exhausted else scored

    def _least(self, graph: Graph, value: Value) -> Label | None:
        search = LabelPass(graph, self._plan.cascade.capacity, value, self._budget)
        folded = search.solve()
        self.statistics = self.statistics.plus(Statistics(labels=folded.labels))
        if folded.exhausted:
            raise OutOfBudget
        return folded.best

    def _scored(self, graph: Graph, label: Label, timed: bool = True) -> ScoredMapping:
        """Let the model score a label's mapping; the search's numbers must agree with it."""
        plan, request = self._plan, self._request
        mapping = mapping_of(graph, label, plan.cascade.boundaries, plan.room)
        score = evaluate(request.arch, request.workload, mapping, request.options.conventions)
        pairs = [(label.energy, score.energy), (label.latency, score.latency)]
        for mine, its in pairs if timed else pairs[:1]:
            if abs(mine - its) > TOLERANCE * max(abs(mine), abs(its)):
                raise InternalError(f"the fused search computed {pairs!r} (mine, the model's)")
        return ScoredMapping(mapping, score)


def _unwatched(value: float, lower: float) -> None:
    """Show nothing."""
    del value, lower


def hull(least: Least) -> list[Label]:
    """Return the corners of the convex hull between least energy and least latency.

    Of both ends the one with the least of the other metric (as far as rounding shows it).
    """
    ends = [least(_energy), least(_latency)]
    if ends[0] is None or ends[1] is None:
        return []
    return [ends[0], *_between(least, ends[0], ends[1]), ends[1]]


def _energy(energy: float, latency: float) -> float:
    del latency
    return energy


def _latency(energy: float, latency: float) -> float:
    del energy
    return latency


def _between(least: Least, first: Label, last: Label) -> list[Label]:
    more, less = last.energy - first.energy, first.latency - last.latency
    if more <= NOISE * last.energy or less <= NOISE * first.latency:
        return []
    price = more / less

    def value(energy: float, latency: float) -> float:
        return energy + price * latency

    corner = least(value)
    chord = value(first.energy, first.latency)
    if corner is None or value(corner.energy, corner.latency) >= chord * (1 - 1e-9):
        return []
    return [*_between(least, first, corner), corner, *_between(least, corner, last)]


class FrontPass:
    """Finds all labels of a graph that no label of `known` covers."""

    def __init__(
        self, graph: Graph, capacity: float, known: Sequence[Label], budget: Budget
    ) -> None:
        self._walk = Walk(graph, capacity, budget)
        self._known = pareto_labels(known)
        self._energies = np.array([label.energy for label in self._known])
        self._latencies = np.array([label.latency for label in self._known])

    @property
    def labels(self) -> int:
        """Labels kept on the way."""
        return self._walk.labels

    def solve(self) -> list[Label]:
        """Return the Pareto set; OutOfBudget."""
        found = self._walk.run(self._covered)
        new = [self._walk.label(number, metrics) for number, metrics in enumerate(found)]
        return pareto_labels([*self._known, *new])

    def _covered(self, energy: Floats, latency: Floats) -> NDArray[np.bool_]:
        """Tell where a known label is nowhere above these two."""
        if not self._known:
            return np.zeros(len(energy), np.bool_)
        place = np.searchsorted(self._energies, energy * (1 + NOISE), side="right")
        lowest = self._latencies[np.maximum(place - 1, 0)] <= latency * (1 + NOISE)
        return (place > 0) & lowest


def pareto_labels(labels: Sequence[Label]) -> list[Label]:
    """Return the labels that no other one covers in energy and latency, by energy."""
    if not labels:
        return []
    rows = np.array([(label.energy, label.latency) for label in labels])
    return [labels[i] for i in undominated(rows).tolist()]
