"""The search for all points of a workload's front, in boxes between those that are known.

Paths that may be in a box are bounded closer, then run, until one of them is a further point, or no
path may be in it (theory/grid.md §7).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import Final

from tilewright.mapper.searches.budget import UNLIMITED, Budget
from tilewright.simulator.search.cascade_search import Cascade
from tilewright.simulator.search.fronts.box_paths import BoxPaths, FrontPath
from tilewright.simulator.search.fronts.cascade_items import CascadeItems
from tilewright.simulator.search.fronts.front_boxes import BoxFloors, FrontBox, boxes_of, unbeaten
from tilewright.simulator.search.further_divisions import FurtherQuestion, further_families
from tilewright.simulator.search.grid_certificate import Costs, GridObjective, objective_value
from tilewright.simulator.search.paths.option import Option
from tilewright.simulator.search.paths.path_graph import PathsLeft

FIRST_WIDTH: Final = 1e-3
"""By how much more than the least bound the first paths of a box cost."""
WIDER: Final = 4.0
"""So many times as much it is each time that there is no path."""
_OBJECTIVES: Final[tuple[GridObjective, ...]] = ("latency", "energy")


class FrontWalk:
    """The rounds of a search of a front.

    `paths`: the further points that were found. `known`: latency and energy of mappings that ran
    before.
    """

    def __init__(self, cascade: Cascade, known: Iterable[Costs]) -> None:
        self.cascade, self.items = cascade, CascadeItems(cascade)
        self.paths: list[FrontPath] = []
        self._known, self._exchanges = tuple(known), 0
        self._floors = BoxFloors(self._least())
        self._proved: BoxFloors | None = None  # with the first divisions
        self._left: set[FrontBox] = set()

    @property
    def executed(self) -> int:
        """Mappings and exchanges that ran."""
        return self._exchanges + sum(front.executed for front in self.items.fronts)

    @property
    def boxes(self) -> list[FrontBox]:
        """The parts of the plane in which there may be further points."""
        return boxes_of(unbeaten([*self._known, *(path.costs for path in self.paths)]))

    @property
    def gap(self) -> float:
        """The largest gap of a box, 0 if the set is complete.

        It is that of the further divisions, or of the first ones if that is not known. Where
        options were left out for lack of time, all that is known of these are the least latency and
        energy.
        """
        if not self.cascade.is_whole:
            return self._gap_by(BoxFloors(self._least()))
        gap = self._gap_by(self._floors)
        return gap if gap == 0 or self._proved is None else self._gap_by(self._proved)

    def _gap_by(self, floors: BoxFloors) -> float:
        return max(map(floors.gap_of, self.boxes))

    @property
    def has_all_divisions(self) -> bool:
        """Whether the set is complete with any division of the work."""
        return self._proved is not None and self._gap_by(self._floors) == 0

    @property
    def unbeaten_paths(self) -> list[FrontPath]:
        """The paths that are points of the front, by ascending latency."""
        front = unbeaten([*self._known, *(path.costs for path in self.paths)])
        by_costs = {path.costs: path for path in self.paths}
        return [by_costs[costs] for costs in front if costs in by_costs]

    def go_on(self, is_over: Callable[[], bool], on_round: Callable[[], None]) -> None:
        """Look at the box with the largest gap until all are empty, or the time is over.

        on_round: called after each look.
        """
        while not is_over():
            gaps = {box: self._floors.gap_of(box) for box in self.boxes if box not in self._left}
            box = max(gaps, key=gaps.__getitem__, default=None)
            if box is None or gaps[box] == 0:
                break
            self._look_into(box, is_over)
            on_round()

    def _look_into(self, box: FrontBox, is_over: Callable[[], bool]) -> None:
        """Find paths that may be in a box, and raise their bounds, or run the least one."""
        try:
            found = self._least_paths(box, is_over)
        except PathsLeft:
            self._left.add(box)
            return
        self.paths += [path for path in found if path.is_exact]
        others = [path for path in found if not path.is_exact]
        if others and not self._refine(others):
            self._run(min(others, key=lambda path: path.costs.value(box.objective)), box, is_over)

    def _least_paths(self, box: FrontBox, is_over: Callable[[], bool]) -> list[FrontPath]:
        """Return paths in a box whose bounds are near the least one; none if the box is empty."""
        paths, width = BoxPaths(self.cascade, self.items, box, is_over), FIRST_WIDTH
        self._floors.note(box, paths.least)
        while (floor := self._floors.of(box)) < box.top:
            limit = floor * (1 + width)
            found = paths.below(limit if limit < box.top else inf)
            if found:
                self._floors.note(box, min(path.costs.value(box.objective) for path in found))
                return found
            self._floors.note(box, limit)
            width *= WIDER
        self._floors.note(box, floor)
        return []

    def _refine(self, paths: Sequence[FrontPath]) -> bool:
        """Bound closer what paths cost, without runs; return whether that was new."""
        parts = dict.fromkeys(part for path in paths for part in path.parts)
        are_new = [part.front.refine(part.number) for part in parts]
        moves = dict.fromkeys(move for path in paths for move in path.moves)
        return self.cascade.moves.find(moves) or any(are_new)

    def _run(self, path: FrontPath, box: FrontBox, is_over: Callable[[], bool]) -> None:
        """Run the mappings and exchanges of a path, as long as it may be in the box."""
        for part in path.parts:
            if not part.item.is_exact:
                leaked = part.front.candidates.quick.leak_power
                most = part.item.entry.bounds[0] + _slack(path, box, leaked)
                part.front.run(part.number, most, is_over)
        self._exchanges += self.cascade.moves.execute(path.moves)

    def widen(self, budget: Budget = UNLIMITED) -> bool:
        """Let Einsums that exchange nothing look at further divisions of their work.

        That is for when the set is complete with the first ones. Return False if there are too
        many, the time of the budget is over before, or persistent tensors share the memory.
        """
        if self.gap > 0 or self.cascade.space.is_shared:
            return False
        plain = [o for options in self.cascade.options for o in options if not o.stays]
        if not all([self._widen(option, budget) for option in plain]):  # noqa: C419 - all of them
            return False
        self._proved, self._floors = self._floors, BoxFloors(self._least())
        return True

    def _widen(self, option: Option, budget: Budget) -> bool:
        """Add further families to an option that may belong to a point, unless they are too many.

        Those that fit whatever the elements hold need no words.
        """
        rest = [self._least_of(each) for each in self.cascade.options if option not in each]
        points = unbeaten([*self._known, *(path.costs for path in self.paths)])
        most = self.cascade.most_words(option)

        def is_open(cycles: float, energy: float, words: int) -> bool:
            if most is not None and words > most:
                return False
            latency, joules = _sum([*rest, option.candidates.costs_of(cycles, energy)])
            return not any(p.latency <= latency and p.energy <= joules for p in points)

        question = FurtherQuestion(is_open, has_energy=True)
        families = further_families(option.candidates, question, budget)
        if families is None:
            return False
        (front,) = self.items.of_option(option)
        front.add((f, 0 if f.words > option.most_words else f.words) for f in families)
        return True

    def _least(self) -> Costs:
        """Return latency and energy that no path goes below, those that were left out included."""
        each = list[Costs]()
        for options, floor in zip(self.cascade.options, self.cascade.floors, strict=True):
            leaked = options[0].candidates.quick.leak_power
            least = self._least_of(options)
            each.append(Costs(min(least.latency, floor), min(least.energy, leaked * floor)))
        return _sum(each)

    def _least_of(self, options: Sequence[Option]) -> Costs:
        """Return latency and energy that no mapping of an Einsum goes below."""
        latency, energy = (
            min(self.items.least(option, objective) for option in options)
            for objective in _OBJECTIVES
        )
        return Costs(latency, energy)


def _sum(costs: Iterable[Costs]) -> Costs:
    return Costs(*map(sum, zip(*costs, strict=True)))


def _slack(path: FrontPath, box: FrontBox, leaked: float) -> float:
    """Return by how many seconds a path may become slower and be in a box; `leaked`: in W."""
    by_latency = box.below.latency - path.costs.latency
    by_energy = (box.below.energy - path.costs.energy) / leaked if leaked else inf
    a_second = objective_value(box.objective, 1.0, leaked)
    by_objective = (box.top - path.costs.value(box.objective)) / a_second if a_second else inf
    return min(by_latency, by_energy, by_objective)
