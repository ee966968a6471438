"""The search for all points of a workload's front, in boxes between those that are known.

Between two points only a mapping with less latency than the one and less energy than the other may
be another point. The paths with the least bounds of a box are bounded closer, then run, until there
is a point, which divides the box, or no path may be in it (theory/grid.md §7).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from math import inf
from typing import Final

from tilewright.simulator.search.cascade_search import Cascade
from tilewright.simulator.search.fronts.box_paths import BoxPaths, FrontBox, FrontPath
from tilewright.simulator.search.fronts.cascade_items import CascadeItems
from tilewright.simulator.search.grid_certificate import Costs, PricedTime, objective_value
from tilewright.simulator.search.paths.path_graph import PathsLeft

NEARLY: Final = 1 - 1e-9
"""Values that differ by less are equal: sums of energies are rounded."""
FIRST_WIDTH: Final = 1e-3
"""By how much more than the least bound the first paths of a box cost."""
WIDER: Final = 4.0
"""So many times as much it is each time that there is no path."""


class FrontWalk:
    """The rounds of a search of a front.

    `paths`: the points that were found. `known`: latency and energy of mappings that ran before.
    `is_over`: asked from time to time whether the search is to end; `on_found`: called with each
    point.
    """

    def __init__(
        self, cascade: Cascade, known: Iterable[Costs], is_over: Callable[[], bool]
    ) -> None:
        self.cascade, self.items = cascade, CascadeItems(cascade)
        self.paths: list[FrontPath] = []
        self.executed_moves = 0
        self._known, self._is_over = tuple(known), is_over
        self._floors: dict[FrontBox, float] = {}
        self._left: set[FrontBox] = set()

    def go_on(self, on_round: Callable[[], None] = lambda: None) -> None:
        """Look at the box with the largest gap until all are empty, or the time is over."""
        while not self._is_over():
            boxes = [box for box in self.boxes if box not in self._left and self.gap_of(box) > 0]
            if not boxes:
                break
            self._look_into(max(boxes, key=self.gap_of))
            on_round()

    @property
    def points(self) -> list[Costs]:
        """The values of all points that no other beats, by ascending latency."""
        points = list[Costs]()
        for point in sorted([*self._known, *(path.costs for path in self.paths)]):
            if not points or point.energy < NEARLY * points[-1].energy:
                points.append(point)
        return points

    @property
    def boxes(self) -> list[FrontBox]:
        """The parts of the plane in which there may be further points."""
        points = self.points
        boxes = [
            FrontBox(Costs(points[0].latency * NEARLY, inf), "latency"),
            FrontBox(Costs(inf, points[-1].energy * NEARLY), "energy"),
        ]
        for fast, frugal in pairwise(points):
            price = (fast.energy - frugal.energy) / (frugal.latency - fast.latency)
            below = Costs(frugal.latency * NEARLY, fast.energy * NEARLY)
            boxes.append(FrontBox(below, PricedTime(price)))
        return boxes

    def gap_of(self, box: FrontBox) -> float:
        """Return by how much a mapping in a box may be better than the points around it, 0 if none.

        All mappings in it are beaten by one of these whose values are divided by 1 + gap.
        """
        floor = self._floors.get(box, 0.0)
        return box.top / floor - 1 if floor > 0 else inf

    @property
    def gap(self) -> float:
        """The largest gap of a box."""
        return max(map(self.gap_of, self.boxes))

    def _look_into(self, box: FrontBox) -> None:
        """Find paths that may be in a box, and raise their bounds, or run the least one."""
        paths = BoxPaths(self.cascade, self.items, box, self._is_over)
        try:
            found = self._least_paths(paths, box)
        except PathsLeft:
            self._left.add(box)
            return
        self.paths += [path for path in found if path.is_exact]
        others = [path for path in found if not path.is_exact]
        if others and not self._refine(others):
            self._run(min(others, key=lambda path: path.costs.value(box.objective)), box)

    def _least_paths(self, paths: BoxPaths, box: FrontBox) -> list[FrontPath]:
        """Return paths in a box whose bounds are near the least one; none if the box is empty."""
        floor, width = max(paths.least, self._floors.get(box, 0.0)), FIRST_WIDTH
        self._floors[box] = floor
        while floor < box.top:
            limit = floor * (1 + width)
            found = paths.below(limit if limit < box.top else inf)
            if found:
                self._floors[box] = min(path.costs.value(box.objective) for path in found)
                return found
            self._floors[box] = floor = min(limit, box.top)
            width *= WIDER
        return []

    def _refine(self, paths: Sequence[FrontPath]) -> bool:
        """Bound closer what paths cost, without runs; return whether that was new."""
        parts = dict.fromkeys(part for path in paths for part in path.parts)
        are_new = [part.front.refine(part.number) for part in parts]
        moves = dict.fromkeys(move for path in paths for move in path.moves)
        return self.cascade.moves.find(moves) or any(are_new)

    def _run(self, path: FrontPath, box: FrontBox) -> None:
        """Run the mappings and exchanges of a path, as long as it may be in the box."""
        for part in path.parts:
            if not part.item.is_exact:
                latency, _ = part.item.entry.bounds
                leaked = part.front.candidates.quick.leak_power
                most = latency + _slack(path, box, leaked)
                part.front.run(part.number, most, self._is_over)
        self.executed_moves += self.cascade.moves.execute(path.moves)

    @property
    def executed(self) -> int:
        """Mappings and exchanges that ran."""
        return self.executed_moves + sum(front.executed for front in self.items.fronts)


def _slack(path: FrontPath, box: FrontBox, leaked: float) -> float:
    """Return by how many seconds a path may become slower and be in a box.

    leaked: watts.
    """
    by_latency = box.below.latency - path.costs.latency
    by_energy = (box.below.energy - path.costs.energy) / leaked if leaked else inf
    a_second = objective_value(box.objective, 1.0, leaked)
    by_objective = (box.top - path.costs.value(box.objective)) / a_second if a_second else inf
    return min(by_latency, by_energy, by_objective)
