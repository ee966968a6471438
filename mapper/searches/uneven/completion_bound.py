"""What a partial mapping can still come to: bounds of its energy and of its steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from tilewright.mapper.searches.exact.kernels import Floats, Ints
from tilewright.mapper.searches.uneven.costs.tile_chains import ALL, Chains
from tilewright.mapper.searches.uneven.costs.tile_grid_bound import Grid
from tilewright.mapper.searches.uneven.template_plan import Plan


@dataclass(frozen=True, slots=True)
class Moment:
    """Where a partial mapping stands: the next slot of each variable, and of all together."""

    slots: tuple[int, ...]
    next: int

    @classmethod
    def at(cls, index: int, variables: int) -> Moment:
        """Return the moment above slot `index`."""
        return cls((index,) * variables, index)

    def past(self, variable: int) -> Moment:
        """Return the moment when the slot has dealt one variable."""
        slots = self.slots
        return Moment((*slots[:variable], self.next + 1, *slots[variable + 1 :]), self.next)


@dataclass(frozen=True, slots=True)
class Shares:
    """Per label: its place on the grid, its steps so far, and the least they come to; of all
    variables, or of some."""

    place: Ints
    steps: Floats
    least: Floats

    def take(self, rows: Ints) -> Shares:
        """Return those of some labels."""
        return Shares(self.place[rows], self.steps[rows], self.least[rows])

    def times(self, other: Shares) -> Shares:
        """Join the shares of different variables."""
        return Shares(self.place + other.place, self.steps * other.steps, self.least * other.least)


class Prospects:
    """Bounds for one plan. Lanes to come divide steps, but each tile takes one step at least."""

    def __init__(self, grid: Grid, chains: Sequence[Chains], plan: Plan) -> None:
        self._grid = grid
        self._chains = chains
        self._plan = plan

    def of(self, states: Ints, moment: Moment, but: int = -1) -> Shares:
        """Return the shares of all variables `but` one; `states`: shape (labels, variables)."""
        none = np.zeros(len(states), np.int64), np.ones(len(states)), np.ones(len(states))
        shares = (self.of_one(v, states[:, v], moment) for v in range(states.shape[1]) if v != but)
        return reduce(Shares.times, shares, Shares(*none))

    def of_one(self, v: int, states: Ints, moment: Moment) -> Shares:
        """Return the shares of one variable."""
        tile = self._chains[v].column(ALL).tile
        place = self._grid.axes[v].of_tile[tile[states]] * self._grid.strides[v]
        if self._plan.steps is None:
            one = np.ones(len(states))
            return Shares(place, one, one)
        column = self._chains[v].column(self._plan.steps[v])
        least = column.shares(self._plan.most[moment.slots[v]][v])
        return Shares(place, column.extent[states], least[states])

    def steps(self, shares: Shares, moment: Moment) -> Floats:
        """Return a lower bound of the steps from the shares of all variables."""
        dealt = shares.steps / self._plan.lanes[moment.next]
        least: Floats = np.maximum(np.maximum(dealt, shares.least), self._plan.fewest)
        return least
