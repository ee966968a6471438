"""Parts of the plane of latency and energy between the points of a front, and what is in them.

What beats no point, and is beaten by none, is in a box: it has less latency than a point and less
energy than the one before it, or than all of them. A box has a floor, a value of an objective that
no mapping in it goes below; where that is the value at its corner, it is empty (theory/grid.md §7).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import Final

from tilewright.simulator.search.grid_certificate import Costs, GridObjective, PricedTime

NEARLY: Final = 1 - 1e-9
"""Values that differ by less are equal: sums of energies are rounded."""


@dataclass(frozen=True, slots=True)
class FrontBox:
    """A part of the plane of latency and energy in which there may be points of a front.

    `below`: points have less latency and less energy. `objective`: by which they are looked for:
    of a box between two points the energy and that price of a second at which both are equal.
    """

    below: Costs
    objective: GridObjective

    @property
    def top(self) -> float:
        """What the objective is below in the box."""
        return self.below.value(self.objective)

    def contains(self, other: FrontBox) -> bool:
        """Return whether all of another box is in this one."""
        return all(a >= b for a, b in zip(self.below, other.below, strict=True))


def unbeaten(points: Iterable[Costs]) -> list[Costs]:
    """Return the points that no other beats or equals, by ascending latency."""
    front = list[Costs]()
    for point in sorted(points):
        if not front or point.energy < NEARLY * front[-1].energy:
            front.append(point)
    return front


def boxes_of(front: Sequence[Costs]) -> list[FrontBox]:
    """Return the boxes of a front: left of it, between its points, and below it."""
    boxes = [FrontBox(Costs(front[0].latency * NEARLY, inf), "latency")]
    for fast, frugal in pairwise(front):
        price = (fast.energy - frugal.energy) / (frugal.latency - fast.latency)
        below = Costs(frugal.latency * NEARLY, fast.energy * NEARLY)
        boxes.append(FrontBox(below, PricedTime(price)))
    return [*boxes, FrontBox(Costs(inf, front[-1].energy * NEARLY), "energy")]


class BoxFloors:
    """The floors of all boxes that were looked at.

    `least`: latency and energy that no mapping goes below.
    """

    def __init__(self, least: Costs) -> None:
        self.least = least
        self._known: dict[FrontBox, float] = {}

    def note(self, box: FrontBox, floor: float) -> None:
        """Keep that no mapping in a box has a value of its objective below the floor.

        Left of all points, and below them, it says what no mapping at all goes below.
        """
        self._known[box] = min(box.top, max(floor, self._known.get(box, 0.0)))
        if not isinstance(box.objective, PricedTime):
            floors = {"latency": 0.0, "energy": 0.0, box.objective: self._known[box]}
            self.least = self.least.at_least(Costs(floors["latency"], floors["energy"]))

    def of(self, box: FrontBox) -> float:
        """Return the floor of a box; that of a box around it holds for it, too."""
        around = (other for other in self._known if other.contains(box))
        floors = (self._within(box, other) for other in around)
        return min(box.top, max(self.least.value(box.objective), *floors, 0.0))

    def gap_of(self, box: FrontBox) -> float:
        """Return by how much a mapping in a box may be better than the points around it.

        It beats none of them whose values are divided by 1 + gap. 0 if there is none.
        """
        floor = self.of(box)
        return box.top / floor - 1 if floor > 0 else inf

    def _within(self, box: FrontBox, around: FrontBox) -> float:
        """Return what the floor of a box around it says of a box."""
        floor = self._known[around]
        if floor == around.top:
            return inf  # there is nothing in it
        if not isinstance(box.objective, PricedTime) or not isinstance(
            around.objective, PricedTime
        ):
            return 0.0
        more = box.objective.price - around.objective.price
        return floor + more * (self.least.latency if more > 0 else box.below.latency)
