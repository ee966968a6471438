"""The front of a whole workload on a grid: latency or energy, or the corners of both, by memory.

Each corner is the best mapping for some price of a second, found with the machine in the loop and a
proof. Between two corners lies another one if some mapping is below the line through them: its
price is the slope of the line. With the memory of an element as a metric, the search goes on with
less memory than the corners take, until nothing fits (theory/grid.md §7).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from tilewright.arch.spec.architecture import Arch
from tilewright.mapper.grid.grid import grid_of
from tilewright.mapper.searches.restrictions import ALIGNED_SIZES, HULL_CORNERS
from tilewright.mapper.workload.errors import NoFeasibleMapping
from tilewright.mapper.workload.workload import Workload
from tilewright.simulator.execution.einsum_execution import ExecutionSettings
from tilewright.simulator.search.fronts.grid_front import (
    ExecutedMapping,
    FrontCertificate,
    GridFront,
)
from tilewright.simulator.search.grid_certificate import GridObjective, PricedTime
from tilewright.simulator.search.grid_mapping import (
    GridMapping,
    GridRequest,
    grid_paths,
    map_on_grid,
)

NEARLY: Final = 1 - 1e-9
"""A value below the line by less is on it: sums of energies are rounded."""
WORD_BITS: Final = 16
"""By so much memory is less at least: tiles begin and end with words."""
SHARE: Final = 0.4
"""Of the seconds that are left each search has so much, the first of all as much as the second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CascadeFrontSearch:
    """A search for a front of a workload on a grid over latency, energy and memory of an element.

    `metrics`: two or three of METRICS, in the order of the values of points. `request`: of each
    search, whose
    `objective` does not count; its `budget_s` is that of all together. `on_progress`: called with
    (executed, corners) after each search.
    """

    metrics: tuple[str, ...] = ("latency", "energy")
    request: GridRequest = field(default_factory=GridRequest)
    on_progress: Callable[[int, int], None] | None = None

    def run(self, arch: Arch, workload: Workload) -> GridFront:
        """Return the corners, each executed on data, by ascending values of the first metric.

        Raises NoFeasibleMapping, with the reasons, if an Einsum fits no element, and NotExecuted if
        the budget was over before the first corner was executed.
        """
        start = time.perf_counter()
        walk = _Walk(self, arch, workload, start)
        corners = walk.corners()
        if "usage" in self.metrics:
            corners += walk.with_less_memory(corners)
        if not corners:
            corners = [walk.answers[0]]  # whose execution says what to write
        points = _unbeaten([self._point(corner) for corner in corners])
        return GridFront(self.metrics, points, walk.certificate(), time.perf_counter() - start)

    @property
    def priced(self) -> tuple[GridObjective, ...]:
        """The metrics that a search has as its objective."""
        names: tuple[GridObjective, ...] = ("latency", "energy")
        return tuple(name for name in names if name in self.metrics)

    def _point(self, answer: GridMapping) -> ExecutedMapping:
        run = answer.execution
        values = {"latency": run.latency, "energy": run.energy, "usage": float(_usage(answer))}
        return ExecutedMapping(run, answer.mapping, tuple(values[name] for name in self.metrics))


class _Walk:
    """The searches for corners; `answers`: of all so far.

    `limit`: bits of an element's memory that mappings may take, None for all.
    """

    def __init__(
        self, search: CascadeFrontSearch, arch: Arch, workload: Workload, start: float
    ) -> None:
        self.search, self.arch, self.workload, self.start = search, arch, workload, start
        self.answers: list[GridMapping] = []
        self.limit: int | None = None

    def corners(self) -> list[GridMapping]:
        """Return the best mappings for all prices of a second, or of the one objective.

        Those that were executed.
        """
        ends = [self.best(name) for name in self.search.priced]
        between = list(self.between(*ends)) if len(ends) > 1 else []
        return [each for each in (ends[0], *between, *ends[1:]) if each.run is not None]

    def with_less_memory(self, corners: list[GridMapping]) -> Iterator[GridMapping]:
        """Yield the corners among mappings with less memory, until none is left or it is late.

        Some corners stay those of a smaller memory until the largest of them does not fit it.
        """
        while corners and self._left != 0.0:
            self.limit = max(map(_usage, corners)) - WORD_BITS
            try:
                corners = self.corners()
            except NoFeasibleMapping:
                return
            yield from corners

    @property
    def _settings(self) -> ExecutionSettings:
        """The settings of a search: what is beyond the limit is as if it were reserved."""
        settings = self.search.request.settings
        if self.limit is None:
            return settings
        flat = next(iter(grid_paths(self.arch, self.workload).values()))
        whole = int(grid_of(flat).memory.size) // 8
        sizes = {"sram_bytes": whole, "sram_reserved_bytes": whole - self.limit // 8}
        return replace(settings, overrides={**settings.overrides, **sizes})

    @property
    def _left(self) -> float | None:
        """The seconds that are left, None for no limit."""
        budget = self.search.request.budget_s
        return None if budget is None else max(0.0, self.start + budget - time.perf_counter())

    def best(self, objective: GridObjective) -> GridMapping:
        """Return the best mapping for an objective."""
        left = self._left
        seconds = None if left is None else SHARE * left
        request = replace(
            self.search.request, objective=objective, budget_s=seconds, settings=self._settings
        )
        answer = map_on_grid(self.arch, self.workload, request)
        self.answers.append(answer)
        if self.search.on_progress is not None:
            executed = sum(each.certificate.executed for each in self.answers)
            self.search.on_progress(executed, len(self.answers))
        return answer

    def between(self, fast: GridMapping, frugal: GridMapping) -> Iterator[GridMapping]:
        """Yield the corners between two, by ascending latency."""
        if fast.run is None or frugal.run is None or self._left == 0.0:
            return
        (latency, energy), (most, least) = _values(fast), _values(frugal)
        if latency >= most or energy <= least:
            return
        price = (energy - least) / (most - latency)
        middle = self.best(PricedTime(price))
        if middle.value < NEARLY * (energy + price * latency):
            yield from self.between(fast, middle)
            yield middle
            yield from self.between(middle, frugal)

    def certificate(self) -> FrontCertificate:
        """Return what all searches have shown together."""
        each = [answer.certificate for answer in self.answers]
        names = dict.fromkeys(limit for c in each for limit in c.restrictions)
        own = [HULL_CORNERS()] if len(self.search.priced) > 1 else []
        own += [ALIGNED_SIZES()] if "usage" in self.search.metrics else []
        reasons = sum((Counter(dict(c.reasons)) for c in each), Counter[str]())
        return FrontCertificate(
            executed=sum(c.executed + c.timed for c in each),
            excluded=sum(c.excluded for c in each),
            undecided=0,
            infeasible=sum(c.infeasible for c in each),
            reasons=tuple(reasons.most_common(5)),
            is_whole=all(c.is_optimal for c in each) and self._left != 0.0,
            restrictions=(*own, *names),
        )


def _values(answer: GridMapping) -> tuple[float, float]:
    """Return the latency (s) and the energy (J) of an executed mapping."""
    return answer.execution.latency, answer.execution.energy


def _usage(answer: GridMapping) -> int:
    """Return the most bits of an element's memory that a program of an executed mapping takes."""
    return max(run.sram_bits for run in answer.execution.computed)


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
