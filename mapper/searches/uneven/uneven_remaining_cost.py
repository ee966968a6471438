"""Lower bounds of the energy and the steps of all completions of a partial mapping.

The steps are bounded variable by variable: with S steps so far and L lanes to come, at least S / L
remain, and each tile takes at least one step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from tilewright.mapper.searches.exact.kernels import Floats, Ints
from tilewright.mapper.searches.uneven.costs.remaining_energy import TileGrid
from tilewright.mapper.searches.uneven.costs.tile_chains import ALL, TileChains
from tilewright.mapper.searches.uneven.template_plan import TemplatePlan


@dataclass(frozen=True, slots=True)
class SlotPosition:
    """How far down its template a partial mapping is, while one slot distributes its variables.

    `slots`: per rank variable the next slot that may loop over it; `next_slot`: the next slot of
    all together. A template is a mapping without its loops; a slot is a place of a template for
    loops, a fill or a reserved tile.
    """

    slots: tuple[int, ...]
    next_slot: int

    @classmethod
    def at(cls, index: int, variables: int) -> SlotPosition:
        """Return the position of a partial mapping for which slot `index` comes next.

        `variables`: how many rank variables there are. A slot is a place of a template (a mapping
        without loops) for loops, a fill or a reserved tile.
        """
        return cls((index,) * variables, index)

    def after_variable(self, variable: int) -> SlotPosition:
        """Return the position when the present slot has chosen the loop over one more variable.

        `variable`: its number. A slot is a place of a template (a mapping without loops) for
        loops, a fill or a reserved tile.
        """
        slots = self.slots
        return SlotPosition(
            (*slots[:variable], self.next_slot + 1, *slots[variable + 1 :]), self.next_slot
        )


@dataclass(frozen=True, slots=True)
class StepShares:
    """What one variable, or several together, contribute to bounds of partial mappings.

    Arrays of shape (labels,): `grid_index`, flat index of the tile on the grid of tiles; `steps`,
    operations in time so far, as a product over the variables; `fewest`, the fewest steps possible
    with the lanes to come. A lane is one instance along a dimension of a fanout.
    """

    grid_index: Ints
    steps: Floats
    fewest: Floats

    def take(self, rows: Ints) -> StepShares:
        """Return the contributions of some partial mappings (labels); `rows`: their numbers."""
        return StepShares(self.grid_index[rows], self.steps[rows], self.fewest[rows])

    def combined(self, shares: StepShares) -> StepShares:
        """Return the contributions of two disjoint sets of variables together.

        Indices of tiles on the grid add up; steps so far and fewest steps multiply.
        """
        return StepShares(
            self.grid_index + shares.grid_index,
            self.steps * shares.steps,
            self.fewest * shares.fewest,
        )


class CompletionBounds:
    """Lower bounds of the steps that partial mappings of one plan need to their end.

    `grid`: the tiles by which bounds are kept; `chains`: per variable the states of its tile on
    the way down; `plan`: the compiled template.
    """

    def __init__(self, grid: TileGrid, chains: Sequence[TileChains], plan: TemplatePlan) -> None:
        self._grid = grid
        self._chains = chains
        self._plan = plan

    def shares(self, states: Ints, moment: SlotPosition, but: int = -1) -> StepShares:
        """Return what all variables except number `but` contribute to the bounds of some labels.

        `states`, shape (labels, variables): number of each variable's tile state; `moment`: how
        far down. A label is the tuple of costs of a partial mapping.
        """
        no_shares = np.zeros(len(states), np.int64), np.ones(len(states)), np.ones(len(states))
        shares = (
            self.shares_of(v, states[:, v], moment) for v in range(states.shape[1]) if v != but
        )
        return reduce(StepShares.combined, shares, StepShares(*no_shares))

    def shares_of(self, v: int, states: Ints, moment: SlotPosition) -> StepShares:
        """Return what variable number `v` contributes to the bounds of some labels.

        `states`: its tile states, shape (labels,); `moment`: the place in the template that the
        labels have reached. A label is the tuple of costs of a partial mapping.
        """
        tile = self._chains[v].column(ALL).tile
        place = self._grid.axes[v].of_tile[tile[states]] * self._grid.strides[v]
        if self._plan.step_kinds is None:
            ones = np.ones(len(states))
            return StepShares(place, ones, ones)
        column = self._chains[v].column(self._plan.step_kinds[v])
        fewest = column.shares(self._plan.most_lanes_of[moment.slots[v]][v])
        return StepShares(place, column.extent[states], fewest[states])

    def fewest_steps(self, shares: StepShares, moment: SlotPosition) -> Floats:
        """Return a lower bound of the steps in time of each label, shape (labels,).

        `shares`: of all variables. With S steps so far and L lanes to come, at least S / L remain,
        and each tile takes at least one. A label is the tuple of costs of a partial mapping; a
        lane is one instance along a dimension of a fanout.
        """
        distributed = shares.steps / self._plan.most_lanes[moment.next_slot]
        fewest: Floats = np.maximum(np.maximum(distributed, shares.fewest), self._plan.fewest_steps)
        return fewest
