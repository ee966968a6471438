"""The parts of one mapspace made ready for the uneven search."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tilewright.mapper.searches.exact.label_fields import LabelFields
from tilewright.mapper.searches.uneven.costs.average_tiles import AverageChains
from tilewright.mapper.searches.uneven.costs.tile_chains import ALL, Chains, Kind
from tilewright.mapper.searches.uneven.costs.tile_grid_bound import Grid
from tilewright.mapper.searches.uneven.search_parts import Part
from tilewright.mapper.searches.uneven.slot_walk import Sweep
from tilewright.mapper.searches.uneven.template_plan import Plan, make_plan
from tilewright.mapper.templates.problem import Problem


class Mode:
    """A layout of the labels with what it needs: `timed` counts steps and calls too."""

    def __init__(
        self, problem: Problem, layout: LabelFields, grid: Grid, parts: Iterable[Part], timed: bool
    ) -> None:
        self.timed = timed
        self.layout = (
            layout if timed else replace(layout, gates={}, calls={}, links={}, longest_paths={})
        )
        self.plans: list[Plan] = [make_plan(problem, self.layout, part, timed) for part in parts]
        kind = Chains if problem.conventions.exact_remainders else AverageChains
        chains = [
            kind(bound, problem.cuttable_tiles.get(v, ()), self._kinds(i))
            for i, (v, bound) in enumerate(problem.einsum.bounds.items())
        ]
        self.sweep = Sweep(problem, self.layout, grid, chains)

    def _kinds(self, variable: int) -> list[Kind]:
        return sorted({ALL, *(k for plan in self.plans for k in plan.needed[0][variable])})
