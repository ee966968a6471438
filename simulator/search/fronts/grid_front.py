"""The Pareto set of one Einsum's mappings on a grid, with the machine in the loop.

A candidate has exact or lower bounds of all metrics before it runs. It runs, without values, unless
one that ran is at most its bounds in every metric; the points of the set run on numbers at the end
(theory/grid.md §7).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from typing import Final, NamedTuple

from tilewright.arch.flattening.flat import FlatArch
from tilewright.mapper.grid.grid import check_host, grid_of
from tilewright.mapper.grid.grid_constraints import NO_CONSTRAINTS, GridConstraints
from tilewright.mapper.grid.grid_mapspace import GridChoice, GridFamily, GridMapspace
from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.searches.budget import UNLIMITED, Budget
from tilewright.mapper.searches.restrictions import Restrictions
from tilewright.mapper.workload.einsum import Einsum
from tilewright.mapper.workload.errors import InfeasibleMapping, Refusal
from tilewright.simulator.execution.action_counts import predicted_energy
from tilewright.simulator.execution.einsum_execution import EinsumExecution, ExecutionSettings
from tilewright.simulator.execution.execution import Execution
from tilewright.simulator.isa.machine_errors import ProgramError, RunStoppedError
from tilewright.simulator.lowering.lower_bound.task_cycles import BodyCycles
from tilewright.simulator.search.candidate_search import ROUNDING
from tilewright.simulator.search.candidates.candidate_runs import (
    BOUNDING_SHARE,
    budget_of_answer,
    budget_of_runs,
    run_until,
)
from tilewright.simulator.search.candidates.candidates import BoundedFamily, Candidates
from tilewright.simulator.search.candidates.family_heap import FamilyHeap, Values
from tilewright.simulator.search.further_divisions import FurtherQuestion, further_families
from tilewright.simulator.search.grid_certificate import (
    NotExecuted,
    frequent_reasons,
    restrictions_of,
)
from tilewright.simulator.search.grid_search import no_mapping

METRICS: Final = ("latency", "energy", "usage")
"""Seconds of the execution, joules with leakage, bits of an element's memory."""


def metrics_of(run: EinsumExecution, names: Sequence[str]) -> Values:
    """Return the metrics of an execution (s, J, bits), in the order of the names."""
    by_name = {"latency": run.latency, "energy": run.energy, "usage": float(run.sram_bits)}
    return tuple(by_name[name] for name in names)


@dataclass(frozen=True, slots=True)
class FrontCertificate:
    """What a search has shown of its Pareto set.

    `executed`: candidates that ran, those of the set on numbers; `excluded`: those that an executed
    one beats or equals in all metrics by their bounds; `undecided`: those not looked at, or not run
    on numbers, for want of time; `infeasible`: those that the machine cannot hold or run, by reason
    in `reasons`. `is_whole`: whether all mappings are counted here, none left out for want of time.
    `restrictions`: what all mappings of the mapspace meet. `gap`: each mapping is beaten or
    equalled in all metrics by a point of the set whose values are divided by 1 + gap; inf if that
    is not known.
    """

    executed: int
    excluded: int
    undecided: int
    infeasible: int
    reasons: tuple[tuple[str, int], ...]
    is_whole: bool = True
    restrictions: Restrictions = ()
    gap: float = 0.0

    @property
    def is_complete(self) -> bool:
        """Whether it is proved that no other candidate belongs to the Pareto set."""
        return self.undecided == 0 and self.is_whole and self.gap == 0

    def __str__(self) -> str:
        left = f"{self.undecided:,} candidates are left" if self.undecided else "not proved"
        kind = "complete" if self.is_complete else left
        kind += f", within {100 * self.gap:.2g} % of the whole set" if 0 < self.gap < inf else ""
        others = "" if self.is_whole else ", others not looked at for lack of time"
        looked_at = f"{self.executed:,} executed, {self.excluded:,} excluded by their bounds"
        return f"{kind}: {looked_at}{others}"


@dataclass(frozen=True, slots=True)
class ExecutedMapping:
    """A mapping of a front: its execution on data, and the values of the front's metrics."""

    execution: Execution
    mapping: Mapping
    values: Values


@dataclass(frozen=True, slots=True)
class GridFront:
    """A Pareto set of the mappings of an Einsum or a workload on a grid.

    `metrics`: in which no point is beaten by another; `points`: executed on data, by ascending
    values of the first metric; `certificate`: what the search has shown; `seconds`: that it took.
    """

    metrics: tuple[str, ...]
    points: tuple[ExecutedMapping, ...]
    certificate: FrontCertificate
    seconds: float


class _ExecutedPoint(NamedTuple):
    """A candidate that ran without values: its metrics, and its cycles."""

    values: Values
    choice: GridChoice
    cycles: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GridFrontSearch:
    """A search for the Pareto set of one Einsum's mappings on the grid of an architecture.

    `metrics`: two or three of METRICS. `settings`: machine and operands. `constraints`: on the
    mapspace. `budget_s`: seconds, None for no limit. `on_progress`: called with (executed, points
    of the set) after each execution.
    """

    metrics: tuple[str, ...] = METRICS
    settings: ExecutionSettings = field(default_factory=ExecutionSettings)
    constraints: GridConstraints = NO_CONSTRAINTS
    budget_s: float | None = None
    on_progress: Callable[[int, int], None] | None = None

    def run(self, flat: FlatArch, einsum: Einsum) -> GridFront:
        """Return the Pareto set of an Einsum's mappings on the grid, each executed on data.

        flat: path of components to the compute of the grid. Raises NoFeasibleMapping, with the most
        frequent reasons, if no candidate fits the machine; NotExecuted if runs take too long.
        """
        start, budget = time.perf_counter(), budget_of_runs(self.budget_s)
        check_host(flat)
        space = GridMapspace(grid_of(flat), einsum, self.constraints)
        candidates = Candidates.unbounded("latency", self.settings, flat, space)
        if candidates.are_too_long:
            raise NotExecuted(
                "a front executes its mappings, and on so many elements that takes too long",
                value=f"{space.grid.columns} x {space.grid.rows} elements",
                instead="one objective without a front, whose answer has bounds of the cycles",
            )
        candidates = replace(candidates, counts_energy="energy" in self.metrics)
        candidates = candidates.bounded(
            budget.share(BOUNDING_SHARE) if self.budget_s else UNLIMITED
        )
        walk = _FrontWalk(candidates, self.metrics, budget)
        self._go_on(walk, budget)
        if walk.widen(budget):
            self._go_on(walk, budget)
        candidates.known.save()
        if not walk.points:
            raise no_mapping(einsum, walk.reasons)
        points = walk.all_on_numbers(budget_of_answer(self.budget_s))
        certificate = walk.certificate(len(walk.points) - len(points))
        return GridFront(self.metrics, tuple(points), certificate, time.perf_counter() - start)

    def _go_on(self, walk: _FrontWalk, budget: Budget) -> None:
        """Look at candidates until none is left, or the time is over and there is a point."""
        while walk.heap and not (walk.points and budget.is_late):
            if walk.step(hurried=budget.is_late) and self.on_progress is not None:
                self.on_progress(walk.executed, len(walk.points))


@dataclass(frozen=True, slots=True)
class _FrontBounds:
    """Lower bounds of the metrics of a front, whose candidates have the objective latency."""

    candidates: Candidates
    metrics: tuple[str, ...]

    def of_family(self, bounded: BoundedFamily) -> Values:
        """Return values that no member of a family goes below, by its quick bounds."""
        energy = self.candidates.quick.energy(bounded.family)
        return self.values(bounded.bound, energy, bounded.words)

    def of_members(
        self, family: GridFamily, reduction: str | None, alone: BodyCycles | None
    ) -> Values:
        quick = self.candidates.quick
        latency = self.candidates.least_value(family, reduction, alone)
        return self.values(latency, quick.energy(family, reduction), quick.words(family))

    def of_choice(self, choice: GridChoice, *, followed: bool = False) -> Values:
        plan = self.candidates.plan(choice)
        cycles = self.candidates.least_cycles(choice, followed=followed)
        energy = predicted_energy(plan.read)
        return self.values(self.latency(cycles), energy, plan.addresses.words)

    def latency(self, cycles: float) -> float:
        """Return the seconds of so many cycles of each instance."""
        return self.candidates.latency_of(cycles)

    def values(self, latency: float, energy: float, words: int) -> Values:
        """Return the metrics of a run.

        `energy`: without leakage (J); `words`: 16-bit words of an element's memory.
        """
        leaked = self.candidates.quick.leak_power * latency
        by_name = {"latency": latency, "energy": energy + leaked, "usage": 16.0 * words}
        return tuple(by_name[name] for name in self.metrics)


class _FrontWalk:
    """Look at candidates in the order of their bounds; run those that may belong to the set.

    When the time of the `budget` is over and there is a point, a run that goes on ends.
    `has_all_divisions`: whether further divisions of the work are among the candidates.
    """

    def __init__(self, candidates: Candidates, metrics: tuple[str, ...], budget: Budget) -> None:
        self.candidates, self.metrics, self._budget = candidates, metrics, budget
        self.bounds = _FrontBounds(candidates, metrics)
        self.reasons = Counter(candidates.infeasible)
        self.points: list[_ExecutedPoint] = []
        self.executed = self.excluded = 0
        self.has_all_divisions = False
        bounded = ((self.bounds.of_family(family), family.family) for family in candidates.families)
        self.heap = FamilyHeap(candidates, self.bounds, bounded)

    def widen(self, budget: Budget) -> bool:
        """Add the families with further divisions of the work that no point of the set beats.

        Return False if there are too many of them, or the time of the budget is over before.
        """
        if self.heap or not self.points or not self.candidates.is_whole:
            return False
        candidates = self.candidates
        question = FurtherQuestion(
            is_open=lambda cycles, energy, words: (
                not self._is_beaten(
                    self.bounds.values(candidates.latency_of(cycles), energy, words)
                )
            ),
            has_energy="energy" in self.metrics,
        )
        families = further_families(candidates, question, budget)
        if families is None:
            return False
        self.heap.add((self.bounds.of_family(family), family.family) for family in families)
        self.has_all_divisions = True
        return True

    def step(self, hurried: bool = False) -> bool:
        """Take the next family or choice; return whether it was executed.

        `hurried`: a choice, if there is one, for the time is over and nothing was executed yet.
        """
        entry = self.heap.pop_choice() if hurried else self.heap.pop()
        if self._is_beaten(entry.bounds):
            self.excluded += self.heap.size(entry)
            return False
        try:
            if entry.choice is None or not (entry.is_settled or hurried):
                self.heap.push(self.heap.members(entry) if hurried else self.heap.refined(entry))
                return False
            self._run(entry.choice, entry.bounds)
        except (InfeasibleMapping, ProgramError) as error:
            self.reasons[Refusal.of(error)] += 1
            return False
        except RunStoppedError:
            if self._is_over:
                self.heap.push([entry])
                return False
            # else beaten before its end
        self.executed += 1
        return True

    def _run(self, choice: GridChoice, bounds: Values) -> None:
        """Run a choice without values, to where it is known to be beaten; keep it if it is not.

        A value below its bound is a defect: bounds exclude candidates.
        """
        plan = self.candidates.plan(choice)
        read, words = plan.read, plan.addresses.words
        energy = predicted_energy(read)

        def is_unwanted(cycles: int) -> bool:
            reached = self.bounds.values(self.bounds.latency(cycles), energy, words)
            return self._is_over or self._is_beaten(reached)

        cycles = self.candidates.exact_cycles(choice, is_unwanted, lambda: self._is_over)
        exact = {**self.candidates.run_costs(choice, cycles)._asdict(), "usage": 16.0 * words}
        values = tuple(exact[name] for name in self.metrics)
        assert all(b <= v * ROUNDING for b, v in zip(bounds, values, strict=True)), choice
        self._add(_ExecutedPoint(values, choice, cycles))

    def all_on_numbers(self, end: Budget) -> list[ExecutedMapping]:
        """Run the points of the set on numbers: the first one, and others while there is time."""
        runs: list[ExecutedMapping] = []
        for point in sorted(self.points, key=lambda point: point.values):
            run = run_until(end if runs else UNLIMITED, partial(self.on_numbers, point))
            if run is None:
                break
            runs.append(ExecutedMapping(Execution.of_one(run), run.plan.read.mapping, point.values))
        return runs

    def on_numbers(self, point: _ExecutedPoint) -> EinsumExecution:
        """Run a point of the set on numbers; it must give the same metrics."""
        run = self.candidates.execute(point.choice)
        reached = metrics_of(run, self.metrics)
        cycles = run.instance_cycles
        assert (cycles, reached) == (point.cycles, point.values), (cycles, reached, point)
        return run

    @property
    def _is_over(self) -> bool:
        return bool(self.points) and self._budget.is_late

    def _is_beaten(self, bounds: Values) -> bool:
        return any(
            all(v <= b for v, b in zip(point.values, bounds, strict=True)) for point in self.points
        )

    def _add(self, point: _ExecutedPoint) -> None:
        if self._is_beaten(point.values):
            return
        undominated = (
            other
            for other in self.points
            if any(v > o for v, o in zip(point.values, other.values, strict=True))
        )
        self.points = [*undominated, point]

    def certificate(self, dropped: int = 0) -> FrontCertificate:
        """Return what the walk has shown so far; dropped: points that did not run on numbers."""
        beaten = [self._is_beaten(entry.bounds) for entry in self.heap.entries]
        sizes = list(map(self.heap.size, self.heap.entries))
        values = sorted(point.values for point in self.points)
        ran = len(values) - dropped
        left = [e.bounds for e, b in zip(self.heap.entries, beaten, strict=True) if not b]
        gap = max((_gap(bounds, values[:ran]) for bounds in (*left, *values[ran:])), default=0.0)
        return FrontCertificate(
            executed=self.executed,
            excluded=self.excluded + sum(s for s, b in zip(sizes, beaten, strict=True) if b),
            undecided=dropped + sum(s for s, b in zip(sizes, beaten, strict=True) if not b),
            infeasible=sum(self.reasons.values()),
            reasons=frequent_reasons(self.reasons),
            is_whole=self.candidates.is_whole,
            restrictions=restrictions_of(
                [self.candidates.space], all_divisions=self.has_all_divisions
            ),
            gap=gap if self.candidates.is_whole else inf,
        )


def _gap(bounds: Values, points: Sequence[Values]) -> float:
    """Return by how much one of the points, divided by 1 + gap, beats or equals some bounds."""
    ratios = (
        max(v / b if b > 0 else inf for v, b in zip(point, bounds, strict=True)) for point in points
    )
    return max(0.0, min(ratios, default=inf) - 1)
