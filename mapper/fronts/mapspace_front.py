"""Sweep one mapspace: compile it, look for a target, and let the model judge what was found."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Protocol

import numpy as np

from tilewright.mapper.fronts.label_sweep import Sweep
from tilewright.mapper.fronts.pareto_points import NOISE, covered, least_row, undominated
from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.mapping.score import Score
from tilewright.mapper.mapspace.assemble import assemble
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.budget import ENDLESS, Budget, OutOfBudget
from tilewright.mapper.searches.copies.copy_einsums import Copies, CopySearch
from tilewright.mapper.searches.exact.dynamic_program import DEEPENING
from tilewright.mapper.searches.exact.label_metrics import Goal, Objective
from tilewright.mapper.searches.exact.metric_terms import refuse_unsupported
from tilewright.mapper.searches.exact.placement_bound import least_costs
from tilewright.mapper.searches.methods.exhaustive import is_small
from tilewright.mapper.searches.objective.formula import Formula
from tilewright.mapper.searches.objective.least_formula import LeastTarget
from tilewright.mapper.searches.objective.measures import Measures
from tilewright.mapper.searches.objective.targets import Candidate, FrontTarget, Target
from tilewright.mapper.searches.program.compiled_mapspace import compiled
from tilewright.mapper.searches.result import Statistics
from tilewright.mapper.searches.search_errors import InternalError, UnsupportedFeature
from tilewright.mapper.searches.verify import Judge, agree
from tilewright.mapper.workload.errors import InfeasibleMapping, MappingError

SLICES = (0.01, 0.1, 1.0, inf)  # of energy, above the least
BATCH = 1000
BOTH: tuple[Objective, ...] = ("energy", "latency")


class Sweeper(Protocol):
    """Goes through one mapspace."""

    @property
    def labels(self) -> int:
        """Number of partial mappings made."""
        ...

    @property
    def states(self) -> int:
        """Number of tile shapes, or of their classes."""
        ...

    @property
    def floor(self) -> tuple[float, ...]:
        """Return the row of one instance that no mapping is below; inf: there is none."""
        ...

    def run(self, target: Target, most_energy: float = inf) -> None:
        """Offer to `target` all that it wants; OutOfBudget leaves it with what was found.

        `most_energy`: mappings above it need not be found (they may be).
        """
        ...


def sweep_of(space: Mapspace, memories: tuple[str, ...], budget: Budget = ENDLESS) -> Sweeper:
    """Make `space` ready; UnsupportedFeature for what is not modelled, OutOfBudget."""
    if space.uneven:
        from tilewright.mapper.fronts.uneven_sweep import UnevenSweep

        return UnevenSweep(space, memories, budget)
    spread = {c.name for c in space.problem.components if c.physical_fanout > 1}
    refuse_unsupported(space.problem, networks=True, arrays=not spread & set(memories))
    ready = compiled(space, budget=budget, tracked=frozenset(memories))
    return Sweep(ready, tuple(ready.engine.fields.room[name] for name in memories), budget)


def crowded(space: Mapspace, memories: Sequence[str]) -> Mapspace:
    """Return `space` with all ways to use less of `memories`, also where everything fits."""
    names = space.crowded | frozenset(memories)
    if names == space.crowded:
        return space
    return space.with_crowded(names)


@dataclass(frozen=True, slots=True)
class Point:
    """A mapping of one Einsum with its score, and its row (see Measures)."""

    mapping: Mapping
    score: Score
    row: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SpaceFront:
    """The Pareto points of one mapspace; `proven`: all of them with at most so much energy (J)."""

    points: tuple[Point, ...]
    proven: float
    statistics: Statistics


def front_of_space(space: Mapspace, measures: Measures, budget: Budget) -> SpaceFront:
    """Return the Pareto set of `space` over the metrics, as far as the budget lets it.

    What the dynamic program cannot model is enumerated if it is small; else UnsupportedFeature.
    """
    began = time.monotonic()
    space = crowded(space, measures.memories)
    try:
        sweep = sweep_of(space, measures.memories, budget)
    except UnsupportedFeature:
        if not _listable(space, budget):
            raise
        return _enumerated(space, measures, budget)
    except OutOfBudget:
        return SpaceFront((), 0.0, Statistics())
    target = FrontTarget(measures.counted)
    proven = _deepened(sweep, target, budget)
    times = space.einsum.n_instances
    points = judged(space, measures, target.found)
    statistics = Statistics(
        space.templates_made, sweep.states, sweep.labels, len(points), 1,
        time.monotonic() - began,
    )  # fmt: skip
    return SpaceFront(points, proven * times if proven > 0 else 0.0, statistics)


@dataclass(frozen=True, slots=True)
class SpaceLeast:
    """The mapping of one mapspace with the least value of a formula (None: there is none)."""

    best: Point | None
    value: float
    lower_bound: float
    statistics: Statistics


def least_of_space(space: Mapspace, formula: Formula, budget: Budget) -> SpaceLeast:
    """Return the least value of `formula`, or the best found with a bound when the budget ends.

    What the dynamic program cannot model is enumerated, as in front_of_space.
    """
    began = time.monotonic()
    space = crowded(space, formula.memories)
    try:
        sweep = sweep_of(space, formula.memories, budget)
    except UnsupportedFeature:
        if not _listable(space, budget):
            raise
        return _least_listed(space, formula, budget)
    except OutOfBudget:
        return SpaceLeast(None, inf, _least_of_all(space, formula), Statistics())
    times = float(space.einsum.n_instances)
    target = LeastTarget(formula, sweep.floor, times)
    bound = _narrowed(sweep, target)
    measures = Measures(("energy", "latency"), formula.memories)
    found = [] if target.best is None else [target.best]
    points = judged(space, measures, found)
    best = points[0] if points else None
    value = inf if best is None else formula.of(*best.row)
    statistics = Statistics(
        space.templates_made, sweep.states, sweep.labels, len(points), 1,
        time.monotonic() - began,
    )  # fmt: skip
    return SpaceLeast(best, value, min(bound, value), statistics)


def _least_of_all(space: Mapspace, formula: Formula) -> float:
    """Return a bound of the formula that needs no templates."""
    times = space.einsum.n_instances
    energy, latency = least_costs(space, space.placements)
    return (
        inf
        if energy == inf
        else formula.of(energy * times, latency * times, *(0.0 for _ in formula.memories))
    )


def _narrowed(sweep: Sweeper, target: LeastTarget) -> float:
    """Raise the limit until the best lies below it; return a bound on every value."""
    bound = target.least
    for slack in DEEPENING:
        target.limit = target.least * (1 + slack) if target.least > 0 else inf
        try:
            sweep.run(target)
        except OutOfBudget:
            return bound
        if target.value <= target.limit or target.limit == inf:
            return target.value
        bound = target.limit
    return bound


def _deepened(sweep: Sweeper, target: FrontTarget, budget: Budget) -> float:
    """Sweep; with a budget, mappings of little energy first. Return the energy swept to the end.

    Joule of one instance; 0 if not even the first sweep came to its end.
    """
    least, proven = sweep.floor[0], 0.0
    if not least < inf:
        return inf
    steps = SLICES if budget.ends else (inf,)
    for slack in steps:
        limit = least * (1 + slack) if least > 0 else inf
        try:
            sweep.run(target, limit)
        except OutOfBudget:
            return proven
        proven = limit
        if limit == inf:
            break
    return proven


def judged(
    space: Mapspace, measures: Measures, candidates: Sequence[Candidate]
) -> tuple[Point, ...]:
    """Let the model score candidates; the sweep's numbers must agree with it."""
    judge = Judge(space)
    times = space.einsum.n_instances
    points: list[Point] = []
    for one in candidates:
        mapping = assemble(space.problem, one.program.slot_sequence, one.tiles)
        score = judge.score(mapping)
        row = measures.row(score)
        mine = (one.row[0] * times, one.row[1] * times, *one.row[2:])
        _confirm(mine, row, mapping)
        points.append(Point(mapping, score, row))
    return best_points(points, measures)


def best_points(points: Sequence[Point], measures: Measures) -> tuple[Point, ...]:
    """Return the points that no other one covers, by the values of the metrics."""
    if not points:
        return ()
    rows = np.array([point.row for point in points])[:, list(measures.counted)]
    return tuple(points[i] for i in undominated(rows).tolist())


def _confirm(mine: Sequence[float], its: Sequence[float], mapping: Mapping) -> None:
    """Raise InternalError where the sweep and the model differ."""
    for a, b in zip(mine, its, strict=True):
        if not agree(a, b):
            raise InternalError(
                f"the search computed {list(mine)!r}, the model {list(its)!r}, for the mapping\n"
                f"{mapping}"
            )


def _enumerated(space: Mapspace, measures: Measures, budget: Budget) -> SpaceFront:
    """Score every mapping of a small mapspace, or the few that matter of a copy."""
    began = time.monotonic()
    judge = Judge(space)
    points: tuple[Point, ...] = ()
    count, batch, whole = 0, list[Point](), True
    try:
        for mapping in budget.watched(_listed(space, budget)):
            count += 1
            try:
                score = judge.score(mapping)
            except (InfeasibleMapping, MappingError):
                continue
            batch.append(Point(mapping, score, measures.row(score)))
            if len(batch) >= BATCH:
                points, batch = best_points([*points, *batch], measures), []
    except OutOfBudget:
        whole = False
    points = best_points([*points, *batch], measures)
    if space.einsum.is_copy and whole:
        whole = _nothing_missing(space, measures, points, budget)
    statistics = Statistics(space.templates_made, 0, 0, count, 1, time.monotonic() - began)
    return SpaceFront(points, inf if whole else 0.0, statistics)


def _nothing_missing(
    space: Mapspace, measures: Measures, points: Sequence[Point], budget: Budget
) -> bool:
    """Tell whether every mapping of a copy was listed, or one has the least energy and latency."""
    try:
        if Copies(space, limits=budget).every is not None:
            return True
    except OutOfBudget:
        return False
    if measures.memories or not points:
        return False
    search = CopySearch(budget.memory)
    least = [search.find(space, Goal(one), budget.seconds_left).lower_bound for one in BOTH]
    bounds = np.array([least]) * (1 + NOISE)
    return bool(covered(bounds, np.array([point.row for point in points]))[0])


def _listable(space: Mapspace, budget: Budget) -> bool:
    return space.einsum.is_copy or is_small(space, budget)


def _listed(space: Mapspace, budget: Budget) -> Iterable[Mapping]:
    """Return the mappings to score. OutOfBudget, then or later."""
    if space.einsum.is_copy:
        copies = Copies(space, limits=budget)
        return copies.few if copies.every is None else copies.every
    return space.mappings_within(budget.check)


def _least_listed(space: Mapspace, formula: Formula, budget: Budget) -> SpaceLeast:
    """Take the least of what an enumeration leaves."""
    measures = Measures(("energy", "latency"), formula.memories)
    found = _enumerated(space, measures, budget)
    if not found.points:
        return SpaceLeast(None, inf, found.proven, found.statistics)
    rows = np.array([point.row for point in found.points])
    values = formula.value(rows)
    best = found.points[least_row(values, rows)]
    value = formula.of(*best.row)
    return SpaceLeast(best, value, value if found.proven == inf else 0.0, found.statistics)
