"""The parts of a mapspace with a lower bound of each, the most promising part first."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from math import prod

import numpy as np

from tilewright.mapper.mapspace.space import Mapspace
from tilewright.mapper.searches.budget import UNLIMITED, Budget, OutOfBudget
from tilewright.mapper.searches.exact.kernels import Floats
from tilewright.mapper.searches.exact.label_fields import label_fields
from tilewright.mapper.searches.exact.label_metrics import KINDS, Goal, LabelMetrics
from tilewright.mapper.searches.exact.label_tables import compute_energy
from tilewright.mapper.searches.exact.least_placement_costs import compulsory_seconds_of
from tilewright.mapper.searches.exact.metric_terms import leaks_of
from tilewright.mapper.searches.uneven.compiled_uneven import PreparedParts
from tilewright.mapper.searches.uneven.costs.remaining_energy import (
    RemainingEnergy,
    TileGrid,
    remaining_energy,
)
from tilewright.mapper.searches.uneven.search_parts import (
    MOST_PARTS,
    SearchPart,
    classes_of,
    whole_parts,
)
from tilewright.mapper.searches.uneven.template_plan import TemplatePlan
from tilewright.mapper.templates.spatial_choices import SpatialLoops

FEW_TEMPLATES = 20


class PartRanking:
    """The parts of a mapspace with uneven tiles, by lower bounds of the objective.

    A part is a template or its mappings with one class of lanes. `ranked`: triples (lower bound of
    the objective, of the energy in J, number of the part), ascending. `tracked`: memories whose
    bits in use labels (cost tuples of partial mappings) carry to the end. Numbers are for one
    instance. A template is a mapping without its loops.
    """

    def __init__(self, space: Mapspace, goal: Goal, tracked: frozenset[str] = frozenset()) -> None:
        self._space = space
        self._kind = KINDS[goal.objective]
        leaks = leaks_of(space.flat, space.conventions)
        self.layout = label_fields(space.problem, leaks, tracked)
        times = compulsory_seconds_of(space, space.placements)
        self.metrics = LabelMetrics(space.problem, self.layout, leaks, times, goal.price)
        self.grid = TileGrid(space.problem)
        self.compute_energy = compute_energy(space.problem)
        self.ranked: list[tuple[float, float, int]] = []
        self.templates = 0
        self._parts: list[SearchPart] = []
        self._prepared: dict[bool, PreparedParts] = {}
        self._labels = 0  # of parts that are replaced
        self._budget = UNLIMITED

    @property
    def states(self) -> int:
        """Number of combinations of classes of tile sizes, for which energy bounds are kept.

        Tiles of a class cover their rank variable with the same number of tiles.
        """
        return prod(self.grid.shape)

    @property
    def labels(self) -> int:
        """Number of partial mappings looked at so far, over all parts."""
        return self._labels + sum(mode.walk.labels for mode in self._prepared.values())

    def prepared(self, timed: bool) -> PreparedParts:
        """Return all parts compiled; `timed`: labels count steps and calls, not energy alone.

        A label is the tuple of costs of a partial mapping. Raises OutOfBudget when the budget
        ends.
        """
        if timed not in self._prepared:
            problem = self._space.problem
            parts = self._budget.checking(self._parts)
            self._prepared[timed] = PreparedParts(problem, self.layout, self.grid, parts, timed)
        return self._prepared[timed]

    def rank(self, budget: Budget) -> None:
        """Make every template a part and compute its lower bound; sort the parts.

        A template is a mapping without its loops. Raises OutOfBudget when the budget ends before.
        """
        self._budget = budget
        templates = budget.checking(self._space.templates_within(budget.check))
        self._replace_parts(whole_parts(self._space.problem, templates))
        self.templates = len(self._parts)
        self._sort(budget)

    def rank_first_templates(self) -> None:
        """Take the first 20 templates as they are, with bounds of 0, to find some mapping fast.

        A template is a mapping without its loops. For a search whose time ended before all were
        ranked.
        """
        self._budget = UNLIMITED
        self._replace_parts(
            whole_parts(self._space.problem, islice(self._space.each_template(), FEW_TEMPLATES))
        )
        self.templates = len(self._parts)
        self.ranked = [(0.0, 0.0, number) for number in range(len(self._parts))]

    def split(self, limit: float, budget: Budget) -> None:
        """Split the parts that may come below `limit` into classes of lanes; drop the others.

        Bounds of energy and steps then assume similar lanes, and their product is higher. Raises
        OutOfBudget when the budget ends; the dimensions done so far stay split. A lane is one
        instance along a dimension of a fanout.
        """
        dims = max((_spatial_loop_count(part) for part in self._parts), default=0)
        for dimension in range(dims):
            self._split_dimension(dimension, limit, budget)

    def _split_dimension(self, dimension: int, limit: float, budget: Budget) -> None:
        unsplit = self._parts, self._prepared, self.ranked
        promising = [self._parts[number] for value, _, number in self.ranked if value <= limit]
        split = [piece for part in promising for piece in classes_of(part, dimension)]
        self._replace_parts(split if len(split) <= MOST_PARTS else promising)
        try:
            self._sort(budget)
        except OutOfBudget:
            self._parts, self._prepared, self.ranked = unsplit
            self._labels = 0
            raise

    def _replace_parts(self, parts: Iterable[SearchPart]) -> None:
        self._parts = list(parts)
        self._labels = self.labels
        self._prepared = {}

    def _sort(self, budget: Budget) -> None:
        ranked: list[tuple[float, float, int]] = []
        for number, plan in enumerate(self.prepared(False).plans):
            budget.check()
            energy = self.remaining_energy(number).least + self.compute_energy
            value = float(
                self.lower_bound(np.array([energy]), np.array([plan.fewest_steps]), self._kind)[0]
            )
            if value < np.inf:
                ranked.append((value, energy, number))
        self.ranked = sorted(ranked)

    def remaining_energy(self, number: int) -> RemainingEnergy:
        """Return lower bounds of the energy still to pay, in joules, at each slot of a part.

        `number`: of the part (a template or its mappings with one class of lanes). A template is a
        mapping without its loops; a slot is a place of a template for loops, a fill or a reserved
        tile; a lane is one instance along a dimension of a fanout.
        """
        plan = self.prepared(False).plans[number]
        return remaining_energy(self.grid, plan.slots, plan.charge_bounds)

    def plan(self, number: int) -> TemplatePlan:
        """Return the compiled form of a part that counts energy alone, not steps or calls.

        `number`: of the part (a template or its mappings with one class of lanes). A template is a
        mapping without its loops; a lane is one instance along a dimension of a fanout.
        """
        return self.prepared(False).plans[number]

    def lower_bound(self, energy: Floats, steps: Floats, kind: float) -> Floats:
        """Return a lower bound of an objective, shape (labels,), in J, s or J s.

        `energy`: dynamic joules at least; `steps`: steps in time at least; `kind`: ENERGY, LATENCY
        or EDP of kernels.py. A label is the tuple of costs of a partial mapping.
        """
        return self.metrics.lower_bounds_of(energy, self._space.einsum.operations / steps, kind)


def _spatial_loop_count(part: SearchPart) -> int:
    return sum(isinstance(slot, SpatialLoops) for slot in part.slots)
