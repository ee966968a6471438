"""The front of a whole workload on a grid over latency, energy and memory of an element.

The best mappings for latency and for energy are found first, then all points between them. With the
memory of an element as a metric, the search goes on with less memory than the points take, until
nothing fits (theory/grid.md §7).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Final

from tilewright.arch.spec.architecture import Arch
from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.searches.budget import Budget, budget_from
from tilewright.mapper.searches.restrictions import ALIGNED_SIZES
from tilewright.mapper.workload.errors import NoFeasibleMapping
from tilewright.mapper.workload.workload import Workload
from tilewright.simulator.known.search_answers import SearchAnswers
from tilewright.simulator.search.candidates.candidate_runs import BOUNDING_SHARE
from tilewright.simulator.search.fronts.front_walk import FrontWalk
from tilewright.simulator.search.fronts.grid_front import (
    ExecutedMapping,
    FrontCertificate,
    GridFront,
)
from tilewright.simulator.search.fronts.walk_answers import (
    NOTHING_SHOWN,
    MappedRun,
    certificate_of_one,
    certificate_of_walk,
    executed_paths,
    together,
)
from tilewright.simulator.search.grid_certificate import Costs, GridObjective
from tilewright.simulator.search.grid_mapping import (
    GridMapping,
    GridRequest,
    cascade_of,
    grid_paths,
    map_on_grid,
)

WORD_BITS: Final = 16
"""By so much memory is less at least: tiles begin and end with words."""
SHARE: Final = 0.4
"""Share of the time that is left in which the best mappings for all objectives are looked for."""
WALK_SHARE: Final = 0.7
"""The same for all points of a size of the memory; then they run on numbers."""
FURTHER_RUNS: Final = 64
"""Runs of mappings with further divisions of the work, beyond as many as there were."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CascadeFrontSearch:
    """A search for a front of a workload on a grid over latency, energy and memory of an element.

    `metrics`: two or three of METRICS, in the order of the values of points. `request`: of each
    search, whose `objective` does not count; its `budget_s` is that of all together. `on_progress`:
    called with (executed, points) after each round.
    """

    metrics: tuple[str, ...] = ("latency", "energy")
    request: GridRequest = field(default_factory=GridRequest)
    on_progress: Callable[[int, int], None] | None = None

    def run(self, arch: Arch, workload: Workload) -> GridFront:
        """Return the points, each executed on data, by ascending values of the first metric.

        Raises NoFeasibleMapping, with the reasons, if an Einsum fits no element, and NotExecuted if
        the budget was over before the first point was executed.
        """
        start = time.perf_counter()
        known = self.request.settings.known
        shared = SearchAnswers(known.folder, known.most_bytes)
        settings = replace(self.request.settings, known=shared)
        search = replace(self, request=replace(self.request, settings=settings))
        steps = _Steps(search, arch, workload, budget_from(self.request.budget_s))
        runs = steps.front()
        if "usage" in self.metrics:
            runs += steps.with_less_memory(runs)
        points = _unbeaten([self._point(run) for run in runs])
        return GridFront(self.metrics, points, steps.certificate(), time.perf_counter() - start)

    @property
    def priced(self) -> tuple[GridObjective, ...]:
        """The metrics that a search has as its objective."""
        names: tuple[GridObjective, ...] = ("latency", "energy")
        return tuple(name for name in names if name in self.metrics)

    def _point(self, answer: MappedRun) -> ExecutedMapping:
        run = answer.execution
        values = {"latency": run.latency, "energy": run.energy, "usage": float(answer.usage)}
        return ExecutedMapping(run, answer.mapping, tuple(values[name] for name in self.metrics))


class _Steps:
    """The searches for one size of the memory after the other, and what they have shown."""

    def __init__(
        self, search: CascadeFrontSearch, arch: Arch, workload: Workload, end: Budget
    ) -> None:
        self.search, self.arch, self.workload, self.end = search, arch, workload, end
        self._limit: int | None = None  # bits of an element's memory that mappings may take
        self._shown: list[FrontCertificate] = []
        self._points = 0

    def front(self) -> list[MappedRun]:
        """Return the best mapping of the one objective, or all points of both, executed."""
        ends = [self._best(name) for name in self.search.priced]
        runs = [MappedRun(end.mapping, end.run) for end in ends if end.run is not None]
        if not runs and self._limit is None:
            ends[0].execution  # noqa: B018 - raises the error that says what to write
        if len(ends) > 1 and runs and not self.end.is_late:
            runs += self._others(runs)
        elif len(ends) > 1:
            self._shown.append(NOTHING_SHOWN)
        return runs

    def with_less_memory(self, runs: Sequence[MappedRun]) -> Iterator[MappedRun]:
        """Yield the points among mappings with less memory, until none is left or it is late.

        Some points stay those of a smaller memory until the largest of them does not fit it.
        """
        while runs:
            if self.end.is_late:
                self._shown.append(NOTHING_SHOWN)
                return
            self._limit = max(run.usage for run in runs) - WORD_BITS
            try:
                runs = self.front()
            except NoFeasibleMapping:
                return
            yield from runs

    @property
    def _request(self) -> GridRequest:
        """The request of a search: what is beyond the limit is as if it were reserved."""
        request, seconds = self.search.request, self.end.seconds_left
        if seconds is not None:
            share = SHARE / len(self.search.priced)
            request = replace(request, budget_s=share * seconds)
        if self._limit is None:
            return request
        flat = next(iter(grid_paths(self.arch, self.workload).values()))
        whole = int(grid_of(flat).memory.size) // 8
        sizes = {"sram_bytes": whole, "sram_reserved_bytes": whole - self._limit // 8}
        settings = request.settings
        settings = replace(settings, overrides={**settings.overrides, **sizes})
        return replace(request, settings=settings)

    def _best(self, objective: GridObjective) -> GridMapping:
        """Return the best mapping for an objective."""
        request = replace(self._request, objective=objective)
        answer = map_on_grid(self.arch, self.workload, request)
        shown = certificate_of_one(answer)
        if len(self.search.priced) > 1:  # all points say more than this one
            shown = FrontCertificate(shown.executed, 0, 0, 0, ())
        self._shown.append(shown)
        self._points += answer.run is not None
        self._tell(0)
        return answer

    def _others(self, ends: Sequence[MappedRun]) -> list[MappedRun]:
        """Return the points of latency and energy beside those that are best in one of them."""
        request, budget = self._request, self.end.share(WALK_SHARE)
        cascade = cascade_of(
            self.arch,
            self.workload,
            replace(request, objective="latency"),
            budget=budget.share(BOUNDING_SHARE),
            counts_energy=True,
        )
        walk = FrontWalk(cascade, [Costs(run.latency, run.energy) for _, run in ends])
        einsums, most = len(self.workload.einsums), request.most_executions
        limit = inf if most is None else most * einsums
        self._go_on(walk, budget, limit)
        if walk.widen(budget):
            self._go_on(walk, budget, min(limit, 2 * walk.executed + FURTHER_RUNS))
        cascade.save()
        end = replace(self.end, stops_on_request=False)
        runs = executed_paths(walk, self.arch, request.settings, end)
        self._shown.append(certificate_of_walk(walk, len(self.workload.einsums)))
        self._points += len(runs)
        return runs

    def _go_on(self, walk: FrontWalk, budget: Budget, most: float) -> None:
        walk.go_on(
            lambda: budget.is_late or walk.executed >= most,
            lambda: self._tell(walk.executed, len(walk.paths)),
        )

    def _tell(self, executed: int, points: int = 0) -> None:
        """Report the progress of a search."""
        if self.search.on_progress is not None:
            before = sum(shown.executed for shown in self._shown)
            self.search.on_progress(before + executed, self._points + points)

    def certificate(self) -> FrontCertificate:
        """Return what all searches have shown together."""
        aligned = (ALIGNED_SIZES(),) if "usage" in self.search.metrics else ()
        return together(self._shown, aligned)


def _unbeaten(points: list[ExecutedMapping]) -> tuple[ExecutedMapping, ...]:
    """Return the points that no other beats or equals in all values, by the first one ascending."""
    unbeaten: list[ExecutedMapping] = []
    for point in sorted(points, key=lambda point: point.values):  # what beats it comes before
        if not any(
            all(a <= b for a, b in zip(other.values, point.values, strict=True))
            for other in unbeaten
        ):
            unbeaten.append(point)
    return tuple(unbeaten)
