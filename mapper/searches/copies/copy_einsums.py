"""Search copy Einsums: nothing is computed or reused, so that most tile shapes cost the same.

Every holder passes every value once, whatever the tiles: where both tensors have all rank
variables, all points of a template with as many lanes in each dimension move the same values in the
same time (copies.md §1). Tiles of one value need the least capacity. Where values repeat, tiles
matter: least_copy_costs.py bounds the cost of all mappings, and one that attains the bound is the
best. Over a Network every value is sent alone: lanes cost hops, tiles none.
"""

from __future__ import annotations

from collections import abc
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice
from math import inf, prod

from tilewright.arch.components.components import Memory
from tilewright.mapper.mapping.mapping import Mapping
from tilewright.mapper.mapspace.lattice import Lattice
from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.budget import UNLIMITED, Budget, OutOfBudget, budget_from
from tilewright.mapper.searches.copies.copy_tiles import (
    Choose,
    Extents,
    Lanes,
    fewest_and_most_lanes,
    has_fewest_lanes,
    lane_choices,
    mappings_of,
    subsets,
)
from tilewright.mapper.searches.copies.least_copy_costs import least_copy_costs, repeated_variables
from tilewright.mapper.searches.exact.label_metrics import Goal
from tilewright.mapper.searches.exact.least_placement_costs import least_value
from tilewright.mapper.searches.exact.metric_terms import (
    backing_holders,
    leaks_of,
    seconds_of_first_moves,
)
from tilewright.mapper.searches.mapping_scorer import TOLERANCE
from tilewright.mapper.searches.methods.exhaustive import (
    best_scored,
    better_of,
    evaluated,
    has_at_most_points,
)
from tilewright.mapper.searches.result import EinsumMapping, MapspaceResult
from tilewright.mapper.templates.placement import Placement, Template
from tilewright.mapper.templates.slot_sequence import slot_sequence
from tilewright.mapper.templates.spatial_choices import SpatialLoops
from tilewright.mapper.workload.errors import UnsupportedFeature

MANY = 400  # mappings: some tenths of a second of model evaluations
TILES = 100  # shapes of tiles of a copy that repeats values: its few mappings have a bound
LISTED = 20_000  # points of a mapspace with tile_shape: some ten seconds
_INSTEAD = "from Python: search(..., method=RandomSearch(samples=…, seed=…))"


@dataclass(frozen=True, slots=True)
class BestCopy:
    """What is known so far of the best mapping of a copy Einsum.

    `mapping`: the best found with its costs, None if none. `bound`: lower bound of the goal's
    value over all mappings. `count`: mappings scored. `ended`: a budget ended the search.
    """

    mapping: EinsumMapping | None
    bound: float
    count: int
    ended: bool = False


@dataclass(frozen=True)
class CopyMappings:
    """The few mappings of a copy Einsum whose costs can differ, and bounds of all its mappings.

    A copy Einsum moves a tensor and computes nothing; where values do not repeat, tile sizes cost
    nothing. `space`: its mapspace. `outermost`: tensor to the memory that must be its outermost
    one; mappings with others are not bounded. `limits`: the budget; all but `best` raise
    OutOfBudget at its end.
    """

    space: Mapspace
    outermost: abc.Mapping[str, str] = field(default_factory=dict)
    limits: Budget = UNLIMITED

    @cached_property
    def repeated(self) -> frozenset[str]:
        """The rank variables over which values repeat or windows slide: their tiles have costs."""
        return repeated_variables(self.space.einsum)

    @cached_property
    def representatives(self) -> list[Mapping]:
        """Two mappings of each template, with the fewest and the most lanes (instances) in use.

        Where values repeat, two for each set of those variables that stay in one piece as long as
        possible. Empty where the architecture prescribes tile_shape. A template is a mapping
        without its loops. Raises OutOfBudget at the end of the budget.
        """
        return list(self._each_representative())

    def _each_representative(self) -> Iterator[Mapping]:
        if not self._has_tile_shape:
            for uncut_variables in subsets(self.repeated):
                yield from self._mappings(fewest_and_most_lanes, uncut_variables)

    @cached_property
    def all_distinct(self) -> list[Mapping] | None:
        """All mappings that can differ in energy, latency or usage; None if they are too many.

        Also None where uneven tiles could use lanes better. A lane is one instance along a
        dimension of a fanout. Raises UnsupportedFeature for too many mappings with tile_shape,
        OutOfBudget at the end of the budget.
        """
        space = self.space
        tiles = Lattice(space.einsum.bounds).size
        if self.repeated and not self._has_tile_shape and tiles > TILES:
            return None
        if self._has_tile_shape or self.repeated or not self._plain:
            return self._listed_points()
        if space.uneven:
            return None
        has_networks = space.problem.has_networks
        return self._few_mappings(self._lane_choices if has_networks else self._all_lanes)

    def _listed_points(self) -> list[Mapping] | None:
        """Return all mappings of a small mapspace; None if it is large.

        Raises UnsupportedFeature if it is large and has tile_shape rules.
        """
        if has_at_most_points(self.space, LISTED, self.limits):
            return list(self.space.mappings_within(self.limits.check))
        if self._has_tile_shape:
            raise UnsupportedFeature(
                f"{self.space.einsum.name} is a copy with tiles of given shapes", instead=_INSTEAD
            )
        return None

    def _few_mappings(self, choose_lanes: Choose) -> list[Mapping] | None:
        """Return one mapping per template and choice of lanes; None if these are too many.

        `choose_lanes`: yields the choices of a template's dimensions.
        """
        mappings = list(islice(self._mappings(choose_lanes), MANY + 1))
        return mappings if len(mappings) <= MANY else None

    @cached_property
    def all_spatial(self) -> list[Mapping] | None:
        """All mappings that can differ in any metric when loops of other Einsums stand above.

        One per spatial choice of each template; None if they are too many, or where tiles or
        uneven loops change the costs. A template is a mapping without its loops. Raises
        OutOfBudget at the end of the budget.
        """
        if not self.ignores_tiles or self.space.uneven:
            return None
        return self._few_mappings(self._lane_choices)

    @property
    def _templates(self) -> tuple[Template, ...]:
        return self.space.templates_within(self.limits.check)

    def _mappings(
        self, choose_lanes: Choose, uncut_variables: frozenset[str] = frozenset()
    ) -> Iterator[Mapping]:
        mappings = (
            mappings_of(self.space, template, choose_lanes, uncut_variables)
            for template in self._templates
        )
        return self.limits.checking(chain.from_iterable(mappings))

    def _all_lanes(self, dimensions: list[SpatialLoops], bounds: Extents) -> Iterator[Lanes]:
        """Yield one choice of lanes for each combination of lanes per dimension."""
        seen = set()
        for chosen in self._lane_choices(dimensions, bounds):
            counts = tuple(prod(lanes.values()) for lanes in chosen.values())
            if counts not in seen:
                seen.add(counts)
                yield chosen

    def _lane_choices(self, dimensions: list[SpatialLoops], bounds: Extents) -> Iterator[Lanes]:
        return self.limits.checking(lane_choices(dimensions, bounds))

    @cached_property
    def ignores_tiles(self) -> bool:
        """Whether a copy's costs depend on its holders and lanes only, not on tile sizes.

        A lane is an instance along a dimension of a fanout.
        """
        return self._plain and not self._has_tile_shape and not self.repeated

    @cached_property
    def _plain(self) -> bool:
        """Whether tiles without repeated values cost nothing: no Array or uneven Network."""
        return self._has_no_array and not (self.space.uneven and self.space.problem.has_networks)

    @cached_property
    def _has_no_array(self) -> bool:
        return all(c.physical_fanout == 1 for c in self.space.problem.components)

    @cached_property
    def _has_least_hops(self) -> bool:
        """Whether some representative sends as little over Networks as any mapping.

        Each value is sent alone. On a mesh its hops depend on the number of lanes only; with a
        switch each variable of a dimension with several lanes costs a hop.
        """
        space = self.space
        if not space.problem.has_networks:
            return True
        if self.repeated or self._has_tile_shape or space.uneven or not self._has_no_array:
            return False
        return all(map(self._fewest_lanes_suffice, self._templates))

    def _fewest_lanes_suffice(self, template: Template) -> bool:
        """Tell whether a template's mapping with the fewest lanes has the least hops."""
        slots = slot_sequence(self.space.problem, template)
        dimensions = [slot for slot in slots if isinstance(slot, SpatialLoops)]
        fewest = islice(fewest_and_most_lanes(dimensions, dict(self.space.einsum.bounds)), 1)
        return all(
            has_fewest_lanes(loops, chosen) for lanes in fewest for loops, chosen in lanes.items()
        )

    @cached_property
    def _has_tile_shape(self) -> bool:
        return self.space.problem.conventions.honours_tile_shape and any(
            template.placement.rules_of(holder.component).tile_shape
            for template in self._templates
            for holder in template.holders
        )

    def best(self, goal: Goal) -> BestCopy:
        """Return the best mapping for a goal, with a lower bound of all mappings.

        When the budget ends the search: what is known by then, with `ended` set. Raises
        UnsupportedFeature for too many mappings with tile_shape.
        """
        best_copy = BestCopy(None, 0.0, 0)
        steps = self._improving_copies(goal)
        try:
            while (step := next(steps, None)) is not None:
                best_copy = step
        except OutOfBudget:
            bound = self._bound_without_templates(goal)
            if best_copy.mapping is not None:
                bound = min(bound, best_copy.mapping.value(goal))
            return replace(best_copy, bound=max(best_copy.bound, bound), ended=True)
        return best_copy

    def _improving_copies(self, goal: Goal) -> Iterator[BestCopy]:
        """Yield what is known after the representatives and, if that proves nothing, after all.

        OutOfBudget, after the best so far, if the limits end the search.
        """
        best, count, all_scored = best_scored(
            self._each_representative(), self.space, goal, self.limits
        )
        yield BestCopy(best, 0.0, count)
        if not all_scored:
            raise OutOfBudget
        bound = 0.0 if best is None else self.lower_bound(best, goal)
        yield BestCopy(best, bound, count)
        if best is not None and self._is_proven_best(best, bound, goal):
            return
        if self.all_distinct is None:
            return
        best_distinct, distinct_count, all_scored = best_scored(
            self.all_distinct, self.space, goal, self.limits
        )
        count += distinct_count
        if not all_scored:
            yield BestCopy(better_of(best, best_distinct, goal), bound, count)
            raise OutOfBudget
        value = inf if best_distinct is None else best_distinct.value(goal)
        yield BestCopy(best_distinct, value, count)

    def _is_proven_best(self, best: EinsumMapping, bound: float, goal: Goal) -> bool:
        """Tell whether a mapping meets the bound and none has less of the second metric."""
        attained = best.value(goal) <= bound * (1 + TOLERANCE)
        return attained and not self._may_tie(best, goal)

    def _bound_without_templates(self, goal: Goal) -> float:
        """Return a lower bound of the goal that needs no templates."""
        placements = self.space.placements
        if not self._plain or len(placements) > MANY:
            return least_value(self.space, goal)
        return goal.value(*least_copy_costs(self.space, placements))

    def _may_tie(self, best: EinsumMapping, goal: Goal) -> bool:
        """Tell whether another choice of lanes may be as good with less of the second metric.

        Only over a Network, and where the choices are few enough to look at.
        """
        is_small = self._plain or has_at_most_points(self.space, MANY, self.limits)
        if not self.space.problem.has_networks or not is_small:
            return False
        energy, latency = self._lower_bounds_of(best)
        floor = latency if goal.second == "latency" else energy
        return best.value(goal.second) > floor * (1 + TOLERANCE)

    def lower_bound(self, best: EinsumMapping, goal: Goal) -> float:
        """Return a lower bound of the goal's value over all mappings of the copy.

        `best`: the best of the representatives (per template, the mappings with the fewest and the
        most lanes). Unit of the goal: joules, seconds or joule seconds. A template is a mapping
        without its loops; a lane is one instance along a dimension of a fanout. Raises OutOfBudget
        at the end of the budget.
        """
        energy, latency = self._lower_bounds_of(best)
        return goal.value(energy if goal.price == 0 else 0.0, latency)

    def _lower_bounds_of(self, best: EinsumMapping) -> tuple[float, float]:
        """Return lower bounds of energy (J) and latency (s) from a best representative.

        Over a Network lanes cost energy, so that another representative may need less of it.
        OutOfBudget if there is no time to look for it.
        """
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
        """Return lower bounds of energy (J) and latency (s), each by itself, over all mappings.

        `energy`, `latency`: the least of the representatives (per template, the mappings with the
        fewest and the most lanes), for all instances. Without a proof for energy its bound is 0. A
        template is a mapping without its loops. Raises OutOfBudget at the end of the budget.
        """
        leaks = leaks_of(self.space.flat, self.space.conventions)
        least_energy, least_latency = 0.0, 0.0
        if self._plain and (self.repeated or leaks):
            placements = [p for p in self.space.placements if self._admits(p)]
            least_energy, least_latency = least_copy_costs(self.space, placements)
        if self._plain and self.repeated:
            return min(least_energy, energy), min(least_latency, latency)
        seconds = min(self._seconds_of_first_moves(), latency)
        if leaks or not self._has_no_array or not self._has_least_hops:
            return min(least_energy, energy), seconds
        return energy, seconds

    def _seconds_of_first_moves(self) -> float:
        """Return the least seconds that the first moves of all instances take."""
        templates = [template for template in self._templates if self._admits(template.placement)]
        moves = seconds_of_first_moves(self.space, list(map(backing_holders, templates)))
        return moves * self.space.einsum.n_instances

    def _admits(self, placement: Placement) -> bool:
        memories = {c.name for c in self.space.flat.components if isinstance(c, Memory)}
        outermost: dict[str, str] = {}
        for name, tensors in placement.kept_tensors:
            if name in memories:
                outermost = dict.fromkeys(tensors, name) | outermost
        return all(outermost.get(tensor) == name for tensor, name in self.outermost.items())


@dataclass(frozen=True, slots=True)
class CopySearch:
    """A search method for copy Einsums, which move a tensor and compute nothing.

    It scores the few mappings that can differ in cost. `memory`: bytes of main memory of the
    process before which the search ends.
    """

    memory: float = inf

    def find(self, space: Mapspace, goal: Goal, budget: float | None) -> MapspaceResult:
        """Return the best mapping with a lower bound; both as known when the budget ends.

        `goal`: what is least; `budget`: seconds, None for no limit. Raises UnsupportedFeature for
        too many mappings with tile_shape.
        """
        limits = budget_from(budget, self.memory)
        best_copy = CopyMappings(space, limits=limits).best(goal)
        best = best_copy.mapping
        proven = not best_copy.ended and (best is not None or best_copy.bound == inf)
        proven |= best is not None and best.value(goal) <= best_copy.bound * (1 + TOLERANCE)
        return MapspaceResult(best, best_copy.bound, proven, evaluated(space, best_copy.count))
