"""Copy Einsums: nothing is computed and nothing reused, so that tile shapes cost the same.

Every holder passes every value once, whatever the tiles: where both tensors have all rank
variables, all points of a template with as many lanes in each dimension move the same values in the
same time (copies.md §1). Tiles of one value need the least room. Where values repeat, tiles
matter: copy_bound.py says what no mapping is below, and one that comes down to it is the best. Over
a Network every value goes its own way: lanes cost hops, tiles none.
"""

from __future__ import annotations

import time
from collections import abc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, combinations, islice
from math import inf, prod

from tilewright.arch.components.components import Memory
from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.mapspace.assemble import Tile, assemble
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.budget import UNLIMITED, Budget, OutOfBudget, budget_from
from tilewright.mapper.searches.copies.copy_bound import least_copy_costs, repeated_variables
from tilewright.mapper.searches.exact.label_metrics import Goal
from tilewright.mapper.searches.exact.metric_terms import compulsory_latency, leaks_of
from tilewright.mapper.searches.exact.placement_bound import least_value
from tilewright.mapper.searches.methods.exhaustive import best_scored, has_at_most_points, is_better
from tilewright.mapper.searches.result import EinsumMapping, MapspaceResult, SearchStatistics
from tilewright.mapper.searches.search_errors import UnsupportedFeature
from tilewright.mapper.searches.verify import TOLERANCE
from tilewright.mapper.templates.placement import Placement, Template
from tilewright.mapper.templates.slot_sequence import slot_sequence
from tilewright.mapper.templates.slots import Slot, TemporalLoops
from tilewright.mapper.templates.spatial_choices import SpatialLoops, divisors

MANY = 400  # mappings: some tenths of a second of model evaluations
FEW = 4  # variables that repeat values: 16 sets of them
TILES = 100  # shapes of tiles of a copy that repeats values: its few mappings have a bound
LISTED = 20_000  # points of a mapspace with tile_shape: some ten seconds
Extents = dict[str, int]
Bounds = abc.Mapping[str, int]
Lanes = dict[SpatialLoops, Extents]
Choose = Callable[[list[SpatialLoops], Extents], Iterator[Lanes]]
_INSTEAD = "from Python: search(..., method=RandomSearch(samples=…, seed=…))"


@dataclass(frozen=True, slots=True)
class BestCopy:
    """The best of `count` mappings, a lower bound, and whether a budget ended the search."""

    mapping: EinsumMapping | None
    bound: float
    count: int
    ended: bool = False


@dataclass(frozen=True)
class CopyMappings:
    """The mappings of a copy that may matter, and what bounds them.

    `few`: each template with the most lanes and without any; `every`: with each number of lanes in
    each dimension, None if these are too many, or if uneven tiles may split lanes better; `dealt`:
    with each way to deal lanes, None if these are too many, or if it matters what tiles there are.
    `first`: the outermost memories of some tensors; mappings with others are not bounded. All but
    `best` raise OutOfBudget at the end of `limits`.
    """

    space: Mapspace
    outermost: abc.Mapping[str, str] = field(default_factory=dict)
    limits: Budget = UNLIMITED

    @cached_property
    def repeated(self) -> frozenset[str]:
        """Return the rank variables by which values repeat or slide: their tiles cost."""
        return repeated_variables(self.space.einsum)

    @cached_property
    def representatives(self) -> list[Mapping]:
        """Return two mappings of each template, and with each set of variables that repeat values
        in one piece as long as there is room; none where tiles have given shapes."""
        return list(self._each_of_few())

    def _each_of_few(self) -> Iterator[Mapping]:
        if not self._shaped:
            for whole in _subsets(self.repeated):
                yield from self._mappings(_extremes, whole)

    @cached_property
    def all_distinct(self) -> list[Mapping] | None:
        """Return all mappings that can differ in any metric; UnsupportedFeature for too many."""
        space = self.space
        if self.repeated and not self._shaped and _shapes(space.einsum.bounds) > TILES:
            return None
        if self._shaped or self.repeated or not self._plain:
            if has_at_most_points(space, LISTED, self.limits):
                return list(space.mappings_within(self.limits.check))
            if self._shaped:
                raise UnsupportedFeature(
                    f"{space.einsum.name} is a copy with tiles of given shapes", instead=_INSTEAD
                )
            return None
        if space.uneven:
            return None
        ways = self._deals if space.problem.has_networks else self._all_lanes
        found = list(islice(self._mappings(ways), MANY + 1))
        return found if len(found) <= MANY else None

    @cached_property
    def all_spatial(self) -> list[Mapping] | None:
        """Return all mappings that can differ in any metric below some loop."""
        if not self.ignores_tiles or self.space.uneven:
            return None
        found = list(islice(self._mappings(self._deals), MANY + 1))
        return found if len(found) <= MANY else None

    @property
    def _templates(self) -> tuple[Template, ...]:
        return self.space.templates_within(self.limits.check)

    def _mappings(self, choose: Choose, whole: frozenset[str] = frozenset()) -> Iterator[Mapping]:
        found = (_mappings_of(self.space, one, choose, whole) for one in self._templates)
        return self.limits.checking(chain.from_iterable(found))

    def _all_lanes(self, fans: list[SpatialLoops], bounds: Extents) -> Iterator[Lanes]:
        """Yield one choice for each number of lanes of each dimension."""
        seen = set()
        for chosen in self._deals(fans, bounds):
            counts = tuple(prod(lanes.values()) for lanes in chosen.values())
            if counts not in seen:
                seen.add(counts)
                yield chosen

    def _deals(self, fans: list[SpatialLoops], bounds: Extents) -> Iterator[Lanes]:
        return self.limits.checking(_deals(fans, bounds))

    @cached_property
    def ignores_tiles(self) -> bool:
        """Tell whether the metrics depend on holders and lanes only."""
        return self._plain and not self._shaped and not self.repeated

    @cached_property
    def _plain(self) -> bool:
        """Tell whether tiles mean nothing: an Array counts its places, and what a Network sends of
        uneven ones is not known. Where one round of it counts (docs/conventions.md §10), the
        smallest tiles are the best below any loops."""
        return self._unspread and not (self.space.uneven and self.space.problem.has_networks)

    @cached_property
    def _unspread(self) -> bool:
        return all(c.physical_fanout == 1 for c in self.space.problem.components)

    @cached_property
    def _thrifty(self) -> bool:
        """Tell whether some of `few` send as little over Networks as any mapping: each value its
        own way, which on a mesh depends on the number of lanes alone; with a switch each variable
        that a dimension is dealt over costs a hop."""
        space = self.space
        if not space.problem.has_networks:
            return True
        if self.repeated or self._shaped or space.uneven or not self._unspread:
            return False
        for template in self._templates:
            slots = slot_sequence(space.problem, template)
            fans = [slot for slot in slots if isinstance(slot, SpatialLoops)]
            for lanes in islice(_extremes(fans, dict(space.einsum.bounds)), 1):
                if not all(_is_least(fan, chosen) for fan, chosen in lanes.items()):
                    return False
        return True

    @cached_property
    def _shaped(self) -> bool:
        return self.space.problem.conventions.honours_tile_shape and any(
            template.placement.rules_of(holder.component).tile_shape
            for template in self._templates
            for holder in template.holders
        )

    def best(self, goal: Goal) -> BestCopy:
        """Return the best mapping and a bound, or what is known when `limits` end the search."""
        found = BestCopy(None, 0.0, 0)
        steps = self._better_and_better(goal)
        try:
            while (step := next(steps, None)) is not None:
                found = step
        except OutOfBudget:
            bound = self._least_of_all(goal)
            if found.mapping is not None:
                bound = min(bound, found.mapping.value(goal))
            return replace(found, bound=max(found.bound, bound), ended=True)
        return found

    def _better_and_better(self, goal: Goal) -> Iterator[BestCopy]:
        """Yield what is known after `few`, and if that is not enough after `every`."""
        best, count, whole = best_scored(self._each_of_few(), self.space, goal, self.limits)
        yield BestCopy(best, 0.0, count)
        if not whole:
            raise OutOfBudget
        bound = 0.0 if best is None else self.lower_bound(best, goal)
        yield BestCopy(best, bound, count)
        attained = best is not None and best.value(goal) <= bound * (1 + TOLERANCE)
        if best is not None and attained and not self._ties(best, goal):
            return
        if self.all_distinct is None:
            return
        more, further, whole = best_scored(self.all_distinct, self.space, goal, self.limits)
        if not whole:
            kept = best if more is None or (best and is_better(best, more, goal)) else more
            yield BestCopy(kept, bound, count + further)
            raise OutOfBudget
        yield BestCopy(more, inf if more is None else more.value(goal), count + further)

    def _least_of_all(self, goal: Goal) -> float:
        """Return a bound that needs no templates, fast."""
        placements = self.space.placements
        if not self._plain or len(placements) > MANY:
            return least_value(self.space, goal)
        return goal.value(*least_copy_costs(self.space, placements))

    def _ties(self, best: EinsumMapping, goal: Goal) -> bool:
        """Tell whether other lanes over a Network, of which not many are, may cost less in the
        second metric."""
        few = self._plain or has_at_most_points(self.space, MANY, self.limits)
        if not self.space.problem.has_networks or not few:
            return False
        energy, latency = self._floor_of(best)
        floor = latency if goal.second == "latency" else energy
        return best.value(goal.second) > floor * (1 + TOLERANCE)

    def lower_bound(self, best: EinsumMapping, goal: Goal) -> float:
        """Return a lower bound of the goal, given the best of `few`."""
        energy, latency = self._floor_of(best)
        return goal.value(energy if goal.price == 0 else 0.0, latency)

    def _floor_of(self, best: EinsumMapping) -> tuple[float, float]:
        """Return the floors, given any of the best of `few`; over a Network lanes cost energy."""
        energy = best.energy
        if self.space.problem.has_networks:
            cheapest, _, ended = best_scored(
                self.representatives, self.space, Goal("energy"), self.limits
            )
            if not ended:
                raise OutOfBudget
            energy = min(energy, cheapest.energy if cheapest else energy)
        return self.lower_bounds(energy, best.latency)

    def lower_bounds(self, energy: float, latency: float) -> tuple[float, float]:
        """Return lower bounds of energy and latency, given the least of `few`."""
        if self._plain and self.repeated:
            placements = [one for one in self.space.placements if self._admits(one)]
            floor = least_copy_costs(self.space, placements)
            return min(floor[0], energy), min(floor[1], latency)
        templates = [one for one in self._templates if self._admits(one.placement)]
        least = compulsory_latency(self.space, templates) * self.space.einsum.n_instances
        least = min(least, latency)
        leaks = leaks_of(self.space.flat, self.space.conventions)
        return energy if self._unspread and self._thrifty and not leaks else 0.0, least

    def _admits(self, placement: Placement) -> bool:
        memories = {c.name for c in self.space.flat.components if isinstance(c, Memory)}
        outermost: dict[str, str] = {}
        for name, tensors in placement.kept:
            if name in memories:
                outermost = dict.fromkeys(tensors, name) | outermost
        return all(outermost.get(tensor) == name for tensor, name in self.outermost.items())


@dataclass(frozen=True, slots=True)
class CopySearch:
    """The best of the mappings in which copies differ. `memory`: as in ExactSearch."""

    memory: float = inf

    def find(self, space: Mapspace, goal: Goal, budget: float | None) -> MapspaceResult:
        """Return the best mapping, or the best found with a bound when time runs out.

        UnsupportedFeature for many with tiles of given shapes.
        """
        began, limits = time.monotonic(), budget_from(budget, self.memory)
        found = CopyMappings(space, limits=limits).best(goal)
        best = found.mapping
        proven = not found.ended and (best is not None or found.bound == inf)
        proven |= best is not None and best.value(goal) <= found.bound * (1 + TOLERANCE)
        made, seconds = space.templates_made, time.monotonic() - began
        return MapspaceResult(
            best, found.bound, proven, SearchStatistics(made, 0, 0, found.count, 1, seconds)
        )


def _shapes(bounds: Bounds) -> int:
    return prod(len(divisors(bound)) for bound in bounds.values())


def _subsets(names: frozenset[str]) -> Iterator[frozenset[str]]:
    """Yield sets of names, the largest first; of many names all and none."""
    ordered = sorted(names)
    sizes = range(len(names), -1, -1) if len(names) <= FEW else (len(names), 0)
    return (frozenset(chosen) for size in sizes for chosen in combinations(ordered, size))


def _mappings_of(
    space: Mapspace, template: Template, choose: Choose, whole: frozenset[str]
) -> Iterator[Mapping]:
    slots = slot_sequence(space.problem, template)
    fans = [slot for slot in slots if isinstance(slot, SpatialLoops)]
    for lanes in choose(fans, dict(space.einsum.bounds)):
        yield assemble(space.problem, slots, tuple(_tiles(space, slots, lanes, whole)))


def _extremes(fans: list[SpatialLoops], bounds: Extents) -> Iterator[Lanes]:
    """Yield the fewest and the most lanes, each dimension in turn."""
    for most in (False, True):
        left, chosen = dict(bounds), {}
        for fan in fans:
            fitting = _fitting(fan, left)
            if not fitting:
                break
            chosen[fan] = max(fitting, key=_many) if most else min(fitting, key=_many)
            left = _below(left, chosen[fan])
        else:
            yield chosen


def _many(lanes: Extents) -> tuple[int, int]:
    """Return the number of lanes, and of the variables they are dealt over."""
    return prod(lanes.values()), sum(n > 1 for n in lanes.values())


def _is_least(fan: SpatialLoops, chosen: Extents) -> bool:
    """Tell whether a dimension has as few lanes as it may, over one variable at most."""
    number, variables = _many(chosen)
    return variables <= 1 and number == min(prod(choice) for choice in fan.choices)


def _deals(fans: list[SpatialLoops], left: Extents) -> Iterator[Lanes]:
    if not fans:
        yield {}
        return
    for lanes in _fitting(fans[0], left):
        for rest in _deals(fans[1:], _below(left, lanes)):
            yield {fans[0]: lanes, **rest}


def _fitting(fan: SpatialLoops, left: Extents) -> list[Extents]:
    named = (dict(zip(fan.variables, choice, strict=True)) for choice in fan.choices)
    return [lanes for lanes in named if all(left[v] % n == 0 for v, n in lanes.items())]


def _below(left: Extents, lanes: Extents) -> Extents:
    return {v: extent // lanes.get(v, 1) for v, extent in left.items()}


def _tiles(
    space: Mapspace, slots: Sequence[Slot], chosen: Lanes, whole: frozenset[str]
) -> Iterator[Tile]:
    """Yield the tile below each slot: all iterations that no lane takes, at the first gap, and
    those of variables that stay whole at the last one."""
    left = dict(space.einsum.bounds)
    for lanes in chosen.values():
        left = _below(left, lanes)
    last = {
        v: n
        for n, slot in enumerate(slots)
        if isinstance(slot, TemporalLoops)
        for v in slot.variables
    }
    shape = dict(space.einsum.bounds)
    for number, slot in enumerate(slots):
        if isinstance(slot, SpatialLoops):
            shape = _below(shape, chosen[slot])
        elif isinstance(slot, TemporalLoops):
            for v in slot.variables:
                if v not in whole or last[v] == number:
                    shape[v] //= left.get(v, 1)
                    left[v] = 1
        yield tuple(shape.values())
