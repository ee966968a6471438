"""The front of a whole workload on a grid over latency and energy: the corners of its convex hull.

Each corner is the best mapping for some price of a second, found with the machine in the loop and a
proof. Between two corners lies another one if some mapping is below the line through them: its
price is the slope of the line (theory/grid.md §7).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from math import inf
from typing import Final

from tilewright.arch.spec.architecture import Arch
from tilewright.mapper.searches.restrictions import HULL_CORNERS
from tilewright.mapper.workload.workload import Workload
from tilewright.simulator.search.fronts.grid_front import (
    ExecutedMapping,
    FrontCertificate,
    GridFront,
)
from tilewright.simulator.search.grid_certificate import GridObjective, PricedTime
from tilewright.simulator.search.grid_mapping import GridMapping, GridRequest, map_on_grid

NEARLY: Final = 1 - 1e-9
"""A value below the line by less is on it: sums of energies are rounded."""
SHARE: Final = 0.4
"""Of the seconds that are left each search has so much, the first of all as much as the second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CascadeFrontSearch:
    """A search for the corners of a workload's front over latency and energy on a grid.

    `metrics`: both, in the order of the values of points. `request`: of each search, whose
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
        walk = _Hull(self, arch, workload, start)
        ends = walk.best("latency"), walk.best("energy")
        corners = [corner for corner in (ends[0], *walk.between(*ends), ends[1])
                   if corner.run is not None]  # fmt: skip
        if not corners:
            corners = [ends[0]]  # whose execution says what to write
        points = _unbeaten([self._point(corner) for corner in corners])
        return GridFront(self.metrics, points, walk.certificate(), time.perf_counter() - start)

    def _point(self, answer: GridMapping) -> ExecutedMapping:
        values = dict(zip(("latency", "energy"), _values(answer), strict=True))
        ordered = tuple(values[name] for name in self.metrics)
        return ExecutedMapping(answer.execution, answer.mapping, ordered)


class _Hull:
    """The searches for corners; `answers`: of all so far."""

    def __init__(
        self, search: CascadeFrontSearch, arch: Arch, workload: Workload, start: float
    ) -> None:
        self.search, self.arch, self.workload, self.start = search, arch, workload, start
        self.answers: list[GridMapping] = []

    @property
    def _left(self) -> float | None:
        """The seconds that are left, None for no limit."""
        budget = self.search.request.budget_s
        return None if budget is None else max(0.0, self.start + budget - time.perf_counter())

    def best(self, objective: GridObjective) -> GridMapping:
        """Return the best mapping for an objective."""
        left = self._left
        seconds = None if left is None else SHARE * left
        request = replace(self.search.request, objective=objective, budget_s=seconds)
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
        reasons = sum((Counter(dict(c.reasons)) for c in each), Counter[str]())
        return FrontCertificate(
            executed=sum(c.executed + c.timed for c in each),
            excluded=sum(c.excluded for c in each),
            undecided=0,
            infeasible=sum(c.infeasible for c in each),
            reasons=tuple(reasons.most_common(5)),
            is_whole=all(c.is_optimal for c in each) and self._left != 0.0,
            restrictions=(HULL_CORNERS(), *names),
        )


def _values(answer: GridMapping) -> tuple[float, float]:
    """Return the latency (s) and the energy (J) of an executed mapping."""
    return answer.execution.latency, answer.execution.energy


def _unbeaten(points: list[ExecutedMapping]) -> tuple[ExecutedMapping, ...]:
    """Return the points that no other beats in both values, by the first one ascending."""
    least, unbeaten = inf, list[ExecutedMapping]()
    for point in sorted(points, key=lambda point: point.values):
        if point.values[1] < least:
            least = point.values[1]
            unbeaten.append(point)
    return tuple(unbeaten)
