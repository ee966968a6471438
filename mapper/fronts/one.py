"""Sweep one mapspace: compile it, look for a target, and let the model judge what was found."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from tilewright.mapper.errors import InfeasibleMapping, MappingError
from tilewright.mapper.fronts.formula import Formula
from tilewright.mapper.fronts.least import LeastTarget
from tilewright.mapper.fronts.measures import Measures
from tilewright.mapper.fronts.points import NOISE, covered, least_row, undominated
from tilewright.mapper.fronts.sweep import OutOfBudget, Sweep
from tilewright.mapper.fronts.targets import Candidate, FrontTarget
from tilewright.mapper.fronts.track import tracking
from tilewright.mapper.mapping import Mapping
from tilewright.mapper.mapspace.assemble import assemble
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.score import Score
from tilewright.mapper.searches.copies import Copies, CopySearch
from tilewright.mapper.searches.default import is_small
from tilewright.mapper.searches.dynamic import DEEPENING
from tilewright.mapper.searches.errors import InternalError, UnsupportedFeature
from tilewright.mapper.searches.exact import layout_of
from tilewright.mapper.searches.fields import Fields
from tilewright.mapper.searches.judge import TOLERANCE, Judge
from tilewright.mapper.searches.kernels import ENERGY, LATENCY
from tilewright.mapper.searches.metrics import Goal, Metrics, Objective
from tilewright.mapper.searches.problem import compulsory_latency, leaks_of, refuse_unsupported
from tilewright.mapper.searches.program import Compiler, Program
from tilewright.mapper.searches.result import Statistics
from tilewright.mapper.searches.tables import Engine
from tilewright.mapper.searches.trie import Node, grow, look_ahead

SLICES = (0.01, 0.1, 1.0, inf)  # of energy, above the least
BATCH = 1000
BOTH: tuple[Objective, ...] = ("energy", "latency")


@dataclass(frozen=True)
class Problem:
    """A mapspace compiled for a sweep; labels keep the room used of `memories`."""

    space: Mapspace
    memories: tuple[str, ...]
    engine: Engine
    metrics: Metrics
    root: Node

    @property
    def rooms(self) -> tuple[int, ...]:
        """The fields of the label that hold the bits used of `memories`."""
        return tuple(self.engine.fields.room[name] for name in self.memories)


def problem_of(space: Mapspace, memories: tuple[str, ...]) -> Problem:
    """Compile `space`. UnsupportedFeature for what the dynamic program does not model."""
    frame = space.frame
    if space.uneven:
        raise UnsupportedFeature(
            f"no front, and no least value of a formula, is searched over the uneven tiles of"
            f" {space.einsum.name}: they are too many to list",
            instead="leave out `uneven`, or ask for the least energy, latency or edp and no front",
        )
    spread = {c.name for c in frame.components if c.physical_fanout > 1}
    refuse_unsupported(frame, networks=True, arrays=not spread & set(memories))
    leaks = leaks_of(space.flat, space.conventions)
    tracked = frozenset(memories)
    layout = layout_of(space, leaks, tracked)
    engine = Engine(frame, layout)
    metrics = Metrics(frame, layout, leaks, compulsory_latency(space))
    return Problem(space, memories, engine, metrics, grow(_compiled(space, layout, tracked)))


def crowded(space: Mapspace, memories: Sequence[str]) -> Mapspace:
    """Return `space` with all ways to use less of `memories`, also where everything fits."""
    names = space.crowded | frozenset(memories)
    if names == space.crowded:
        return space
    return Mapspace(
        space.einsum, space.flat, space.conventions, space.backed, space.uneven, crowded=names
    )


def _compiled(space: Mapspace, layout: Fields, tracked: frozenset[str]) -> Iterator[Program]:
    compiler = Compiler(space.frame, layout)
    for template in space.templates:
        for program in compiler.programs(template):
            yield tracking(program, tracked)


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


def front_of_space(space: Mapspace, measures: Measures, deadline: float) -> SpaceFront:
    """Return the Pareto set of `space` over the metrics, as far as the deadline lets it.

    What the dynamic program cannot model is enumerated if it is small; else UnsupportedFeature.
    """
    began = time.monotonic()
    space = crowded(space, measures.memories)
    try:
        problem = problem_of(space, measures.memories)
    except UnsupportedFeature:
        if not _listable(space):
            raise
        return _enumerated(space, measures, deadline)
    target = FrontTarget(measures.counted)
    sweep = Sweep(problem.engine, problem.metrics, problem.rooms, deadline)
    proven = _deepened(problem, sweep, target, deadline)
    times = space.einsum.n_instances
    points = judged(space, measures, target.found)
    statistics = Statistics(
        len(space.templates), problem.engine.lattice.size, sweep.labels, len(points), 1,
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


def least_of_space(space: Mapspace, formula: Formula, deadline: float) -> SpaceLeast:
    """Return the least value of `formula`, or the best found with a bound at the deadline.

    What the dynamic program cannot model is enumerated, as in front_of_space.
    """
    began = time.monotonic()
    space = crowded(space, formula.memories)
    try:
        problem = problem_of(space, formula.memories)
    except UnsupportedFeature:
        if not _listable(space):
            raise
        return _least_listed(space, formula, deadline)
    sweep = Sweep(problem.engine, problem.metrics, problem.rooms, deadline)
    times = float(space.einsum.n_instances)
    target = LeastTarget(formula, _floor(problem), times)
    bound = _narrowed(problem, sweep, target)
    measures = Measures(("energy", "latency"), formula.memories)
    found = [] if target.best is None else [target.best]
    points = judged(space, measures, found)
    best = points[0] if points else None
    value = inf if best is None else formula.of(*best.row)
    statistics = Statistics(
        len(space.templates), problem.engine.lattice.size, sweep.labels, len(points), 1,
        time.monotonic() - began,
    )  # fmt: skip
    return SpaceLeast(best, value, min(bound, value), statistics)


def _narrowed(problem: Problem, sweep: Sweep, target: LeastTarget) -> float:
    """Raise the limit until the best lies below it; return a bound on every value."""
    bound = target.least
    for slack in DEEPENING:
        target.limit = target.least * (1 + slack) if target.least > 0 else inf
        try:
            sweep.run(problem.root, target)
        except OutOfBudget:
            return bound
        if target.value <= target.limit or target.limit == inf:
            return target.value
        bound = target.limit
    return bound


def _floor(problem: Problem) -> tuple[float, ...]:
    """Return the row that nothing of the problem is below."""
    engine, metrics = problem.engine, problem.metrics
    outlook = problem.root.before or look_ahead(problem.root, engine)
    start = engine.initial().label.copy()
    start[0, 0] += outlook.rest[0]
    start[0, engine.fields.lanes] *= max(float(outlook.gain[0]), 1.0)
    energy, latency = (float(metrics.floor(start, kind)[0]) for kind in (ENERGY, LATENCY))
    return (energy, latency, *(0.0 for _ in problem.memories))


def _deepened(problem: Problem, sweep: Sweep, target: FrontTarget, deadline: float) -> float:
    """Sweep; with a deadline, mappings of little energy first. Return the energy swept to the end.

    Joule of one instance; 0 if not even the first sweep came to its end.
    """
    least, proven = _floor(problem)[0], 0.0
    if not least < inf:
        return inf
    steps = (inf,) if deadline == inf else SLICES
    for slack in steps:
        limit = least * (1 + slack) if least > 0 else inf
        try:
            sweep.run(problem.root, target, limit)
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
        mapping = assemble(space.frame, one.program.skeleton, one.tiles)
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
        if abs(a - b) > TOLERANCE * max(abs(a), abs(b)):
            raise InternalError(
                f"the search computed {list(mine)!r}, the model {list(its)!r}, for the mapping\n"
                f"{mapping}"
            )


def _enumerated(space: Mapspace, measures: Measures, deadline: float) -> SpaceFront:
    """Score every mapping of a small mapspace, or the few that matter of a copy."""
    began = time.monotonic()
    judge = Judge(space)
    points: tuple[Point, ...] = ()
    count, batch, whole = 0, list[Point](), True
    for mapping in _listed(space):
        if time.monotonic() > deadline:
            whole = False
            break
        count += 1
        try:
            score = judge.score(mapping)
        except (InfeasibleMapping, MappingError):
            continue
        batch.append(Point(mapping, score, measures.row(score)))
        if len(batch) >= BATCH:
            points, batch = best_points([*points, *batch], measures), []
    points = best_points([*points, *batch], measures)
    if space.einsum.is_copy and whole:
        whole = Copies(space).every is not None or _nothing_below(space, measures, points)
    statistics = Statistics(len(space.templates), 0, 0, count, 1, time.monotonic() - began)
    return SpaceFront(points, inf if whole else 0.0, statistics)


def _nothing_below(space: Mapspace, measures: Measures, points: Sequence[Point]) -> bool:
    """Tell whether one of the points of a copy has the least energy and the least latency."""
    if measures.memories or not points:
        return False
    least = [CopySearch().find(space, Goal(one), None).lower_bound for one in BOTH]
    bounds = np.array([least]) * (1 + NOISE)
    return bool(covered(bounds, np.array([point.row for point in points]))[0])


def _listable(space: Mapspace) -> bool:
    return space.einsum.is_copy or is_small(space)


def _listed(space: Mapspace) -> Iterable[Mapping]:
    if space.einsum.is_copy:
        copies = Copies(space)
        return copies.few if copies.every is None else copies.every
    return space


def _least_listed(space: Mapspace, formula: Formula, deadline: float) -> SpaceLeast:
    """Take the least of what an enumeration leaves."""
    measures = Measures(("energy", "latency"), formula.memories)
    found = _enumerated(space, measures, deadline)
    if not found.points:
        return SpaceLeast(None, inf, found.proven, found.statistics)
    rows = np.array([point.row for point in found.points])
    values = formula.value(rows)
    best = found.points[least_row(values, rows)]
    value = formula.of(*best.row)
    return SpaceLeast(best, value, value if found.proven == inf else 0.0, found.statistics)
