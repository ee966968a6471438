"""Find the Pareto set, or the least value of a formula, of one mapspace (theory/fronts.md §1, §2).

The mapspace is compiled and swept for a target. The model then scores the mappings that the sweep
offered: its figures must agree with those of the labels.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tilewright.mapper.fronts.label_sweep import LabelSweep
from tilewright.mapper.fronts.pareto_points import NOISE, covered, least_row, undominated
from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.mapping.score import Score
from tilewright.mapper.mapspace.assemble import assemble
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.budget import UNLIMITED, Budget, OutOfBudget
from tilewright.mapper.searches.copies.copy_einsums import CopyMappings, CopySearch
from tilewright.mapper.searches.exact.dynamic_program import DEEPENING
from tilewright.mapper.searches.exact.kernels import Floats
from tilewright.mapper.searches.exact.label_fields import ONE_DESIGN, DesignFamily
from tilewright.mapper.searches.exact.label_metrics import Goal, Objective
from tilewright.mapper.searches.exact.least_placement_costs import least_costs
from tilewright.mapper.searches.exact.metric_terms import refuse_unsupported
from tilewright.mapper.searches.mapping_scorer import MappingScorer, figures_agree
from tilewright.mapper.searches.methods.exhaustive import is_enumerable
from tilewright.mapper.searches.objective.least_formula import FormulaTarget
from tilewright.mapper.searches.objective.measures import FrontMetrics
from tilewright.mapper.searches.objective.objective_formula import ObjectiveFormula
from tilewright.mapper.searches.objective.targets import (
    FrontTarget,
    TracedMapping,
    rounded_to_sizes,
)
from tilewright.mapper.searches.program.compiled_mapspace import compile_mapspace
from tilewright.mapper.searches.result import SearchStatistics
from tilewright.mapper.searches.search_errors import InternalError
from tilewright.mapper.workload.errors import InfeasibleMapping, MappingError, UnsupportedFeature

if TYPE_CHECKING:
    from tilewright.mapper.fronts.uneven_sweep import UnevenSweep

SLICES = (0.01, 0.1, 1.0, inf)  # of energy, above the least
SLICES_OF_SIZES = (0.02, inf)  # the same, where few sizes tell bits apart
MANY_LABELS = 10_000  # made so far: what is left is swept at once
BATCH = 1000
BOTH: tuple[Objective, ...] = ("energy", "latency")


MapspaceSweep: TypeAlias = "LabelSweep | UnevenSweep"  # goes through all mappings for a target


def mapspace_sweep(
    space: Mapspace,
    memories: tuple[str, ...],
    budget: Budget = UNLIMITED,
    family: DesignFamily = ONE_DESIGN,
) -> MapspaceSweep:
    """Compile the mapspace of an Einsum, so that all its mappings can be gone through.

    The result offers to a target (a front, or the least value of a formula) every mapping that it
    wants, with energy, latency and the bits in use of `memories`. `budget`: limits. `family`:
    architectures searched together. Raises UnsupportedFeature for what the dynamic program does not
    model, OutOfBudget.
    """
    if space.uneven:
        from tilewright.mapper.fronts.uneven_sweep import UnevenSweep

        return UnevenSweep(space, memories, budget)
    spread = {c.name for c in space.problem.components if c.physical_fanout > 1}
    refuse_unsupported(space.problem, networks=True, arrays=not spread & set(memories))
    tracked = frozenset(memories)
    compiled = compile_mapspace(space, budget=budget, tracked=tracked, family=family)
    fields = compiled.engine.fields
    bits = [fields.used_bits[name] for name in memories]
    return LabelSweep(compiled, tuple(bits), budget)


def with_usage_choices(space: Mapspace, memories: Sequence[str]) -> Mapspace:
    """Return the mapspace extended by all ways to use less of some memories.

    A mapspace leaves out mappings that only use less of a memory in which everything fits; where
    the usage of a memory counts, they matter. `memories`: names.
    """
    names = space.crowded | frozenset(memories)
    if names == space.crowded:
        return space
    return space.with_crowded(names)


@dataclass(frozen=True, slots=True)
class FrontPoint:
    """Mapping of one Einsum as a point of a front.

    `score`: the model's. `row`: energy in joule, latency in second, then bits in use of each
    counted memory, of all instances of the Einsum.
    """

    mapping: Mapping
    score: Score
    row: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class MapspaceFront:
    """Pareto set of one mapspace.

    `points`: mappings that no other one covers in the metrics. `proven`: energy in joule up to
    which no point is missing; inf: the set is whole. `statistics`: what was looked at.
    """

    points: tuple[FrontPoint, ...]
    proven: float
    statistics: SearchStatistics


def front_of_space(space: Mapspace, measures: FrontMetrics, budget: Budget) -> MapspaceFront:
    """Return the Pareto set of a mapspace, as far as the budget allows.

    `measures`: the metrics: energy in joule, latency in second, their product, usages in bits, of
    all instances of the Einsum. What the dynamic program cannot model is listed mapping by mapping
    if it is small or a copy Einsum (theory/fronts.md §2). Raises UnsupportedFeature where neither
    works, InternalError if the sweep and the model disagree. A budget that ends does not raise:
    `proven` of the result says how far it came.
    """
    began = time.monotonic()
    space = with_usage_choices(space, measures.memories)
    try:
        sweep = mapspace_sweep(space, measures.memories, budget, measures.family)
    except UnsupportedFeature:
        if not _listable(space, budget):
            raise
        return _enumerated(space, measures, budget)
    except OutOfBudget:
        return MapspaceFront((), 0.0, SearchStatistics())
    target = FrontTarget(measures.metric_columns, measures.sizes)
    if budget.is_limited:
        proven = _deepened(sweep, target, SLICES)
    else:
        whole = SLICES_OF_SIZES if measures.sizes else (inf,)
        proven = _deepened(sweep, target, whole, MANY_LABELS)
    times = space.einsum.n_instances
    points = verified_points(space, measures, target.mappings)
    statistics = SearchStatistics(
        sweep.templates, sweep.states, sweep.labels, len(points), 1,
        time.monotonic() - began,
    )  # fmt: skip
    return MapspaceFront(points, proven * times if proven > 0 else 0.0, statistics)


@dataclass(frozen=True, slots=True)
class MapspaceLeast:
    """Mapping of one mapspace with the least value of a formula.

    `best`: the mapping; None if there is none, or none was found. `value`: of the formula; inf
    without a mapping. `lower_bound`: no mapping has a lower value. `statistics`: what was looked
    at.
    """

    best: FrontPoint | None
    value: float
    lower_bound: float
    statistics: SearchStatistics


def least_of_space(space: Mapspace, formula: ObjectiveFormula, budget: Budget) -> MapspaceLeast:
    """Return the mapping of a mapspace with the least value of a formula.

    `formula`: a function of energy, latency and usages that never falls when one of them rises.
    Where the budget ends, the result is the best found so far with a lower bound. What the dynamic
    program cannot model is listed mapping by mapping if it is small or a copy Einsum
    (theory/fronts.md §3). Raises UnsupportedFeature where neither works, InternalError if the sweep
    and the model disagree.
    """
    began = time.monotonic()
    space = with_usage_choices(space, formula.memories)
    try:
        sweep = mapspace_sweep(space, formula.memories, budget)
    except UnsupportedFeature:
        if not _listable(space, budget):
            raise
        return _least_listed(space, formula, budget)
    except OutOfBudget:
        return MapspaceLeast(None, inf, _least_of_all(space, formula), SearchStatistics())
    times = float(space.einsum.n_instances)
    target = FormulaTarget(formula, sweep.lower_bound, times)
    bound = _narrowed(sweep, target)
    measures = FrontMetrics(("energy", "latency"), formula.memories)
    candidates = [] if target.best is None else [target.best]
    points = verified_points(space, measures, candidates)
    best = points[0] if points else None
    value = inf if best is None else formula.of_row(*best.row)
    statistics = SearchStatistics(
        sweep.templates, sweep.states, sweep.labels, len(points), 1,
        time.monotonic() - began,
    )  # fmt: skip
    return MapspaceLeast(best, value, min(bound, value), statistics)


def _least_of_all(space: Mapspace, formula: ObjectiveFormula) -> float:
    """Return a lower bound of the formula that needs no templates."""
    times = space.einsum.n_instances
    energy, latency = least_costs(space, space.placements)
    return (
        inf
        if energy == inf
        else formula.of_row(energy * times, latency * times, *(0.0 for _ in formula.memories))
    )


def _narrowed(sweep: MapspaceSweep, target: FormulaTarget) -> float:
    """Sweep below rising limits of the formula until the best mapping is at or below the limit.

    Return a lower bound of all values.
    """
    bound = target.least_value
    for slack in DEEPENING:
        target.limit = target.least_value * (1 + slack) if target.least_value > 0 else inf
        try:
            sweep.run(target)
        except OutOfBudget:
            return bound
        if target.value <= target.limit or target.limit == inf:
            return target.value
        bound = target.limit
    return bound


def _deepened(
    sweep: MapspaceSweep, target: FrontTarget, slices: Sequence[float], most_labels: float = inf
) -> float:
    """Sweep mappings of little energy first; return the energy up to which the front is complete.

    `slices`: limits above the least energy, relative; once more than `most_labels` labels have been
    made, the last one follows. Joule of one instance; 0 if not even the first sweep came to its
    end.
    """
    least_energy, proven = sweep.lower_bound[0], 0.0
    if not least_energy < inf:
        return inf
    for slack in slices:
        if sweep.labels > most_labels and slack < inf:
            continue
        limit = least_energy * (1 + slack) if least_energy > 0 else inf
        try:
            sweep.run(target, limit)
        except OutOfBudget:
            return proven
        proven = limit
        if limit == inf:
            break
    return proven


def verified_points(
    space: Mapspace, measures: FrontMetrics, candidates: Sequence[TracedMapping]
) -> tuple[FrontPoint, ...]:
    """Let the model score the mappings of a sweep; return those that no other one covers.

    `candidates`: mappings with the energy, latency and bits that the sweep computed, of one
    instance of the Einsum. Raises InternalError if the model's figures differ by more than
    rounding. Where few sizes tell bits apart, the model may need fewer bits of the same size: of
    two orders of adjacent holders, which are one mapping to it, the sweep keeps any.
    """
    scorer = MappingScorer(space)
    times = space.einsum.n_instances
    points: list[FrontPoint] = []
    for candidate in candidates:
        mapping = assemble(space.problem, candidate.program.slot_sequence, candidate.tiles)
        score = scorer.score(mapping)
        row = measures.row(score)
        rows = np.array([_of_instances(candidate.row, times, measures), row])
        swept, scored = rounded_to_sizes(rows, measures.sizes)
        _confirm(swept, scored, mapping)
        points.append(FrontPoint(mapping, score, row))
    return best_points(points, measures)


def _of_instances(row: Sequence[float], times: int, measures: FrontMetrics) -> list[float]:
    """Return a row of all instances from that of one: energies and latency multiplied."""
    counted = range(2, 2 + len(measures.memories))
    return [value if i in counted else value * times for i, value in enumerate(row)]


def best_points(points: Sequence[FrontPoint], measures: FrontMetrics) -> tuple[FrontPoint, ...]:
    """Return the points that no other one covers in the columns the metrics depend on.

    A point covers another if no value of it is greater, up to 1e-12, relative. Energy and latency
    count apart, also where the metric is their product. The result is sorted by these columns.
    """
    if not points:
        return ()
    rows = np.array([point.row for point in points])[:, list(measures.metric_columns)]
    return tuple(points[i] for i in undominated(rows).tolist())


def _confirm(swept: Floats, scored: Floats, mapping: Mapping) -> None:
    """Raise InternalError if the sweep's figures differ from the model's by more than rounding."""
    for a, b in zip(swept.tolist(), scored.tolist(), strict=True):
        if not figures_agree(a, b):
            raise InternalError(
                f"the search computed {swept.tolist()!r}, the model {scored.tolist()!r},"
                f" for the mapping\n{mapping}"
            )


def _enumerated(space: Mapspace, measures: FrontMetrics, budget: Budget) -> MapspaceFront:
    """Return the front of a small mapspace by scoring every mapping.

    Of a copy the few that matter.
    """
    began = time.monotonic()
    scorer = MappingScorer(space)
    points: tuple[FrontPoint, ...] = ()
    count, batch, is_complete = 0, list[FrontPoint](), True
    try:
        for mapping in budget.checking(_listed(space, budget)):
            count += 1
            try:
                score = scorer.score(mapping)
            except (InfeasibleMapping, MappingError):
                continue
            batch.append(FrontPoint(mapping, score, measures.row(score)))
            if len(batch) >= BATCH:
                points, batch = best_points([*points, *batch], measures), []
    except OutOfBudget:
        is_complete = False
    points = best_points([*points, *batch], measures)
    if space.einsum.is_copy and is_complete:
        is_complete = _nothing_missing(space, measures, points, budget)
    statistics = SearchStatistics(space.templates_made, 0, 0, count, 1, time.monotonic() - began)
    return MapspaceFront(points, inf if is_complete else 0.0, statistics)


def _nothing_missing(
    space: Mapspace, measures: FrontMetrics, points: Sequence[FrontPoint], budget: Budget
) -> bool:
    """Tell whether no point of a copy's front can be missing.

    All distinct mappings were listed, or one has the least energy and the least latency.
    """
    try:
        if CopyMappings(space, limits=budget).all_distinct is not None:
            return True
    except OutOfBudget:
        return False
    if measures.memories or not points:
        return False
    search = CopySearch(budget.memory)
    least_costs_of_copy = [
        search.find(space, Goal(metric), budget.seconds_left).lower_bound for metric in BOTH
    ]
    bounds = np.array([least_costs_of_copy]) * (1 + NOISE)
    return bool(covered(bounds, np.array([point.row for point in points]))[0])


def _listable(space: Mapspace, budget: Budget) -> bool:
    return space.einsum.is_copy or is_enumerable(space, budget)


def _listed(space: Mapspace, budget: Budget) -> Iterable[Mapping]:
    """Return the mappings to score one by one. Raises OutOfBudget, also while they are listed."""
    if space.einsum.is_copy:
        copies = CopyMappings(space, limits=budget)
        return copies.representatives if copies.all_distinct is None else copies.all_distinct
    return space.mappings_within(budget.check)


def _least_listed(space: Mapspace, formula: ObjectiveFormula, budget: Budget) -> MapspaceLeast:
    """Return the least value of a formula by scoring mappings one by one."""
    measures = FrontMetrics(("energy", "latency"), formula.memories)
    front = _enumerated(space, measures, budget)
    if not front.points:
        return MapspaceLeast(None, inf, front.proven, front.statistics)
    rows = np.array([point.row for point in front.points])
    values = formula.value(rows)
    best = front.points[least_row(values, rows)]
    value = formula.of_row(*best.row)
    return MapspaceLeast(best, value, value if front.proven == inf else 0.0, front.statistics)
