"""The parts of one mapspace compiled for the uneven search: a plan of each, and one walk of all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tilewright.mapper.searches.exact.label_fields import LabelFields
from tilewright.mapper.searches.uneven.costs.average_tiles import AverageTileChains
from tilewright.mapper.searches.uneven.costs.remaining_energy import TileGrid
from tilewright.mapper.searches.uneven.costs.tile_chains import ALL, CountKind, TileChains
from tilewright.mapper.searches.uneven.search_parts import SearchPart
from tilewright.mapper.searches.uneven.slot_walk import SlotWalk
from tilewright.mapper.searches.uneven.template_plan import TemplatePlan, make_plan
from tilewright.mapper.templates.problem import Problem


class PreparedParts:
    """Templates compiled for the search with uneven tiles.

    A part is a template, or its mappings with one class of lanes. `layout`: columns of the labels
    (cost tuples of partial mappings); `grid`: the tiles by which bounds are kept; `timed`: labels
    count steps and calls, too, else energy alone. `plans`: the compiled form of each part; `walk`:
    goes through slots for all of them. A template is a mapping without its loops; a slot is a
    place of a template for loops, a fill or a reserved tile; a lane is one instance along a
    dimension of a fanout.
    """

    def __init__(
        self,
        problem: Problem,
        layout: LabelFields,
        grid: TileGrid,
        parts: Iterable[SearchPart],
        timed: bool,
    ) -> None:
        self.timed = timed
        self.layout = (
            layout if timed else replace(layout, gates={}, calls={}, links={}, longest_paths={})
        )
        self.plans: list[TemplatePlan] = [
            make_plan(problem, self.layout, part, timed) for part in parts
        ]
        kind = TileChains if problem.conventions.exact_remainders else AverageTileChains
        chains = [
            kind(bound, problem.cuttable_tiles.get(v, ()), self._kinds(i))
            for i, (v, bound) in enumerate(problem.einsum.bounds.items())
        ]
        self.walk = SlotWalk(problem, self.layout, grid, chains)

    def _kinds(self, variable: int) -> list[CountKind]:
        return sorted({ALL, *(k for plan in self.plans for k in plan.needed_kinds[0][variable])})
